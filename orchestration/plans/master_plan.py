"""MASTER_PLAN.md and the task files of seed 004 (reference: workflows, seed 004, "Facts").

The task rows are the record of progress. Three other places repeat it (the Progress Summary table, the
Quick Reference list, the Progress line); where one disagrees, that is a finding at its mark. Acceptance
checkboxes of task files and the plan's Exit Criteria are never progress: real plans leave the former
unticked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from .. import markdown
from ..files import digest_of
from ..findings import Problem, Severity, Span
from ..markdown import Cell, Document, Field, Heading, Row, Table, plain
from . import MARKS, Count, Mark, Plan, Stage, Task, TaskFile

_KNOWN_MARKS = ", ".join(f"[{mark}]" for mark in MARKS)
_MARK_OF = {status: f"[{mark}]" for mark, status in reversed(list(MARKS.items()))}
_NOWHERE = Span(0, 0, 0, 0)

_MARK = re.compile(r"\[(.)\]")
_PHASE = re.compile(r"(?i)phase[ \t]+(\d+(?:\.\d+)*[a-z]?|[a-z]|[ivx]+)(?![\w.]*\w)[ \t]*(.*)")
_EFFORT = re.compile(r"(?i)\([ \t]*(?:~?\d|[sml]\b|xl\b)[^()]*\)$")
_NUMBERED = re.compile(
    r"(?i)(?:(?:stage|part|step|milestone|sprint)[ \t]+)?(\d+(?:\.\d+)*)[.:)]?[ \t]+(\S.*)"
)
_DIGITS = re.compile(r"\d+")
_TRAILING_DIGITS = re.compile(r"(?<!\d)\d+$")
_REFERENCE = re.compile(r"[ \t]*+(?:(?:\d+[.)]|[-*+])[ \t]++)?+(\S++)[ \t].*(\[[^\[\]]{0,3}\])")
_PROGRESS = re.compile(r"(\d{1,9})[ \t]*/[ \t]*(\d{1,9})(?!\d)")
_PERCENT = re.compile(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)[ \t]*%")
_RADIO = re.compile(r"\[(.?)\]([^|\[\]]*)")
_TITLE_TAIL = re.compile(r"(?i)[ \t]+[-–—:]+[ \t]+master plan\b.*$")
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\(<?([^()<>\s]*)>?[^()]*\)")
_NO_NAME = frozenset({"", "-", "–", "—", "n/a", "none", "tbd"})


class _Notes(NamedTuple):
    """What reading a plan adds up: problems, and the places that record progress."""

    problems: list[Problem]
    progress: list[Span]

    def add(self, code: str, message: str, span: Span, severity: Severity | None = None) -> None:
        self.problems.append(Problem(code, message, span, severity))


def read(text: str) -> Plan | None:
    """The plan in a MASTER_PLAN.md, or None without a task table; never raises.

    A task table is one whose header has Task ID, File and Status, in any order. A task's span is its
    id's, or its row's when it has none; a stage's is its heading's. Problems are in the order of the text.
    """
    document = markdown.read(text, rescue=True)
    tables = list(markdown.tables(document))
    if not any(_columns(table) for table in tables):
        return None
    notes = _Notes([], [])
    if document.unclosed is not None:
        message = "opened here and never closed; what follows is read as if it were not there"
        notes.add("artifact-unreadable", message, document.unclosed, Severity.WARNING)
    fields = list(markdown.fields(document))
    stages = [_stage(group, notes) for group in _groups(document, tables, notes)]
    stages = _with_summaries(document, tables, stages, notes)
    stages = _with_references(document, stages, notes)
    _check_names(stages, notes)
    _check_stages(stages, notes)
    status = _status(document, fields, stages, notes)
    count = _count(fields, stages, notes)
    # Ticking an exit criterion is no change of substance either.
    notes.progress.extend(box.span for box in markdown.checkboxes(document))
    problems = sorted(notes.problems, key=lambda problem: problem.span or _NOWHERE)
    substance = digest_of(_without(document.lines, notes.progress))
    return Plan(_title(document), status, tuple(stages), substance, count, tuple(problems))


# --- stages


class _Columns(NamedTuple):
    id: int
    file: int
    status: int
    title: int
    type: int


_Owned = list[tuple[Table, _Columns]]


class _Group(NamedTuple):
    """The task tables of one stage. `id` is "" until it is given the next number."""

    id: str
    title: str
    span: Span
    tables: _Owned


def _names(table: Table) -> dict[str, int]:
    """The columns of a table by their titles in lower case; the first of two alike."""
    names: dict[str, int] = {}
    for index, cell in enumerate(table.header):
        names.setdefault(" ".join(plain(cell.text).lower().split()), index)
    return names


def _columns(table: Table) -> _Columns | None:
    names = _names(table)
    if not {"task id", "file", "status"} <= names.keys():
        return None
    optional = (names.get("description", -1), names.get("type", -1))
    return _Columns(names["task id"], names["file"], names["status"], *optional)


def _groups(document: Document, tables: Sequence[Table], notes: _Notes) -> list[_Group]:
    """The stages in order: `## Phase N` headings, and any other heading that holds task tables.

    Tables under one heading, or under headings of one phase number, are one stage, so that a stage is
    never done while a task that names it is open.
    """
    groups: dict[str, _Group] = {}
    for heading, owned in _owners(document, tables):
        if heading is None:
            groups[""] = _Group("", "Tasks", owned[0][0].span, owned)
            continue
        phase = _phase(heading)
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


def _owners(document: Document, tables: Sequence[Table]) -> Iterator[tuple[Heading | None, _Owned]]:
    """(heading, its task tables) of every heading that is a stage or holds such tables, in order.

    The outermost `Phase N` heading above a table owns it, else the nearest heading; a table above all
    headings has none.
    """
    owned: dict[Heading | None, _Owned] = {None: [], **{heading: [] for heading in document.headings}}
    path: list[Heading] = []
    number = 0
    for table in tables:
        while number < len(document.headings) and document.headings[number].span.line < table.span.line:
            heading = document.headings[number]
            path = [*(above for above in path if above.level < heading.level), heading]
            number += 1
        columns = _columns(table)
        if columns is not None:
            phases = (heading for heading in path if _phase(heading))
            owned[next(phases, path[-1] if path else None)].append((table, columns))
    for heading, its in owned.items():
        phase = _phase(heading) if heading and heading.level == 2 else None
        if its or (phase and phase.sure):
            yield heading, its


class _Name(NamedTuple):
    """What a heading says of its stage; `sure` when nothing but a name can follow the number."""

    id: str
    title: str
    sure: bool = False


def _phase(heading: Heading) -> _Name | None:
    match = _PHASE.match(plain(heading.text))
    if match is None:
        return None
    title = _without_effort(match[2].lstrip(":.-–— \t"))
    return _Name(match[1], title or f"Phase {match[1]}", match[2][:1] in ("", *":.-–—("))


def _numbered(heading: Heading) -> _Name:
    text = _without_effort(plain(heading.text))
    match = _NUMBERED.match(text)
    return _Name(match[1], match[2]) if match else _Name("", text)


def _without_effort(title: str) -> str:
    """ "Core (8-10h)" is named "Core", but "API (public)" keeps its brackets."""
    return _EFFORT.sub("", title).rstrip()


def _with_ids(groups: dict[str, _Group]) -> list[_Group]:
    """Stages without a phase number keep their heading's own number if it is free, else get the next."""
    taken = {group.id for key, group in groups.items() if key.startswith("phase")}
    following = max((int(group.id) for group in groups.values() if group.id.isdecimal()), default=0)
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


