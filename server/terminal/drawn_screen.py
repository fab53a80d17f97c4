"""The live view on a whole terminal, drawn again when something changes, or by a key.

Keys move through the runs, filter them, open one and have a question answered; what answers is a command of
its own, which the caller runs (`press`).
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, Self

from ...orchestration.result.phrases import status_phrase
from ...orchestration.sanitize import plain
from ..hub.run_row import RunRow
from ..version import VERSION
from . import keyboard as keys
from .lines import Line, Part, console, count_noun, is_terminal, more, styled_text, wrapped_lines
from .live_screen import PlainScreen
from .run_list import RunList
from .run_views import STATUS_STYLE

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

_NEWEST = 200
_NEWEST_SHOWN = 5
_LINES = 2
_LOW = 16
"""On a screen of fewer lines all but one of the head and the foot is for the runs."""
_STATUSES = ("waiting_human", "invalid", "blocked", "failed", "active", "waiting", "exited", "complete")


class Wish(NamedTuple):
    """What a key asks of the caller: `quit`, or to `open` or `answer` a run."""

    kind: str
    row: RunRow | None = None


class DrawnScreen(PlainScreen):
    """The whole terminal, drawn again when something changed or its size did."""

    _is_drawn = True

    def __init__(self, stream: IO[str], roots: Sequence[str]) -> None:
        super().__init__(stream, roots)
        self._newest: deque[tuple[str, Line]] = deque(maxlen=_NEWEST)
        self._console: Console = console(stream)
        self._live: Live | None = None
        self._drawing = self._outdated = False
        self._list = RunList()
        self._is_typing = False
        """The filter is being typed."""
        self._opened: tuple[RunRow, list[str], int] | None = None
        """The run that is open, the lines about it, and the first one shown."""

    def __enter__(self) -> Self:
        self._begin()
        # Not on Windows; there the next change draws to the new size.
        with suppress(AttributeError, ValueError):
            signal.signal(signal.SIGWINCH, lambda *_: self._draw())
        self._draw()
        return self

    def _begin(self) -> None:
        from rich.live import Live

        self._live = Live(self._whole(), console=self._console, screen=True, auto_refresh=False)
        self._live.__enter__()

    def _end(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.__exit__(None, None, None)

    def __exit__(self, *error: object) -> None:
        self._end()
        self._console.print(styled_text([Part("phasekeeper: ended; "), *self._summary()]), soft_wrap=True)
        if self._newest and not self._rows:
            at, line = self._newest[-1]
            self._console.print(styled_text([Part(f"{at} "), *line]), soft_wrap=True)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Leave the terminal to another program meanwhile."""
        self._end()
        try:
            yield
        finally:
            self._begin()
            self._draw()

    def say_below(self, text: str) -> None:
        """Write below what another program wrote, while suspended."""
        self._stream.write(text)
        self._stream.flush()

    # ---- keys

    def press(self, key: str) -> Wish | None:
        """Do what a key is for; the wish that only the caller can grant."""
        wish = self._press_in_filter(key) if self._is_typing else self._press(key)
        self._draw()
        return wish

    def _press_in_filter(self, key: str) -> None:
        if key == keys.ENTER:
            self._is_typing = False
        elif key == keys.ESCAPE:
            self._is_typing, self._list.wanted = False, ""
        elif key == keys.ERASE:
            self._list.wanted = self._list.wanted[:-1]
        elif len(key) == 1:
            self._list.wanted += key

    def _press(self, key: str) -> Wish | None:
        page = max(self._console.size[1] - 3, 1)
        by = {keys.UP: -1, "k": -1, keys.DOWN: 1, "j": 1, keys.PAGE_UP: -page, keys.PAGE_DOWN: page}
        by |= {keys.HOME: -1_000_000, keys.END: 1_000_000, " ": page}
        row = self._opened[0] if self._opened else self._list.selection
        if key == "a" and row is not None:
            return Wish("answer", row)
        if self._opened is not None:
            if key in ("q", keys.ESCAPE, keys.LEFT, keys.ERASE):
                self._opened = None
            elif key in by:
                of, lines, first = self._opened
                self._opened = (of, lines, max(first + by[key], 0))
        elif key == "q":
            return Wish("quit")
        elif key == "/":
            self._is_typing = True
        elif key == keys.ESCAPE:
            self._list.wanted = ""
        elif key == keys.ENTER and row is not None:
            # It stays selected, whatever comes before it meanwhile.
            self._list.move(0)
            return Wish("open", row)
        elif key in by:
            self._list.move(by[key])
        return None

    def show_run(self, row: RunRow, lines: Sequence[str]) -> None:
        """Open a run with the lines that tell of it; those of one that is open are replaced in place."""
        same = self._opened is not None and self._opened[0][:2] == row[:2]
        self._opened = (row, [*lines], self._opened[2] if same and self._opened else 0)
        self._draw()

    @property
    def outdated_run(self) -> RunRow | None:
        """The run that is open, as it is now, if it has changed since its lines were made."""
        if self._opened is None:
            return None
        row = self._rows.get((self._opened[0].root, self._opened[0].run))
        return row if row is not None and row.revision != self._opened[0].revision else None

    # ---- drawing

    def _show(self, line: Line) -> None:
        self._newest.append((time.strftime("%H:%M:%S"), line))

    def _draw(self) -> None:
        """Draw what there is, and once more if a signal came meanwhile: drawings do not nest."""
        self._outdated = True
        while self._outdated and not self._drawing and self._live is not None:
            self._drawing, self._outdated = True, False
            try:
                # The terminal's own size: what COLUMNS and LINES say does not change with it.
                with suppress(OSError, ValueError):
                    self._console.size = os.get_terminal_size(self._stream.fileno())
                self._live.update(self._whole(), refresh=True)
            finally:
                self._drawing = False

    def _whole(self) -> RenderableType:
        from rich.text import Text

        width, height = self._console.size
        head = [_cut(line, width) for line in self._head(height)]
        foot = [_cut(line, width) for line in self._foot(height)]
        room = max(height - len(head) - len(foot), 1)
        body = self._open_run(width, room) if self._opened else self._body(width, room)
        return Text("\n").join([*head, *[*body][:room], *foot][:height])

    def _head(self, height: int) -> Iterator[Line]:
        if height >= _LOW:
            where = ", ".join(plain(root, 200) for root in self._roots[:3]) + more(len(self._roots) - 3)
            yield [Part("phasekeeper ", "run"), Part(f"{VERSION}  {where}", "dim")]
        yield list(self._summary())
        if height >= _LOW:
            yield []

    def _summary(self) -> Iterator[Part]:
        if not self._rows:
            yield Part("no run yet" if self._listed_roots else self._progress, "dim")
            return
        counts = Counter(row.status for row in self._rows.values())
        yield Part(count_noun(len(self._rows), "run"))
        for status in _STATUSES:
            if count := counts[status]:
                words = status_phrase(status)
                words = words.replace("waits", "wait") if count > 1 else words
                yield from (Part(", "), Part(f"{count} {words}", STATUS_STYLE[status]))

    def _body(self, width: int, height: int) -> Iterator[Text]:
        """The runs that the filter lets through, those that need somebody first, as far as there is room."""
        self._list.update(self._rows)
        if self._rows and not self._list.rows:
            yield _cut([Part("no run fits the filter; Esc takes it away", "dim")], width)
        for line in self._list.lines(width, height, self._title_of, self._broken):
            yield _cut(line, width)

    def _title_of(self, row: RunRow) -> str:
        """The run's title as the editor has it, with its root where there are several."""
        title = plain(row.title or row.run or ".", 120)
        return title if len(self._roots) < 2 else f"{plain(row.root.rsplit('/', 1)[-1], 40)}: {title}"

    def _open_run(self, width: int, height: int) -> Iterator[Text]:
        """The lines about the run that is open, from the first one shown."""
        assert self._opened is not None
        row, lines, first = self._opened
        broken = [text for line in lines for text in wrapped_lines([Part(line)], self._console)]
        first = min(first, max(len(broken) - height, 0))
        self._opened = (row, lines, first)
        for text in broken[first : first + height]:
            text.truncate(width, overflow="ellipsis")
            yield text

    def _broken(self, line: Line) -> list[Text]:
        """The line on as many of the screen as one line may take; what does not fit is cut."""
        texts = wrapped_lines(line, self._console)
        if len(texts) > _LINES:
            texts[_LINES - 1].append("…")
        return texts[:_LINES]

    def _foot(self, height: int) -> Iterator[Line]:
        if height >= _LOW:
            yield []
            # A low screen is for the runs.
            for at, line in list(self._newest)[-min(_NEWEST_SHOWN, height // 5) :]:
                yield [Part(f"{at} ", "dim"), *line]
        yield list(self._keys())

    def _keys(self) -> Iterator[Part]:
        """The keys that do something now."""
        if self._is_typing:
            yield from (Part("filter: ", "wait"), Part(f"{plain(self._list.wanted, 60)}_  "))
            yield Part("Enter keeps it, Esc ends it; @waiting @failed @active @done", "dim")
            return
        if self._list.wanted and not self._opened:
            yield Part(f"filter: {plain(self._list.wanted, 60)} (Esc)  ", "wait")
        if self._opened:
            yield Part("q back  a answer  arrows scroll", "dim")
            return
        yield Part("q end  Enter open  a answer  / filter", "dim")
        if not self._is_own_server:
            yield Part("  the server goes on", "dim")


def _cut(line: Line | Text, width: int) -> Text:
    """One line of the screen."""
    text = styled_text(line) if isinstance(line, Sequence) else line
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def screen_for(stream: IO[str], roots: Sequence[str]) -> PlainScreen:
    """A drawn screen on a terminal, lines in a pipe and on a terminal that cannot be drawn on."""
    drawn = is_terminal(stream) and not console(stream).is_dumb_terminal
    return (DrawnScreen if drawn else PlainScreen)(stream, roots)
