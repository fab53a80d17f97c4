"""The writing commands. Each is prepared first: runs and files are read, and what is used wrongly is told.

Carried out it prints what was recorded and the new next step, and returns its exit code.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ....orchestration.result.values import Evaluation, as_json
from ....orchestration.sanitize import plain
from ....orchestration.states import RunStatus
from ....orchestration.updates.commands import AlreadyDone, Command
from ....orchestration.updates.confirmation import release_lines
from ....tools.report_words import report_words
from ....tools.run_names import awaits_person
from ...disk.git import actor
from ...terminal.caller import is_other_process, path_here
from ...terminal.finding_views import one_line_of
from ...terminal.lines import Line, Part, path, print_errors, print_lines
from ...terminal.run_views import next_step_lines
from ...workspace import apply
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..confirm import confirm
from ..output import OK, WAITING, print_json
from ..prepared_write import PreparedWrite, look_with
from ..selection import (
    NoServerAnswer,
    SelectedRun,
    definitions_of,
    held_tasks,
    means_run,
    open_workspaces,
    root_option,
    select_runs,
)

_NEW_SHOWN = 5


def print_result(options: Namespace, done: apply.CommandResult, text: str) -> int:
    """Print what was recorded, the next step, and what is wrong only since then; the exit code.

    It was written, so this is never a refusal. A run in which nothing can go on waits for a person.
    """
    for mended in done.commit.recovery:
        kept = f", kept as {plain(mended.saved_as)}" if mended.saved_as else ""
        print_errors([f"phasekeeper: {path(mended.path)}: left by an interrupted write, {mended.kind}{kept}"])
    for unfinished in done.commit.unfinished:
        print_errors([f"phasekeeper: {path(unfinished.path)}: {plain(unfinished.why, 400)}"])
    evaluation = done.evaluation
    if options.json:
        print_json(as_json(evaluation))
    else:
        print_lines([[Part(text, "good")]])
        print_lines(_next_step(options, evaluation))
        for found in done.arisen[:_NEW_SHOWN]:
            print_errors([f"new {found.severity}: {one_line_of(found, str)} ({found.code})"])
        if len(done.arisen) > _NEW_SHOWN:
            print_errors([f"and {len(done.arisen) - _NEW_SHOWN} more; `phasekeeper check` shows them"])
    return WAITING if _waits(evaluation) else OK


def start(options: Namespace) -> PreparedWrite:
    """`start`: a new run, ready to work in."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflow = workspace.library.workflow(options.workflow)
    who = actor(workspace.root)

    def carry_out() -> int:
        with definitions_of(workspace.root):
            title = options.title or ""
            run, done = apply.start_run(workspace, workflow, options.name, title, who)
        print_result(options, done, f"started {run}")
        return OK

    look = look_with("status", *root_option(workspace.root, options.root))
    return PreparedWrite(workspace.root, "", carry_out, look)


def report(options: Namespace) -> PreparedWrite:
    """`report`: what one phase's work came to."""
    held = apply.HeldClaims((options.token,), named=True) if options.token else apply.NO_CLAIMS
    wanted = Command(
        kind="report", step=options.step, outcome=options.outcome, stage=options.stage or "",
        tasks=tuple(options.task or options.failed or ()), next=options.next or "",
        message=options.summary or "", report=_text("--report", options.report) if options.report else "",
        data=_data(options.data), manual_criteria=tuple(options.manual or ()), request=options.request or "",
    )  # fmt: skip

    def text(done: apply.CommandResult) -> str:
        return (
            f"recorded: {report_words(options.step, options.outcome, done.evaluation, done.commit.records)}"
        )

    files = [path_here(Path(path)) for path in (options.report, options.data) if path]
    return _prepare(options, wanted, text, held)._replace(files=files)


def _print_needless(options: Namespace, why: str) -> int:
    """Print why a report has nothing to record, and the next step, as to an assistant; the exit code."""
    run = select_runs(options).runs[0]
    evaluation = run.evaluate()
    if options.json:
        print_json(as_json(evaluation))
    else:
        print_lines([[Part(f"nothing to record: {plain(why, 600)}", "good")]])
        print_lines(_next_step(options, evaluation))
    return WAITING if _waits(evaluation) else OK


def _next_step(options: Namespace, evaluation: Evaluation) -> Iterable[Line]:
    root = Path(evaluation.root)
    held = held_tasks(Workspace(root), evaluation)
    return next_step_lines(evaluation, root_option(root, options.root), held)


