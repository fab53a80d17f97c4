"""Which folders of a root are runs, and of which workflow. Content decides, never a name alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from ..definition.inputs import MarkerTest, StateFile
from ..definition.model import Workflow
from ..definition.reader import InvalidWorkflow
from ..definition.root_config import Config
from ..expressions.context import Context, UnknownFact
from ..expressions.queries import dig
from ..expressions.values import Budget
from ..findings import Finding, Problem, finding
from ..formats.json_text import clean, fold_dotted, lay_under, read_json
from ..journal.journal import read_journal
from ..journal.lines import JOURNAL
from ..markdown import document as markdown
from ..markdown.inline_text import name_of
from ..markdown.tables import tables
from ..states import RecordKind
from ..vfs.files import File, Files, below, excess, name_in, natural, parent
from ..vfs.glob import PathMatcher, TooManyFolders, fits, glob, is_glob, leads_to
from ..vfs.places import unit_name, unit_place, unit_run, whole_file
from .artifacts import read_plan
from .read_log import RunReader

# The most steps of one `where` of a marker: each definition asks each folder.
MOST_STEPS_OF_MARKERS = 50_000


class DiscoverableWorkflow(NamedTuple):
    """A workflow that can be found in a root; `load` compiles it when a folder might be one of its runs.

    `at` is empty where the definition cannot even say where its runs are; `load` then raises why. `history`
    says where folders of finished work are. With `unit` "file" its runs are parts of the files that fit `at`.
    One that is `alone` has runs only where no other definition may have any by its places; places that are
    `shared` with all kinds of things are no sign of one.
    """

    name: str
    at: tuple[str, ...]
    built_in: bool
    load: Callable[[], Workflow]
    history: tuple[str, ...] = ()
    unit: str = ""
    alone: bool = False
    shared: bool = False


class Match(NamedTuple):
    """A folder that is a run. `rivals` are other user definitions that claim it with equal right."""

    run: str
    workflow: Workflow
    rivals: tuple[str, ...] = ()

    @property
    def home(self) -> str:
        """The folder whose `.phasekeeper/` holds the run's journal."""
        return self.workflow.home(self.run)

    def findings(self) -> tuple[Finding, ...]:
        if not self.rivals:
            return ()
        names = (self.workflow.name, *self.rivals)
        message = f"{', '.join(names)} all claim this folder; "
        message += "assign one in .phasekeeper/config.yaml under workflows"
        problem = Problem("workflow-ambiguous", message, data={"workflows": names})
        return (finding(problem, self.workflow.place(self.run).itself),)


class PassedFolder(NamedTuple):
    """A folder that looks like a run of a workflow by its place, and why it is none."""

    run: str
    workflow: str
    because: str


class Discovery(NamedTuple):
    """The runs of a root in natural order of their paths, the folders that were passed over, and what is
    wrong, by name, with definitions that cannot be used. `findings` are about folders that nothing can judge.
    """

    matches: list[Match]
    passed: list[PassedFolder]
    broken: dict[str, tuple[Finding, ...]]
    findings: tuple[Finding, ...] = ()


