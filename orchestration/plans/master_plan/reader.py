"""Reads a MASTER_PLAN.md (reference: workflows, seed 004, "Facts"); its task files: `task_file.py`.

The task rows are the record of progress. Other places repeat it (`progress.py`); where one disagrees, that is
a finding at its mark. Acceptance checkboxes of task files and the plan's Exit Criteria are never progress:
real plans leave the former unticked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...findings import Severity, Span
from ...markdown import document as markdown
from ...markdown.document import Heading, MarkdownDocument
from ...markdown.inline_text import strip_markup
from ...markdown.tables import tables
from ...vfs.files import digest_of
from ..model import Plan, Stage, Task
from .progress import header_status, progress_count, with_references, with_summaries
from .rows import PHASE, Notes, TaskRows, TitledTable, columns_of

_NOWHERE = Span(0, 0, 0, 0)
_EFFORT = re.compile(r"(?i)\([ \t]*(?:~?\d|[sml]\b|xl\b)[^()]*\)$")
_NUMBERED = re.compile(
    r"(?i)(?:(?:stage|part|step|milestone|sprint)[ \t]+)?(\d+(?:\.\d+)*)[.:)]?[ \t]+(\S.*)"
)
_TITLE_TAIL = re.compile(r"(?i)(?<![ \t])[ \t]++[-–—:]++[ \t]++master plan\b.*$")


def read(text: str) -> Plan | None:
    """The plan in a MASTER_PLAN.md, or None without a task table; never raises.

    A task table is one whose header has Task ID, File and Status, in any order. A task's span is its id's,
    or its row's when it has none; a stage's is its heading's, or that of its table's first title. Problems
    are in the order of the text.
    """
    document = markdown.read(text, rescue=True)
    every = [TitledTable(table, columns_of(table)) for table in tables(document)]
    task_tables = [titled for titled in every if titled.has_tasks]
    if not task_tables:
        return None
    notes = Notes([], [])
    _note_damage(document, notes)
    fields = list(markdown.fields(document))
    rows = TaskRows(task_tables, notes)
    stages = [
        Stage(group.id, group.title, group.span, tuple(rows.tasks(group.tables, group.id)))
        for group in _groups(document, task_tables, notes)
    ]
    stages = with_summaries(document, every, stages, notes)
    stages = with_references(document, stages, notes)
    _check_names(stages, notes)
    _check_stages(stages, notes)
    status = header_status(document, fields, stages, notes)
    count = progress_count(fields, stages, notes)
    # Ticking an exit criterion is no change of substance either.
    notes.progress.extend(box.span for box in markdown.checkboxes(document))
    problems = sorted(notes.problems, key=lambda problem: problem.span or _NOWHERE)
    substance = digest_of(_without(document.lines, notes.progress))
    return Plan(_title(document), status, tuple(stages), substance, count, tuple(problems))


def _note_damage(document: MarkdownDocument, notes: Notes) -> None:
    if document.unclosed is not None:
        message = "opened here and never closed; what follows is read as if it were not there"
        notes.add("artifact-unreadable", message, document.unclosed, Severity.WARNING)
    if document.conflict is not None:
        message = "an unresolved merge; the rows of both sides are read"
        notes.add("artifact-unreadable", message, document.conflict)


# --- stages


class _Group(NamedTuple):
    """The task tables of one stage. `id` is "" until it is given the next number."""

    id: str
    title: str
    span: Span
    tables: list[TitledTable]


def _groups(document: MarkdownDocument, every: Sequence[TitledTable], notes: Notes) -> list[_Group]:
    """The stages in order: `## Phase N` headings, and any other heading that holds task tables.

    Tables under one heading, or under headings of one phase number, are one stage, so that a stage is
    never done while a task that names it is open.
    """
    groups: dict[str, _Group] = {}
    phases = {heading: phase for heading in document.headings if (phase := _phase(heading))}
    for heading, owned in _owners(document, every, phases):
        if heading is None:
            groups[""] = _Group("", "Tasks", owned[0].table.header[0].span, owned)
            continue
        phase = phases.get(heading)
        key = f"phase {phase.id.lower()}" if phase else f"line {heading.span.line}"
        if key not in groups:
            name = phase or _numbered(heading)
            groups[key] = _Group(name.id, name.title, heading.span, owned)
            continue
        if owned and groups[key].tables:
            message = f"a second heading for phase {groups[key].id}; its tasks count to the first"
            notes.add("duplicate-task", message, heading.span)
        groups[key].tables.extend(owned)
    return _with_ids(groups)


def _owners(
    document: MarkdownDocument, every: Sequence[TitledTable], phases: Mapping[Heading, _Name]
) -> Iterator[tuple[Heading | None, list[TitledTable]]]:
    """(heading, its task tables) of every heading that is a stage or holds such tables, in order.

    The `## Phase N` heading above a table owns it, else the outermost one of another level, else the
    nearest heading; a table above all headings has none.
    """
    owned: dict[Heading | None, list[TitledTable]] = {None: []}
    owned.update((heading, []) for heading in document.headings)
    path: list[Heading] = []
    number = 0
    for table in every:
        while number < len(document.headings) and document.headings[number].span.line < table.table.span.line:
            heading = document.headings[number]
            path = [*(above for above in path if above.level < heading.level), heading]
            number += 1
        above = sorted((heading for heading in path if heading in phases), key=lambda h: h.level != 2)
        owned[(above or path[-1:] or [None])[0]].append(table)
    for heading, its in owned.items():
        phase = phases.get(heading) if heading and heading.level == 2 else None
        if its or (phase and phase.sure):
            yield heading, its


class _Name(NamedTuple):
    """What a heading says of its stage; `sure` when nothing but a name can follow the number."""

    id: str
    title: str
    sure: bool = False


def _phase(heading: Heading) -> _Name | None:
    match = PHASE.match(strip_markup(heading.text))
    if match is None:
        return None
    title = _without_effort(match[2].lstrip(":.-–— \t"))
    return _Name(match[1], title or f"Phase {match[1]}", match[2][:1] in ("", *":.-–—("))


def _numbered(heading: Heading) -> _Name:
    text = _without_effort(strip_markup(heading.text))
    match = _NUMBERED.match(text)
    return _Name(match[1], match[2]) if match else _Name("", text)


def _without_effort(title: str) -> str:
    """The title alone: "Core" of "Core (8-10h)"; "API (public)" keeps its brackets."""
    return _EFFORT.sub("", title).rstrip()


def _with_ids(groups: dict[str, _Group]) -> list[_Group]:
    """Stages without a phase number keep their heading's own number if it is free, else get the next."""
    taken = {group.id for key, group in groups.items() if key.startswith("phase")}
    numbers = (group.id for group in groups.values() if group.id.isdecimal())
    following = max((int(number) for number in numbers if len(number) < 10), default=0)
    named: list[_Group] = []
    for key, group in groups.items():
        number = group.id
        if not key.startswith("phase"):
            if not number or number in taken:
                following += 1
                number = str(following)
            taken.add(number)
        named.append(group._replace(id=number))
    return named


