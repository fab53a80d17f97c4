"""The dialect of Kiro's and cc-sdd's tasks.md: `- [ ] 1.1 words`, numbers as hierarchy, `- [ ]*` optional.

The order is that of the numbers; what cc-sdd marks `(P)` may go beside its neighbours, and `_Depends: 2.1_`
names what a task waits for. A graph of waves in a fence is followed where it names each task that there is,
and no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...findings import Problem, Severity, Span
from ...markdown.checklist import Checklist
from ..model import MarkStatus, TaskFile
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, dotted_parent, in_turn, ticked_ahead
from .heading_drift import headings_ahead
from .number_order import mark_replacement
from .openspec import NUMBERED

_PARALLEL = re.compile(r"\(P\)[ \t*_]*$|^\S+[ \t]+\(P\)")
_DEPENDS = re.compile(r"(?i)_Depends(?:[ \t]+on)?:([^_\n]++)_")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_SEEN = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[.\]")
_MOST_GRAPH = 200_000


def _sight(line: str, status: MarkStatus) -> str:
    if not _SEEN.match(line):
        return "shows no task for this line"
    return "counts it by its box alone" if status is MarkStatus.CANCELLED else ""


def _details(listed: Checklist, rows: Sequence[ChecklistRow]) -> Mapping[str, TaskFile]:
    parts: dict[str, list[ChecklistRow]] = {}
    for row in rows:
        if row.id_span:
            parts.setdefault(dotted_parent(row.id), []).append(row)
    leaves = [row for row in rows if row.id not in parts and not row.item.optional]
    named = {row.id: row.remember(_depends) for row in rows}
    explicit = {name: ids for name, (ids, _) in named.items() if ids}
    waves = _usable_waves(listed, rows, leaves)
    turns = (
        _by_waves(leaves, waves)
        if waves
        else in_turn(leaves, lambda row: row.remember(_is_parallel), explicit)
    )
    details: dict[str, TaskFile] = {}
    for row in rows:
        below = parts.get(row.id, ())
        open_parts = [each.id for each in below if not each.done and not each.item.optional]
        # What is under way is gone on with, whatever it should have waited for.
        turn = () if row.status is MarkStatus.IN_PROGRESS else turns.get(row.id, ())
        waits = dict.fromkeys([*turn, *explicit.get(row.id, ()), *open_parts])
        details[row.id] = row.detail(waits, (), row.remember(_depends)[1])
    return details


def _is_parallel(row: ChecklistRow) -> bool:
    return bool(_PARALLEL.search(row.item.text))


def _depends(row: ChecklistRow) -> tuple[tuple[str, ...], Span | None]:
    found = row.note(_DEPENDS)
    return (tuple(_NUMBER.findall(found[0][1])), found[1]) if found else ((), None)


# ---- the graph of waves


def _waves(listed: Checklist) -> tuple[list[list[str]], int] | None:
    """The waves of the dependency graph, and the line that it begins in; None where there is none to read."""
    lines = listed.document.lines
    for fence in listed.document.fences:
        text = "\n".join(lines[fence.start : fence.end])
        if '"waves"' not in text or len(text) > _MOST_GRAPH:
            continue
        try:
            data: Any = json.loads(text)
        except (ValueError, RecursionError):
            continue
        waves = data.get("waves") if isinstance(data, dict) else None
        if isinstance(waves, list):
            return [_ids_of(wave) for wave in waves], fence.start
    return None


def _ids_of(wave: Any) -> list[str]:
    """The ids of a wave, which is a list of ids or an object with one."""
    named = wave.get("tasks", []) if isinstance(wave, dict) else wave
    return [str(each) for each in named] if isinstance(named, list) else []


def _usable_waves(
    listed: Checklist, rows: Sequence[ChecklistRow], leaves: Sequence[ChecklistRow]
) -> list[list[str]]:
    """The waves, if they name every task that has to be done and none that there is not; else none."""
    found = _waves(listed)
    named = {name for wave in found[0] for name in wave} if found else set[str]()
    covers = all(_covered(row.id, named) for row in leaves)
    return found[0] if found and covers and named <= {row.id for row in rows} else []


def _covered(name: str, named: set[str]) -> bool:
    while name and name not in named:
        name = dotted_parent(name)
    return bool(name)


def _by_waves(leaves: Sequence[ChecklistRow], waves: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    """id -> the open tasks of the nearest earlier wave that has some."""
    numbers = {name: number for number, wave in enumerate(waves) for name in wave}
    by_wave: dict[int, list[str]] = {}
    own: dict[str, int] = {}
    for row in leaves:
        name = row.id
        while name not in numbers:
            name = dotted_parent(name)
        own[row.id] = numbers[name]
        if not row.done:
            by_wave.setdefault(numbers[name], []).append(row.id)
    open_waves = sorted(by_wave)
    before = dict(zip(open_waves[1:], open_waves, strict=False))
    return {row.id: by_wave[before[own[row.id]]] for row in leaves if not row.done and own[row.id] in before}


def _problems(listed: Checklist, rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    known = {row.id for row in rows}
    yield from _drift(rows)
    yield from headings_ahead(listed, rows)
    yield from ticked_ahead(rows, lambda row: row.remember(_depends))
    found = _waves(listed)
    unknown = [name for wave in found[0] for name in wave if name not in known] if found else []
    if found and unknown:
        message = f"the graph names {', '.join(unknown)}, no task of this list; the order of numbers counts"
        line = next(
            n for n in range(found[1], len(listed.document.lines)) if unknown[0] in listed.document.lines[n]
        )
        column = listed.document.lines[line].index(unknown[0])
        span = Span(line, column, line, column + len(unknown[0]))
        yield Problem("dangling-dependency", message, span, Severity.WARNING)
    wholes = {dotted_parent(row.id) for row in rows if row.id_span}
    named = {name for wave in found[0] for name in wave} if found else set[str]()
    for row in rows if named else ():
        if row.id not in wholes and not row.item.optional and not row.done and not _covered(row.id, named):
            message = (
                f"{row.id} is in no wave of the graph, so Kiro does it last; the order of numbers counts"
            )
            yield Problem("task-malformed", message, row.place)


def _drift(rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    """Tasks that are ticked while a required one below them, by its number, is open."""
    open_parts: dict[str, list[str]] = {}
    for row in rows:
        if row.id_span and not row.done and not row.item.optional:
            open_parts.setdefault(dotted_parent(row.id), []).append(row.id)
    for row in rows:
        if row.status is MarkStatus.DONE and row.id in open_parts and row.id_span:
            parts = ", ".join(open_parts[row.id])
            message = f"{row.id} is ticked, but {parts} below it is open"
            yield Problem("status-drift", message, row.item.box, data=mark_replacement(row, "-"))


GRAMMAR = ChecklistGrammar(
    tool="Kiro",
    marks={"-": MarkStatus.IN_PROGRESS, "~": MarkStatus.TODO},
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "x", MarkStatus.IN_PROGRESS: "-"},
    task_id=NUMBERED,
    stage_id=re.compile(r"(?i)\W*(?:phase[ \t]+)?(\d+(?:\.\d+)*)[.):、]?(?:\s|$)"),
    sight=_sight,
    details=_details,
    problems=_problems,
    parent_of=dotted_parent,
)
DIALECT = checklist_dialect("a Kiro tasks.md: a list of 1, 1.1, 1.2, ..", GRAMMAR)
