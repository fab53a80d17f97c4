"""The answer to one hook of an assistant: reads the runs that it concerns, as their files are now.

All of it is done in one call, by the server or by the hook's own process, so that both say the same.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...orchestration.evaluation.trace import CommandRefused
from ...orchestration.result.values import Evaluation
from ...orchestration.updates.commands import Command
from ...tools.fence.hook_input import HookClient, HookEvent, HookKind, read_event
from ...tools.fence.hook_output import HookOutput, context_output, failure_output, no_opinion, refusal_output
from ...tools.fence.tool_calls import Touches, touches_of
from ...tools.fence.verdict import (
    MOST_STOPS,
    FenceSession,
    has_work,
    settings_refusal,
    start_text,
    stop_refusal,
    tool_refusal,
)
from ..connector.hook_call import MAX_INPUT, fails_closed
from ..version import PROGRAM
from ..workspace.apply import StoreError, apply_command
from ..workspace.roots import UsageError
from .guarded_roots import GuardedRoot, KnownRuns, TooManyRuns, guarded_roots
from .sessions import SessionStore, sessions_folder

MOST_PATHS = 200
"""A call that writes more files is to be made in parts: each is looked at."""
_MOST_BOUND = 8
"""Of the runs that a session said it works on so many are kept, the last ones."""
_log = logging.getLogger(__name__)
_BINDING = re.compile(r"\bphasekeeper\s+(?:report|claim)\s+([^\s;&|-][^\s;&|]*)")
"""A command by which a session says on which run it works."""


def answer_bytes(
    client: str, event: str, folder: str, sent: bytes, known: KnownRuns = lambda _: None
) -> HookOutput:
    """The answer to what a hook of a client has on stdin. `folder` is where the hook runs."""
    if client not in set(HookClient):
        names = ", ".join(HookClient)
        return HookOutput(stderr=f"there is no client {client!r} here; there are {names}\n", code=1)
    if len(sent) > MAX_INPUT:
        return _refuse_unread(client, event, folder, f"it has more than {MAX_INPUT} bytes")
    try:
        payload: object = json.loads(sent.decode("utf-8", "replace") or "{}")
    except (ValueError, RecursionError):
        return _refuse_unread(client, event, folder, "it is no JSON")
    read = read_event(HookClient(client), event, payload)
    return answer_hook(read if read.folder else read._replace(folder=folder), known=known)


def _refuse_unread(client: str, name: str, folder: str, why: str) -> HookOutput:
    """The answer to what cannot be read: a call of a tool is refused where anything is guarded."""
    event = read_event(HookClient(client), name, {})._replace(folder=folder)
    if event.kind is not HookKind.TOOL:
        return no_opinion(event)
    try:
        is_guarded = bool(guarded_roots(Path(folder)))
    except UsageError:
        is_guarded = False
    said = f"this call cannot be judged: {why}. Instead: write less at once"
    return refusal_output(event, said) if is_guarded else no_opinion(event)


def answer_hook(
    event: HookEvent, sessions: Path | None = None, known: KnownRuns = lambda _: None
) -> HookOutput:
    """The answer to an event. Never raises: without a verdict it says what the roots' policy is."""
    try:
        roots = guarded_roots(Path(event.folder or "."), known)
    except UsageError:
        # It works in no folder that is there, so in none that has runs.
        return no_opinion(event)
    except Exception as error:
        # What the roots say is not known; their text may tell.
        return _without_verdict(event, error, fails_closed(event.folder or "."))
    try:
        return _Hook(event, sessions or sessions_folder()).answer(roots)
    except Exception as error:
        return _without_verdict(event, error, any(root.guard.fails_closed for root in roots))


def _without_verdict(event: HookEvent, error: Exception, is_closed: bool) -> HookOutput:
    _log.exception("a hook got no verdict")
    why = f"Phasekeeper has no verdict ({type(error).__name__}: {error})"
    return failure_output(event, f"{why}, and the guard of this folder fails closed", is_closed)


