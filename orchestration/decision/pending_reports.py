"""Report files that no record holds yet, folded in one by one, each judged in its turn (design, section 6).

A report counts when it is of the current phase, of the suggested next phase or action, or of one that
a gate in force allows. Reports of a stage that is finished, or of a phase that the run is past, are
history, and so is what lies beside a run that is over, for which nothing is reported any more. Everything
else is out of turn: an error that counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from ..definition.model import Workflow
from ..findings import Finding, Problem, finding
from ..journal.journal import Record, record
from ..journal.report_files import ReportFile
from ..snapshot.snapshot import PendingReport, Snapshot, stamped
from ..states import RunStatus, SuggestionKind
from ..suggestions import did_you_mean
from ..vfs.files import natural
from .decision import Decision, decide
from .facts import RunFacts
from .gates import allowed_steps

# Files saved within this time of each other have no certain order: a clone writes them in any.
SAME_MOMENT_NS = 2_000_000_000


def fold_reports(snapshot: Snapshot) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    """(all records in order, findings about report files). Done once for a snapshot."""
    memory = snapshot.memory
    if "folded" not in memory:
        memory["folded"] = _fold(snapshot)
    return memory["folded"]


def _fold(snapshot: Snapshot) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    if snapshot.journal.broken or not snapshot.pending:
        return snapshot.records, ()
    folding = _Folding(snapshot)
    for group in groups_by_time(snapshot.pending):
        folding.add(group)
    return folding.facts.records, tuple(folding.findings)


def groups_by_time(pending: Sequence[PendingReport]) -> list[list[PendingReport]]:
    """Reports by time; those whose order is not certain are together, in natural order of their names."""
    ordered = sorted(pending, key=lambda entry: (entry.mtime_ns, natural(entry.path)))
    out: list[list[PendingReport]] = []
    for entry in ordered:
        if out and entry.mtime_ns - out[-1][-1].mtime_ns <= SAME_MOMENT_NS:
            out[-1].append(entry)
        else:
            out.append([entry])
    return [sorted(group, key=lambda entry: natural(entry.path)) for group in out]


class _Folding:
    """The records so far, how the run stands on them, and what was found. Time grows with the square of the
    reports of one moment, and each accepted report costs one decision.
    """

    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self.findings: list[Finding] = []
        self.stages = {entry.path: _stage(entry, snapshot) for entry in snapshot.pending}
        self._look(snapshot.records)

    def _look(self, records: tuple[Record, ...]) -> None:
        self.facts = RunFacts(self.snapshot.workflow, self.snapshot, records)
        self.decision = decide(self.facts)
        self.due = reportable_steps(self.decision, self.snapshot.workflow)

    def add(self, group: list[PendingReport]) -> None:
        """Take the reports of one moment, each when its turn comes; what finds no turn is late."""
        waiting, taken = list(group), []
        while entry := self._choice(waiting, taken):
            waiting.remove(entry)
            taken.append(entry)
            self._tell_uncertain(entry, group)
            self._accept(entry, self._turn(entry) or self._past(entry))
        for entry in waiting:
            self._late(entry, group)

    def _choice(self, waiting: list[PendingReport], taken: list[PendingReport]) -> PendingReport | None:
        """The report to take next: one whose turn it is, else one that is history."""
        if ended_without_completing(self.decision):
            return None
        first = self._first(waiting)
        due = [entry for entry in first if self._turn(entry)]
        # A repetition waits until everything new is in: the fix of a task looks like its first report.
        known = {self._subject(entry) for entry in taken}
        new = (entry for entry in due if self._subject(entry) not in known)
        return next(chain(new, due, (entry for entry in first if self._past(entry))), None)

    def _first(self, waiting: list[PendingReport]) -> list[PendingReport]:
        """Those before which no other of the same subject must come: an earlier iteration, or a pass."""
        subjects: dict[object, list[ReportFile]] = {}
        for entry in waiting:
            subjects.setdefault(self._subject(entry), []).append(entry.report)
        bounds = {subject: _bounds(reports) for subject, reports in subjects.items()}
        return [entry for entry in waiting if bounds[self._subject(entry)].lets(entry.report)]

    def _subject(self, entry: PendingReport) -> object:
        """What a report is of: its phase and stage, and its task where tasks are handed out."""
        report = entry.report
        phase = self.snapshot.workflow.phases[report.phases[0]]
        tasks = report.tasks_named if phase.tasks is not None else ()
        return report.phases, tasks, self.stages[entry.path] or self.facts.stage

    def _late(self, entry: PendingReport, group: list[PendingReport]) -> None:
        """A report that no turn came for counts for nothing, but a failure saved with a pass still stands.

        While nothing can be said of the run, nothing is said of its reports: why is told elsewhere, once.
        """
        if ended_without_completing(self.decision) or self.decision.kind == SuggestionKind.NONE:
            return
        if self._tell_uncertain(entry, group):
            self._accept(entry, entry.report.phases[0])
            return
        turn = f"it is the turn of {', '.join(self.due)}" if self.due else "a person decides first"
        phases = " or ".join(entry.report.phases)
        self._tell(entry, "report-out-of-turn", f"a report of {phases}, but {turn}")

    def _tell_uncertain(self, entry: PendingReport, group: list[PendingReport]) -> bool:
        """Say that a failure was saved together with another verdict on the same, with no numbers to tell."""
        if entry.report.outcome != "fail":
            return False
        others = (other for other in group if other.report.outcome != "fail")
        unordered = (other for other in others if not (other.report.iteration and entry.report.iteration))
        subject = self._subject(entry)
        other = next((other for other in unordered if self._subject(other) == subject), None)
        if other is None:
            return False
        self._tell(entry, "order-uncertain", f"saved together with {other.path}; the failure stands")
        return True

    def _turn(self, entry: PendingReport) -> str:
        """The phase the report counts for now, "" when it is not its turn."""
        stage = self.stages[entry.path]
        if stage and self.facts.stage and stage != self.facts.stage:
            return ""
        return next((phase for phase in entry.report.phases if phase in self.due), "")

    def _past(self, entry: PendingReport) -> str:
        """The phase of a report that is history: of a finished stage, or of a phase the run is past."""
        phase = entry.report.phases[0]
        plan, stage = self.snapshot.plan, self.stages[entry.path]
        if (
            plan
            and stage != self.facts.stage
            and any(s.id == stage and s.done == s.total for s in plan.stages)
        ):
            return phase
        return phase if not stage and self._overtaken(phase) else ""

    def _overtaken(self, phase: str) -> bool:
        """Whether a later phase has delivered already, and the run is past that one too."""
        workflow = self.snapshot.workflow
        current = workflow.phases.get(self.decision.phase or "")
        if current is None:
            return False
        between = (p for p in workflow.phases.values() if workflow.order(phase) <= p.order < current.order)
        return any(p.produces and all(self.facts.held(n).valid for n in p.produces) for p in between)

    def _accept(self, entry: PendingReport, phase: str) -> None:
        report = entry.report
        named = list(report.tasks_named)
        made = record(
            kind="report", phase=phase, outcome=report.outcome, tasks=named, iteration=report.iteration,
            task=named[0] if len(named) == 1 else "", stage=report.stage, message=report.message,
            manual_criteria=list(report.manual_criteria), path=entry.path, about=report.digest,
        )  # fmt: skip
        made = stamped(made, self.snapshot.plan)
        strange = self._strange(made, phase)
        if strange:
            self._tell(entry, "report-unclear", strange)
            return
        if not made["stage"]:
            made["stage"] = self.facts.stage
        places = self.snapshot.places
        assert isinstance(places, dict)
        places[id(made)] = (entry.path, report.span)
        # The index of the records grows with them; to make it anew for each would take quadratic time.
        memory, records = self.snapshot.memory, (*self.facts.records, made)
        memory["index"].add(made)
        memory["indexed"] = records
        self._look(records)

    def _strange(self, made: Record, phase: str) -> str:
        """Why a report of handed-out work says nothing: the task it names is not in the plan."""
        plan = self.snapshot.plan
        if plan is None or self.snapshot.workflow.phases[phase].tasks is None:
            return ""
        unknown = [str(name) for name in made["tasks"] if name not in plan.by_id]  # type: ignore[union-attr]
        close = did_you_mean(unknown[0], list(plan.by_id)) if unknown else ""
        return f"{unknown[0]!r} is no task of the plan{close}" if unknown else ""

    def _tell(self, entry: PendingReport, code: str, message: str) -> None:
        self.findings.append(finding(Problem(code, message, entry.report.span), entry.path))


class _Bounds(NamedTuple):
    """Of the reports of one subject: the earliest numbered iteration, and whether one is no failure."""

    iteration: int
    passed: bool
    passed_unnumbered: bool

    def lets(self, report: ReportFile) -> bool:
        """Whether a report of the subject may come before all others of it."""
        if report.iteration and report.iteration > self.iteration:
            return False
        return report.outcome != "fail" or not (self.passed_unnumbered if report.iteration else self.passed)


def _bounds(reports: Sequence[ReportFile]) -> _Bounds:
    passed = [report for report in reports if report.outcome != "fail"]
    earliest = min((report.iteration for report in reports if report.iteration), default=0)
    return _Bounds(earliest, bool(passed), any(not report.iteration for report in passed))


def _stage(entry: PendingReport, snapshot: Snapshot) -> str:
    """The stage that a report names, itself or by its tasks."""
    named = record(tasks=list(entry.report.tasks_named))
    return entry.report.stage or str(stamped(named, snapshot.plan)["stage"])


def ended_without_completing(decision: Decision) -> bool:
    """Whether the run ended in another way than complete: it failed, was ended, or a person blocked it."""
    return decision.kind == SuggestionKind.STOP and decision.status != RunStatus.COMPLETE


def reportable_steps(decision: Decision, workflow: Workflow) -> tuple[str, ...]:
    """The phases and actions a report may be of now: the current, the suggested, and what gates allow.

    A run that is complete takes reports of its follow-up phases only; one that ended otherwise, or of which
    nothing can be said, takes none.
    """
    if ended_without_completing(decision) or decision.kind in (SuggestionKind.ESCALATE, SuggestionKind.NONE):
        # A person decides first; until then nothing that is reported counts.
        return ()
    if decision.status == RunStatus.COMPLETE:
        return tuple(phase.id for phase in workflow.phases.values() if phase.follow_up)
    names = [decision.phase, decision.to, decision.act]
    for gate in decision.gates:
        names += allowed_steps(gate, workflow)
    return tuple(dict.fromkeys(name for name in names if name))