class DefinitionSet:
    """Definitions by name, each compiled when it is first needed; `broken` says why some cannot be used."""

    def __init__(self, definitions: Iterable[DiscoverableWorkflow]) -> None:
        self.definitions = {definition.name: definition for definition in definitions}
        self.broken: dict[str, tuple[Finding, ...]] = {}
        self._units: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
        """By definition and file: the digest for which its runs are known, and their names."""
        for definition in self.definitions.values():
            if not definition.at:
                self.workflow(definition.name)

    def may_have_runs(self, path: str) -> bool:
        """True if runs may lie below a folder, or in that file."""
        patterns = (pattern for each in self.definitions.values() for pattern in each.at)
        return any(leads_to(path, pattern) for pattern in patterns) or self._is_file_with_runs.fits(path)

    @cached_property
    def _files_with_runs(self) -> tuple[str, ...]:
        """The patterns of files in which runs may be."""
        units = (each for each in self.definitions.values() if each.unit == "file")
        return tuple(dict.fromkeys(pattern.strip("/") for each in units for pattern in each.at))

    @cached_property
    def _is_file_with_runs(self) -> PathMatcher:
        return PathMatcher(self._files_with_runs)

    def files_with_runs(self, keys: Iterable[str]) -> set[str]:
        """The files in which runs may have come or gone where something changed at these keys: paths, and
        folders of which the names did, with "/" behind them."""
        found: set[str] = set()
        for key in keys:
            if not key.endswith("/"):
                found |= {key} if self._is_file_with_runs.fits(key) else set()
                continue
            for pattern in self._files_with_runs:
                if fits(parent(pattern), key[:-1]):
                    found.add(key[:-1] if is_glob(name_in(pattern)) else below(key[:-1], name_in(pattern)))
        return found

    def is_of_fallback(self, run: str) -> bool:
        """True for a run, or what was one, of a definition that has some only where no other may."""
        patterns = (pattern for each in self.definitions.values() if each.alone for pattern in each.at)
        return any(fits(pattern, unit_place(run).file) for pattern in patterns)

    def units(self, name: str, file: File) -> Sequence[str]:
        """The names of the runs in a file, by the dialect of their plan. What cannot be read is one run."""
        known = self._units.get((name, file.path))
        if known is None or known[0] != file.digest:
            workflow = self.workflow(name)
            split = workflow.dialect.units if workflow and workflow.dialect else None
            found = split(file.text) if split and file.text is not None else None
            names = (whole_file(file.path),) if found is None else tuple(dict.fromkeys(map(unit_name, found)))
            known = self._units[name, file.path] = file.digest, names
        return known[1]

    def workflow(self, name: str) -> Workflow | None:
        """The compiled definition of that name; None when it is broken."""
        if name in self.broken:
            return None
        try:
            return self.definitions[name].load()
        except InvalidWorkflow as error:
            self.broken[name] = tuple(error.findings)
            return None


_BROKEN = "its definition is broken"


