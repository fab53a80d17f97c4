"""Report files that no record holds yet, folded in one by one, each judged in its turn (design, section 6).

A report counts when it is of the current phase, of the suggested next phase or action, or of one that
a gate in force allows. Reports of a stage that is finished, or of a phase that the run is past, are
history, and so is what lies beside a run that is over. All else is out of turn, an error without effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ..definition.model import Workflow
from ..expressions.values import MOST_STEPS
from ..findings import Finding
from ..journal.branches import FAILURES
from ..journal.journal import Record, record
from ..journal.report_files import PendingReport, ReportFile, is_filled_in
from ..plans.schedule import resolve
from ..snapshot.proof import is_committed
from ..snapshot.run_files import stamp_record
from ..snapshot.snapshot import RecordOrigin, Snapshot
from ..states import RecordKind, RunStatus, SuggestionKind
from ..suggestions import did_you_mean
from ..vfs.files import natural
from .brings import Delivery, unmet_requirements
from .decision import Decision, decide, ended_without_completing
from .facts import RecordLog, RunFacts, make_finding
from .fold_memory import FoldRecorder, failures_in
from .gates import allowed_steps, gate_against_repeating, remedies_only
from .lost_work import is_unmatched
from .task_turns import TaskTurns

# Files saved within this time of each other have no certain order: a clone writes them in any.
SAME_MOMENT_NS = 2_000_000_000
# What the expressions of all decisions may spend on the way, about 0.6 s, beside the budget that each has:
# ten times what they need for 1,000 reports on a plan of 2,000 tasks.
MOST_STEPS_OF_REPORTS = 2 * MOST_STEPS
# What is charged beside them each time that one of several reports is chosen: for every report to choose
# from, which takes some microseconds, and for every one whose tasks and evidence are looked at.
_STEPS_OF_CHOICE, _STEPS_OF_EVIDENCE = 3, 50


@dataclass(frozen=True)
class FoldedReports:
    """A run over its journal and the report files that were judged so far.

    `log` holds the records that count, `decision` is where the run stands on them, `due` what may be reported
    then, and `findings` are those about report files. The fold can go on from any such value.
    """

    log: RecordLog
    facts: RunFacts
    decision: Decision
    due: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @cached_property
    def turns(self) -> TaskTurns:
        """The tasks that a report may name now."""
        return TaskTurns(self.facts)


def fold_reports(workflow: Workflow, snapshot: Snapshot) -> FoldedReports:
    """The journal of a snapshot with its pending report files, judged in the order of their times."""
    log = RecordLog.of(snapshot)
    if snapshot.journal.broken or not snapshot.pending:
        return _standing(workflow, snapshot, log)
    # Those of a stage that the plan does not have are told as lost work.
    moments = groups_by_time([each for each in snapshot.pending if not is_unmatched(each, snapshot.plan)])
    recorder = FoldRecorder(snapshot, moments)
    known = recorder.steps[:]
    log = log.with_records([pair for step in known for pair in step.records])
    findings = tuple(found for step in known for found in step.findings)
    left = moments[max(len(known) - 1, 0) :]
    failures = [*(each for step in known for each in step.failures), *failures_in(left)]
    judge = _Judge(workflow, snapshot, failures, _standing(workflow, snapshot, log, findings))
    # What is remembered of the run as it stands is spent again, so this is never less than from the start.
    judge.spent_before = spent = sum(step.spent for step in known)
    if not known:
        spent = judge.spent
        recorder.add((), (), (), (), spent=spent, looked_ahead=False)
    for group in left:
        before, judge.looked_ahead = judge.state, False
        judge.judge_group(group)
        if judge.is_exhausted:
            recorder.forget()
            return fold_reports(workflow, snapshot) if known else _refuse_to_judge(workflow, snapshot)
        records, findings = judge.state.log.since(before.log), judge.state.findings[len(before.findings) :]
        failures = [each for each in failures_in([group]) if each in judge.failures]
        used, spent = judge.spent - spent, judge.spent
        recorder.add(group, records, findings, failures, spent=used, looked_ahead=judge.looked_ahead)
    recorder.close()
    return judge.state


def _standing(
    workflow: Workflow, snapshot: Snapshot, log: RecordLog, findings: tuple[Finding, ...] = ()
) -> FoldedReports:
    facts = RunFacts(workflow, snapshot, log)
    decision = decide(facts)
    return FoldedReports(log, facts, decision, reportable_steps(decision, workflow), findings)


def _refuse_to_judge(workflow: Workflow, snapshot: Snapshot) -> FoldedReports:
    """Where a run stands whose report files take too much: nowhere, for one of them may hold a failure."""
    facts = RunFacts(workflow, snapshot, RecordLog.of(snapshot))
    said = f"to judge its {len(snapshot.pending)} report files takes more than {MOST_STEPS_OF_REPORTS} steps"
    found = make_finding("budget-exceeded", snapshot.place.itself, f"{said}; none of them counts")
    decision = Decision(RunStatus.INVALID, SuggestionKind.NONE, f"{said}; they may hold a failure")
    return FoldedReports(RecordLog.of(snapshot), facts, decision, (), (found,))


def groups_by_time(pending: Sequence[PendingReport]) -> list[list[PendingReport]]:
    """Reports by time; those whose order is not certain are together, in natural order of their names."""
    ordered = sorted(pending, key=lambda entry: entry.mtime_ns)
    groups: list[list[PendingReport]] = []
    for entry in ordered:
        if groups and entry.mtime_ns - groups[-1][-1].mtime_ns <= SAME_MOMENT_NS:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return [sorted(group, key=lambda entry: natural(entry.path)) if group[1:] else group for group in groups]


@dataclass
class _Judge:
    """Judge of report files, as the run stands on the records so far.

    `failures` are those that are not taken yet; `looked_ahead` says that one judged depends on them.
    """

    workflow: Workflow
    snapshot: Snapshot
    failures: list[PendingReport]
    state: FoldedReports
    looked_ahead: bool = False
    spent_before: int = 0
    """By the decisions before the present one."""
    charged: int = 0
    """For choosing among reports of one moment."""
    _stages: dict[str, str] = field(default_factory=dict)
    _subjects: dict[tuple[str, str], object] = field(default_factory=dict)
    _known: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """What all reports of one kind have in common while the run stands as it does."""
    _first: dict[tuple[int, str], dict[tuple[object, bool], PendingReport]] = field(default_factory=dict)

    @property
    def spent(self) -> int:
        """The steps of all decisions so far."""
        return self.spent_before + self.charged + self.state.facts.context.budget.spent

    @property
    def is_exhausted(self) -> bool:
        return self.spent > MOST_STEPS_OF_REPORTS

    @cached_property
    def recorded_ns(self) -> int:
        """When the newest record of the journal was made."""
        return max(map(_time_ns, self.snapshot.records), default=0)

    def stage_of(self, entry: PendingReport) -> str:
        """The stage that a report names, itself or by its tasks."""
        if entry.path not in self._stages:
            tasks = stamp_record(record(tasks=list(entry.report.tasks_named)), self.snapshot.plan)
            self._stages[entry.path] = entry.report.stage or str(tasks["stage"])
        return self._stages[entry.path]

    def judge_group(self, group: list[PendingReport]) -> None:
        """Take the reports of one moment, each when its turn comes; what finds no turn is late.

        Each accepted report costs one decision, and a look at all that are left, which is charged.
        """
        waiting: list[PendingReport] = list(group)
        taken: list[PendingReport] = []
        while not self.is_exhausted and (entry := self.choice(waiting, taken)):
            waiting.remove(entry)
            taken.append(entry)
            self.failures = [each for each in self.failures if each is not entry]
            self.accept(entry, self.turn(entry) or self.past(entry), self.order_uncertain(entry, group))
        # What no turn came for counts for nothing, but a failure saved with a pass still stands.
        # Where the run cannot be evaluated its reports are not judged: why is reported elsewhere, once.
        for entry in waiting:
            state = self.state
            if self.is_exhausted:
                return
            if ended_without_completing(state.decision) or state.decision.kind is SuggestionKind.NONE:
                return
            if uncertain := self.order_uncertain(entry, group):
                self.accept(entry, entry.report.phases[0], uncertain)
                continue
            if self.is_overtaken(entry) and self.is_of_finished_stage(entry):
                continue
            turn = f"it is the turn of {', '.join(state.due)}" if state.due else "a person decides first"
            problems = (
                self.task_problem(entry, phase) for phase in entry.report.phases if phase in state.due
            )
            turn = next(filter(None, problems), turn)
            named = " or ".join(entry.report.phases)
            lacking = next(filter(None, (self.lacking(entry, each) for each in self.due_phases(entry))), "")
            if self.is_overtaken(entry):
                turn = "it was not its turn when the journal was last written; save it again when it is"
            elif lacking:
                said = f"a report of {named} needs that {lacking}"
                self.add_findings(_finding(entry, "report-unsupported", said))
                continue
            said = f"a report of {named}, but {turn}"
            self.add_findings(_finding(entry, "report-out-of-turn", said))

    def choice(self, waiting: list[PendingReport], taken: list[PendingReport]) -> PendingReport | None:
        """The report to take next: one whose turn it is, else one that is history."""
        if ended_without_completing(self.state.decision):
            return None
        if taken:
            self.charged += _STEPS_OF_CHOICE * (len(waiting) + len(taken))
        pairs = [(entry, self.subject(entry)) for entry in waiting if not self.is_overtaken(entry)]
        reports: dict[object, list[ReportFile]] = {}
        for entry, subject in pairs:
            reports.setdefault(subject, []).append(entry.report)
        orders = {subject: _Order.of(rivals) for subject, rivals in reports.items() if rivals[1:]}
        first = [(e, s) for e, s in pairs if s not in orders or orders[s].lets_first(e.report)]
        if history := next((entry for entry, _ in first if self.past(entry)), None):
            return history
        # A repetition waits until everything new is in: the fix of a task looks like its first report.
        known = {self.subject(entry) for entry in taken}
        new = (entry for entry, subject in first if subject not in known)
        again = (entry for entry, subject in first if subject in known)
        return next(filter(self.turn, chain(new, again)), None)

    def is_overtaken(self, entry: PendingReport) -> bool:
        """True if the report lay there when the newest record was made, which took all whose turn it was.

        A verdict given too early is none of what was done since. A failure counts whenever it is its turn.
        """
        return entry.report.outcome not in FAILURES and entry.mtime_ns + SAME_MOMENT_NS < self.recorded_ns

    def subject(self, entry: PendingReport) -> object:
        """The subject of a report: its phase and stage, and its task where tasks are handed out."""
        report, key = entry.report, (entry.path, self.state.facts.stage)
        if key not in self._subjects:
            phase = self.workflow.phases[report.phases[0]]
            tasks = report.tasks_named if phase.tasks is not None else ()
            self._subjects[key] = report.phases, tasks, self.stage_of(entry) or self.state.facts.stage
        return self._subjects[key]

    def order_uncertain(self, entry: PendingReport, group: list[PendingReport]) -> tuple[Finding, ...]:
        """A finding where a failure was saved together with another verdict on the same, without numbers."""
        if entry.report.outcome != "fail":
            return ()
        key = id(group), self.state.facts.stage
        if key not in self._first:
            self._first[key] = self._first_verdicts(group)
        # Two that have numbers are in a certain order.
        other = self._first[key].get((self.subject(entry), bool(entry.report.iteration)))
        if other is None:
            return ()
        return (_finding(entry, "order-uncertain", f"saved together with {other.path}; the failure stands"),)

    def _first_verdicts(self, group: list[PendingReport]) -> dict[tuple[object, bool], PendingReport]:
        """Subject → the first report of a group that is no failure; with True, that has no number either."""
        first: dict[tuple[object, bool], PendingReport] = {}
        for other in (each for each in group if each.report.outcome != "fail"):
            for is_unnumbered in (False,) if other.report.iteration else (False, True):
                first.setdefault((self.subject(other), is_unnumbered), other)
        return first

    def turn(self, entry: PendingReport) -> str:
        """The phase the report counts for now, "" when it is not its turn."""
        return next((phase for phase in self.due_phases(entry) if not self.lacking(entry, phase)), "")

    def due_phases(self, entry: PendingReport) -> list[str]:
        """The phases of a report whose turn it is, in its stage and with its tasks."""
        report, stage = entry.report, self.stage_of(entry)
        key = "due", report.phases, stage, report.outcome
        if key not in self._known:
            self._known[key] = self._due_in_stage(report, stage)
        phases: list[str] = self._known[key]
        self.charged += _STEPS_OF_EVIDENCE if phases else 0
        return [phase for phase in phases if not self.task_problem(entry, phase)]

    def _due_in_stage(self, report: ReportFile, stage: str) -> list[str]:
        at_work, due, decision = self.state.facts.stage, self.state.due, self.state.decision
        if stage and at_work and stage != at_work:
            return []
        return [p for p in report.phases if is_due(self.workflow, due, decision, p, report.outcome)]

    def lacking(self, entry: PendingReport, phase: str) -> str:
        """The evidence that the report lacks, in words; "" where nothing is missing."""
        declared, reader = self.workflow.phases[phase], self.snapshot.reader
        if declared.brings is None or entry.report.outcome != declared.outcomes[0]:
            return ""
        fields, text = dict(entry.report.fields), reader.read(entry.path).text or ""
        delivery = Delivery(self.record_of(entry, phase), fields, text)
        is_bare = declared.brings.report and not is_filled_in(delivery.text, entry.report)
        needed = unmet_requirements(self.state.facts, declared.brings, delivery)
        if (is_bare or needed) and (self.is_judged(entry, phase) or is_committed(entry.path, reader)):
            # What lay beside it is not known any more.
            is_bare, delivery = False, delivery._replace(is_past=True)
            needed = unmet_requirements(self.state.facts, declared.brings, delivery)
        said = ["its text says in a sentence what was looked at and found"] if is_bare else []
        return "; ".join((*said, *(each.phrase for each in needed)))

    def is_judged(self, entry: PendingReport, phase: str) -> bool:
        """True if a failure of a later phase is still to be taken, which is of the stage of the report."""
        self.looked_ahead = True
        later = (e for e in self.failures if self.stage_of(e) == self.stage_of(entry) != "")
        return any(self.workflow.order(e.report.phases[0]) > self.workflow.order(phase) for e in later)

    def task_problem(self, entry: PendingReport, phase: str) -> str:
        """Why the report may not name its tasks now."""
        plan = self.snapshot.plan
        names = [resolve(plan, name) or name for name in entry.report.tasks_named] if plan else []
        return self.state.turns.problem(self.workflow.phases[phase], names)

    def past(self, entry: PendingReport) -> str:
        """The phase of a report that is history: of a finished stage, or of a phase the run is past."""
        phase, stage = entry.report.phases[0], self.stage_of(entry)
        is_failure = entry.report.outcome in FAILURES
        key = ("past", phase, stage, is_failure)
        if key not in self._known:
            self._known[key] = self._past(phase, stage, is_failure)
        return self._known[key]

    def _past(self, phase: str, stage: str, is_failure: bool) -> str:
        gates = self.state.decision.gates
        if not is_failure and any(remedies_only(gate) for gate in gates):
            # While a failure holds, nothing but its remedies and other failures count.
            return ""
        if self._is_finished_stage(stage):
            return phase
        current = self.workflow.phases.get(self.state.decision.phase or "")
        if stage or current is None:
            return ""
        # A later phase has delivered already, and the run is past that one too.
        facts, order = self.state.facts, self.workflow.order(phase)
        between = (p for p in self.workflow.phases.values() if order <= p.order < current.order)
        delivered = (p.produces and all(facts.artifact(n).valid for n in p.produces) for p in between)
        return phase if any(delivered) else ""

    def is_of_finished_stage(self, entry: PendingReport) -> bool:
        """True if the report names a stage that the run has behind it."""
        return self._is_finished_stage(self.stage_of(entry))

    def _is_finished_stage(self, stage: str) -> bool:
        plan = self.snapshot.plan
        behind = plan.stages if plan and stage != self.state.facts.stage else ()
        return any(each.id == stage and each.done == each.total for each in behind)

    def add_findings(self, *findings: Finding) -> None:
        self.state = replace(self.state, findings=(*self.state.findings, *findings))

    def accept(self, entry: PendingReport, phase: str, findings: tuple[Finding, ...]) -> None:
        """Take the report among the records; one of a task that is not in the plan says nothing."""
        self.add_findings(*findings)
        snapshot, state = self.snapshot, self.state
        accepted = self.record_of(entry, phase)
        if snapshot.plan and self.workflow.phases[phase].tasks is not None:
            known = snapshot.plan.by_id
            unknown = [str(name) for name in accepted["tasks"] if name not in known]  # type: ignore[union-attr]
            if unknown:
                said = f"{unknown[0]!r} is no task of the plan{did_you_mean(unknown[0], list(known))}"
                self.add_findings(_finding(entry, "report-unclear", said))
                return
        accepted["stage"] = accepted["stage"] or state.facts.stage
        origin = RecordOrigin(entry.path, entry.report.span)
        log = state.log.with_records([(accepted, origin)])
        self.spent_before = self.spent - self.charged
        self._known.clear()
        self.state = _standing(self.workflow, snapshot, log, state.findings)

    def record_of(self, entry: PendingReport, phase: str) -> Record:
        """The record of a report as one of the phase."""
        report, tasks = entry.report, list(entry.report.tasks_named)
        return stamp_record(record(
            kind=RecordKind.REPORT.value, phase=phase, outcome=report.outcome, tasks=tasks,
            iteration=report.iteration, task=tasks[0] if len(tasks) == 1 else "", stage=report.stage,
            message=report.message, manual_criteria=list(report.manual_criteria), path=entry.path,
            about=report.digest, written=entry.written,
        ), self.snapshot.plan)  # fmt: skip


def _time_ns(entry: Record) -> int:
    """When a record was made, 0 where it does not say."""
    try:
        at = datetime.fromisoformat(str(entry["at"]))
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0


def _finding(entry: PendingReport, code: str, message: str) -> Finding:
    return make_finding(code, entry.path, message, entry.report.span)


class _Order(NamedTuple):
    """What tells which reports of one subject come first: those of an earlier iteration, and passes."""

    earliest: int
    has_passed: bool
    is_numbered: bool

    @classmethod
    def of(cls, reports: Sequence[ReportFile]) -> _Order:
        passed = [other for other in reports if other.outcome != "fail"]
        earliest = min((other.iteration for other in reports if other.iteration), default=0)
        return cls(earliest, bool(passed), all(other.iteration for other in passed))

    def lets_first(self, report: ReportFile) -> bool:
        """True if no other report of the subject must come before this one."""
        if report.iteration > self.earliest:
            return False
        return report.outcome != "fail" or not self.has_passed or bool(self.is_numbered and report.iteration)


def is_due(workflow: Workflow, due: Sequence[str], decision: Decision, step: str, outcome: str) -> bool:
    """True if it is the turn of a report, `due` being the steps that may be reported.

    One more failure of the phase at hand always counts, for it stands against the run; so does a verdict that
    fails a phase which passed before, or which a person passed over.
    """
    if step in due or not due or decision.phase is None:
        return step in due
    if step == decision.phase:
        return outcome in FAILURES
    is_over = decision.status == RunStatus.COMPLETE or step not in workflow.phases
    return not is_over and outcome == "fail" and workflow.order(step) < workflow.order(decision.phase)


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
    names = [decision.to, decision.action]
    if not gate_against_repeating(decision.gates, decision.phase):
        names.insert(0, decision.phase)
    for gate in decision.gates:
        names += allowed_steps(gate, workflow)
    return tuple(dict.fromkeys(name for name in names if name))
