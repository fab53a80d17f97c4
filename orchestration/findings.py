"""Values that say something about a place in a file.

Lines and columns are zero-based here and columns count code points; they become one-based where
text or JSON is rendered, and UTF-16 units only in the language server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

NO_DATA: Mapping[str, Any] = MappingProxyType({})


class Severity(StrEnum):
    """The weight of a finding; `check` fails on errors only."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"


class Span(NamedTuple):
    """A half-open range of text; zero-based, columns in code points."""

    line: int
    column: int
    end_line: int
    end_column: int


MOST_LINE = 10_000_000
"""Of a file; a column neither is larger."""


def line_span(line: int, column: int = 0, end_column: int = 0) -> Span | None:
    """The span of a one-based line, from a one-based column where there is one; None for what is no line."""
    if not 1 <= line <= MOST_LINE:
        return None
    if not 1 <= column <= MOST_LINE:
        return Span(line - 1, 0, line, 0)
    return Span(line - 1, column - 1, line - 1, max(min(end_column, MOST_LINE) - 1, column))


class Fix(NamedTuple):
    """One way to mend a finding: what a person reads, and the words after `phasekeeper` that do it."""

    title: str
    command: tuple[str, ...] = ()


class Problem(NamedTuple):
    """An error that a reader saw in one text; it becomes a finding once the path is known."""

    code: str
    message: str
    span: Span | None = None
    severity: Severity | None = None
    data: Mapping[str, Any] = NO_DATA


class SourcePlace(NamedTuple):
    """A place that a tool names, its path written as the tool wrote it."""

    path: str
    span: Span | None = None