class FolderVerdict(NamedTuple):
    """The verdict on a folder that may be a run by its place.

    `named` are the workflows that its journal and the configuration name for it.
    """

    match: Match | None
    passed: tuple[PassedFolder, ...]
    named: tuple[str | None, str | None]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings that nothing can judge the folder, because a definition that claims it cannot be used."""
        message = "the workflow {!r} cannot be used, so nothing is said of this folder; mend its definition"
        broken = [each.workflow for each in self.passed if each.because == _BROKEN and not self.match]
        return tuple(
            finding(Problem("definition-invalid", message.format(name)), self.passed[0].run)
            for name in broken
        )


def discover(
    known: DefinitionSet,
    files: Files,
    config: Config,
    parsed: dict[tuple[str, str], Any] | None = None,
    claims: Mapping[str, Sequence[str]] | None = None,
) -> Discovery:
    """Find the runs of a root, each with its workflow. A broken definition hides the runs of no other one.

    With `claims`, some of the `candidates`, only those folders are looked at, and of the other definitions
    that users made whether they can be used.
    """
    if claims is not None:
        for definition in known.definitions.values():
            if not definition.built_in and next(_places(definition, known, files), None):
                known.workflow(definition.name)
    reader = RunReader(files, {} if parsed is None else parsed)
    claims = candidates(known, files) if claims is None else claims
    verdicts = [judge(run, claims[run], known, reader, config) for run in sorted(claims, key=natural)]
    matches = [each.match for each in verdicts if each.match]
    passed = [one for each in verdicts for one in each.passed]
    return Discovery(matches, passed, known.broken, tuple(one for each in verdicts for one in each.findings))


def has_runs(known: DefinitionSet, files: Files, config: Config, parsed: dict[tuple[str, str], Any]) -> bool:
    """True when a root has a run, or a definition that is broken and may have some. Ends at the first one."""
    reader = RunReader(files, parsed)
    for definition in known.definitions.values():
        for run in _places(definition, known, files):
            # A folder that a broken definition takes from this one is as good as a run here.
            if judge(run, (definition.name,), known, reader, config).match or known.broken:
                return True
    return bool(known.broken)


def candidates(
    known: DefinitionSet, files: Files, at: str | None = None, name: str | None = None
) -> dict[str, list[str]]:
    """The folders, and parts of files, that may be runs by their place, with the names of the definitions
    that say so.

    With `at`, only that folder or run, and those below it or in that file; with `name`, only those that have
    that last name.
    """
    claims: dict[str, list[str]] = {}
    for definition in known.definitions.values():
        runs = dict.fromkeys(_places(definition, known, files, at, name))
        if definition.alone and runs and _has_others(known, files):
            continue
        for run in runs:
            claims.setdefault(run, []).append(definition.name)
    return claims


def fallback_candidates(known: DefinitionSet, files: Files) -> list[str]:
    """The candidates of definitions that have runs only where no other definition may have any."""
    alone = (each for each in known.definitions.values() if each.alone)
    runs = list(dict.fromkeys(run for each in alone for run in _places(each, known, files)))
    return runs if runs and not _has_others(known, files) else []


def _has_others(known: DefinitionSet, files: Files) -> bool:
    others = (each for each in known.definitions.values() if not (each.alone or each.shared))
    return any(next(_places(each, known, files), None) for each in others)


def _places(
    definition: DiscoverableWorkflow,
    known: DefinitionSet,
    files: Files,
    at: str | None = None,
    name: str | None = None,
) -> Iterator[str]:
    """The runs that a definition may have. One that leads into too many folders is broken."""
    try:
        if definition.unit == "file":
            yield from _units(definition, known, files, at, name)
            return
        for pattern in definition.at:
            for path, entry in glob(files, pattern, at, name):
                if entry.kind == "folder" and not any(leads_to(path, past) for past in definition.history):
                    yield path
    except TooManyFolders as error:
        path = f".phasekeeper/workflows/{definition.name}.yaml"
        known.broken[definition.name] = (finding(Problem("budget-exceeded", f"runs: {error}"), path),)


def _units(
    definition: DiscoverableWorkflow, known: DefinitionSet, files: Files, at: str | None, name: str | None
) -> Iterator[str]:
    """The parts of files that a definition may have as runs; `name` may be that of the unit, or of the file.

    Raises TooManyFolders.
    """
    # `at` is a folder, a file, or a run in a file; the names of folders may have the sign in them, too.
    ways = (None,) if at is None else dict.fromkeys((at, unit_place(at).file or at))
    for way, pattern in product(ways, definition.at):
        for file, entry in glob(files, pattern, way):
            for unit in known.units(definition.name, files.read(file)) if entry.kind == "file" else ():
                run = unit_run(file, unit)
                is_there = at is None or at in (run, file) or file.startswith(f"{at}/")
                if is_there and (name is None or name in (name_in(run), name_in(file), unit)):
                    yield run


def finished_work(known: DefinitionSet, files: Files) -> dict[str, int]:
    """The number of folders of finished work by the workflow whose `history` says so; none of 0."""
    counts: dict[str, int] = {}
    for definition in known.definitions.values():
        with suppress(TooManyFolders):
            found = {
                path
                for past in definition.history
                for path, entry in glob(files, past)
                if entry.kind == "folder"
            }
            counts |= {definition.name: len(found)} if found else {}
    return counts


def judge(
    run: str, claims: Iterable[str], known: DefinitionSet, reader: RunReader, config: Config
) -> FolderVerdict:
    """Judge if a folder is a run, and of which workflow: of whom its journal names, else whom the
    configuration assigns, else a built-in one.

    If one of those is a broken definition the folder is no run: no other may judge it.
    """
    fitting, passed = [], []
    for name in claims:
        workflow = known.workflow(name)
        if workflow is None:
            passed.append(PassedFolder(run, name, _BROKEN))
        elif why := _refusal(workflow, run, reader):
            passed += [] if workflow.runs.shared else [PassedFolder(run, name, why)]
        else:
            fitting.append(workflow)
    homes = dict.fromkeys((run, *(workflow.home(run) for workflow in fitting))) if fitting else ()
    started = next(filter(None, (_started_workflow(home, reader) for home in homes)), None)
    named = (started, assigned_workflow(run, config)) if fitting else (None, None)
    return FolderVerdict(_match(run, fitting, named, known), tuple(passed), named)


def assigned_workflow(run: str, config: Config) -> str | None:
    """The workflow that the configuration assigns to a folder."""
    return next((name for pattern, name in config.workflows.items() if fits(pattern, run)), None)


def _match(
    run: str, fitting: Sequence[Workflow], named: Iterable[str | None], known: DefinitionSet
) -> Match | None:
    by_name = {workflow.name: workflow for workflow in fitting}
    for name in named:
        if name in by_name:
            return Match(run, by_name[name])
        if name in known.definitions and known.workflow(name) is None:
            return None
    if not fitting:
        return None
    built_in = known.definitions
    first, *others = sorted(fitting, key=lambda each: (not built_in[each.name].built_in, each.name))
    rivals = () if built_in[first.name].built_in else tuple(each.name for each in others)
    return Match(run, first, rivals)


def _started_workflow(home: str, reader: RunReader) -> str | None:
    """The workflow that the journal's start record names."""

    def first_started(journal: str) -> str | None:
        starts = (each for each in read_journal(journal).records if each["kind"] == RecordKind.START)
        return next((str(each["workflow"]) for each in starts if each["workflow"]), None)

    file = reader.read(below(home, JOURNAL))
    return reader.parse_cached("workflow that was started", file, first_started) if file.text else None


