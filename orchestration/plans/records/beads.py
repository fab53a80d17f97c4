"""The dialect of beads' issues.jsonl: an issue a line, blocked by what it and what its parent depends on.

Its JSONL is an export of a database, so nothing is written here: `bd` is who closes an issue. Of lines with
one id the one that was updated last counts, as a merge by union leaves them. A line that nobody can read is
work whose state nobody knows. The order is that of `bd ready`: by priority, then the oldest (June 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap
from operator import attrgetter, is_not, ne
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem, Severity, Span
from ...formats.json_text import read_json
from ...vfs.files import natural
from ..model import Dialect, MarkStatus, Plan
from .task_records import TaskRecord, move_down, plan_of_records

STATUSES: Mapping[str, MarkStatus] = MappingProxyType({
    "open": MarkStatus.TODO, "in_progress": MarkStatus.IN_PROGRESS, "hooked": MarkStatus.IN_PROGRESS,
    "pinned": MarkStatus.TODO, "blocked": MarkStatus.BLOCKED, "deferred": MarkStatus.BLOCKED,
    "closed": MarkStatus.DONE, "cancelled": MarkStatus.CANCELLED,
})  # fmt: skip
"""Its words, and one that many add; what is `blocked` or `deferred` by its status waits for somebody."""
_BLOCKING = frozenset(("blocks", "conditional-blocks", "waits-for"))
_NO_WORK = frozenset(
    ("message", "event", "molecule", "gate", "agent", "role", "rig", "convoy", "merge-request")
)
"""Types of issues that nobody works on; an open gate blocks all the same."""
_CONFLICT = re.compile(r"<{7}(?: |$)|={7}$|>{7}(?: |$)|\|{7}(?: |$)")
_ID = re.compile(r'"id"[ \t]*+:[ \t]*+("(?:[^"\\]|\\.)*+")')
_STATUS = re.compile(r'"status"[ \t]*+:[ \t]*+("(?:[^"\\]|\\.)*+")')
_MOST_ABOVE = 50
_TOMBSTONE = "tombstone"


_CONFLICTED = "merge-conflict"


@dataclass(frozen=True, eq=False)
class _Issue:
    """A line with an issue, or with what may have been one: then `data` is empty.

    All is told from the line's text alone, places are in line 0: a line that is there again is read once. Two
    are the same only if they are one object. `id` is "" where the line gives none, `unreadable` the column at
    which reading ended and why.
    """

    id: str
    data: Mapping[str, Any]
    text: str
    unreadable: tuple[int, str] | None = None

    @classmethod
    def of(cls, line: str) -> _Issue:
        """The issue in a line."""
        if _CONFLICT.match(line.strip()):
            return cls(_CONFLICTED, {}, line.strip())
        document = read_json(line)
        data = document.data if document.readable else None
        if not isinstance(data, dict):
            said = document.problems[0] if document.problems else None
            column = said.span.column if said and said.span else 0
            return cls("", {}, line, (column, said.message if said else "no issue stands here"))
        name = data.get("id")
        return cls(name.strip() if isinstance(name, str) else "", data, line)

    def text_of(self, key: str) -> str:
        value = self.data.get(key)
        return value.strip() if isinstance(value, str) else ""

    def place(self, pattern: re.Pattern[str]) -> Span | None:
        found = pattern.search(self.text)
        return Span(0, found.start(1), 0, found.end(1)) if found else None

    @cached_property
    def span(self) -> Span:
        return self.place(_ID) or Span(0, 0, 0, len(self.text))

    @cached_property
    def status(self) -> MarkStatus:
        if not self.data:
            return MarkStatus.UNKNOWN
        return STATUSES.get(self.text_of("status") or "open", MarkStatus.UNKNOWN)

    @property
    def is_closed(self) -> bool:
        return self.status in (MarkStatus.DONE, MarkStatus.CANCELLED)

    @cached_property
    def dependencies(self) -> tuple[tuple[str, str], ...]:
        """(the id, the kind) of each thing that it depends on; some clients write {id, type}."""
        listed = self.data.get("dependencies")
        found: list[tuple[str, str]] = []
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                name = each.get("depends_on_id", each.get("id"))
                kind = each.get("type") or "blocks"
                if isinstance(name, str) and isinstance(kind, str):
                    found.append((name.strip(), kind))
        return tuple(found)

    @cached_property
    def whole(self) -> str:
        """The id of what it is a part of: what it says, else, of x.1, x; "" for none."""
        said = next((name for name, kind in self.dependencies if kind == "parent-child"), "")
        named = said or (self.id.rpartition(".")[0] if "." in self.id else "")
        return named if named != self.id else ""

    @cached_property
    def turn(self) -> tuple[Any, ...]:
        """What tells its turn among those that are ready."""
        priority = self.data.get("priority")
        known = priority if isinstance(priority, int) and not isinstance(priority, bool) else 2
        return bool(self.text_of("defer_until")), known, self.text_of("created_at"), natural(self.id)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        if not self.data or self.status is not MarkStatus.UNKNOWN:
            return ()
        word = str(self.data.get("status"))[:40]
        message = f"{self.id}: {word!r} is no status of beads; the issue counts as not done"
        return (Problem("marker-unknown", message, self.place(_STATUS) or self.span),)


class _IssueList(NamedTuple):
    """The issues of a text: those that count by id, in the order of their first lines, and the line of each.

    `read` has what each line says, `is_plain` says that each that is not blank is an issue of its own.
    """

    lines: Sequence[str]
    read: Mapping[str, _Issue]
    issues: Mapping[str, _Issue]
    numbers: Mapping[str, int]
    is_plain: bool


class _Hierarchy(NamedTuple):
    """What each issue is a part of, the parts of each, and where each stands among all."""

    above: Mapping[str, str]
    children: Mapping[str, Sequence[str]]
    positions: Mapping[str, int]


class _Memory(NamedTuple):
    """What a plan keeps to read the next text by."""

    listed: _IssueList
    hierarchy: _Hierarchy
    records: Sequence[TaskRecord]


_ISSUES = "issues"
_PROBLEMS = attrgetter("problems")


def read_issues(text: str, before: Plan | None = None) -> Plan | None:
    """The plan of all issues; None where there is none.

    A line that stood in the text `before` is not read again, and its record stands while all is the same that
    it is told from.
    """
    last: _Memory | None = before.memory.get(_ISSUES) if before else None
    problems: list[Problem] = []
    listed = (_list_again(text, last.listed) if last else None) or _list_issues(
        text, last.listed.read if last else {}, problems
    )
    if not listed.issues:
        return None
    hierarchy, records = _records(listed.issues, last)
    lines = [*listed.numbers.values()]
    for line, found in zip(lines, map(_PROBLEMS, listed.issues.values()), strict=True):
        if found:
            problems += (move_down(each, line) for each in found)
    plan = plan_of_records(records, Span(0, 0, 0, 0), problems, before=before, lines=lines)
    return replace(plan, memory=plan.memory | {_ISSUES: _Memory(listed, hierarchy, records)})


def _list_issues(text: str, last: Mapping[str, _Issue], problems: list[Problem]) -> _IssueList:
    lines, read = text.split("\n"), dict[str, _Issue]()
    issues, numbers = _newest(_lines(lines, last, read, problems), problems)
    is_plain = not problems and len(issues) == sum(map(bool, map(str.strip, lines)))
    return _IssueList(lines, read, issues, numbers, is_plain)


def _list_again(text: str, last: _IssueList) -> _IssueList | None:
    """The issues of a text that differs from the last one in lines whose issues have the ids that they had;
    else None."""
    lines = text.split("\n")
    if not last.is_plain or len(lines) != len(last.lines):
        return None
    read, issues = {**last.read}, {**last.issues}
    for number in [number for number, differs in enumerate(map(ne, lines, last.lines)) if differs]:
        old = read.pop(last.lines[number], None)
        issue = read[lines[number]] = _Issue.of(lines[number])
        if old is None or not issue.id or issue.id != old.id or not issue.data:
            return None
        if issue.data.get("status") == _TOMBSTONE:
            return None
        issues[issue.id] = issue
    return _IssueList(lines, read, issues, last.numbers, is_plain=True)


def _lines(
    lines: Iterable[str], last: Mapping[str, _Issue], read: dict[str, _Issue], problems: list[Problem]
) -> Iterator[tuple[int, _Issue]]:
    """(number of the line, issue), in order. Those that were read `last` by their lines are so again; `read`
    gets all."""
    is_merged = False
    for number, line in enumerate(lines):
        issue = last.get(line) or read.get(line)
        if issue is None:
            if not line.strip():
                continue
            issue = _Issue.of(line)
        read[line] = issue
        if issue.id == _CONFLICTED and not issue.data:
            if not is_merged:
                said = (
                    "a merge left its marks here; both sides are read, and the state of the work is not known"
                )
                span = Span(number, 0, number, len(issue.text))
                problems.append(Problem("artifact-unreadable", said, span))
                yield number, issue
            is_merged = True
            continue
        if issue.unreadable:
            column, said = issue.unreadable
            said = f"{said}; it counts as an issue that is not done"
            problems.append(Problem("artifact-unreadable", said, Span(number, column, number, len(line))))
        # What was deleted leaves a tombstone behind.
        if issue.data.get("status") != _TOMBSTONE:
            yield number, issue if issue.id else replace(issue, id=f"line-{number + 1}")


def _newest(
    lines: Iterable[tuple[int, _Issue]], problems: list[Problem]
) -> tuple[dict[str, _Issue], dict[str, int]]:
    """(issues by id, in the order of their first lines; the line of each)."""
    found: dict[str, _Issue] = {}
    numbers: dict[str, int] = {}
    for number, issue in lines:
        before = found.setdefault(issue.id, issue)
        line = numbers.setdefault(issue.id, number)
        if line != number:
            message = f"{issue.id} stands in line {line + 1} already; what was updated last counts"
            problem = Problem("duplicate-task", message, issue.span, Severity.WARNING)
            problems.append(move_down(problem, number))
            if issue.text_of("updated_at") >= before.text_of("updated_at"):
                found[issue.id], numbers[issue.id] = issue, number
    return found, numbers


# ---- records


def _records(issues: Mapping[str, _Issue], last: _Memory | None) -> tuple[_Hierarchy, Sequence[TaskRecord]]:
    """The record of each issue, in order.

    It is told from the issue, those that it is a part of, its open parts, the ids that there are, its rank.
    With the same ids, wholes and turns as before it is the same unless one of those issues is another.
    """
    before = last.listed.issues if last else {}
    pairs = zip(issues.values(), before.values(), strict=False)
    differing = [number for number, differs in enumerate(starmap(is_not, pairs)) if differs]
    if last and len(issues) == len(before):
        news, olds = [*issues.values()], [*before.values()]
        changed = [(news[number], olds[number]) for number in differing]
        if all((new.id, new.whole, new.turn) == (old.id, old.whole, old.turn) for new, old in changed):
            above, children, positions = last.hierarchy
            records = [*last.records]
            due = _dependants([new.id for new, _ in changed], above, children)
            for name in sorted(due, key=positions.__getitem__):
                number = positions[name]
                records[number] = _record(issues[name], issues, above, children, records[number].rank)
            return last.hierarchy, records
    hierarchy = _hierarchy_of(issues)
    turns = sorted(issues.values(), key=lambda issue: issue.turn)
    ranks = {issue.id: number for number, issue in enumerate(turns)}
    above, children, _ = hierarchy
    return hierarchy, [_record(issue, issues, above, children, ranks[name]) for name, issue in issues.items()]


def _hierarchy_of(issues: Mapping[str, _Issue]) -> _Hierarchy:
    above = {name: issue.whole for name, issue in issues.items() if issue.whole in issues}
    children: dict[str, list[str]] = {}
    for name, parent in above.items():
        children.setdefault(parent, []).append(name)
    return _Hierarchy(above, children, {name: position for position, name in enumerate(issues)})


def _dependants(
    names: Sequence[str], above: Mapping[str, str], children: Mapping[str, Sequence[str]]
) -> set[str]:
    """Some issues with what they are a part of, and all their parts and those of these."""
    due = {above[name] for name in names if name in above}
    waiting, below = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in below:
            below.add(name)
            waiting += children.get(name, ())
    return due | below


def _is_no_work(issue: _Issue) -> bool:
    is_passing = issue.data.get("ephemeral") is True or issue.data.get("wisp") is True
    return is_passing or issue.text_of("issue_type") in _NO_WORK or issue.text_of("status") == "pinned"


def _record(
    issue: _Issue,
    issues: Mapping[str, _Issue],
    above: Mapping[str, str],
    children: Mapping[str, Sequence[str]],
    rank: int,
) -> TaskRecord:
    word = issue.text_of("status") or ("open" if issue.data else "unreadable")
    named, outside = _blockers(issue)
    blockers = [f"a person ({word})"] if issue.status is MarkStatus.BLOCKED else []
    blockers += outside if not issue.is_closed else []
    parts = (issues[name] for name in children.get(issue.id, ()))
    waits = [part.id for part in parts if not part.is_closed and not _is_no_work(part)]
    parent = above.get(issue.id, "")
    for _ in range(_MOST_ABOVE):
        # A part is blocked by what blocks the whole, and not by its being open.
        if not parent:
            break
        whole = issues[parent]
        others, outside = _blockers(whole)
        blockers += [f"{parent} ({whole.text_of('status')})"] if whole.status is MarkStatus.BLOCKED else []
        blockers += outside
        waits += [name for name in others if name in issues and name != issue.id]
        parent = above.get(parent, "")
    return TaskRecord(
        id=issue.id, title=issue.text_of("title"), status=issue.status, place=issue.span, word=word,
        mark=issue.place(_STATUS), depends_on=tuple(dict.fromkeys(named)), depends_span=issue.span,
        waits=tuple(dict.fromkeys(waits)), blockers=tuple(dict.fromkeys(blockers)),
        parent=above.get(issue.id, ""), type=issue.text_of("issue_type"), rank=rank,
        optional=_is_no_work(issue),
    )  # fmt: skip


def _blockers(issue: _Issue) -> tuple[list[str], list[str]]:
    """(the ids that block an issue, what blocks it in other projects, which nobody can see from here)."""
    names = [name for name, kind in issue.dependencies if kind in _BLOCKING]
    return (
        [name for name in names if not name.startswith("external:")],
        [name for name in names if name.startswith("external:")],
    )


DIALECT = Dialect(
    about="an issues.jsonl of beads: an issue a line",
    lacks="issue",
    read=read_issues,
    read_again=read_issues,
    marks={},
    mark_place=re.compile(r"(?!)"),
    form="journal",
)
