"""The writing commands. Each prints what was recorded and the new next step, and returns its exit code."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from ..orchestration.display import plain
from ..orchestration.effects import Act, Refused
from ..orchestration.evaluation import Evaluation, as_json
from ..tools.runs import awaits_person
from . import acting, views
from .commands import OK, REFUSED, WAITING, print_json
from .confirm import NotConfirmed, actor, confirm
from .roots import UsageError
from .selection import Chosen, Selection, chosen, definitions_of, opened_at
from .store_claims import claim as claim_task
from .store_claims import release as release_task
from .store_folder import StoreError
from .terminal import Part, emit
from .terminal import tell as complain
from .upkeep import UPKEEP

_CHANNEL = "terminal"


def _run(options: Namespace) -> tuple[Selection, Chosen]:
    selection = chosen(options)
    return selection, selection.runs[0]


def _refused(error: Exception) -> int:
    complain([f"phasekeeper: {plain(str(error), 600)}"])
    return REFUSED


def _shown(options: Namespace, evaluation: Evaluation, said: str) -> int:
    """What was recorded, and the next step."""
    if options.json:
        print_json(as_json(evaluation))
    else:
        emit([[Part(said, "good")]])
        emit(views.next_step(evaluation))
    if evaluation.status in ("invalid", "blocked"):
        return REFUSED
    return WAITING if awaits_person(evaluation) else OK


def start(options: Namespace) -> int:
    """`start`: a new run, ready to work in."""
    workspace = opened_at(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflow = workspace.library.workflow(options.workflow)
        try:
            run, done = acting.start(
                workspace, workflow, options.name, options.title or "", actor(workspace.root)
            )
        except StoreError as error:
            return _refused(error)
    _shown(options, done.evaluation, f"started {run}")
    return OK


def report(options: Namespace) -> int:
    """`report`: what one phase's work came to."""
    _, run = _run(options)
    if options.token is not None and not options.who:
        raise UsageError("--token is the one of a claim: say with --as whose")
    token = acting.Token(options.who, options.token) if options.token is not None else None
    wanted = Act(
        kind="report", step=options.step, outcome=options.outcome, stage=options.stage or "",
        tasks=tuple(options.task or options.failed or ()), next=options.next or "",
        message=options.summary or "", data=_data(options.data), manual_criteria=tuple(options.manual or ()),
        actor=options.who or actor(run.workspace.root), channel="cli",
    )  # fmt: skip
    return _acted(options, run, wanted, f"recorded: {options.step} {options.outcome}", token)


def _acted(
    options: Namespace,
    run: Chosen,
    wanted: Act,
    said: str,
    token: acting.Token | None = None,
    confirmed: Evaluation | None = None,
) -> int:
    """Carry out an act; `confirmed` is what a person saw who has just decided."""
    revision = confirmed.revision if confirmed else None
    try:
        done = acting.act(
            run.workspace, run.match.run, wanted, signed=confirmed is not None, token=token, revision=revision
        )
    except (Refused, StoreError) as error:
        return _refused(error)
    for mended in done.committed.mended:
        kept = f", kept as {plain(mended.kept)}" if mended.kept else ""
        complain([f"phasekeeper: {plain(mended.path)}: left by an interrupted write, {mended.did}{kept}"])
    for unfinished in done.committed.unfinished:
        complain([f"phasekeeper: {plain(unfinished.path)}: {plain(unfinished.why, 400)}"])
    return _shown(options, done.evaluation, said)


