"""The writing commands. Each prints what was recorded and the new next step, and returns its exit code."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from ....orchestration.result.values import Evaluation, as_json
from ....orchestration.sanitize import plain
from ....orchestration.states import RunStatus
from ....orchestration.updates.commands import AlreadyDone, Command
from ....tools.report_words import report_words
from ....tools.run_names import awaits_person
from ...disk.git import actor
from ...terminal.finding_views import one_line_of
from ...terminal.lines import Part, path, print_errors, print_lines
from ...terminal.run_views import next_step_lines
from ...workspace import apply
from ...workspace.roots import UsageError
from ..confirm import confirm
from ..output import OK, WAITING, print_json
from ..selection import definitions_of, open_workspaces, root_option, select_runs

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
        print_lines(next_step_lines(evaluation, root_option(Path(evaluation.root), options.root)))
        for found in done.arisen[:_NEW_SHOWN]:
            print_errors([f"new {found.severity}: {one_line_of(found, str)} ({found.code})"])
        if len(done.arisen) > _NEW_SHOWN:
            print_errors([f"and {len(done.arisen) - _NEW_SHOWN} more; `phasekeeper check` shows them"])
    return WAITING if _waits(evaluation) else OK


def start(options: Namespace) -> int:
    """`start`: a new run, ready to work in."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflow = workspace.library.workflow(options.workflow)
        who = actor(workspace.root)
        run, done = apply.start_run(workspace, workflow, options.name, options.title or "", who)
    print_result(options, done, f"started {run}")
    return OK


def report(options: Namespace) -> int:
    """`report`: what one phase's work came to."""
    held = apply.HeldClaims((options.token,), named=True) if options.token else apply.NO_CLAIMS
    wanted = Command(
        kind="report", step=options.step, outcome=options.outcome, stage=options.stage or "",
        tasks=tuple(options.task or options.failed or ()), next=options.next or "",
        message=options.summary or "", report=_text("--report", options.report) if options.report else "",
        data=_data(options.data), manual_criteria=tuple(options.manual or ()), request=options.request or "",
    )  # fmt: skip
    try:
        done = _apply(options, wanted, held)
    except AlreadyDone as why:
        return _print_needless(options, str(why))
    recorded = report_words(options.step, options.outcome, done.evaluation)
    return print_result(options, done, f"recorded: {recorded}")


def _print_needless(options: Namespace, why: str) -> int:
    """Print why a report has nothing to record, and the next step, as to an assistant; the exit code."""
    run = select_runs(options).runs[0]
    evaluation = run.evaluate()
    if options.json:
        print_json(as_json(evaluation))
    else:
        print_lines([[Part(f"nothing to record: {plain(why, 600)}", "good")]])
        print_lines(next_step_lines(evaluation, root_option(Path(evaluation.root), options.root)))
    return WAITING if _waits(evaluation) else OK


def _waits(evaluation: Evaluation) -> bool:
    """True for a run in which a person is awaited, or nothing can go on."""
    return awaits_person(evaluation) or evaluation.status == RunStatus.BLOCKED


def escalate(options: Namespace) -> int:
    """`escalate`: put a question to a person, who lets the run go on or stops it."""
    tasks, request = tuple(options.task or ()), options.request or ""
    wanted = Command(kind="raise", message=options.question, tasks=tasks, request=request)
    return print_result(options, _apply(options, wanted), "asked: a person lets the run go on, or stops it")


def _apply(
    options: Namespace, wanted: Command, claims: apply.HeldClaims = apply.NO_CLAIMS
) -> apply.CommandResult:
    """Carry out an act that is no person's decision."""
    run = select_runs(options).runs[0]
    who = getattr(options, "who", None) or actor(run.workspace.root)
    wanted = wanted._replace(actor=who, channel="cli")
    return apply.apply_command(run.workspace, run.match.run, wanted, claims=claims)


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
    """The text of a file that an option names; of standard input for "-"."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: {(error.strerror or 'it cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option} {path} is no text in UTF-8") from None


def redo(options: Namespace) -> int:
    """`redo`: a phase is done once more."""
    wanted = Command(kind="redo", step=options.phase, why=options.reason or "")
    return print_result(options, _apply(options, wanted), f"to be done again: {options.phase}")


# ---- claims -----------------------------------------------------------------------------------


def claim(options: Namespace) -> int:
    """`claim`: nobody else takes a task while the claim lives."""
    run = select_runs(options).runs[0]
    named = (options.task, options.who, options.ttl, options.token or "")
    claimed, token = apply.claim(run.workspace, run.match.run, *named)
    if options.json:
        print_json({"run": run.match.run, **as_json(claimed), "token": token})
    else:
        print_lines([[Part(f"{claimed.task} is yours until {claimed.until}; token {token}", "good")]])
    return OK


def release(options: Namespace) -> int:
    """`release`: end a claim, with its token; without it a person confirms that the task is given back."""
    run = select_runs(options).runs[0]
    if not options.token:
        task, claimed = apply.claimed_task(run.workspace, run.match.run, options.task)
        if claimed:
            said = f"{task} is claimed by {claimed.actor} until {claimed.until}, and its token is not given"
            confirm([said, "released, it is free: whoever works on it has no claim any more"], run.name)
    task, ended = apply.release(run.workspace, run.match.run, options.task, options.token or None)
    print_lines([[Part(f"{plain(task)} {'is released' if ended else 'was not claimed'}")]])
    return OK
