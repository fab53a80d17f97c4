"""The next step of one run, said so that an assistant can act on it without knowing anything else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ...orchestration.findings import Severity
from ...orchestration.journal.journal import Claim
from ...orchestration.plans.schedule import TaskBoard
from ...orchestration.result.held_tasks import HeldTask, without_held_tasks
from ...orchestration.result.phrases import in_sentence
from ...orchestration.result.values import Evaluation, Reportable, Suggestion
from ...orchestration.sanitize import plain
from ...orchestration.states import CheckResult, GateStatus, RequirementKind, RunStatus, SuggestionKind
from .answer import (
    Answer,
    AnswerBuilder,
    at_place,
    check_data,
    check_lines,
    evidence_data,
    excerpt,
    lines_of,
    members_left_out,
    optional,
    quote,
    shrunk,
    size,
)
from .headers import MOST_CLAIMS, claims_words, head_of, progress_words
from .questions import DECIDES, how_to_decide, question_entry, questions_in_order, short_command
from .tool_names import as_tools, plain_tools

_DATA, _DATA_TEXT, _EXAMPLE, _TASK_TEXT = 900, 500, 900, 900
_FORM = 1_800
"""Characters of a report's form that an answer has room for: one is shown whole, or named as left out."""
_REPORTS, _BATCHES, _FINDINGS, _FIXES = 3, 4, 3, 2
_REQUIREMENTS, _LEFT_OUT, _INSTRUCTIONS = 6, 40, 600
_FINAL = (RunStatus.FAILED, RunStatus.EXITED)
"""Statuses of a run that is over and not complete."""
ENDED = (
    'this is the end of the run, from which nothing leads on; report(step="start", outcome="ok", '
    "workflow=WORKFLOW, name=NAME, summary=TITLE) begins a new one"
)
_AWAITING = (RunStatus.WAITING_HUMAN, RunStatus.BLOCKED)
FORM_IS = "its summary is, with every outcome, the text of the report, filled in"
FORM_ELSEWHERE = (
    "its summary is the text of a report, whose form is too long here: report without one to be shown it"
)
DATA_IS = "its data, for example (fill in what is true)"
NOT_REPORTED = (
    "no report of it counts yet: read what the run's files say of it, do it, write what is named here, "
    "decide which outcome is true, then report that"
)
NO_FREE_TASK = (
    "others have every task that is to be done: do none of them; ask again later, or work on another run"
)
ALL_CLAIMED = "every task that is to be done is claimed: do one that is yours, else wait_for_change"
BESIDES = "a person may look at this besides; nobody is asked, so go on"
_NEEDED = {"paths": (5, 120), "met": 0, "outcomes": (6, 40)}
_REPORT = {
    "step": 60,
    "outcomes": (6, 40),
    "data": lambda data: shrunk(data, _DATA) if data else None,
    "form": lambda form: whole_form(form) if form else None,
    "brings": (_REQUIREMENTS, {"kind": 0, "text": partial(plain_tools, limit=240), **_NEEDED}),
    "instructions": partial(plain_tools, limit=_INSTRUCTIONS),
    "list_changes": 300,
}
# Of steps that may be reported besides, where there is no room for all of them.
_BRIEF_REPORT = {
    "step": 60, "outcomes": (6, 40), "data": lambda _: None, "form": lambda _: None, "brings": (0, 0),
    "instructions": lambda _: "", "list_changes": lambda _: "",
}  # fmt: skip
_REPORTS_ROOM = 2_000
NO_TEXTS: Mapping[str, str] = {}
_TASK = {"id": 80, "title": 120, "path": 200, "line": 0, "files": (5, 80), "agent": 40}
_GATES = _CHECKS = 4
_SHUT = {"action": 60, "because": partial(plain_tools, limit=100)}
_FORBIDDEN = 8
_GATE = {"id": 60, "status": 0, "basis": 0, "rests_on": 120}
_FINDING = {"severity": 0, "code": 0, "path": 160, "message": partial(plain_tools, limit=200)}


