"""A command of another process that writes, carried out by the server: once, and in its turn.

The server offers, the process that asked agrees and never does it itself from then on, and then the command
waits with all other writers of the run in their queue (`writer_queue`). One that nobody waits for any more
when its turn comes, and one whose turn comes when the server ends, is not begun. What is begun is ended.
"""

from __future__ import annotations

import asyncio
import os
from contextvars import copy_context

from ..connector.command_call import BEGIN, OFFER, PATH, PROGRESS, CommandCall, Offer, frame, identity_of
from ..disk.git import program
from ..live.engine import Engine
from ..terminal.lines import print_errors
from ..workspace.apply import StoreError
from ..writer_queue import QUEUE_S
from .captured_output import CapturedOutput
from .output import queue_wait_line, report_failure, tell_lock_waits
from .prepared_write import PreparedWrite
from .selection import NoServerAnswer

_TOLD_AFTER_S = 1.0
"""Whoever waits longer for a turn is told so."""


def offer_of(call: CommandCall, prepared: PreparedWrite) -> Offer:
    """The offer to write what a call asks for.

    Raises NoServerAnswer where that is gone, or another git would say who writes.
    """
    if program(prepared.root) != program(prepared.root, call.environment.get(PATH, os.defpath)):
        raise NoServerAnswer
    try:
        places = [(str(path), identity_of(str(path))) for path in prepared.places]
    except OSError:
        raise NoServerAnswer from None
    return Offer(prepared.look, places)


class CommandWriter:
    """One such command. Belongs to the loop."""

    def __init__(
        self,
        engine: Engine,
        call: CommandCall,
        prepared: PreparedWrite,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._engine, self._call, self._prepared = engine, call, prepared
        self._reader, self._writer = reader, writer
        self._loop = asyncio.get_running_loop()

    async def write(self, offer: Offer) -> bytes:
        """Carry it out once it is agreed to: the frames of the answer.

        Raises ConnectionError or IncompleteReadError where nobody agrees; then nothing was written.
        """
        self._writer.write(frame(OFFER, offer.to_bytes()))
        await self._writer.drain()
        if await self._reader.readexactly(len(BEGIN)) != BEGIN:
            raise ConnectionError("an offer was not agreed to")
        waiting = self._loop.call_later(_TOLD_AFTER_S, self._print_queue_wait)

        def carry_out() -> bytes:
            self._loop.call_soon_threadsafe(waiting.cancel)
            return copy_context().run(self._carry_out)

        root, run = self._prepared.root, self._prepared.run
        try:
            return await self._engine.write(root, run, carry_out)
        except StoreError as no_turn:
            output = CapturedOutput(self._call)
            with output.capture():
                code = report_failure(no_turn, writes=True)
            return output.frames(code)
        finally:
            waiting.cancel()

    def _carry_out(self) -> bytes:
        """On a writer's thread, in a context of its own."""
        if self._reader.at_eof():
            raise StoreError("the server ends, and nothing was changed. Run it again")
        tell_lock_waits(self._print_progress)
        output = CapturedOutput(self._call)
        with output.capture():
            try:
                code = self._prepared.carry_out()
            except OSError:
                # A defect, as none of these is about the standard streams.
                raise
            except Exception as error:
                code = report_failure(error, writes=True)
        return output.frames(code)

    # ---- while it waits

    def _print_queue_wait(self) -> None:
        self._print_progress(queue_wait_line(self._prepared.run, _TOLD_AFTER_S, QUEUE_S - _TOLD_AFTER_S))

    def _print_progress(self, line: str) -> None:
        """Have whoever waits told at once. Called on any thread."""
        output = CapturedOutput(self._call)
        with output.capture():
            print_errors([line])
        said = frame(PROGRESS, output.text.encode("utf-8", "surrogatepass"))
        self._loop.call_soon_threadsafe(self._writer.write, said)
