"""Real reports of many tools: the cases and lines that independent readers count in them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from phasekeeper.orchestration.evidence.report_readers import read_report
from phasekeeper.orchestration.evidence.tool_report import CaseCounts, CoverageCounts

from tests.corpus.places import CORPUS

pytestmark = pytest.mark.corpus

EVIDENCE = CORPUS / "evidence" if CORPUS else Path()
JUNIT = sorted(EVIDENCE.glob("junit/*.xml"))
COBERTURA = sorted(EVIDENCE.glob("cobertura/*.xml"))


def ids(file: Path) -> str:
    return file.name


def test_the_reports_are_there() -> None:
    assert len(JUNIT) >= 20
    assert len(COBERTURA) >= 3


@pytest.mark.parametrize("file", JUNIT, ids=ids)
def test_every_case_of_a_report_is_counted(file: Path) -> None:
    cases = ElementTree.parse(file).getroot().findall(".//testcase")
    broken = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None and case not in broken]
    counts = read_report("junit", file.read_bytes()).counts
    if not cases:
        assert counts is None
        return
    assert isinstance(counts, CaseCounts)
    assert (counts.total, counts.failed, counts.skipped) == (len(cases), len(broken), len(skipped))
    assert counts.passed == counts.total - counts.failed - counts.skipped


@pytest.mark.parametrize("file", JUNIT, ids=ids)
def test_a_failure_with_a_line_in_its_text_has_a_place(file: Path) -> None:
    for issue in read_report("junit", file.read_bytes()).issues:
        line = (
            file.read_text(encoding="utf-8").split("\n")[issue.problem.span.line]
            if issue.problem.span
            else ""
        )
        assert "<testcase" in line or "<testsuite" in line
        assert issue.places or not re.search(r"\.\w+:\d+", issue.problem.message)


@pytest.mark.parametrize("file", COBERTURA, ids=ids)
def test_lines_and_branches_are_those_that_the_tool_summed_up(file: Path) -> None:
    root = ElementTree.parse(file).getroot()
    counts = read_report("coverage", file.read_bytes()).counts
    assert isinstance(counts, CoverageCounts)
    assert counts.lines == (int(root.attrib["lines-covered"]), int(root.attrib["lines-valid"]))
    if root.attrib.get("branches-valid", "NaN") != "NaN":
        assert counts.branches == (int(root.attrib["branches-covered"]), int(root.attrib["branches-valid"]))
