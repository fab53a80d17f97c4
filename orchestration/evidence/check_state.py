"""The state of a check at this moment: its attestation held against its inputs, definition and trust.

Pure: `check_state` compares values that somebody else looked up. What is not known for certain never passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..findings import Finding, Problem, Severity, Span, finding
from ..states import CheckResult
from ..vfs.files import digest_of
from .attestation import Attestation, PassedResult, Totals
from .checks import Check

MOST_NAMED = 3
"""So many changed inputs are named in a sentence."""
MOST_CHANGED = 20
"""So many changed inputs of one check are kept."""
MOST_LOCATED = 200
"""So many failed tests and issues of one check become findings."""
_SEVERITIES = {each.value: each for each in Severity}


class PresentInputs(NamedTuple):
    """What a check would run on now. `subject` is "" where that cannot be told; `problem` says why.

    `changed` are the first inputs that are not as the last result had them.
    """

    definition: str
    subject: str
    trusted: bool = False
    running: bool = False
    problem: str = ""
    changed: tuple[str, ...] = ()
    accepted_at: str = ""
    """When a person allowed the check last, who saw then what had become less."""


class Shrinkage(NamedTuple):
    """Something that is less than when the check passed last: the code of its finding, and both numbers."""

    code: str
    what: str
    before: float
    now: float
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckState:
    """A check as it stands. `reason` is a sentence; `attestation` the last result that is signed, if any."""

    check: str
    result: CheckResult
    reason: str
    definition: str = ""
    subject: str = ""
    attestation: Attestation | None = None
    path: str = ""
    """The file of the attestation."""
    accepted_at: str = ""
    changed: tuple[str, ...] = ()
    """The inputs that made its last result stale, the first of them."""

    @property
    def is_fresh(self) -> bool:
        return self.result.is_fresh

    @property
    def digest(self) -> str:
        """16 hex digits that differ where what guards see of it does, or it was measured another time."""
        return digest_of(json.dumps([self.data(), self.measured_at], sort_keys=True))

    @property
    def measured_at(self) -> str:
        """When its last result was made, "" where there is none."""
        return self.attestation.ended_at if self.attestation else ""

    @property
    def shrinkage(self) -> tuple[Shrinkage, ...]:
        """What is less than when the check passed last and nobody has accepted; () unless it is fresh."""
        now = self.attestation
        before = now.before if now and self.is_fresh else None
        if now is None or before is None or now.ended_at <= self.accepted_at:
            return ()
        return tuple(shrinkage(now, before))

    def data(self) -> dict[str, Any]:
        """What guards see as `checks.NAME`. Numbers are there only while the result is fresh, if known."""
        data: dict[str, Any] = {
            "name": self.check,
            "result": self.result.value,
            "fresh": self.is_fresh,
            "reason": self.reason,
        }
        if not self.is_fresh or self.attestation is None:
            return data
        totals, shrunk = self.attestation.totals, self.shrinkage
        counts = {"total": totals.total, "passed": totals.passed, "failed": totals.failed}
        data |= _without_none({**counts, "skipped": totals.skipped})
        data |= {"failures": list(self.attestation.failed_tests)}
        data |= {"coverage": _without_none({"lines": totals.lines, "branches": totals.branches})}
        issues = {"error": totals.error, "warning": totals.warning, "note": totals.note}
        data |= {"issues": _without_none(issues)}
        less = {each.code: int(abs(each.before - each.now)) for each in shrunk}
        data |= {"removed": less.get("tests-removed", 0), "newly_skipped": less.get("tests-skipped", 0)}
        return data | {"narrowed": "check-narrowed" in less, "lowered": "threshold-lowered" in less}


def _without_none(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: number for name, number in numbers.items() if number is not None}


def check_state(
    check: Check, present: PresentInputs, attestation: Attestation | None, path: str, why_none: str = ""
) -> CheckState:
    """The state of a check; `why_none` says why the file at `path` holds no attestation that counts."""
    result, reason = _result(present, attestation, why_none)
    then = attestation if result is CheckResult.STALE else None
    changed = (then.changed or present.changed) if then else ()
    return CheckState(
        check.name,
        result,
        reason,
        present.definition,
        present.subject,
        attestation,
        path,
        present.accepted_at,
        changed[:MOST_CHANGED],
    )


def _result(present: PresentInputs, last: Attestation | None, why_none: str) -> tuple[CheckResult, str]:
    is_allowed = present.trusted or (
        last is not None and last.trust == "head" and _same_command(present, last)
    )
    if not is_allowed:
        return CheckResult.UNTRUSTED, "no person allowed what it runs; `phasekeeper trust` shows it and asks"
    is_fresh = last is not None and not _staleness(present, last)
    if present.running and not is_fresh:
        return CheckResult.RUNNING, "it is running"
    if last is None:
        return CheckResult.MISSING, why_none or "it has not run here yet"
    if stale := _staleness(present, last):
        return CheckResult.STALE, stale
    if last.passed:
        return CheckResult.PASSED, passed_text(last)
    return CheckResult.FAILED, failed_text(last)


def _same_command(present: PresentInputs, last: Attestation) -> bool:
    return present.definition == last.definition


def _staleness(present: PresentInputs, last: Attestation) -> str:
    """Why a result does not count for what is there now; "" where it does."""
    if not _same_command(present, last):
        return "what it runs has changed since it ran"
    if last.changed:
        return f"{_list_names(last.changed)} changed while it ran"
    if not present.subject:
        return present.problem or "its inputs cannot be told"
    if present.subject != last.subject:
        return changed_text(present.changed)
    return ""


def changed_text(places: Sequence[str]) -> str:
    """That inputs changed since a check ran: those at some places, PATH or PATH:LINE."""
    return f"{_list_names(places) or 'its inputs'} changed since it ran"


def _list_names(paths: Sequence[str]) -> str:
    more = len(paths) - MOST_NAMED
    return ", ".join(paths[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def passed_text(result: Attestation) -> str:
    """What a result that passed says, in a few words."""
    totals = result.totals
    if totals.total is None:
        return "it passed"
    skipped = f", {totals.skipped} skipped" if totals.skipped else ""
    return f"{totals.passed} of {totals.total} tests passed{skipped}"


def failed_text(result: Attestation) -> str:
    """Why a result failed: what stood in its way, else the tests that did, else the exit code."""
    if result.problem:
        return result.problem
    if result.totals.failed:
        failed = _list_names(result.failed_tests)
        return (
            f"{result.totals.failed} of {result.totals.total} tests failed{f': {failed}' if failed else ''}"
        )
    return f"it ended with exit code {result.exit_code}"


# ---- less than before ---------------------------------------------------------------------------


def shrinkage(now: Attestation, before: PassedResult) -> Iterator[Shrinkage]:
    """What is less in a result than in one that passed before."""
    then: Totals = before.totals
    if (n := _less(then.total, now.totals.total)) is not None:
        yield Shrinkage("tests-removed", "tests ran", *n)
    if (n := _less(now.totals.skipped, then.skipped)) is not None:
        yield Shrinkage("tests-skipped", "tests were skipped", n[1], n[0])
    for what in ("lines", "branches"):
        if (n := _less(getattr(then, what), getattr(now.totals, what))) is not None:
            yield Shrinkage("coverage-dropped", f"of {what} covered", *n)
    present = {each.name: each for each in now.thresholds}
    for each in before.thresholds:
        if each.name not in present:
            what = f"% is the threshold {each.name}, which {each.place} sets no more"
            yield Shrinkage("threshold-lowered", what, each.least, 0)
        elif (least := present[each.name]).least < each.least:
            what = f"% is the threshold {each.name} of {least.place}"
            yield Shrinkage("threshold-lowered", what, each.least, least.least)
    gone = tuple(pattern for pattern in before.patterns if pattern not in now.patterns)
    if gone and now.inputs < before.inputs:
        yield Shrinkage("check-narrowed", "files were its inputs", before.inputs, now.inputs, gone)
    elif not before.patterns and now.patterns and now.inputs < before.inputs:
        yield Shrinkage("check-narrowed", "files were its inputs", before.inputs, now.inputs, ())


def _less(before: float | None, now: float | None) -> tuple[float, float] | None:
    """Both numbers, where the second is smaller."""
    return (before, now) if before is not None and now is not None and now < before else None


# ---- findings -----------------------------------------------------------------------------------


def check_findings(check: Check, state: CheckState, config: str) -> list[Finding]:
    """What is to be said of a check: at its name in the configuration, and where its reports point to."""
    found = [finding(problem, config) for problem in _problems(check, state)]
    if state.is_fresh and state.attestation:
        found += _located_findings(state.attestation)
    return found


def _problems(check: Check, state: CheckState) -> Iterator[Problem]:
    named = {"check": check.name, "result": state.result.value}
    match state.result:
        case CheckResult.UNTRUSTED:
            yield Problem("check-untrusted", f"{check.name}: {state.reason}", check.span, data=named)
        case CheckResult.FAILED:
            yield Problem("check-failed", f"{check.name}: {state.reason}", check.span, data=named)
        case CheckResult.STALE | CheckResult.MISSING:
            said = f"{check.name}: {state.reason}; `phasekeeper verify` runs it"
            yield Problem("check-stale", said, check.span, data=named)
    for each in state.shrinkage:
        assert state.attestation
        assert state.attestation.before
        at = state.attestation.before.ended_at
        gone = f", without {_list_names(each.added)}" if each.added else ""
        said = f"{check.name}: {each.now:g} {each.what}{gone}; it was {each.before:g} when it passed at {at}"
        said += f" ({state.path})"
        yield Problem(each.code, said, check.span, data=named)


def _located_findings(result: Attestation) -> Iterator[Finding]:
    for each in result.findings[:MOST_LOCATED]:
        line = max(each.line - 1, 0)
        span = Span(line, 0, line + 1, 0) if each.line else Span(0, 0, 0, 1)
        severity = _SEVERITIES.get(each.severity, Severity.WARNING)
        said = f"{result.check}: {each.message}"
        yield finding(Problem(each.code, said, span, severity), each.path)
