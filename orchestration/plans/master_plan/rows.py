"""Tables of master plans: columns by title, status marks, names of files, the task that a row describes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem, Severity, Span
from ...markdown.document import Heading, MarkdownDocument
from ...markdown.inline_text import name_of, split_remark, strip_markup
from ...markdown.tables import Cell, Row, Table
from ..model import Mark, MarkStatus, RowPlace, StageTasks, Task

MARKS: Mapping[str, MarkStatus] = MappingProxyType({
    " ": MarkStatus.TODO, "x": MarkStatus.DONE, "X": MarkStatus.DONE, "~": MarkStatus.IN_PROGRESS,
    "-": MarkStatus.BLOCKED, "!": MarkStatus.ATTENTION,
})  # fmt: skip
"""Status by the character of a box (reference: workflows, seed 004, "Status marks")."""
MARK_OF = {status: f"[{mark}]" for mark, status in reversed(list(MARKS.items()))}
TASK_COLUMNS = frozenset({"task id", "file", "status"})
"""A table with these columns, in any order, is one of tasks."""
PHASE = re.compile(r"(?i)phase[ \t]+(\d+(?:\.\d+)*[a-z]?|[a-z]|[ivx]+)(?![\w.]*\w)[ \t]*(.*)")

_STATUSES = {f"[{mark}]": status for mark, status in MARKS.items()}
_KNOWN_MARKS = ", ".join(_STATUSES)
_MARK = re.compile(r"\[(.)\]")
_WORDS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("✅", "✓", "✔", "☑", "done", "complete", "completed", "finished"), "x"),
    **dict.fromkeys(("🔄", "🚧", "wip", "started", "in progress", "in-progress", "in_progress"), "~"),
    **dict.fromkeys(("⬜", "☐", "todo", "to do", "open", "pending", "not started"), " "),
    **dict.fromkeys(("⛔", "🚫", "blocked"), "-"),
    **dict.fromkeys(("⚠", "attention", "needs attention", "awaiting-operator", "awaiting operator"), "!"),
})  # fmt: skip
"""The character of the box that a word or sign without one may have meant; it is offered, never counted."""
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\(<?([^()<>\s]*+)>?[^()]*+\)")
_NO_NAME = frozenset({"", "-", "–", "—", "n/a", "none", "tbd"})
_DIGITS = re.compile(r"\d+")
_TRAILING_DIGITS = re.compile(r"(?<!\d)\d+$")


_FAILED = (
    "failed",
    "fail",
    "failing",
    "error",
    "rejected",
    "reopened",
    "incomplete",
    "not done",
    "needs work",
)
_PLANNED = ("planning", "planned", "ready", "draft")
_STATUS_WORDS: Mapping[str, MarkStatus] = MappingProxyType({
    **{word: MARKS[mark] for word, mark in _WORDS.items()}, **dict.fromkeys(_FAILED, MarkStatus.ATTENTION),
    **dict.fromkeys(_PLANNED, MarkStatus.TODO), **_STATUSES,
})  # fmt: skip


def status_of(value: str) -> MarkStatus:
    """What the value of a Status field says, in words or by a box; UNKNOWN for a word that nobody knows."""
    plain = split_remark(value)[0].replace("_", " ").casefold()
    words = strip_markup(value).replace("\ufe0f", "").casefold().strip()
    box = _MARK.match(words)
    known = (plain, plain.replace("-", " "), words, words.partition(" ")[0], plain.partition(" ")[0])
    found = (_STATUS_WORDS[word] for word in known if word in _STATUS_WORDS)
    return MARKS.get(box[1], MarkStatus.UNKNOWN) if box else next(found, MarkStatus.UNKNOWN)


class Notes(NamedTuple):
    """Findings of reading a plan: problems, and the places that record progress."""

    problems: list[Problem]
    progress: list[Span]

    def add(self, code: str, message: str, span: Span, severity: Severity | None = None, **data: Any) -> None:
        """Note a problem; `data` is that of its finding."""
        self.problems.append(Problem(code, message, span, severity, data))


def text_of(cell: Cell | None) -> str:
    return strip_markup(cell.text) if cell else ""


def file_in(cell: Cell, row: Row) -> tuple[str, Span | None]:
    """The file a cell names, out of its backticks or link, and where the name stands."""
    name = strip_markup(cell.text)
    link = _LINK_TARGET.search(cell.text) if "](" in cell.text else None
    if link and link[2].endswith(".md") and not name.endswith(".md"):
        name = link[2]
    name = name.removeprefix("./")
    if name.lower() in _NO_NAME:
        return "", None
    at = row.text.find(name, cell.start, cell.end)
    return name, Span(row.line, at, row.line, at + len(name)) if at >= 0 else cell.span


def read_mark(cell: Cell, consequence: str, notes: Notes) -> Mark:
    """The status a cell gives and the place of its brackets; of the whole cell when no mark is known.

    The cell is noted as a place of progress, and an unknown mark as a problem with its consequence.
    """
    span = cell.span
    notes.progress.append(span)
    status = _STATUSES.get(cell.text)
    if status is not None:
        return Mark(status, span)
    # A mark that is struck out was taken back.
    match = None if "~~" in cell.text else _MARK.fullmatch(strip_markup(cell.text))
    status = MARKS.get(match[1]) if match else None
    if status is None:
        written = f"`{cell.text}`" if cell.text else "an empty cell"
        words = strip_markup(cell.text).strip("[]").replace("\ufe0f", "").casefold().strip()
        meant = _WORDS.get(words) or _WORDS.get(words.partition(" ")[0])
        data: dict[str, Any] = {"mark": meant} if meant else {}
        asked = f"; did you mean [{meant}]?" if meant else ""
        message = f"{written} is none of {_KNOWN_MARKS}; {consequence}{asked}"
        notes.add("marker-unknown", message, span, **data)
        return Mark(MarkStatus.UNKNOWN, span)
    start, end = cell.text.index("["), cell.text.rindex("]") + 1
    return Mark(status, Span(cell.line, cell.start + start, cell.line, cell.start + end))


def section_of(document: MarkdownDocument, title: str) -> Heading | None:
    """The first section whose heading begins with a title, case ignored."""
    return next((heading for heading in document.headings if name_of(heading.text).startswith(title)), None)


def first_section(document: MarkdownDocument) -> int:
    """The line of the first heading below the title, or the end."""
    return next((h.span.line for h in document.headings if h.level > 1), len(document.lines))


# --- the tasks of tables

# An ordinary row has all cells of its header, an id of one word that ends in digits and has no markup, a
# `.md` file in backticks and a known mark. Most rows of real plans are so, and one match reads all there
# is to know of them; any other row is read cell by cell, with the same result where both can read it.
_ANY = r"[^|\\]*+"
_ORDINARY_CELLS = {
    "task id": r"[ \t]*+(?P<id>(?:[^\s\d|*_~\\`\[<]++|\d++(?=[^\s|]))*+(?P<number>\d++))[ \t]*+",
    "file": r"[ \t]*+`(?P<file>(?!\./)[^\s|\\`\[<]+\.md)`[ \t]*+",
    "status": rf"[ \t]*+(?P<status>\[[{re.escape(''.join(MARKS))}]\])[ \t]*+",
    "description": rf"(?P<title>{_ANY})",
    "type": rf"(?P<type>{_ANY})",
}
_GROUPS = ("id", "number", "title", "status", "file", "type")
# So that a hostile header makes no huge pattern.
_WIDEST = 20


class StageRows:
    """The tasks of a stage, and the notes about them of each of its tables, by lines of the table's section.

    Two are the same only if they are one object.
    """

    def __init__(self, tasks: StageTasks, notes: Sequence[Notes]) -> None:
        self.tasks, self.notes = tasks, notes
        self.ids = frozenset(task.id.lower() for task in tasks)
        self.files = frozenset(filter(None, tasks.files))
        self.file_count = len(tasks) - tasks.files.count("")
        # A table without a Type is judged by the names of the files (`04-phase-1-tests.md`).
        self.has_test = any("test" in (task.type or task.file).lower() for task in tasks)


class TaskRows:
    """Reads the rows of task tables.

    The pattern of ordinary rows is made once, for the columns of the largest table: a plan's tables nearly
    always have the same.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.columns = _columns(max(tables, key=lambda table: len(table.rows)))
        self.pattern = _ordinary_row(self.columns)

    def read(self, tables: Sequence[tuple[int, Table]], stage: str) -> StageRows:
        """The rows of a stage's tables, each with the number of lines between its stage and its section.

        A row that lacks something is a task too, and a problem.
        """
        tasks: list[Task] = []
        notes: list[Notes] = []
        number = 1
        # Types are a few words, repeated in row after row.
        types: dict[str, str] = {}
        for shift, table in tables:
            columns = _columns(table)
            pattern = self.pattern if columns == self.columns else None
            notes.append(Notes([], []))
            progress = notes[-1].progress
            for row in table.rows:
                match = pattern.fullmatch(row.text) if pattern else None
                if match:
                    name, digits, title, status, file, word = match.group(*_GROUPS)
                    if word not in types:
                        types[word] = strip_markup(word.strip())
                    line = row.line + shift
                    start, end = match.span("status")
                    progress.append(Span(row.line, start, row.line, end))
                    tasks.append(
                        Task(
                            name, digits, strip_markup(title.strip()), stage, _STATUSES[status], file,
                            types[word], RowPlace(line, *match.span("id")), RowPlace(line, start, end),
                            RowPlace(line, *match.span("file")),
                        )
                    )  # fmt: skip
                else:
                    parts = row.parts()
                    # A row of nothing but empty cells is a gap, not work.
                    if not any(map(str.strip, parts.texts)):
                        continue
                    cells = list(map(parts.cell, columns[1:]))
                    fallback = f"{stage}-row-{number}"
                    tasks.append(_task(row, len(parts.texts), cells, fallback, stage, shift, notes[-1]))
                number += 1
        return StageRows(StageTasks.after(tasks, None), notes)


