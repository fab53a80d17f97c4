"""Reads a checklist as a plan: its items are tasks, the headings above them stages. Nothing is left out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from ...findings import Problem, Severity, Span
from ...markdown.checklist import (
    BOXES,
    Checklist,
    ChecklistItem,
    ItemForm,
    checklist_items,
    item_at,
    read_checklist,
)
from ...markdown.document import Heading
from ...markdown.document import read as read_markdown
from ...vfs.files import digest_of
from ..model import MarkStatus, Plan, RowPlace, Stage, StageTasks, Task
from ..numbering import FreeIds
from .grammar import ChecklistGrammar, ChecklistRow

_T = TypeVar("_T")
_EMPHASIS = re.compile(r"[*_~`\s]+")
_WORDS = re.compile(r"[^\W_]+")
_BEFORE_BOX = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])?")
_LONGEST_ID, _WORDS_OF_ID = 48, 6
_LINE_ABOVE = re.compile(r"[ \t]*(?:[-=_*][ \t]*){3,}")


class ReadChecklist(NamedTuple):
    """A list as its convention reads it; `stages` are those of `_stage_headings`, by headings of items."""

    listed: Checklist
    rows: tuple[ChecklistRow, ...]
    stages: Mapping[int, tuple[str, int]]

    def problems(self, grammar: ChecklistGrammar) -> Iterator[Problem]:
        """What is wrong with the text, and with each row by itself."""
        yield from _document_problems(self.listed)
        for row in self.rows:
            yield from _row_problems(row, self.listed.document.lines[row.item.line], grammar)


def read_rows(text: str, grammar: ChecklistGrammar) -> ReadChecklist:
    """All that looks like a task in a text; never raises."""
    listed = read_checklist(text)
    items = _task_items(listed, grammar)
    if not items:
        return ReadChecklist(listed, (), {})
    stages = _stage_headings(listed, items, grammar)
    return ReadChecklist(listed, tuple(_rows(listed, items, stages, grammar)), stages)


def has_tasks(text: str, grammar: ChecklistGrammar) -> bool:
    """True if something in a text is a task."""
    document = read_markdown(text, rescue=True)
    is_boxed = any(map(_is_boxed, checklist_items(document)))
    return is_boxed or bool(_task_items(Checklist(document, (*checklist_items(document),)), grammar))


class _Memory(NamedTuple):
    """What a plan keeps to read the next text by: the list, and what was made of each row."""

    read: ReadChecklist
    problems: Sequence[tuple[Problem, ...]]
    tasks: Sequence[Task]


_READ = "read"


def read_plan(text: str, grammar: ChecklistGrammar, before: Plan | None = None) -> Plan | None:
    """The plan in a text; None where nothing in it looks like a task.

    With a plan that was read `before` from a text in which marks alone differ, all else is taken over.
    """
    last: _Memory | None = before.memory.get(_READ) if before else None
    again = rows_again(text, grammar, last.read) if last else None
    read = again or read_rows(text, grammar)
    listed, rows, headings = read
    if not rows:
        return None
    lines, spans = listed.document.lines, _stage_spans(listed, headings)
    known = last.read.rows if last else ()
    own = _made_of(
        rows,
        known,
        last.problems if last else (),
        lambda row: (*_row_problems(row, lines[row.item.line], grammar),),
    )
    tasks = _made_of(rows, known, last.tasks if last else (), lambda row: _task(row, spans[row.stage].line))
    problems = [
        *_document_problems(listed), *chain.from_iterable(own), *_duplicates(rows),
        *grammar.problems(listed, rows),
    ]  # fmt: skip
    title = next((each.text for each in listed.document.headings if each.level == 1), "")
    return Plan(
        title=title.removeprefix(grammar.title_label).lstrip(),
        status="",
        stages=tuple(_stages(listed, tasks, headings, before)),
        substance=before.substance if before and again else _substance(listed, [row.item for row in rows]),
        problems=tuple(sorted(problems, key=lambda each: each.span or Span(0, 0, 0, 0))),
        details=grammar.details(listed, rows),
        memory={_READ: _Memory(read, own, tasks)},
    )


def _made_of(
    rows: Sequence[ChecklistRow],
    before: Sequence[ChecklistRow],
    known: Sequence[_T],
    make: Callable[[ChecklistRow], _T],
) -> Sequence[_T]:
    """What is made of each row; of one that is the same as `before` what is `known`."""
    if len(rows) != len(before):
        return [*map(make, rows)]
    return [same if row is old else make(row) for row, old, same in zip(rows, before, known, strict=True)]


# ---- marks


def rows_again(text: str, grammar: ChecklistGrammar, before: ReadChecklist) -> ReadChecklist | None:
    """What `read_rows` gives, by what it gave for another text; None unless marks alone differ in them."""
    document, old = read_markdown(text, rescue=True), before.listed.document
    if replace(document, lines=old.lines) != old:
        return None
    pairs = enumerate(zip(old.lines, document.lines, strict=True))
    changed = [number for number, (one, other) in pairs if one != other]
    items, rows = [*before.listed.items], [*before.rows]
    for number in changed:
        at = bisect_left(items, number, key=lambda item: item.line)
        place = bisect_left(rows, number, key=lambda row: row.item.line)
        if place == len(rows) or rows[place].item.line != number:
            return None
        item, row = item_at(document, number, items[at].heading), rows[place]
        if item is None or not _is_marked_otherwise(
            item, row.item, document.lines[number], old.lines[number]
        ):
            return None
        items[at] = item
        rows[place] = row._replace(item=item, status=grammar.status_of(item.mark, item.text))
    return ReadChecklist(Checklist(document, tuple(items)), tuple(rows), before.stages)


def _is_marked_otherwise(item: ChecklistItem, old: ChecklistItem, line: str, old_line: str) -> bool:
    """True if two items with boxes, and their lines, differ in what their boxes hold and in nothing else."""
    return (
        _is_boxed(item)
        and _is_boxed(old)
        and item._replace(mark=old.mark, box=old.box) == old
        and line[: item.box.column] == old_line[: old.box.column]
        and line[item.box.end_column :] == old_line[old.box.end_column :]
    )


def _task_items(listed: Checklist, grammar: ChecklistGrammar) -> list[ChecklistItem]:
    """The items that are tasks: all with a box, and lines with an emoji that name a task of their own.

    A sentence with an emoji before it names none, and a summary names those that have boxes.
    """

    def task_id(item: ChecklistItem) -> str:
        if item.form is ItemForm.CELL:
            return _cell_id(item)
        match = grammar.task_id.match(item.text)
        return match[1] if match else ""

    boxed = {task_id(item) for item in listed.items if _is_boxed(item)}

    def is_task(item: ChecklistItem) -> bool:
        name = task_id(item)
        if item.form is ItemForm.CELL and boxed and not (name[:1].isalpha() and grammar.task_id.match(name)):
            # Beside boxes, numbers in a table are those of requirements.
            return False
        return bool(name) and name not in boxed

    return [item for item in listed.items if _is_boxed(item) or is_task(item)]


def _cell_id(item: ChecklistItem) -> str:
    """The id of a table's row: its first cell, however the convention writes ids elsewhere."""
    return item.text.partition(" ")[0].strip("*`")


