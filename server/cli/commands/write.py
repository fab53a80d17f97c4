"""The writing commands. Each prints what was recorded and the new next step, and returns its exit code."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ....orchestration.evaluation.questions import answerable
from ....orchestration.findings import Finding
from ....orchestration.result.values import as_json
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, CommandRefused, InvalidCommand
from ....tools.run_names import awaits_person
from ...store.folder import StoreError
from ...terminal import command_hints
from ...terminal import run_views as views
from ...terminal.lines import Part, emit
from ...terminal.lines import tell as complain
from ...workspace import apply
from ...workspace.git import actor
from ...workspace.roots import UsageError
from ..catalog_upkeep import UPKEEP
from ..confirm import NotConfirmed, confirm
from ..selection import PATH_LIMIT, Chosen, chosen, definitions_of, opened_at
from .read import OK, REFUSED, USAGE, WAITING, print_json

_CHANNEL, _PERSONS_CHANNEL = "cli", "terminal"
_MOST_ARISEN = 5


def _run(options: Namespace) -> Chosen:
    return chosen(options).runs[0]


def _refused(error: Exception) -> int:
    """Say why nothing was done. A call that names what there is not is wrong use."""
    complain([f"phasekeeper: {plain(str(error), 600)}"])
    return USAGE if isinstance(error, InvalidCommand) else REFUSED


def _shown(options: Namespace, done: apply.CommandResult, said: str) -> int:
    """What was recorded, the next step, and what is wrong only since then.

    It was written, so this is never a refusal. A run in which nothing can go on waits for a person.
    """
    evaluation = done.evaluation
    if options.json:
        print_json(as_json(evaluation))
    else:
        emit([[Part(said, "good")]])
        emit(views.next_step(evaluation, command_hints.root_words(Path(evaluation.root), options.root)))
        complain(_arisen(done.arisen))
    return WAITING if awaits_person(evaluation) or evaluation.status == "blocked" else OK


def _arisen(findings: Sequence[Finding]) -> Iterator[str]:
    for found in findings[:_MOST_ARISEN]:
        at = f":{found.span.line + 1}" if found.span else ""
        where = f"{plain(found.path, PATH_LIMIT)}{at}"
        yield f"new {found.severity}: {where}: {plain(found.message, 400)} ({found.code})"
    if len(findings) > _MOST_ARISEN:
        yield f"and {len(findings) - _MOST_ARISEN} more; `phasekeeper check` shows them"


def start(options: Namespace) -> int:
    """`start`: a new run, ready to work in."""
    workspace = opened_at(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflow = workspace.library.workflow(options.workflow)
        try:
            run, done = apply.start_run(
                workspace, workflow, options.name, options.title or "", actor(workspace.root)
            )
        except StoreError as error:
            return _refused(error)
    _told(options, done, f"started {run}")
    return OK


def report(options: Namespace) -> int:
    """`report`: what one phase's work came to."""
    run = _run(options)
    if options.token is not None and not options.who:
        raise UsageError("--token is the one of a claim: say with --as whose")
    token = apply.ClaimToken(options.who, options.token) if options.token is not None else None
    wanted = Command(
        kind="report", step=options.step, outcome=options.outcome, stage=options.stage or "",
        tasks=tuple(options.task or options.failed or ()), next=options.next or "",
        message=options.summary or "", data=_data(options.data), manual_criteria=tuple(options.manual or ()),
    )  # fmt: skip
    return _acted(options, run, wanted, f"recorded: {options.step} {options.outcome}", token)


def escalate(options: Namespace) -> int:
    """`escalate`: put a question to a person, who lets the run go on or stops it."""
    wanted = Command(kind="raise", message=options.question, tasks=tuple(options.task or ()))
    return _acted(options, _run(options), wanted, "asked: a person lets the run go on, or stops it")


def _acted(
    options: Namespace, run: Chosen, wanted: Command, said: str, token: apply.ClaimToken | None = None
) -> int:
    """Carry out an act that is no person's decision."""
    who = getattr(options, "who", None) or actor(run.workspace.root)
    wanted = wanted._replace(actor=who, channel=_CHANNEL)
    try:
        done = apply.apply_command(run.workspace, run.match.run, wanted, token=token)
    except (CommandRefused, StoreError) as error:
        return _refused(error)
    return _told(options, done, said)