def next_step(
    evaluation: Evaluation,
    *,
    start: int = 0,
    claim: Claim | None = None,
    token: str = "",
    texts: Mapping[str, str] = NO_TEXTS,
    held: Collection[HeldTask] = (),
    children: Sequence[Evaluation] = (),
    recorded: str = "",
    note: str = "",
) -> Answer:
    """The next step of a run, why, and all that is needed to do it.

    `claim` is the task that was just claimed, `token` what the caller has to keep of it, `texts` what the
    files of the tasks at hand say, by their ids, the first one first, `held` the tasks that others have on
    their machines, `children` runs that this one waits for, `recorded` what was just recorded, `note` a
    sentence to be told. `start` is the first ready task shown.
    """
    head, line = head_of(evaluation)
    phase = next((p for p in evaluation.phases if p.id == evaluation.current_phase), None)
    head |= {"currentPhase": optional(evaluation.current_phase, 60), "status": evaluation.status}
    head |= {"recorded": recorded} if recorded else {}
    if progress := progress_words(evaluation):
        head["done"] = progress.removeprefix(", ")
    title = f" {quote(phase.title, 80)}" if phase and phase.title != phase.id else ""
    head |= {"phaseTitle": plain(phase.title, 80)} if phase and title else {}
    where = f"phase {plain(phase.id, 60)}{title}" if phase else "phase unknown"
    stands = f"{where}, {evaluation.status}{progress_words(evaluation)}"
    builder = AnswerBuilder(head, *([f"recorded: {recorded}"] if recorded else []), line, stands)
    _step(builder, evaluation)
    if note:
        builder.put("note", note, note)
    if claim:
        task, actor, until = plain(claim.task, 80), plain(claim.actor, 80), plain(claim.until, 40)
        value = {"task": task, "actor": actor, "until": until, "seq": claim.seq}
        value |= {"token": token} if token else {}
        keep = f"; another connection of yours reports it with token={token}" if token else ""
        builder.put("claim", value, f"task {task} is yours ({quote(claim.actor, 80)}) until {until}{keep}")
    _children(builder, children)
    _put_awaited(builder, evaluation)
    with_tasks = bool(claim or evaluation.suggestion.tasks or evaluation.claims)
    _reports(builder, evaluation, with_tasks, claim, token)
    _produce(builder, evaluation.suggestion)
    evaluation = without_held_tasks(evaluation, held)
    _tasks(builder, evaluation, start, claim)
    _held_tasks(builder, held, has_free=bool(evaluation.suggestion.tasks))
    _notes(builder, evaluation)
    _first_text(builder, texts, 1 if claim else len(evaluation.suggestion.tasks))
    _order(builder, evaluation)
    _restrictions(builder, evaluation)
    _grounds(builder, evaluation)
    _checks(builder, evaluation)
    _because(builder, evaluation)
    _more_texts(builder, texts)
    return builder.answer()


def whole_form(form: str) -> str | None:
    """The form of a report's text, safe to show; None where that is too long: half a form is none."""
    shown = "\n".join(plain(line, _FORM) for line in form.splitlines())
    return shown if size(shown) <= _FORM else None


