"""A workflow of one's own whose gate rests on what pytest and a linter wrote, not on anybody's word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive

RUN = "changes/fees"
WORKFLOW = """\
workflow: tested-change
title: A change that passes its tests

runs:
  at: [changes/*]
  marker: {file: change.json, has: [phase]}
state: {file: change.json}
phase: state.phase

artifacts:
  code: {paths: [/shop.py], kind: text}
  results: {paths: [/build/junit.xml], kind: junit, of: [code]}
  issues: {paths: [/build/lint.sarif], kind: sarif}
  coverage: {paths: [/build/lcov.info], kind: coverage, thresholds: {lines: 0.8}}

limits:
  tries: {count: "count({'kind': 'report', 'phase': 'test', 'outcome': 'error'})", max: '3'}

phases:
  build:
    title: Write the code
    produces: [code]
    rules: [{when: valid.code, to: test, because: the code is there}]
  test:
    title: Run the tests
    produces: [results]
    rules:
      - when: results.failed == 0 && issues.error == 0 && coverage.lines > 0.0
        to: done
        because: "all {results.total} tests passed"
      - when: results.failed > 0 && !limits.tries.reached
        to: build
        because: "{results.failed} failed: {results.failures[0]}"
  done: {terminal: complete}

gates:
  tested:
    title: The tests pass
    after: test
    criteria:
      - {text: all tests pass, when: results.failed == 0, artifact: results}
      - {text: the linter has no errors, when: issues.error == 0, artifact: issues}

effects:
  build.ok: {phase: "'test'"}
"""
TESTS = """\
from shop import price


def test_one():
    assert price(1, 3) == 3


def test_discount():
    assert price(10, 2) == 18
"""
BROKEN = "def price(amount, unit):\n    return amount * unit\n"
MENDED = """\
def price(amount, unit):
    total = amount * unit
    return total - total // 10 if amount >= 10 else total
"""
PLACE = {"artifactLocation": {"uri": "shop.py"}, "region": {"startLine": 2, "startColumn": 5}}
UNUSED = {
    "ruleId": "F401",
    "level": "error",
    "message": {"text": "unused"},
    "locations": [{"physicalLocation": PLACE}],
}


def sarif(*results: object) -> dict[str, Any]:
    return {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "lint"}}, "results": list(results)}]}


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    drive = Drive(tmp_path, monkeypatch)
    drive.write(".phasekeeper/workflows/tested-change.yaml", WORKFLOW)
    drive.write(f"{RUN}/change.json", {"phase": "test"})
    drive.write("tests/test_shop.py", TESTS)
    drive.write("shop.py", BROKEN)
    drive.write("build/lint.sarif", sarif())
    drive.write("build/lcov.info", "SF:shop.py\nDA:1,1\nDA:2,1\nend_of_record\n")
    return drive


def run_tests(drive: Drive) -> None:
    """Run pytest itself over the root; what it writes is newer than all before."""
    drive.time_passes()
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "build/junit.xml", "tests")
    env = {**os.environ, "PYTHONPATH": str(drive.root), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run([sys.executable, *words], cwd=drive.root, env=env, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr


def gate(drive: Drive) -> str:
    return drive.evaluation(RUN)["gates"][0]["status"]


def told(drive: Drive) -> list[tuple[str, str, int]]:
    """Code, path and one-based line of each finding."""
    found = drive.evaluation(RUN)["findings"]
    return [(each["code"], each["path"], each["line"]) for each in found]


def test_the_gate_opens_by_the_tests_that_passed_and_by_no_word(drive: Drive) -> None:
    assert drive.suggestion(RUN)[0] == "stay"
    run_tests(drive)
    assert gate(drive) == "failed"
    assert told(drive) == [("test-failed", "tests/test_shop.py", 9)]
    assert drive.suggestion(RUN) == ("regress", "build")
    assert "1 failed: tests.test_shop.test_discount" in drive.do("next", RUN).out

    # However long the tests took, what is saved now is later than what they wrote.
    drive.time_passes()
    drive.write("shop.py", MENDED)
    assert "artifact-stale" in drive.codes(RUN)
    assert gate(drive) != "passed"
    run_tests(drive)
    assert gate(drive) == "passed"
    assert told(drive) == []
    assert drive.suggestion(RUN) == ("advance", "done")


def test_a_linters_error_keeps_the_gate_shut_and_stands_at_its_line(drive: Drive) -> None:
    drive.write("shop.py", MENDED)
    run_tests(drive)
    drive.write("build/lint.sarif", sarif(UNUSED))
    assert gate(drive) == "failed"
    assert told(drive) == [("issue-reported", "shop.py", 2)]
    out = drive.run("check", "--gates").out
    assert "shop.py:2:5: warning issue-reported: lint: F401 unused (error)" in out


def test_coverage_below_its_threshold_is_no_evidence(drive: Drive) -> None:
    drive.write("shop.py", MENDED)
    drive.write("build/lcov.info", "SF:shop.py\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\n")
    run_tests(drive)
    assert drive.suggestion(RUN)[0] == "stay"
    assert told(drive) == [("coverage-low", "build/lcov.info", 1), ("coverage-low", "shop.py", 2)]


def test_a_report_that_was_emptied_or_cut_off_opens_nothing(drive: Drive) -> None:
    drive.write("shop.py", MENDED)
    run_tests(drive)
    whole = drive.text("build/junit.xml")
    for text in ("", "<testsuites/>", whole[: len(whole) // 2], whole.replace("test_one", "test_one &lol;")):
        drive.write("build/junit.xml", text, later_s=3)
        assert gate(drive) != "passed"
        assert drive.suggestion(RUN)[0] == "stay"
    drive.write("build/junit.xml", whole, later_s=3)
    assert gate(drive) == "passed"
