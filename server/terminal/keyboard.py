"""The keys of a terminal, one by one and unechoed, while a screen is drawn on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

try:
    import termios
    import tty
except ImportError:
    # Windows.
    termios = tty = None

UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END = "up", "down", "page up", "page down", "home", "end"
ENTER, ESCAPE, ERASE, LEFT = "enter", "escape", "erase", "left"
_SEQUENCES = {
    "A": UP, "B": DOWN, "D": LEFT, "H": HOME, "F": END,
    "1~": HOME, "4~": END, "5~": PAGE_UP, "6~": PAGE_DOWN, "7~": HOME, "8~": END,
}  # fmt: skip
_CONTROLS = {"\r": ENTER, "\n": ENTER, "\x1b": ESCAPE, "\x7f": ERASE, "\b": ERASE}
# A sequence of a key (CSI or SS3), with its parameters; or one character.
_KEY = re.compile(r"\x1b[\[O]([0-9;]*)([A-Za-z~])|(.)", re.DOTALL)
_READ = 1_024


def parse_keys(text: str) -> Iterator[str]:
    """The keys behind what a terminal sent: their names, printable characters as they are.

    Keys that have no name here are left out.
    """
    for match in _KEY.finditer(text):
        parameters, last, character = match.groups()
        if character is None:
            key = _SEQUENCES.get(f"{parameters}~" if last == "~" else last)
        else:
            key = _CONTROLS.get(character) or (character if character.isprintable() else None)
        if key:
            yield key


class Keyboard:
    """The keys of a terminal that somebody reads; without a terminal, or on Windows, there are none.

    While it is open the terminal sends each key at once and shows none; Ctrl-C stays a signal.
    """

    def __init__(self, source: IO[str] | None) -> None:
        self._source = source
        self._normal: list[Any] | None = None

    def open(self) -> int | None:
        """Begin; the descriptor to be read when it is ready, None where there are no keys."""
        if termios is None or tty is None or self._source is None:
            return None
        try:
            descriptor = self._source.fileno()
            self._normal = termios.tcgetattr(descriptor)
            tty.setcbreak(descriptor, termios.TCSANOW)
        except (OSError, ValueError, termios.error):
            self._normal = None
            return None
        return descriptor

    def close(self) -> None:
        """Have the terminal as it was before."""
        if termios is not None and self._normal is not None and self._source is not None:
            with suppress(OSError, ValueError, termios.error):
                termios.tcsetattr(self._source.fileno(), termios.TCSADRAIN, self._normal)
            self._normal = None

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Have another program read the terminal meanwhile."""
        self.close()
        try:
            yield
        finally:
            self.open()


def read_keys(descriptor: int, read: Callable[[int, int], bytes]) -> list[str]:
    """The keys that are there to be read now."""
    try:
        return [*parse_keys(read(descriptor, _READ).decode("utf-8", "ignore"))]
    except OSError:
        return []
