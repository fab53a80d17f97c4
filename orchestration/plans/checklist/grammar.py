"""What tells the checklists of one convention from those of another: ids, marks, headings, order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ...findings import Problem, Span
from ...markdown.checklist import CANCELLED_MARKS, DONE_MARKS, Checklist, ChecklistItem
from ..model import MarkStatus, TaskFile

COMMON_MARKS: Mapping[str, MarkStatus] = MappingProxyType({
    "": MarkStatus.TODO,
    **dict.fromkeys(DONE_MARKS, MarkStatus.DONE),
    **dict.fromkeys(("☐", "⬜", "🔲", "todo", "to-do", "open", "deferred"), MarkStatus.TODO),
    **dict.fromkeys(("⏳", "🔄", "🚧", "wip", "doing", "in-progress"), MarkStatus.IN_PROGRESS),
    "blocked": MarkStatus.BLOCKED,
    **dict.fromkeys(CANCELLED_MARKS, MarkStatus.CANCELLED),
})  # fmt: skip
"""Marks that mean the same wherever they stand. Any other one is a convention's own, or nobody's."""


class ChecklistRow(NamedTuple):
    """An item of a list with what its convention makes of it.

    `id` is unique in the file unless the file gives one id twice; without one it is made of the title, and
    `id_span` is None. `words` are the item's without its id; `notes` the lines below it, up to the next
    item or heading, each with its number.
    """

    item: ChecklistItem
    id: str
    id_span: Span | None
    words: str
    status: MarkStatus
    stage: str
    notes: tuple[tuple[int, str], ...] = ()

    @property
    def done(self) -> bool:
        return self.status in (MarkStatus.DONE, MarkStatus.CANCELLED)

    @property
    def place(self) -> Span:
        return self.id_span or self.item.span

    def note(self, pattern: re.Pattern[str]) -> tuple[re.Match[str], Span] | None:
        """The first match in the item's words or in its notes, and its place."""
        lines = [
            (self.item.line, self.item.column, self.item.text),
            *((n, 0, text) for n, text in self.notes),
        ]
        for number, column, text in lines:
            if found := pattern.search(text):
                return found, Span(number, column + found.start(), number, column + found.end())
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistGrammar:
    """One convention's way to write its checklists.

    - `tool` is its name in messages, `marks` has its own marks beside `COMMON_MARKS`, `written` the one that
      each status is written with.
    - `task_id` matches an id at the start of an item's words, `stage_id` one in the text of a heading that
      begins a group (group 1 each).
    - `sight` says what the convention's own tool makes of the line of an item, where that is something else
      than the status that it has here: "drops it".
    - `details` gives each row's dependencies and files by its id; `problems` what is wrong between rows.
    - `parent_of` gives the id above an id by its number, "" for none.
    - `title_label` stands before the name of the work in the file's title.
    """

    tool: str
    marks: Mapping[str, MarkStatus]
    written: Mapping[MarkStatus, str]
    task_id: re.Pattern[str]
    stage_id: re.Pattern[str]
    sight: Callable[[str, MarkStatus], str]
    details: Callable[[Checklist, Sequence[ChecklistRow]], Mapping[str, TaskFile]]
    problems: Callable[[Checklist, Sequence[ChecklistRow]], Iterable[Problem]]
    parent_of: Callable[[str], str] = lambda task_id: ""
    title_label: str = ""

    def status_of(self, mark: str) -> MarkStatus:
        known = self.marks.get(mark)
        return known or COMMON_MARKS.get(mark, MarkStatus.UNKNOWN)


def dotted_parent(task_id: str) -> str:
    """The id above a number with dots: "1" of "1.2"."""
    return task_id.rpartition(".")[0]


def in_turn(
    rows: Sequence[ChecklistRow],
    beside: Callable[[ChecklistRow], bool] = lambda row: False,
    explicit: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, list[str]]:
    """id -> the ids that a row waits for where a list is done from top to bottom, stage by stage.

    Open rows alone count. A run of rows that may be done `beside` each other waits for what is before the
    run, and is waited for as a whole. A row with `explicit` dependencies on later ones is waited for by none.
    """
    waits: dict[str, list[str]] = {}
    order = {row.id: position for position, row in enumerate(rows)}
    stage, before, run, is_run = "", list[str](), list[str](), False
    for row in rows:
        if row.stage != stage:
            stage, before, run, is_run = row.stage, [], [], False
        named = explicit.get(row.id, ())
        if row.done:
            if named:
                waits[row.id] = [*named]
            continue
        if not (is_run and beside(row)):
            before, run = run or before, []
        waits[row.id] = list(dict.fromkeys([*named, *(each for each in before if each != row.id)]))
        is_run = beside(row)
        if all(order.get(name, -1) < order[row.id] for name in named):
            run.append(row.id)
    return waits


def ticked_ahead(
    rows: Sequence[ChecklistRow], named: Callable[[ChecklistRow], tuple[Sequence[str], Span | None]]
) -> Iterator[Problem]:
    """Rows that are ticked while one that they name is open; `named` gives their dependencies, and where."""
    open_ids = {row.id for row in rows if not row.done}
    for row in rows:
        ids, span = named(row) if row.status is MarkStatus.DONE else ((), None)
        if left := [name for name in ids if name in open_ids]:
            yield Problem("task-ahead", f"{row.id} is done, but it depends on {', '.join(left)}", span)
