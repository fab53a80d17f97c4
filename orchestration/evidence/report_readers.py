"""The registry of readers of tools' own reports, by the words that `kind:` and a check's `reports` use.

To add one: a function from text to a `ToolReport`, and an entry in `READERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..findings import Problem
from ..formats.json_text import ParsedText
from ..vfs.xml_encoding import decode_xml
from .coverage import read_coverage, shortfalls
from .junit import read_junit
from .sarif import read_sarif
from .tool_report import MOST_REPORT_BYTES, CoverageCounts, ToolReport


class ReportReader(NamedTuple):
    """The reader of one kind of report. `fields` are the keys of its data, each with what it means."""

    about: str
    read: Callable[[str], ToolReport]
    fields: Mapping[str, str]


READERS: Mapping[str, ReportReader] = {
    "junit": ReportReader(
        "test results: JUnit XML",
        read_junit,
        {
            "total": "how many test cases there are",
            "passed": "how many of them passed",
            "failed": "how many failed, with an error or otherwise",
            "errors": "how many of the failed did not fail by an assertion",
            "skipped": "how many were skipped",
            "flaky": "how many of the passed failed at first",
            "failures": "the names of the failed ones, at most 500",
        },
    ),
    "coverage": ReportReader(
        "coverage: Cobertura's XML, LCOV, coverage.py's JSON",
        read_coverage,
        {
            "lines": "how much of the lines was covered, 0 to 1",
            "branches": "how much of the branches was covered, 0 to 1; absent where none were measured",
            "covered": "how many lines were covered",
            "total": "how many lines there are",
            "files": "`lines` and `branches` of each file, by its path as the report has it",
        },
    ),
    "sarif": ReportReader(
        "issues of a linter or scanner: SARIF 2.1.0",
        read_sarif,
        {
            "total": "how many issues count: errors, warnings and notes",
            "error": "how many of them are errors",
            "warning": "how many are warnings",
            "note": "how many are notes",
            "suppressed": "how many more are suppressed",
            "unchanged": "how many more were there before, by the tool's own baseline",
        },
    ),
}


def read_text(kind: str, text: str, thresholds: Mapping[str, float] | None = None) -> ParsedText:
    """A report in a text as an artifact's data, with what it says of source files.

    One of coverage below a threshold is not readable: its data would say that enough was measured.
    """
    report = READERS[kind].read(text)
    if isinstance(report.counts, CoverageCounts) and thresholds:
        low = shortfalls(report.counts, thresholds)
        if low:
            of_all = tuple(each.problem for each in low if not each.places)
            of_files = tuple(each for each in low if each.places)
            return ParsedText(None, (*report.problems, *of_all), False, of_files)
    return ParsedText(dict(report.data), report.problems, report.readable, report.issues)


def read_report(kind: str, data: bytes) -> ToolReport:
    """The report of a kind in a file's bytes. Raises KeyError for an unknown kind, and nothing on content."""
    read = READERS[kind].read
    if len(data) > MOST_REPORT_BYTES:
        megabytes = math.ceil(len(data) / (1 << 20))
        return _unreadable(
            kind, f"the report is {megabytes} MB; at most {MOST_REPORT_BYTES >> 20} MB are read"
        )
    try:
        text = decode_xml(data)
    except LookupError as error:
        return _unreadable(kind, f"its encoding {error.args[0]} is not known")
    return read(text)


def _unreadable(kind: str, message: str) -> ToolReport:
    return ToolReport(kind, problems=(Problem("artifact-unreadable", message),))