def _is_boxed(item: ChecklistItem) -> bool:
    """True if an item is a task whatever it says; a row of a table may sum up what has boxes elsewhere."""
    return item.form in (ItemForm.BOX, ItemForm.LOOSE) or (
        item.form is ItemForm.SYMBOL and item.mark in BOXES
    )


# ---- stages


def _stage_headings(
    listed: Checklist, items: Sequence[ChecklistItem], grammar: ChecklistGrammar
) -> Mapping[int, tuple[str, int]]:
    """Heading of an item -> (the id of its stage, the heading that the stage begins with), in order.

    A stage is the next heading above that is numbered as the convention does, else the outermost one below
    the title. Headings of one number are one stage.
    """
    headings = listed.document.headings
    by_heading: dict[int, tuple[str, int]] = {}
    taken: dict[str, int] = {}
    for index in dict.fromkeys(item.heading for item in items):
        above = list(_ancestors(headings, index))
        numbered = next((each for each in above if grammar.stage_id.match(headings[each].text)), None)
        if numbered is None:
            below_title = [each for each in above if headings[each].level > 1]
            own = (below_title or above or [-1])[-1]
            name = _slug(headings[own].text) if own >= 0 else "tasks"
        else:
            own = numbered
            match = grammar.stage_id.match(headings[own].text)
            name = match[1] if match else ""
        first = taken.setdefault(name, own)
        same = first == own or (numbered is not None and first >= 0)
        if not same:
            number = next(n for n in range(2, len(items) + 3) if taken.setdefault(f"{name}-{n}", own) == own)
            name, first = f"{name}-{number}", own
        by_heading[index] = name, first
    return by_heading


