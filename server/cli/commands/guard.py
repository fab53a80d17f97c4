"""`phasekeeper guard`: which runs are guarded, by their root's configuration; `hook`, which asks for it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from ....orchestration.definition.guard import EVERY_RUN, Guard, with_guard
from ....orchestration.definition.root_config import PATH as CONFIG_PATH
from ....orchestration.sanitize import plain
from ....tools.run_names import find_run
from ...connector.hook_call import run_hook
from ...store.additive_edits import PlannedFile, write_planned
from ...store.folder import read_file
from ...terminal.lines import Line, Part, print_lines
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..confirm import confirm
from ..output import OK, print_json
from ..selection import open_workspaces


def guard(options: Namespace) -> int:
    """`guard`: say what is guarded, widen or narrow it. Raises NotConfirmed where nobody agrees to less."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    if options.switch is None and (options.run or options.fail):
        raise UsageError("say on or off before a run, and with --fail")
    before = workspace.config.guard
    after = _switched(workspace, before, options)
    if after != before:
        if workspace.config.findings:
            raise UsageError(f"{CONFIG_PATH} has errors; `phasekeeper check` shows them")
        if after.with_other(before) != after.with_other(after):
            confirm(_question(workspace.root, before, after), workspace.root.name)
        _write(workspace.root, after)
        workspace = Workspace(workspace.root)
    if options.json:
        guarded = workspace.guard
        runs = [match.run for match in workspace.matches if guarded.covers(match.run)]
        fail = "closed" if guarded.fails_closed else "open"
        print_json({"root": str(workspace.root), "patterns": guarded.runs, "fail": fail, "runs": runs})
    else:
        print_lines(_lines(workspace))
    return OK


def hook(options: Namespace) -> int:
    """`hook`: the answer to an event on stdin."""
    return run_hook(options.client, options.event)


def _switched(workspace: Workspace, before: Guard, options: Namespace) -> Guard:
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


def _question(root: Path, before: Guard, after: Guard) -> Iterator[str]:
    """What a person reads before less is guarded than was."""
    yield f"Assistants in {root} are no more held back by the gates of"
    yield from (f"  {pattern}" for pattern in before.runs if pattern not in after.runs)
    if before.fails_closed and not after.fails_closed:
        yield "  (nor where no verdict can be had)"


def _write(root: Path, guard: Guard) -> None:
    before = read_file(root, CONFIG_PATH)[0]
    text = with_guard((before or b"").decode("utf-8"), guard)
    write_planned(root, PlannedFile(CONFIG_PATH, before, text.encode(), ()))


def _lines(workspace: Workspace) -> Iterator[Line]:
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
