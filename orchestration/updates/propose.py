"""Edits and records that a report, a decision or a redo writes, as values. Nothing is written here.

The order is that of the format (A.14): every expression of an effect is evaluated on the old state before
anything changes; then the run is evaluated with the record and the changed texts; then, where a rule leads
to another phase and the state file names the phase, that path and what the rule sets follow. Phases that
are passed over on the way are recorded where that happens, each with its effects.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..decision.brings import artifact_words
from ..decision.task_turns import TaskTurns
from ..evaluation.evaluate import evaluate_traced
from ..evaluation.trace import EvaluationTrace
from ..findings import Edit, Finding, Severity
from ..formats.json_text import read_json
from ..journal.branches import FAILURES
from ..journal.journal import EMPTY_RECORD, Journal, Proofs, Record, Verify, changed_substance
from ..journal.lines import JOURNAL, parse_lines
from ..result.phrases import shell_word
from ..result.values import Evaluation
from ..snapshot.read_log import RunReader
from ..snapshot.run_files import read_run
from ..snapshot.state_file import read_state
from ..states import ArtifactStatus, QuestionKind, RecordKind, RunStatus, SuggestionKind
from ..vfs.files import Files, below, digest_of
from ..vfs.overlay import PROPOSED_MTIME_NS, OverlayFiles
from .baseline_entries import baseline_entries
from .commands import Command, CommandRefused, build_record, build_skip_record, effect_events
from .deliveries import filed_text
from .effects import Cause, EffectRunner, moves_on, stated_phase
from .left_entries import left_entries
from .measurements import measurements, unrecorded_reports
from .state_writes import permitted_updates, refuse_placeholders, refuse_unknown_words

# Of the tasks that a report may be about, so many are named in a refusal.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Proposal:
    """Edits and records that would be written, and the run as it would stand then.

    `records` begin with those of reports that lay there as files only (design, section 6); then comes that
    of the act, between those of phases that are passed over before and after it. They are not stamped:
    `seq`, `at` and `prev` are the writer's.
    """

    edits: tuple[Edit, ...]
    records: tuple[Record, ...]
    evaluation: Evaluation


def propose(trace: EvaluationTrace, command: Command, now: datetime) -> Proposal:
    """Edits and records that a command writes.

    Raises CommandRefused where it is out of turn, names what is not there, claims what is not done, or would
    leave a run that cannot be evaluated.
    """
    record = build_record(trace, command)
    step = str(record["phase"] if command.kind in ("report", "start") else record["next"])
    draft = _Draft(trace, command, now)
    if command.kind == "report" and record["path"]:
        draft.changes.create(str(record["path"]), filed_text(command.report or command.message))
    given, events = _report_data(command), effect_events(command, step)
    if command.kind == "report":
        refuse_placeholders(trace, step, given["data"])
        refuse_unknown_words(trace, given["stateUpdates"])
        permitted = permitted_updates(trace, step, given["stateUpdates"], events)
        told = {"stateUpdates": permitted.updates}
        given |= {**told, "data": given["data"] | told if "stateUpdates" in given["data"] else given["data"]}
        record["ignored"] = list(permitted.ignored)
    if command.kind == "report":
        draft.records += measurements(trace.facts, record)
    before = draft.skip(_passed_by(trace, command, step), trace)
    if not trace.facts.snapshot.names_definition:
        record["definition"] = trace.facts.workflow.digest
    draft.act = record
    cause = draft.add(record, step, events, given, before)
    after = draft.look()
    if trace.facts.snapshot.plan_path not in {edit.path for edit in draft.changes.edits()}:
        _refuse_about_no_task(trace, after, record)
    if command.kind == "report" and not record["path"] and (changed := _changed_substance(trace, after)):
        record["about"] = changed
        after = draft.look()
    # A report and an answer lead wherever they lead. Starting the suggested step leads into it; a record of
    # a start clears the report that did, so the old state leads. An override or a redo ends where it says.
    if command.kind in ("report", "answer"):
        after = draft.lead(cause, after, after)
    elif command.kind == "start" and trace.decision.to == step:
        after = draft.lead(cause, trace, after)
    _check(trace, after, command, step)
    return Proposal(draft.changes.edits(), tuple(draft.records), after.evaluation)


def _refuse_about_no_task(trace: EvaluationTrace, after: EvaluationTrace, record: Record) -> None:
    """Raise CommandRefused for a report that work is done which names no task, and leaves all as it was.

    Where a definition has its effects change the plan, a report needs to name none.
    """
    phase = trace.facts.workflow.phases.get(str(record["phase"]))
    is_done = (
        phase is not None and record["kind"] == RecordKind.REPORT and record["outcome"] == phase.outcomes[0]
    )
    if phase is None or phase.tasks is None or not is_done or record["tasks"]:
        return
    left = [*TaskTurns(after.facts).tasks_of(phase)]
    if left and left == [*TaskTurns(trace.facts).tasks_of(phase)]:
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        named = ", ".join(left[:_MOST_NAMED]) + more
        why = f"a report of {phase.id} names the tasks that it is about; they are {named}"
        raise CommandRefused(f"nothing was recorded: {why}")


class _JournalPreview:
    """A journal with more records at its end, stamped as the writer will stamp them under its lock.

    Only the `mac` of a decision is left out: it needs a key.
    """

    def __init__(self, journal: Journal, text: str, now: datetime):
        lines = text.removesuffix("\n").split("\n") if text else []
        places = [(p.code, p.span.line) for p in journal.problems if p.span]
        torn = min((line for code, line in places if code == "journal-torn"), default=len(lines))
        self.kept = "".join(f"{line}\n" for line in lines[:torn])
        self.head = journal.head
        whole = (line for line in parse_lines(text) if line.number < torn)
        self.seq = max((line.integer("seq") for line in whole), default=0) + 1
        self.at = now.astimezone(UTC).isoformat(timespec="milliseconds")
        unproven = (line for code, line in places if code in ("decision-unverified", "evidence-unverified"))
        self.unproven = frozenset(lines[line].removesuffix("\r") for line in unproven)

    def text(self, records: Sequence[Record], edits: Sequence[Edit]) -> str:
        """The journal's text with the records, the last of which names the files written."""
        files = [{"path": e.path, "digest": digest_of(e.text), "was": e.digest or ""} for e in edits]
        out, prev = self.kept, self.head
        for number, given in enumerate(records):
            said = {name: value for name, value in given.items() if value != EMPTY_RECORD[name]}
            is_last = number == len(records) - 1
            seen = said.get("files")
            named = [*(seen if isinstance(seen, list) else []), *(files if is_last else [])]
            more = {"files": named} if named else {}
            entry = {"seq": self.seq + number, "at": self.at, **said, **more, "prev": prev}
            line = json.dumps(entry)
            out, prev = f"{out}{line}\n", digest_of(line)
        return out

    @property
    def verify(self) -> Verify:
        """Keep what was proven; the records added are a person's as far as they need to be."""
        return lambda lines: Proofs(frozenset(i for i, line in enumerate(lines) if line not in self.unproven))


