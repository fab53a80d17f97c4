"""The list of runs on a screen: their order, the filter, the selected one, and what there is room for.

Where all of it fits, each run is a paragraph. Where not, each is one line and the selected one a paragraph,
so that what waits first is to be seen on the smallest screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...orchestration.result.phrases import status_phrase
from ...orchestration.sanitize import plain
from ...tools.run_filter import UnknownState, is_shown, split_filter
from ...tools.run_names import Urgency
from ..hub.run_row import RunRow
from .lines import Line, Part, count_noun, name
from .run_views import STATUS_STYLE

if TYPE_CHECKING:
    from rich.text import Text

_WRONG = ("invalid", "failed", "blocked")
_OVER = ("complete", "exited")
_QUESTIONS = 3

RunKey = tuple[str, str]
"""A root and a run of it."""


def urgency_of(row: RunRow) -> Urgency:
    """How urgent it is that somebody looks at the run, as `run_names.urgency` has it of an evaluation."""
    if row.questions or row.status == "waiting_human":
        return Urgency.WAITING
    if row.status in _WRONG or row.failed_gates or row.errors:
        return Urgency.FAILING
    if row.status in _OVER:
        return Urgency.OVER
    return Urgency.JOB if row.status == "waiting" else Urgency.ACTIVE


def state_parts(row: RunRow, between: str) -> Iterator[Part]:
    """Phase, progress, status, and what is wrong."""
    yield Part(name(row.phase or "unknown"), "phase")
    yield Part(f" {row.done}/{row.total}" if row.total else "", "dim")
    yield Part(between)
    yield Part(status_phrase(row.status), STATUS_STYLE[row.status])
    if row.failed_gates:
        yield Part(f", gate {', '.join(map(name, row.failed_gates[:3]))} failed", "bad")
    if row.errors:
        yield Part(f", {count_noun(row.errors, 'error')}", "bad")


class RunList:
    """What a person looks at of all runs: `wanted` filters them, `key` is the selected one's.

    Until somebody selects another it is the first, whichever that is.
    """

    def __init__(self) -> None:
        self.wanted = ""
        self._key: RunKey | None = None
        self._order: list[RunRow] = []

    def update(self, rows: Mapping[RunKey, RunRow]) -> None:
        """Take the newest rows. The selection stays with its run; where that is gone, it is the first."""
        try:
            states, words = split_filter(self.wanted)
        except UnknownState:
            # Half a word, while it is typed.
            states, words = (), [word for word in self.wanted.lower().split() if not word.startswith("@")]
        ranked = sorted((urgency_of(row), row.root, row.run, row) for row in rows.values())
        self._order = [
            row
            for rank, root, run, row in ranked
            if is_shown(
                f"{root}/{run}\n{row.title}\n{row.workflow}\n{row.phase}", rank, row.status, states, words
            )
        ]
        if self._key is not None and all((row.root, row.run) != self._key for row in self._order):
            self._key = None

    @property
    def rows(self) -> Sequence[RunRow]:
        """The runs that are shown, the most urgent first."""
        return self._order

    @property
    def selection(self) -> RunRow | None:
        return self._order[self._place()] if self._order else None

    def move(self, by: int) -> None:
        """Select another run, so many further down; at an end the last one there."""
        if self._order:
            place = min(max(self._place() + by, 0), len(self._order) - 1)
            row = self._order[place]
            self._key = (row.root, row.run)

    def _place(self) -> int:
        keys = ((row.root, row.run) for row in self._order)
        return next((place for place, key in enumerate(keys) if key == self._key), 0)

    def lines(
        self, width: int, height: int, name_of: Callable[[RunRow], str], broken: Callable[[Line], list[Text]]
    ) -> Iterator[Line | Text]:
        """At most `height` lines. `broken` breaks a line to the screen's width, `name_of` titles a run."""
        chosen = self._place()
        whole = [
            self._paragraph(row, place == chosen, width, name_of, broken)
            for place, row in enumerate(self._order[: height + 1])
        ]
        if len(self._order) <= height and sum(map(len, whole)) <= height:
            yield from (line for paragraph in whole for line in paragraph)
            return
        if not self._order:
            return
        shown = self._paragraph(self._order[chosen], True, width, name_of, broken)[: max(height - 1, 1)]
        # The window of the others around it, and a line that counts those outside.
        others = max(height - len(shown) - 1, 0)
        first = min(max(chosen - others // 2, 0), max(len(self._order) - 1 - others, 0))
        last = min(first + others + 1, len(self._order))
        for place in range(first, last):
            if place == chosen:
                yield from shown
            else:
                yield self._title(self._order[place], False, width, name_of)
        if hidden := len(self._order) - (last - first):
            yield [Part(f"and {hidden} more: arrow keys, / filters", "dim")]

    def _title(self, row: RunRow, chosen: bool, width: int, name_of: Callable[[RunRow], str]) -> Line:
        title = name_of(row)
        path = plain(row.run or ".", 200)
        state = [Part("  "), *state_parts(row, "  ")]
        length = 2 + len(title) + sum(len(part.text) for part in state)
        # Its path where there is room: commands take it.
        beside = [Part(f"  {path}", "dim")] if path != title and length + len(path) + 2 <= width else []
        return [Part("> " if chosen else "  ", "wait"), Part(title, "run"), *state, *beside]

    def _paragraph(
        self,
        row: RunRow,
        chosen: bool,
        width: int,
        name_of: Callable[[RunRow], str],
        broken: Callable[[Line], list[Text]],
    ) -> list[Line | Text]:
        asked: list[Line] = [
            [Part("    asks "), Part(plain(question, 80), "wait"), Part(f": {plain(text, 300)}")]
            for question, text in row.questions[:_QUESTIONS]
        ]
        todo: Line = [Part("    next: "), Part(plain(row.next), "run"), Part(f": {plain(row.reason, 400)}")]
        below = [*asked, todo] if asked else [todo]
        return [self._title(row, chosen, width, name_of), *(each for line in below for each in broken(line))]
