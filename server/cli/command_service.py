"""Commands of other processes, carried out by the server: it has the imports, and the boards of open roots.

The command's own function runs on a thread, with its output captured (`terminal/caller`). One about a
single run reads that run's files, as it would anywhere; one about all runs of a root takes the evaluations
of its board, once the engine has looked again. What the server cannot answer just as the command would by
itself, it declines, and whatever goes wrong: then the command looks itself. A root that is not open is not
opened for it.
"""

from __future__ import annotations

import asyncio
import io
import os
from argparse import Namespace
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ...orchestration.result.values import Evaluation
from ..connector.command_call import (
    CODE,
    COMMANDS,
    DECLINED,
    HEADER,
    MAX_CALL,
    SAME,
    STDERR,
    STDOUT,
    CommandCall,
    frame,
    frame_length,
    identity_of,
    parse_call,
)
from ..terminal.caller import Caller, called_by
from ..workspace.roots import UsageError
from .parser import parse_for_caller
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
        answer = await loop.run_in_executor(_threads, _carry_out, call, evaluations)
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


def _carry_out(call: CommandCall, evaluations: AllEvaluations) -> bytes:
    """The frames of a command's answer. Raises NoServerAnswer for what it would rather do itself."""
    options = parse_for_caller(call.words)
    if options is None or options.command.name not in COMMANDS or options.cold or not _sees_the_same(call):
        raise NoServerAnswer
    options.evaluations = evaluations
    texts: list[tuple[bytes, str]] = []
    stdout, stderr = (cast("IO[str]", _Capture(letter, texts, call)) for letter in (STDOUT, STDERR))
    with called_by(Caller(stdout, stderr, Path(call.folder), call.environment)):
        code = _call(options)
    frames = [
        frame(letter, "".join(text for _, text in same).encode("utf-8", "surrogatepass"))
        for letter, same in groupby(texts, key=lambda each: each[0])
    ]
    return b"".join((*frames, frame(CODE, b"%d" % code)))


def _call(options: Namespace) -> int:
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
    if any(os.environ.get(name) != call.environment.get(name) for name in SAME):
        return False
    try:
        return identity_of(call.folder) == call.identity
    except OSError:
        return False


class _Capture(io.TextIOBase):
    """A stream of a command that is carried out for another process: adds what is printed to the `texts`."""

    encoding: str = ""

    def __init__(self, letter: bytes, texts: list[tuple[bytes, str]], call: CommandCall) -> None:
        self._letter, self._texts = letter, texts
        self._is_terminal = letter == STDOUT and call.is_terminal
        self.encoding = call.encoding

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str, /) -> int:
        self._texts.append((self._letter, text))
        return len(text)
