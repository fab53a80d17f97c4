"""Values of a tool's own report: what was counted, and what it says of which source line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..findings import NO_DATA, Problem, SourceProblem, Span
from ..formats.json_text import ParsedText, read_json

MOST_REPORT_BYTES = 32 << 20
"""A larger report is not read."""
MOST_ISSUES = 500
"""Of one report so many are told; all are counted."""
MOST_NAMES = 10_000
MOST_PLACES = 8
"""Places of one issue that are looked for."""
MOST_NAME, MOST_MESSAGE = 200, 300
"""Characters."""
MOST_VALUES = 400_000
"""JSON that may hold more is not read."""
TOP = Span(0, 0, 0, 1)


class CaseCounts(NamedTuple):
    """Test cases by their end: `total` = `passed` + `failed` + `skipped`.

    `errors` are the failed ones that did not fail by an assertion, `flaky` the passed ones that failed first.
    """

    total: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    flaky: int = 0


class Coverage(NamedTuple):
    """How many of so many lines or branches were reached."""

    covered: int = 0
    total: int = 0

    @property
    def ratio(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.covered / self.total if self.total else None


class FileCoverage(NamedTuple):
    """Coverage of one source file, by its path as the report writes it.

    `missed` are the first ranges of lines that were not reached: (first, last), one-based.
    """

    path: str
    lines: Coverage
    branches: Coverage
    missed: tuple[tuple[int, int], ...] = ()


class CoverageCounts(NamedTuple):
    """Coverage of all files, and of each; `folders` are those that their paths may begin at."""

    lines: Coverage
    branches: Coverage
    files: tuple[FileCoverage, ...]
    folders: tuple[str, ...] = ()


class IssueCounts(NamedTuple):
    """Issues by level, as SARIF calls the levels; `suppressed` and `unchanged` ones are in none of them."""

    error: int = 0
    warning: int = 0
    note: int = 0
    suppressed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One report of a tool.

    `counts` is None, and `data` empty, where the document is not read; then `problems` say why. `data` is
    what guards see. `passed` and `failed` are names of tests.
    """

    kind: str
    counts: CaseCounts | CoverageCounts | IssueCounts | None = None
    data: Mapping[str, Any] = field(default_factory=lambda: NO_DATA)
    issues: tuple[SourceProblem, ...] = ()
    problems: tuple[Problem, ...] = ()
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        return self.counts is not None


def first_line(text: str) -> str:
    """The first line that says something, cut."""
    line = next((line.strip() for line in text[: 4 * MOST_MESSAGE].splitlines() if line.strip()), "")
    return line if len(line) <= MOST_MESSAGE else f"{line[: MOST_MESSAGE - 1]}…"


def invalid(kind: str, message: str, *more: Problem) -> ToolReport:
    """A report that is read and says nothing that can be used."""
    return ToolReport(kind, problems=(*more, Problem("artifact-invalid", message, TOP)))


def json_document(text: str) -> ParsedText:
    """The value of a JSON text that cannot take too much memory; its commas are counted, those in texts too.

    One that contradicts itself is not readable here: nobody knows what the tool wrote.
    """
    values = text.count(",")
    if values > MOST_VALUES:
        said = f"it may hold {values} values; at most {MOST_VALUES} are read"
        return ParsedText(None, (Problem("artifact-unreadable", said),), False)
    document = read_json(text)
    if any(problem.code == "artifact-contradictory" for problem in document.problems):
        return document._replace(data=None, readable=False)
    return document
