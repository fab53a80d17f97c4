"""Reports that tools wrote over small projects: what they measured, and the lines that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from phasekeeper.orchestration.evidence.report_readers import read_report
from phasekeeper.orchestration.evidence.source_files import findings_at_sources
from phasekeeper.orchestration.evidence.tool_report import CoverageCounts, ToolReport

REPORTS = Path(__file__).parent / "reports"
ROOT = "/home/user/shop"
KINDS = {".xml": "junit", ".lcov": "coverage", ".json": "coverage", ".sarif": "sarif"}


def read(name: str) -> ToolReport:
    file = REPORTS / name
    is_coverage = any(word in name for word in ("coverage", "cobertura", "gcovr"))
    report = read_report("coverage" if is_coverage else KINDS[file.suffix], file.read_bytes())
    assert report.problems == ()
    return report


# Counted by hand, and the tools' own sums where they have some.
CASES = {
    "pytest-reruns.xml": (11, 4, 5, 2, 2, 1),
    "pytest-xunit1.xml": (11, 3, 6, 2, 2, 0),
    "unittest.xml": (5, 1, 3, 1, 1, 0),
    "jest-junit.xml": (5, 2, 2, 0, 1, 0),
    "node-test.xml": (6, 2, 2, 0, 2, 0),
    "vitest.xml": (6, 2, 3, 0, 1, 0),
    "mocha.xml": (2, 1, 1, 0, 0, 0),
    "surefire.xml": (5, 2, 2, 1, 1, 1),
}
COVERAGE = {
    "coverage-py.xml": (34, 39, 4, 6),
    "coverage-py.json": (34, 39, 4, 6),
    "coverage-py.lcov": (34, 39, 4, 6),
    "jest-cobertura.xml": (6, 7, 4, 6),
    "jest.lcov": (6, 7, 4, 6),
    "c8-cobertura.xml": (11, 14, 6, 6),
    "c8.lcov": (11, 14, 6, 6),
    "gcovr.xml": (6, 9, 1, 6),
    "gcovr.lcov": (6, 9, 1, 6),
}
ISSUES = {"ruff.sarif": (7, 0, 0, 0, 0), "eslint.sarif": (2, 1, 0, 1, 0)}


def test_every_report_has_its_expectation() -> None:
    there = {file.name for file in REPORTS.iterdir() if file.suffix in KINDS}
    assert there == {*CASES, *COVERAGE, *ISSUES}


@pytest.mark.parametrize("name", CASES)
def test_cases_are_counted(name: str) -> None:
    counts = read(name).counts
    assert counts is not None
    assert tuple(counts) == CASES[name]


@pytest.mark.parametrize("name", COVERAGE)
def test_lines_and_branches_are_counted(name: str) -> None:
    counts = read(name).counts
    assert isinstance(counts, CoverageCounts)
    assert (*counts.lines, *counts.branches) == COVERAGE[name]


@pytest.mark.parametrize("name", ISSUES)
def test_issues_are_counted(name: str) -> None:
    counts = read(name).counts
    assert counts is not None
    assert tuple(counts) == ISSUES[name]


PLACES = {
    "pytest-reruns.xml": [
        "tests/test_broken.py:1",
        "tests/test_shop.py:17",
        "tests/test_shop.py:21",
        "tests/test_shop.py:9",
        "tests/test_shop.py:47",
    ],
    "pytest-xunit1.xml": [
        "tests/test_broken.py:1",
        "tests/test_flaky.py:6",
        "tests/test_shop.py:17",
        "tests/test_shop.py:21",
        "tests/test_shop.py:9",
        "tests/test_shop.py:47",
    ],
    "unittest.xml": ["test_units.py:11", "test_units.py:23", "test_units.py:14"],
    "jest-junit.xml": ["test-jest/price.test.js:6", "test-jest/price.test.js:9"],
    # It does not say which file a test is of: then the place is where it happened.
    "node-test.xml": ["test-node/price.test.js:8", "src/price.js:3"],
    "vitest.xml": [
        "test-vitest/broken.test.mjs:1",
        "test-vitest/price.test.mjs:9",
        "test-vitest/price.test.mjs:12",
    ],
    "mocha.xml": ["test-mocha/price.js:7"],
    "surefire.xml": ["src/test/java/shop/PriceTest.java:19", "src/test/java/shop/PriceTest.java:24"],
    "eslint.sarif": ["bad.js:1", "bad.js:2", "bad.js:2"],
    "ruff.sarif": ["bad.py:1", *["bad.py:2"] * 3, *["bad.py:6"], "bad.py:10", "bad.py:10"],
}


@pytest.mark.parametrize("name", PLACES)
def test_each_issue_stands_at_the_line_that_it_names(name: str) -> None:
    files = {place.rpartition(":")[0] for place in PLACES[name]} | {"src/price.js", "shop.py"}

    def first_files(paths: tuple[tuple[str, ...], ...]) -> list[str]:
        return [next((path for path in each if path in files), "") for each in paths]

    findings = findings_at_sources(read(name).issues, "build/report.xml", ROOT, first_files)
    places = [f"{each.path}:{each.span.line + 1}" if each.span else each.path for each in findings]
    assert places == PLACES[name]


def test_a_failure_says_why_in_a_line() -> None:
    said = [issue.problem.message for issue in read("pytest-reruns.xml").issues]
    assert said == [
        "tests.test_broken failed: ModuleNotFoundError: No module named 'not_there'",
        "tests.test_shop.test_discount failed: assert 18 == 20",
        "tests.test_shop.test_negative failed: ValueError: a negative amount",
        'tests.test_shop.test_with_fixture failed: failed on setup with "RuntimeError: no database"',
        "tests.test_shop.TestPrices.test_noise failed: AssertionError: assert 'a' == 'é日'",
    ]


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("unittest.xml", {"test_discount", "test_each (amount=2)", "test_negative"}),
        ("jest-junit.xml", {"price with a discount", "price of a negative amount"}),
        ("node-test.xml", {"price > with a discount", "price > of what is wrong > negative"}),
        ("mocha.xml", {"price with a discount"}),
    ],
)
def test_a_test_is_called_by_its_class_and_name_without_repetition(name: str, failed: set[str]) -> None:
    assert {each.removeprefix("test_units.Prices.") for each in read(name).failed} == failed


def test_a_file_of_vitest_is_the_class_of_its_tests() -> None:
    assert set(read("vitest.xml").failed) == {
        "test-vitest/broken.test.mjs",
        "test-vitest/price.test.mjs > price > with a discount",
        "test-vitest/price.test.mjs > price > of a negative amount",
    }