# --- tasks


def _stage(group: _Group, notes: _Notes) -> Stage:
    tasks: list[Task] = []
    for table, columns in group.tables:
        for row in table.rows:
            cells = row.cells()
            # A row of nothing but empty cells is a gap, not work.
            if any(cell.text for cell in cells):
                tasks.append(_task(row, cells, columns, f"{group.id}-row-{len(tasks) + 1}", group.id, notes))
    return Stage(group.id, group.title, group.span, tuple(tasks))


def _task(
    row: Row, cells: Sequence[Cell], columns: _Columns, fallback: str, stage: str, notes: _Notes
) -> Task:
    cell = dict(enumerate(cells)).get
    id_cell, file_cell, status_cell = cell(columns.id), cell(columns.file), cell(columns.status)
    file, file_span = _file(file_cell, row) if file_cell else ("", None)
    name = plain(id_cell.text) if id_cell else ""
    if not (id_cell and file_cell and status_cell):
        notes.add("task-unreadable", f"this row has {len(cells)} of {row.columns} cells", row.span)
    elif not name:
        notes.add("task-unreadable", "this row has no task id", id_cell.span)
    mark = None
    if status_cell:
        mark = _mark(status_cell, "the task counts as not done", notes)
    return Task(
        id=name or file.rpartition("/")[2].removesuffix(".md") or fallback,
        number=_short(name, file) or fallback,
        title=_text(cell(columns.title)),
        stage=stage,
        status=mark.status if mark else "unknown",
        file=file,
        type=_text(cell(columns.type)),
        span=id_cell.span if id_cell and name else row.span,
        mark=mark,
        file_span=file_span,
    )


