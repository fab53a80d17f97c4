"""The live view as a person sees it: a screen that is drawn again on change, or a line for each change.

It hears the server's messages (`hub/view_feed.py`) and keeps the newest row of every run. File text goes
through `sanitize.plain` here and nowhere before.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Self

from ...orchestration.result.phrases import status_phrase
from ...orchestration.sanitize import plain
from ..hub.view_feed import RunRow
from ..version import VERSION
from .lines import Line, Part, bare, console, count_noun, is_terminal, more, name, styled_text, wrapped_lines
from .run_views import STATUS_STYLE

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

_NEWEST = 200
_NEWEST_SHOWN = 5
_LINES = 2
USAGE = 2
# Runs where something is to be done stand above those that are over.
_ORDER = ("waiting_human", "invalid", "blocked", "failed", "active", "waiting", "exited", "complete")


class PlainScreen:
    """The newest rows of the roots that are looked at; a line for each at first, then for each change."""

    _is_drawn = False
    """The rows themselves are to be seen, and lines tell of their changes only."""

    def __init__(self, stream: IO[str], roots: Sequence[str]) -> None:
        self._stream = stream
        self._rows: dict[tuple[str, str], RunRow] = {}
        """(root, run) -> its newest row"""
        self._roots: tuple[str, ...] = tuple(roots)
        self._root_problems: dict[str, tuple[str, ...]] = {}
        self._listed_roots: set[str] = set()
        """Roots whose rows have come: what comes after is a change."""
        self._is_own_server = True
        self._progress = "looking"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def server(self, own: bool) -> None:
        """A server is there: the one in this process, or one that ran already."""
        self._is_own_server = own
        self._listed_roots.clear()
        self._say("the server runs in this process" if own else "joined the server that runs already")
        self._draw()

    def handle(self, message: Mapping[str, Any]) -> int | None:
        """Take one message in; the exit code when there is nothing more to come."""
        if "error" in message:
            self._say(f"{message['error']}")
            return USAGE
        if "sentence" in message:
            self._say(message["sentence"])
        elif "scanning" in message:
            self._progress = f"{message['done']} of {message['total']} runs looked at"
        elif "roots" in message:
            # The runs of roots that are not looked at any more are gone from the view.
            for key in [key for key in self._rows if key[0] not in message["roots"]]:
                self._show_change(self._rows.pop(key), None)
            self._roots = tuple(message["roots"])
        elif "rows" in message:
            self._update_rows(message)
        self._draw()
        return None

    def _update_rows(self, message: Mapping[str, Any]) -> None:
        root, rows = message["root"], message["rows"]
        for run in message["removed"]:
            if old := self._rows.pop((root, run), None):
                self._show_change(old, None)
        for data in rows:
            questions = tuple((str(question), str(text)) for question, text in data["questions"])
            new = RunRow(**{**data, "questions": questions, "failed_gates": tuple(data["failed_gates"])})
            old = self._rows.get((root, new.run))
            self._rows[root, new.run] = new
            if old is None or old._replace(revision=new.revision) != new:
                self._show_change(old, new)
        problems = tuple(message["problems"])
        if problems != self._root_problems.get(root, ()):
            self._root_problems[root] = problems
            for line in problems:
                self._say(line)
        if root not in self._listed_roots and not rows:
            self._say(f"no run was found in {root}; `phasekeeper demo` makes some to see")
        self._listed_roots.add(root)

    def _show_change(self, old: RunRow | None, new: RunRow | None) -> None:
        """Show a change of one run: where it stands, what came of it, what is next; or that it is gone."""
        row = new or old
        if row is None or (self._is_drawn and row.root not in self._listed_roots):
            return
        run = Part(self._name_of(row), "run")
        if new is None:
            self._show([run, Part(" is gone")])
            return
        moved = [] if old is None or old.phase == new.phase else [Part(f"{name(old.phase or 'unknown')} → ")]
        follows = [Part("; next: "), Part(plain(new.next), "run"), Part(f": {plain(new.reason)}")]
        self._show([run, Part(": "), *moved, *_state(new, ", "), *follows])
        for question, text in new.questions:
            if old is None or (question, text) not in old.questions:
                asks = Part(plain(question, 80), "wait")
                self._show([run, Part(" asks a person "), asks, Part(f": {plain(text, 300)}")])

    def _say(self, text: str) -> None:
        self._show([Part("" if self._is_drawn else "phasekeeper: "), Part(plain(text, 1000))])

    def _show(self, line: Line) -> None:
        """Show a line that is new."""
        self._stream.write(bare("".join(part.text for part in line)) + "\n")
        self._stream.flush()

    def _draw(self) -> None:
        """Bring to the screen what changed."""

    def _name_of(self, row: RunRow) -> str:
        """The run's path, from its root where there are several."""
        path = plain(row.run or ".", 120)
        return path if len(self._roots) < 2 else f"{plain(row.root.rsplit('/', 1)[-1], 40)}: {path}"


