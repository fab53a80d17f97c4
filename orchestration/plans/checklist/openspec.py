"""The dialect of OpenSpec's tasks.md: `- [ ] 1.1 words`, below `## 1. Group`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...findings import Problem
from ...markdown.checklist import Checklist
from ..model import MarkStatus, TaskFile
from ..numbering import FreeIds
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, in_turn
from .heading_drift import headings_ahead

NUMBERED = re.compile(
    r"(?:\*\*|__|~~|`)*(\d+(?:\.\d+)+[a-z]?(?![0-9A-Za-z_])|\d+[a-z]?(?=[.):、](?![0-9A-Za-z])))[.):、]?"
)
"""An id as `1.1`, `1.` or `1)`; a number alone is a word ("3 retries")."""
# Its own reader, version 1.13.2: every other mark than x is open, a bracket with more in it is no task.
_SEEN = re.compile(r"\s*+(?:[-*+]|\d{1,9}[.)])\s*+\[(?:\s*+([^\]\s]?)\s*+\](?![(\[])|\s++\])\s*+(.*)")


def _sight(line: str, status: MarkStatus) -> str:
    match = _SEEN.match(line)
    if match is None:
        return "does not see this line"
    is_done = (match[1] or "").lower() == "x"
    if is_done == (status is MarkStatus.DONE):
        return "counts it as open" if status is MarkStatus.CANCELLED else ""
    return "counts it as done" if is_done else "counts it as open"


def _details(listed: Checklist, rows: Sequence[ChecklistRow]) -> Mapping[str, TaskFile]:
    """A list is done from top to bottom."""
    turns = in_turn(rows)
    return {row.id: row.detail(turns[row.id]) for row in rows if row.id in turns}


def _problems(listed: Checklist, rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    yield from headings_ahead(listed, rows)
    yield from _numbers_elsewhere(rows)


def _numbers_elsewhere(rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    """Numbers that stand below another group's heading, as OpenSpec's validate tells them."""
    ids = FreeIds([row.id for row in rows])
    for row in rows:
        group, dot, _ = row.id.partition(".")
        is_elsewhere = dot and group != row.stage and row.stage.isdecimal() and group.isdecimal()
        if is_elsewhere and row.id_span:
            message = f"{row.id} stands below group {row.stage}; its validate asks for {row.stage}.N"
            free = ids.behind(f"{row.stage}.0")
            data = {"replacements": ((f"Number it {free}", free),)}
            yield Problem("task-malformed", message, row.id_span, data=data)


GRAMMAR = ChecklistGrammar(
    tool="OpenSpec",
    marks={},
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "x"},
    task_id=NUMBERED,
    stage_id=re.compile(r"\W*(\d+)[.):、]?(?:\s|$)"),
    sight=_sight,
    details=_details,
    problems=_problems,
)
DIALECT = checklist_dialect("an OpenSpec tasks.md: a list of 1.1, 1.2, .. by groups", GRAMMAR)