# --- checks of the whole


def _check_names(stages: Sequence[Stage], notes: Notes) -> None:
    """Two rows with one id, or two rows that name one file; both stay, the later one is told."""
    ids: dict[str, Task] = {}
    files: dict[str, Task] = {}
    for task in (task for stage in stages for task in stage.tasks):
        first = ids.setdefault(task.id.lower(), task)
        owner = files.setdefault(task.file, task) if task.file else task
        if first is not task:
            message = f"{task.id} stands in line {first.span.line + 1} already"
            notes.add("duplicate-task", message, task.span)
        elif owner is not task:
            message = f"{owner.id} in line {owner.span.line + 1} names {task.file} already"
            notes.add("duplicate-task", message, task.file_span or task.span)


def _check_stages(stages: Sequence[Stage], notes: Notes) -> None:
    for stage in stages:
        if not stage.tasks:
            notes.add("plan-empty", f"phase {stage.id} has no tasks", stage.span)
        elif not any(_is_test(task) for task in stage.tasks):
            notes.add("test-task-missing", f"phase {stage.id} has no test task", stage.span)


def _is_test(task: Task) -> bool:
    """By its Type; a table without that column is judged by the file's name (`04-phase-1-tests.md`)."""
    return "test" in (task.type or task.file).lower()


def _title(document: MarkdownDocument) -> str:
    title = next((strip_markup(heading.text) for heading in document.headings if heading.level == 1), "")
    return _TITLE_TAIL.sub("", title)


def _without(lines: Sequence[str], spans: Sequence[Span]) -> str:
    """The text with LF and each span, all within one line, as one NUL."""
    kept = list(lines)
    # Nearly in the order of the text already, which a set would lose and the sort makes use of.
    for span in sorted(dict.fromkeys(spans), reverse=True):
        line = kept[span.line]
        kept[span.line] = f"{line[: span.column]}\0{line[span.end_column :]}"
    return "\n".join(kept)