def _text(cell: Cell | None) -> str:
    return plain(cell.text) if cell else ""


def _short(name: str, file: str) -> str:
    """The number reports use: the digits that end the id, else those the file begins with, else the id."""
    digits = _TRAILING_DIGITS.search(name) or _DIGITS.match(file.rpartition("/")[2])
    return digits[0] if digits else name


def _file(cell: Cell, row: Row) -> tuple[str, Span | None]:
    """The file a cell names, out of its backticks or link, and where the name stands."""
    name = plain(cell.text)
    link = _LINK_TARGET.search(cell.text)
    if link is not None and link[2].endswith(".md") and not name.endswith(".md"):
        name = link[2]
    if name.lower() in _NO_NAME:
        return "", None
    span = cell.span
    at = row.text.find(name, span.column, span.end_column)
    if at >= 0:
        span = Span(row.line, at, row.line, at + len(name))
    return name.removeprefix("./"), span


def _mark(cell: Cell, consequence: str, notes: _Notes) -> Mark:
    """The status a cell gives and the place of its brackets; of the whole cell when no mark is known."""
    notes.progress.append(cell.span)
    match = _MARK.fullmatch(plain(cell.text))
    status = MARKS.get(match[1], "unknown") if match else "unknown"
    if status == "unknown":
        said = f"`{cell.text}`" if cell.text else "an empty cell"
        notes.add("marker-unknown", f"{said} is none of {_KNOWN_MARKS}; {consequence}", cell.span)
        return Mark(status, cell.span)
    line, column = cell.span.line, cell.span.column
    start, end = cell.text.index("["), cell.text.rindex("]") + 1
    return Mark(status, Span(line, column + start, line, column + end))


# --- the other places that record progress


def _section(document: Document, title: str) -> Heading | None:
    """The first section whose heading begins with a title, case ignored."""
    named = (h for h in document.headings if plain(h.text).lower().startswith(title))
    return next(named, None)


def _with_summaries(
    document: Document, tables: Sequence[Table], stages: list[Stage], notes: _Notes
) -> list[Stage]:
    """The stages with their marks in the Progress Summary; a mark or count that is not so is drift."""
    section = _section(document, "progress summary")
    if section is None:
        return stages
    found: dict[int, Mark] = {}
    for table in tables:
        names = _names(table)
        inside = section.start <= table.span.line < section.end
        if not inside or _columns(table) or not {"phase", "status"} <= names.keys():
            continue
        for row in table.rows:
            cells = dict(enumerate(row.cells()))
            at = _stage_named(stages, _text(cells.get(names["phase"])))
            if at is None or at in found:
                continue
            status = cells.get(names["status"])
            if status is not None:
                found[at] = _mark(status, "the task rows count", notes)
                _check_summary(stages[at], found[at], notes)
            total = cells.get(names.get("tasks", -1))
            if total is not None and stages[at].tasks:
                _check_total(stages[at], total, notes)
    return [replace(stage, summary=found.get(index)) for index, stage in enumerate(stages)]


def _stage_named(stages: Sequence[Stage], text: str) -> int | None:
    """The stage a summary row means: by its phase number, else by a stage's number or title."""
    match = _PHASE.match(text)
    names = (match[1].lower(),) if match else ()
    for index, stage in enumerate(stages):
        if stage.id.lower() in (names or (text.lower(),)) or (
            not names and stage.title.lower() == text.lower()
        ):
            return index
    return None


def _check_summary(stage: Stage, mark: Mark, notes: _Notes) -> None:
    if mark.status != "unknown" and (mark.status == "done") != (0 < stage.done == stage.total):
        rows = f"{stage.done} of its {stage.total} tasks are done"
        message = f"{_MARK_OF[mark.status]} for phase {stage.id}, but {rows}"
        notes.add("status-drift", message, mark.span)


def _check_total(stage: Stage, cell: Cell, notes: _Notes) -> None:
    digits = plain(cell.text)
    if digits.isdecimal() and len(digits) < 10 and int(digits) != stage.total:
        message = f"{digits} tasks for phase {stage.id}, but its table has {stage.total}"
        notes.add("status-drift", message, cell.span)