def _state(row: RunRow, between: str) -> Iterator[Part]:
    """Phase, progress, status, and what is wrong."""
    yield Part(name(row.phase or "unknown"), "phase")
    yield Part(f" {row.done}/{row.total}" if row.total else "", "dim")
    yield Part(between)
    yield Part(status_phrase(row.status), STATUS_STYLE[row.status])
    if row.failed_gates:
        yield Part(f", gate {', '.join(map(name, row.failed_gates[:3]))} failed", "bad")
    if row.errors:
        yield Part(f", {count_noun(row.errors, 'error')}", "bad")


class DrawnScreen(PlainScreen):
    """The whole terminal, drawn again when something changed or its size did."""

    _is_drawn = True

    def __init__(self, stream: IO[str], roots: Sequence[str]) -> None:
        super().__init__(stream, roots)
        self._newest: deque[tuple[str, Line]] = deque(maxlen=_NEWEST)
        self._console: Console = console(stream)
        self._live: Live | None = None
        self._drawing = self._outdated = False

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(self._whole(), console=self._console, screen=True, auto_refresh=False)
        self._live.__enter__()
        # Not on Windows; there the next change draws to the new size.
        with suppress(AttributeError, ValueError):
            signal.signal(signal.SIGWINCH, lambda *_: self._draw())
        self._draw()
        return self

    def __exit__(self, *error: object) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.__exit__(None, None, None)
        self._console.print(styled_text([Part("phasekeeper: ended; "), *self._summary()]), soft_wrap=True)
        if self._newest and not self._rows:
            at, line = self._newest[-1]
            self._console.print(styled_text([Part(f"{at} "), *line]), soft_wrap=True)

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
        where = ", ".join(plain(root, 200) for root in self._roots[:3]) + more(len(self._roots) - 3)
        title = [Part("phasekeeper ", "run"), Part(f"{VERSION}  {where}", "dim")]
        head = [_cut(line, width) for line in (title, list(self._summary()), [])]
        foot = [_cut(line, width) for line in self._foot()]
        body = list(self._body(width, max(height - len(head) - len(foot), 3)))
        return Text("\n").join([*head, *body, *foot][:height])

    def _summary(self) -> Iterator[Part]:
        if not self._rows:
            yield Part("no run yet" if self._listed_roots else self._progress, "dim")
            return
        counts = Counter(row.status for row in self._rows.values())
        yield Part(count_noun(len(self._rows), "run"))
        for status in _ORDER:
            if count := counts[status]:
                words = status_phrase(status)
                words = words.replace("waits", "wait") if count > 1 else words
                yield from (Part(", "), Part(f"{count} {words}", STATUS_STYLE[status]))

    def _body(self, width: int, height: int) -> Iterator[Text]:
        """The runs, those that need somebody first, as far as there is room."""
        rows = sorted(self._rows.values(), key=lambda row: (_ORDER.index(row.status), row.root, row.run))
        left = height
        for place, row in enumerate(rows):
            asked = [
                [Part("  asks "), Part(plain(question, 80), "wait"), Part(f": {plain(text, 300)}")]
                for question, text in row.questions[:3]
            ]
            paragraph = (
                [Part(self._name_of(row), "run"), Part("  "), *_state(row, "  ")],
                [Part("  next: "), Part(plain(row.next), "run"), Part(f": {plain(row.reason, 400)}")],
                *asked,
            )
            lines = [text for line in paragraph for text in self._broken(line, width)]
            if len(lines) > left - (place + 1 < len(rows)):
                yield _cut([Part(f"and {len(rows) - place} more: `phasekeeper status`", "dim")], width)
                return
            left -= len(lines)
            yield from lines

    def _broken(self, line: Line, width: int) -> list[Text]:
        """The line on as many of the screen as one line may take; what does not fit is cut."""
        texts = wrapped_lines(line, self._console)
        if len(texts) > _LINES:
            texts[_LINES - 1].append("…")
        for text in texts[_LINES - 1 :]:
            text.truncate(width, overflow="ellipsis")
        return texts[:_LINES]

    def _foot(self) -> Iterator[Line]:
        yield []
        # A low screen is for the runs.
        most = min(_NEWEST_SHOWN, self._console.height // 5)
        for at, line in list(self._newest)[-most:] if most else ():
            yield [Part(f"{at} ", "dim"), *line]
        if any(row.questions for row in self._rows.values()):
            yield [Part("`phasekeeper questions` has the options, `phasekeeper answer` answers", "dim")]
        ends = "ends the server" if self._is_own_server else "ends this view, the server goes on"
        yield [Part(f"Ctrl-C {ends}", "dim")]


def _cut(line: Line, width: int) -> Text:
    """One line of the screen."""
    text = styled_text(line)
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def screen_for(stream: IO[str], roots: Sequence[str]) -> PlainScreen:
    """A drawn screen on a terminal, lines in a pipe and on a terminal that cannot be drawn on."""
    drawn = is_terminal(stream) and not console(stream).is_dumb_terminal
    return (DrawnScreen if drawn else PlainScreen)(stream, roots)
