"""Gate violations: what was done past a gate, seen afterwards in the files of a guarded run.

`write_check` refuses a tool's write beforehand. A shell cannot be judged so; what it wrote is found here, by
the same rules: files of a step that a gate shuts, marks that no passed gate carries, the state that reports
change, a decision that nobody signed, the journal. What the commit HEAD has was reviewed and is none of it;
nor is what stood there when the last record was made. Where neither tells, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..decision.decision import outcomes_of, step_of
from ..decision.facts import RunFacts, make_finding
from ..decision.lost_work import marking_steps
from ..definition.phase_edges import edges
from ..findings import Finding, Severity, Span
from ..journal.journal import record_lines
from ..journal.lines import JOURNAL
from ..plans.dialects import DIALECTS
from ..plans.model import Plan, Task
from ..snapshot.proof import is_committed
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import MOST_FINDINGS, STATE, Snapshot
from ..snapshot.staleness import SAME_MOMENT_NS, digests
from ..states import ArtifactStatus, RecordKind
from ..vfs.files import below, decode
from .trace import EarlyFile, EvaluationTrace, GateViolations, check_action, shut_step

CODE = "gate-violation"
_FIRST_LINE = Span(0, 0, 0, 1)
_MOST_NAMED = 8
# Findings that say by themselves what was written past a gate, where they are errors.
_SAME_ELSEWHERE = ("decision-unverified", "journal-invalid")


Look = Callable[[Snapshot], EvaluationTrace]
"""The evaluation of a run by other facts, without its violations."""


def find_violations(trace: EvaluationTrace, look: Look) -> GateViolations:
    """What was written past the gates of a guarded run; nothing of one that is not guarded."""
    snapshot = trace.facts.snapshot
    if not snapshot.guarded:
        return trace.violations
    is_known = bool(trace.facts.phase)
    return GateViolations(
        tuple(_early_files(trace, look)) if is_known else (),
        tuple(_uncarried_marks(trace)) if is_known else (),
        snapshot.edited_state,
        _lost_lines(snapshot),
    )


def with_violations(
    facts: RunFacts, violations: GateViolations, findings: Iterable[Finding]
) -> Iterable[Finding]:
    """The findings of a run with its violations in them.

    One that says the same at the same place with another code gives way: a decision that nobody signed and a
    broken journal are errors anywhere; in a guarded run they are this one.
    """
    snapshot = facts.snapshot
    if not snapshot.guarded:
        return findings
    journal = below(snapshot.home, JOURNAL)
    told: list[Finding] = [*_findings_of(facts, violations, journal)]
    others: list[Finding] = []
    for found in findings:
        is_reviewed = found.path == journal and is_committed(journal, snapshot.reader)
        if found.code in _SAME_ELSEWHERE and found.severity is Severity.ERROR and not is_reviewed:
            told.append(replace(found, code=CODE, data={**found.data, "instead_of": found.code}))
        else:
            others.append(found)
    paths = {found.path for found in told}
    return (*told, *(found for found in others if found.code != "phase-ahead" or found.path not in paths))


def _findings_of(facts: RunFacts, violations: GateViolations, journal: str) -> Iterator[Finding]:
    snapshot = facts.snapshot
    for path, because in violations.early[:MOST_FINDINGS]:
        said = f"it was written although {because}; it counts once its step's turn comes"
        yield make_finding(CODE, path, f"{said}, or a person overrides", _FIRST_LINE, data=_NO_QUESTION)
    if len(violations.early) > MOST_FINDINGS:
        said = f"and {len(violations.early) - MOST_FINDINGS} more files of steps that are shut off"
        yield make_finding(CODE, snapshot.place.itself, said, data=_NO_QUESTION)
    by_stage: dict[str, list[Task]] = {}
    for task in violations.marks:
        by_stage.setdefault(task.stage, []).append(task)
    plan = snapshot.plan
    spans = {stage.id: stage.span_of for stage in plan.stages} if plan else {}
    for stage, tasks in by_stage.items():
        names = ", ".join(task.id for task in tasks[:_MOST_NAMED])
        more = f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
        verb, them = ("is", "it") if len(tasks) == 1 else ("are", "them")
        said = f"{names}{more} {verb} marked done, and no gate of stage {stage} passed that lets {them} be"
        span = spans[stage](tasks[0].mark or tasks[0].place)
        yield make_finding(CODE, snapshot.plan_path, f"{said} marked", span, data=_NO_QUESTION)
    if violations.state:
        said = "the state is not as the last record left it, and reports alone change it"
        yield make_finding(
            CODE, violations.state, f"{said}; put it back, or a person accepts or commits it", _FIRST_LINE,
            data={"question": STATE},
        )  # fmt: skip
    if violations.lost_lines:
        count = "1 record" if violations.lost_lines == 1 else f"{violations.lost_lines} records"
        said = f"the journal lacks {count} that the commit HEAD has; only Phasekeeper writes it"
        yield make_finding(CODE, journal, said, _FIRST_LINE, data=_NO_QUESTION)


# No question of the run is the one to be asked.
_NO_QUESTION: Mapping[str, object] = {"question": ""}


# ---- files of later steps


def _early_files(trace: EvaluationTrace, look: Look) -> Iterator[EarlyFile]:
    """Files that only shut-off steps make, by no record's words and not in HEAD.

    A file may change what comes next: a review that blocks sends the run back. So each is judged on the run
    without it, and without all that come behind it. Costs an evaluation for each artifact of a later step
    that is there and unknown.
    """
    snapshot = trace.facts.snapshot
    unknown = dict(_unknown_artifacts(trace))
    missing = {
        name: ArtifactState(name, ArtifactStatus.MISSING, snapshot.artifacts[name].path) for name in unknown
    }
    for name, paths in unknown.items():
        # Nothing that this look remembers is true of the run.
        reader = replace(snapshot.reader, parsed={}, memory={})
        before = look(replace(snapshot, reader=reader, artifacts={**snapshot.artifacts, **missing}))
        refused = [EarlyFile(path, shut.because) for path in paths if (shut := shut_step(before, path))]
        yield from refused
        if not refused:
            del missing[name]


def _unknown_artifacts(trace: EvaluationTrace) -> Iterator[tuple[str, list[str]]]:
    """(artifact of a later step, those of its files that no record and no commit has), in the steps' order.

    Passed over is what may have been made in its turn: where something that it builds on was saved later,
    nobody can tell.
    """
    facts, snapshot = trace.facts, trace.facts.snapshot
    since_ns = 0
    if not snapshot.records:
        if snapshot.state is None:
            return
        # Without a record, and with no commit of the run, the state file alone says how far it had got, and
        # only of what was saved later.
        is_committed_run = snapshot.reader.read_committed(snapshot.state.path) is not None
        since_ns = 0 if is_committed_run else snapshot.state.mtime_ns + SAME_MOMENT_NS
    current, newest_ns, seen = facts.workflow.order(facts.phase or ""), 0, set[str]()
    for phase in facts.workflow.phases.values():
        for name in phase.produces:
            declared, artifact = facts.workflow.artifacts[name], snapshot.artifacts.get(name)
            if artifact is None or not artifact.exists or declared.decided_by or name in seen:
                continue
            is_later = phase.order > current and artifact.mtime_ns >= max(since_ns, newest_ns)
            newest_ns = max(newest_ns, artifact.mtime_ns)
            seen.add(name)
            now = digests(artifact, declared, snapshot.place, snapshot.reader) if is_later else {}
            known = snapshot.left_files.known
            # Very many files have one digest together, under a name that is none of theirs.
            paths = () if now.items() <= known else artifact.paths or (artifact.path,)
            new = [path for path in paths if (path, now.get(path)) not in known]
            if unknown := [path for path in new if not is_committed(path, snapshot.reader)]:
                yield name, unknown


# ---- marks of a plan


def _uncarried_marks(trace: EvaluationTrace) -> Iterator[Task]:
    """Tasks that are marked done although no report, decision or commit carries the mark.

    Of plans whose marks are set by the report of a step after a gate; of those that are ticked in passing
    nothing is asked.
    """
    facts, snapshot = trace.facts, trace.facts.snapshot
    plan, steps = snapshot.plan, marking_steps(facts.workflow)
    if plan is None or not steps:
        return
    known = snapshot.left_files.marked
    open_marks = [task for task in plan.tasks if task.done and task.id not in (known or ())]
    if not open_marks:
        return
    committed = _committed_marks(snapshot)
    if known is None and committed is None:
        return
    permitted = facts.stage if _is_permitted(trace, steps) else ""
    carried: dict[str, bool] = {}
    for task in open_marks:
        if task.id in (committed or ()) or task.stage == permitted:
            continue
        if task.stage not in carried:
            carried[task.stage] = task.stage != facts.stage and _is_carried(facts, steps, task.stage)
        if not carried[task.stage]:
            yield task


def _is_permitted(trace: EvaluationTrace, steps: Iterable[str]) -> bool:
    permissions = (check_action(trace, step) for step in steps)
    return any(permission and permission.allowed for permission in permissions)


def _is_carried(facts: RunFacts, steps: Sequence[str], stage: str) -> bool:
    """True if a person moved the run on in a stage, or the newest report that lets its tasks be marked calls
    its step done."""
    ways = edges(facts.workflow)
    carrying = [*steps, *(phase for phase, targets in ways.items() if targets & {*steps})]
    if facts.context.records.pick({"kind": RecordKind.OVERRIDE.value, "stage": stage}):
        return True
    pattern = {"kind": RecordKind.REPORT.value, "phase": carrying, "stage": stage}
    newest = next(iter(facts.context.records.pick(pattern)[-1:]), None)
    if newest is None:
        return False
    return newest["outcome"] == outcomes_of(step_of(facts.workflow, str(newest["phase"])))[0]


def _committed_marks(snapshot: Snapshot) -> frozenset[str] | None:
    """The tasks that the plan in HEAD marks done; None where HEAD has no plan that can be read."""
    declared, path = snapshot.workflow.plan, snapshot.plan_path
    committed = snapshot.reader.read_committed(path)
    file = decode(path, committed) if committed is not None else None
    if declared is None or file is None or file.text is None:
        return None
    plan: Plan | None = snapshot.reader.parse_cached(
        f"committed {declared.kind}", file, DIALECTS[declared.kind].read
    )
    return frozenset(task.id for task in plan.tasks if task.done) if plan else None


# ---- the state, and the journal


def _lost_lines(snapshot: Snapshot) -> int:
    """The number of records that the journal has in HEAD and not any more; 0 where it cannot be told."""
    path = below(snapshot.home, JOURNAL)
    committed = snapshot.reader.read_committed(path)
    if committed is None or (snapshot.journal.broken and snapshot.journal.unread):
        return 0
    now = snapshot.reader.read(path).text or ""
    before = decode(path, committed).text or ""
    if before == now:
        return 0
    digests_now = {line.digest for line in record_lines(now)[0]}
    return sum(line.digest not in digests_now for line in record_lines(before)[0])
