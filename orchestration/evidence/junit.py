"""JUnit XML, as test runners write it: cases are counted one by one, for what suites say of themselves is
missing or wrong in half of all files.

There is no one schema. Read are suites in suites, several outcomes of a case, surefire's reruns, words in
`status` and `result`. What cannot be told counts as failed: a failure outside of any case, a suite that says
that something failed in it and holds no such case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
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
_PATH = re.compile(r"(?=[^\s:*?]+\.\w{1,6}\Z).[^/\\]*+[/\\].*+")
_DEPENDENCIES = re.compile(r"(?:^|[/\\])(?:node_modules|site-packages|dist-packages)[/\\]")
_MOST_TEXT = 8 * 1024
"""Characters of a failure's text that are kept from its beginning, and as many from its end."""


@dataclass(slots=True)
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
    """A suite that is open: how much it says there is in it and failed, and what came so far.

    `ends` are those of its own cases in their order, each with the case's class and name.
    """

    name: str
    file: str
    tests: int
    declared: int
    at: Span
    failed: int = 0
    ends: list[tuple[str, str, CaseCounts]] = field(default_factory=list)

    def counted_ends(self) -> list[tuple[str, str, CaseCounts]]:
        """The ends that count. pytest-rerunfailures writes each try as a case of the same name, all but the
        last without an outcome: then there are as many tests as names by the suite's word, and more cases.
        """
        if self.tests >= len(self.ends):
            return self.ends
        tries: dict[tuple[str, str], list[CaseCounts]] = {}
        for classname, name, end in self.ends:
            tries.setdefault((classname, name), []).append(end)
        return (
            [(*key, _last_of(ends)) for key, ends in tries.items()] if len(tries) == self.tests else self.ends
        )


def _last_of(ends: Sequence[CaseCounts]) -> CaseCounts:
    """What several tries came to: a failure if any is told, else as the last one."""
    last = next((end for end in ends if end.failed), ends[-1])
    return last._replace(flaky=1) if len(ends) > 1 and last.passed else last


@cache
def _end(failed: bool, is_error: bool, is_skipped: bool, is_flaky: bool) -> CaseCounts:
    """The end of one case; the worst of what is told of it."""
    skipped = is_skipped and not failed
    passed = not (failed or skipped)
    return CaseCounts(
        1, int(passed), int(failed), int(failed and is_error), int(skipped), int(passed and is_flaky)
    )


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
            tests = _number(attributes.get("tests"))
            self._suites.append(_Suite(attributes.get("name", ""), file, tests, declared, at))
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
            self._close(self._suites[-1])

    def _close(self, suite: _Suite) -> None:
        """Count the cases of a suite, and one more where it says that something failed and nothing did."""
        if suite.declared and not suite.failed:
            case = _Case(suite.name or "a suite", "", suite.file, 0, suite.at, ["error"])
            case.message = f"the suite says that {suite.declared} failed in it, and names none"
            self._count(case)
        self._suites.pop()
        if self._suites:
            self._suites[-1].failed += suite.failed
        ends = suite.counted_ends()
        for end, count in Counter(end for _, _, end in ends).items():
            more = (count * each for each in end)
            self.counts = CaseCounts(*map(sum, zip(self.counts, more, strict=True)))
        for classname, name, end in ends[:MOST_NAMES]:
            names = self.failed if end.failed else self.passed
            if not end.skipped and len(names) < MOST_NAMES:
                names.append(_full_name(classname, name))

    def _case(self, attributes: Mapping[str, str], at: Span) -> _Case:
        suite = self._suites[-1]
        line = _number(attributes.get("line"))
        # pytest counts them from zero.
        line += "line" in attributes and suite.name == "pytest"
        classname = attributes.get("classname") or attributes.get("class") or ""
        file = attributes.get("file") or suite.file
        if not file:
            # Runners without an attribute for it have the file as the name of the class or the suite.
            file = next((each for each in (classname, suite.name) if _PATH.fullmatch(each)), "")
        name = attributes.get("name", "")
        if classname == "test":
            # node calls each class so, and the suites have the names.
            classname = ""
            name = " > ".join([*(each.name for each in self._suites if each.name), name])
        case = _Case(name[:MOST_NAME], classname[:MOST_NAME], file, line, at)
        for key in ("status", "result"):
            if key in attributes:
                word = attributes[key].lower()
                case.outcomes += ["failure"] if word in _FAILED_WORDS else []
                case.is_skipped |= word in _SKIPPED_WORDS
        return case

    def _count(self, case: _Case) -> None:
        failed = bool(case.outcomes)
        is_error = "failure" not in case.outcomes
        suite = self._suites[-1]
        suite.failed += failed
        suite.ends.append((case.classname, case.name, _end(failed, is_error, case.is_skipped, case.is_flaky)))
        if failed and len(self.issues) < MOST_ISSUES:
            self.issues.append(_issue(case))


def _number(text: str | None) -> int:
    """A count; of nothing and of nonsense zero."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0


def _add_outcome(case: _Case, name: str, attributes: Mapping[str, str]) -> None:
    if name in _FAILURES:
        case.outcomes.append(_FAILURES[name])
        case.message = case.message or attributes.get("message", "")
    case.is_skipped |= name == "skipped"
    case.is_flaky |= name in _FLAKY


def _full_name(classname: str, name: str) -> str:
    """A test's class and name; jest and mocha repeat the one in the other."""
    if not classname or name.startswith(classname) or name.endswith(classname):
        return name
    is_title = " " in classname or _PATH.fullmatch(classname)
    return f"{classname}{' > ' if is_title else '.'}{name}" if name else classname


def _issue(case: _Case) -> SourceProblem:
    name = _full_name(case.classname, case.name)
    text = case.head + case.tail
    why = _reason(case.message, text)
    message = f"{name or 'a test without a name'} failed" + (f": {why}" if why else "")
    # A message of many lines holds the trace where the element has no text.
    traced = places_in(text) or places_in(case.message[: 2 * _MOST_TEXT])
    traced = [place for place in traced if not _DEPENDENCIES.search(place.path)]
    own = [place for place in traced if _is_of(case, place.path)]
    named = [SourcePlace(case.file, line_span(case.line))] if case.file else []
    places = tuple(dict.fromkeys([*own, *named, *traced]))[:MOST_PLACES]
    return SourceProblem(Problem("test-failed", message, case.at, data={"test": name}), places)


def _reason(message: str, text: str) -> str:
    """Why a test failed, in a line: the first that says so, of a Python traceback the last."""
    why = first_line(message) or first_line(text)
    if why.startswith("Traceback ("):
        return first_line((message or text).rstrip().rpartition("\n")[2])
    if why == "collection failure":
        errors = [line[1:].strip() for line in text.split("\n") if line.startswith("E ")]
        return errors[-1] if errors else why
    return why


def _is_of(case: _Case, path: str) -> bool:
    """True if a path seems to be that of the case's own file."""
    last = path.replace("\\", "/").rpartition("/")[2]
    file = case.file.replace("\\", "/").rpartition("/")[2]
    return last == file if file else last.partition(".")[0] in case.classname.split(".")
