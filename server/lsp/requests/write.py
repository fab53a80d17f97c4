"""What writes for an editor: reports, claims, new runs, phases done again, and a person's decisions.

Nothing is written for a connection that is not trusted. The reason of every refusal is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, CommandRefused
from ....tools.assistant.questions import DIALOG
from ...live import writer_threads
from ...store.folder import StoreError
from ...workspace import apply
from ...workspace.apply import Done
from ...workspace.definitions import UnknownWorkflow
from ...workspace.git import actor
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.transport import Refusal
from ..view.root_view import View
from .payloads import summary
from .read import Answer, named

if TYPE_CHECKING:
    from ..session.connection import Connection

CLAIM_S = 8 * 3600
"""How long a task claimed in an editor is kept: a working day."""
_REFUSALS = (CommandRefused, StoreError, UsageError, UnknownWorkflow, ValueError)


def requests(connection: Connection) -> dict[str, Answer]:
    """The functions that answer requests that write, by their names."""
    answers = {
        "report": _report,
        "claim": _claim,
        "release": _release,
        "start": _start,
        "redo": _redo,
        "decide": _decide,
    }
    writing = {f"phasekeeper/{name}": _written(connection, answer) for name, answer in answers.items()}
    return {**writing, "phasekeeper/prepareDecision": lambda params: _prepare_decision(connection, params)}


Write = Callable[["Connection", View, "dict[str, Any]"], Awaitable["tuple[str, Evaluation]"]]


def _written(connection: Connection, write: Write) -> Answer:
    """The answer to a request that writes: what was recorded, and how the run stands."""

    async def written(params: Any) -> Any:
        require_trust(connection)
        view, _ = named(connection, params)
        try:
            recorded, evaluation = await write(connection, view, params)
        except _REFUSALS as error:
            raise Refusal(str(error)) from None
        return {"recorded": recorded, "evaluation": summary(evaluation)}

    written.__name__ = write.__name__
    return written


def require_trust(connection: Connection) -> None:
    """Raises Refusal unless the editor said that the person trusts what is open in it."""
    if not connection.trusted:
        said = "this editor's connection only reads: nothing is written before the workspace is trusted"
        raise Refusal(f"{said} (initializationOptions.trusted); the command line writes")


def _word(params: dict[str, Any], name: str, needed: bool = False) -> str:
    value = params.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise UsageError(f"{name!r} is missing" if value is None else f"{name!r} has to be a text")
    return value


def _words(params: dict[str, Any], name: str) -> tuple[str, ...]:
    value = params.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UsageError(f"{name!r} has to be a list of texts")
    return tuple(value)


def known_run(view: View, run: str) -> Evaluation:
    """A run as it is on disk. Raises UsageError when there is none."""
    evaluation = view.board.runs.get(run)
    if evaluation is None:
        raise UsageError(f"{run} is no run of {view.root}")
    return evaluation


async def _report(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    data = params.get("data") or {}
    if not isinstance(data, dict):
        raise UsageError("'data' has to be an object")
    step, outcome = _word(params, "step", True), _word(params, "outcome", True)
    act = Command(
        kind="report", step=step, outcome=outcome, stage=_word(params, "stage"),
        tasks=_words(params, "tasks") or _words(params, "failed"), next=_word(params, "next"),
        message=_word(params, "summary"), data=data, manual_criteria=_words(params, "manual"),
    )  # fmt: skip
    return f"{step} {outcome}", await act_on(connection, view, _word(params, "run", True), act)


async def _redo(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    phase = _word(params, "phase", True)
    act = Command(kind="redo", step=phase, why=_word(params, "reason"))
    return f"to be done again: {phase}", await act_on(connection, view, _word(params, "run", True), act)


async def act_on(
    connection: Connection,
    view: View,
    run: str,
    act: Command,
    *,
    revision: str | None = None,
    signed: bool = False,
) -> Evaluation:
    """Carry out an act in the name of the person at the editor."""
    who = await asyncio.to_thread(actor, view.root)
    wanted = act._replace(actor=who, channel=connection.channel)
    done: Done = await connection.engine.act(view.root, run, wanted, signed=signed, revision=revision)
    return done.evaluation


async def _start(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    who = await asyncio.to_thread(actor, view.root)
    run, done = await connection.engine.start(
        view.root, _word(params, "workflow", True), _word(params, "name", True), _word(params, "title"), who
    )
    return f"started {run}", done.evaluation


async def _claim(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    run, task, who = (_word(params, name, True) for name in ("run", "task", "who"))
    known_run(view, run)
    made = await writer_threads.writing(apply.claim, Workspace(view.root), run, task, who, CLAIM_S)
    return f"{made.task} is claimed by {who} until {made.until}", await _looked(connection, view, run)


async def _release(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    run, task, who = (_word(params, name, True) for name in ("run", "task", "who"))
    known_run(view, run)
    name, ended = await writer_threads.writing(apply.release, Workspace(view.root), run, task, who)
    said = f"{name} is released" if ended else f"{name} was not claimed"
    return said, await _looked(connection, view, run)


async def _looked(connection: Connection, view: View, run: str) -> Evaluation:
    await connection.engine.touch(view.root, [Path(view.root, run, ".phasekeeper")])
    return known_run(view, run)


async def _decide(connection: Connection, view: View, params: dict[str, Any]) -> tuple[str, Evaluation]:
    _require_dialogs(connection)
    run, act = _decision(params, option_needed=True)
    act = act._replace(why=_word(params, "reason", True))
    revision = _word(params, "revision", True)
    said = "overridden" if act.kind == "override" else f"answered: {act.question} {act.option}"
    return said, await act_on(connection, view, run, act, revision=revision, signed=True)


async def _prepare_decision(connection: Connection, params: Any) -> dict[str, Any]:
    """What a client's own dialog shows before a decision, and the revision that it is about."""
    require_trust(connection)
    view, evaluation = named(connection, params)
    try:
        _require_dialogs(connection)
        run, act = _decision(params)
        workspace = Workspace(view.root)
        prepared = await asyncio.to_thread(apply.prepare_decision, workspace, run, act, reason_follows=True)
    except _REFUSALS as error:
        raise Refusal(str(error)) from None
    reads = evaluation.reads if evaluation else {}
    unsaved = [path for document, path in connection.documents_of(view) if document.changed and path in reads]
    return {
        "title": plain(prepared.title, DIALOG),
        "lines": [plain(line, DIALOG) for line in prepared.lines],
        "revision": prepared.revision,
        "unsaved": unsaved,
    }


def _decision(params: dict[str, Any], *, option_needed: bool = False) -> tuple[str, Command]:
    """(run, what is decided there), without the reason. Raises UsageError."""
    run, kind = _word(params, "run", True), _word(params, "kind", True)
    if kind == "override":
        return run, Command(kind="override", step=_word(params, "to", True))
    if kind == "adopt":
        return run, Command(kind="answer", question="adoption", option="adopt")
    if kind != "answer":
        raise UsageError(f"{kind!r} is no decision: answer, override or adopt")
    question, option = _word(params, "question", True), _word(params, "option", option_needed)
    return run, Command(kind="answer", question=question, option=option)


def _require_dialogs(connection: Connection) -> None:
    """Raises CommandRefused for a client that does not show the person a dialog of its own."""
    if not connection.decides:
        raise CommandRefused(
            "a person decides in a dialog: through a code action, or with `phasekeeper answer` on a terminal"
        )
