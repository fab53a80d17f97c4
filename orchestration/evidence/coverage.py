"""Coverage reports: Cobertura XML, LCOV's tracefiles and coverage.py's JSON, told apart by how they begin.

Lines and branches are counted here, not taken from the rates that a report says of itself. What is told
several times of one line (classes in one file, runs put together) was reached if any of it was.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..findings import Problem, SourcePlace, SourceProblem, Span, line_span
from ..formats.xml_text import read_elements
from .tool_report import (
    MOST_ISSUES,
    MOST_NAME,
    MOST_PLACES,
    Coverage,
    CoverageCounts,
    FileCoverage,
    ToolReport,
    invalid,
    json_document,
)

KIND = "coverage"
MEASURES = ("lines", "branches")
"""What a threshold may be set for."""
_CONDITIONS = re.compile(r"\(([0-9]{1,9})/([0-9]{1,9})\)")
_COUNT = re.compile(r"[0-9]{1,18}")
_MOST_LINES = 1_000_000
"""Of an LCOV tracefile."""
_MOST_FILES = 50_000
_MOST_RANGES = 50
_SHOWN_RANGES = 5


@dataclass(slots=True)
class _File:
    """What is known of a source file so far: lines by number to whether they were reached, branches likewise.

    `sums` are what the report says of the whole file, where it tells no lines or branches one by one.
    """

    lines: dict[int, bool] = field(default_factory=dict)
    branches: dict[object, Coverage] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)

    def reach(self, line: int, is_reached: bool) -> None:
        self.lines[line] = self.lines.get(line, False) or is_reached

    def branch(self, place: object, covered: int, total: int) -> None:
        known = self.branches.get(place, Coverage())
        self.branches[place] = Coverage(max(known.covered, min(covered, total)), max(known.total, total))


def read_coverage(text: str) -> ToolReport:
    """The report in a text of any of the formats."""
    begin = text.lstrip("\ufeff \t\r\n")[:1]
    if begin == "<":
        return _read_cobertura(text)
    return _read_json(text) if begin == "{" else _read_lcov(text)


def _report(files: Mapping[str, _File], folders: Sequence[str] = ()) -> ToolReport:
    if len(files) > _MOST_FILES:
        said = f"the report is of {len(files)} files; at most {_MOST_FILES} are read"
        return ToolReport(KIND, problems=(Problem("artifact-unreadable", said),))
    each = tuple(_file_coverage(path, file) for path, file in files.items())
    counts = CoverageCounts(
        _sum(file.lines for file in each), _sum(file.branches for file in each), each, tuple(folders)
    )
    if not counts.lines.total:
        return invalid(KIND, "the report names not a single line, so nothing was measured")
    data: dict[str, Any] = {
        **_ratios(counts.lines, counts.branches),
        "covered": counts.lines.covered,
        "total": counts.lines.total,
        "files": {file.path: _ratios(file.lines, file.branches) for file in each},
    }
    return ToolReport(KIND, counts, data)


def _ratios(lines: Coverage, branches: Coverage) -> dict[str, float]:
    ratios = {"lines": lines.ratio, "branches": branches.ratio}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}


def _sum(each: Iterable[Coverage]) -> Coverage:
    covered = total = 0
    for coverage in each:
        covered, total = covered + coverage.covered, total + coverage.total
    return Coverage(covered, total)


def _file_coverage(path: str, file: _File) -> FileCoverage:
    lines = Coverage(sum(file.lines.values()), len(file.lines))
    branches = _sum(file.branches.values())
    if not lines.total:
        lines = Coverage(min(file.sums.get("LH", 0), file.sums.get("LF", 0)), file.sums.get("LF", 0))
    if not branches.total:
        branches = Coverage(min(file.sums.get("BRH", 0), file.sums.get("BRF", 0)), file.sums.get("BRF", 0))
    return FileCoverage(path, lines, branches, _missed_ranges(file.lines))


def _missed_ranges(lines: Mapping[int, bool]) -> tuple[tuple[int, int], ...]:
    """The first ranges of lines without a reached one in between."""
    ranges: list[tuple[int, int]] = []
    is_open = False
    for line in sorted(lines):
        if not lines[line]:
            first = ranges.pop()[0] if is_open else line
            ranges.append((first, line))
        is_open = not lines[line]
        if len(ranges) > _MOST_RANGES:
            break
    return tuple(ranges[:_MOST_RANGES])


def _count(text: str | None) -> int:
    """A count of a text; of anything else zero, which is never more than there was."""
    return int(text) if text and _COUNT.fullmatch(text) else 0


# ---- Cobertura


def _read_cobertura(text: str) -> ToolReport:
    reader = _CoberturaReader()
    problem = read_elements(text, reader)
    if problem:
        return ToolReport(KIND, problems=(problem,))
    if reader.root != "coverage":
        root = reader.root[:MOST_NAME]
        return invalid(KIND, f"the root element is <{root}>; Cobertura's XML begins with <coverage>")
    return _report(reader.files, reader.folders)


class _CoberturaReader:
    """Collector of the lines of classes. Those of methods are told once more there, or are no statements."""

    def __init__(self) -> None:
        self.root = ""
        self.files: dict[str, _File] = defaultdict(_File)
        self.folders: list[str] = []
        self._file: _File | None = None
        self._folder: list[str] | None = None
        self._in_method = False

    def start(self, name: str, attributes: Mapping[str, str], at: Span) -> None:
        self.root = self.root or name
        if name == "class" and attributes.get("filename"):
            self._file = self.files[attributes["filename"]]
        elif name == "source" and len(self.folders) < MOST_PLACES:
            self._folder = []
        elif name == "method":
            self._in_method = True
        elif (
            name == "line"
            and self._file
            and not self._in_method
            and (line := _count(attributes.get("number")))
        ):
            self._file.reach(line, _count(attributes.get("hits")) > 0)
            conditions = _CONDITIONS.search(attributes.get("condition-coverage", ""))
            if conditions:
                self._file.branch(line, int(conditions[1]), int(conditions[2]))

    def text(self, text: str) -> None:
        if self._folder is not None:
            self._folder.append(text)

    def end(self, name: str) -> None:
        if name == "class":
            self._file = None
        elif name == "method":
            self._in_method = False
        elif name == "source" and self._folder is not None:
            self.folders.append("".join(self._folder).strip())
            self._folder = None


# ---- LCOV


def _read_lcov(text: str) -> ToolReport:
    """A tracefile. Of one that was cut off nothing counts: what is missing may be what was not reached."""
    count = text.count("\n")
    if count > _MOST_LINES:
        said = f"the report has {count} lines; at most {_MOST_LINES} are read"
        return ToolReport(KIND, problems=(Problem("artifact-unreadable", said),))
    files: dict[str, _File] = defaultdict(_File)
    file: _File | None = None
    for line in text.split("\n"):
        key, _, value = line.rstrip("\r").partition(":")
        if key == "SF" and value:
            file = files[value]
        elif key == "end_of_record":
            file = None
        elif file and key in ("DA", "BRDA"):
            _add_lcov_line(file, key, value.split(","))
        elif file and key in ("LF", "LH", "BRF", "BRH"):
            file.sums[key] = _count(value)
    if file is not None:
        return invalid(KIND, "the report is cut off: its last record has no end_of_record")
    if not files:
        return invalid(KIND, "this is neither Cobertura's XML nor LCOV (SF:) nor coverage.py's JSON")
    return _report(files)


def _add_lcov_line(file: _File, key: str, parts: Sequence[str]) -> None:
    line = _count(parts[0])
    if key == "DA" and line and len(parts) >= 2:
        file.reach(line, _count(parts[1]) > 0)
    elif key == "BRDA" and line and len(parts) >= 4:
        file.branch(tuple(parts[:-1]), int(_count(parts[-1]) > 0), 1)


# ---- coverage.py's JSON


def _read_json(text: str) -> ToolReport:
    document = json_document(text)
    if not document.readable:
        return ToolReport(KIND, problems=document.problems)
    said: Any = document.data.get("files") if isinstance(document.data, dict) else None
    if not isinstance(said, dict) or not all(isinstance(each, dict) for each in said.values()):
        return invalid(KIND, "coverage.py's JSON has an object `files`, of an object for each file")
    return _report({path: _json_file(each) for path, each in said.items()})


def _json_file(said: Mapping[str, Any]) -> _File:
    file = _File()
    for name, is_reached in (("missing_lines", False), ("executed_lines", True)):
        for line in _list(said.get(name)):
            if type(line) is int and line > 0:
                file.reach(line, is_reached)
    for name, covered in (("missing_branches", 0), ("executed_branches", 1)):
        for branch in _list(said.get(name)):
            if isinstance(branch, list):
                file.branch(tuple(map(str, branch)), covered, 1)
    return file


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# ---- thresholds


def shortfalls(counts: CoverageCounts, thresholds: Mapping[str, float]) -> list[SourceProblem]:
    """What is below a threshold (`lines`, `branches`; 0 to 1): first in all, at the report, then each file
    below that of lines, at its first missed line, those with most missed lines first."""
    problems = [_shortfall(name, getattr(counts, name), least) for name, least in thresholds.items()]
    below = [SourceProblem(problem) for problem in problems if problem]
    least = thresholds.get("lines")
    if not below or least is None:
        return below
    # An empty module has no line, and lacks none.
    files = [file for file in counts.files if file.lines.total and _is_below(file.lines, least)]
    files.sort(key=lambda file: (file.lines.covered - file.lines.total, file.path))
    return [*below, *(_file_shortfall(file, least, counts.folders) for file in files[:MOST_ISSUES])]


def _is_below(coverage: Coverage, least: float) -> bool:
    """True also where nothing was measured."""
    return coverage.ratio is None or coverage.ratio < least


def _shortfall(name: str, coverage: Coverage, least: float) -> Problem | None:
    if not _is_below(coverage, least):
        return None
    how_many = _how_many(coverage, name) if coverage.total else f"no {name} were measured"
    return Problem("coverage-low", f"{how_many}; the threshold is {least:.4g}", Span(0, 0, 0, 1))


def _how_many(coverage: Coverage, name: str) -> str:
    return f"{coverage.covered} of {coverage.total} {name} are covered ({coverage.ratio:.4g})"


def _file_shortfall(file: FileCoverage, least: float, folders: Sequence[str]) -> SourceProblem:
    ranges = [f"{first}–{last}" if last > first else str(first) for first, last in file.missed]
    more = "…" if len(ranges) > _SHOWN_RANGES else ""
    lines = f"; not lines {', '.join(ranges[:_SHOWN_RANGES])}{more}" if ranges else ""
    said = f"{_how_many(file.lines, 'lines')}, the threshold is {least:.4g}{lines}"
    span = line_span(file.missed[0][0]) if file.missed else None
    return SourceProblem(
        Problem("coverage-low", f"{file.path[:MOST_NAME]}: {said}", Span(0, 0, 0, 1)),
        tuple(SourcePlace(path, span) for path in (*_below(folders, file.path), file.path)),
    )


def _below(folders: Sequence[str], path: str) -> list[str]:
    if path.startswith("/") or path[1:2] == ":":
        return []
    return [f"{folder.rstrip('/')}/{path}" for folder in folders if folder not in ("", ".")]
