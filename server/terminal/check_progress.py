"""The progress of checks for a person: on a terminal their last lines, drawn again; in a pipe a line each."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from ...orchestration.sanitize import plain
from .caller import stdout
from .lines import Line, Part, console, is_terminal, print_lines, styled_text

if TYPE_CHECKING:
    from rich.live import Live

_SHOWN = 5
_LINE_LIMIT = 200


class CheckProgress:
    """The checks that run, each with its last lines of output. Told from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, tuple[float, deque[str]]] = {}
        self._partial: dict[str, bytes] = {}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        stream = stdout()
        if is_terminal(stream):
            from rich.live import Live

            self._live = Live(
                console=console(stream), get_renderable=self._screen, refresh_per_second=8, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def begin(self, check: str) -> None:
        """A check begins."""
        with self._lock:
            self._running[check] = time.monotonic(), deque(maxlen=_SHOWN)
        if self._live is None:
            self._print([[Part(f"{check}: running", "dim")]])

    def add_output(self, check: str, chunk: bytes) -> None:
        """It printed something."""
        if self._live is None:
            return
        with self._lock:
            text = self._partial.pop(check, b"") + chunk[-4096:]
            *lines, rest = text.split(b"\n")
            self._partial[check] = rest[-_LINE_LIMIT:]
            if check in self._running:
                self._running[check][1].extend(line.decode("utf-8", "replace") for line in lines[-_SHOWN:])

    def end(self, check: str, lines: list[Line]) -> None:
        """It is over; `lines` say what came of it."""
        with self._lock:
            self._running.pop(check, None)
        self._print(lines)

    def _print(self, lines: list[Line]) -> None:
        with self._lock:
            if self._live is not None:
                for line in lines:
                    self._live.console.print(styled_text(line), soft_wrap=True)
            else:
                print_lines(lines)
                stdout().flush()

    def _screen(self) -> Any:
        from rich.text import Text

        with self._lock:
            running = {check: (since, list(lines)) for check, (since, lines) in self._running.items()}
        lines: list[Line] = []
        for check, (since, last) in running.items():
            lines.append([Part(check, "run"), Part(f" runs for {time.monotonic() - since:.0f} s", "dim")])
            lines += [[Part(f"  {plain(each, _LINE_LIMIT)}", "dim")] for each in last]
        return Text("\n").join(styled_text(line) for line in lines)
