"""The journal: append-only lines that record reports, transitions and decisions of a run.

One JSON object a line; `prev` is the digest of the line before (design, section 6). Reading never
raises: a line that cannot be read in the middle makes the whole journal `broken`, at the end it is
torn and ignored. What a fork costs is decided here too: failures of both heads count, passes and
approvals only of the longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

from ..findings import Problem, Severity, Span
from ..formats.json_text import clean, read_json
from ..states import RecordKind
from ..vfs.files import digest_of

KINDS = tuple(RecordKind)
DECISIONS = ("answer", "override")
# Outcomes that stand against a run in any workflow; they count even on the losing side of a fork.
FAILURES = ("fail", "failed", "error", "blocked")
# The outcome of a transition over a phase that was not done (seed 001, canSkip).
SKIPPED = "skipped"

FIELDS: Mapping[str, tuple[object, str]] = {
    "seq": (0, "its number"),
    "at": ("", "its time"),
    "kind": ("", "what was recorded"),
    "workflow": ("", "in a start: the workflow"),
    "definition": ("", "in a start: the digest of the workflow's definition"),
    "phase": ("", "the phase or action it is of"),
    "stage": ("", "the plan's stage it is of"),
    "task": ("", "the task it names"),
    "tasks": ([], "all tasks it names"),
    "outcome": ("", "what a report says came of the step"),
    "next": ("", "where a report asks to go, or an override went"),
    "iteration": (0, "its round; 0 where none is named"),
    "question": ("", "the question that was answered"),
    "scope": ("", "what an answer holds for"),
    "option": ("", "what was chosen"),
    "why": ("", "the reason"),
    "gates": ([], "the gates that an override waives"),
    "phases": ([], "the phases that an override lets go undelivered"),
    "about": ("", "the substance that an answer holds for"),
    "files": ([], "files with their digests as they were then"),
    "message": ("", "what a report says in a line"),
    "manual_criteria": ([], "criteria that a report leaves to a person"),
    "path": ("", "the report's file"),
    "actor": ("", "who"),
    "channel": ("", "by which way"),
    "mac": ("", "the proof that a person decided"),
    "prev": ("", "the digest of the line before"),
}
"""The fields of a record: the value where nothing is given, and what it means."""
_EMPTY = {name: empty for name, (empty, _) in FIELDS.items()}

Record = dict[str, object]
# Which of some decision lines a person made; the caller knows keys and commits, the journal does not.
Verify = Callable[[Sequence[str]], frozenset[int]]


def record(**fields: object) -> Record:
    """A record with every field there, empty where nothing is given, so that guards need no `has`."""
    return {**_EMPTY, **fields}


EMPTY_RECORD: Mapping[str, object] = record()


class Journal(NamedTuple):
    """A journal as read. `records` are in the order of the chain, `lines` are their
    zero-based line numbers; `head` is the digest of the last line.

    `broken` says that a line in the middle cannot be trusted; then there are no records.
    """

    records: tuple[Record, ...] = ()
    lines: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()
    head: str = ""
    broken: bool = False
    forked: bool = False


class _Line(NamedTuple):
    number: int
    text: str
    record: Record
    digest: str
    more: int


def read_journal(text: str, verify: Verify = lambda lines: frozenset()) -> Journal:
    """The journal in `text`. `verify(lines)` gives the indexes of the decision lines that a person made."""
    lines, problems = _lines(text)
    if any(problem.code == "journal-invalid" for problem in problems):
        return Journal((), (), tuple(problems), broken=True)
    chain = _relinked(_chain(lines), lines)
    lost, unlinked = _off(chain, lines)
    if unlinked:
        wrong = [
            _at(line, "journal-invalid", "does not follow any line: one was changed or taken out")
            for line in unlinked
        ]
        return Journal((), (), tuple(problems + wrong), broken=True)
    if lost:
        waiting = "1 record awaits" if len(lost) == 1 else f"{len(lost)} records await"
        said = f"a second line follows the same line; {waiting} repair"
        problems.append(_at(lost[0], "journal-forked", said))
    kept = [*chain, *(line for line in lost if _counts_against(line.record))]
    refused = _unverified(kept, verify)
    numbers = {line.number for line in refused}
    counted = [line for line in kept if line.number not in numbers]
    problems += _unproven(kept, numbers)
    records, numbered = tuple(line.record for line in counted), tuple(line.number for line in counted)
    return Journal(records, numbered, tuple(problems), chain[-1].digest if chain else "", forked=bool(lost))


def _lines(text: str) -> tuple[list[_Line], list[Problem]]:
    raw = text.split("\n")
    # A line that stands twice (a union merge may do that) is one record.
    found: dict[str, _Line] = {}
    problems: list[Problem] = []
    last = max((number for number, line in enumerate(raw) if line.strip()), default=-1)
    for number, line in enumerate(raw[: last + 1]):
        if not line.strip():
            continue
        line = line.removesuffix("\r")
        data = _object(line)
        entry, wrong = _record(data) if data is not None else (None, "is no JSON object")
        if entry is not None:
            digest = digest_of(line)
            found.setdefault(digest, _Line(number, line, entry, digest, _more(data)))
            continue
        # What was cut off is no whole object; a whole one with a wrong value was written that way.
        torn = data is None and number == last
        code, said = ("journal-torn", "cut off while it was written") if torn else ("journal-invalid", wrong)
        problems.append(Problem(code, said, Span(number, 0, number, len(line))))
    lines = list(found.values())
    # Records of one commit say how many follow; a commit that ends before that was never made.
    while lines and lines[-1].more > 0:
        problems.append(_at(lines.pop(), "journal-torn", "its commit was cut off while it was written"))
    return lines, problems


def _more(data: Mapping[str, Any] | None) -> int:
    more = data.get("more") if data else None
    return more if type(more) is int else 0


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object of a line as guards may see it: null is absent, numbers fit; None if it holds none."""
    document = read_json(line)
    data = clean(document.data)
    return data if document.readable and isinstance(data, dict) else None