def _told(options: Namespace, done: apply.CommandResult, said: str) -> int:
    for mended in done.commit.recovery:
        kept = f", kept as {plain(mended.saved_as)}" if mended.saved_as else ""
        complain([f"phasekeeper: {plain(mended.path)}: left by an interrupted write, {mended.kind}{kept}"])
    for unfinished in done.commit.unfinished:
        complain([f"phasekeeper: {plain(unfinished.path)}: {plain(unfinished.why, 400)}"])
    return _shown(options, done, said)


def _data(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise UsageError(f"--data {path}: {(error.strerror or 'it cannot be read').lower()}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data {path} is no JSON object: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"--data {path} must be a JSON object")
    return data


# ---- a person's decisions ---------------------------------------------------------------------


def answer(options: Namespace) -> int:
    """`answer` and `resolve`: choose an option of an open question."""
    return _answered(options, _run(options), options.question, options.option)


def approve(options: Namespace) -> int:
    """`approve`: the first option of a question, of the only open approval when none is named."""
    run = _run(options)
    open_now = answerable(run.look())
    approvals = [question for question in open_now if question.kind == "approval"]
    named = [question for question in open_now if question.id == options.question]
    asked = named if options.question else approvals
    if not asked:
        names = ", ".join(question.id for question in open_now) or "none is open"
        raise UsageError(f"there is no such approval to give; open questions: {names}")
    if len(asked) > 1:
        raise UsageError(f"name the question to approve: {', '.join(question.id for question in asked)}")
    if not asked[0].options:
        raise UsageError(f"{asked[0].id} has no options: `phasekeeper answer` takes the answer in words")
    return _answered(options, run, asked[0].id, asked[0].options[0].id)


def adopt(options: Namespace) -> int:
    """`adopt`: plans that were under way before anyone approved them count from now on."""
    selection = chosen(options)
    if bool(options.run) == options.all:
        raise UsageError("name a run, or --all")
    runs = [run for run in selection.runs if any(q.id == "adoption" for q in run.evaluate().questions)]
    if not runs:
        raise UsageError("no run waits to be adopted")
    return max(_answered(options, run, "adoption", "adopt") for run in runs)


def _answered(options: Namespace, run: Chosen, question: str, option: str) -> int:
    wanted = Command(kind="answer", question=question, option=option, why=_reason(options))
    return _decided(options, run, wanted, f"answered: {question} {option}")


def override(options: Namespace) -> int:
    """`override`: go against a suggestion or a shut gate, with a reason."""
    wanted = Command(kind="override", step=options.to, why=_reason(options))
    return _decided(options, _run(options), wanted, f"overridden: now in {options.to}")


def redo(options: Namespace) -> int:
    """`redo`: a phase is done once more."""
    wanted = Command(kind="redo", step=options.phase, why=options.reason or "")
    return _acted(options, _run(options), wanted, f"to be done again: {options.phase}")


def _reason(options: Namespace) -> str:
    if not (options.reason or "").strip():
        raise UsageError('a decision needs a reason: --reason "..."')
    return options.reason.strip()


def _decided(options: Namespace, run: Chosen, wanted: Command, done: str) -> int:
    """Check all that can be refused, have a person confirm, then sign and record."""
    workspace = run.workspace
    try:
        decision = apply.prepare_decision(workspace, run.match.run, wanted)
        confirm(decision.text, run.name)
        made = apply.record_decision(workspace, decision, actor(workspace.root), _PERSONS_CHANNEL)
    except (CommandRefused, StoreError, NotConfirmed) as error:
        return _refused(error)
    return _told(options, made, done)


# ---- claims -----------------------------------------------------------------------------------


def claim(options: Namespace) -> int:
    """`claim`: nobody else takes a task while the claim lives."""
    run = _run(options)
    try:
        made = apply.claim(run.workspace, run.match.run, options.task, options.who, options.ttl)
    except (CommandRefused, StoreError) as error:
        return _refused(error)
    if options.json:
        print_json({"run": run.match.run, **made._asdict()})
    else:
        emit([[Part(f"{made.task} is yours until {made.until}; token {made.seq}", "good")]])
    return OK


def release(options: Namespace) -> int:
    """`release`: end a claim."""
    run = _run(options)
    try:
        task, ended = apply.release(run.workspace, run.match.run, options.task, options.who)
    except (CommandRefused, StoreError) as error:
        return _refused(error)
    emit([[Part(f"{plain(task)} {'is released' if ended else 'was not claimed'}")]])
    return OK


WRITING = {
    "start": start,
    "report": report,
    "escalate": escalate,
    "answer": answer,
    "resolve": answer,
    "approve": approve,
    "adopt": adopt,
    "override": override,
    "redo": redo,
    "claim": claim,
    "release": release,
    **UPKEEP,
}