class _Draft:
    """Records and texts in the making, over one look at a run. `act` is the record of the command itself."""

    def __init__(self, trace: EvaluationTrace, command: Command, now: datetime):
        snapshot = trace.facts.snapshot
        self.trace, self.snapshot, self.command = trace, snapshot, command
        self.changes = EffectRunner(snapshot, now)
        self.records: list[Record] = [*unrecorded_reports(trace.facts)]
        self.act: Record | None = None
        self.path = below(snapshot.home, JOURNAL)
        self.journal = _JournalPreview(
            snapshot.journal, snapshot.reader.files.read(self.path).text or "", now
        )

    def add(
        self, record: Record, step: str, events: tuple[str, ...], given: dict[str, Any], seen: EvaluationTrace
    ) -> Cause:
        """One more record with its effects; what they were carried out for."""
        cause = Cause({**record, **given, "seq": self.journal.seq + len(self.records)}, step, events)
        self.changes.apply(cause, seen)
        self.records.append(record)
        return cause

    def look(self) -> EvaluationTrace:
        """The run as it would be read once the records and the changed texts are written."""
        old, edits = self.snapshot, self.changes.edits()
        texts = {edit.path: edit.text for edit in edits}
        self.keep_values(OverlayFiles(old.reader.files, texts, PROPOSED_MTIME_NS))
        texts |= {self.path: self.journal.text(self.records, edits)}
        files = OverlayFiles(old.reader.files, texts, PROPOSED_MTIME_NS)
        fresh = read_run(
            old.workflow, files, old.run, root=old.root, config=old.config,
            claims=old.claims, verify=self.journal.verify, committed=old.reader.committed,
            measured=old.reader.measured, parsed=old.reader.parsed,
        )  # fmt: skip
        return evaluate_traced(old.workflow, fresh)

    def keep_values(self, files: Files) -> None:
        """List in the record of the act the values that may not be loosened, as it leaves them."""
        old, declared = self.snapshot, self.snapshot.workflow.state
        if self.act is not None:
            reader = RunReader(files, old.reader.parsed)
            state = read_state(declared, old.folder, reader) if declared and declared.ratchet else None
            held = baseline_entries(self.trace, state, self.act)
            self.act["held"] = [*held, *left_entries(self.trace, files, self.act)]

    def lead(self, cause: Cause, leading: EvaluationTrace, after: EvaluationTrace) -> EvaluationTrace:
        """Let the run follow the rule that leads it on; how it stands then."""
        edits, count = self.changes.edits(), len(self.records)
        follows = leading is after and stated_phase(self.snapshot.workflow) and moves_on(after.decision)
        skipped = after.decision.skipped if follows else ()
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


