"""What a further stage adds to a MASTER_PLAN.md: its tasks, their table, and the lines of the other places.

All of it is shaped like the last of its kind in the plan: columns, spacing, marks in backticks or links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...markdown.document import Heading, MarkdownDocument
from ...markdown.inline_text import name_of, strip_markup
from ...markdown.line_edits import Insertion
from ...markdown.tables import Row, Table, tables
from ..model import Plan
from .rows import PHASE, TASK_COLUMNS, columns_of, file_in

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
    stage = _next_stage(plan)
    given = [
        (
            one_line(task.get("title"), f"task {index}"),
            str(task.get("type") or "impl"),
            task.get("description"),
        )
        for index, task in enumerate(tasks, 1)
    ]
    if not given or "test" not in given[-1][1].lower():
        given.append((f"Phase {stage} tests", "test", None))
    prefix, width, following = _numbering(plan)
    folder = "".join(plan.tasks[-1].file.rpartition("/")[:2]) if plan.tasks else ""
    made = []
    for number, (title, type_, description) in enumerate(given, following):
        digits = f"{number:0{width}}"
        file = f"{folder}{digits}-{_slug(title)}.md"
        text = " ".join(str(description or title).split())
        made.append(NewTask(prefix + digits, digits, file, title, type_, stage, text))
    return made


def _next_stage(plan: Plan) -> str:
    numbers = [int(match[0]) for stage in plan.stages if (match := _LEADING.match(stage.id))]
    return str(max(numbers, default=len(plan.stages)) + 1)


def _numbering(plan: Plan) -> tuple[str, int, int]:
    """What stands before the number of an id, how many digits that has, and the next one."""
    prefix, width = f"{_slug(plan.title)}-", 2
    numbers = []
    for task in plan.tasks:
        in_id, in_file = _TRAILING.search(task.id), _LEADING.match(task.file.rpartition("/")[2])
        numbers += [int(match[0]) for match in (in_id, in_file) if match]
        if in_id:
            prefix, width = task.id[: in_id.start()], len(in_id[0])
    return prefix, width, max(numbers, default=len(plan.tasks)) + 1


def _slug(title: str) -> str:
    return _NOT_IN_NAMES.sub("-", title.lower()).strip("-")[:_NAME_LENGTH].rstrip("-") or "task"


# --- rows


class _Model(NamedTuple):
    """The row that new ones are shaped after; `row` is the header where the table has no full row."""

    table: Table
    row: Row
    texts: Sequence[str]
    widths: Sequence[int]
    start: int

    @property
    def is_header(self) -> bool:
        return self.row.line == self.table.header[0].line


def _model(document: MarkdownDocument, table: Table, last: int | None = None) -> _Model:
    """The last full row of a table, or the last up to a line."""
    line = table.header[0].line
    header = Row(line, document.lines[line], len(table.header))
    titles = header.parts()
    rows = reversed([row for row in table.rows if last is None or row.line <= last])
    row = next((row for row in rows if len(row.parts().texts) == len(table.header)), header)
    parts = row.parts()
    return _Model(table, row, parts.texts, [len(text) for text in titles.texts], parts.start)


def _row(model: _Model, cells: Sequence[str]) -> str:
    text = model.row.text
    end = model.start + sum(map(len, model.texts)) + len(model.texts) - 1
    # A row without its first bar could begin like a list.
    frame = text[: model.start] or "| "
    shaped = map(_shaped, cells, model.texts, model.widths)
    return f"{frame}{'|'.join(shaped)}{text[end:]}"


def _shaped(value: str, old: str, width: int) -> str:
    """A cell's value with the blanks of an old one; in a column that is padded, as wide as that."""
    value = value.replace("|", "\\|")
    if value.endswith("\\"):
        value += " "
    left, right = (blank if blank.isspace() else "" for blank in (old[:1], old[-1:]))
    return f"{left}{value}{right}".ljust(width if len(old) == width else 0)


def _dressed(raw: str, old: str, new: str, otherwise: str) -> str:
    dress = raw.replace(old, "\0") if old else ""
    return dress.replace("\0", new) if dress in _DRESSES else otherwise


def _box(raw: str) -> str:
    match = _BOX.fullmatch(raw)
    return f"{match[1]}[ ]{match[2]}" if match else "[ ]"


