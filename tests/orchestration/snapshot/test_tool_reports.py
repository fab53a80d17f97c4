"""Artifacts of the kinds junit, coverage, sarif: what guards see of them, where their findings stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.reader import InvalidWorkflow
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.lint.checks import check, parse_workflow
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

REPORTS = Path(__file__).parents[1] / "evidence" / "reports"
WORKFLOW = """\
workflow: tested
runs: {at: [work/*], marker: {file: go.json}}
artifacts:
  results: {paths: [/build/junit.xml], kind: junit}
  cover: {paths: [/build/coverage.xml, /build/lcov.info], kind: coverage%s}
  issues: {paths: [/build/lint.sarif], kind: sarif}
phase: [{is: work}]
phases:
  work: {rules: [{when: %s, to: done}]}
  done: {terminal: complete}
"""
PASSED = "<testsuite><testcase name='a'/></testsuite>"
FAILED = "<testsuite><testcase name='a'><failure>{}: no</failure></testcase></testsuite>"


def evaluated(files: Mapping[str, str | bytes], when: str = "'true'", thresholds: str = "") -> Evaluation:
    workflow = parse_workflow(WORKFLOW % (thresholds, when))
    run = read_run(workflow, MemoryFiles({"work/t/go.json": "{}", **files}), "work/t", root="/r")
    return evaluate(workflow, run)


def told(evaluation: Evaluation) -> list[tuple[str, str, int]]:
    return [(each.code, each.path, each.span.line if each.span else -1) for each in evaluation.findings]


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("results.failed == 0", False),
        ("results.failed == 5 && results.errors == 2 && results.total == 11", True),
        ("'tests.test_shop.test_discount' in results.failures", True),
        ("cover.lines > 0.87 && cover.lines < 0.88 && cover.branches > 0.6", True),
        ("cover.files['shop.py'].lines >= 0.9", False),
        ("issues.error == 7 && issues.total == 7", True),
        ("issues.error == 0", False),
    ],
)
def test_guards_see_what_tools_measured(when: str, holds: bool) -> None:
    files = {
        "build/junit.xml": (REPORTS / "pytest-reruns.xml").read_bytes(),
        "build/coverage.xml": (REPORTS / "coverage-py.xml").read_bytes(),
        "build/lint.sarif": (REPORTS / "ruff.sarif").read_bytes(),
    }
    assert (evaluated(files, f'"{when}"').suggestion.kind == "advance") is holds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<testsuite/>",
        "<testsuite><testcase/>",
        "<coverage/>",
        "<!DOCTYPE a [<!ENTITY b ''>]>" + PASSED,
        "{}",
    ],
)
def test_a_report_that_says_nothing_opens_no_gate(text: str) -> None:
    assert evaluated({"build/junit.xml": text}, "results.failed == 0").suggestion.kind != "advance"
    assert evaluated({"build/junit.xml": PASSED}, "results.failed == 0").suggestion.kind == "advance"


def test_branches_that_were_not_measured_reach_nothing() -> None:
    lcov = "SF:a\nDA:1,1\nend_of_record\n"
    assert evaluated({"build/lcov.info": lcov}, "cover.branches >= 0.0").suggestion.kind != "advance"
    assert evaluated({"build/lcov.info": lcov}, "cover.lines == 1.0").suggestion.kind == "advance"


@pytest.mark.parametrize(
    ("place", "files", "expected"),
    [
        ("src/a.py:7", ["src/a.py"], ("src/a.py", 6)),
        ("/r/src/a.py:7", ["src/a.py"], ("src/a.py", 6)),
        ("/elsewhere/src/a.py:7", ["src/a.py"], ("build/junit.xml", 0)),
        ("../../../etc/a.py:7", ["etc/a.py"], ("build/junit.xml", 0)),
        ("src/a.py:7", [], ("build/junit.xml", 0)),
        ("src/a.py:7", ["src/a.py/b"], ("build/junit.xml", 0)),
    ],
)
def test_a_failing_test_stands_at_the_line_that_it_names_where_that_is_a_file_of_the_root(
    place: str, files: list[str], expected: tuple[str, int]
) -> None:
    found = evaluated({"build/junit.xml": FAILED.format(place), **dict.fromkeys(files, "x")})
    assert told(found) == [("test-failed", *expected)]
    assert found.findings[0].message == f"a failed: {place}: no"


def test_the_revision_is_another_once_a_named_file_is_there() -> None:
    report = {"build/junit.xml": FAILED.format("src/a.py:7")}
    assert evaluated(report).revision != evaluated({**report, "src/a.py": ""}).revision


def test_of_many_failures_five_hundred_are_told_and_how_many_more() -> None:
    case = "<testcase name='{}'><failure/></testcase>"
    report = f"<testsuite>{''.join(map(case.format, range(600)))}</testsuite>"
    lines = "<testsuite>" + report.replace("<testcase", "\n<testcase") + "</testsuite>"
    found = evaluated({"build/junit.xml": lines}, "results.failed == 600")
    assert len(found.findings) == 500
    assert found.suggestion.kind == "advance"


def test_what_is_wrong_with_a_report_is_a_finding_there() -> None:
    found = evaluated({"build/junit.xml": "<testsuite>\n<testcase>", "build/lint.sarif": "{}"})
    assert told(found) == [
        ("artifact-unreadable", "build/junit.xml", 1),
        ("artifact-invalid", "build/lint.sarif", 0),
    ]


# ---- thresholds


def test_coverage_below_a_threshold_is_invalid_and_names_the_lines() -> None:
    lcov = "SF:src/a.py\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n"
    files = {"build/lcov.info": lcov, "src/a.py": "x"}
    low = evaluated(files, "cover.lines > 0.1", ", thresholds: {lines: 0.8}")
    assert low.suggestion.kind != "advance"
    assert told(low) == [("coverage-low", "build/lcov.info", 0), ("coverage-low", "src/a.py", 1)]
    assert low.findings[1].message.endswith("the threshold is 0.8; not lines 2–3")
    enough = evaluated(files, "cover.lines > 0.1", ", thresholds: {lines: 0.3}")
    assert (enough.suggestion.kind, enough.findings) == ("advance", ())


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [
        (", thresholds: {lines: 80}", "a threshold of lines is a number from 0 to 1, as 0.8"),
        (", thresholds: {branches: 'yes'}", "a threshold of branches is a number from 0 to 1"),
        (", thresholds: {lines: true}", "a threshold of lines is a number from 0 to 1"),
        (", thresholds: {line: 0.8}", "did you mean 'lines'?"),
    ],
)
def test_a_threshold_is_a_number_from_0_to_1(thresholds: str, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as error:
        parse_workflow(WORKFLOW % (thresholds, "'true'"))
    assert said in error.value.findings[0].message


def test_thresholds_are_of_coverage_alone() -> None:
    text = (WORKFLOW % (", thresholds: {lines: 1}", "'true'")).replace("kind: coverage", "kind: junit")
    with pytest.raises(InvalidWorkflow) as error:
        parse_workflow(text)
    assert "thresholds are for an artifact of the kind coverage" in error.value.findings[0].message


# ---- checks of definitions


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (
            "results.faild == 0",
            "results is of the kind junit, which has no 'faild'; did you mean 'failed' or ",
        ),
        ("issues.errors == 0", "issues is of the kind sarif, which has no 'errors'; did you mean 'error'?"),
        ("cover.percent > 0.5", "cover is of the kind coverage, which has no 'percent'"),
    ],
)
def test_a_key_that_the_kind_does_not_have_is_an_error(when: str, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as error:
        parse_workflow(WORKFLOW % ("", when))
    assert said in error.value.findings[0].message


def test_keys_that_the_kind_or_the_defaults_have_are_none() -> None:
    text = WORKFLOW % (
        ", defaults: {extra: 1}",
        "cover.extra == 1 && results.failed == 0 && has(cover.files)",
    )
    assert [each for each in check(parse_workflow(text)) if re.search("of the kind", each.message)] == []
