"""Running the checks of a gate for an editor: once a person allowed them, with progress, until cancelled.

What a person reads in a dialog is the question of `checks/present`, never an argument of a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from lsprotocol import types as lsp

from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import CommandRefused
from ....tools.assistant.questions import dialog
from ....tools.check_words import declared_checks
from ...checks.check_process import CheckRunError, Event, Outcome, event_words
from ...checks.present import TrustQuestion, allow, open_questions
from ...checks.trust import TrustError
from ...workspace.workspace import Workspace
from ..features.command_offers import CommandName
from ..session.connection import Connection
from ..view.root_view import RootView
from .dialogs import choose
from .write import answer_write

Parameters = dict[str, Any]
PASSED, FAILED = "passed", "failed"


class EditorProgress:
    """Work-done progress of checks in one editor. A token that the editor brought needs not be created."""

    def __init__(self, connection: Connection, token: Any = None) -> None:
        self._server = connection.server
        self._is_given = isinstance(token, (str, int))
        self._token: str | int = token if self._is_given else f"phasekeeper-{uuid4()}"
        self._is_shown = False

    async def begin(self, title: str, cancel: Callable[[], object]) -> None:
        """Show it; `cancel` is called when the person stops it there."""
        window = self._server.client_capabilities.window
        if not self._is_given:
            if not (window and window.work_done_progress):
                return
            # Shielded: an answer to a request that was cancelled is an error inside pygls.
            await asyncio.shield(self._server.work_done_progress.create_async(self._token))
        begin = lsp.WorkDoneProgressBegin(title, cancellable=True)
        self._server.work_done_progress.begin(self._token, begin)
        stopped = self._server.work_done_progress.tokens[self._token]
        stopped.add_done_callback(lambda future: cancel() if future.cancelled() else None)
        self._is_shown = True

    def hear(self, event: Event) -> None:
        """Show an event of the checks."""
        if self._is_shown and (text := event_words(event)):
            self._server.work_done_progress.report(self._token, lsp.WorkDoneProgressReport(message=text))

    def end(self) -> None:
        """Take it from the editor."""
        if self._is_shown:
            self._server.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd())
            self._server.work_done_progress.tokens.pop(self._token, None)


async def run_with_progress(
    connection: Connection, view: RootView, checks: Sequence[str], *, again: bool, token: Any = None
) -> list[Outcome]:
    """Run checks while the editor shows their progress, those that failed once more: a person wants to know.

    Raises CommandRefused where the person stops them.
    """
    progress, run = EditorProgress(connection, token), connection.engine.check_runs.run

    async def run_failed_again() -> list[Outcome]:
        outcomes = await run(view.root, checks, progress.hear, again=again) or []
        failed = [str(o["name"]) for o in outcomes if o["result"] == FAILED and not o["ran"]]
        anew = await run(view.root, failed, progress.hear, again=True) if failed else []
        by_name = {each["name"]: each for each in (*outcomes, *(anew or []))}
        return [by_name[name] for name in checks]

    running = asyncio.ensure_future(run_failed_again())
    try:
        await progress.begin(f"Checks: {plain(', '.join(checks), 100)}", running.cancel)
        return await running
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise CommandRefused("the checks were stopped") from None
    except CheckRunError as error:
        raise CommandRefused(str(error)) from None
    finally:
        running.cancel()
        progress.end()
        with suppress(asyncio.CancelledError):
            await connection.engine.look_again(view.root)


def _checks_of(e: Evaluation, params: Parameters) -> list[str]:
    """The checks of the gate that a request names, or of those in force. Raises CommandRefused for none."""
    gate = params.get("gate")
    checks = declared_checks(e, gate if isinstance(gate, str) else "")
    if not checks:
        what = f"the gate {gate!r} rests" if gate else "the gates in force rest"
        raise CommandRefused(f"{what} on no check that the root declares: there is nothing to run")
    return checks


async def _questions(view: RootView, checks: Sequence[str]) -> list[TrustQuestion]:
    workspace = Workspace(view.root)
    return await asyncio.to_thread(
        lambda: open_questions(workspace.root, workspace.config.checks, workspace.run_places, checks)
    )


async def _allow(question: TrustQuestion) -> None:
    try:
        await asyncio.to_thread(allow, question)
    except TrustError as error:
        raise CommandRefused(str(error)) from None


# ---- the command of lenses --------------------------------------------------------------------


async def run_gate_checks(connection: Connection, view: RootView, e: Evaluation, params: Parameters) -> str:
    """The command: ask for what nobody allowed yet, run the checks, show the log of the first that failed."""
    connection.require_trust()
    checks = _checks_of(e, params)
    for question in await _questions(view, checks):
        title = f"Allow {question.check}"
        if await choose(connection, question.lines, [title], question.command) != title:
            raise CommandRefused(f"{question.check} is not allowed, so that nothing was run")
        await _allow(question)
    outcomes = await run_with_progress(connection, view, checks, again=False)
    failed = next((each for each in outcomes if each["result"] != PASSED), None)
    if failed is not None:
        _show_log(connection, view, str(failed["log"]))
    return "; ".join(f"{each['name']}: {each['result']}, {each['reason']}" for each in outcomes)


def _show_log(connection: Connection, view: RootView, log: str) -> None:
    window = connection.server.client_capabilities.window
    if window and window.show_document and window.show_document.support:
        shown = lsp.ShowDocumentParams(Path(view.root, log).as_uri(), take_focus=False)
        # Nothing is made of the answer, so that nobody waits for it.
        connection.server.window_show_document(shown)


# ---- the requests of a client with dialogs of its own -----------------------------------------


async def gate_checks(connection: Connection, view: RootView, params: Parameters) -> dict[str, Any]:
    """The checks of a gate, and what a person has to allow before they run."""
    evaluation = view.run_on_disk(str(params.get("run", "")))
    checks = _checks_of(evaluation, params)
    questions: list[dict[str, Any]] = []
    for each in await _questions(view, checks):
        text = dialog(each.lines)
        if text is None:
            raise CommandRefused(
                f"a dialog cannot show all that {each.check} runs; in a terminal: {each.command}"
            )
        title = f"Allow what the check {plain(each.check, 60)} runs?"
        questions.append(
            {"check": each.check, "definition": each.definition, "title": title, "lines": text.split("\n")}
        )
    return {"checks": checks, "questions": questions}


async def trust_check(connection: Connection, view: RootView, params: Parameters) -> dict[str, Any]:
    """Allow a check exactly as the person read it in the client's dialog."""
    if not connection.may_decide:
        raise CommandRefused("a person allows a check in a dialog, or with `phasekeeper trust` on a terminal")
    check = str(params.get("check", ""))
    question = next((each for each in await _questions(view, [check]) if each.check == check), None)
    if question is None or question.definition != params.get("definition"):
        raise CommandRefused(
            f"what {plain(check, 60)} runs is not what was shown any more: nothing is allowed"
        )
    await _allow(question)
    return {"recorded": f"{check} may run as it is now"}


async def run_checks(connection: Connection, view: RootView, params: Parameters) -> dict[str, Any]:
    """Run checks that a person allowed; what came of each."""
    names = params.get("checks")
    declared = Workspace(view.root).config.checks
    if not isinstance(names, list) or not names or not all(name in declared for name in names):
        raise CommandRefused("'checks' has to be a list of checks that the root declares")
    again, token = params.get("again") is True, params.get("workDoneToken")
    outcomes = await run_with_progress(connection, view, names, again=again, token=token)
    members = ("name", "result", "reason", "ran", "log", "tail")
    return {"outcomes": [{name: each[name] for name in members} for each in outcomes]}


CHECK_COMMANDS = {CommandName.RUN_CHECKS: run_gate_checks}
CHECK_REQUESTS = {
    "phasekeeper/gateChecks": partial(answer_write, gate_checks),
    "phasekeeper/trustCheck": partial(answer_write, trust_check),
    "phasekeeper/runChecks": partial(answer_write, run_checks),
}
