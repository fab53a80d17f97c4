"""The state of a check: what its result is worth for what is there now, and what became less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from phasekeeper.orchestration.definition.root_config import PATH
from phasekeeper.orchestration.evidence.attestation import (
    HEAD,
    Attestation,
    AttestationError,
    LocatedFinding,
    PassedResult,
    Totals,
    envelope,
    read_envelope,
)
from phasekeeper.orchestration.evidence.check_state import (
    CheckState,
    PresentInputs,
    check_findings,
    check_state,
    failed_text,
    passed_text,
)
from phasekeeper.orchestration.evidence.checks import Check
from phasekeeper.orchestration.findings import Severity, Span

CHECK = Check("tests", ("make",), span=Span(3, 2, 3, 7))
LAST = Attestation("tests", "", True, "aa", "d1", 3, "t0", "t1", 0)
NOW = PresentInputs("d1", "aa", trusted=True)


def state(now: PresentInputs = NOW, last: Attestation | None = LAST, why: str = "") -> CheckState:
    return check_state(CHECK, now, last, "e.json", why)


@pytest.mark.parametrize(
    ("now", "last", "result", "reason"),
    [
        (NOW, LAST, "passed", "it passed"),
        (NOW, replace(LAST, passed=False, exit_code=2), "failed", "it ended with exit code 2"),
        (NOW._replace(trusted=False), LAST, "untrusted", "no person allowed what it runs"),
        (NOW._replace(trusted=False), None, "untrusted", "no person allowed what it runs"),
        (NOW._replace(trusted=False), replace(LAST, trust=HEAD), "passed", "it passed"),
        (NOW._replace(trusted=False, definition="d2"), replace(LAST, trust=HEAD), "untrusted", "no person"),
        (NOW, None, "missing", "it has not run here yet"),
        (NOW._replace(running=True), None, "running", "it is running"),
        (NOW._replace(running=True, subject="bb"), LAST, "running", "it is running"),
        (NOW._replace(running=True), LAST, "passed", "it passed"),
        (NOW._replace(definition="d2"), LAST, "stale", "what it runs has changed since it ran"),
        (NOW, replace(LAST, changed=("a", "b", "c", "d", "e")), "stale", "a, b, c and 2 more changed while"),
        (NOW._replace(subject="", problem="it has no inputs"), LAST, "stale", "it has no inputs"),
        (NOW._replace(subject=""), LAST, "stale", "its inputs cannot be told"),
        (NOW._replace(subject="bb", changed=("x",)), LAST, "stale", "x changed since it ran"),
        (NOW._replace(subject="bb"), LAST, "stale", "its inputs changed since it ran"),
    ],
)
def test_a_result_is_worth_something_for_the_bytes_and_the_command_it_was_made_with(
    now: PresentInputs, last: Attestation | None, result: str, reason: str
) -> None:
    found = state(now, last)
    assert found.result == result
    assert found.reason.startswith(reason)
    assert found.data()["result"] == result
    assert ("removed" in found.data()) == found.is_fresh == found.result.is_fresh


def test_why_there_is_no_result_is_told() -> None:
    assert state(last=None, why="e.json is no signed envelope").reason == "e.json is no signed envelope"


def test_a_result_in_words() -> None:
    whole = replace(LAST, totals=Totals(total=4, passed=3, failed=0, skipped=1))
    assert passed_text(whole) == "3 of 4 tests passed, 1 skipped"
    assert passed_text(replace(LAST, totals=Totals(total=4, passed=4, skipped=0))) == "4 of 4 tests passed"
    failed = replace(LAST, totals=Totals(total=4, failed=2), failed_tests=("a.b", "c"))
    assert failed_text(failed) == "2 of 4 tests failed: a.b, c"
    assert failed_text(replace(failed, failed_tests=())) == "2 of 4 tests failed"
    assert failed_text(replace(failed, problem="it was ended")) == "it was ended"


def test_numbers_are_those_of_the_reports_and_no_others() -> None:
    totals = Totals(total=2, passed=2, failed=0, skipped=0, lines=0.5, error=1)
    data = state(last=replace(LAST, totals=totals, failed_tests=("x",))).data()
    assert (data["total"], data["failed"], data["failures"]) == (2, 0, ["x"])
    assert (data["coverage"], data["issues"]) == ({"lines": 0.5}, {"error": 1})
    assert "total" not in state().data()


BEFORE = PassedResult("t0", Totals(total=9, skipped=0, lines=0.9, branches=0.5), 30, ("src/**", "tests/**"))
LESS = replace(
    LAST,
    totals=Totals(total=7, skipped=2, lines=0.8, branches=0.5),
    before=BEFORE,
    inputs=20,
    patterns=("src/**",),
)


def test_what_is_less_than_before_is_told_with_both_numbers_and_where_the_old_one_stands() -> None:
    less = {each.code: (each.before, each.now) for each in state(last=LESS).shrinkage}
    assert less == {
        "tests-removed": (9, 7),
        "tests-skipped": (0, 2),
        "coverage-dropped": (0.9, 0.8),
        "check-narrowed": (30, 20),
    }
    data = state(last=LESS).data()
    assert (data["removed"], data["newly_skipped"], data["narrowed"]) == (2, 2, True)
    found = {each.code: each.message for each in check_findings(CHECK, state(last=LESS), PATH)}
    told = "tests: 7 tests ran; it was 9 when it passed at t0 (e.json)"
    assert found["tests-removed"] == told
    assert "without tests/**" in found["check-narrowed"]


def test_what_a_person_accepted_or_was_deleted_is_not_less() -> None:
    assert state(NOW._replace(accepted_at="t2"), LESS).shrinkage == ()
    assert state(NOW._replace(subject="bb"), LESS).shrinkage == ()
    assert state(last=replace(LAST, before=BEFORE, inputs=20, patterns=BEFORE.patterns)).shrinkage == ()
    named = replace(LAST, before=PassedResult("t0", Totals(), 30), inputs=20, patterns=("src/**",))
    assert [each.code for each in state(last=named).shrinkage] == ["check-narrowed"]


@pytest.mark.parametrize(
    ("now", "last", "code"),
    [
        (NOW._replace(trusted=False), LAST, "check-untrusted"),
        (NOW, replace(LAST, passed=False), "check-failed"),
        (NOW._replace(subject="bb"), LAST, "check-stale"),
        (NOW, None, "check-stale"),
    ],
)
def test_a_finding_stands_at_the_name_of_the_check(
    now: PresentInputs, last: Attestation | None, code: str
) -> None:
    [found] = check_findings(CHECK, state(now, last), PATH)
    assert (found.code, found.path, found.span) == (code, PATH, CHECK.span)


def test_nothing_is_said_of_a_check_that_passed_or_runs() -> None:
    assert check_findings(CHECK, state(), PATH) == []
    assert check_findings(CHECK, state(NOW._replace(running=True), None), PATH) == []


def test_failed_tests_and_issues_stand_at_their_lines_while_the_result_is_fresh() -> None:
    located = (
        LocatedFinding("test-failed", "error", "t failed", "tests/t.py", 7),
        LocatedFinding("issue-reported", "odd", "unused", "src/a.py"),
    )
    last = replace(LAST, findings=located)
    first, second = check_findings(CHECK, state(last=last), PATH)
    assert (first.code, first.path, first.span) == ("test-failed", "tests/t.py", Span(6, 0, 7, 0))
    assert (first.message, first.severity) == ("tests: t failed", Severity.ERROR)
    assert (second.path, second.span, second.severity) == ("src/a.py", Span(0, 0, 0, 1), Severity.WARNING)
    assert [each.code for each in check_findings(CHECK, state(NOW._replace(subject="bb"), last), PATH)] == [
        "check-stale"
    ]


# ---- attestations -------------------------------------------------------------------------------


def test_an_attestation_reads_as_it_was_written() -> None:
    whole = replace(
        LESS,
        findings=(LocatedFinding("test-failed", "error", "no", "a.py", 1),),
        passed_tests=("a",),
        failed_tests=("b",),
        command=("make",),
        actor="Ada",
    )
    for each in (whole, LAST):
        assert read_envelope(envelope(each, b"key"), b"key") == each


@pytest.mark.parametrize("key", [None, b"other"])
def test_one_that_the_key_did_not_sign_is_refused(key: bytes | None) -> None:
    with pytest.raises(AttestationError):
        read_envelope(envelope(LAST, b"key"), key)


@pytest.mark.parametrize(
    "text", ["", "PASS", "[]", "{}", '{"payload": "", "signatures": [], "payloadType": "x"}']
)
def test_what_is_no_envelope_is_refused(text: str) -> None:
    with pytest.raises(AttestationError, match=r"is no signed envelope|holds no in-toto statement"):
        read_envelope(text, b"key")


def test_a_signed_statement_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from phasekeeper.orchestration.evidence import attestation

    for form in ({"_type": "x", "predicateType": "y"}, {"_type": attestation.STATEMENT}, []):
        monkeypatch.setattr(attestation, "statement", lambda _, form=form: form)
        with pytest.raises(AttestationError, match="of another form"):
            read_envelope(envelope(LAST, b"key"), b"key")
