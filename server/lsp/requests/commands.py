"""`workspace/executeCommand`: what code lenses and code actions offer; each command tells what came of it.

What a person reads in a dialog is the confirmation of `apply.prepare_decision`, never a command's argument.
The protocol has no dialog in which a reason can be typed; where one is needed the command line is shown.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from ....orchestration.result.phrases import in_sentence, status_phrase
from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, CommandRefused, answerable
from ....tools.assistant.questions import how_to_decide, how_to_override
from ...disk.git import actor
from ...workspace.apply import StoreError, prepare_decision
from ...workspace.repair import NOTHING_AGREED, prepare_repair, repair_run
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..features.command_offers import CommandName
from ..session.connection import Connection
from ..session.transport import RequestFailed
from ..view.root_view import RootView
from .dialogs import choose

AGREE = "Let them count"
NOTHING_DECIDED = "nothing was decided"

Parameters = dict[str, Any]
# The result is what the person is told in the end.
EditorCommand = Callable[[Connection, RootView, Evaluation, Parameters], Awaitable[str]]


async def execute(connection: Connection, command: EditorCommand, *arguments: Any) -> None:
    """Carry out a command for the run that its argument names, and show what came of it, or why not."""
    params = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    try:
        view, evaluation = await connection.named_run(params)
        if evaluation is None:
            raise UsageError(f"{params.get('run')!r} is no run of {view.root}")
        message = await command(connection, view, evaluation, params)
    except (CommandRefused, StoreError, UsageError, RequestFailed) as error:
        reason = error.message if isinstance(error, RequestFailed) else str(error)
        connection.show_message(f"not done: {reason}", lsp.MessageType.Warning)
    else:
        connection.show_message(message)


async def show(_: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """The next step with its reason."""
    tasks = f"; tasks: {', '.join(e.suggestion.tasks[:8])}" if e.suggestion.tasks else ""
    return f"{e.run}: {status_phrase(e.status)}; {_next_step(e)}: {e.suggestion.reason}{tasks}"


def _next_step(e: Evaluation) -> str:
    return f"next: {in_sentence(e.suggestion.phrase)}"


async def show_command_line(_: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """A command line for what a person does on a terminal."""
    phase = next((phase.id for phase in e.phases if phase.id == params.get("phase")), None)
    if params.get("what") == "override" and phase is not None:
        return f"on a terminal: {how_to_override(e, phase)}"
    if params.get("what") == "drop-bad-lines":
        words = ["phasekeeper", "repair", e.run, "--drop-bad-lines", "--root", e.root]
        return f"on a terminal: {shlex.join(words)}"
    raise UsageError("there is no command to show")


async def override(connection: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """What a client carries out by itself, in its dialog; of one that does not the command line is shown."""
    return await show_command_line(connection, view, e, {"what": "override", "phase": params.get("to")})


async def redo(connection: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    connection.require_trust()
    phase = str(params.get("phase", ""))
    command = Command(kind="redo", step=phase, why="asked for in the editor")
    after = await connection.act(view.root, e.run, command)
    return f"to be done again: {phase}; {_next_step(after)}"


async def repair_journal(connection: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """Repair the journal; a person agrees in a dialog to what would count again."""
    connection.require_trust()
    workspace, agreed, who = Workspace(view.root), NOTHING_AGREED, ""
    prepared = await asyncio.to_thread(prepare_repair, workspace, e.run)
    command = shlex.join(["phasekeeper", "repair", e.run, "--root", e.root])
    lines = [f"{e.run}:", *prepared.lines]
    if prepared.lines and await choose(connection, lines, [AGREE], command) == AGREE:
        agreed, who = prepared, await asyncio.to_thread(actor, view.root)
    actions = await connection.engine.write(
        view.root,
        e.run,
        repair_run,
        workspace,
        e.run,
        agreed,
        who,
        connection.channel,
        connection.program,
    )
    await connection.engine.refresh(view.root, [Path(view.root, e.home, ".phasekeeper")])
    nothing = "nothing more counts" if prepared.lines else "nothing is to be repaired"
    return "; ".join(f"{each.path}: {each.kind}" for each in actions) or nothing


async def decide(connection: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """Have the person choose an option of an open question, see what comes of it, and confirm it."""
    connection.require_trust()
    run = view.run_on_disk(e.run)
    open_questions = await connection.engine.query(view.root, run.run, answerable)
    question = next((each for each in open_questions if each.id == params.get("question")), None)
    if question is None:
        raise CommandRefused(f"the question {params.get('question')!r} is not open any more")
    command = how_to_decide(run, question)
    if not question.options:
        return f"on a terminal: {command}"
    workspace, act = Workspace(view.root), Command(kind="answer", question=question.id)
    text = (await asyncio.to_thread(prepare_decision, workspace, run.run, act, reason_follows=True)).text
    titles = [f"{plain(option.id, 60)}: {plain(option.label, 120)}" for option in question.options]
    title = await choose(connection, text, titles, command)
    if title not in titles:
        return NOTHING_DECIDED
    option = question.options[titles.index(title)]
    act = act._replace(option=option.id, why=f"chosen in the editor: {option.label}")
    decision = await asyncio.to_thread(prepare_decision, Workspace(view.root), run.run, act)
    confirm = f"Decide: {plain(option.id, 60)}"
    if await choose(connection, decision.text, [confirm], command) != confirm:
        return NOTHING_DECIDED
    after = await connection.act(view.root, run.run, act, revision=decision.revision, signed=True)
    return f"answered: {question.id} {option.id}; {_next_step(after)}"


COMMANDS: dict[CommandName, EditorCommand] = {
    CommandName.SHOW: show,
    CommandName.DECIDE: decide,
    CommandName.REDO: redo,
    CommandName.REPAIR: repair_journal,
    CommandName.OVERRIDE: override,
    CommandName.SHOW_COMMAND_LINE: show_command_line,
}