def _step(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """The step that is to be done, by whom, why, and what the agent of the step validates."""
    suggestion = evaluation.suggestion
    target = suggestion.suggested_next
    phase = next((phase for phase in evaluation.phases if phase.id == target), None)
    title = f" {quote(phase.title, 80)}" if phase and phase.title and phase.title != target else ""
    agents = excerpt(suggestion.agents, (4, 40))
    who = f"; as {', '.join(agents)}" if agents else ""
    step = in_sentence(plain(suggestion.phrase, 200))
    builder.put("suggestion.kind", suggestion.kind)
    builder.put("suggestion.phrase", f"{step}{title}", f"NEXT: {step}{title}{who}")
    builder.put("suggestion.suggestedNext", optional(target, 60))
    builder.put("suggestion.action", optional(suggestion.action, 60))
    builder.put("suggestion.agents", agents)
    reason = plain_tools(suggestion.reason, 300)
    builder.put("suggestion.reason", reason, f"because {quote(reason, 300)}")
    instructions = suggestion.reports[0].instructions if suggestion.reports else ""
    if suggestion.kind is SuggestionKind.STOP and evaluation.status in _FINAL and not suggestion.override_to:
        builder.put("final", ENDED, ENDED)
    if instructions:
        builder.say(f"how: {quote(as_tools(instructions), _INSTRUCTIONS)}")
    elif reason.endswith(" is to be done"):
        builder.caution(NOT_REPORTED)
    if phase and phase.checks:
        checks = excerpt(phase.checks, (6, 80))
        builder.put("checks", checks, f"check: {'; '.join(quote(check, 80) for check in checks)}")


def _grounds(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """The bases of the gates that let the run go on now; of all gates where it is complete."""
    is_over = evaluation.status is RunStatus.COMPLETE
    holding = [
        gate
        for gate in evaluation.gates
        if gate.status in (GateStatus.PASSED, GateStatus.WAIVED) and (gate.in_force or is_over)
    ][:_GATES]
    if holding:
        lines = [f"gate {plain(g.id, 60)} {g.status}, {plain(g.rests_on, 120)}" for g in holding]
        builder.put("gates", excerpt(holding, (_GATES, _GATE)), *lines)


def _checks(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """The checks of the gates in force, each once, those that did not pass first."""
    found = {check.name: check for gate in evaluation.gates if gate.in_force for check in gate.checks}
    first = sorted(found.values(), key=lambda check: check.result is CheckResult.PASSED)[:_CHECKS]
    if first:
        builder.put("measured", [*map(check_data, first)], *check_lines(first))


def _reports(
    builder: AnswerBuilder, evaluation: Evaluation, with_tasks: bool, claim: Claim | None, token: str
) -> None:
    """The reports of the step: the call for the first way, and the steps that may be reported besides."""
    reports = evaluation.suggestion.reports[:_REPORTS]
    if not reports:
        return
    first, *others = reports
    outcomes = " | ".join(quote(outcome, 40) for outcome in first.outcomes[:6])
    tasks = ", tasks=[the ids you did]" if with_tasks else ""
    tasks = f", tasks=[{quote(claim.task, 80)}], agent={quote(claim.actor, 80)}" if claim else tasks
    tasks += f", token={quote(token)}" if token else ""
    line = f"when it is done: report(step={quote(first.step, 60)}, outcome={outcomes}{tasks})"
    shown = excerpt(reports, (_REPORTS, _REPORT))
    if size(shown) > _REPORTS_ROOM:
        shown[1:] = excerpt(others, (_REPORTS, _BRIEF_REPORT))
    builder.caution(line)
    builder.put("suggestion.reports", shown)
    if first.form and (form := whole_form(first.form)):
        builder.put("form", FORM_IS, f"{FORM_IS}: {json.dumps(form, ensure_ascii=False)}")
    elif first.form:
        builder.caution(FORM_ELSEWHERE)
    if first.data:
        _data(builder, first.data)
        builder.say(f"of its lists: {plain(first.list_changes, 300)}" if first.list_changes else "")
    _brings(builder, first)
    if others:
        builder.say(f"also in turn: {', '.join(plain(each.step, 60) for each in others)}")


def _data(builder: AnswerBuilder, wanted: Mapping[str, Any]) -> None:
    """The example of a report's data, and what of it is too much for an answer."""
    if data := shrunk(wanted, _DATA_TEXT):
        example = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        builder.put("dataIs", DATA_IS, f"{DATA_IS}: {example}")
    left_out = [*islice(members_left_out(wanted, data), _LEFT_OUT)]
    if left_out:
        builder.put("dataAlsoHas", left_out, f"its data also has, like what is shown: {', '.join(left_out)}")


def _brings(builder: AnswerBuilder, report: Reportable) -> None:
    """What a report with the good outcome is refused without, each in a line; what is there is said so."""
    best = plain(report.outcomes[0], 40)
    for needed in report.brings[:_REQUIREMENTS]:
        # The form is shown already.
        if needed.kind is not RequirementKind.REPORT:
            done = " (so it is)" if needed.met else ""
            builder.say(f"{best} needs that {quote(as_tools(needed.phrase), 400)}{done}")


def _produce(builder: AnswerBuilder, suggestion: Suggestion) -> None:
    """The files to write; the examples of those that are not long, with what cannot be seen made visible."""
    entries: list[tuple[Any, str]] = []
    for entry in suggestion.produce[:20]:
        path = plain(entry.path, 300)
        text = entry.example if entry.example and len(entry.example) <= _EXAMPLE else ""
        example = "\n".join(plain(line, _EXAMPLE) for line in text.split("\n"))
        example = example if 0 < size(example) - 2 <= _EXAMPLE else None
        schema = f" (schema {plain(entry.schema, 100)})" if entry.schema else ""
        below = " (any files below)" if path.endswith("**") else ""
        line = f"{'revise' if entry.revise else 'write'} {path}{below}{schema}"
        if example and len(example) <= 300:
            line += f", like {json.dumps(example, ensure_ascii=False)}"
        shown = {"path": path, "schema": optional(entry.schema, 200), "example": example}
        entries.append((shown | {"revise": entry.revise}, line))
    if entries:
        builder.fill("suggestion.produce", entries)


def _tasks(builder: AnswerBuilder, evaluation: Evaluation, start: int, claim: Claim | None) -> None:
    """The ready tasks; only the claimed one where one was claimed."""
    board = evaluation.plan
    ready = (claim.task,) if claim else evaluation.suggestion.tasks

    def entries(board: TaskBoard) -> Iterator[tuple[Any, str]]:
        for state in filter(None, map(board.task, ready[start:])):
            names = ", ".join(quote(name, 60) for name in state.files[:3])
            files = f"; files {names}" if names else ""
            own = f" in {plain(state.path, 160)}" if state.path else ""
            row = f"row {plain(board.path, 100)}:{state.line + 1}"
            line = f"task {plain(state.id, 60)} {quote(state.title, 100)}{own}, {row}{files}"
            yield excerpt(state, _TASK) | {"line": state.line + 1}, line

    if board and ready:
        builder.fill("tasks", entries(board), start, len(ready))
    elif board and board.schedule.claimed:
        builder.caution(ALL_CLAIMED)


def _held_tasks(builder: AnswerBuilder, held: Collection[HeldTask], *, has_free: bool) -> None:
    """The tasks that are to be done, and that others have: how many, and who has the first of them."""
    if not held:
        return
    if not has_free:
        builder.caution(NO_FREE_TASK)
    shown = [*islice(held, MOST_CLAIMS)]
    words = "; ".join(f"{plain(each.task, 60)} is {quote(each.phrase, 200)}" for each in shown)
    line = f"{len(held)} not free, on other machines: {words}"
    texts = [{name: plain(text, 60) for name, text in each._asdict().items() if text} for each in shown]
    builder.put("heldElsewhere", {"total": len(held), "tasks": texts}, line)


def _first_text(builder: AnswerBuilder, texts: Mapping[str, str], tasks: int) -> None:
    """The text of the first task, and whose it is; where those of the others stand."""
    for task, text in islice(texts.items(), 1):
        builder.put("taskText", lines_of(text, _TASK_TEXT))
        if tasks > 1:
            own = "what a task asks for stands in the file at its path"
            builder.caution(f"{own}; taskText is that of {plain(task, 60)}")


def _more_texts(builder: AnswerBuilder, texts: Mapping[str, str]) -> None:
    """The texts of the other tasks, as many as there is room for."""
    shown = ({"id": plain(task, 60), "text": lines_of(text, _TASK_TEXT)} for task, text in texts.items())
    others = [*islice(shown, 1, None)]
    while others and not builder.has_room("moreTaskTexts", others):
        others.pop()
    if others:
        builder.put("moreTaskTexts", others)


def _notes(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """A person's words first, then the claims of others, and the notes of the workflow."""
    notes = excerpt(evaluation.notes, (4, {"title": 80, "text": partial(plain_tools, limit=300)}))
    if notes:
        builder.put("notes", notes, *(f"{note['title']}: {quote(note['text'], 300)}" for note in notes))
    if evaluation.claims:
        claims = excerpt(evaluation.claims, (MOST_CLAIMS, {"task": 60, "actor": 60, "until": 0}))
        builder.put("claims", claims, claims_words(evaluation.claims))


def _order(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """Batches of tasks that may run side by side, and why other tasks may not start."""
    batches = [excerpt(batch, (12, 60)) for batch in evaluation.suggestion.parallel]
    if batches:
        words = ", then ".join(" + ".join(batch[:6]) for batch in batches[:_BATCHES])
        how = "side by side" if any(len(batch) > 1 for batch in batches) else "in order"
        builder.put("suggestion.parallel", batches[:_BATCHES], f"{how}: {words}")
    if evaluation.plan:
        blocked = islice(evaluation.plan.schedule.blocked.items(), 5)
        waits = {plain(task, 60): excerpt(whys, (4, 60)) for task, whys in blocked}
        if waits:
            words = "; ".join(f"{task} waits for {', '.join(whys)}" for task, whys in waits.items())
            builder.put("blockedBy", waits, f"not yet: {words}")


def _put_awaited(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """The event that the run waits for, and the questions to a person.

    Somebody is awaited only where the run stands still for it: what a person may look at besides is a note.
    """
    kind, _, what = (evaluation.suggestion.waiting_for or "").partition(": ")
    what = as_tools(what)
    who = f"{kind}: {plain(what, 300)}"
    if what and evaluation.status not in (RunStatus.WAITING, *_AWAITING):
        noted = f"{BESIDES}: {quote(what, 200)}"
        builder.put("besides", noted, noted)
    elif what and not as_tools(evaluation.suggestion.reason).endswith(what):
        builder.put("suggestion.waitingFor", who, f"awaited: {quote(who, 300)}")
    elif what:
        # The reason has said it.
        builder.put("suggestion.waitingFor", kind, f"awaited: a {kind}")
    if evaluation.status is RunStatus.WAITING:
        run = plain(evaluation.run, 300) or "."
        wait = f"wait_for_change(run={quote(run, 300)}, since={quote(evaluation.revision)})"
        builder.caution(
            f"it goes on when what the evidence names has changed: {wait}, or work on another run"
        )
    questions = questions_in_order(evaluation)
    if questions:
        builder.fill("questions", map(question_entry, questions[:4]))
        command = how_to_decide(evaluation, questions[0])
        which = ""
        if questions[1:]:
            first, which = plain(questions[0].id, 80), f"(question={quote(questions[0].id, 80)})"
            if evaluation.holding_question:
                builder.put("holds", first, f"the run waits for the answer to {first} first")
            commands = {plain(each.id, 80): short_command(evaluation, each) for each in questions[:4]}
            builder.put("decideEach", commands)
        builder.put("decides", DECIDES)
        builder.put("decide", command, f"a person decides, not you: request_decision{which}, or {command}")


def _children(builder: AnswerBuilder, children: Sequence[Evaluation]) -> None:
    """The runs that this one waits for: they come first."""
    if children:
        calls = ", ".join(f"next_step(run={quote(each.run, 200)})" for each in children[:MOST_CLAIMS])
        builder.caution(f"first do what the runs need that it waits for: {calls}")


def _restrictions(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """Actions not allowed now, those with the same reason together, and the limits with their counts."""
    all_forbidden = evaluation.suggestion.forbidden
    forbidden = excerpt(all_forbidden, (_FORBIDDEN, _SHUT))
    if forbidden:
        actions_by_reason: dict[str, list[str]] = {}
        for entry in forbidden:
            action = "anything else" if entry["action"] == "*" else entry["action"]
            actions_by_reason.setdefault(entry["because"], []).append(action)
        groups = (f"{', '.join(names)} ({quote(why, 100)})" for why, names in actions_by_reason.items())
        more = len(all_forbidden) - len(forbidden)
        also = f"; and {more} more" if more else ""
        builder.put("suggestion.forbidden", forbidden, f"not now: {'; '.join(groups)}{also}")
        if more:
            builder.put("suggestion.moreForbidden", more)
    bounded = [limit for limit in evaluation.limits if limit.max is not None]
    limits = excerpt(bounded, (8, {"id": 60, "count": 0, "max": 0, "reached": 0}))
    if limits:
        counts = [f"{each['id']} {each['count']} of {each['max']}" for each in limits if each["count"]]
        builder.put("limits", limits, f"limits: {', '.join(counts)}" if counts else "")


def _because(builder: AnswerBuilder, evaluation: Evaluation) -> None:
    """The errors in the run's files, then the warnings, and the evidence of the step."""
    standing = [found for found in evaluation.findings if not found.overridden]
    errors = [found for found in standing if found.severity is Severity.ERROR]
    told = [*errors, *(found for found in standing if found.severity is Severity.WARNING)][:_FINDINGS]
    if told:
        shown = [
            excerpt(found, _FINDING) | {"line": found.span.line + 1 if found.span else None} for found in told
        ]
        lines = [
            f"{e['severity']} at {e['path']}:{e['line'] or 1}: {quote(e['message'], 200)}" for e in shown
        ]
        ways = [fix for found in told for fix in found.fixes if fix.command][:_FIXES]
        words = (plain(shlex.join(("phasekeeper", *fix.command)), 300) for fix in ways)
        more = len(errors) - len(shown)
        builder.put("findings", shown, *lines)
        for fix, call in zip(ways, words, strict=True):
            builder.caution(f"to mend it ({quote(fix.title, 60)}) a person types: {call}")
        if more > 0:
            builder.caution(
                f"and {more} more errors; status and check_gate go on, this run's resource has all"
            )
    evidence = [evidence_data(entry, 160, 100, 120) for entry in evaluation.suggestion.evidence[:4]]
    if evidence:
        lines = [
            f"evidence: {plain(entry.expression, 80)} = "
            f"{json.dumps(shrunk(entry.value, 80), ensure_ascii=False)}{at_place([data])}"
            for entry, data in zip(evaluation.suggestion.evidence, evidence, strict=False)
        ]
        builder.put("suggestion.evidence", evidence, *lines)
