"""The page of a run as one value: what is asked of a person, its tasks, its records in time, its graph.

Every host of the page (an editor's panel, a browser) shows this value and nothing else. All of it is bounded,
and whatever is left out is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from ..decision.facts import RunFacts
from ..evaluation.trace import EvaluationTrace
from ..findings import Severity, Span
from ..journal.journal import Record
from ..journal.lines import JOURNAL
from ..plans.schedule import StageState, TaskBoard, TaskState
from ..result.values import Evaluation, QuestionState, as_json
from ..snapshot.snapshot import RecordOrigin
from ..states import GateStatus, RecordKind, TaskStatus
from ..updates.confirmation import answer_command, background, option_outcomes
from .run_graph import run_graph
from .timeline import Difference, compared_paths, difference, timeline

VERSION = 1
MOST_QUESTIONS = 10
MOST_TASKS = 400
"""Tasks on the board; those that are done or far off are left out first."""
MOST_FINDINGS = 20
MOST_DOCUMENTS = 6
"""Files beside a question."""
MOST_CHARACTERS = 60_000
"""Of a file beside a question."""
_MOST_TASK_FILES = 3
_SEVERITIES = (Severity.ERROR, Severity.WARNING)

Command = Callable[[tuple[str, ...]], str]


class PageTexts(NamedTuple):
    """Texts by path: of files as they are, and as the commit HEAD has them; what cannot be read is absent."""

    now: Mapping[str, str]
    committed: Mapping[str, str]


def page_paths(trace: EvaluationTrace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(paths whose texts the page shows, those of them that it compares with the commit HEAD)."""
    beside = dict.fromkeys(
        path for question in _shown_questions(trace) for path, _ in _documents(trace, question)
    )
    return (*dict.fromkeys((*beside, *compared_paths(trace.facts.records, _by_task(trace)))),), (*beside,)


def run_page(trace: EvaluationTrace, texts: PageTexts, now: datetime, command: Command) -> dict[str, Any]:
    """The JSON of the page.

    `texts` are those of `page_paths`; `command` makes a line for a terminal of a subcommand's words, the run
    being named by it. Cost: one evaluation for each option of an open question.
    """
    evaluation, facts = trace.evaluation, trace.facts
    questions = _shown_questions(trace)
    findings = [f for f in evaluation.findings if f.severity in _SEVERITIES and not f.overridden]
    shown = replace(evaluation, plan=None, notes=(), findings=tuple(findings[:MOST_FINDINGS]))
    return {
        "version": VERSION,
        "evaluation": as_json(shown),
        "moreFindings": max(len(findings) - MOST_FINDINGS, 0),
        "decisions": [_decision(trace, question, texts, now, command) for question in questions],
        "moreDecisions": len(evaluation.questions) - len(questions),
        "board": _board(evaluation),
        "timeline": timeline(_all_records(facts), _all_origins(facts), texts.now, _by_task(trace)),
        "graph": run_graph(facts.workflow, evaluation),
    }


def _all_records(facts: RunFacts) -> list[Record]:
    """The records that guards see, and in their places the reports that were refused."""
    counted = iter(facts.records)
    written = facts.snapshot.journal.records
    known = [entry if entry["kind"] == RecordKind.REFUSED else next(counted, entry) for entry in written]
    return [*known, *counted]


def _all_origins(facts: RunFacts) -> dict[int, RecordOrigin]:
    """The place of each of these records, by its id()."""
    journal, path = facts.snapshot.journal, f"{facts.snapshot.home}/{JOURNAL}".lstrip("/")
    written = zip(journal.records, journal.lines, strict=True)
    return {id(entry): RecordOrigin(path, Span(at, 0, at, 0)) for entry, at in written} | {**facts.origins}


def _by_task(trace: EvaluationTrace) -> frozenset[str]:
    """The phases that hand out tasks: a report of another task is no further attempt."""
    return frozenset(phase.id for phase in trace.facts.workflow.phases.values() if phase.tasks)


# ---- decisions --------------------------------------------------------------------------------


def _shown_questions(trace: EvaluationTrace) -> tuple[QuestionState, ...]:
    return trace.evaluation.questions[:MOST_QUESTIONS]


def _decision(
    trace: EvaluationTrace, question: QuestionState, texts: PageTexts, now: datetime, command: Command
) -> dict[str, Any]:
    outcomes = option_outcomes(trace, question, answer_command(question), now)
    return {
        "question": question.id,
        "kind": question.kind,
        "text": question.question,
        "since": question.since,
        "background": list(background(trace, question)),
        "options": [
            {
                "id": each.id,
                "label": each.text.partition(": ")[0],
                "consequence": each.text.partition(": ")[2],
                "outcome": each.outcome,
                "possible": each.possible,
                "signed": list(each.signed),
                "command": command(("answer", question.id, each.id)),
            }
            for each in outcomes
        ],
        "command": command(("answer", question.id, "ANSWER")),
        "documents": [_document(path, role, texts) for path, role in _documents(trace, question)],
    }