class SourceProblem(NamedTuple):
    """What a tool's report says of a source file.

    The problem's own span is where the report says so; `places` are those that may be meant, the best first.
    It becomes a finding at the first that is a file of the root, else at the report.
    """

    problem: Problem
    places: tuple[SourcePlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement of the engine about a place in a file. `path` is relative to the root, POSIX.

    `data` is what a quick fix needs to know, as `Diagnostic.data` of LSP; nobody reads it out of `message`
    again. It is no part of the finding's identity. Its keys, where a code has any:

    - `word`, `suggestions`: a misspelt word and the known ones nearest to it
    - `path`, `want`: the path of a JSON value, and its type or the words that it may be
    - `missing`: what a row or a task file lacks (`row`, `meta`, `id`, `file`)
    - `field`, `expected`: the field of a report without a verdict, and the words that it may be
    - `replacements`: (title, text) of each way to mend it by another text in its range, the best first
    - `row`: what takes the place of its whole line; "" removes it
    - `name`: the id that no task has
    - `default`, `used`, `workflows`, `tasks`, `reads`: as the code's creator says
    """

    code: str
    path: str
    message: str
    span: Span | None = None
    severity: Severity = Severity.ERROR
    fixes: tuple[Fix, ...] = ()
    overridden: bool = False
    data: Mapping[str, Any] = field(default_factory=lambda: NO_DATA, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that decided something: the expression that was read, what it was, and where it stands."""

    expression: str
    value: object
    path: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A proposed file change: `text` replaces the file whose digest was `digest` (None: a new file)."""

    path: str
    digest: str | None
    text: str


# Every code the engine can give, with its usual severity and what it means. Stable: users filter on them.
CODES: dict[str, tuple[Severity, str]] = {
    "action-precondition": (Severity.WARNING, "a suggested action's own precondition does not hold"),
    "approval-missing": (Severity.WARNING, "a plan is under way that nobody approved"),
    "approval-stale": (Severity.WARNING, "what was approved has changed in substance since"),
    "artifact-invalid": (Severity.ERROR, "a file lacks what its phase must deliver"),
    "artifact-missing": (Severity.ERROR, "a file that is named or needed does not exist or is empty"),
    "artifact-stale": (Severity.WARNING, "a file is older than what it was made from; make it again"),
    "artifact-unreadable": (Severity.ERROR, "a file could not be read or parsed"),
    "decision-unverified": (Severity.ERROR, "a decision carries no proof that a person made it"),
    "definition-upgraded": (Severity.HINT, "a new release changed a shipped workflow that a run began under"),
    "definition-changed": (
        Severity.WARNING,
        "the workflow or a parameter changed while the run was under way",
    ),
    "definition-invalid": (
        Severity.ERROR,
        "the workflow of a run cannot be used, so nothing is said of the run",
    ),
    "budget-exceeded": (
        Severity.ERROR,
        "guards, files or folders take more time or memory than is allowed; what is left out is not known",
    ),
    "coverage-low": (Severity.WARNING, "less was covered by tests than the threshold that was set"),
    "check-changed": (Severity.WARNING, "a check runs something else than when the run recorded its result"),
    "check-failed": (Severity.ERROR, "a check ran on the files as they are, and failed"),
    "check-narrowed": (Severity.WARNING, "a check looks at less than when it passed last"),
    "check-stale": (Severity.INFO, "a check has no result for the files as they are"),
    "check-untrusted": (Severity.WARNING, "no person allowed what a check runs, so it counts as not run"),
    "check-invalid": (Severity.ERROR, "a check of the configuration is not written as it has to be"),
    "coverage-dropped": (Severity.WARNING, "tests reach less of the code than when a check passed last"),
    "dangling-dependency": (Severity.ERROR, "a task depends on a task that is not in the plan"),
    "delta-invalid": (Severity.WARNING, "a delta spec says something that OpenSpec refuses or does not see"),
    "dependency-cancelled": (Severity.WARNING, "an open task depends on a task that was cancelled"),
    "dotted-key": (Severity.WARNING, "a key with a dot was meant as a path; it is read as one"),
    "artifact-contradictory": (Severity.ERROR, "one document says two things that cannot both be so"),
    "duplicate-key": (Severity.WARNING, "a key stands twice in one object; readers keep only the last"),
    "duplicate-location": (Severity.WARNING, "an artifact exists in two places and the copies differ"),
    "duplicate-number": (
        Severity.WARNING,
        "two runs have one number, and commands that take the number cannot tell them apart",
    ),
    "duplicate-task": (Severity.ERROR, "two tasks of a plan share one id"),
    "evidence-unverified": (Severity.ERROR, "a record of a measurement carries no proof of it"),
    "fixes-dropped": (Severity.WARNING, "the run would end while fixes are pending or unverified"),
    "fix-scope-unclear": (
        Severity.WARNING,
        "a failed gate does not say which tasks of its stage have to be fixed",
    ),
    "freshness-unknown": (Severity.HINT, "a verdict and what it judges were saved at the same moment"),
    "gate-violation": (
        Severity.ERROR,
        "a guarded run has what was written past its gates, by no report or person",
    ),
    "inconsistent-state": (Severity.ERROR, "the recorded phase is ahead of what earlier phases delivered"),
    "inputs-unwatched": (Severity.INFO, "changes of a check's inputs are seen only when somebody asks"),
    "issue-reported": (Severity.WARNING, "a tool reports an issue in a source file"),
    "iteration-limit": (Severity.WARNING, "a counter reached its maximum"),
    "journal-forked": (Severity.ERROR, "two branches of the journal contradict each other"),
    "journal-invalid": (
        Severity.ERROR,
        "a line of the journal cannot be read or does not follow its predecessor",
    ),
    "journal-torn": (Severity.HINT, "the last line of the journal was cut off while it was written"),
    "mark-reverted": (
        Severity.ERROR,
        "tasks are marked open again although their stage was recorded as done",
    ),
    "marker-unknown": (
        Severity.WARNING,
        "a status mark is none of the known ones; the task counts as not done",
    ),
    "order-uncertain": (Severity.WARNING, "report files were saved together; their order is not known"),
    "parameter-invalid": (
        Severity.ERROR,
        "a parameter of the configuration is unknown or has the wrong type",
    ),
    "parameter-out-of-bounds": (
        Severity.WARNING,
        "a parameter has a value outside its bounds; the default is used",
    ),
    "phase-ahead": (Severity.INFO, "an artifact of a later phase already exists"),
    "phase-skipped": (Severity.INFO, "a phase is passed over, with its reason"),
    "placeholder-left": (Severity.WARNING, "a text stands where something is still to be said"),
    "plan-cycle": (Severity.ERROR, "tasks of a plan depend on each other in a circle"),
    "plan-empty": (Severity.WARNING, "the plan has no tasks that can be tracked"),
    "plan-shrank": (
        Severity.ERROR,
        "the plan lacks stages or tasks that were approved or reported on",
    ),
    "report-out-of-turn": (
        Severity.ERROR,
        "a report of a phase that is not the run's turn; it counts for nothing",
    ),
    "report-unclear": (
        Severity.ERROR,
        "a report whose verdict is not one of the known words; it counts for nothing",
    ),
    "report-unsupported": (
        Severity.ERROR,
        "a report without what its step must come with; it counts for nothing",
    ),
    "report-unmatched": (
        Severity.ERROR,
        "a report of a stage that the plan does not have; it counts for nothing",
    ),
    "report-unknown": (Severity.WARNING, "a file in the reports folder that no phase recognises"),
    "root-slow": (
        Severity.WARNING,
        "a root takes so long that a server shows its changes after those of others",
    ),
    "quality-mismatch": (
        Severity.WARNING,
        "the recorded quality gate contradicts the recorded issues, or checks",
    ),
    "session-inconsistent": (Severity.WARNING, "a session's status contradicts its own last result"),
    "state-loosened": (
        Severity.ERROR,
        "a value of the state is looser than it was, by no report, person or commit; it does not count",
    ),
    "status-drift": (Severity.WARNING, "two places that record the same progress disagree"),
    "task-ahead": (Severity.WARNING, "a task is done although one that it depends on is not"),
    "task-malformed": (Severity.HINT, "the convention's own tool reads a task otherwise, or not at all"),
    "task-mismatch": (Severity.WARNING, "a task's own file says that it is another task"),
    "task-unlisted": (Severity.ERROR, "a task file that no row of the plan names"),
    "task-unreadable": (Severity.WARNING, "a task file lacks its metadata or could not be read"),
    "test-failed": (Severity.WARNING, "a test failed by the report of its runner"),
    "tests-removed": (Severity.WARNING, "a check ran fewer tests than when it passed last"),
    "tests-skipped": (Severity.WARNING, "a check skipped more tests than when it passed last"),
    "tests-contradictory": (Severity.WARNING, "a test report that says it passed holds a failure"),
    "tests-empty": (Severity.WARNING, "the test report passed without naming a single test"),
    "gate-failing": (Severity.WARNING, "a gate that does not block fails"),
    "test-task-missing": (Severity.HINT, "a stage of the plan ends without a test task"),
    "unknown-action": (Severity.ERROR, "a rule named an action that the workflow does not have"),
    "threshold-lowered": (
        Severity.WARNING,
        "a tool is told a lower coverage threshold than when its check passed last",
    ),
    "unknown-phase": (Severity.ERROR, "the recorded phase is none of the workflow's"),
    "unknown-word": (Severity.ERROR, "a word stands where only known ones may; no gate passes on it"),
    "updates-ignored": (Severity.WARNING, "the last report wanted to write what its step may not"),
    "validation-loop": (Severity.WARNING, "the final validation failed again and again"),
    "workflow-ambiguous": (Severity.ERROR, "two definitions claim the same folder"),
    "workflow-invalid": (Severity.ERROR, "a workflow definition is broken"),
}


def finding(problem: Problem, path: str) -> Finding:
    """The finding for a problem seen in the file at `path`, with the severity of its code."""
    # A definition may warn with a code of its own.
    severity = problem.severity or CODES.get(problem.code, (Severity.WARNING, ""))[0]
    return Finding(problem.code, path, problem.message, problem.span, severity, data=problem.data)


_TOLD = "updates-ignored"
"""A finding that every surface says beside what was recorded."""


def new_findings(before: Iterable[Finding], after: Sequence[Finding]) -> tuple[Finding, ...]:
    """The errors and warnings that an act brought up; one that only says another number now is not new."""
    known, more = Counter[object](), Counter((found.code, found.path) for found in after)
    for found in before:
        known[found.code, found.path, found.message] += 1
        more[found.code, found.path] -= 1
    arisen: list[Finding] = []
    for found in (found for found in after if found.code != _TOLD):
        counts = found.severity in (Severity.ERROR, Severity.WARNING) and not found.overridden
        kind, same = (found.code, found.path), (found.code, found.path, found.message)
        if counts and not known[same] and more[kind] > 0:
            more[kind] -= 1
            arisen.append(found)
    return tuple(arisen)
