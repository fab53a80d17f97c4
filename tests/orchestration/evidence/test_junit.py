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


def test_tries_of_one_test_are_one_case_where_the_suite_says_so() -> None:
    tries = "<testcase classname='c' name='a'/><testcase classname='c' name='a'><failure/></testcase>"
    tries += "<testcase classname='c' name='b'/>" * 3
    assert counts(tries, "testsuite tests='2'") == {"total": 2, "passed": 1, "failed": 1, "flaky": 1}
    assert counts(tries, "testsuite tests='5'") == {"total": 5, "passed": 4, "failed": 1}
    assert counts(tries, "testsuite tests='1'") == {"total": 5, "passed": 4, "failed": 1}


def places(failure: str, case: str = "classname='tests.test_a' name='a'") -> list[str]:
    (issue,) = report(f"<testcase {case}><failure><![CDATA[{failure}]]></failure></testcase>").issues
    return [f"{place.path}:{place.span.line + 1}" if place.span else place.path for place in issue.places]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        ("", []),
        ("nothing.to see: here", []),
        ('File "t/test_a.py", line 3, in a\nFile "lib/b.py", line 5', ["t/test_a.py:3", "lib/b.py:5"]),
        ('  File "lib/b.py", line 5\n  File "lib/c.py", line 7', ["lib/c.py:7", "lib/b.py:5"]),
        ("tests/test_a.py:3: in a\n    b()\nlib/b.py:5: AssertionError", ["tests/test_a.py:3", "lib/b.py:5"]),
        ("Error\n    at f (/r/src/a.ts:3:7)\n    at /r/src/b.ts:9:1", ["/r/src/a.ts:3", "/r/src/b.ts:9"]),
        ("    at f (file:///r/my files/a.js:3:7)", ["/r/my files/a.js:3"]),
        ("    at f (C:\\r\\a.js:10:21)", ["C:\\r\\a.js:10"]),
        ("    at Object.<anonymous> (node_modules/x/a.js:3:7)", []),
        ("\tat org.x.Foo$1.bar(Foo.java:12)", [
            "src/test/java/org/x/Foo.java:12", "src/main/java/org/x/Foo.java:12", "Foo.java:12",
        ]),
        ("   at N.Foo.Bar() in /r/Foo.cs:line 12", ["/r/Foo.cs:12"]),
        ("/r/src/FakeTest.php:42", ["/r/src/FakeTest.php:42"]),
        ("at /r/src/FakeTest.php(42)", ["/r/src/FakeTest.php:42"]),
        ("    foo_test.go:17: wrong", ["foo_test.go:17"]),
        ("thread 'a' panicked at src/lib.rs:5:3:", ["src/lib.rs:5"]),
        ("a.b:0", ["a.b"]),
    ],
)  # fmt: skip
def test_the_places_of_a_failure_are_those_of_its_stack_the_tests_own_file_first(
    failure: str, expected: list[str]
) -> None:
    assert places(failure) == expected


def test_a_case_with_a_file_of_its_own_stands_there() -> None:
    own = "classname='c' name='a' file='t/a_test.js' line='4'"
    assert places("", own) == ["t/a_test.js:4"]
    assert places("at f (src/b.js:3:7)\nat g (/r/t/a_test.js:9:2)", own) == [
        "/r/t/a_test.js:9", "t/a_test.js:4", "src/b.js:3",
    ]  # fmt: skip


def test_a_trace_in_the_message_is_read_where_the_element_has_no_text() -> None:
    message = "Traceback (most recent call last):&#10;  File &quot;a.py&quot;, line 8&#10;ValueError: no&#10;"
    (issue,) = report(f"<testcase name='a'><failure message='{message}'/></testcase>").issues
    assert issue.problem.message == "a failed: ValueError: no"
    assert [(place.path, place.span and place.span.line) for place in issue.places] == [("a.py", 7)]


def test_the_line_of_pytest_counts_from_zero() -> None:
    case = "<testcase name='a' file='t.py' line='0'><failure/></testcase>"
    (issue,) = report(case, "testsuite name='pytest'").issues
    assert issue.places[0].span == (0, 0, 1, 0)


def test_of_a_long_text_the_beginning_and_the_end_are_read() -> None:
    text = "first.py:1: in a\n" + "noise\n" * 20_000 + "last.py:2: Error\n"
    assert places(text) == ["last.py:2", "first.py:1"]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("<testcase><failure/></testcase>", "a test without a name failed"),
        ("<testcase classname='c'><failure/></testcase>", "c failed"),
        ("<testcase name='a'><failure message='\n no\n'/></testcase>", "a failed: no"),
        (f"<testcase name='a'><failure>{'x' * 900}</failure></testcase>", f"a failed: {'x' * 299}…"),
        ("<testcase name='a'><error>collection failure</error></testcase>", "a failed: collection failure"),
    ],
)  # fmt: skip
def test_an_issue_says_what_failed_and_why(case: str, said: str) -> None:
    assert [issue.problem.message for issue in report(case).issues] == [said]


def test_failures_of_a_suite_without_a_case_are_told_where_it_stands() -> None:
    read = read_report("junit", b"<testsuites>\n <testsuite name='s' file='a.js' errors='1'/>\n</testsuites>")
    (issue,) = read.issues
    assert issue.problem.message == "s failed: the suite says that 1 failed in it, and names none"
    assert issue.problem.span == (1, 1, 1, 2)
    assert [place.path for place in issue.places] == ["a.js"]


def test_what_stands_in_other_elements_is_no_outcome() -> None:
    inside = (
        "<properties><failure/></properties><testcase name='a'><properties><failure/></properties></testcase>"
    )
    assert counts(inside) == {"total": 1, "passed": 1}
    assert counts("<testcase name='a'><testcase name='b'><failure/></testcase></testcase>") == {
        "total": 2, "passed": 1, "failed": 1,
    }  # fmt: skip
