"""The dialect of plain plans, PLAN.md, TODO.md and the like: boxes below headings, done from top to bottom.

They have no grammar; what is stable are boxes, marks that people brought along, and headings as phases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...findings import Problem
from ...markdown.checklist import Checklist
from ..model import Dialect, MarkStatus, TaskFile
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, in_turn
from .openspec import NUMBERED
from .reader import has_tasks

_COMPLETE = re.compile(
    r"(?i)✅|[(\[](?:complete|completed|done|finished)[)\]]|[-–—:][ \t]*(?:complete|completed|done)[ \t*]*$"
)


def _details(listed: Checklist, rows: Sequence[ChecklistRow]) -> Mapping[str, TaskFile]:
    turns = in_turn(rows)
    return {
        row.id: row.detail(
            () if row.status is MarkStatus.IN_PROGRESS else turns.get(row.id, ()),
            (f"a person (marked [{row.item.mark}])",) if row.status is MarkStatus.BLOCKED else (),
        )
        for row in rows
    }


def _problems(listed: Checklist, rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    """Headings that say that all below them is done while a box there is open."""
    left: dict[int, list[str]] = {}
    for row in rows:
        if not row.done and row.item.heading >= 0:
            left.setdefault(row.item.heading, []).append(row.id)
    for number, names in left.items():
        heading = listed.document.headings[number]
        if _COMPLETE.search(heading.text):
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            message = f"the heading says that it is complete, but {names[0]}{more} below it is open"
            span = heading.span
            line = listed.document.lines[span.line][span.column : span.end_column]
            open_line = _COMPLETE.sub("", line).rstrip()
            # A heading that stands above a line has more than its own.
            data = {"replacements": (("Do not say that it is complete", open_line),)} if open_line else {}
            yield Problem("status-drift", message, span, data=data)


GRAMMAR = ChecklistGrammar(
    tool="a plan file",
    marks={
        "/": MarkStatus.IN_PROGRESS,
        ">": MarkStatus.BLOCKED,
        "!": MarkStatus.BLOCKED,
        "?": MarkStatus.ATTENTION,
    },
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "x", MarkStatus.IN_PROGRESS: "/"},
    task_id=NUMBERED,
    stage_id=re.compile(r"(?i)\W*(?:phase|stage|milestone|step|sprint)[ \t]+(\d+(?:\.\d+)*)"),
    sight=lambda line, status: "",
    details=_details,
    problems=_problems,
)


def _units(text: str) -> Sequence[str] | None:
    """A file without any task is no plan."""
    return None if has_tasks(text, GRAMMAR) else ()


DIALECT: Dialect = replace(checklist_dialect("a plain plan: boxes below headings", GRAMMAR), units=_units)
