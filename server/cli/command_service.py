"""Commands of other processes, carried out by the server: it has the imports, and the boards of open roots.

The command's own function runs on a thread, with its output captured (`captured_output`). One about a
single run reads that run's files, as it would anywhere; one about all runs of a root takes the evaluations
of its board, once the engine has looked again; one that writes is prepared, offered and has its turn
(`command_writer`). What the server cannot answer just as the command would by itself, it declines, and
whatever goes wrong before something is written: then the command does it itself. A root that is not open is
not opened for it.
"""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...orchestration.result.values import Evaluation
from ..connector.command_call import (
    DECLINED,
    HEADER,
    MAX_CALL,
    READING,
    SAME,
    SAME_FOR_WRITING,
    WRITING,
    CommandCall,
    Offer,
    frame,
    frame_length,
    identity_of,
    parse_call,
    umask_here,
)
from ..workspace.roots import UsageError
from .captured_output import CapturedOutput
from .command_writer import CommandWriter, offer_of
from .parser import parse_for_caller
from .prepared_write import PreparedWrite
from .selection import AllEvaluations, NoServerAnswer

if TYPE_CHECKING:
    from ..hub.hub import Hub

_AT_ONCE = 4
"""Commands that are carried out at the same time; more wait for their turn."""
_LOOK_S = 5.0
"""The engine may take so long to look again."""
_EACH_RUN = 256
"""In a root of up to so many runs each is looked at again before an answer about all, some 0.3 ms each. In a
bigger one those that were evaluated last are, and of the others all that was written before was heard of;
where that cannot be said the command looks itself."""
_UNREADABLE = "artifact-unreadable"
"""Folders that cannot be listed are told of the root itself, by a look at all of it."""

_UMASK = umask_here()

_threads = ThreadPoolExecutor(_AT_ONCE, "phasekeeper-command")


async def serve_command(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the one call of a connection."""
    length = frame_length(await reader.readexactly(HEADER))
    if length > MAX_CALL:
        raise ConnectionError("a command line is too long")
    call = parse_call(await reader.readexactly(length))
    loop = asyncio.get_running_loop()

    @cache
    def evaluations(root: Path) -> Mapping[str, Evaluation]:
        return asyncio.run_coroutine_threadsafe(_look(hub, root), loop).result(_LOOK_S)

    try:
        if WRITING.isdisjoint(call.words[:1]):
            answer = await loop.run_in_executor(_threads, _answer, call, evaluations)
        else:
            prepared, offer = await loop.run_in_executor(_threads, _prepare, call)
            answer = await CommandWriter(hub.engine, call, prepared, reader, writer).write(offer)
    except NoServerAnswer:
        answer = frame(DECLINED)
    writer.write(answer)
    await writer.drain()


async def _look(hub: Hub, root: Path) -> Mapping[str, Evaluation]:
    """The evaluations of all runs of an open root as its files are now. Raises NoServerAnswer."""
    try:
        has_all = await hub.engine.look_again(root)
        runs = hub.engine.board(root).runs
        if len(runs) <= _EACH_RUN:
            await asyncio.gather(*(hub.engine.look_again(root, run) for run in runs))
        elif not has_all:
            raise NoServerAnswer
        board = hub.engine.board(root)
    except UsageError:
        raise NoServerAnswer from None
    is_behind = bool(board.conditions)
    if is_behind or any(found.code == _UNREADABLE for path in board.findings.values() for found in path):
        raise NoServerAnswer
    return board.runs


def _answer(call: CommandCall, evaluations: AllEvaluations) -> bytes:
    """The frames of the answer to a question. Raises NoServerAnswer."""
    options = _options_of(call, READING)
    options.evaluations = evaluations
    output = CapturedOutput(call)
    with output.capture():
        code = _call(options)
    return output.frames(code)


def _prepare(call: CommandCall) -> tuple[PreparedWrite, Offer]:
    """What a command would write, and the offer to do so. Raises NoServerAnswer."""
    options = _options_of(call, WRITING)
    if call.umask != _UMASK or not _has_same_variables(call, SAME_FOR_WRITING):
        raise NoServerAnswer
    with CapturedOutput(call).capture():
        prepared = _call(options)
    return prepared, offer_of(call, prepared)


def _options_of(call: CommandCall, names: Container[str]) -> Namespace:
    """The options of a call of one of these commands; raises NoServerAnswer where it is not the server's."""
    options = parse_for_caller(call.words)
    if options is None or options.command.name not in names or options.cold or not _sees_the_same(call):
        raise NoServerAnswer
    return options


def _call(options: Namespace) -> Any:
    """What the command's function returns (`CommandEntry.run`). Raises NoServerAnswer."""
    module, _, function = options.command.run.partition(":")
    try:
        return getattr(import_module(f"{__package__}.commands.{module}"), function)(options)
    except NoServerAnswer:
        raise
    except Exception:
        # What a command says of wrong use or of a defect is its own process' matter, traceback included.
        raise NoServerAnswer from None


def _sees_the_same(call: CommandCall) -> bool:
    """True if the command would look at the same files, with the same key, as this process does."""
    if not _has_same_variables(call, SAME):
        return False
    try:
        return identity_of(call.folder) == call.identity
    except OSError:
        return False


def _has_same_variables(call: CommandCall, names: Sequence[str]) -> bool:
    return all(os.environ.get(name) == call.environment.get(name) for name in names)
