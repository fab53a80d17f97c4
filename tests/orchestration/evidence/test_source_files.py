"""A path of a report is looked for from the report's folder up to the root, and never outside of it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evidence.source_files import candidates, findings_at_sources
from phasekeeper.orchestration.findings import Problem, SourcePlace, SourceProblem, Span

REPORT = "libs/a/build/junit.xml"


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("src/x.py", "/r", ["libs/a/build/src/x.py", "libs/a/src/x.py", "libs/src/x.py", "src/x.py"]),
        ("./x.py", "/r", ["libs/a/build/x.py", "libs/a/x.py", "libs/x.py", "x.py"]),
        ("../src/x.py", "/r", ["libs/a/src/x.py", "libs/src/x.py", "src/x.py"]),
        ("../../../../x.py", "/r", []),
        ("../../../x.py", "/r", ["x.py"]),
        ("s\\x.py", "C:\\r", ["libs/a/build/s/x.py", "libs/a/s/x.py", "libs/s/x.py", "s/x.py"]),
        ("/r/src/x.py", "/r", ["src/x.py"]),
        ("///r/src//x.py", "/r/", ["src/x.py"]),
        ("/r/a/../src/x.py", "/r", ["src/x.py"]),
        ("/r/../etc/passwd", "/r", []),
        ("/etc/passwd", "/r", []),
        ("/rest/x.py", "/r", []),
        ("/r", "/r", []),
        ("/r/", "/r", []),
        ("/r/x.py", "", []),
        ("/R/x.py", "/r", []),
        ("/x.py", "/", ["x.py"]),
        ("C:\\R\\src\\x.py", "c:\\r", ["src/x.py"]),
        ("C:/r/src/x.py", "C:\\r", ["src/x.py"]),
        ("D:/r/x.py", "C:\\r", []),
        ("C:/r/x.py", "/r", []),
        ("", "/r", []),
        (".", "/r", ["libs/a/build", "libs/a", "libs"]),
        ("a\0b", "/r", []),
        ("x" * 1001, "/r", []),
    ],
)  # fmt: skip
def test_the_candidates_of_a_path(path: str, root: str, expected: list[str]) -> None:
    assert candidates(path, REPORT, root) == expected


def test_a_report_at_the_root_and_one_far_below() -> None:
    assert candidates("x.py", "junit.xml", "/r") == ["x.py"]
    deep = candidates("x.py", "/".join("abcdefghijklmnopqrstuvwxyz"), "/r")
    assert len(deep) == 13
    assert deep[-1] == "x.py"


def test_a_problem_stands_at_its_first_place_that_is_a_file_else_at_the_report() -> None:
    span, own = Span(4, 0, 5, 0), Span(9, 2, 9, 3)
    places = (SourcePlace("/elsewhere/a.py", span), SourcePlace("b.py", span), SourcePlace("c.py"))
    problems = [
        SourceProblem(Problem("test-failed", "one", own), places),
        SourceProblem(Problem("test-failed", "two", own), places[:1]),
        SourceProblem(Problem("test-failed", "three", own), places[2:]),
        SourceProblem(Problem("test-failed", "four", own)),
    ]

    def first_files(paths: tuple[tuple[str, ...], ...]) -> list[str]:
        return [next((path for path in each if path in ("b.py", "c.py")), "") for each in paths]

    found = findings_at_sources(problems, "build/junit.xml", "/r", first_files)
    assert [(each.message, each.path, each.span) for each in found] == [
        ("one", "b.py", span),
        ("two", "build/junit.xml", own),
        ("three", "c.py", None),
        ("four", "build/junit.xml", own),
    ]
    assert {each.severity for each in found} == {"warning"}