def _task_rows(document: MarkdownDocument, table: Table, new: Sequence[NewTask]) -> list[str]:
    model = _model(document, table)
    names = [name_of(cell.text) for cell in table.header]
    cells = model.row.cells()
    raws = {name: cell.text for name, cell in zip(names, cells, strict=True)}
    file = "" if model.is_header else file_in(cells[names.index("file")], model.row)[0]
    tests = _test_type(table, names.index("type") if "type" in names else -1)
    orders = [raws[name] for name in _ORDERS if name in raws]
    first = int(orders[0]) + 1 if orders and _LEADING.fullmatch(orders[0]) else int(new[0].number)
    rows = []
    for order, task in enumerate(new, first):
        values = {
            "task id": _dressed(raws["task id"], strip_markup(raws["task id"]), task.id, task.id),
            "file": _dressed(raws["file"], file, task.file, f"`{task.file}`"),
            "status": _box(raws["status"]),
            "type": tests if task.is_test else task.type,
            **dict.fromkeys(_TITLES, task.description),
            **dict.fromkeys(_ORDERS, str(order)),
        }
        rows.append(_row(model, [values.get(name, "-") for name in names]))
    return rows


def _test_type(table: Table, column: int) -> str:
    """How the last test task of a table is marked as one."""
    types = (row.parts().cell(column) for row in reversed(table.rows))
    return next((cell.text for cell in types if cell and "test" in cell.text.lower()), "**test**")


# --- places


def added_stage(document: MarkdownDocument, plan: Plan, title: str, new: Sequence[NewTask]) -> Insertion:
    """The new stage's heading and table, behind the body of the last stage."""
    last = next((heading for heading in document.headings if heading.span == plan.stages[-1].span), None)
    position = _behind(document, plan, last)
    owned = [table for table in tables(document) if columns_of(table).keys() >= TASK_COLUMNS]
    table = next((table for table in reversed(owned) if table.rows), owned[-1])
    line = table.header[0].line
    body = [
        f"{'#' * max(last.level if last else 2, 2)} {title}",
        "",
        *document.lines[line : line + 2],
        *_task_rows(document, table, new),
    ]
    ruled = _rule_above(document, last.span.line if last else 0)
    above = [""] if document.lines[position - 1].strip() else []
    if position < len(document.lines):
        return Insertion(position, [*above, *body, "", *(("---", "") if ruled else ())])
    if not document.lines[-1]:
        above = [""] if document.lines[-2].strip() else []
    return Insertion(position, [*above, *(("---", "") if ruled else ()), *body])


def _behind(document: MarkdownDocument, plan: Plan, last: Heading | None) -> int:
    """The line above which a stage behind the last one begins."""
    if last and last.level > 1:
        return last.end
    # The document's own title is no bound for a table below it.
    stage = plan.stages[-1]
    line = max((task.span.line for task in stage.tasks), default=stage.span.line)
    below = (heading.span.line for heading in document.headings if heading.span.line > line)
    return next(below, len(document.lines))


def _rule_above(document: MarkdownDocument, line: int) -> bool:
    """Whether a rule is the last thing above a line."""
    above = next((text for text in reversed(document.lines[:line]) if text.strip()), "")
    return _RULE.fullmatch(above) is not None


def added_summary_row(
    document: MarkdownDocument, plan: Plan, title: str, new: Sequence[NewTask]
) -> Iterator[Insertion]:
    """The new stage's row behind the last stage's in the Progress Summary, where there is one."""
    last = max((stage.summary.span.line for stage in plan.stages if stage.summary), default=-1)
    for table in tables(document):
        if table.span.line < last <= table.span.end_line:
            model = _model(document, table, last)
            names = [name_of(cell.text) for cell in table.header]
            raws = {name: cell.text for name, cell in zip(names, model.row.cells(), strict=True)}
            values = {
                "phase": _phase_like(strip_markup(raws["phase"]), new[0].stage, title),
                "status": _box(raws["status"]),
                "tasks": str(len(new)),
            }
            yield Insertion(last + 1, [_row(model, [values.get(name, "-") for name in names])])


def _phase_like(old: str, stage: str, title: str) -> str:
    if old.isdecimal():
        return stage
    return f"Phase {stage}: {title}" if PHASE.match(old) else title


def added_entries(document: MarkdownDocument, plan: Plan, new: Sequence[NewTask]) -> Iterator[Insertion]:
    """The new tasks' lines behind the last one of the Quick Reference, where there is one."""
    listed = [(task.reference.span, task) for task in plan.tasks if task.reference]
    if not listed:
        return
    (line, column, _, _), task = max(listed, key=lambda found: found[0])
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
        shown = added.number if name.lower() == task.number.lower() else added.id
        entry = f"{label}{shown}{gap}{added.title}"
        entries.append(f"{entry.ljust(column - 2)}  [ ]")
    yield Insertion(line + 1, entries)
