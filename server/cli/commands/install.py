"""`phasekeeper install`: fences where work is done, each in its program's own file; `--undo` removes them.

What will be written is shown as a difference and asked for; nothing that stands in a file is lost.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from ....orchestration.sanitize import plain
from ....tools.fence.client_settings import SETTINGS, with_hooks, without_hooks
from ....tools.fence.hook_input import HookClient
from ...fence.assistant_rules import FENCES, fences
from ...store.additive_edits import PlannedFile, SkippedFile, write_planned
from ...store.folder import read_file
from ...terminal.lines import Line, Part, print_errors, print_lines
from ...workspace.workspace import Workspace
from ..confirm import person_agrees
from ..output import OK, REFUSED
from ..selection import definitions_of, open_workspaces

_Planned = PlannedFile | SkippedFile | None
WORKFLOW = """\
# Measures what the work rests on, then asks the gates: nothing that the working copy claims is trusted.
name: gates
on: [push, pull_request]
permissions:
  contents: read
jobs:
  gates:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.x"}
      - run: python -m pip install phasekeeper
      - run: phasekeeper verify --trust-head
        if: hashFiles('.phasekeeper/config.yaml') != ''
        continue-on-error: true
      - run: phasekeeper check --gates --allow waiting --format github
"""
GIT_HOOK = """\
#!/bin/sh
# Written by `phasekeeper install git`: a commit or push that a failed gate forbids is stopped.
exec phasekeeper check --gates --allow waiting
"""
_EXECUTABLE = 0o755
_CONNECT = "connect the server once: {} mcp add phasekeeper -- phasekeeper mcp"
_NOTES = {
    "claude": _CONNECT.format("claude"),
    "codex": f"{_CONNECT.format('codex')}; then trust the hooks in Codex: /hooks",
    "copilot": "Copilot runs the hooks of .claude/settings.json too: install one of both",
}
"""What is left to a person, by program."""
_OWN_FILES = {
    "git": (GIT_HOOK, (".git/hooks/pre-commit", ".git/hooks/pre-push")),
    "github": (WORKFLOW, (".github/workflows/phasekeeper.yml",)),
}


def install(options: Namespace) -> int:
    """`install`: show what will be written, ask, write it. Refused where nobody can be asked."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    names = dict.fromkeys(options.programs)
    planned = [each for name in names for each in _plan(name, workspace, options.undo)]
    skipped = [each for each in planned if isinstance(each, SkippedFile)]
    changes = [each for each in planned if isinstance(each, PlannedFile)]
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


def _plan(name: str, workspace: Workspace, undo: bool) -> Iterator[PlannedFile | SkippedFile]:
    """The changes for one program."""
    root = workspace.root
    if name in _OWN_FILES:
        text, paths = _OWN_FILES[name]
        yield from filter(None, (_plan_own(root, path, text, undo) for path in paths))
        return
    rules: list[PlannedFile | SkippedFile] = []
    if name in FENCES and not undo:
        library = workspace.library
        with definitions_of(root):
            workflows = [library.workflow(each) for each in library.names]
        rules = fences(root, [name], workflows)
    client, path = HookClient(name), SETTINGS[HookClient(name)].path
    # One file may hold both: the hooks are put into what the rules make of it.
    beside = next((each for each in rules if each.path == path and isinstance(each, PlannedFile)), None)
    before = beside.before if beside else read_file(root, path)[0]
    hooks = _plan_hooks(path, before, beside.after if beside else before, client, workspace, undo)
    yield from (each for each in rules if each is not beside)
    yield from filter(None, [hooks or beside])


def _plan_hooks(
    path: str, before: bytes | None, text: bytes | None, client: HookClient, workspace: Workspace, undo: bool
) -> _Planned:
    """Our hooks put into the text of a client's settings, or taken out of it; nothing else in it: no file."""
    raw = text or b""
    mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    try:
        now = raw[len(mark) :].decode("utf-8")
        fails_closed = workspace.guard.fails_closed
        after = without_hooks(now, client) if undo else with_hooks(now, client, fails_closed)
    except ValueError as error:
        return SkippedFile(path, f"{error}; mend it, then run this again")
    if after == now:
        return None
    return PlannedFile(path, before, mark + after.encode() if after else None, ())


def _plan_own(root: Path, path: str, text: str, undo: bool) -> _Planned:
    """A file that is ours as a whole; one of somebody else's is left alone."""
    before = read_file(root, path)[0]
    if path.startswith(".git/") and not (root / ".git").is_dir():
        return SkippedFile(
            path, "this folder has no .git of its own; have its hooks run `phasekeeper check --gates`"
        )
    if before is None:
        mode = _EXECUTABLE if text is GIT_HOOK else None
        return None if undo else PlannedFile(path, None, text.encode(), (), mode)
    if before == text.encode():
        return PlannedFile(path, before, None, ()) if undo else None
    return SkippedFile(
        path, "it holds something else; have it run `phasekeeper check --gates --allow waiting`"
    )


def _difference(change: PlannedFile) -> Iterator[Line]:
    before = (change.before or b"").decode("utf-8", "replace").splitlines()
    after = (change.after or b"").decode("utf-8", "replace").splitlines()
    note = " (new)" if change.before is None else " (removed)" if change.after is None else ""
    yield [Part(change.path, "run"), Part(note)]
    for line in [*unified_diff(before, after, lineterm="", n=1)][2:]:
        yield [Part(f"  {plain(line, 200)}", {"+": "good", "-": "bad"}.get(line[:1], "dim"))]


def _outcome(
    changes: Sequence[PlannedFile], programs: Sequence[str], workspace: Workspace, undo: bool
) -> Iterator[Line]:
    """What came of it, and what is left to a person."""
    done = ", ".join(plain(change.path) for change in changes)
    yield [Part(f"written: {done}" if changes else "nothing is left to do", "good")]
    if undo:
        return
    for name in programs:
        if name in _NOTES:
            yield [Part(f"{name}: {_NOTES[name]}")]
    if not workspace.guard.runs and set(programs) & set(HookClient):
        yield [Part("no run is guarded yet, so nothing is refused: phasekeeper guard on", "warn")]
