"""Entries of a record about files and marks: what stands there with right as the record is made.

A later evaluation compares with them what is there then (`evaluation/gate_violations`). What was written past
a gate does not become right by the next report; a person who overrides, or accepts it, makes it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..decision.lost_work import marking_steps
from ..evaluation.trace import EvaluationTrace, GateViolations
from ..journal.journal import Record, files_of
from ..journal.left_files import UNKNOWN
from ..snapshot.artifacts import read_artifact
from ..snapshot.read_log import RunReader
from ..snapshot.snapshot import STATE
from ..snapshot.staleness import digests, outdated_verdicts
from ..states import ArtifactStatus, QuestionKind, RecordKind
from ..vfs.files import Files

MOST_FILES = 200
"""Files that a record names so; what is left out the next one names."""
MOST_MARKS = 2000
"""Marks that were set since the record before; of more nothing is known."""

_Entries = Iterator[dict[str, Any]]


def left_entries(trace: EvaluationTrace, files: Files, record: Record) -> list[dict[str, Any]]:
    """The files and marks that differ from those that the records left, as a record lists them.

    `files` are those of the root as the command leaves them.
    """
    violations = trace.violations
    reader = RunReader(files, trace.facts.snapshot.reader.parsed)
    kept = [
        *_of_state(trace, violations, reader, record),
        *_of_files(trace, violations, record),
        *_of_stale_verdicts(trace),
    ]
    return [*kept[:MOST_FILES], *_of_marks(trace, violations, reader, record)]


def _of_state(
    trace: EvaluationTrace, violations: GateViolations, reader: RunReader, record: Record
) -> _Entries:
    """The state as it was, where the command leaves it so; that it is disputed, where it was edited."""
    snapshot = trace.facts.snapshot
    state = snapshot.state
    if state is None or "state" not in snapshot.workflow.written_by_reports:
        return
    accepts = record["kind"] == RecordKind.OVERRIDE or record["question"] == STATE
    if violations.state and not accepts:
        yield {"disputed": state.path}
        return
    digest = snapshot.reader.read(state.path).digest
    # Of what the command writes the digest stands among the files of its record.
    if (
        digest not in ("", snapshot.left_files.digests.get(state.path))
        and digest == reader.read(state.path).digest
    ):
        yield {"file": state.path, "digest": digest}


def _of_files(trace: EvaluationTrace, violations: GateViolations, record: Record) -> _Entries:
    """The files that steps made and that no record names: the run may go back to before them."""
    facts, snapshot = trace.facts, trace.facts.snapshot
    known, early = (
        {*snapshot.left_files.known, *files_of(record).items()},
        {each.path for each in violations.early},
    )
    phases = facts.workflow.phases.values() if facts.phase else ()
    for name in dict.fromkeys(name for phase in phases for name in phase.produces):
        declared, artifact = facts.workflow.artifacts[name], facts.artifact(name)
        if declared.listed is not None or not artifact.exists:
            continue
        for path, digest in digests(artifact, declared, snapshot.place, snapshot.reader).items():
            if (path, digest) not in known and path not in early:
                yield {"file": path, "digest": digest}


def _of_stale_verdicts(trace: EvaluationTrace) -> _Entries:
    """The verdicts that are of what has changed since: a later time of their files makes them no newer."""
    facts, snapshot = trace.facts, trace.facts.snapshot
    known = outdated_verdicts(facts.records)
    for artifact in snapshot.artifacts.values():
        if artifact.state is ArtifactStatus.STALE:
            entry = artifact.path, snapshot.reader.read(artifact.path).digest
            if entry not in known:
                yield {"stale": entry[0], "digest": entry[1]}


def _of_marks(
    trace: EvaluationTrace, violations: GateViolations, reader: RunReader, record: Record
) -> _Entries:
    """The tasks that are marked now and were not when the record before was made, and the other way round."""
    snapshot = trace.facts.snapshot
    declared = snapshot.workflow.plan
    if declared is None or not marking_steps(snapshot.workflow):
        return
    plan = read_artifact(declared, snapshot.place, reader)
    done = [task.id for task in plan.data.tasks if task.done] if plan.valid else []
    refused = set[str]() if _takes_marks(trace, record) else {task.id for task in violations.marks}
    with_right, known = {*done} - refused, snapshot.left_files.marked
    new = [task for task in done if task in with_right and task not in (known or ())]
    gone = sorted((known or frozenset()) - with_right)
    if len(new) > MOST_MARKS:
        yield {"marks": UNKNOWN}
    elif known is None or new or gone:
        yield {"marked": new} | ({"unmarked": gone} if gone else {})


def _takes_marks(trace: EvaluationTrace, record: Record) -> bool:
    """True for a decision of a person about the plan, or against what its files say."""
    question = trace.facts.workflow.questions.get(str(record["question"]))
    is_of_plan = bool(
        question and question.kind == QuestionKind.APPROVAL and (question.stages or question.about)
    )
    return record["kind"] == RecordKind.OVERRIDE or (record["kind"] == RecordKind.ANSWER and is_of_plan)
