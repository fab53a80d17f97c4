"""Lists whose numbers are their hierarchy, done from top to bottom: `1.1` is a part of `1`, or of `1.0`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...findings import Problem
from ...markdown.checklist import ItemForm
from ..model import MarkStatus, TaskFile
from .grammar import ChecklistRow, in_turn


def numbered_details(
    rows: Sequence[ChecklistRow], blockers: Callable[[ChecklistRow], tuple[str, ...]]
) -> Mapping[str, TaskFile]:
    """What each row waits for: the one before it, its own open parts, and what `blockers` say in words."""
    left = _left_parts(rows)
    wholes = set(parents(rows).values())
    turns = in_turn([row for row in rows if row.id not in wholes])
    details: dict[str, TaskFile] = {}
    for row in rows:
        # What is under way is gone on with, whatever it should have waited for.
        turn = () if row.status is MarkStatus.IN_PROGRESS else turns.get(row.id, ())
        waits = dict.fromkeys([*turn, *left.get(row.id, ())])
        details[row.id] = row.detail(waits, blockers(row))
    return details


def _left_parts(rows: Sequence[ChecklistRow]) -> Mapping[str, Sequence[str]]:
    """id -> the ids of its open parts, for those that have some."""
    above = parents(rows)
    left: dict[str, list[str]] = {}
    for row in rows:
        if row.id in above and not row.done:
            left.setdefault(above[row.id], []).append(row.id)
    return left


def parents(rows: Sequence[ChecklistRow]) -> Mapping[str, str]:
    """id -> the id of the row that it is a part of by its number, for those that are parts."""
    known = {row.id for row in rows if row.id_span}
    found: dict[str, str] = {}
    for row in rows:
        whole = row.id.rpartition(".")[0]
        named = next((each for each in (whole, f"{whole}.0") if each in known and each != row.id), "")
        if row.id_span and whole and named:
            found[row.id] = named
    return found


def open_parts(rows: Sequence[ChecklistRow], mark: str) -> Iterator[Problem]:
    """Rows that are ticked while a part of them is open; `mark` is what is written for such a whole."""
    left = _left_parts(rows)
    for row in rows:
        if row.status is MarkStatus.DONE and row.id in left:
            message = f"{row.id} is ticked, but {', '.join(left[row.id])} below it is open"
            yield Problem("status-drift", message, row.item.box, data=mark_replacement(row, mark))


def mark_replacement(row: ChecklistRow, mark: str) -> Mapping[str, Any]:
    """What mends a row that is ticked too early: another mark in its box."""
    if row.item.form is not ItemForm.BOX:
        return {}
    return {"replacements": ((f"Mark {row.id} as not done: [{mark}]", f"[{mark}]"),)}