@dataclass(frozen=True)
class _Hook:
    event: HookEvent
    sessions: Path

    def answer(self, roots: list[GuardedRoot]) -> HookOutput:
        match self.event.kind:
            case HookKind.TOOL:
                refusals = self._tool_refusals(roots)
            case HookKind.STOP:
                refusals = self._stop_refusals(roots)
            case HookKind.SETTINGS:
                refusals = self._settings_refusals(roots)
            case HookKind.START:
                guarded = [each for root in roots for each in _evaluations(root)]
                return context_output(self.event, start_text(guarded))
            case HookKind.OTHER:
                return no_opinion(self.event)
        refusal = next(filter(None, refusals), "")
        return refusal_output(self.event, refusal) if refusal else no_opinion(self.event)

    def _tool_refusals(self, roots: list[GuardedRoot]) -> Iterator[str]:
        touches = touches_of(self.event.tool, self.event.given)
        for root in roots:
            self._bind(root, touches)
            paths = root.relative(touches.paths, Path(self.event.folder or ".", touches.folder))
            if not paths and not touches.agents:
                continue
            if len(paths) > MOST_PATHS:
                yield f"this call writes {len(paths)} files; at most {MOST_PATHS} are judged at once"
            yield settings_refusal(paths)
            session = self._store(root).read(self.event.session)
            try:
                runs = root.traces(paths, session.runs) if session.runs else root.all_traces()
            except TooManyRuns as error:
                runs = root.traces(paths, ())
                yield str(error) if touches.agents else ""
            yield tool_refusal(touches, paths, runs, session)

    def _stop_refusals(self, roots: list[GuardedRoot]) -> Iterator[str]:
        if self.event.is_subagent:
            return
        for root in roots:
            store = self._store(root)
            session = store.read(self.event.session)
            for run in root.traces([], session.runs):
                if refusal := stop_refusal(run, session, self.event.in_background):
                    store.write(self.event.session, session._replace(stops=session.stops + 1))
                    yield refusal
                elif session.stops == MOST_STOPS and has_work(run.evaluation, session.agent):
                    store.write(self.event.session, session._replace(stops=session.stops + 1))
                    _ask_person(root, run.facts.snapshot.run, session.agent)

    def _settings_refusals(self, roots: list[GuardedRoot]) -> Iterator[str]:
        """Of a change of the client's own settings, which can switch its hooks off."""
        for root in roots:
            paths = root.relative(
                [str(self.event.given.get("file_path", ""))], Path(self.event.folder or ".")
            )
            yield settings_refusal(paths)

    def _bind(self, root: GuardedRoot, touches: Touches) -> None:
        """Note on which runs the session works, as it says so by a claim or a report, and under which name.

        By asking for the next step only the first time: who looks at another run does not work on it. A run
        that was named stays so: naming another one must not free the session from it.
        """
        given = touches.own.arguments if touches.own else {}
        name, agent = given.get("run", ""), given.get("agent", "")
        is_work = bool(touches.own and (touches.own.tool == "report" or given.get("claim")))
        is_look = bool(touches.own and touches.own.tool == "next_step")
        if found := _BINDING.search(touches.command):
            name, is_work = found[1].strip("'\""), True
        store = self._store(root)
        known = store.read(self.event.session)
        if not (is_work or (is_look and not known.runs)) or not isinstance(name, str):
            return
        run = root.named_run(name)
        who = agent if isinstance(agent, str) and agent else known.agent
        runs = (*(each for each in known.runs if each != run), run)[-_MOST_BOUND:]
        if run and (set(runs), who) != (set(known.runs), known.agent):
            store.write(self.event.session, FenceSession(runs, who, known.stops))

    def _store(self, root: GuardedRoot) -> SessionStore:
        return SessionStore(self.sessions, root.path)


def _evaluations(root: GuardedRoot) -> list[Evaluation]:
    with suppress(TooManyRuns):
        return [trace.evaluation for trace in root.all_traces()]
    return []


def _ask_person(root: GuardedRoot, run: str, agent: str) -> None:
    """Ask a person about a run that a session ended on although it had work."""
    who = agent or "an assistant"
    said = f"A session of {who} ended {MOST_STOPS} times although this run had work. Go on?"
    command = Command(kind="raise", message=said, actor=who, channel="hook", program=PROGRAM)
    with suppress(CommandRefused, StoreError, UsageError):
        apply_command(root.workspace, run, command)
