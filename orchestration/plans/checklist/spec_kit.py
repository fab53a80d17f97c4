"""The dialect of GitHub spec-kit's tasks.md: `- [ ] T001 [P] [US1] words with a path`, below `## Phase N`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...findings import Problem, Span
from ...markdown.checklist import Checklist
from ..model import MarkStatus, TaskFile
from .dialects import checklist_dialect
from .grammar import ChecklistGrammar, ChecklistRow, in_turn, ticked_ahead
from .heading_drift import headings_ahead

_ID = r"T-?\d+(?:\.\d+)*[a-z]?(?![0-9A-Za-z_])"
_LABELS = re.compile(r"(?:[*_~`]*[ \t]*\[[^\]]*\])*")
_PARALLEL = re.compile(r"\[P\]")
_DEPENDS = re.compile(rf"(?i)\bdepends?[ \t]+on[ \t:]+({_ID}(?:[ \t]*(?:,|and|&|-|–|to)[ \t]*{_ID})*)")
_REFERENCE = re.compile(rf"({_ID})(?:[ \t]*(-|–|to)[ \t]*(?={_ID}))?")
_DIGITS = re.compile(r"(?<!\d)\d{1,9}(?!\d)")
_PATH = re.compile(r"(?<![\w/.@-])((?:[\w.@-]+/)+[\w.@-]*\.[A-Za-z0-9]{1,8})(?![\w/])")
_LONGEST_RANGE = 200
# What its commands tell assistants to count (templates/commands/implement.md).
_SEEN = re.compile(r"[ \t]*[-*][ \t]+\[[ xX]\](?:[ \t]|$)")


def _sight(line: str, status: MarkStatus) -> str:
    if not _SEEN.match(line):
        return "counts `- [ ]` and `- [x]` only, and passes over this line"
    return "counts it by its box alone" if status is MarkStatus.CANCELLED else ""


def _dependencies(row: ChecklistRow) -> tuple[tuple[str, ...], Span | None]:
    """The ids after "depends on" in a row, ranges written out, and their place."""
    found = row.note(_DEPENDS)
    if found is None:
        return (), None
    names: list[str] = []
    start = ""
    for match in _REFERENCE.finditer(found[0][1]):
        names += _range(start, match[1]) if start else [match[1]]
        start = match[1] if match[2] else ""
    return tuple(dict.fromkeys(names)), found[1]


def _range(first: str, last: str) -> list[str]:
    """The ids behind the first one up to the last; the last alone where that is no range of numbers."""
    low, high = _DIGITS.search(first), _DIGITS.search(last)
    if low and high and 0 < int(high[0]) - int(low[0]) <= _LONGEST_RANGE and first[: low.start()] == "T":
        return [f"T{number:0{len(low[0])}d}" for number in range(int(low[0]) + 1, int(high[0]) + 1)]
    return [last]


def _details(listed: Checklist, rows: Sequence[ChecklistRow]) -> Mapping[str, TaskFile]:
    """What a task waits for: what it names, and in its phase what stands before it and is not parallel."""
    named = {row.id: row.remember(_dependencies) for row in rows}
    explicit = {name: ids for name, (ids, _) in named.items() if ids}
    waits = in_turn(rows, lambda row: row.remember(_is_parallel), explicit)
    return {
        row.id: row.detail(waits.get(row.id, ()), (), row.remember(_dependencies)[1], row.remember(_files))
        for row in rows
    }


def _files(row: ChecklistRow) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PATH.findall(row.item.text)))


def _is_parallel(row: ChecklistRow) -> bool:
    start = row.item.text.find(row.id) + len(row.id) if row.id_span else 0
    labels = _LABELS.match(row.item.text, start)
    return bool(labels and _PARALLEL.search(labels[0]))


def _problems(listed: Checklist, rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    yield from ticked_ahead(rows, lambda row: row.remember(_dependencies))
    yield from headings_ahead(listed, rows)


GRAMMAR = ChecklistGrammar(
    tool="spec-kit",
    marks={},
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "X"},
    task_id=re.compile(rf"(?:\*\*|__|~~|`)*({_ID})(?:\*\*|__|`)*:?"),
    stage_id=re.compile(r"(?i)\W*(?:phase|fase|フェーズ|阶段)[ \t]*(\d+(?:\.\d+)*)"),
    sight=_sight,
    details=_details,
    problems=_problems,
    title_label="Tasks:",
)
DIALECT = checklist_dialect("a spec-kit tasks.md: a list of T001, T002, .. by phases", GRAMMAR)
