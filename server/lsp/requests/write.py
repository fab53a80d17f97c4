"""The requests of our own that write: reports, claims, new runs, phases done again, a person's decisions.

Nothing is written for a connection that is not trusted. The reason of every refusal is the answer.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, CommandRefused
from ....orchestration.updates.confirmation import release_lines
from ....tools.assistant.questions import DIALOG
from ....tools.report_words import report_words
from ...disk.git import actor
from ...workspace import apply
from ...workspace.apply import Conflict, StoreError
from ...workspace.definitions import UnknownWorkflow
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.connection import Connection
from ..session.editor_claims import OwnClaim
from ..session.payloads import summary
from ..session.transport import RequestFailed
from ..view.root_view import RootView

CLAIM_S = 8 * 3600
"""The time for which a task claimed in an editor is kept: a working day."""
_REFUSALS = (CommandRefused, StoreError, UsageError, UnknownWorkflow, ValueError)
Parameters = dict[str, Any]
Answer = dict[str, Any]
Write = Callable[[Connection, RootView, Parameters], Awaitable[Answer]]


async def answer_write(write: Write, connection: Connection, params: Any) -> Answer:
    """The answer to a request that writes. Raises RequestFailed, with the reason, where it is refused."""
    connection.require_trust()
    view, _ = await connection.named_run(params)
    try:
        return await write(connection, view, params)
    except _REFUSALS as error:
        raise RequestFailed(str(error)) from None


def _receipt(recorded: str, evaluation: Evaluation) -> Answer:
    """The record in words, and how the run stands now."""
    return {"recorded": recorded, "evaluation": summary(evaluation)}


def _text(params: Parameters, name: str, *, required: bool = False) -> str:
    value = params.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise UsageError(f"{name!r} is missing" if value is None else f"{name!r} has to be a text")
    return value


_required = partial(_text, required=True)


def _texts(params: Parameters, name: str) -> tuple[str, ...]:
    value = params.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UsageError(f"{name!r} has to be a list of texts")
    return tuple(value)


async def report(connection: Connection, view: RootView, params: Parameters) -> Answer:
    data = params.get("data") or {}
    if not isinstance(data, dict):
        raise UsageError("'data' has to be an object")
    step, outcome = _required(params, "step"), _required(params, "outcome")
    act = Command(
        kind="report", step=step, outcome=outcome, stage=_text(params, "stage"),
        tasks=_texts(params, "tasks") or _texts(params, "failed"), next=_text(params, "next"),
        message=_text(params, "summary"), data=data, manual_criteria=_texts(params, "manual"),
        request=_text(params, "requestId"),
    )  # fmt: skip
    after = await connection.act(view.root, _required(params, "run"), act)
    return _receipt(report_words(step, outcome, after), after)


async def redo(connection: Connection, view: RootView, params: Parameters) -> Answer:
    phase = _required(params, "phase")
    act = Command(kind="redo", step=phase, why=_text(params, "reason"))
    after = await connection.act(view.root, _required(params, "run"), act)
    return _receipt(f"to be done again: {phase}", after)


async def start(connection: Connection, view: RootView, params: Parameters) -> Answer:
    workflow, name = _required(params, "workflow"), _required(params, "name")
    person = await asyncio.to_thread(actor, view.root)
    run, done = await connection.engine.start(view.root, workflow, name, _text(params, "title"), person)
    return _receipt(f"started {run}", done.evaluation)


async def claim(connection: Connection, view: RootView, params: Parameters) -> Answer:
    run, task, who = (_required(params, name) for name in ("run", "task", "who"))
    view.run_on_disk(run)
    workspace = Workspace(view.root)
    name, _ = await asyncio.to_thread(apply.claimed_task, workspace, run, task)
    holder, held = connection.claims.get((view.root, run, name), OwnClaim("", ""))
    held = held if holder == who else ""
    claimed, token = await connection.engine.write(
        view.root, run, apply.claim, workspace, run, name, who, CLAIM_S, held
    )
    recorded = f"{claimed.task} is claimed by {who} until {claimed.until}"
    kept = connection.claims.add(view.root, run, claimed.task, OwnClaim(who, token))
    return _receipt(recorded, await _reread(connection, view, run)) | {"claim": kept}


async def release(connection: Connection, view: RootView, params: Parameters) -> Answer:
    """End a claim that was made here.

    For somebody else's a client with a dialog of its own gets the lines that a person has to read, and sends
    them back as `confirmed`: what was claimed anew meanwhile is asked anew.
    """
    run, task = (_required(params, name) for name in ("run", "task"))
    view.run_on_disk(run)
    workspace = Workspace(view.root)
    name, claimed = await asyncio.to_thread(apply.claimed_task, workspace, run, task)
    lines = [plain(line, DIALOG) for line in release_lines(claimed)] if claimed else []
    is_confirmed = connection.may_decide and bool(lines) and params.get("confirmed") == lines
    _, token = connection.claims.get((view.root, run, name), OwnClaim("", ""))
    try:
        name, was_claimed = await connection.engine.write(
            view.root, run, apply.release, workspace, run, name, None if is_confirmed else token
        )
    except Conflict as conflict:
        if connection.may_decide and lines:
            return {"recorded": "", "confirm": lines}
        words = shlex.join(["phasekeeper", "release", run, name, "--root", str(view.root)])
        raise CommandRefused(f"{conflict}. A person releases it on a terminal: {words}") from None
    connection.claims.pop((view.root, run, name), None)
    recorded = f"{name} is released" if was_claimed else f"{name} was not claimed"
    return _receipt(recorded, await _reread(connection, view, run))


async def _reread(connection: Connection, view: RootView, run: str) -> Evaluation:
    home = view.run_on_disk(run).home
    await connection.engine.refresh(view.root, [Path(view.root, home, ".phasekeeper")])
    await connection.engine.look_again(view.root, run)
    return view.run_on_disk(run)


# ---- decisions --------------------------------------------------------------------------------


async def prepare_decision(connection: Connection, view: RootView, params: Parameters) -> Answer:
    """The texts of a client's own dialog before a decision, and the revision that it is about."""
    run, act = _decision(connection, params)
    evaluation, workspace = view.board.runs.get(run), Workspace(view.root)
    prepared = await asyncio.to_thread(apply.prepare_decision, workspace, run, act, reason_follows=True)
    return {
        "title": plain(prepared.title, DIALOG),
        "lines": [plain(line, DIALOG) for line in prepared.lines],
        "revision": prepared.revision,
        "unsaved": connection.unsaved_paths(view, evaluation),
    }


