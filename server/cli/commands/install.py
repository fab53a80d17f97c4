"""`phasekeeper install`: fences where work is done, each in its program's own file; `--undo` removes them.

What will be written is shown as a difference and asked for; nothing that stands in a file is lost.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from ....orchestration.definition.model import Workflow
from ....orchestration.sanitize import plain
from ....tools.fence.hook_input import HookClient
from ...fence.installation import plan_fence
from ...store.additive_edits import PlannedFile, SkippedFile, write_planned
from ...terminal.lines import Line, Part, print_errors, print_lines
from ...workspace.workspace import Workspace
from ..confirm import person_agrees
from ..output import OK, REFUSED
from ..selection import definitions_of, open_workspaces

_CONNECT = "connect the server once: {} mcp add phasekeeper -- phasekeeper mcp"
_SHARED = (
    "VS Code and Copilot read the same file, and the hooks of .claude/settings.json too: install one of both"
)
_NOTES = {
    "claude": _CONNECT.format("claude"),
    "codex": f"{_CONNECT.format('codex')}; then trust the hooks in Codex: /hooks",
    "copilot": _SHARED,
    "vscode": _SHARED,
    "pre-commit": "have it run once: pre-commit install -t pre-commit -t pre-push",
    "github": "commit both files; a rule of the branch that asks for the job `gates` makes it hold",
}
"""What is left to a person, by program."""


def install(options: Namespace) -> int:
    """`install`: show what will be written, ask, write it. Refused where nobody can be asked."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    workflows = [] if options.undo else _workflows(workspace)
    names = dict.fromkeys(options.programs)
    planned = [each for name in names for each in plan_fence(name, workspace, workflows, options.undo)]
    skipped = [each for each in planned if isinstance(each, SkippedFile)]
    # Two programs may have the same file.
    changes = list({each.path: each for each in planned if isinstance(each, PlannedFile)}.values())
    print_errors(f"phasekeeper: {plain(each.path)} is left alone: {plain(each.why)}" for each in skipped)
    for change in changes:
        print_lines(_difference(change))
    if changes and not (options.yes or person_agrees(len(changes))):
        print_errors(["phasekeeper: nothing was written; `--yes` writes it without asking"])
        return REFUSED
    for change in changes:
        write_planned(workspace.root, change)
    print_lines(_outcome(changes, options.programs, workspace, options.undo))
    return REFUSED if skipped else OK


def _workflows(workspace: Workspace) -> list[Workflow]:
    with definitions_of(workspace.root):
        return [workspace.library.workflow(each) for each in workspace.library.names]


def _difference(change: PlannedFile) -> Iterator[Line]:
    before = (change.before or b"").decode("utf-8", "replace").splitlines()
    after = (change.after or b"").decode("utf-8", "replace").splitlines()
    note = " (new)" if change.before is None else " (removed)" if change.after is None else ""
    yield [Part(change.path, "run"), Part(note)]
    for line in [*unified_diff(before, after, lineterm="", n=1)][2:]:
        yield [Part(f"  {plain(line, 200)}", {"+": "good", "-": "bad"}.get(line[:1], "dim"))]
    if change.before is not None and before == after:
        yield [Part("  made executable", "good")]


def _outcome(
    changes: Sequence[PlannedFile], programs: Sequence[str], workspace: Workspace, undo: bool
) -> Iterator[Line]:
    """What came of it, and what is left to a person."""
    done = ", ".join(plain(change.path) for change in changes)
    yield [Part(f"written: {done}" if changes else "nothing is left to do", "good")]
    if undo:
        return
    notes = {_NOTES[name]: name for name in programs if name in _NOTES}
    yield from ([Part(f"{name}: {note}")] for note, name in notes.items())
    if not workspace.guard.runs and set(programs) & set(HookClient):
        yield [Part("no run is guarded yet, so nothing is refused: phasekeeper guard on", "warn")]
