"""What tells the checklists of one convention from those of another: ids, marks, headings, order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

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

CLOSED = frozenset((MarkStatus.DONE, MarkStatus.CANCELLED))
"""Statuses of items of which nothing is left to do."""
_T = TypeVar("_T")


class ChecklistRow(NamedTuple):
    """An item of a list with what its convention makes of it.

    `id` is unique in the file unless the file gives one id twice; without one it is made of the title, and
    `id_span` is None. `words` are the item's without its id; `notes` the lines below it, up to the next
    item or heading, each with its number. `memory` is shared by rows that differ in their mark alone.
    """

    item: ChecklistItem
    id: str
    id_span: Span | None
    words: str
    status: MarkStatus
    stage: str
    notes: tuple[tuple[int, str], ...]
    memory: dict[Any, Any]

    @property
    def done(self) -> bool:
        return self.status in CLOSED

    @property
    def place(self) -> Span:
        return self.id_span or self.item.span

    def remember(self, tell: Callable[[ChecklistRow], _T]) -> _T:
        """What a function tells from all but the mark of the row, asked once however often that changes."""
        if tell not in self.memory:
            self.memory[tell] = tell(self)
        return self.memory[tell]

    def detail(
        self,
        waits: Iterable[str],
        blockers: tuple[str, ...] = (),
        span: Span | None = None,
        files: tuple[str, ...] = (),
    ) -> TaskFile:
        """What the list says of the row; the same object as long as it says the same."""
        depends_on, known = tuple(waits), self.memory.get(TaskFile)
        if known is None or (known.depends_on, known.blockers) != (depends_on, blockers):
            known = TaskFile(depends_on=depends_on, blockers=blockers, depends_span=span, files=files)
            self.memory[TaskFile] = known
        return known

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

    def status_of(self, mark: str, words: str = "") -> MarkStatus:
        """The status of an item; of one that is struck out nothing is left to do, whatever its box says."""
        status = self.marks.get(mark) or COMMON_MARKS.get(mark, MarkStatus.UNKNOWN)
        is_struck = status is not MarkStatus.DONE and words.startswith("~~")
        return MarkStatus.CANCELLED if is_struck else status


def dotted_parent(task_id: str) -> str:
    """The id above a number with dots: "1" of "1.2"."""
    return task_id.rpartition(".")[0]


def in_turn(
    rows: Sequence[ChecklistRow],
    beside: Callable[[ChecklistRow], bool] = lambda row: False,
    explicit: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, Sequence[str]]:
    """id -> the ids that a row waits for where a list is done from top to bottom, stage by stage.

    Open rows alone count. A run of rows that may be done `beside` each other waits for what is before the
    run, and is waited for as a whole. A row with `explicit` dependencies on later ones is waited for by none.
    """
    waits: dict[str, Sequence[str]] = {}
    order = {row.id: position for position, row in enumerate(rows)} if explicit else {}
    stage, before, run, is_run = "", list[str](), list[str](), False
    for row in rows:
        name, named = row.id, explicit.get(row.id, ())
        if row.stage != stage:
            stage, before, run, is_run = row.stage, [], [], False
        if row.status in CLOSED:
            if named:
                waits[name] = named
            continue
        is_beside = beside(row)
        if not (is_run and is_beside):
            before, run = list(dict.fromkeys(run)) or before, []
        is_plain = not named and name not in before
        waits[name] = before if is_plain else [*dict.fromkeys([*named, *(n for n in before if n != name)])]
        is_run = is_beside
        if not named or all(order.get(each, -1) < order[name] for each in named):
            run.append(name)
    return waits


def ticked_ahead(
    rows: Sequence[ChecklistRow], named: Callable[[ChecklistRow], tuple[Sequence[str], Span | None]]
) -> Iterator[Problem]:
    """Rows that are ticked while one that they name is open; `named` gives their dependencies, and where."""
    open_ids = {row.id for row in rows if row.status not in CLOSED}
    for row in rows:
        if row.status is not MarkStatus.DONE:
            continue
        ids, span = named(row)
        if left := [name for name in ids if name in open_ids]:
            yield Problem("task-ahead", f"{row.id} is done, but it depends on {', '.join(left)}", span)
