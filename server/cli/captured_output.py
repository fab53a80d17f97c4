"""The output of a command that the server carries out for another process, as frames for that one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, cast

from ..connector.command_call import CODE, STDERR, STDOUT, CommandCall, frame
from ..terminal.caller import Caller, called_by


class CapturedOutput:
    """What is printed on both streams of the process that called, in order."""

    def __init__(self, call: CommandCall) -> None:
        self._call = call
        self._texts: list[tuple[bytes, str]] = []

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Have what is printed in this context captured, and paths start from the folder of the call."""
        call = self._call
        stdout, stderr = (cast("IO[str]", _Stream(each, self._texts, call)) for each in (STDOUT, STDERR))
        with called_by(Caller(stdout, stderr, Path(call.folder), call.environment)):
            yield

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(text for _, text in self._texts)

    def frames(self, code: int) -> bytes:
        """The whole answer, with its exit code."""
        frames = [
            frame(letter, "".join(text for _, text in same).encode("utf-8", "surrogatepass"))
            for letter, same in groupby(self._texts, key=lambda each: each[0])
        ]
        return b"".join((*frames, frame(CODE, b"%d" % code)))


class _Stream(io.TextIOBase):
    """A stream of the process that called: adds what is printed to the `texts`."""

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
