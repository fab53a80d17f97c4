"""What the keys of the live view do that takes other programs: commands of ours, about the selected run."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from ..hub.run_row import RunRow
from .drawn_screen import DrawnScreen, Wish
from .keyboard import Keyboard, read_keys
from .live_screen import PlainScreen

_GO_BACK = "\nAny key goes back.\n"


class ScreenKeys:
    """The keys of a screen. `command` is how one of our commands is run, `end` ends the view."""

    def __init__(
        self, screen: PlainScreen, source: IO[str] | None, command: Sequence[str], end: Callable[[], None]
    ) -> None:
        self._screen = screen if isinstance(screen, DrawnScreen) else None
        self._keyboard = Keyboard(source)
        self._command = command
        self._end = end
        self._descriptor: int | None = None
        self._work: asyncio.Task[None] | None = None
        """What a key began: a run is looked at, or a question is answered."""
        self._lent = False
        """Another program has the terminal, and Ctrl-C is meant for that one."""
        self._any_key: asyncio.Event | None = None

    def interrupt(self) -> None:
        """Ctrl-C, or the wish of the system that this ends."""
        if not self._lent:
            self._end()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Hear keys, where a screen is drawn and somebody sits before it."""
        if self._screen is None or (descriptor := self._keyboard.open()) is None:
            yield
            return
        loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        loop.add_reader(descriptor, self._on_input)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            if self._work is not None:
                self._work.cancel()
            self._keyboard.close()

    def refresh(self) -> None:
        """Tell anew of the run that is open, where it has changed."""
        if self._screen and (row := self._screen.outdated_run):
            self._begin("open", row)

    def _on_input(self) -> None:
        assert self._descriptor is not None and self._screen is not None
        pressed = read_keys(self._descriptor, os.read)
        if not pressed and not os.isatty(self._descriptor):
            asyncio.get_running_loop().remove_reader(self._descriptor)
        for key in pressed:
            if self._any_key is not None:
                self._any_key.set()
            elif wish := self._screen.press(key):
                self._grant(wish)

    def _grant(self, wish: Wish) -> None:
        if wish.row is None:
            self._end()
        else:
            self._begin(wish.kind, wish.row)

    def _begin(self, kind: str, row: RunRow) -> None:
        """One thing at a time: a key that is pressed meanwhile does nothing."""
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._open(row) if kind == "open" else self._answer(row))

    async def _open(self, row: RunRow) -> None:
        """Show the next step of a run, as the command for it prints it."""
        words = ("next", "--root", row.root, "--run", row.run or ".")
        process = await asyncio.create_subprocess_exec(
            *self._command, *words, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT
        )
        try:
            out, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            raise
        if self._screen:
            self._screen.show_run(row, out.decode("utf-8", "replace").splitlines())

    async def _answer(self, row: RunRow) -> None:
        """Lend the terminal to the command that has a person answer, with its confirmation."""
        assert self._screen is not None and self._descriptor is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._descriptor)
        self._lent = True
        try:
            with self._screen.suspend():
                with self._keyboard.suspend():
                    words = ("answer", row.run or ".", "--root", row.root)
                    process = await asyncio.create_subprocess_exec(*self._command, *words)
                    await process.wait()
                self._lent = False
                self._screen.say_below(_GO_BACK)
                self._any_key = asyncio.Event()
                loop.add_reader(self._descriptor, self._on_input)
                await self._any_key.wait()
        finally:
            self._lent, self._any_key = False, None
