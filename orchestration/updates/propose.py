"""What a report, a decision or a redo writes: edits and records, as values. Nothing is written here.

The order is that of the format (A.14): every expression of an effect is evaluated on the old state before
anything changes; then the run is evaluated with the record and the changed texts; then, where a rule leads
to another phase and the state file names the phase, that path and what the rule sets follow. Phases that
are passed over on the way are recorded where that happens, each with its effects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..decision.decision import Decision
from ..evaluation.evaluate import evaluate_traced
from ..evaluation.trace import EvaluationTrace
from ..findings import Edit, Severity
from ..formats.json_text import read_json
from ..journal.journal import FAILURES, Record
from ..journal.lines import JOURNAL
from ..result.values import Evaluation
from ..snapshot.run_files import read_run
from ..states import RunStatus, SuggestionKind
from ..vfs.files import join
from ..vfs.overlay import PROPOSED_MTIME_NS, OverlayFiles
from .commands import Command, CommandRefused, build_record, build_skip_record, effect_events
from .effects import Cause, EffectRunner, moves_on, stated_phase
from .journal_preview import JournalPreview


@dataclass(frozen=True)
class Proposal:
    """What would be written, and how the run would stand then.

    `records` begin with those of reports that lay there as files only (design, section 6); then comes that
    of the act, between those of phases that are passed over before and after it. They are not stamped:
    `seq`, `at` and `prev` are the writer's.
    """

    edits: tuple[Edit, ...]
    records: tuple[Record, ...]
    evaluation: Evaluation


def propose(trace: EvaluationTrace, command: Command, now: datetime) -> Proposal:
    """What a command writes, as edits and records.

    Raises CommandRefused where it is out of turn, names what is not there, claims what is not done, or would
    leave a run that cannot be evaluated.
    """
    made = build_record(trace, command)
    step = str(made["phase"] if command.kind in ("report", "start") else made["next"])
    draft = _Draft(trace, command, now)
    before = draft.skip(_passed_by(trace, command, step), trace)
    cause = draft.add(made, step, effect_events(command, step), _given(command), before)
    after = draft.look()
    leading = _leading(command, step, trace, after)
    if leading:
        after = draft.lead(cause, leading, after)
    _check(trace, after, command, step)
    return Proposal(draft.changes.edits(), tuple(draft.records), after.evaluation)


class _Draft:
    """Records and texts in the making, over one look at a run."""

    def __init__(self, trace: EvaluationTrace, command: Command, now: datetime):
        self.steps, self.command = trace, command
        self.changes = EffectRunner(trace.facts.snapshot, now)
        self.records: list[Record] = [*trace.facts.records[len(trace.facts.snapshot.records) :]]
        self.journal = _journal(trace, now)

    def add(
        self, made: Record, step: str, events: tuple[str, ...], given: dict[str, Any], seen: EvaluationTrace
    ) -> Cause:
        """One more record with its effects; what they were carried out for."""
        cause = Cause({**made, **given, "seq": self.journal.seq + len(self.records)}, step, events)
        self.changes.apply(cause, seen)
        self.records.append(made)
        return cause

    def look(self) -> EvaluationTrace:
        """The run as it would be read once the records and the changed texts are written."""
        old, edits = self.steps.facts.snapshot, self.changes.edits()
        texts = {edit.path: edit.text for edit in edits}
        texts[join(old.run, JOURNAL) or JOURNAL] = self.journal.text(self.records, edits)
        files = OverlayFiles(old.reader.files, texts, PROPOSED_MTIME_NS)
        fresh = read_run(
            old.workflow, files, old.run, root=old.root, config=old.config,
            claims=old.claims, verify=self.journal.verify, parsed=old.reader.parsed,
        )  # fmt: skip
        return evaluate_traced(old.workflow, fresh)

    def lead(self, cause: Cause, leading: EvaluationTrace, after: EvaluationTrace) -> EvaluationTrace:
        """Let the run follow the rule that leads it on; how it stands then."""
        edits, count = self.changes.edits(), len(self.records)
        skipped = leading.decision.skipped if leading is after and _follows(after) else ()
        self.skip(skipped, after)
        self.changes.follow(cause, leading if not skipped else self.look())
        unchanged = self.changes.edits() == edits and len(self.records) == count
        return after if unchanged else self.look()

    def skip(self, phases: Sequence[str], trace: EvaluationTrace) -> EvaluationTrace:
        """Record phases that are passed over, one after the other; how the run stands then."""
        for phase in phases:
            events = ("skip", f"{phase}.skip")
            record = build_skip_record(trace, self.command, phase)
            self.add(record, phase, events, {"message": "", "data": {}}, trace)
            trace = self.look()
        return trace


def _follows(trace: EvaluationTrace) -> bool:
    """Whether the state file names the phase and goes on to another now."""
    return bool(stated_phase(trace.facts.workflow)) and moves_on(trace.decision)


def _passed_by(trace: EvaluationTrace, command: Command, step: str) -> list[str]:
    """The phases that are passed over on the way to the suggested step, the present one if it is skipped."""
    decision, workflow = trace.decision, trace.facts.workflow
    if command.kind not in ("report", "start") or decision.to != step or not _advances(decision):
        return []
    present = workflow.phases[decision.phase or ""]
    here = present.skip is not None and trace.facts.context.holds(present.skip)
    return [*([present.id] if here else []), *decision.skipped]


def _advances(decision: Decision) -> bool:
    return decision.kind == SuggestionKind.ADVANCE and decision.phase is not None


def _check(before: EvaluationTrace, after: EvaluationTrace, command: Command, step: str) -> None:
    """Raises CommandRefused for what spoils the run, or a report of a phase whose files are not there."""
    if after.evaluation.status == RunStatus.INVALID and before.evaluation.status != RunStatus.INVALID:
        why = _worse(before, after)
        raise CommandRefused(f"nothing was written, because the run would be invalid: {why}")
    phase = after.facts.workflow.phases.get(step)
    claims = command.kind == "report" and phase and command.outcome == phase.outcomes[0] not in FAILURES
    decision = after.decision
    if not (
        claims
        and phase
        and decision.phase == step
        and decision.kind == SuggestionKind.STAY
        and decision.rule is None
    ):
        return
    artifacts = {name: after.facts.artifact(name) for name in phase.produces}
    lacking = [f"{name} is {one.state} ({one.path})" for name, one in artifacts.items() if not one.valid]
    if lacking:
        run = after.evaluation.run
        hint = f"`phasekeeper next --run {run}` shows what it needs"
        raise CommandRefused(f"{step} is not done: {', '.join(lacking)}; make it, then report again. {hint}")


def _worse(before: EvaluationTrace, after: EvaluationTrace) -> str:
    """What is wrong only now: the first new error, else why nothing can be said."""
    known = {(found.code, found.message) for found in before.evaluation.findings}
    errors = (f for f in after.evaluation.findings if f.severity == Severity.ERROR)
    new = next((f for f in errors if (f.code, f.message) not in known), None)
    return f"{new.path}: {new.message}" if new else after.evaluation.status_reason


def _given(command: Command) -> dict[str, Any]:
    """What effects see of a report beside its record. Raises CommandRefused for what guards cannot read."""
    try:
        text = json.dumps(dict(command.data), allow_nan=False)
        data: dict[str, Any] = json.loads(text, parse_int=_whole)
    except (TypeError, ValueError, RecursionError) as error:
        raise CommandRefused(f"the data of the report cannot be used: {error}") from None
    document = read_json(text)
    if not document.readable:
        raise CommandRefused(f"the data of the report cannot be used: {document.problems[0].message}")
    return {"message": command.message, "data": data, "stateUpdates": data.get("stateUpdates", {})}


def _whole(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{digits[:30]} is too large a number")
    return value


def _leading(
    command: Command, step: str, before: EvaluationTrace, after: EvaluationTrace
) -> EvaluationTrace | None:
    """How the run stands where a rule moves its phase on at once.

    A report and an answer lead wherever they lead. Starting the suggested step leads into it; a record of a
    start clears the report that did, so the old state leads. An override or a redo ends where it says.
    """
    if command.kind == "start":
        return before if before.decision.to == step else None
    return after if command.kind in ("report", "answer") else None


def _journal(trace: EvaluationTrace, now: datetime) -> JournalPreview:
    snapshot = trace.facts.snapshot
    file = snapshot.reader.files.read(join(snapshot.run, JOURNAL) or JOURNAL)
    return JournalPreview(snapshot.journal, file.text or "", now)