def _record(data: Mapping[str, Any]) -> tuple[Record | None, str]:
    """(the record, "") or (None, what is wrong with it)."""
    for name, empty in _EMPTY.items():
        if name in data and type(data[name]) is not type(empty):
            return None, f"{name} must be a {_type_name(empty)}"
    if data.get("kind") not in KINDS:
        return None, f"unknown kind {data.get('kind')!r}"
    return {**_EMPTY, **{name: data[name] for name in _EMPTY if name in data}}, ""


def _type_name(value: object) -> str:
    return {str: "text", int: "whole number", list: "list"}[type(value)]


def _chain(lines: Sequence[_Line]) -> list[_Line]:
    """The longest chain from a line that follows none."""
    following: dict[object, list[_Line]] = {}
    for line in lines:
        following.setdefault(line.record["prev"], []).append(line)
    length = _lengths(following)
    chain: list[_Line] = []
    step = following.get("", [])
    while step:
        best = max(step, key=lambda line: (length[line.number], -line.number))
        chain.append(best)
        step = following.get(best.digest, [])
    return chain


def _relinked(chain: Sequence[_Line], lines: Sequence[_Line]) -> list[_Line]:
    """The chain with the branches that the relink records on it name, each just before its record.

    `about` has the digests of the branches' last lines, separated by commas. A branch goes back to where
    it left the chain, or to a line whose predecessor was taken out by a repair.
    """
    known = {line.digest: line for line in lines}
    placed = {line.digest for line in chain}
    whole: list[_Line] = []
    for line in chain:
        for head in str(line.record["about"]).split(",") if line.record["kind"] == "relink" else ():
            branch: list[_Line] = []
            before = known.get(head)
            while before is not None and before.digest not in placed:
                branch.append(before)
                placed.add(before.digest)
                before = known.get(str(before.record["prev"]))
            whole += reversed(branch)
        whole.append(line)
    return whole


def _off(chain: Sequence[_Line], lines: Sequence[_Line]) -> tuple[list[_Line], list[_Line]]:
    """(lines off the chain, those of them that follow nothing)."""
    on = {line.number for line in chain}
    digests = {line.digest for line in lines}
    lost = [line for line in lines if line.number not in on]
    return lost, [line for line in lost if line.record["prev"] and line.record["prev"] not in digests]


def _lengths(following: Mapping[object, list[_Line]]) -> dict[int, int]:
    """How many records the longest chain from each line has, itself included."""
    order: list[_Line] = []
    waiting = list(following.get("", []))
    while waiting:
        line = waiting.pop()
        order.append(line)
        waiting += following.get(line.digest, [])
    length: dict[int, int] = {}
    for line in reversed(order):
        length[line.number] = 1 + max(
            (length[after.number] for after in following.get(line.digest, [])), default=0
        )
    return length


def _counts_against(entry: Record) -> bool:
    return entry["kind"] == "report" and entry["outcome"] in FAILURES


def _unverified(lines: Sequence[_Line], verify: Verify) -> list[_Line]:
    decisions = [line for line in lines if line.record["kind"] in DECISIONS]
    good = verify([line.text for line in decisions]) if decisions else frozenset()
    return [line for index, line in enumerate(decisions) if index not in good]


def _unproven(lines: Sequence[_Line], refused: Container[int]) -> list[Problem]:
    """Decisions without proof: errors, but hints where a person has decided the same since, with proof."""
    problems: list[Problem] = []
    proven: dict[tuple[object, ...], int] = {}
    for line in reversed(lines):
        if line.record["kind"] not in DECISIONS:
            continue
        decided, said = _decided(line.record), "no proof that a person made this decision; it does not count"
        if line.number not in refused:
            proven[decided] = line.number
        elif decided in proven:
            said = f"{said}; line {proven[decided] + 1} decides it with proof"
            problem = _at(line, "decision-unverified", said)
            problems.append(problem._replace(severity=Severity.HINT))
        else:
            problems.append(_at(line, "decision-unverified", said))
    return problems[::-1]


def _decided(entry: Record) -> tuple[object, ...]:
    """What a decision decides: a question in a scope, or that the run moves to a phase."""
    return tuple(entry[name] for name in ("kind", "question", "scope", "next"))


def _at(line: _Line, code: str, message: str) -> Problem:
    return Problem(code, message, Span(line.number, 0, line.number, len(line.text)))


class Claim(NamedTuple):
    """A live claim: `actor` works on `task` until `until`; `seq` is the fencing token."""

    task: str
    actor: str
    until: str
    seq: int


def read_claims(text: str, now: str) -> tuple[Claim, ...]:
    """The claims that are alive at `now` (ISO 8601 in UTC), the newest of each task; released ones dropped.

    Lines that are no claim are passed over: claims only keep two from the same work, and each is asked for
    again when something is written.
    """
    newest: dict[str, Claim] = {}
    for line in text.split("\n"):
        data = read_json(line).data
        if not isinstance(data, dict) or not isinstance(data.get("task"), str):
            continue
        if data.get("kind") == "release":
            newest.pop(data["task"], None)
        elif data.get("kind") == "claim":
            newest[data["task"]] = _claim(data)
    return tuple(claim for claim in newest.values() if claim.until > now)


def _claim(data: Mapping[str, Any]) -> Claim:
    seq = data.get("seq")
    number = seq if type(seq) is int else 0
    return Claim(data["task"], str(data.get("actor", "")), str(data.get("until", "")), number)
