"""The journal: append-only lines that record reports, transitions and decisions of a run.

One JSON object a line; `prev` is the digest of the line before (design, section 6). Reading never
raises: a line that cannot be read in the middle makes the whole journal `broken`, at the end it is
torn and ignored. What a fork costs is decided here too: branches that contradict nothing count whole
(`branches`); of the others failures count, passes and approvals only of the longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..findings import Problem, Severity, Span
from ..states import RecordKind
from .branches import FAILURES, Contradiction, RecordLine, merge_lines
from .lines import JournalLine, Record, parse_line, parse_lines, split_lines

KINDS = tuple(RecordKind)
DECISIONS = ("answer", "override")
PROVEN = (*DECISIONS, RecordKind.VERIFIED.value)
"""The kinds of records that count only with a proof: that a person decided, that a check measured."""
# The question that an answer of a repair answers: its `about` has the digests of the decision lines that a
# person confirmed, separated by commas. No question of a definition can have this name.
CONFIRMATION = "earlier-decisions"
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
    "scope": ("", "what an answer holds for; of a verified record, what was run"),
    "option": ("", "what was chosen"),
    "asked": ("", "in an answer: the question in the words that the person read"),
    "options": ([], "in an answer: the options that the person had, each with its id and text"),
    "why": ("", "the reason"),
    "gates": ([], "the gates that an override waives"),
    "phases": ([], "the phases that an override lets go undelivered"),
    "about": ("", "the substance that an answer holds for; of a report, how it changed that; else what ran"),
    "stages": ([], "in an answer about a plan: its stages, each with the number of its tasks"),
    "files": ([], "files with their digests as they were then"),
    "message": ("", "what a report says in a line"),
    "manual_criteria": ([], "criteria that a report leaves to a person"),
    "ignored": ([], "what a report wanted to write and may not, with the reasons"),
    "held": ([], "values that may not be loosened, as they were then, where they differ from before"),
    "path": ("", "the report's file"),
    "written": ("", "when that was written, where its record came later"),
    "given": ("", "of a report: the digest of the data that it came with"),
    "check": ("", "in a verified record: the check"),
    "numbers": ([], "in a verified record: the numbers that guards saw of the check, by name"),
    "actor": ("", "who"),
    "channel": ("", "by which way"),
    "request": ("", "the id that the caller gave the call"),
    "program": ("", "in a decision: the program in which the person was asked, as it names itself"),
    "mac": ("", "the proof that a person decided"),
    "signature": ("", "the proof that a person decided: a signature by their SSH key"),
    "decided": ("", "in a decision of another machine: when the person signed it there"),
    "after": ("", "in such an answer: the digest of the last line that the person's machine knew of"),
    "prev": ("", "the digest of the line before"),
}
"""The fields of a record: the value where nothing is given, and what it means."""
_EMPTY = {name: empty for name, (empty, _) in FIELDS.items()}


class Proofs(NamedTuple):
    """Which of some lines of PROVEN kinds are proven, by their indexes, and of others why they are not, with
    what to do about it; without such a word the general one is said."""

    proven: frozenset[int] = frozenset()
    reasons: Mapping[int, str] = {}


# The proofs of some lines; the caller knows keys and commits, the journal does not.
Verify = Callable[[Sequence[str]], Proofs]


def prove_none(lines: Sequence[str]) -> Proofs:
    """No line is proven."""
    return Proofs()


def record(**fields: object) -> Record:
    """A record with every field there, empty where nothing is given, so that guards need no `has`."""
    return {**_EMPTY, **fields}


EMPTY_RECORD: Mapping[str, object] = record()


def files_of(entry: Mapping[str, object]) -> dict[str, str]:
    """path -> digest of the files that a record names."""
    named = entry["files"] if isinstance(entry["files"], list) else []
    items: list[Any] = [item for item in named if isinstance(item, dict)]
    return {str(item.get("path")): str(item.get("digest")) for item in items}


class Journal(NamedTuple):
    """A journal as read. `records` are in the order of the chain, `lines` are their
    zero-based line numbers; `head` is the digest of the line that the next one follows.

    `forked` says that branches wait for a person; `merged` are the last lines of those that count without
    one, which the next write links. `broken` says that a line in the middle cannot be trusted, or, with why
    in `unread`, that the file cannot be read; then there are no records.
    """

    records: tuple[Record, ...] = ()
    lines: tuple[int, ...] = ()
    problems: tuple[Problem, ...] = ()
    head: str = ""
    forked: bool = False
    merged: tuple[str, ...] = ()
    broken: bool = False
    unread: str = ""


def read_journal(
    text: str | bytes, verify: Verify = prove_none, known: dict[str, RecordLine] | None = None
) -> Journal:
    """The journal in `text`. `verify(lines)` gives the proofs of its lines of `PROVEN` kinds.

    `known` keeps its records by their lines between calls: a line that stands in it is not parsed again, and
    its record stays the same object.
    """
    lines, problems = record_lines(text, known)
    if any(problem.code == "journal-invalid" for problem in problems):
        return Journal((), (), tuple(problems), broken=True)
    merged = merge_lines(lines)
    chain, lost, digests = merged.chain, merged.lost, {"", *(line.digest for line in lines)}
    unlinked = [line for line in lost if line.record["prev"] not in digests]
    if unlinked:
        said = "does not follow any line: one was changed or taken out"
        problems += [_problem(line, "journal-invalid", said) for line in unlinked]
        return Journal((), (), tuple(problems), broken=True)
    if lost:
        problems.append(_problem(lost[0], "journal-forked", _forked_message(lost, merged.contradiction)))
    failed = [line for line in lost if line.record["kind"] == "report" and line.record["outcome"] in FAILURES]
    decisions = [line for line in chain if line.record["kind"] in PROVEN]
    proofs = verify([line.text for line in decisions]) if decisions else Proofs()
    refused = {
        line.number: proofs.reasons.get(index, "")
        for index, line in enumerate(decisions)
        if index not in proofs.proven
    }
    problems += _unproven(decisions, refused)
    counted = [line for line in (*chain, *failed) if line.number not in refused]
    records, numbers = tuple(line.record for line in counted), tuple(line.number for line in counted)
    return Journal(records, numbers, tuple(problems), merged.head, bool(lost), tuple(merged.heads))


def record_lines(
    text: str | bytes, known: dict[str, RecordLine] | None = None
) -> tuple[list[RecordLine], list[Problem]]:
    """(the records in the order of their lines, each once; what is wrong with the other lines).

    `known` is as `read_journal` has it.
    """
    # A line that stands twice (a union merge may do that) is one record.
    records: dict[str, RecordLine] = {}
    problems: list[Problem] = []
    parts, before = split_lines(text), known or {}
    for part in parts:
        if part[0] in before:
            same = before[part[0]]
            records.setdefault(same.digest, same._replace(number=part[1]))
            continue
        line = parse_line(*part)
        data = line.data
        fault = record_fault(data)
        if data is not None and not fault:
            entry = {**_EMPTY, **{name: data[name] for name in _EMPTY if name in data}}
            digest = line.digest
            records.setdefault(
                digest, RecordLine(line.number, line.text, entry, digest, line.integer("more"))
            )
        elif data is None and part is parts[-1]:
            # What was cut off is no whole object; a whole one with a wrong value was written that way.
            problems.append(_problem(line, "journal-torn", "cut off while it was written"))
        else:
            problems.append(_problem(line, "journal-invalid", fault))
    lines = list(records.values())
    if known is not None:
        known.clear()
        known |= {line.text: line for line in lines}
    # Records of one commit say how many follow; a commit that ends before that was never made.
    while lines and lines[-1].more > 0:
        problems.append(_problem(lines.pop(), "journal-torn", "its commit was cut off while it was written"))
    return lines, problems


def record_fault(data: Mapping[str, Any] | None) -> str:
    """The reason why the object of a line is no record; "" where it is one. Null is absent."""
    if data is None:
        return "is no JSON object"
    for name, empty in _EMPTY.items():
        value = data.get(name)
        if value is not None and type(value) is not type(empty):
            return f"{name} must be a {_TYPE_NAMES[type(empty)]}"
    return "" if data.get("kind") in KINDS else f"unknown kind {data.get('kind')!r}"


_TYPE_NAMES = {str: "text", int: "whole number", list: "list"}


def _forked_message(lost: Sequence[RecordLine], contradiction: Contradiction | None) -> str:
    waiting = "1 record awaits" if len(lost) == 1 else f"{len(lost)} records await"
    if contradiction is None:
        return f"a second line follows the same line; {waiting} repair"
    ours, theirs = contradiction
    both = f"{_phrase(theirs)} and, in line {ours.number + 1}, {_phrase(ours)}"
    return f"two branches contradict each other: {both}; {waiting} repair"


def _phrase(line: RecordLine) -> str:
    """Name what a record says in a few words, for people."""
    entry = line.record
    tasks = entry["tasks"] if isinstance(entry["tasks"], list) else []
    words = [entry["phase"] or entry["question"] or entry["kind"], entry["outcome"] or entry["option"]]
    words += ["of " + ", ".join(map(str, tasks))] if tasks else []
    words += [f"by {entry['actor']}"] if entry["actor"] else []
    return " ".join(str(word) for word in words if word)


def _unproven(decisions: Sequence[RecordLine], refused: Mapping[int, str]) -> list[Problem]:
    """Decisions without proof: errors, but hints where a person has decided the same since, with proof.

    The same is decided about one question in one scope, or by moving the run to the same phase. `refused` are
    the numbers of their lines, with the reasons that are known.
    """
    problems: list[Problem] = []
    proven: dict[tuple[object, ...], int] = {}
    for line in reversed(decisions):
        if line.record["kind"] == RecordKind.VERIFIED:
            problems += [_problem(line, "evidence-unverified", _UNMEASURED)] if line.number in refused else []
            continue
        decided = tuple(line.record[name] for name in ("kind", "question", "scope", "next"))
        if line.number not in refused:
            proven[decided] = line.number
            continue
        why = refused[line.number] or _UNPROVEN
        problem = _problem(line, "decision-unverified", why)
        if decided in proven:
            said = f"{why}; line {proven[decided] + 1} decides it with proof"
            problem = problem._replace(message=said, severity=Severity.HINT)
        problems.append(problem)
    return problems[::-1]


_UNPROVEN = (
    "no proof that a person made this decision here, so it does not count; one of before an upgrade, or a "
    "move of the folder, is confirmed by `phasekeeper repair`"
)


_UNMEASURED = (
    "no proof that a check measured this, so it does not count; `phasekeeper verify` measures it, and what "
    "others measured counts once it is committed"
)


def _problem(line: RecordLine | JournalLine, code: str, message: str) -> Problem:
    return Problem(code, message, Span(line.number, 0, line.number, len(line.text)))


class Claim(NamedTuple):
    """A live claim: `actor` works on `task` until `until`; `seq` fences writes, `key` is the digest of the
    token that its holder has. `fence` is its revision among the machines of a fleet, 0 where it holds on this
    machine alone."""

    task: str
    actor: str
    until: str
    seq: int
    key: str = ""
    fence: int = 0


def read_claims(log: str | bytes, now: str) -> tuple[Claim, ...]:
    """The claims that are alive at `now` (ISO 8601 in UTC), the newest of each task; released ones dropped.

    Lines that are no claim are passed over: claims only keep two from the same work, and each is asked for
    again when something is written.
    """
    newest: dict[str, Claim] = {}
    for line in parse_lines(log):
        data = line.written or {}
        task = data.get("task")
        if isinstance(task, str) and data.get("kind") == "release":
            newest.pop(task, None)
        elif isinstance(task, str) and data.get("kind") == "claim":
            actor, until = str(data.get("actor", "")), str(data.get("until", ""))
            key, fence = str(data.get("key", "")), line.integer("fence")
            newest[task] = Claim(task, actor, until, line.integer("seq"), key, fence)
    return tuple(claim for claim in newest.values() if claim.until > now)


def changed_substance(before: str, after: str) -> str:
    """What a record says in `about` of a substance that its own effects changed."""
    return f"{before}>{after}"


def answers_to(question: str, scope: str, options: Iterable[str]) -> dict[str, Any]:
    """The pattern of the answers to a question that choose one of these options."""
    answer = RecordKind.ANSWER.value
    return {"kind": answer, "question": question, "scope": scope, "option": [*options]}


def raised_stop(records: Sequence[Record]) -> Record | None:
    """The newest record, where it is the answer to a raised question that stops the run."""
    newest = records[-1] if records else None
    is_stop = newest is not None and (newest["kind"], newest["option"]) == (RecordKind.ANSWER, "stop")
    return newest if newest and is_stop and str(newest["question"]).startswith("raised:") else None


def files_answered(answer: Record, records: Sequence[Record], revising: Collection[str]) -> dict[str, str]:
    """path → digest of the files that an answer holds for, as reports of the `revising` steps left them."""
    kept = dict(files_of(answer))
    since = next(number for number, entry in enumerate(records) if entry is answer)
    for entry in records[since:] if revising else ():
        if entry["kind"] == RecordKind.REPORT and entry["phase"] in revising:
            kept |= {path: digest for path, digest in files_of(entry).items() if path in kept}
    return kept


def substance_now(answer: Record, records: Sequence[Record]) -> str:
    """The substance that an answer holds for, with what the workflow itself changed of it since.

    A change by anybody else breaks the chain: what the next report began from is not what was answered.
    """
    about = str(answer["about"])
    since = next(number for number, entry in enumerate(records) if entry is answer)
    for entry in records[since:]:
        before, arrow, after = str(entry["about"]).partition(">")
        if arrow and before == about and entry["kind"] == RecordKind.REPORT:
            about = after
    return about