def _ancestors(headings: Sequence[Heading], index: int) -> Iterator[int]:
    """A heading and those that it is below, the innermost first."""
    level = 7
    while index >= 0:
        if headings[index].level < level:
            level = headings[index].level
            yield index
        index -= 1


def _stage_spans(listed: Checklist, headings: Mapping[int, tuple[str, int]]) -> Mapping[str, Span]:
    """The span of each stage: its heading's, which is that of the first of them, so that no row of it stands
    above it; the first line where it has none."""
    heads, above = listed.document.headings, Span(0, 0, 0, len(listed.document.lines[0]))
    return {name: heads[own].span if own >= 0 else above for name, own in dict.fromkeys(headings.values())}


def _stages(
    listed: Checklist, tasks: Iterable[Task], headings: Mapping[int, tuple[str, int]], before: Plan | None
) -> Iterator[Stage]:
    heads, spans = listed.document.headings, _stage_spans(listed, headings)
    grouped: dict[str, list[Task]] = {}
    for task in tasks:
        grouped.setdefault(task.stage, []).append(task)
    known = {stage.id: stage.tasks for stage in before.stages} if before else {}
    for name, own in dict.fromkeys(headings.values()):
        title = heads[own].text if own >= 0 else "Tasks"
        yield Stage(name, title, spans[name], StageTasks.after(grouped[name], known.get(name)))


def _task(row: ChecklistRow, above: int) -> Task:
    def place(span: Span) -> RowPlace:
        return RowPlace(span.line - above, span.column, span.end_column)

    item = row.item
    return Task(
        row.id, row.id, row.words or row.id, row.stage, row.status, "", "",
        place(row.place), place(item.box), optional=item.optional,
    )  # fmt: skip


# ---- rows


def _rows(
    listed: Checklist,
    items: Sequence[ChecklistItem],
    stages: Mapping[int, tuple[str, int]],
    grammar: ChecklistGrammar,
) -> Iterator[ChecklistRow]:
    lines, heads = listed.document.lines, {each.span.line for each in listed.document.headings}
    taken = {match[1] for item in items if (match := grammar.task_id.match(item.text))}
    ends = [*(item.line for item in items[1:]), len(lines)]
    for item, end in zip(items, ends, strict=True):
        match = grammar.task_id.match(item.text)
        words = item.text[match.end() :] if match else item.text
        status = grammar.status_of(item.mark, item.text)
        if item.form is ItemForm.CELL:
            span = Span(item.line, item.column, item.line, item.end)
            name, words = _cell_id(item), item.text.partition(" ")[2]
        elif match:
            span = Span(item.line, item.column + match.start(1), item.line, item.column + match.end(1))
            name = match[1]
        else:
            span, name = None, _free_slug(words, taken)
        notes = []
        for number in range(item.line + 1, end):
            if number in heads or _LINE_ABOVE.fullmatch(lines[number]):
                break
            if lines[number].strip():
                notes.append((number, lines[number]))
        title = _EMPHASIS.sub(" ", words).strip(" :.-–—")
        yield ChecklistRow(item, name, span, title, status, stages[item.heading][0], tuple(notes), {})