def _data(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        data = json.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"--data {path}: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"--data {path} must be a JSON object")
    return data


# ---- a person's decisions ---------------------------------------------------------------------


def answer(options: Namespace) -> int:
    """`answer` and `resolve`: choose an option of an open question."""
    _, run = _run(options)
    return _answered(options, run, options.question, options.option)


def approve(options: Namespace) -> int:
    """`approve`: the first option of a question, of the only open approval when none is named."""
    _, run = _run(options)
    evaluation = run.evaluate()
    approvals = [question for question in evaluation.questions if question.kind == "approval"]
    named = [question for question in evaluation.questions if question.id == options.question]
    asked = named if options.question else approvals
    if len(asked) != 1:
        names = ", ".join(question.id for question in asked or evaluation.questions) or "none is open"
        raise UsageError(f"name the question to approve: {names}")
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


def _answered(options: Namespace, run: Chosen, question_id: str, option_id: str) -> int:
    evaluation = run.evaluate()
    question = next((q for q in evaluation.questions if q.id == question_id), None)
    if question is None:
        names = ", ".join(q.id for q in evaluation.questions) or "none is open"
        raise UsageError(f"the question {question_id!r} is not open; open are: {names}")
    option = next((o for o in question.options if o.id == option_id), None)
    if question.options and option is None:
        raise UsageError(
            f"{question_id} has no option {option_id!r}; it has {', '.join(o.id for o in question.options)}"
        )
    said = [f"{run.name}: {question.question}", f"answer: {option_id} ({option.text if option else ''})"]
    wanted = Act(kind="answer", question=question_id, option=option_id, why=_reason(options))
    return _decided(options, run, evaluation, wanted, said, f"answered: {question_id} {option_id}")


def override(options: Namespace) -> int:
    """`override`: go against a suggestion or a shut gate, with a reason."""
    _, run = _run(options)
    evaluation = run.evaluate()
    shut = [f"gate {gate.id} is {gate.status}: {gate.title}" for gate in evaluation.gates if gate.shut]
    said = [f"{run.name} is in {evaluation.current_phase}; move it to {options.to}", *shut]
    wanted = Act(kind="override", step=options.to, why=_reason(options))
    return _decided(options, run, evaluation, wanted, said, f"overridden: now in {options.to}")


def redo(options: Namespace) -> int:
    """`redo`: a phase is done once more."""
    _, run = _run(options)
    wanted = Act(
        kind="redo",
        step=options.phase,
        why=options.reason or "",
        actor=actor(run.workspace.root),
        channel="cli",
    )
    return _acted(options, run, wanted, f"to be done again: {options.phase}")


def _reason(options: Namespace) -> str:
    if not (options.reason or "").strip():
        raise UsageError('a decision needs a reason: --reason "..."')
    return options.reason.strip()


def _decided(
    options: Namespace, run: Chosen, shown: Evaluation, wanted: Act, said: list[str], done: str
) -> int:
    """Have a person confirm, then sign and record."""
    try:
        confirm([*said, f"reason: {wanted.why}"], run.name)
    except NotConfirmed as error:
        return _refused(error)
    wanted = wanted._replace(actor=actor(run.workspace.root), channel=_CHANNEL)
    return _acted(options, run, wanted, done, confirmed=shown)


# ---- claims, history, repair ------------------------------------------------------------------


def claim(options: Namespace) -> int:
    """`claim`: nobody else takes a task while the claim lives."""
    from ..orchestration.schedule import resolve

    _, run = _run(options)
    plan = run.look().sight.snapshot.plan
    task = resolve(plan, options.task) if plan else None
    if task is None:
        raise UsageError(f"{options.task!r} is no task of {run.name}")
    ready = run.evaluate().suggestion.tasks
    claims = {c.task: c for c in run.evaluate().claims}
    if task not in ready and task not in claims:
        return _refused(Refused(f"{task} cannot start now; ready are {', '.join(ready) or 'none'}"))
    try:
        made = claim_task(run.workspace.root, run.match.run, task, options.who, options.ttl)
    except StoreError as error:
        return _refused(error)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print_json({"run": run.match.run, **made._asdict()})
    else:
        emit([[Part(f"{task} is yours until {made.until}; token {made.seq}", "good")]])
    return OK


def release(options: Namespace) -> int:
    """`release`: end a claim."""
    _, run = _run(options)
    from ..orchestration.schedule import resolve

    plan = run.look().sight.snapshot.plan
    task = (resolve(plan, options.task) if plan else None) or options.task
    try:
        ended = release_task(run.workspace.root, run.match.run, task, options.who)
    except StoreError as error:
        return _refused(error)
    emit([[Part(f"{task} is released" if ended else f"{task} was not claimed")]])
    return OK


WRITING = {
    "start": start,
    "report": report,
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