def _waits(evaluation: Evaluation) -> bool:
    """True for a run in which a person is awaited, or nothing can go on."""
    return awaits_person(evaluation) or evaluation.status == RunStatus.BLOCKED


def escalate(options: Namespace) -> PreparedWrite:
    """`escalate`: put a question to a person, who lets the run go on or stops it."""
    tasks, request = tuple(options.task or ()), options.request or ""
    wanted = Command(kind="raise", message=options.question, tasks=tasks, request=request)
    return _prepare(options, wanted, lambda _: "asked: a person lets the run go on, or stops it")


def redo(options: Namespace) -> PreparedWrite:
    """`redo`: a phase is done once more."""
    wanted = Command(kind="redo", step=options.phase, why=options.reason or "")
    return _prepare(options, wanted, lambda _: f"to be done again: {options.phase}")


def _prepare(
    options: Namespace,
    wanted: Command,
    text: Callable[[apply.CommandResult], str],
    claims: apply.HeldClaims = apply.NO_CLAIMS,
) -> PreparedWrite:
    """An act that is no person's decision; `text` says what was recorded."""
    run = select_runs(options).runs[0]
    who = getattr(options, "who", None) or actor(run.workspace.root)
    wanted = wanted._replace(actor=who, channel="cli")

    def carry_out() -> int:
        try:
            done = apply.apply_command(run.workspace, run.match.run, wanted, claims=claims)
        except AlreadyDone as why:
            return _print_needless(options, str(why))
        return print_result(options, done, text(done))

    look = look_with("history", run.name, *_root_words(options, run))
    if wanted.request:
        look += ", and the same call with the same --request-id records it once"
    return PreparedWrite(run.workspace.root, run.match.run, carry_out, look)


def _root_words(options: Namespace, run: SelectedRun) -> tuple[str, ...]:
    return root_option(run.workspace.root, options.root)


def _data(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        data = json.loads(_text("--data", path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data {path} is no JSON object: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"--data {path} must be a JSON object")
    return data


def _text(option: str, path: str) -> str:
    """The text of a file that an option names; of standard input for "-".

    The server has no part in the standard input of who calls it, and opens nothing but files.
    """
    file = path_here(Path(path))
    if is_other_process() and (path == "-" or not file.is_file()):
        raise NoServerAnswer
    try:
        return sys.stdin.read() if path == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: {(error.strerror or 'it cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option} {path} is no text in UTF-8") from None


# ---- claims -----------------------------------------------------------------------------------


def claim(options: Namespace) -> PreparedWrite:
    """`claim`: nobody else takes a task while the claim lives."""
    run = select_runs(options).runs[0]
    named = (options.task, options.who, options.ttl, options.token or "")

    def carry_out() -> int:
        claimed, token = apply.claim(run.workspace, run.match.run, *named)
        fence = {"fence": claimed.fence} if run.workspace.config.fleet else {}
        if options.json:
            print_json({"run": run.match.run, **as_json(claimed), **fence, "token": token})
        else:
            said = f"{claimed.task} is yours until {claimed.until}; token {token}"
            print_lines([[Part(said, "good")]])
        if fence and not claimed.fence:
            print_errors(
                ["on this machine alone: its fleet was not asked; `phasekeeper fleet status` says why"]
            )
        return OK

    return PreparedWrite(run.workspace.root, run.match.run, carry_out, _look_at_claims(options, run))


def release(options: Namespace) -> PreparedWrite:
    """`release`: end a claim, with its token; without it a person confirms that the task is given back."""
    if not options.token and is_other_process():
        # A person confirms on the terminal of their own command.
        raise NoServerAnswer
    run = select_runs(options).runs[0]
    if not options.token:
        _, claimed = apply.claimed_task(run.workspace, run.match.run, options.task)
        if claimed:
            is_name = partial(means_run, options, run)
            confirm(release_lines(claimed), options.run or run.name, is_name=is_name)

    def carry_out() -> int:
        task, ended = apply.release(run.workspace, run.match.run, options.task, options.token or None)
        print_lines([[Part(f"{plain(task)} {'is released' if ended else 'was not claimed'}")]])
        return OK

    return PreparedWrite(run.workspace.root, run.match.run, carry_out, _look_at_claims(options, run))


def _look_at_claims(options: Namespace, run: SelectedRun) -> str:
    return look_with("next", "--json", "--run", run.name, *_root_words(options, run))
