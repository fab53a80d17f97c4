"""The dialect of agent-os' tasks.md: `- [ ] 1. words` with `- [ ] 1.1 words` below it, or groups of them.

What an assistant could not do it says below the task, `⚠️ Blocking issue: ..`; that waits for a person.
"""

from __future__ import annotations

import re

from ..model import MarkStatus
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, dotted_parent
from .heading_drift import headings_ahead
from .number_order import numbered_details, open_parts
from .openspec import NUMBERED

_BLOCKING = re.compile(r"(?i)(?:⚠\ufe0f?[ \t]*(?:\*\*)?|\*\*)?Block(?:ing issue|ed)(?:\*\*)?[ \t]*:")
_SEEN = re.compile(r"[ \t]*[-*][ \t]+\[[ xX]\](?:[ \t]|$)")


def _sight(line: str, status: MarkStatus) -> str:
    if not _SEEN.match(line):
        return "has assistants tick `- [ ]`, and this line is none"
    return "counts it by its box alone" if status is MarkStatus.CANCELLED else ""


def _blockers(row: ChecklistRow) -> tuple[str, ...]:
    is_blocked = not row.done and any(_BLOCKING.search(text) for _, text in row.notes)
    return ("a person (blocking issue)",) if is_blocked else ()


GRAMMAR = ChecklistGrammar(
    tool="agent-os",
    marks={},
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "x"},
    task_id=NUMBERED,
    stage_id=re.compile(r"(?i)\W*(?:task[ \t]+group|phase)[ \t]+(\d+(?:\.\d+)*)"),
    sight=_sight,
    details=lambda listed, rows: numbered_details(rows, _blockers),
    problems=lambda listed, rows: (*open_parts(rows, " "), *headings_ahead(listed, rows)),
    parent_of=dotted_parent,
)
DIALECT = checklist_dialect("an agent-os tasks.md: a list of 1, 1.1, 1.2, ..", GRAMMAR)
