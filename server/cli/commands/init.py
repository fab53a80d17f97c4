"""`phasekeeper init`: what a repository needs so that several people and assistants can share its runs; and
`phasekeeper guard`: which runs hold assistants back; and `phasekeeper demo`: the examples that come with the
package, copied where somebody can play with them.

Computed first as values, shown, and written only when that was agreed to. Files that exist are added to:
no byte that stands in them changes, and what is there already is not added again.
"""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ....orchestration.definition.model import Workflow
from ....orchestration.definition.root_config import EVERY_RUN, Guard, with_guard
from ....orchestration.definition.root_config import PATH as CONFIG_PATH
from ....orchestration.journal.lines import CLAIMS_NAME, FOLDER, JOURNAL_NAME
from ....orchestration.sanitize import plain
from ....tools.run_names import find_run
from ...fence.assistant_rules import fences
from ...store.additive_edits import PlannedFile, SkippedFile, plan_lines, write_planned
from ...store.folder import read_file
from ...store.lock import HOLDER, LOCK
from ...terminal.lines import COMMAND, PATH_LIMIT, Line, Part, print_errors, print_lines
from ...terminal.run_views import print_status
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..confirm import confirm, person_agrees
from ..output import OK, REFUSED, bare_folder_lines, print_json
from ..selection import definitions_of, open_workspaces, select_runs

ATTRIBUTES = (f"**/{FOLDER}/{JOURNAL_NAME} merge=union",)
"""Two branches that both append keep all their lines; `repair` links them (design, section 6)."""
IGNORED = (
    f"**/{FOLDER}/{CLAIMS_NAME}",
    f"**/{FOLDER}/{LOCK}",
    f"**/{FOLDER}/{HOLDER}",
    f"**/{FOLDER}/evidence/",
    f"**/{FOLDER}/.*.new",
    ".*.phasekeeper-*.tmp",
)
"""What holds for one machine at one moment."""
_CONFIG_HEAD = """\
# Phasekeeper's configuration. Everything is optional; the comments show the defaults.

# projects: [packages/*]          # further roots below this one
# workflows: {"docs/plans/*": master-plan}   # which workflow the folders that fit have

parameters:
"""


def init(options: Namespace) -> int:
    """`init`: show what will be written, ask, write it. Refused where nobody can be asked without --yes."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflows = [workspace.library.workflow(name) for name in workspace.library.names]
    root = workspace.root
    print_lines([_runs_line(workspace)])
    changes, skipped = plan_setup(root, workflows, options.assistants)
    print_errors(f"phasekeeper: {plain(each.path)} is left alone: {plain(each.why)}" for each in skipped)
    if not changes:
        print_lines([[Part(f"{plain(str(root), PATH_LIMIT)}: nothing is left to do", "good")]])
        return REFUSED if skipped else OK
    for change in changes:
        new = " (new)" if change.before is None else " (added to)"
        print_lines([[Part(change.path, "run"), Part(new)]])
        print_lines([Part(f"  + {plain(line, 300)}", "dim")] for line in change.added)
    if not (options.yes or person_agrees(len(changes))):
        print_errors(["phasekeeper: nothing was written; `phasekeeper init --yes` writes it without asking"])
        return REFUSED
    _write(root, changes)
    print_lines([[Part(f"written: {', '.join(plain(change.path) for change in changes)}", "good")]])
    return REFUSED if skipped else OK


def _runs_line(workspace: Workspace) -> Line:
    """How many runs of which workflows are here: conventions are read where they lie, none is set up."""
    counts = Counter(match.workflow.name for match in workspace.matches)
    if not counts:
        bare = "".join(f"; {line}" for line in bare_folder_lines(workspace))
        said = f"no runs are here yet{bare or '; `phasekeeper start WORKFLOW NAME` begins one'}"
        return [Part(f"{plain(str(workspace.root), PATH_LIMIT)}: {said}")]
    named = [f"{count} {plain(name, 60)}" for name, count in counts.most_common()]
    runs = "1 run" if counts.total() == 1 else f"{counts.total()} runs"
    return [Part("found: ", "dim"), Part(f"{runs}: {', '.join(named)}", "good")]


def _write(root: Path, changes: Sequence[PlannedFile]) -> None:
    """All that this command writes."""
    for change in changes:
        write_planned(root, change)


# ---- what is to be written --------------------------------------------------------------------


def plan_setup(
    root: Path, workflows: Sequence[Workflow], assistants: Sequence[str] | None = None
) -> tuple[list[PlannedFile], list[SkippedFile]]:
    """What is missing in a root, file by file. Raises StoreError for a file that cannot be read."""
    config = None
    if read_file(root, CONFIG_PATH)[0] is None:
        text = _CONFIG_HEAD + "".join(line + "\n" for each in workflows for line in _parameters(each))
        lines = tuple(line for line in text.splitlines() if line)
        config = PlannedFile(CONFIG_PATH, None, text.encode(), lines)
    found = [
        config,
        plan_lines(root, ".gitattributes", ATTRIBUTES),
        plan_lines(root, ".gitignore", IGNORED),
        *fences(root, assistants, workflows),
    ]
    changes = [each for each in found if isinstance(each, PlannedFile)]
    return changes, [each for each in found if isinstance(each, SkippedFile)]


def _parameters(workflow: Workflow) -> Iterator[str]:
    if workflow.parameters:
        yield f"#   {plain(workflow.name)}:"
    for parameter in workflow.parameters.values():
        if parameter.one_of:
            bounds = [f"one of {', '.join(plain(str(value)) for value in parameter.one_of)}"]
        else:
            limits = (("at least", parameter.min), ("at most", parameter.max))
            bounds = [f"{word} {plain(str(limit))}" for word, limit in limits if limit is not None]
        comment = f"   # {', '.join(bounds)}" if bounds else ""
        yield f"#     {plain(parameter.id)}: {json.dumps(parameter.default)}{comment}"


# ---- guard ---------------------------------------------------------------------------------------


def guard(options: Namespace) -> int:
    """`guard`: say what is guarded, widen or narrow it. Raises NotConfirmed where nobody agrees to less."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    if options.switch is None and (options.run or options.fail):
        raise UsageError("say on or off before a run, and with --fail")
    before = workspace.config.guard
    after = _switch_guard(workspace, before, options)
    if after != before:
        if workspace.config.findings:
            raise UsageError(f"{CONFIG_PATH} has errors; `phasekeeper check` shows them")
        if after.with_other(before) != after.with_other(after):
            confirm(_less_guarded(workspace.root, before, after), workspace.root.name)
        _write_guard(workspace.root, after)
        workspace = Workspace(workspace.root)
    if options.json:
        guarded = workspace.guard
        runs = [match.run for match in workspace.matches if guarded.covers(match.run)]
        fail = "closed" if guarded.fails_closed else "open"
        print_json({"root": str(workspace.root), "patterns": guarded.runs, "fail": fail, "runs": runs})
    else:
        print_lines(_guard_lines(workspace))
    return OK