async def decide(connection: Connection, view: RootView, params: Parameters) -> Answer:
    run, act = _decision(connection, params, option_required=True)
    act = act._replace(why=_required(params, "reason"))
    revision = _required(params, "revision")
    recorded = "overridden" if act.kind == "override" else f"answered: {act.question} {act.option}"
    after = await connection.act(view.root, run, act, revision=revision, signed=True)
    return _receipt(recorded, after)


def _decision(
    connection: Connection, params: Parameters, *, option_required: bool = False
) -> tuple[str, Command]:
    """(run, what is decided there), without the reason.

    Raises UsageError, and CommandRefused for a client that does not show the person a dialog of its own.
    """
    if not connection.may_decide:
        raise CommandRefused(
            "a person decides in a dialog: through a code action, or with `phasekeeper answer` on a terminal"
        )
    run, kind = _required(params, "run"), _required(params, "kind")
    if kind == "override":
        return run, Command(kind="override", step=_required(params, "to"))
    if kind == "redo" and not option_required:
        # Nobody signs it, but what comes of it is shown before.
        return run, Command(kind="redo", step=_required(params, "phase"))
    if kind == "adopt":
        done = params.get("complete") is True
        question, option = ("completion", "complete") if done else ("adoption", "adopt")
        return run, Command(kind="answer", question=question, option=option)
    if kind != "answer":
        raise UsageError(f"{kind!r} is no decision: answer, override or adopt")
    option = _text(params, "option", required=option_required)
    return run, Command(kind="answer", question=_required(params, "question"), option=option)


_WRITES: dict[str, Write] = {
    "phasekeeper/prepareDecision": prepare_decision,
    "phasekeeper/report": report,
    "phasekeeper/claim": claim,
    "phasekeeper/release": release,
    "phasekeeper/start": start,
    "phasekeeper/redo": redo,
    "phasekeeper/decide": decide,
}
WRITE_REQUESTS: dict[str, Callable[[Connection, Any], Awaitable[Any]]] = {
    name: partial(answer_write, write) for name, write in _WRITES.items()
}
