"""Text of a further stage of a MASTER_PLAN.md: its tasks, their table, and the lines of the other places.

All of it is shaped like the last of its kind in the plan: columns, spacing, marks in backticks or links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...markdown.document import MarkdownDocument
from ...markdown.inline_text import name_of, strip_markup
from ...markdown.line_edits import Insertion
from ...markdown.tables import Row, Table, tables
from ..model import Plan
from .rows import PHASE, TASK_COLUMNS, file_in

_LEADING = re.compile(r"\d{1,9}(?!\d)")
_TRAILING = re.compile(r"(?<!\d)\d{1,9}$")
_NOT_IN_NAMES = re.compile(r"[\W_]+")
_NAME_LENGTH = 60
_BOX = re.compile(r"([`*_]*)\[.\]([`*_]*)")
_ENTRY = re.compile(r"([ \t]*)(?:(\d{1,9})([.)][ \t]+)|([-*+][ \t]+))?(\S+)[ \t]+")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}")
# How a cell may dress an id or a file's name, which stands for "\0"; no other dress is copied.
_DRESSES = frozenset(("\0", "./\0", "`\0`", "**\0**", "[\0](\0)", "[\0](./\0)", "[`\0`](\0)", "[`\0`](./\0)"))
_TITLES = frozenset(("description", "title", "task", "name"))
_ORDERS = ("order", "#", "no", "no.")


class NewTask(NamedTuple):
    """A task to be added; `file` is as the plan names it, `stage` the id of the new stage."""

    id: str
    number: str
    file: str
    title: str
    type: str
    stage: str
    description: str

    @property
    def is_test(self) -> bool:
        return "test" in self.type.lower()


def one_line(title: object, whose: str) -> str:
    """A title in one line, single blanks. Raises ValueError when nothing is left."""
    words = " ".join(str(title or "").split())
    if not words:
        raise ValueError(f"{whose} has no title")
    return words


def plan_tasks(plan: Plan, tasks: Sequence[Mapping[str, object]]) -> list[NewTask]:
    """The tasks with the ids, numbers and files that go on from the plan's; the last one is a test task."""
    stages = [int(match[0]) for stage in plan.stages if (match := _LEADING.match(stage.id))]
    stage = str(max(stages, default=len(plan.stages)) + 1)
    if not tasks or "test" not in str(tasks[-1].get("type")).lower():
        tasks = [*tasks, {"title": f"Phase {stage} tests", "type": "test"}]
    # Ids go on in the prefix and the width of the last numbered one, behind every number of an id or a file.
    prefix, width = f"{_slug(plan.title)}-", 2
    numbers: list[int] = []
    for task in plan.tasks:
        in_id, in_file = _TRAILING.search(task.id), _LEADING.match(task.file.rpartition("/")[2])
        numbers += [int(match[0]) for match in (in_id, in_file) if match]
        if in_id:
            prefix, width = task.id[: in_id.start()], len(in_id[0])
    folder = "".join(plan.tasks[-1].file.rpartition("/")[:2]) if plan.tasks else ""
    first = max(numbers, default=len(plan.tasks)) + 1
    new = []
    for index, task in enumerate(tasks):
        title = one_line(task.get("title"), f"task {index + 1}")
        digits = f"{first + index:0{width}}"
        file, type_ = f"{folder}{digits}-{_slug(title)}.md", str(task.get("type") or "impl")
        text = " ".join(str(task.get("description") or title).split())
        new.append(NewTask(prefix + digits, digits, file, title, type_, stage, text))
    return new


def _slug(title: str) -> str:
    return _NOT_IN_NAMES.sub("-", title.lower()).strip("-")[:_NAME_LENGTH].rstrip("-") or "task"


# --- rows


class _RowTemplate:
    """The last full row of a table, or the last up to a line; its header where there is none.

    New rows are shaped after it. `raws` has its cells by the name of their column.
    """

    def __init__(self, document: MarkdownDocument, table: Table, last: int | None = None) -> None:
        line = table.header[0].line
        header = Row(line, document.lines[line], len(table.header))
        rows = (row for row in reversed(table.rows) if last is None or row.line <= last)
        self.row = next((row for row in rows if len(row.parts().texts) == len(table.header)), header)
        self.is_header = self.row is header
        self.widths = [len(text) for text in header.parts().texts]
        self.names = [name_of(cell.text) for cell in table.header]
        self.raws = {name: cell.text for name, cell in zip(self.names, self.row.cells(), strict=True)}

    def fill(self, values: Mapping[str, str]) -> str:
        """A row with values by the name of their column, "-" where there is none.

        Each value has the blanks of the old one; in a column that is padded, it is as wide as that.
        """
        _, start, texts = self.row.parts()
        cells = []
        for name, old, width in zip(self.names, texts, self.widths, strict=True):
            value = values.get(name, "-").replace("|", "\\|")
            if value.endswith("\\"):
                value += " "
            left, right = (blank if blank.isspace() else "" for blank in (old[:1], old[-1:]))
            cells.append(f"{left}{value}{right}".ljust(width if len(old) == width else 0))
        end = start + len("|".join(texts))
        # A row without its first bar could begin like a list.
        frame = self.row.text[:start] or "| "
        return f"{frame}{'|'.join(cells)}{self.row.text[end:]}"

    def box(self) -> str:
        """An empty box, dressed as the one of the row."""
        match = _BOX.fullmatch(self.raws["status"])
        return f"{match[1]}[ ]{match[2]}" if match else "[ ]"