def _switch_guard(workspace: Workspace, before: Guard, options: Namespace) -> Guard:
    """The guard after `on` or `off`. Raises UsageError for a run that is guarded by a pattern for several."""
    fails_closed = options.fail == "closed" if options.fail else before.fails_closed
    run = find_run([match.run for match in workspace.matches], options.run) if options.run else ""
    if options.switch == "on":
        wanted = (run or EVERY_RUN,)
        is_covered = before.covers(run) if run else EVERY_RUN in before.runs
        return Guard(before.runs if is_covered else (*before.runs, *wanted), fails_closed)
    if options.switch is None:
        return before
    rest = tuple(pattern for pattern in before.runs if run and pattern != run)
    if run and Guard(rest).covers(run):
        wider = ", ".join(pattern for pattern in rest if Guard((pattern,)).covers(run))
        raise UsageError(f"{run} is guarded by {wider}, as others are; narrow it in {CONFIG_PATH}")
    return Guard(rest, fails_closed and bool(rest))


def _less_guarded(root: Path, before: Guard, after: Guard) -> Iterator[str]:
    """What a person reads before less is guarded than was."""
    yield f"Assistants in {root} are no more held back by the gates of"
    yield from (f"  {pattern}" for pattern in before.runs if pattern not in after.runs)
    if before.fails_closed and not after.fails_closed:
        yield "  (nor where no verdict can be had)"


def _write_guard(root: Path, guard: Guard) -> None:
    before = read_file(root, CONFIG_PATH)[0]
    text = with_guard((before or b"").decode("utf-8"), guard)
    write_planned(root, PlannedFile(CONFIG_PATH, before, text.encode(), ()))


def _guard_lines(workspace: Workspace) -> Iterator[Line]:
    own, guarded = workspace.config.guard, workspace.guard
    if not guarded.runs:
        yield [Part("nothing is guarded here; `phasekeeper guard on` guards every run")]
        return
    runs = [match.run or "." for match in workspace.matches if guarded.covers(match.run)]
    policy = "are refused" if guarded.fails_closed else "go on"
    yield [Part(f"guarded: {', '.join(map(plain, guarded.runs))}", "good"), Part(f" ({len(runs)} runs)")]
    yield [Part(f"without a verdict assistants {policy}")]
    if own != guarded:
        yield [Part("less is configured now; that counts once it is committed", "warn")]


# ---- demo ---------------------------------------------------------------------------------------

_ROOTS_OF_THEIR_OWN = ("conventions",)
_DEMO_COMMANDS = ("next", "gates", "questions", "explain", "check")


def demo(options: Namespace) -> int:
    """`demo`: copy the examples and show how they stand."""
    folder = options.dir
    copy_examples(folder)
    text = f"Small runs of all five workflows are in {plain(str(folder), PATH_LIMIT)}."
    print_lines([[Part(text)], []])
    runs = select_runs(Namespace(path=folder, root=folder, run=None, evaluations=None)).runs
    print_status([run.evaluate_from_root() for run in runs])
    where = plain(shlex.quote(str(folder)), PATH_LIMIT)
    print_lines([[], [Part("Go on with:")]])
    print_lines([Part(f"  phasekeeper {word} {where}", COMMAND)] for word in _DEMO_COMMANDS)
    return OK


def copy_examples(target: Path) -> None:
    """Copy the example runs to a new or empty folder. Raises UsageError when that is not possible."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{str(target)!r} is no empty folder; name a new one")
    try:
        _copy(resources("phasekeeper.examples"), target)
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise UsageError(f"{str(target)!r} cannot be written: {why}; name another folder") from None


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    # The configuration comes first: somebody may watch the folder already, and is told only what it means.
    for entry in sorted(source.iterdir(), key=lambda each: (each.name != FOLDER, each.is_dir(), each.name)):
        if entry.name.startswith("__") or entry.name in _ROOTS_OF_THEIR_OWN:
            continue
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
