"""Report files that no record holds yet, folded in one at a time, each judged in its turn (design, section 6).

A report counts when it is of the current phase, of the suggested next phase or action, or of one that
a gate in force allows. Reports of a stage that is finished, or of a phase that the run is past, are
history. Everything else is out of turn: an error that counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from .findings import Finding, Problem, finding
from .files import natural
from .gates import granted
from .guards import did_you_mean
from .journal import Record, record
from .sight import Sight
from .snapshot import Pending, Snapshot, stamped
from .verdict import Verdict, decide
from .workflow import Workflow

# Files saved within this time of each other have no certain order: a clone writes them in any.
SAME_MOMENT_NS = 2_000_000_000


def fold(snapshot: Snapshot) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    """(all records in order, findings about report files). Done once for a snapshot."""
    memory = snapshot.memory
    if "folded" not in memory:
        memory["folded"] = _fold(snapshot)
    return memory["folded"]


def _fold(snapshot: Snapshot) -> tuple[tuple[Record, ...], tuple[Finding, ...]]:
    if snapshot.journal.broken or not snapshot.pending:
        return snapshot.records, ()
    folding = _Folding(snapshot)
    for group in groups(snapshot.pending):
        folding.add(group)
    return tuple(folding.records), tuple(folding.findings)


def groups(pending: Sequence[Pending]) -> list[list[Pending]]:
    """Reports by time; those whose order is not certain are together, in natural order of their names."""
    ordered = sorted(pending, key=lambda entry: (entry.mtime_ns, natural(entry.path)))
    out: list[list[Pending]] = []
    for entry in ordered:
        if out and entry.mtime_ns - out[-1][-1].mtime_ns <= SAME_MOMENT_NS:
            out[-1].append(entry)
        else:
            out.append([entry])
    return [sorted(group, key=lambda entry: natural(entry.path)) for group in out]


class _Folding:
    def __init__(self, snapshot: Snapshot):
        self.snapshot = snapshot
        self.records: list[Record] = list(snapshot.records)
        self.findings: list[Finding] = []
        self._look()

    def _look(self) -> None:
        self.sight = Sight(self.snapshot.workflow, self.snapshot, tuple(self.records))
        self.verdict = decide(self.sight)

    def add(self, group: list[Pending]) -> None:
        """Take the reports of one moment, each when its turn comes; what finds no turn is late."""
        waiting, taken = list(group), []
        while waiting:
            due = [e for e in waiting if self._first(e, waiting) and self._turn(e)]
            # A repetition waits until everything new is in: the fix of a task looks like its first report.
            entry = next((e for e in due if not any(self._same(e, t) for t in taken)), None) or next(iter(due), None)
            entry = entry or next((e for e in waiting if self._first(e, waiting) and self._past(e)), None)
            if entry is None:
                break
            waiting.remove(entry)
            taken.append(entry)
            self._tell_uncertain(entry, group)
            self._accept(entry, self._turn(entry) or self._past(entry))
        for entry in waiting:
            self._late(entry, group)

    def _late(self, entry: Pending, group: list[Pending]) -> None:
        """A report that no turn came for: a failure saved together with a pass still stands, the rest counts for nothing."""
        if self._tell_uncertain(entry, group):
            self._accept(entry, entry.report.phases[0])
            return
        turn = ", ".join(turns(self.verdict, self.snapshot.workflow)) or "nothing"
        phases = " or ".join(entry.report.phases)
        self._tell(entry, "report-out-of-turn", f"a report of {phases}, but it is the turn of {turn}")

    def _tell_uncertain(self, entry: Pending, group: list[Pending]) -> bool:
        """Say that a failure was saved together with another verdict on the same, where no numbers order them."""
        others = [e for e in group if self._same(e, entry) and e.report.outcome != entry.report.outcome]
        uncertain = [e for e in others if not (e.report.iteration and entry.report.iteration)]
        if not uncertain or entry.report.outcome != "fail":
            return False
        self._tell(entry, "order-uncertain", f"saved together with {uncertain[0].path}; the failure stands")
        return True

    def _first(self, entry: Pending, waiting: list[Pending]) -> bool:
        """Whether no other waiting report of the same subject must come before: an earlier iteration, or a pass."""
        for other in waiting:
            if not self._same(other, entry):
                continue
            numbered = other.report.iteration and entry.report.iteration
            if numbered and other.report.iteration < entry.report.iteration:
                return False
            if not numbered and entry.report.outcome == "fail" and other.report.outcome != "fail":
                return False
        return True

    def _same(self, one: Pending, other: Pending) -> bool:
        """Whether two reports are of the same phase and stage, and of the same task where tasks are handed out."""
        if one is other or one.report.phases != other.report.phases:
            return False
        phase = self.snapshot.workflow.phases[one.report.phases[0]]
        same_task = phase.tasks is None or one.report.tasks_named == other.report.tasks_named
        return same_task and (self._stage(one) or self.sight.stage) == (self._stage(other) or self.sight.stage)

    def _turn(self, entry: Pending) -> str:
        """The phase the report counts for now, "" when it is not its turn."""
        if not self._of_this_stage(entry):
            return ""
        due = turns(self.verdict, self.snapshot.workflow)
        return next((phase for phase in entry.report.phases if phase in due), "")

    def _of_this_stage(self, entry: Pending) -> bool:
        stage = self._stage(entry)
        return not stage or not self.sight.stage or stage == self.sight.stage

    def _stage(self, entry: Pending) -> str:
        if entry.report.stage:
            return entry.report.stage
        named = stamped(record(tasks=list(entry.report.tasks_named)), self.snapshot.plan)
        return str(named["stage"])

    def _past(self, entry: Pending) -> str:
        """The phase of a report that is history: of a finished stage, or of a phase the run is past."""
        phase = entry.report.phases[0]
        plan, stage = self.snapshot.plan, self._stage(entry)
        if plan and stage != self.sight.stage and any(s.id == stage and s.done == s.total for s in plan.stages):
            return phase
        return phase if not stage and self._overtaken(phase) else ""

    def _overtaken(self, phase: str) -> bool:
        """Whether a later phase has delivered already, and the run is past that one too."""
        workflow = self.snapshot.workflow
        current = workflow.phases.get(self.verdict.phase or "")
        order = workflow.order(phase)
        return current is not None and any(
            order <= other.order < current.order and other.produces and all(self.sight.held(n).valid for n in other.produces)
            for other in workflow.phases.values()
        )

    def _accept(self, entry: Pending, phase: str) -> None:
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
            made["stage"] = self.sight.stage
        self.records.append(made)
        places = self.snapshot.places
        assert isinstance(places, dict)
        places[id(made)] = (entry.path, report.span)
        self._look()

    def _strange(self, made: Record, phase: str) -> str:
        """Why a report of handed-out work says nothing: the task it names is not in the plan."""
        plan = self.snapshot.plan
        if plan is None or self.snapshot.workflow.phases[phase].tasks is None:
            return ""
        unknown = [str(name) for name in made["tasks"] if name not in plan.by_id]  # type: ignore[union-attr]
        close = did_you_mean(unknown[0], list(plan.by_id)) if unknown else ""
        return f"{unknown[0]!r} is no task of the plan{close}" if unknown else ""

    def _tell(self, entry: Pending, code: str, message: str) -> None:
        self.findings.append(finding(Problem(code, message, entry.report.span), entry.path))


def turns(verdict: Verdict, workflow: Workflow) -> tuple[str, ...]:
    """The phases and actions a report may be of now: the current, the suggested, and what gates in force allow.

    A run that is complete takes reports of its follow-up phases only.
    """
    if verdict.kind == "escalate":
        # A person decides first; until then nothing that is reported counts.
        return ()
    if verdict.status == "complete":
        return tuple(phase.id for phase in workflow.phases.values() if phase.follow_up)
    names = [verdict.phase, verdict.to, verdict.act]
    for gate in verdict.gates:
        names += granted(gate, workflow)
    return tuple(dict.fromkeys(name for name in names if name))
