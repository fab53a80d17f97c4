"""The task files of seed 004, `NN-name.md` with a Meta list: read, and drafted for new tasks.

The headings of drafts are those of the seed's template (reference: workflows, seed 004), so that whoever
writes the task finds a place for everything; what nobody said stays as a line to be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...findings import Problem
from ...markdown import document as markdown
from ...markdown.document import Field, MarkdownDocument
from ...markdown.inline_text import name_of, split_remark, strip_markup, word_of
from ...markdown.tables import tables
from ..model import Mark, MarkStatus, Task, TaskFile
from .new_stage import NewTask
from .rows import file_in, first_section, section_of, status_of

_REMARK = re.compile(r"\([^()]*\)")
_BETWEEN = re.compile(r"[\[\],;]|[ \t](?:and|&)[ \t]")
_NONE = re.compile(r"(?i)(?:none|n/?a|nothing|null|[-–—]+)(?:$|[\s.])")
# The seed's own spelling of the review's key is a name in code; templates write it as words.
_KEYS = {key: key for key in ("id", "phase", "priority", "depends on", "parallel with", "effort", "status")}
MOST_ROWS = 1_000
"""So many rows are read of the tables of files to change."""
MOST_REFERENCES = 500
"""So many tasks may be named by a field."""
_TAKEN_AWAY = ("delete", "deleted", "remove", "removed", "drop")
_EMPTY = "empty"
_WORST = (
    MarkStatus.DONE, MarkStatus.TODO, MarkStatus.IN_PROGRESS,
    MarkStatus.UNKNOWN, MarkStatus.ATTENTION, MarkStatus.BLOCKED,
)  # fmt: skip
_SAYS_EMPTY = re.compile(r"(?i)\bempty\b")
_KEYS |= {"requires ux/dx review": "review", "requires_ux_dx_review": "review"}


def read_task(text: str) -> TaskFile:
    """The content of a task file; never raises.

    References are kept as written, without brackets. A review asked for in words that are neither yes
    nor no counts as asked for. Front matter is read like the Meta list.
    """
    document = markdown.read(text, rescue=True)
    meta = _meta(document)
    problems: list[Problem] = []
    if not meta:
        message = "there is no Meta list with ID, Depends On and the like"
        problems.append(Problem("task-unreadable", message, data={"missing": "meta"}))
    review = False
    for field in meta.get("review", []):
        word = "" if "~~" in field.value else word_of(split_remark(field.value)[0])
        if word not in ("true", "yes", "false", "no"):
            message = f"`{field.value}` is neither true nor false; the review counts as asked for"
            problems.append(Problem("task-unreadable", message, field.value_span))
        review = review or word not in ("false", "no")
    depends, files = meta.get("depends on", []), _changed_files(document, problems)
    ids = meta.get("id", [])
    name = strip_markup(ids[0].value) if ids else ""
    return TaskFile(
        # The braces of a template that nobody filled in name nothing.
        id="" if "{" in name else name,
        id_span=ids[0].value_span if ids else None,
        depends_on=_references(depends),
        parallel_with=_references(meta.get("parallel with", [])),
        files=tuple(files),
        deletes=tuple(name for name, action in files.items() if action in _TAKEN_AWAY),
        empty=tuple(name for name, action in files.items() if action == _EMPTY),
        requires_ux_dx_review=review,
        depends_span=depends[0].value_span if depends else None,
        **_status(meta.get("status", [])),
        problems=tuple(problems),
    )


def _meta(document: MarkdownDocument) -> dict[str, list[Field]]:
    """The known fields of the Meta section; without that heading, those above the first section.

    A review is looked for everywhere, because one that is overlooked is one that is skipped.
    """
    section = section_of(document, "meta")
    start, end = (section.start, section.end) if section else (0, first_section(document))
    meta: dict[str, list[Field]] = {}
    for field in markdown.fields(document, _KEYS, front=True):
        # Most keys are spelled as they are here.
        key = _KEYS.get(field.key.lower()) or _KEYS.get(name_of(field.key))
        inside = start <= field.line < end or document.kinds[field.line] == markdown.FRONT
        if key and (inside or key == "review"):
            meta.setdefault(key, []).append(field)
    return meta


def _status(fields: Sequence[Field]) -> dict[str, Any]:
    """The status of a task by its own file: of several the worst; one that is struck out says nothing."""
    said = [
        (status_of(field.value), field) for field in fields if "~~" not in field.value and field.value.strip()
    ]
    if not said:
        return {}
    status, field = max(said, key=lambda each: _WORST.index(each[0]))
    return {"status": Mark(status, field.value_span), "status_text": strip_markup(field.value)}


def _references(fields: Sequence[Field]) -> tuple[str, ...]:
    """The tasks a field names, in order, each once; "none", `[]` and remarks in brackets name none."""
    names: dict[str, None] = {}
    for field in fields:
        for part in _BETWEEN.split(_REMARK.sub(" ", strip_markup(field.value))):
            name = part.strip()
            if name and not _NONE.match(name):
                names[name] = None
    if len(names) <= MOST_REFERENCES:
        return tuple(names)
    # What is left out is no task, so that the task waits for it.
    return (*islice(names, MOST_REFERENCES), f"and {len(names) - MOST_REFERENCES} more")


def _changed_files(document: MarkdownDocument, problems: list[Problem]) -> dict[str, str]:
    """The File column of the tables under "Files to Change", "to Create", "to Delete" and the like, each name
    once, with the word of what is done to it, by the Action column or by the heading: "empty" for a file
    that is to be so."""
    files: dict[str, str] = {}
    left = iter(range(MOST_ROWS))
    read_to = 0
    for heading in document.headings:
        # A section within one that was read is read already.
        name = name_of(heading.text)
        if heading.start >= read_to and name.startswith("files to "):
            read_to = heading.end
            for table in tables(document, heading.start, heading.end):
                column, action = (table.columns.get(title, -1) for title in ("file", "action"))
                for row, _ in zip(table.rows if column >= 0 else (), left, strict=False):
                    parts = row.parts()
                    cell = parts.cell(column)
                    said = parts.cell(action)
                    word = word_of(split_remark(said.text)[0]) if said else name.split()[2]
                    if said and word not in _TAKEN_AWAY and _SAYS_EMPTY.search(said.text):
                        word = _EMPTY
                    files[file_in(cell, row)[0] if cell else ""] = word
    if next(left, None) is None:
        problems.append(
            Problem("task-unreadable", f"of the files to change {MOST_ROWS} are read, and no more")
        )
    return {name: action for name, action in files.items() if name}


# --- new task files

_OPEN = "To be written."


def draft_task(task: Task, feature: str) -> str:
    """The shortest task file of a task that a plan names: its title and a Meta list."""
    number = f"{task.number}. " if task.number else ""
    head = _head(f"{number}{task.title or task.id}", task.id, feature, task.stage)
    return "\n".join([*head, "- **Depends On**: []", ""])


def draft_task_files(
    feature: str, tasks: Sequence[NewTask], reported: Sequence[Mapping[str, object]]
) -> dict[str, str]:
    """file -> text of each new task, with what is known filled in.

    `reported` are what a report says of the first of them, in that order. Read are `depends_on`, `files`,
    `steps`, `tests`, `acceptance` (lists of text), `requires_ux_dx_review`, `priority` and `effort`. A test
    task that nobody described depends on all the others.
    """
    others = [task.id for task in tasks if not task.is_test]
    known = [*reported, *[{"depends_on": others}] * (len(tasks) - len(reported))]
    return {
        task.file: "\n".join([*_task_lines(feature, task, each), ""])
        for task, each in zip(tasks, known, strict=True)
    }


def _head(title: str, name: str, feature: str, stage: str) -> list[str]:
    meta = [f"- **ID**: {name}", f"- **Feature**: {feature}", f"- **Phase**: {stage}"]
    return [f"# {title}", "", "## Meta", "", *meta]


def _task_lines(feature: str, task: NewTask, known: Mapping[str, object]) -> Iterator[str]:
    yield from _head(f"{task.number}. {task.title}", task.id, feature, task.stage)
    yield f"- **Priority**: {_text(known.get('priority')) or 'P1'}"
    yield f"- **Depends On**: [{', '.join(_texts(known.get('depends_on')))}]"
    yield f"- **Effort**: {_text(known.get('effort')) or 'S'}"
    yield f"- **Requires UX/DX Review**: {'true' if known.get('requires_ux_dx_review') else 'false'}"
    files = [f"| `{file.replace('|', '')}` | Modify | {_OPEN} |" for file in _texts(known.get("files"))]
    steps = [f"{number}. {text}" for number, text in enumerate(_texts(known.get("steps")), 1)]
    tests = [f"- {text}" for text in _texts(known.get("tests"))]
    acceptance = _texts(known.get("acceptance")) or [f"{task.title}: done and tested"]
    for title, lines in (
        ("Objective", [task.description]),
        ("Implementation Steps", steps or [_OPEN]),
        ("Files to Change", ["| File | Action | Changes |", "|---|---|---|", *files] if files else [_OPEN]),
        ("Tests", tests or [_OPEN]),
        ("Acceptance Criteria", [f"- [ ] {text}" for text in acceptance]),
    ):
        yield from ("", f"## {title}", "", *lines)


def _text(value: object) -> str:
    return " ".join(str(value if value is not None else "").split())


def _texts(value: object) -> list[str]:
    return [text for text in map(_text, value) if text] if isinstance(value, list) else []