def _with_references(document: Document, stages: list[Stage], notes: _Notes) -> list[Stage]:
    """The stages with each task's mark in the fenced list under "Quick Reference"."""
    section = _section(document, "quick reference")
    inside = (f for f in document.fences if section and section.start <= f.start < section.end)
    fence = next(inside, None)
    if fence is None:
        return stages
    tasks = [task for stage in stages for task in stage.tasks]
    by_name = {task.number.lower(): task for task in reversed(tasks)}
    by_name.update((task.id.lower(), task) for task in reversed(tasks))
    marks: dict[int, Mark] = {}
    for line in range(fence.start, fence.end):
        match = _REFERENCE.match(document.lines[line])
        if match is None:
            continue
        span = Span(line, match.start(2), line, match.end(2))
        mark = _mark(Cell(match[2], span), "the task rows count", notes)
        task = by_name.get(match[1].lower())
        if task is None:
            start, end = match.span(1)
            message = f"{match[1]} stands in the Quick Reference but has no row in a task table"
            notes.add("status-drift", message, Span(line, start, line, end))
        elif id(task) not in marks:
            marks[id(task)] = mark
            _check_reference(task, mark, notes)
    return [
        replace(stage, tasks=tuple(replace(task, reference=marks.get(id(task))) for task in stage.tasks))
        for stage in stages
    ]


def _check_reference(task: Task, mark: Mark, notes: _Notes) -> None:
    if "unknown" not in (task.status, mark.status) and mark.status != task.status:
        message = f"{_MARK_OF[mark.status]} for {task.id}, but its row says {_MARK_OF[task.status]}"
        notes.add("status-drift", message, mark.span)


def _count(fields: Sequence[Field], stages: Sequence[Stage], notes: _Notes) -> Count | None:
    """The first `**Progress**: n/N tasks complete (p%)` line; a figure that is not so is drift."""
    for field in fields:
        match = _PROGRESS.search(field.value)
        if field.key.lower() != "progress" or match is None:
            continue
        notes.progress.append(field.value_span)
        done, total = sum(stage.done for stage in stages), sum(stage.total for stage in stages)
        for group, rows, what in ((1, done, "tasks are done"), (2, total, "tasks stand in the tables")):
            if int(match[group]) != rows:
                notes.add("status-drift", f"{match[group]}, but {rows} {what}", _part(field, match, group))
        percent = _PERCENT.search(field.value)
        share = 100 * done / total if total else 0
        # Rounded up, down or to the nearest: all three are in use.
        if percent is not None and abs(float(percent[1]) - share) >= 1:
            message = f"{percent[1]}%, but {done} of {total} tasks are done ({share:.0f}%)"
            notes.add("status-drift", message, _part(field, percent, 1))
        return Count(int(match[1]), int(match[2]), _part(field, match, 0))
    return None


def _part(field: Field, match: re.Match[str], group: int) -> Span:
    line, column = field.value_span.line, field.value_span.column
    return Span(line, column + match.start(group), line, column + match.end(group))


def _status(document: Document, fields: Sequence[Field], stages: Sequence[Stage], notes: _Notes) -> str:
    """The header's `**Status**`: the one word whose box is ticked, else the first; "" without the line.

    Real plans forget this line, so only a "Complete" over open tasks is drift. The unfilled template has
    a different mark in each of its boxes and says nothing.
    """
    header_end = next((h.span.line for h in document.headings if h.level > 1), len(document.lines))
    status = ""
    for field in fields:
        key = field.key.lower()
        if field.key_span.line >= header_end or key not in ("status", "last updated"):
            continue
        notes.progress.append(field.value_span)
        if key == "status" and not status:
            status = _ticked(field.value)
            still = sum(stage.total - stage.done for stage in stages)
            if status.lower().startswith("complete") and still:
                notes.add("status-drift", f"{status}, but {still} tasks are not done", field.value_span)
    return status


def _ticked(value: str) -> str:
    boxes = [(match[1].strip(), plain(match[2])) for match in _RADIO.finditer(value)]
    ticked = [word for mark, word in boxes if mark]
    if len(ticked) == 1:
        return ticked[0]
    return boxes[0][1] if boxes else plain(value)


# --- checks of the whole


def _check_names(stages: Sequence[Stage], notes: _Notes) -> None:
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


def _check_stages(stages: Sequence[Stage], notes: _Notes) -> None:
    for stage in stages:
        if not stage.tasks:
            notes.add("plan-empty", f"phase {stage.id} has no tasks", stage.span)
        elif not any(_is_test(task) for task in stage.tasks):
            notes.add("test-task-missing", f"phase {stage.id} has no test task", stage.span)


