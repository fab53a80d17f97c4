"""JUnit XML, as test runners write it: cases are counted one by one, for what suites say of themselves is
missing or wrong in half of all files.

There is no one schema. Read are suites in suites, several outcomes of a case, surefire's reruns, words in
`status` and `result`. What cannot be told counts as failed: a failure outside of any case, a suite that says
that something failed in it and holds no such case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..findings import Problem, SourcePlace, SourceProblem, Span, line_span
from ..formats.xml_text import read_elements
from .stack_places import places_in
from .tool_report import (
    MOST_ISSUES,
    MOST_NAME,
    MOST_NAMES,
    MOST_PLACES,
    CaseCounts,
    ToolReport,
    first_line,
    invalid,
)

KIND = "junit"
_SUITES = ("testsuites", "testsuite")
_FAILURES = {"failure": "failure", "error": "error", "rerunFailure": "failure", "rerunError": "error"}
_FLAKY = frozenset({"flakyFailure", "flakyError"})
_FAILED_WORDS = frozenset({"failed", "failure", "fail", "error", "errored", "broken"})
_SKIPPED_WORDS = frozenset({"skipped", "disabled", "ignored", "notrun", "suppressed", "pending", "todo"})
_PATH = re.compile(r"[^\s:*?]+[/\\][^\s:*?]*\.\w{1,6}")
_DEPENDENCIES = re.compile(r"[/\\](?:node_modules|site-packages|dist-packages)[/\\]")
_MOST_TEXT = 8 * 1024
"""Characters of a failure's text that are kept from its beginning, and as many from its end."""


@dataclass
class _Case:
    """The test case that is being read. `outcomes` are the names of its failures."""

    name: str
    classname: str
    file: str
    line: int
    at: Span
    outcomes: list[str] = field(default_factory=list)
    is_skipped: bool = False
    is_flaky: bool = False
    message: str = ""
    head: str = ""
    tail: str = ""

    def add_text(self, text: str) -> None:
        room = _MOST_TEXT - len(self.head)
        self.head += text[:room]
        if len(text) > room:
            self.tail = (self.tail + text[room:])[-_MOST_TEXT:]


@dataclass
class _Suite:
    """A suite that is open: what it says failed in it, and what did so far."""

    name: str
    file: str
    declared: int
    at: Span
    failed: int = 0


def read_junit(text: str) -> ToolReport:
    """The report in a text. Names of tests are their class and name; of failures at most 500 are told."""
    reader = _JunitReader()
    problem = read_elements(text, reader)
    if problem:
        return ToolReport(KIND, problems=(problem,))
    if not reader.is_junit:
        begins = "JUnit XML begins with <testsuites> or <testsuite>"
        return invalid(KIND, f"the root element is <{reader.root[:MOST_NAME]}>; {begins}")
    if not reader.counts.total:
        return invalid(KIND, "the report names not a single test, so nothing was tested")
    counts = reader.counts
    data: dict[str, Any] = {**counts._asdict(), "failures": reader.failed[:MOST_ISSUES]}
    return ToolReport(
        KIND, counts, data, tuple(reader.issues), (), tuple(reader.passed), tuple(reader.failed)
    )


