"""The dialect of beads' issues.jsonl: an issue a line, blocked by what it and what its parent depends on.

Its JSONL is an export of a database, so nothing is written here: `bd` is who closes an issue. Of lines with
one id the one that was updated last counts, as a merge by union leaves them. A line that nobody can read is
work whose state nobody knows. The order is that of `bd ready`: by priority, then the oldest (June 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem, Severity, Span
from ...formats.json_text import read_json
from ...vfs.files import natural
from ..model import Dialect, MarkStatus, Plan
from .task_records import TaskRecord, plan_of_records

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


class _Issue(NamedTuple):
    """A line with an issue, or with what may have been one: then `data` is empty."""

    id: str
    data: Mapping[str, Any]
    line: int
    text: str

    def text_of(self, key: str) -> str:
        value = self.data.get(key)
        return value.strip() if isinstance(value, str) else ""

    def place(self, pattern: re.Pattern[str]) -> Span | None:
        found = pattern.search(self.text)
        return Span(self.line, found.start(1), self.line, found.end(1)) if found else None

    @property
    def span(self) -> Span:
        return self.place(_ID) or Span(self.line, 0, self.line, len(self.text))

    @property
    def status(self) -> MarkStatus:
        if not self.data:
            return MarkStatus.UNKNOWN
        return STATUSES.get(self.text_of("status") or "open", MarkStatus.UNKNOWN)

    @property
    def is_closed(self) -> bool:
        return self.status in (MarkStatus.DONE, MarkStatus.CANCELLED)

    @property
    def dependencies(self) -> Iterator[tuple[str, str]]:
        """(the id, the kind) of each thing that it depends on; some clients write {id, type}."""
        listed = self.data.get("dependencies")
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                name = each.get("depends_on_id", each.get("id"))
                kind = each.get("type") or "blocks"
                if isinstance(name, str) and isinstance(kind, str):
                    yield name.strip(), kind


def read_issues(text: str) -> Plan | None:
    """The plan of all issues; None where there is none."""
    problems: list[Problem] = []
    issues = _newest(_lines(text, problems), problems)
    if not issues:
        return None
    above = {issue.id: _parent(issue, issues) for issue in issues.values()}
    parts: dict[str, list[str]] = {}
    for name, parent in above.items():
        if parent and not issues[name].is_closed and not _is_no_work(issues[name]):
            parts.setdefault(parent, []).append(name)
    turns = {issue.id: number for number, issue in enumerate(sorted(issues.values(), key=_turn))}
    records = [_record(issue, issues, above, parts, turns[issue.id]) for issue in issues.values()]
    problems += (found for issue in issues.values() for found in _problems(issue))
    return plan_of_records(records, Span(0, 0, 0, 0), problems)


def _lines(text: str, problems: list[Problem]) -> Iterator[_Issue]:
    is_merged = False
    for number, line in enumerate(text.split("\n")):
        bare = line.strip()
        if not bare:
            continue
        if _CONFLICT.match(bare):
            if not is_merged:
                message = (
                    "a merge left its marks here; both sides are read, and the state of the work is not known"
                )
                problems.append(Problem("artifact-unreadable", message, Span(number, 0, number, len(bare))))
                yield _Issue("merge-conflict", {}, number, bare)
            is_merged = True
            continue
        document = read_json(line)
        data = document.data if document.readable else None
        if not isinstance(data, dict):
            said = document.problems[0] if document.problems else None
            column = said.span.column if said and said.span else 0
            message = (
                f"{said.message if said else 'no issue stands here'}; it counts as an issue that is not done"
            )
            problems.append(Problem("artifact-unreadable", message, Span(number, column, number, len(line))))
            yield _Issue(f"line-{number + 1}", {}, number, line)
        elif data.get("status") != "tombstone":
            # What was deleted leaves such a line behind.
            name = data.get("id")
            has_name = isinstance(name, str) and name.strip()
            yield _Issue(str(name).strip() if has_name else f"line-{number + 1}", data, number, line)


def _newest(lines: Iterable[_Issue], problems: list[Problem]) -> dict[str, _Issue]:
    """Issues by id, in the order of their first lines."""
    found: dict[str, _Issue] = {}
    for issue in lines:
        before = found.setdefault(issue.id, issue)
        if before is not issue:
            message = f"{issue.id} stands in line {before.line + 1} already; what was updated last counts"
            problems.append(Problem("duplicate-task", message, issue.span, Severity.WARNING))
            if issue.text_of("updated_at") >= before.text_of("updated_at"):
                found[issue.id] = issue
    return found


def _parent(issue: _Issue, issues: Mapping[str, _Issue]) -> str:
    """The issue that it is a part of: what it says, else, of x.1, x."""
    said = next((name for name, kind in issue.dependencies if kind == "parent-child"), "")
    named = said or (issue.id.rpartition(".")[0] if "." in issue.id else "")
    return named if named in issues and named != issue.id else ""


def _is_no_work(issue: _Issue) -> bool:
    is_passing = issue.data.get("ephemeral") is True or issue.data.get("wisp") is True
    return is_passing or issue.text_of("issue_type") in _NO_WORK or issue.text_of("status") == "pinned"


def _record(
    issue: _Issue,
    issues: Mapping[str, _Issue],
    above: Mapping[str, str],
    parts: Mapping[str, Sequence[str]],
    rank: int,
) -> TaskRecord:
    word = issue.text_of("status") or ("open" if issue.data else "unreadable")
    named, outside = _blockers(issue)
    blockers = [f"a person ({word})"] if issue.status is MarkStatus.BLOCKED else []
    blockers += outside if not issue.is_closed else []
    waits = [*parts.get(issue.id, ())]
    parent = above[issue.id]
    for _ in range(_MOST_ABOVE):
        # A part is blocked by what blocks the whole, and not by its being open.
        if not parent:
            break
        whole = issues[parent]
        others, outside = _blockers(whole)
        blockers += [f"{parent} ({whole.text_of('status')})"] if whole.status is MarkStatus.BLOCKED else []
        blockers += outside
        waits += [name for name in others if name in issues and name != issue.id]
        parent = above[parent]
    return TaskRecord(
        id=issue.id, title=issue.text_of("title"), status=issue.status, place=issue.span, word=word,
        mark=issue.place(_STATUS), depends_on=tuple(dict.fromkeys(named)), depends_span=issue.span,
        waits=tuple(dict.fromkeys(waits)), blockers=tuple(dict.fromkeys(blockers)), parent=above[issue.id],
        type=issue.text_of("issue_type"), rank=rank, optional=_is_no_work(issue),
    )  # fmt: skip


def _blockers(issue: _Issue) -> tuple[list[str], list[str]]:
    """(the ids that block an issue, what blocks it in other projects, which nobody can see from here)."""
    names = [name for name, kind in issue.dependencies if kind in _BLOCKING]
    return (
        [name for name in names if not name.startswith("external:")],
        [name for name in names if name.startswith("external:")],
    )


def _turn(issue: _Issue) -> tuple[Any, ...]:
    priority = issue.data.get("priority")
    known = priority if isinstance(priority, int) and not isinstance(priority, bool) else 2
    return bool(issue.text_of("defer_until")), known, issue.text_of("created_at"), natural(issue.id)


def _problems(issue: _Issue) -> Iterator[Problem]:
    if issue.data and issue.status is MarkStatus.UNKNOWN:
        word = str(issue.data.get("status"))[:40]
        message = f"{issue.id}: {word!r} is no status of beads; the issue counts as not done"
        yield Problem("marker-unknown", message, issue.place(_STATUS) or issue.span)


DIALECT = Dialect(
    about="an issues.jsonl of beads: an issue a line",
    lacks="issue",
    read=read_issues,
    marks={},
    mark_place=re.compile(r"(?!)"),
    form="journal",
)
