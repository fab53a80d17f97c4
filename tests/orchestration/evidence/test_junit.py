"""Cases of JUnit XML are counted one by one, and what cannot be told counts as failed."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evidence.report_readers import read_report
from phasekeeper.orchestration.evidence.tool_report import MOST_ISSUES, CaseCounts, ToolReport


def report(inside: str, root: str = "testsuite") -> ToolReport:
    return read_report("junit", f"<{root}>{inside}</{root.split()[0]}>".encode())


def counts(inside: str, root: str = "testsuite") -> dict[str, int]:
    """The counts that are not zero."""
    found = report(inside, root).counts
    assert isinstance(found, CaseCounts)
    return {name: count for name, count in found._asdict().items() if count}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("<testcase name='a'/>", {"total": 1, "passed": 1}),
        ("<testcase name='a'><failure/></testcase>", {"total": 1, "failed": 1}),
        ("<testcase name='a'><error/></testcase>", {"total": 1, "failed": 1, "errors": 1}),
        ("<testcase name='a'><failure/><failure/><error/></testcase>", {"total": 1, "failed": 1}),
        ("<testcase name='a'><skipped/></testcase>", {"total": 1, "skipped": 1}),
        ("<testcase name='a'><skipped/><failure/></testcase>", {"total": 1, "failed": 1}),
        ("<testcase name='a'><flakyFailure/></testcase>", {"total": 1, "passed": 1, "flaky": 1}),
        ("<testcase name='a'><failure/><rerunFailure/></testcase>", {"total": 1, "failed": 1}),
        ("<testcase name='a'><rerunError/></testcase>", {"total": 1, "failed": 1, "errors": 1}),
        ("<testcase name='a' status='notrun' result='suppressed'/>", {"total": 1, "skipped": 1}),
        ("<testcase name='a' status='run' result='completed'/>", {"total": 1, "passed": 1}),
        ("<testcase name='a' status='Failed'/>", {"total": 1, "failed": 1}),
        ("<testcase name='a'><system-out>failure</system-out></testcase>", {"total": 1, "passed": 1}),
        ("<x:testcase xmlns:x='y' name='a'><x:failure/></x:testcase>", {"total": 1, "failed": 1}),
        ("<testsuite><testsuite><testcase/></testsuite><testcase/></testsuite>", {"total": 2, "passed": 2}),
        (
            "<testcase name='a'/><error message='set up'/>",
            {"total": 2, "passed": 1, "failed": 1, "errors": 1},
        ),
    ],
)
def test_a_case_counts_once_and_as_the_worst_that_it_says(case: str, expected: dict[str, int]) -> None:
    assert counts(case) == expected


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("testsuite tests='9' failures='0'", {"total": 1, "passed": 1}),
        ("testsuite", {"total": 1, "passed": 1}),
        ("testsuites tests='1'", {"total": 1, "passed": 1}),
        ("testsuite errors='2'", {"total": 2, "passed": 1, "failed": 1, "errors": 1}),
        ("testsuite failures='NaN' errors=''", {"total": 1, "passed": 1}),
    ],
)
def test_what_a_suite_says_of_itself_counts_only_where_it_says_more_failed(
    root: str, expected: dict[str, int]
) -> None:
    assert counts("<testcase name='a'/>", root) == expected


def test_a_failure_of_an_inner_suite_explains_what_the_outer_one_says() -> None:
    inner = "<testsuite failures='1'><testcase name='a'><failure/></testcase></testsuite>"
    assert counts(inner, "testsuites failures='1'") == {"total": 1, "failed": 1}


def test_guards_see_the_counts_and_the_names_of_what_failed() -> None:
    read = report("<testcase classname='a.B' name='c'><failure/></testcase><testcase name='d'/>")
    assert read.data == {
        "total": 2, "passed": 1, "failed": 1, "errors": 0, "skipped": 0, "flaky": 0, "failures": ["a.B.c"],
    }  # fmt: skip
    assert (read.passed, read.failed) == (("d",), ("a.B.c",))


@pytest.mark.parametrize("text", ["<testsuites/>", "<testsuite tests='3'/>", "<coverage/>", "<testcase/>"])
def test_a_report_without_a_test_is_none(text: str) -> None:
    read = read_report("junit", text.encode())
    assert (read.readable, dict(read.data), read.issues) == (False, {}, ())
    assert [problem.code for problem in read.problems] == ["artifact-invalid"]


def test_of_many_failures_all_are_counted_and_the_first_are_told() -> None:
    read = report("<testcase name='a'><failure/></testcase>" * (MOST_ISSUES + 1))
    assert read.data["failed"] == MOST_ISSUES + 1
    assert len(read.issues) == len(read.data["failures"]) == MOST_ISSUES
