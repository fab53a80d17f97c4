"""Which folders of a root are runs, and of which workflow. Content decides, never a name alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import markdown
from .config import Config
from .definition import InvalidWorkflow
from .documents import clean, fold_dotted, lay_under, read_json
from .files import File, Files, fits, glob, join, natural
from .findings import Finding, Problem, finding
from .guards import Context, Unknown, dig
from .journal import read_journal
from .looked import Looked
from .plans import dialects
from .snapshot import JOURNAL
from .tables import tables
from .wording import name_of
from .workflow import MarkerTest, StateFile, Workflow


class Definition(NamedTuple):
    """A workflow that can be found in a root; `load` compiles it when a folder might be one of its runs.

    `at` is empty where the definition cannot even say where its runs are; `load` then raises why.
    """

    name: str
    at: tuple[str, ...]
    built_in: bool
    load: Callable[[], Workflow]


class Match(NamedTuple):
    """A folder that is a run. `rivals` are other user definitions that claim it with equal right."""

    run: str
    workflow: Workflow
    rivals: tuple[str, ...] = ()

    def findings(self) -> tuple[Finding, ...]:
        if not self.rivals:
            return ()
        names = ", ".join((self.workflow.name, *self.rivals))
        said = f"{names} all claim this folder; assign one in .phasekeeper/config.yaml under workflows"
        return (finding(Problem("workflow-ambiguous", said), self.run),)


class Passed(NamedTuple):
    """A folder that looks like a run of a workflow by its place, and why it is none."""

    run: str
    workflow: str
    because: str


class Found(NamedTuple):
    """The runs of a root in natural order of their paths, the folders that were passed over, and what is
    wrong, by name, with definitions that cannot be used.
    """

    matches: list[Match]
    passed: list[Passed]
    broken: dict[str, tuple[Finding, ...]]


def discover(
    definitions: Sequence[Definition],
    files: Files,
    config: Config,
    parsed: dict[tuple[str, str], Any] | None = None,
) -> Found:
    """What of a root is a run, and of which workflow. A broken definition hides the runs of no other one."""
    looked = Looked(files, {} if parsed is None else parsed)
    claims: dict[str, list[Definition]] = {}
    found = Found([], [], {})
    for definition in definitions:
        folders = _folders(definition.at, files)
        workflow = _loaded(definition, found.broken) if folders or not definition.at else None
        for run in folders:
            why = _refused(workflow, run, looked) if workflow else "its definition is broken"
            if why:
                found.passed.append(Passed(run, definition.name, why))
            else:
                claims.setdefault(run, []).append(definition)
    for run in sorted(claims, key=natural):
        match = _match(run, claims[run], found.broken, looked, config)
        found.matches.extend([match] if match else [])
    return found


def _loaded(definition: Definition, broken: dict[str, tuple[Finding, ...]]) -> Workflow | None:
    try:
        return definition.load()
    except InvalidWorkflow as error:
        broken[definition.name] = tuple(error.findings)
        return None


def _folders(at: Iterable[str], files: Files) -> list[str]:
    found = (path for pattern in at for path, entry in glob(files, pattern) if entry.kind == "folder")
    return list(dict.fromkeys(found))


def _match(
    run: str, claims: Sequence[Definition], broken: Collection[str], looked: Looked, config: Config
) -> Match | None:
    """Who has a folder: whom its journal names, else whom the configuration assigns, else a built-in.

    None where it is a broken definition that has it: no other may judge its run.
    """
    by_name = {definition.name: definition for definition in claims}
    assigned = next((name for pattern, name in config.workflows.items() if fits(pattern, run)), None)
    for name in (_started(run, looked), assigned):
        if name in broken:
            return None
        if name in by_name:
            return Match(run, by_name[name].load())
    first, *others = sorted(claims, key=lambda definition: (not definition.built_in, definition.name))
    rivals = () if first.built_in else tuple(definition.name for definition in others)
    return Match(run, first.load(), rivals)


def _started(run: str, looked: Looked) -> str | None:
    """The workflow that the journal's start record names."""
    file = looked.read(join(run, JOURNAL) or JOURNAL)
    if not file.text:
        return None
    records = read_journal(file.text).records
    return next((str(r["workflow"]) for r in records if r["kind"] == "start" and r["workflow"]), None)


def _refused(workflow: Workflow, run: str, looked: Looked) -> str:
    """Why the folder is no run of the workflow, "" if it is one."""
    reasons = [_unmet(test, workflow, run, looked) for test in workflow.marker]
    return "" if "" in reasons else "; ".join(dict.fromkeys(reasons))


def _unmet(test: MarkerTest, workflow: Workflow, run: str, looked: Looked) -> str:
    if test.journal and _started(run, looked) != test.journal:
        return f"its journal names no {test.journal}"
    return _file_unmet(test, workflow, run, looked) if test.file else ""


def _file_unmet(test: MarkerTest, workflow: Workflow, run: str, looked: Looked) -> str:
    path = join(run, test.file)
    file = looked.read(path) if path else None
    if file is None or not file.exists:
        return f"it has no {test.file}"
    if file.text is None:
        # Nobody can tell what it says: a run that cannot be read, not a run that vanished.
        return ""
    if test.text and test.text not in file.text:
        return f"{test.file} does not hold {test.text!r}"
    if test.table and not _has_table(test, workflow, file, looked):
        return f"{test.file} has no table with {', '.join(test.table)}"
    return _state_unmet(test, workflow, file, looked) if test.has or test.where else ""


# The columns that the reader of a MASTER_PLAN.md looks for itself.
_PLAN_COLUMNS = frozenset({"task id", "file", "status"})


def _has_table(test: MarkerTest, workflow: Workflow, file: File, looked: Looked) -> bool:
    wanted = {name_of(name) for name in test.table}
    plan = workflow.plan
    if plan and plan.paths == (test.file,) and wanted == _PLAN_COLUMNS:
        # The parse is kept: reading the run needs it again.
        return looked.once(plan.kind, file, dialects()[plan.kind].read) is not None
    headers = looked.once("headers of tables", file, _headers)
    return any(wanted <= header for header in headers)


def _headers(text: str) -> list[set[str]]:
    found = tables(markdown.read(text, rescue=True))
    return [{name_of(cell.text) for cell in table.header} for table in found]


def _state_unmet(test: MarkerTest, workflow: Workflow, file: File, looked: Looked) -> str:
    document = looked.once("json", file, read_json)
    if not document.readable or not isinstance(document.data, dict):
        # A broken state file is a run with a broken state file, not a run that vanished.
        return ""
    state = workflow.state or StateFile(test.file)
    raw = fold_dotted(document.data)[0] if state.fold_dotted else document.data
    missing = [key for key in test.has if not _has(raw, key)]
    if missing:
        return f"{test.file} lacks {', '.join(missing)}"
    cleaned: Any = clean(raw)
    context = Context(workflow.language, {"state": lay_under(cleaned, dict(state.defaults))}, _nothing)
    return "" if context.holds(test.where) else f"{test.file} is of another kind"


def _has(data: object, key: str) -> bool:
    """Whether a dotted key is there, if only as null."""
    head, _, last = key.rpartition(".")
    inside = dig(data, head) if head else data
    return isinstance(inside, Mapping) and last in inside


def _nothing(name: str) -> object:
    raise Unknown(f"{name} is not known where runs are found")