def _refusal(workflow: Workflow, run: str, reader: RunReader) -> str:
    """The reason why the folder is no run of the workflow, "" if it is one."""
    reasons: dict[str, None] = {}
    for test in workflow.runs.marker.tests:
        if test.journal and _started_workflow(workflow.home(run), reader) != test.journal:
            reason = f"its journal names no {test.journal}"
        else:
            reason = _file_unmet(test, workflow, run, reader) if test.file else ""
        if not reason:
            return ""
        reasons[reason] = None
    return "; ".join(reasons)


def _file_unmet(test: MarkerTest, workflow: Workflow, run: str, reader: RunReader) -> str:
    path = workflow.place(run).join(test.file)
    if path and is_glob(test.file):
        path = next((each for each, entry in reader.glob(path) if entry.kind == "file"), None)
    file = reader.read(path) if path else None
    if file is None or not (file.exists or file.refused):
        return f"it has no {test.file}"
    if file.text is None:
        # Nobody can tell what it says (a link out of the root is not followed, a pipe not read): a run that
        # cannot be read, not a run that vanished.
        return ""
    if excess(file.text, "markdown" if test.table else ""):
        # Its reader will say so.
        return ""
    if test.text and test.text not in file.text:
        return f"{test.file} does not hold {test.text!r}"
    if test.table and not _has_table(test, workflow, file, reader):
        return f"{test.file} has no table with {', '.join(test.table)}"
    return _state_unmet(test, workflow, file, reader) if test.has or test.where else ""


def _has_table(test: MarkerTest, workflow: Workflow, file: File, reader: RunReader) -> bool:
    wanted = {name_of(name) for name in test.table}
    plan, dialect = workflow.plan, workflow.dialect
    if plan and dialect and plan.paths == (test.file,) and wanted == dialect.columns:
        # The plan's reader looks for the same columns, and its parse is kept: reading the run needs it again.
        return read_plan(plan.kind, file, reader) is not None
    headers = reader.parse_cached("headers of tables", file, _headers)
    return any(wanted <= header for header in headers)


def _headers(text: str) -> list[set[str]]:
    return [{name_of(cell.text) for cell in t.header} for t in tables(markdown.read(text, rescue=True))]


def _state_unmet(test: MarkerTest, workflow: Workflow, file: File, reader: RunReader) -> str:
    document = reader.parse_cached("json", file, read_json)
    if not document.readable or not isinstance(document.data, dict):
        # A broken state file is a run with a broken state file, not a run that vanished.
        return ""
    state = workflow.state or StateFile(file=test.file)
    raw = fold_dotted(document.data)[0] if state.dotted_keys else document.data
    missing = [key for key in test.has if not _has(raw, key)]
    if missing:
        return f"{test.file} lacks {', '.join(missing)}"
    cleaned: Any = clean(raw)
    data = {"state": lay_under(cleaned, dict(state.defaults))}
    context = Context(workflow.language, data, _nothing, budget=Budget(MOST_STEPS_OF_MARKERS))
    return "" if context.holds(test.where) else f"{test.file} is of another kind"


def _has(data: object, key: str) -> bool:
    """True if a dotted key is there, if only as null."""
    head, _, last = key.rpartition(".")
    inside = dig(data, head) if head else data
    return isinstance(inside, Mapping) and last in inside


def _nothing(name: str) -> object:
    raise UnknownFact(f"{name} is not known where runs are found")