class _JunitReader:
    """Counter of the cases of one document, as its elements come."""

    def __init__(self) -> None:
        self.root = ""
        self.counts = CaseCounts()
        self.issues: list[SourceProblem] = []
        self.passed: list[str] = []
        self.failed: list[str] = []
        self._open: list[str] = []
        self._suites: list[_Suite] = []
        self._cases: list[_Case] = []

    @property
    def is_junit(self) -> bool:
        return self.root in _SUITES

    def start(self, name: str, attributes: Mapping[str, str], at: Span) -> None:
        parent = self._open[-1] if self._open else ""
        self.root = self.root or name
        self._open.append(name)
        if not self.is_junit:
            return
        if name in _SUITES:
            declared = _number(attributes.get("failures")) + _number(attributes.get("errors"))
            file = attributes.get("file") or attributes.get("filepath") or ""
            self._suites.append(_Suite(attributes.get("name", ""), file, declared, at))
        elif name == "testcase":
            self._cases.append(self._case(attributes, at))
        elif parent == "testcase" and self._cases:
            _add_outcome(self._cases[-1], name, attributes)
        elif parent in _SUITES and name in ("failure", "error"):
            suite = self._suites[-1]
            self._cases.append(_Case(suite.name or name, "", suite.file, 0, at, [name]))
            self._cases[-1].message = attributes.get("message", "")

    def text(self, text: str) -> None:
        if self._cases and self._open[-1] in _FAILURES:
            self._cases[-1].add_text(text)

    def end(self, name: str) -> None:
        self._open.pop()
        parent = self._open[-1] if self._open else ""
        if not self.is_junit:
            return
        if name == "testcase" or (parent in _SUITES and name in ("failure", "error")):
            self._count(self._cases.pop())
        elif name in _SUITES:
            suite = self._suites.pop()
            if suite.declared and not suite.failed:
                case = _Case(suite.name or "a suite", "", suite.file, 0, suite.at, ["error"])
                case.message = f"the suite says that {suite.declared} failed in it, and names none"
                self._count(case)
                suite.failed = 1
            if self._suites:
                self._suites[-1].failed += suite.failed

    def _case(self, attributes: Mapping[str, str], at: Span) -> _Case:
        suite = self._suites[-1] if self._suites else _Suite("", "", 0, at)
        line = _number(attributes.get("line"))
        # pytest counts them from zero.
        line += "line" in attributes and suite.name == "pytest"
        classname = attributes.get("classname") or attributes.get("class") or ""
        # Runners without an attribute for it have the file as the name of the class or the suite.
        paths = (each for each in (classname, suite.file, suite.name) if _PATH.fullmatch(each))
        file = attributes.get("file") or suite.file or next(paths, "")
        case = _Case(attributes.get("name", ""), classname, file, line, at)
        for word in (attributes.get("status", "").lower(), attributes.get("result", "").lower()):
            case.outcomes += ["failure"] if word in _FAILED_WORDS else []
            case.is_skipped |= word in _SKIPPED_WORDS
        return case

    def _count(self, case: _Case) -> None:
        failed = bool(case.outcomes)
        skipped = case.is_skipped and not failed
        passed = not (failed or skipped)
        one = CaseCounts(
            1, passed, failed, failed and "failure" not in case.outcomes, skipped, passed and case.is_flaky
        )
        self.counts = CaseCounts(*map(sum, zip(self.counts, one, strict=True)))
        name = _full_name(case)
        names = self.failed if failed else self.passed
        if not skipped and len(names) < MOST_NAMES:
            names.append(name)
        if failed:
            for suite in self._suites[-1:]:
                suite.failed += 1
            if len(self.issues) < MOST_ISSUES:
                self.issues.append(_issue(case, name))


def _number(text: str | None) -> int:
    """A count; of nothing and of nonsense zero."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0


def _add_outcome(case: _Case, name: str, attributes: Mapping[str, str]) -> None:
    if name in _FAILURES:
        case.outcomes.append(_FAILURES[name])
        case.message = case.message or attributes.get("message", "")
    case.is_skipped |= name == "skipped"
    case.is_flaky |= name in _FLAKY


def _full_name(case: _Case) -> str:
    """A test's class and name; jest repeats the one in the other."""
    name, classname = case.name[:MOST_NAME], case.classname[:MOST_NAME]
    if not classname or name.startswith(classname):
        return name
    return f"{classname}{' > ' if _PATH.fullmatch(classname) else '.'}{name}" if name else classname


def _issue(case: _Case, name: str) -> SourceProblem:
    text = case.head + case.tail
    why = _reason(case.message) or _reason(text)
    message = f"{name or 'a test without a name'} failed" + (f": {why}" if why else "")
    # A message of many lines holds the trace where the element has no text.
    traced = places_in(text) or places_in(case.message[: 2 * _MOST_TEXT])
    traced = [place for place in traced if not _DEPENDENCIES.search(place.path)]
    own = [place for place in traced if _is_of(case, place.path)]
    named = [SourcePlace(case.file, line_span(case.line))] if case.file else []
    places = tuple(dict.fromkeys([*own, *named, *traced]))[:MOST_PLACES]
    return SourceProblem(Problem("test-failed", message, case.at, data={"test": name}), places)


def _reason(text: str) -> str:
    """Why a test failed, in a line: the first, of a Python traceback the last."""
    line = first_line(text)
    return first_line(text.rstrip().rpartition("\n")[2]) if line.startswith("Traceback (") else line


def _is_of(case: _Case, path: str) -> bool:
    """True if a path seems to be that of the case's own file."""
    last = path.replace("\\", "/").rpartition("/")[2]
    file = case.file.replace("\\", "/").rpartition("/")[2]
    return last == file if file else last.partition(".")[0] in case.classname.split(".")