def _in_dress_of(raw: str, old: str, new: str, otherwise: str) -> str:
    dress = raw.replace(old, "\0") if old else ""
    return dress.replace("\0", new) if dress in _DRESSES else otherwise


def _task_rows(document: MarkdownDocument, table: Table, new: Sequence[NewTask]) -> Iterator[str]:
    template = _RowTemplate(document, table)
    names, raws = template.names, template.raws
    file = "" if template.is_header else file_in(template.row.cells()[names.index("file")], template.row)[0]
    column = names.index("type") if "type" in names else -1
    types = (row.parts().cell(column) for row in reversed(table.rows))
    test_type = next((cell.text for cell in types if cell and "test" in cell.text.lower()), "**test**")
    orders = [raws[name] for name in _ORDERS if name in raws]
    first = int(orders[0]) + 1 if orders and _LEADING.fullmatch(orders[0]) else int(new[0].number)
    for order, task in enumerate(new, first):
        yield template.fill(
            {
                "task id": _in_dress_of(raws["task id"], strip_markup(raws["task id"]), task.id, task.id),
                "file": _in_dress_of(raws["file"], file, task.file, f"`{task.file}`"),
                "status": template.box(),
                "type": test_type if task.is_test else task.type,
                **dict.fromkeys(_TITLES, task.description),
                **dict.fromkeys(_ORDERS, str(order)),
            }
        )


# --- places


def added_stage(document: MarkdownDocument, plan: Plan, title: str, new: Sequence[NewTask]) -> Insertion:
    """The new stage's heading and table, behind the body of the last stage."""
    stage, lines = plan.stages[-1], document.lines
    last = next((heading for heading in document.headings if heading.span == stage.span), None)
    if last and last.level > 1:
        position = last.end
    else:
        # The document's own title is no bound for a table below it.
        line = max((plan.span(task).line for task in stage.tasks), default=stage.span.line)
        below = (heading.span.line for heading in document.headings if heading.span.line > line)
        position = next(below, len(lines))
    task_tables = [table for table in tables(document) if table.columns.keys() >= TASK_COLUMNS]
    table = next((table for table in reversed(task_tables) if table.rows), task_tables[-1])
    line = table.header[0].line
    body = [
        f"{'#' * max(last.level if last else 2, 2)} {title}",
        "",
        *lines[line : line + 2],
        *_task_rows(document, table, new),
    ]
    # Stages that are parted by rules have one above the last heading.
    before = (text for text in reversed(lines[: last.span.line if last else 0]) if text.strip())
    rule = ["---", ""] if _RULE.fullmatch(next(before, "")) else []
    if position < len(lines):
        above = [""] if lines[position - 1].strip() else []
        return Insertion(position, [*above, *body, "", *rule])
    above = [""] if lines[-1 if lines[-1] else -2].strip() else []
    return Insertion(position, [*above, *rule, *body])


def added_summary_row(
    document: MarkdownDocument, plan: Plan, title: str, new: Sequence[NewTask]
) -> Iterator[Insertion]:
    """The new stage's row behind the last stage's in the Progress Summary, where there is one."""
    last = max((stage.summary.span.line for stage in plan.stages if stage.summary), default=-1)
    for table in tables(document):
        if table.span.line < last <= table.span.end_line:
            template = _RowTemplate(document, table, last)
            stage, phase = new[0].stage, strip_markup(template.raws["phase"])
            numbered = f"Phase {stage}: {title}" if PHASE.match(phase) else title
            values = {
                "phase": stage if phase.isdecimal() else numbered,
                "status": template.box(),
                "tasks": str(len(new)),
            }
            yield Insertion(last + 1, [template.fill(values)])


def added_entries(document: MarkdownDocument, plan: Plan, new: Sequence[NewTask]) -> Iterator[Insertion]:
    """The new tasks' lines behind the last one of the Quick Reference, where there is one."""
    listed = [(mark.span, task) for task in plan.tasks if (mark := plan.reference(task))]
    if not listed:
        return
    (line, column, _, _), task = max(listed, key=lambda place: place[0])
    match = _ENTRY.match(document.lines[line])
    assert match is not None, "a line with a reference reads like an entry"
    indent, digits, dot, bullet, name = match.groups()
    gap = document.lines[line][match.end(5) : match.end()]
    entries = []
    for index, added in enumerate(new, 1):
        label = indent + (bullet or "")
        if digits:
            order = str(int(digits) + index)
            label = indent[: max(0, len(indent) + len(digits) - len(order))] + order + dot
        task_name = added.number if name.lower() == task.number.lower() else added.id
        entry = f"{label}{task_name}{gap}{added.title}"
        entries.append(f"{entry.ljust(column - 2)}  [ ]")
    yield Insertion(line + 1, entries)
