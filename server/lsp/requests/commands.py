"""Commands of code actions and lenses: what writes, and a person's decisions in a dialog of the editor.

What a person reads in a dialog comes from the evaluation, never from a command's argument. Where a reason
has to be typed, which the protocol has no dialog for, the command line to run is shown instead.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from ....orchestration.evaluation.questions import answerable
from ....orchestration.result.values import Evaluation, Option, QuestionState
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, CommandRefused
from ....tools.assistant.questions import dialog, how_to_decide, how_to_override
from ...live.writer_threads import writing
from ...store.folder import StoreError
from ...store.repair import Agreed, damage, damage_lines, repair
from ...terminal.run_views import next_words, status_word
from ...workspace.apply import prepare_decision
from ...workspace.git import actor
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..features.code_action_commands import COMMAND, REDO, REPAIR
from ..features.code_lens import DECIDE, SHOW
from ..session.transport import Refusal
from ..view.root_view import View
from .read import named
from .write import act_on, known_run, require_trust

if TYPE_CHECKING:
    from ..session.connection import Connection

LATER, LINK = "Not now", "Let them count"
NOTHING = "nothing was decided"
_REFUSALS = (CommandRefused, StoreError, UsageError, Refusal)

Run = Callable[["Connection", View, Evaluation, "dict[str, Any]"], Awaitable[str]]


def commands(connection: Connection) -> dict[str, Callable[..., Awaitable[Any]]]:
    """The functions that carry out commands, by their names. Each tells the person what it came to."""
    return {name: _told(connection, run) for name, run in _COMMANDS.items()}


def _told(connection: Connection, run: Run) -> Callable[..., Awaitable[Any]]:
    async def telling(*arguments: Any) -> None:
        params = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
        try:
            view, evaluation = named(connection, params)
            if evaluation is None:
                raise Refusal(f"{params.get('run')!r} is no run of {view.root}")
            said = await run(connection, view, evaluation, params)
        except _REFUSALS as error:
            said = error.message if isinstance(error, JsonRpcException) else str(error)
            connection.tell(f"not done: {said}", lsp.MessageType.Warning)
            return
        if said:
            connection.tell(said)

    telling.__name__ = run.__name__
    return telling


async def _show(connection: Connection, view: View, e: Evaluation, params: dict[str, Any]) -> str:
    """The next step with its reason."""
    tasks = f"; tasks: {', '.join(e.suggestion.tasks[:8])}" if e.suggestion.tasks else ""
    return f"{e.run}: {status_word(e.status)}; next: {next_words(e.suggestion)}: {e.suggestion.reason}{tasks}"


async def _command(connection: Connection, view: View, e: Evaluation, params: dict[str, Any]) -> str:
    """A command line for what a person does on a terminal."""
    phase = next((p.id for p in e.phases if p.id == params.get("phase")), None)
    if params.get("what") == "override" and phase is not None:
        return f"on a terminal: {how_to_override(e, phase)}"
    if params.get("what") == "drop-bad-lines":
        words = ["phasekeeper", "repair", e.run, "--drop-bad-lines", "--root", e.root]
        return f"on a terminal: {shlex.join(words)}"
    raise Refusal("there is no command to show")


async def _redo(connection: Connection, view: View, e: Evaluation, params: dict[str, Any]) -> str:
    require_trust(connection)
    phase = str(params.get("phase", ""))
    wanted = Command(kind="redo", step=phase, why="asked for in the editor")
    after = await act_on(connection, view, e.run, wanted)
    return f"to be done again: {phase}; next: {next_words(after.suggestion)}"


async def _repair(connection: Connection, view: View, e: Evaluation, params: dict[str, Any]) -> str:
    require_trust(connection)
    agreed = await _agreed(connection, view, e)
    mended = await writing(repair, view.root, e.run, agreed=agreed)
    await connection.engine.touch(view.root, [Path(view.root, e.run, ".phasekeeper")])
    left = "nothing was linked" if agreed.heads == () else "nothing is to be repaired"
    return "; ".join(f"{each.path}: {each.did}" for each in mended) or left


async def _agreed(connection: Connection, view: View, e: Evaluation) -> Agreed:
    """Which branches of the journal a person lets count, asked in a dialog where there are any."""
    found = await asyncio.to_thread(damage, view.root, e.run)
    heads = tuple(branch.head for branch in found.branches)
    if not heads:
        return Agreed(heads)
    said = dialog([f"{e.run}:", *damage_lines(found)])
    if said is None:
        raise _too_much(shlex.join(["phasekeeper", "repair", e.run, "--root", e.root]))
    picked = await _asked(connection, said, (LINK,))
    if picked != LINK:
        return Agreed(())
    return Agreed(heads, await asyncio.to_thread(actor, view.root), connection.channel)


async def _decide(connection: Connection, view: View, e: Evaluation, params: dict[str, Any]) -> str:
    """Have the person choose an option of an open question, see what comes of it, and confirm it."""
    require_trust(connection)
    asked = known_run(view, e.run)
    question = await _open_question(connection, view, asked, params.get("question"))
    if not question.options:
        return f"on a terminal: {how_to_decide(asked, question)}"
    option = await _chosen(connection, asked, question)
    if option is None:
        return NOTHING
    why = f"chosen in the editor: {option.label}"
    act = Command(kind="answer", question=question.id, option=option.id, why=why)
    decision = await asyncio.to_thread(prepare_decision, Workspace(view.root), asked.run, act)
    said = dialog(decision.text)
    if said is None:
        raise _too_much(how_to_decide(asked, question))
    yes = f"Decide: {plain(option.id, 60)}"
    if await _asked(connection, said, (yes,)) != yes:
        return NOTHING
    after = await act_on(connection, view, asked.run, act, revision=decision.revision, signed=True)
    return f"answered: {question.id} {option.id}; next: {next_words(after.suggestion)}"


async def _open_question(connection: Connection, view: View, e: Evaluation, name: object) -> QuestionState:
    """A question that may be answered now, though maybe nobody is asked it.

    Raises CommandRefused for any other.
    """
    found = next((q for q in e.questions if q.id == name), None)
    if found is None:
        known = await connection.engine.ask(view.root, e.run, answerable)
        found = next((q for q in known if q.id == name), None)
    if found is None:
        raise CommandRefused(f"the question {name!r} is not open any more")
    return found


async def _chosen(connection: Connection, e: Evaluation, question: QuestionState) -> Option | None:
    """The option that the person picked in a dialog; None where it was closed.

    Raises Refusal where a dialog cannot show all of them.
    """
    titles = {f"{plain(option.id, 60)}: {plain(option.label, 120)}": option for option in question.options}
    said = dialog([f"{e.run}: {question.question}", *(f"- {o.id}: {o.text}" for o in question.options)])
    if said is None or len(titles) < len(question.options):
        raise _too_much(how_to_decide(e, question))
    return titles.get(await _asked(connection, said, tuple(titles)) or "")


def _too_much(command: str) -> Refusal:
    return Refusal(f"a dialog cannot show all that is decided; on a terminal: {command}")


async def _asked(connection: Connection, said: str, titles: tuple[str, ...]) -> str | None:
    """The title that the person picked in a dialog; None where it was closed."""
    items = [lsp.MessageActionItem(title) for title in (*titles, LATER)]
    request = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, said, items)
    # Shielded: an answer to a request that was cancelled is an error inside pygls.
    picked = await asyncio.shield(connection.server.window_show_message_request_async(request))
    return picked.title if picked else None


_COMMANDS: dict[str, Run] = {
    SHOW: _show,
    DECIDE: _decide,
    REDO: _redo,
    REPAIR: _repair,
    COMMAND: _command,
}