def _changed_substance(before: EvaluationTrace, after: EvaluationTrace) -> str:
    """How a report's own effects change what a person approved; "" where they leave it as it was."""
    for question in before.facts.workflow.questions.values():
        if question.kind == QuestionKind.APPROVAL and question.about:
            old, new = (trace.facts.content_digest(question) for trace in (before, after))
            if old != new:
                return changed_substance(old, new)
    return ""


def _passed_by(trace: EvaluationTrace, command: Command, step: str) -> list[str]:
    """The phases that are passed over on the way to the suggested step, the present one if it is skipped."""
    decision, workflow = trace.decision, trace.facts.workflow
    is_advance = decision.kind is SuggestionKind.ADVANCE and decision.phase is not None
    if command.kind not in ("report", "start") or decision.to != step or not is_advance:
        return []
    present = workflow.phases[decision.phase or ""]
    here = present.skip is not None and trace.facts.context.holds(present.skip)
    return [*([present.id] if here else []), *decision.skipped]


def _check(before: EvaluationTrace, after: EvaluationTrace, command: Command, step: str) -> None:
    """Raises CommandRefused for what spoils the run, or a report of a phase whose files are not there."""
    old, new, decision = before.evaluation, after.evaluation, after.decision
    if new.status is RunStatus.INVALID and old.status is not RunStatus.INVALID:
        # What is wrong only now: the first new error, else why nothing can be said.
        known = {(each.code, each.message) for each in old.findings}
        errors = (each for each in new.findings if each.severity is Severity.ERROR)
        error = next((each for each in errors if (each.code, each.message) not in known), None)
        why = f"{error.path}: {error.message}" if error else new.status_reason
        raise CommandRefused(f"nothing was written, because the run would be invalid: {why}")
    if command.kind == "report":
        _refuse_new_unknown_words(old, new)
        _refuse_empty_question(old, new, command, step)
    phase = after.facts.workflow.phases.get(step)
    claims = command.kind == "report" and phase and command.outcome == phase.outcomes[0] not in FAILURES
    stays = decision.phase == step and decision.kind is SuggestionKind.STAY and decision.rule is None
    artifacts = {name: after.facts.artifact(name) for name in phase.produces} if claims and phase else {}
    unsigned = any(one.state is ArtifactStatus.PROPOSED for one in artifacts.values())
    if not stays and not unsigned:
        return
    lacking = [artifact_words(after.facts, name) for name, one in artifacts.items() if not one.valid]
    if lacking:
        run = shell_word(new.run or ".")
        hint = f"make it, then report again. `phasekeeper next --run {run}` shows what it needs"
        if unsigned:
            hint = f"no person signed it: `phasekeeper approve {run}` is a person's to run"
        raise CommandRefused(f"{step} is not done: {', '.join(lacking)}; {hint}")


def _refuse_new_unknown_words(before: Evaluation, after: Evaluation) -> None:
    """Raise CommandRefused for effects of a report that write a word nobody knows: no run ends with one."""
    old = Counter(_place_of(each) for each in before.findings if each.code == "unknown-word")
    for found in (each for each in after.findings if each.code == "unknown-word"):
        if not old[_place_of(found)]:
            raise CommandRefused(f"nothing was recorded, for {found.path} would say: {found.message}")
        old[_place_of(found)] -= 1


def _place_of(found: Finding) -> tuple[str, str]:
    """The file and the words of a finding, without its index in a list: elements before it come and go."""
    return found.path, re.sub(r"(?<=\.)\d+(?=\.)", "[]", found.message)


def _refuse_empty_question(before: Evaluation, after: Evaluation, command: Command, step: str) -> None:
    """Raise CommandRefused for a report by which a person is asked what it does not say."""
    asked = {question.id for question in after.questions} - {question.id for question in before.questions}
    if f"clarification:{step}" in asked and not (command.message or command.report).strip():
        empty = "its summary, which says what a person is asked, is empty"
        raise CommandRefused(f"nothing was recorded: {empty}")


def _report_data(command: Command) -> dict[str, Any]:
    """Data that effects see beside a record. Raises CommandRefused for what guards cannot read."""
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