def _slug(text: str) -> str:
    words = _WORDS.findall(text.lower())[:_WORDS_OF_ID]
    return "-".join(words)[:_LONGEST_ID].strip("-") or "untitled"


def _free_slug(text: str, taken: set[str]) -> str:
    """An id made of words that no other item has; the number behind it tells equal ones apart."""
    name = base = _slug(text)
    number = 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def _substance(listed: Checklist, items: Sequence[ChecklistItem]) -> str:
    lines = list(listed.document.lines)
    for box in (item.box for item in items):
        lines[box.line] = f"{lines[box.line][: box.column]}[]{lines[box.line][box.end_column :]}"
    return digest_of("\n".join(line.rstrip() for line in lines))


# ---- problems


def _document_problems(listed: Checklist) -> Iterator[Problem]:
    document = listed.document
    if document.unclosed is not None:
        message = "this is never closed; the items below it are read anyway"
        yield Problem("artifact-unreadable", message, document.unclosed, Severity.WARNING)
    if document.conflict is not None:
        message = "a merge left its marks here; both sides are read"
        yield Problem("artifact-unreadable", message, document.conflict)


def _row_problems(row: ChecklistRow, line: str, grammar: ChecklistGrammar) -> Iterator[Problem]:
    item, status = row.item, row.status
    if status is MarkStatus.UNKNOWN:
        message = f"{row.id}: [{item.mark}] is no mark of {grammar.tool}; the task counts as not done"
        yield Problem("marker-unknown", message, item.box)
    if sight := grammar.sight(line, status) if status is not MarkStatus.UNKNOWN else "":
        message = (
            f"{row.id} is read as a task that is {status.value.replace('_', ' ')}; {grammar.tool} {sight}"
        )
        proper = _as_box(item, line, grammar.written.get(status))
        is_seen = proper and (item.form is not ItemForm.BOX or not grammar.sight(proper, status))
        yield Problem("task-malformed", message, item.box, data={"row": proper} if is_seen else {})


def _as_box(item: ChecklistItem, line: str, mark: str | None) -> str:
    """The line of an item with a box as every tool reads it; "" where that would say something else."""
    if item.form is ItemForm.CELL or mark is None:
        return ""
    before = _BEFORE_BOX.match(line)
    indent, bullet = before.groups() if before else ("", "")
    if item.form is ItemForm.BOX:
        # Not every tool takes every bullet.
        bullet = "-"
    return f"{indent}{bullet or '-'} [{mark}]{'*' if item.optional else ''} {item.text}"


def _duplicates(rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    """Rows with an id that another one has; its twin may be a line that was ticked in a copy."""
    if len({row.id for row in rows}) == len(rows):
        return
    first: dict[str, ChecklistRow] = {}
    ids = FreeIds([row.id for row in rows])
    for row in rows:
        same = first.setdefault(row.id, row)
        if same is not row:
            differ = (
                "" if same.done == row.done else "; one is ticked and one is not, so it counts as not done"
            )
            free = ids.behind(row.id) if row.item.form is not ItemForm.CELL else ""
            data: dict[str, Any] = {}
            if free and row.id_span:
                data["replacements"] = ((f"Give this task the next free id, {free}", free),)
            if row.words == same.words and not row.notes:
                data |= {"replacements": data.get("replacements", ()), "row": ""}
            message = f"{row.id} stands in line {same.item.line + 1} already{differ}"
            yield Problem("duplicate-task", message, row.place, data=data)