def _is_test(task: Task) -> bool:
    """By its Type; a table without that column is judged by the file's name (`04-phase-1-tests.md`)."""
    return "test" in (task.type or task.file).lower()


def _title(document: Document) -> str:
    title = next((plain(heading.text) for heading in document.headings if heading.level == 1), "")
    return _TITLE_TAIL.sub("", title)


def _without(lines: Sequence[str], spans: Sequence[Span]) -> str:
    """The text with LF and each span, all within one line, as one NUL."""
    kept = list(lines)
    for span in sorted(set(spans), reverse=True):
        line = kept[span.line]
        kept[span.line] = f"{line[: span.column]}\0{line[span.end_column :]}"
    return "\n".join(kept)


# --- task files

_ID_PARTS = re.compile(r"\([^()]*\)")
_NONE = re.compile(r"(?i)(?:none|n/?a|nothing|null|[-–—]+)(?:$|[\s.])")
_NUMBER_BEFORE = re.compile(r"\d+[.:)][ \t]+")
_NOT_WORD = re.compile(r"\W+")
_KEYS = {"id", "phase", "priority", "depends on", "parallel with", "effort", "requires ux dx review"}


def read_task(text: str) -> TaskFile:
    """What a task file says of itself; never raises.

    References are kept as written, without brackets. A review asked for in words that are neither yes
    nor no counts as asked for.
    """
    document = markdown.read(text, rescue=True)
    meta = _meta(document)
    problems: list[Problem] = []
    if not any(meta.values()):
        problems.append(Problem("task-unreadable", "no Meta list with ID, Depends On and the like", _NOWHERE))
    first = {key: found[0] for key, found in meta.items() if found}
    depends = first.get("depends on")
    title = next((plain(h.text) for h in document.headings if h.level == 1), "")
    return TaskFile(
        title=_NUMBER_BEFORE.sub("", title, count=1) if _NUMBER_BEFORE.match(title) else title,
        depends_on=_references(meta["depends on"]),
        parallel_with=_references(meta["parallel with"]),
        files=_changed_files(document),
        requires_ux_dx_review=_review(meta["requires ux dx review"], problems),
        priority=plain(first["priority"].value) if "priority" in first else "",
        effort=plain(first["effort"].value) if "effort" in first else "",
        depends_span=depends.value_span if depends else None,
        problems=tuple(problems),
    )


def _meta(document: Document) -> dict[str, list[Field]]:
    """The fields of the Meta section by key; without that heading, those above the first section."""
    section = _section(document, "meta")
    start, end = (section.start, section.end) if section else (0, len(document.lines))
    if section is None:
        end = next((h.span.line for h in document.headings if h.level > 1), end)
    meta: dict[str, list[Field]] = {key: [] for key in _KEYS}
    for field in markdown.fields(document):
        key = _NOT_WORD.sub(" ", plain(field.key).replace("_", " ")).strip().lower()
        if start <= field.key_span.line < end and key in meta:
            meta[key].append(field)
    return meta


def _references(found: Sequence[Field]) -> tuple[str, ...]:
    names: list[str] = []
    for field in found:
        text = _ID_PARTS.sub(" ", plain(field.value)).strip()
        for part in re.split(r"[\[\],;]", text):
            name = part.strip().strip("`")
            if name and not _NONE.match(name):
                names.append(name)
    return tuple(dict.fromkeys(names))


def _review(found: Sequence[Field], problems: list[Problem]) -> bool:
    asked = False
    for field in found:
        word = markdown.word_of(markdown.split_remark(field.value)[0])
        if word not in ("true", "yes", "false", "no"):
            message = f"`{field.value}` is neither true nor false; the review counts as asked for"
            problems.append(Problem("task-unreadable", message, field.value_span))
        asked = asked or word not in ("false", "no")
    return asked


def _changed_files(document: Document) -> tuple[str, ...]:
    """The first column called File of the tables under "Files to Change", "to Create" or "to Modify"."""
    sections = [h for h in document.headings if plain(h.text).lower().startswith("files to ")]
    files: dict[str, None] = {}
    for table in markdown.tables(document):
        names = _names(table)
        inside = any(section.start <= table.span.line < section.end for section in sections)
        if inside and "file" in names:
            for row in table.rows:
                cell = dict(enumerate(row.cells())).get(names["file"])
                name = _file(cell, row)[0] if cell else ""
                files.update({name: None} if name else {})
    return tuple(files)
