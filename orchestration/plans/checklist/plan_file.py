"""The dialect of plain plans, PLAN.md, TODO.md and the like: boxes below headings, done from top to bottom.

They have no grammar; what is stable are boxes, marks that people brought along, and headings as phases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...markdown.checklist import Checklist
from ..model import Dialect, MarkStatus, TaskFile
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, in_turn
from .heading_drift import headings_ahead
from .openspec import NUMBERED
from .reader import has_tasks


def _details(listed: Checklist, rows: Sequence[ChecklistRow]) -> Mapping[str, TaskFile]:
    turns = in_turn(rows)
    return {
        row.id: row.detail(
            () if row.status is MarkStatus.IN_PROGRESS else turns.get(row.id, ()),
            (f"a person (marked [{row.item.mark}])",) if row.status is MarkStatus.BLOCKED else (),
        )
        for row in rows
    }


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
    problems=headings_ahead,
)


def _units(text: str) -> Sequence[str] | None:
    """A file without any task is no plan."""
    return None if has_tasks(text, GRAMMAR) else ()


DIALECT: Dialect = replace(checklist_dialect("a plain plan: boxes below headings", GRAMMAR), units=_units)
