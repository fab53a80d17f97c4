"""The closed sets of words in an evaluation and a journal: states and kinds.

JSON has the words themselves, and its schema takes them from here; a new word is a change of the interface
(design, section 5).
"""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """State of a run as a whole. INVALID: its files cannot be evaluated."""

    ACTIVE = "active"
    WAITING = "waiting"
    WAITING_HUMAN = "waiting_human"
    BLOCKED = "blocked"
    COMPLETE = "complete"
    FAILED = "failed"
    EXITED = "exited"
    INVALID = "invalid"

    @property
    def is_over(self) -> bool:
        """True if nothing more is to be done."""
        return self in (RunStatus.COMPLETE, RunStatus.FAILED, RunStatus.EXITED)


class SuggestionKind(StrEnum):
    """Kind of the next step."""

    ADVANCE = "advance"
    REGRESS = "regress"
    STAY = "stay"
    ACT = "act"
    WAIT = "wait"
    ESCALATE = "escalate"
    STOP = "stop"
    NONE = "none"

    @property
    def is_final(self) -> bool:
        """True if no step follows: the run is over, or cannot be evaluated."""
        return self in _FINAL

    @property
    def is_work(self) -> bool:
        """True if somebody has a phase or an action to do."""
        return self in _WORK

    @property
    def leads_elsewhere(self) -> bool:
        """True if the run moves to another phase."""
        return self in _ELSEWHERE


# Tuples: members are found by identity, while sets would call the slow hash of an enumeration's member.
_FINAL = (SuggestionKind.STOP, SuggestionKind.NONE)
_ELSEWHERE = (SuggestionKind.ADVANCE, SuggestionKind.REGRESS)
_WORK = (*_ELSEWHERE, SuggestionKind.STAY, SuggestionKind.ACT)


class PhaseStatus(StrEnum):
    """State of a phase in a run. AHEAD: still to come, or not delivered; DETOUR: out of the usual order.

    A detour that was done is DONE. Of a complete run none is CURRENT: the last one is DONE.
    """

    DONE = "done"
    CURRENT = "current"
    AHEAD = "ahead"
    SKIPPED = "skipped"
    DETOUR = "detour"


class ArtifactStatus(StrEnum):
    """State of a declared file; guards see the data of a VALID one only.

    PROPOSED: it is a person's decision, and no person is known to have made it.
    """

    MISSING = "missing"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    INVALID = "invalid"
    VALID = "valid"
    STALE = "stale"
    PROPOSED = "proposed"


class GateStatus(StrEnum):
    """State of a gate. OPEN: its evidence is not complete; WAIVED: a person's override goes without it."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"
    WAIVED = "waived"
    NOT_REACHED = "not-reached"


class Basis(StrEnum):
    """The ground of a verdict, the strongest first. MEASURED: a fresh result of a check.


    DECIDED: a person's proven answer or override. RECORDED: the content of a file that the definition names.
    REPORTED: a report's word, or that of a file which the reports of a workflow write.
    """

    MEASURED = "measured"
    DECIDED = "decided"
    RECORDED = "recorded"
    REPORTED = "reported"

    def holds(self, wanted: Basis) -> bool:
        """True if it is as strong as the wanted one."""
        return _BASES.index(self) <= _BASES.index(wanted)


_BASES = tuple(Basis)


class CheckResult(StrEnum):
    """What a check says now. STALE: its last result was made on other bytes, or by another command.
    MISSING: there is no result that counts. UNTRUSTED: no person allowed what it runs.
    """

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"
    MISSING = "missing"
    RUNNING = "running"
    UNTRUSTED = "untrusted"

    @property
    def is_fresh(self) -> bool:
        """True if it was measured on the bytes that are there."""
        return self in (CheckResult.PASSED, CheckResult.FAILED)


class QuestionKind(StrEnum):
    """Kind of what a person is asked for: consent, a way out, or an answer in words."""

    APPROVAL = "approval"
    ESCALATION = "escalation"
    CLARIFICATION = "clarification"


class RequirementKind(StrEnum):
    """Kind of what a report has to come with, as the keys of `brings`.

    CHANGED and DIFFERS compare with what failed or was sent back.
    """

    REPORT = "report"
    DATA = "data"
    FILES = "files"
    ABSENT = "absent"
    MISSING = "missing"
    NAMED = "named"
    HOLDS = "holds"
    CHECKS = "checks"
    CHANGED = "changed"
    DIFFERS = "differs"

    @property
    def is_of_change(self) -> bool:
        return self in (RequirementKind.CHANGED, RequirementKind.DIFFERS)


class TaskStatus(StrEnum):
    """State of a task of a plan. REPORTED: done as somebody says, and not checked yet. FAILED: the newest
    report of it says so."""

    DONE = "done"
    FAILED = "failed"
    READY = "ready"
    BLOCKED = "blocked"
    CLAIMED = "claimed"
    REPORTED = "reported"
    SKIPPED = "skipped"


class RecordKind(StrEnum):
    """Kind of a line of a journal."""

    START = "start"
    REPORT = "report"
    TRANSITION = "transition"
    QUESTION = "question"
    ANSWER = "answer"
    OVERRIDE = "override"
    CLAIM = "claim"
    RELEASE = "release"
    VIOLATION = "violation"
    REFUSED = "refused"
    RELINK = "relink"
    VERIFIED = "verified"