def _documents(trace: EvaluationTrace, question: QuestionState) -> list[tuple[str, str]]:
    """(path, why it stands there) of the files that a person looks at to answer, the most telling first."""
    files: dict[str, str] = {}
    for path, role in _candidates(trace, question):
        if path:
            files.setdefault(path, role)
    if not files:
        files = {each.path: "evidence" for each in trace.evaluation.suggestion.evidence if each.path}
    return list(files.items())[:MOST_DOCUMENTS]


def _candidates(trace: EvaluationTrace, question: QuestionState) -> Iterator[tuple[str, str]]:
    facts, plan = trace.facts, trace.evaluation.plan
    declared = facts.workflow.questions.get(question.id.partition(":")[0])
    for name in (*declared.about, *declared.decides) if declared else ():
        artifact = facts.artifact(name)
        for path in artifact.paths or (artifact.path,):
            yield path, "asked about"
    for entry in reversed(question.history):
        yield str(entry.get("path") or ""), f"report of {entry.get('phase') or 'it'}"
    tasks = map(plan.task, question.tasks[:_MOST_TASK_FILES]) if plan else ()
    yield from ((task.path, f"task {task.id}") for task in tasks if task)


def _document(path: str, role: str, texts: PageTexts) -> dict[str, Any]:
    text, before = texts.now.get(path), texts.committed.get(path)
    changed = difference(before, text) if text is not None and before is not None and before != text else None
    return {
        "path": path,
        "role": role,
        "text": None if text is None else text[:MOST_CHARACTERS],
        "cut": text is not None and len(text) > MOST_CHARACTERS,
        "changes": None if changed is None else _difference_json(changed),
    }


def _difference_json(changed: Difference) -> dict[str, Any]:
    return {"lines": list(changed.lines), "moreLines": changed.more, "partial": changed.partial}


# ---- the board --------------------------------------------------------------------------------

_FIRST = (TaskStatus.CLAIMED, TaskStatus.READY, TaskStatus.REPORTED, TaskStatus.BLOCKED, TaskStatus.DONE)
"""Tasks on the board in this order of their states, where not all have room; those of other states first."""


def _board(evaluation: Evaluation) -> dict[str, Any] | None:
    """The stages with their tasks, the same order as in the plan; None where there is no plan."""
    plan = evaluation.plan
    if plan is None:
        return None
    stages = plan.stages
    ranked = sorted(
        (_FIRST.index(task.state) if task.state in _FIRST else -1, at, task.id)
        for at, stage in enumerate(stages)
        for task in stage.tasks
    )
    listed = {(at, name) for _, at, name in ranked[:MOST_TASKS]}
    until = {claim.task: claim.until for claim in evaluation.claims}
    return {
        "path": plan.path,
        "stages": [_stage(plan, at, stage, listed, until) for at, stage in enumerate(stages)],
    }


def _stage(
    plan: TaskBoard, at: int, stage: StageState, listed: set[tuple[int, str]], until: Mapping[str, str]
) -> dict[str, Any]:
    tasks = [task for task in stage.tasks if (at, task.id) in listed]
    return {
        **as_json(replace(stage, tasks=())),
        "tasks": [_task(task, until.get(task.id)) for task in tasks],
        "more": len(stage.tasks) - len(tasks),
    }


def _task(task: TaskState, until: str | None) -> dict[str, Any]:
    return {**as_json(task), "claimedUntil": until}


# ---- many runs --------------------------------------------------------------------------------


def run_line(evaluation: Evaluation) -> dict[str, Any]:
    """A run in a list of runs; `rank` is 0 where a person is awaited, 1 where it fails, 2 where it goes on,
    3 where it is over."""
    errors = sum(f.severity is Severity.ERROR and not f.overridden for f in evaluation.findings)
    shut = [gate.id for gate in evaluation.gates if gate.status is GateStatus.FAILED]
    over, fails = evaluation.status.is_over, bool(errors or shut)
    return {
        "root": evaluation.root,
        "run": evaluation.run,
        "title": evaluation.title,
        "workflow": evaluation.workflow,
        "status": evaluation.status,
        "phase": evaluation.current_phase,
        "next": evaluation.suggestion.phrase,
        "reason": evaluation.suggestion.reason,
        "questions": len(evaluation.questions),
        "failedGates": shut,
        "errors": errors,
        "progress": as_json(evaluation.progress) if evaluation.progress else None,
        "rank": 0 if evaluation.questions else 3 if over else 1 if fails else 2,
        "revision": evaluation.revision,
    }
