"""The registry of readers of tools' own reports, by the words that `kind:` and a check's `reports` use.

To add one: a function from text to a `ToolReport`, and a line in `READERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ..findings import Problem
from ..formats.json_text import ParsedText
from ..vfs.xml_encoding import decode_xml
from .coverage import read_coverage
from .junit import read_junit
from .sarif import read_sarif
from .tool_report import MOST_REPORT_BYTES, ToolReport

READERS: Mapping[str, Callable[[str], ToolReport]] = {
    "junit": read_junit,
    "coverage": read_coverage,
    "sarif": read_sarif,
}


def read_text(kind: str, text: str) -> ParsedText:
    """A report in a text as an artifact's data, with what it says of source files."""
    report = READERS[kind](text)
    return ParsedText(dict(report.data), report.problems, report.readable, report.issues)


def read_report(kind: str, data: bytes) -> ToolReport:
    """The report of a kind in a file's bytes. Raises KeyError for an unknown kind, and nothing on content."""
    read = READERS[kind]
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
