"""The next step of one run, said so that an assistant can act on it without knowing anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...orchestration.findings import Severity
from ...orchestration.journal.journal import Claim
from ...orchestration.plans.schedule import TaskState
from ...orchestration.result.phrases import in_sentence
from ...orchestration.result.values import Evaluation, QuestionState, Reportable, Suggestion, evidence_json
from ...orchestration.sanitize import plain
from .answer import Answer, AnswerBuilder, quoted, shrunk, size
from .headers import head_of, progress_words
from .questions import DECIDES, how_to_decide, options_of, question_line

_DATA, _EXAMPLE, _TASK_TEXT = 900, 900, 900
_EVIDENCE, _FORBIDDEN, _BATCHES, _IN_BATCH, _WAITING, _ERRORS = 4, 8, 4, 12, 5, 3


def next_step(
    evaluation: Evaluation,
    *,
    start: int = 0,
    claim: Claim | None = None,
    text: str = "",
    recorded: str = "",
    note: str = "",
) -> Answer:
    """What comes next in a run, why, and all that is needed to do it.

    `claim` is the task that was just claimed, `text` what its file (or that of the first task) says,
    `recorded` what was just recorded, `note` a sentence to be told. `start` is the first ready task shown.
    """
    suggestion = evaluation.suggestion
    builder = AnswerBuilder(*_head(evaluation, recorded))
    _step(builder, evaluation)
    if note:
        builder.put("note", note, note)
    if claim:
        _claimed(builder, claim)
    _reports(builder, evaluation, [claim.task] if claim else suggestion.tasks)
    _produce(builder, suggestion)
    _tasks(builder, evaluation, start, claim)
    if text:
        builder.put("taskText", lines_of(text, _TASK_TEXT))
    _awaited(builder, evaluation)
    _order(builder, evaluation)
    _refused(builder, suggestion)
    _limits(builder, evaluation)
    _because(builder, evaluation)
    return builder.answer()


def lines_of(text: str, limit: int) -> str:
    """The first lines of a file, as data; each is shown through `plain`, line ends are kept."""
    out: list[str] = []
    room = limit
    for line in islice(text.splitlines(), 200):
        shown = plain(line, 200)
        if len(shown) + 2 > room:
            return "\n".join([*out, "…"])
        out.append(shown)
        room -= len(json.dumps(shown, ensure_ascii=False)) + 1
    return "\n".join(out)


def _head(evaluation: Evaluation, recorded: str) -> tuple[Any, ...]:
    head, line = head_of(evaluation)
    phase = next((p for p in evaluation.phases if p.id == evaluation.current_phase), None)
    head |= {"currentPhase": plain(evaluation.current_phase, 60) if evaluation.current_phase else None}
    head |= {"status": evaluation.status}
    titled = f" {quoted(phase.title, 80)}" if phase and phase.title != phase.id else ""
    where = f"phase {plain(phase.id, 60)}{titled}" if phase else "phase unknown"
    lines = [line, f"{where}, {evaluation.status}{progress_words(evaluation)}"]
    if recorded:
        head["recorded"] = recorded
        lines.insert(0, f"recorded: {recorded}")
    return head, *lines


def _step(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    suggestion = evaluation.suggestion
    target = suggestion.suggested_next
    title = next((p.title for p in evaluation.phases if p.id == target and p.title != target), "")
    step = in_sentence(plain(suggestion.phrase, 200)) + (f" {quoted(title, 80)}" if title else "")
    who = (
        f"; as {', '.join(plain(agent, 40) for agent in suggestion.agents[:4])}" if suggestion.agents else ""
    )
    builder.put("suggestion.kind", suggestion.kind, f"NEXT: {step}{who}")
    builder.put("suggestion.suggestedNext", plain(target, 60) if target else None)
    builder.put("suggestion.action", plain(suggestion.action, 60) if suggestion.action else None)
    builder.put("suggestion.agents", [plain(agent, 40) for agent in suggestion.agents[:4]])
    reason = plain(suggestion.reason, 300)
    builder.put("suggestion.reason", reason, f"because {quoted(reason, 300)}")
    if checks := _checks(evaluation):
        builder.put("checks", checks, f"check: {'; '.join(quoted(check, 80) for check in checks)}")


def _checks(evaluation: Evaluation) -> list[str]:
    """What the agent of the step validates."""
    target = evaluation.suggestion.suggested_next
    found = next((phase.checks for phase in evaluation.phases if phase.id == target), ())
    return [plain(check, 80) for check in found[:6]]


# ---- how it is reported -----------------------------------------------------------------------


def _reports(builder: AnswerBuilder, evaluation: Evaluation, tasks: Sequence[str]) -> None:
    shown = evaluation.suggestion.reports[:3]
    if not shown:
        return
    builder.put("suggestion.reports", [_reportable(each) for each in shown], *_call(shown[0], tasks))
    if len(shown) > 1:
        builder.say(f"also in turn: {', '.join(plain(each.step, 60) for each in shown[1:])}")


def _reportable(reportable: Reportable) -> dict[str, Any]:
    out: dict[str, Any] = {"step": plain(reportable.step, 60)}
    out["outcomes"] = [plain(outcome, 40) for outcome in reportable.outcomes[:6]]
    out["data"] = shrunk(reportable.data, _DATA) if reportable.data else None
    return out


def _call(reportable: Reportable, tasks: Sequence[str]) -> Iterator[str]:
    words = " | ".join(quoted(outcome, 40) for outcome in reportable.outcomes[:6])
    named = ", tasks=[the ids you did]" if tasks else ""
    yield f"when it is done: report(step={quoted(reportable.step, 60)}, outcome={words}{named})"
    if reportable.data and (data := shrunk(reportable.data, 500)):
        example = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        yield f"its data, for example (fill in what is true): {example}"


def _produce(builder: AnswerBuilder, suggestion: Suggestion) -> None:
    def entries() -> Iterator[tuple[Any, str]]:
        for entry in suggestion.produce:
            path = plain(entry.path, 300)
            example = _example(entry.example or "")
            said = f" (schema {plain(entry.schema, 100)})" if entry.schema else ""
            below = " (any files below)" if path.endswith("**") else ""
            line = f"write {path}{below}{said}"
            if example and len(example) <= 300:
                line += f", like {json.dumps(example, ensure_ascii=False)}"
            yield (
                {"path": path, "schema": plain(entry.schema, 200) if entry.schema else None}
                | {"example": example},
                line,
            )

    if suggestion.produce:
        builder.fill("suggestion.produce", islice(entries(), 20))


def _example(text: str) -> str | None:
    """An example with its line ends, what cannot be seen made visible; none that is too long."""
    made = "\n".join(plain(line, _EXAMPLE) for line in text.split("\n")) if len(text) <= _EXAMPLE else ""
    return made if 0 < size(made) - 2 <= _EXAMPLE else None


# ---- tasks ------------------------------------------------------------------------------------


def _claimed(builder: AnswerBuilder, claim: Claim) -> None:
    value = {"task": plain(claim.task, 80), "actor": plain(claim.actor, 80), "until": plain(claim.until, 40)}
    line = f"task {plain(claim.task, 80)} is yours ({quoted(claim.actor, 80)}) until {plain(claim.until, 40)}"
    builder.put("claim", value | {"seq": claim.seq}, line)


def _tasks(builder: AnswerBuilder, evaluation: Evaluation, start: int, claim: Claim | None) -> None:
    """The ready tasks; only the claimed one where one was claimed."""
    board = evaluation.plan
    ready = (claim.task,) if claim else evaluation.suggestion.tasks
    if not board or not ready:
        return
    states = (board.task(name) for name in ready[start:])
    entries = ((_task(state), _task_line(state, board.path)) for state in states if state)
    builder.fill("tasks", entries, start, len(ready))


def _task(state: TaskState) -> dict[str, Any]:
    return {
        "id": plain(state.id, 80),
        "title": plain(state.title, 120),
        "path": plain(state.path, 200),
        "line": state.line + 1,
        "files": [plain(name, 80) for name in state.files[:5]],
        "agent": plain(state.agent, 40) if state.agent else None,
    }


def _task_line(state: TaskState, plan: str) -> str:
    files = f"; files {', '.join(quoted(name, 60) for name in state.files[:3])}" if state.files else ""
    own = f" in {plain(state.path, 160)}" if state.path else ""
    row = f"row {plain(plan, 100)}:{state.line + 1}"
    return f"task {plain(state.id, 60)} {quoted(state.title, 100)}{own}, {row}{files}"


def _order(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """What may run side by side, and why other tasks may not start."""
    batches = [[plain(name, 60) for name in batch[:_IN_BATCH]] for batch in evaluation.suggestion.parallel]
    if batches:
        said = ", then ".join(" + ".join(batch[:6]) for batch in batches[:_BATCHES])
        line = f"side by side: {said}" if any(len(batch) > 1 for batch in batches) else f"in order: {said}"
        builder.put("suggestion.parallel", batches[:_BATCHES], line)
    if evaluation.plan:
        blocked = islice(evaluation.plan.schedule.blocked.items(), _WAITING)
        waits = {plain(task, 60): [plain(why, 60) for why in whys[:4]] for task, whys in blocked}
        if waits:
            said = "; ".join(f"{task} waits for {', '.join(whys)}" for task, whys in waits.items())
            builder.put("blockedBy", waits, f"not yet: {said}")


# ---- what holds it, and why -------------------------------------------------------------------


def _awaited(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    waiting = evaluation.suggestion.waiting_for
    if waiting:
        builder.put("suggestion.waitingFor", plain(waiting, 200), f"awaited: {quoted(waiting, 200)}")
    asked = evaluation.questions
    if asked:
        entries = ((_question(question), question_line(question)) for question in asked)
        builder.fill("questions", islice(entries, 4))
        command = how_to_decide(evaluation, asked[0])
        builder.put("decides", DECIDES)
        builder.put("decide", command, f"a person decides, not you: request_decision, or {command}")


def _question(question: QuestionState) -> dict[str, Any]:
    said = {"id": plain(question.id, 80), "kind": question.kind, "question": plain(question.question, 200)}
    return said | {"options": options_of(question)}


def _refused(builder: AnswerBuilder, suggestion: Suggestion) -> None:
    entries = suggestion.forbidden[:_FORBIDDEN]
    if entries:
        value = [{"action": plain(e.action, 60), "because": plain(e.because, 100)} for e in entries]
        same: dict[str, list[str]] = {}
        for entry in value:
            action = "anything else" if entry["action"] == "*" else entry["action"]
            same.setdefault(entry["because"], []).append(action)
        said = "; ".join(f"{', '.join(actions)} ({quoted(why, 100)})" for why, actions in same.items())
        builder.put("suggestion.forbidden", value, f"not now: {said}")


def _limits(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    told = [limit for limit in evaluation.limits if limit.max is not None][:8]
    value = [
        {"id": plain(limit.id, 60), "count": limit.count, "max": limit.max, "reached": limit.reached}
        for limit in told
    ]
    counting = [f"{each['id']} {each['count']} of {each['max']}" for each in value if each["count"]]
    if value:
        builder.put("limits", value, *([f"limits: {', '.join(counting)}"] if counting else []))


def _because(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    errors = [f for f in evaluation.findings if f.severity is Severity.ERROR and not f.overridden]
    if errors:
        shown: list[Mapping[str, Any]] = [
            {"code": f.code, "path": plain(f.path, 160), "line": f.span.line + 1 if f.span else None}
            | {"message": plain(f.message, 200)}
            for f in errors[:_ERRORS]
        ]
        lines = [f"error at {e['path']}:{e['line'] or 1}: {quoted(e['message'], 200)}" for e in shown]
        more = len(errors) - len(shown)
        builder.put("findings", shown, *lines, *([f"and {more} more errors"] if more else []))
    evidence = [evidence_json(entry) for entry in evaluation.suggestion.evidence[:_EVIDENCE]]
    if evidence:
        builder.put(
            "suggestion.evidence", [_shown(entry) for entry in evidence], *map(_evidence_line, evidence)
        )
    notes = [{"title": plain(note.title, 60), "text": plain(note.text, 300)} for note in evaluation.notes[:2]]
    if notes:
        builder.put("notes", notes, *(f"{note['title']}: {quoted(note['text'], 300)}" for note in notes))


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    path = plain(entry["path"], 160) if entry["path"] else None
    return {
        **entry,
        "path": path,
        "expression": plain(entry["expression"], 100),
        "value": shrunk(entry["value"], 120),
    }


def _evidence_line(entry: dict[str, Any]) -> str:
    at = f" at {plain(entry['path'], 160)}:{entry['line'] or 1}" if entry["path"] else ""
    value = json.dumps(shrunk(entry["value"], 80), ensure_ascii=False)
    return f"evidence: {plain(entry['expression'], 80)} = {value}{at}"
