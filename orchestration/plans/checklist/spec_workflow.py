"""The dialect of spec-workflow's tasks.md: `- [ ] 1. words`, `[-]` under way, `[~]` or `_Blocked: why_`."""

from __future__ import annotations

import re

from ..model import MarkStatus
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, dotted_parent
from .heading_drift import headings_ahead
from .number_order import numbered_details, open_parts
from .openspec import NUMBERED

_BLOCKED = re.compile(r"(?i)_Blocked:([^_\n]++)_")
# Its own reader (task-parser.ts): small letters, a number, two kinds of bullets.
_SEEN = re.compile(r"\s*[-*]\s+\[[ x~-]\]\s+(?:\*\*)?\d+(?:\.\d+)*")


def _sight(line: str, status: MarkStatus) -> str:
    if not _SEEN.match(line):
        return "does not see this line"
    return "counts it by its box alone" if status is MarkStatus.CANCELLED else ""


def _blockers(row: ChecklistRow) -> tuple[str, ...]:
    found = row.note(_BLOCKED) if not row.done else None
    is_blocked = found or row.status is MarkStatus.BLOCKED
    return (f"a person ({found[0][1].strip() if found else 'it is blocked'})",) if is_blocked else ()


GRAMMAR = ChecklistGrammar(
    tool="spec-workflow",
    marks={"-": MarkStatus.IN_PROGRESS, "~": MarkStatus.BLOCKED},
    written={
        MarkStatus.TODO: " ",
        MarkStatus.DONE: "x",
        MarkStatus.IN_PROGRESS: "-",
        MarkStatus.BLOCKED: "~",
    },
    task_id=NUMBERED,
    stage_id=re.compile(r"(?i)\W*(?:phase[ \t]+)?(\d+(?:\.\d+)*)[.):、]?(?:\s|$)"),
    sight=_sight,
    details=lambda listed, rows: numbered_details(rows, _blockers),
    problems=lambda listed, rows: (*open_parts(rows, "-"), *headings_ahead(listed, rows)),
    parent_of=dotted_parent,
)
DIALECT = checklist_dialect("a spec-workflow tasks.md: a list of 1, 1.1, 1.2, ..", GRAMMAR)