def _task(
    row: Row, count: int, cells: Sequence[Cell | None], fallback: str, stage: str, shift: int, notes: Notes
) -> Task:
    """The task of a row that is not ordinary, read by its cells."""
    id_cell, file_cell, status_cell, title_cell, type_cell = cells
    file, file_span = file_in(file_cell, row) if file_cell else ("", None)
    name = text_of(id_cell)
    if not (id_cell and file_cell and status_cell) or count > row.columns:
        notes.add("task-unreadable", f"this row has {count} cells, its header {row.columns}", row.span)
    elif not name:
        notes.add("task-unreadable", "this row has no task id", id_cell.span, missing="id")
    elif not file:
        notes.add("task-unreadable", "this row names no file", file_cell.span, missing="file")
    mark = read_mark(status_cell, "the task counts as not done", notes) if status_cell else None
    if any(cell and "~~" in cell.text for cell in (id_cell, file_cell)):
        message = "this row is struck out, so its task counts as not done; remove the row or the strike"
        notes.add("marker-unknown", message, row.span)
        mark = mark and mark._replace(status=MarkStatus.UNKNOWN)
    base = file.rpartition("/")[2]
    # Reports use the digits that end the id, else those that the file begins with, else the id.
    digits = _TRAILING_DIGITS.search(name) or _DIGITS.match(base)
    return Task(
        id=name or base.removesuffix(".md") or fallback,
        number=(digits[0] if digits else name) or fallback,
        title=text_of(title_cell),
        stage=stage,
        status=mark.status if mark else MarkStatus.UNKNOWN,
        file=file,
        type=text_of(type_cell),
        place=_place(id_cell.span if id_cell and name else row.span, shift),
        mark=_place(mark.span, shift) if mark else None,
        file_place=_place(file_span, shift) if file_span else None,
    )


def _place(span: Span, shift: int) -> RowPlace:
    return RowPlace(span.line + shift, span.column, span.end_column)


def _columns(table: Table) -> tuple[int, ...]:
    """The number of columns, and the places of those of `_ORDINARY_CELLS` among them; -1 for one it lacks."""
    return len(table.header), *(table.columns.get(name, -1) for name in _ORDINARY_CELLS)


@lru_cache(maxsize=16)
def _ordinary_row(columns: Sequence[int]) -> re.Pattern[str] | None:
    """The pattern of ordinary rows of tables with such columns; None for too many of them."""
    width, *places = columns
    if width > _WIDEST:
        return None
    cells = dict(zip(places, _ORDINARY_CELLS.values(), strict=True))
    row = r"\|".join(cells.get(index, _ANY) for index in range(width))
    optional = zip(("title", "type"), places[3:], strict=True)
    absent = "".join(f"(?P<{group}>)" for group, place in optional if place < 0)
    return re.compile(rf"[ \t]*+\|{row}\|[ \t]*+{absent}")
