"""Branches of a journal: lines that follow the same line, as a merge of two git branches leaves them.

The longest chain is the trunk. A branch counts beside it where a record names its last line (a relink), and
where all its records commute with what was recorded meanwhile: reports of one step about different tasks, and
starts of the same run. Whoever reads them comes to the same order, whichever way the files were merged.
Everything else contradicts the trunk until a person says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..states import RecordKind
from .lines import Record

# Outcomes that stand against a run in any workflow; they count even on the losing side of a fork.
FAILURES = ("fail", "failed", "error", "blocked")
MOST_BRANCHES = 32
"""A journal with more branches that nothing links is not merged: each costs a look at all behind its fork."""
_NEUTRAL = (RecordKind.RELINK, RecordKind.REFUSED)
"""The kinds of records that no other can contradict: they link what counts, or count refusals."""


class RecordLine(NamedTuple):
    """A line that is a record; `more` records of the same commit follow it."""

    number: int
    text: str
    record: Record
    digest: str
    more: int


class Contradiction(NamedTuple):
    """Two records of different branches that cannot both count unasked; `ours` is on the trunk."""

    ours: RecordLine
    theirs: RecordLine


class MergedLines(NamedTuple):
    """`chain` are the lines that count, in their order, and `head` is the digest that the next one follows.

    `heads` are the last lines of the branches in it that no record links yet; `lost` are the lines that do
    not count, in the order of the file.
    """

    chain: Sequence[RecordLine]
    head: str
    heads: Sequence[str]
    lost: Sequence[RecordLine]
    contradiction: Contradiction | None


def merge_lines(lines: Sequence[RecordLine]) -> MergedLines:
    """The lines of a journal in the order in which they count. Linear, and for each open branch once more."""
    trunk = _trunk(lines)
    known, placed = {line.digest: line for line in lines}, {line.digest for line in trunk}
    chain: list[RecordLine] = []
    for line in trunk:
        for head in _linked_heads(line):
            chain += branch_to(head, known, placed)
        chain.append(line)
    heads: list[str] = []
    contradictions: list[Contradiction] = []
    for branch in _open_branches(lines, known, placed):
        # Another branch may have brought its first lines.
        added = [line for line in branch if line.digest not in placed]
        before = _ancestors(branch[-1], known)
        meanwhile = [line for line in chain if line.digest not in before]
        if found := _contradiction(meanwhile, added):
            contradictions.append(found)
            continue
        chain += added
        placed |= {line.digest for line in added}
        heads.append(branch[-1].digest)
    lost = [line for line in lines if line.digest not in placed]
    head = trunk[-1].digest if trunk else ""
    return MergedLines(chain, head, heads, lost, contradictions[0] if contradictions else None)


def from_start(lines: Iterable[RecordLine]) -> list[RecordLine]:
    """The lines that lead back to one that follows none; each stands behind the one that it follows."""
    following: dict[object, list[RecordLine]] = {}
    for line in lines:
        following.setdefault(line.record["prev"], []).append(line)
    order = list(following.get("", ()))
    for line in order:
        order += following.get(line.digest, ())
    return order


def branch_to(head: str, known: Mapping[str, RecordLine], placed: set[str]) -> list[RecordLine]:
    """The lines up to the one with the digest `head`, from where they leave those that are `placed`, or from
    one whose predecessor was taken out by a repair. They are placed now too."""
    back: list[RecordLine] = []
    line = known.get(head)
    while line is not None and line.digest not in placed:
        back.append(line)
        placed.add(line.digest)
        line = known.get(str(line.record["prev"]))
    return back[::-1]


def branch_ends(known: Mapping[str, RecordLine]) -> list[str]:
    """The digests of the lines that no line follows, in the order of the file."""
    followed = {line.record["prev"] for line in known.values()}
    return [digest for digest in known if digest not in followed]


def _trunk(lines: Sequence[RecordLine]) -> list[RecordLine]:
    """The longest chain from a line that follows none; of several of one length the one that began first.

    A relink adds one for each branch that it links: whoever goes on without knowing of it is the branch.
    """
    longest: dict[object, tuple[int, RecordLine]] = {}
    known = {line.digest for line in lines}
    for line in reversed(from_start(lines)):
        linked = len(known.intersection(_linked_heads(line)))
        length = 1 + linked + (longest[line.digest][0] if line.digest in longest else 0)
        other = longest.get(line.record["prev"])
        if other is None or length > other[0] or (length == other[0] and _began(line) < _began(other[1])):
            longest[line.record["prev"]] = length, line
    trunk: list[RecordLine] = []
    step = longest.get("")
    while step:
        trunk.append(step[1])
        step = longest.get(step[1].digest)
    return trunk


def _began(line: RecordLine) -> tuple[bool, str, str]:
    """A key that orders branches by their first lines alike, whichever way the files were merged. One without
    a time is last."""
    at = str(line.record["at"])
    return not at, at, line.digest


def _linked_heads(line: RecordLine) -> Sequence[str]:
    """The last lines of the branches that a relink record names: in its `about`, separated by commas."""
    return str(line.record["about"]).split(",") if line.record["kind"] == RecordKind.RELINK else ()


def _open_branches(
    lines: Sequence[RecordLine], known: Mapping[str, RecordLine], placed: set[str]
) -> Sequence[Sequence[RecordLine]]:
    """The branches that nothing links, each from where it leaves what is placed, the one that began first
    first. None where there are too many; one that follows a line which is not there is none."""
    ends = [digest for digest in branch_ends(known) if digest not in placed]
    if len(ends) > MOST_BRANCHES:
        return ()
    branches = (branch_to(end, known, set(placed)) for end in ends)
    linked = [branch for branch in branches if branch[0].record["prev"] in (*placed, "")]
    return sorted(linked, key=lambda branch: (_began(branch[0]), branch[-1].digest))


def _ancestors(line: RecordLine, known: Mapping[str, RecordLine]) -> set[str]:
    """The digests of all lines that a line knew of: what it follows, and what was linked to that."""
    found: set[str] = set()
    waiting = [line.digest]
    while waiting:
        digest = waiting.pop()
        if digest in known and digest not in found:
            found.add(digest)
            each = known[digest]
            waiting += [str(each.record["prev"]), *_linked_heads(each)]
    return found


def _contradiction(ours: Sequence[RecordLine], theirs: Sequence[RecordLine]) -> Contradiction | None:
    """The first records of two branches that do not commute. Linear where they do."""
    works = [(line, _work_of(line.record)) for line in ours if line.record["kind"] not in _NEUTRAL]
    taken = {task: line for line, work in works for task in work.tasks}
    by_step = {work.step: line for line, work in works}
    for line in theirs:
        if line.record["kind"] in _NEUTRAL:
            continue
        work = _work_of(line.record)
        other = next((taken[task] for task in work.tasks if task in taken), None)
        other = other or next((each for step, each in by_step.items() if not _fit(work.step, step)), None)
        if other is not None:
            return Contradiction(other, line)
    return None


class _Work(NamedTuple):
    """The step that a record is of, () for one that fits no other, and the tasks that it names."""

    step: tuple[str, ...]
    tasks: Sequence[str] = ()


def _work_of(record: Record) -> _Work:
    kind, named = record["kind"], record["tasks"]
    tasks = [str(task) for task in (*(named if isinstance(named, list) else ()), record["task"]) if task]
    if kind == RecordKind.START and record["workflow"]:
        return _Work(("", str(record["workflow"]), str(record["definition"])))
    is_work = kind == RecordKind.START or (kind == RecordKind.REPORT and record["outcome"] not in FAILURES)
    return _Work((str(record["phase"]),), tasks) if is_work and tasks and not record["next"] else _Work(())


def _fit(step: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if work at one step and at the other may go on at once; starts of one run fit all of its work."""
    is_start = [bool(each) and not each[0] for each in (step, other)]
    return bool(step and other) and (step == other or is_start[0] != is_start[1])
