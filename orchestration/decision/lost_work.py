"""Work that a plan shows no more: files and reports that no row knows, counts that disagree, fewer tasks.

A run with any of it is not complete: what nobody sees is not known to be done. A person who wants the plan as
it is approves it again; then only what was recorded since is missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ..definition.model import Workflow
from ..findings import NO_DATA, Finding, finding
from ..journal.journal import Record
from ..journal.report_files import PendingReport
from ..plans.model import MarkStatus, Plan, PlanEdit, Task
from ..snapshot.snapshot import MOST_FINDINGS, Snapshot
from ..states import QuestionKind, RecordKind
from ..suggestions import misspelling
from .facts import RunFacts, make_finding

# Of lost tasks this many are named; of findings, in a reason.
_MOST_NAMED = 8
_MOST_SAID = 3
_DOUBTS = (MarkStatus.BLOCKED, MarkStatus.ATTENTION, MarkStatus.UNKNOWN)
# Words that the Status of a task's own file may say.
_KNOWN = ("todo", "in progress", "done", "blocked", "failed")
# Stages whose sizes a record keeps.
_MOST_STAGES = 1000


def lost_work(facts: RunFacts, tasks: Sequence[Task] | None = None) -> Iterator[Finding]:
    """A finding for each trace of work that the plan does not show, or of which it contradicts itself.

    The tasks' own files are read of `tasks`, by default of those that are always read.
    """
    plan = facts.snapshot.plan
    if plan is None:
        return
    yield from _unlisted_files(facts.snapshot)
    for entry in facts.snapshot.pending:
        if is_unmatched(entry, plan):
            message = f"a report of phase {entry.report.stage}, which the plan does not have"
            yield make_finding("report-unmatched", entry.path, message, entry.report.span)
    for problem in plan.problems:
        if {"total", "status"} & problem.data.keys() or problem.data.get("missing") in ("row", "stage"):
            yield finding(problem, facts.snapshot.plan_path)
    yield from _contradicted_tasks(facts.snapshot, facts.snapshot.whole if tasks is None else tasks)
    yield from _missing_work(facts, plan)


def lost_work_reason(facts: RunFacts) -> str:
    """Why a run cannot be complete although every step was done; "" where all work is in the plan."""
    plan = facts.snapshot.plan
    messages = [found.message for found in lost_work(facts, plan.tasks if plan else ())]
    more = len(messages) - _MOST_SAID
    said = "; ".join(messages[:_MOST_SAID]) + (f"; and {more} more" if more > 0 else "")
    return f"the plan does not show all work: {said}" if messages else ""


def is_unmatched(entry: PendingReport, plan: Plan | None) -> bool:
    """True for a report file of a stage that the plan does not have."""
    stage = entry.report.stage
    return bool(stage) and plan is not None and all(stage != each.id for each in plan.stages)


def approved_sizes(plan: Plan) -> list[str]:
    """Each stage with the number of its tasks, as a record of an approval keeps them: "1: 4"."""
    return [f"{stage.id}: {stage.total}" for stage in plan.stages[:_MOST_STAGES]]


def _unlisted_files(snapshot: Snapshot) -> Iterator[Finding]:
    declared = snapshot.workflow.plan
    if declared is None or not declared.tasks:
        return
    names = snapshot.reader.unnamed_files(snapshot.folder, snapshot.plan_facts.names, declared.tasks)
    prefix = f"{snapshot.folder}/" if snapshot.folder else ""
    for name in names[:MOST_FINDINGS]:
        message = f"{name} is a task file that no row of the plan names"
        yield make_finding("task-unlisted", prefix + name, message)
    if len(names) > MOST_FINDINGS:
        message = f"and {len(names) - MOST_FINDINGS} more task files that no row names"
        yield make_finding("task-unlisted", snapshot.plan_path, message)


def _contradicted_tasks(snapshot: Snapshot, tasks: Sequence[Task]) -> Iterator[Finding]:
    """Tasks that are marked done and whose own file says failed, blocked, or no word that is known."""
    prefix = f"{snapshot.folder}/" if snapshot.folder else ""
    of_tasks = zip(tasks, snapshot.details_of(tasks), strict=True)
    spoken = ((task, detail) for task, detail in of_tasks if detail.status and task.done and task.file)
    doubted = ((task, mark, detail.status_text) for task, detail in spoken if (mark := detail.status))
    for task, mark, text in islice((each for each in doubted if each[1].status in _DOUBTS), MOST_FINDINGS):
        said, data = f"the row of {task.id} says done, but its file says {text}", NO_DATA
        code = "artifact-contradictory"
        if mark.status is MarkStatus.UNKNOWN:
            code, said = "unknown-word", f"{said}, which is no known word; known: {', '.join(_KNOWN)}"
            data = {**misspelling(text, _KNOWN), "want": _KNOWN}
        yield make_finding(code, prefix + task.file, said, mark.span, data=data)


# ---- what the records say


def _missing_work(facts: RunFacts, plan: Plan) -> Iterator[Finding]:
    """Findings for work approved or reported since the newest approval that the plan lacks."""
    workflow, path = facts.workflow, facts.snapshot.plan_path
    approvals = [q.id for q in workflow.questions.values() if q.kind == QuestionKind.APPROVAL]
    approved = {"kind": RecordKind.ANSWER.value, "question": approvals}
    newest: Record | None = next(iter(facts.context.records.pick(approved)[-1:]), None)
    reports: list[Record] = facts.context.records.since(approved, {"kind": RecordKind.REPORT.value})
    sizes = {stage.id: stage.total for stage in plan.stages}
    yield from _smaller_stages(newest, sizes, path)
    # In the order of the records, each once.
    stages = dict.fromkeys(str(entry["stage"]) for entry in reports)
    if lost := [stage for stage in stages if stage and stage not in sizes]:
        names = ", ".join(lost[:_MOST_NAMED])
        message = f"there are reports of phase {names}, which the plan does not have"
        yield make_finding("plan-shrank", path, message)
    working = {phase.id for phase in workflow.phases.values() if phase.tasks is not None}
    worked = (entry for entry in reports if entry["phase"] in working)
    named = dict.fromkeys(name for entry in worked for name in _tasks_of(entry))
    if lost := [name for name in named if name not in plan.by_id]:
        more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        names = ", ".join(lost[:_MOST_NAMED]) + more
        message = f"there are reports of {names}, which no row of the plan names"
        yield make_finding("plan-shrank", path, message)
    yield from _reverted_marks(facts, plan, reports)


def _tasks_of(entry: Record) -> list[str]:
    tasks = entry["tasks"] if isinstance(entry["tasks"], list) else []
    return [str(name) for name in (*tasks, entry["task"]) if name]


def _smaller_stages(approval: Record | None, sizes: dict[str, int], path: str) -> Iterator[Finding]:
    """Stages that had more tasks when a person approved the plan."""
    stages = approval["stages"] if approval else []
    for said in stages if isinstance(stages, list) else ():
        stage, _, size = str(said).rpartition(": ")
        now = sizes.get(stage, 0)
        if size.isdecimal() and now < int(size[:9]):
            message = f"phase {stage} had {size} tasks when the plan was approved, it has {now}"
            yield make_finding("plan-shrank", path, message)


def _reverted_marks(facts: RunFacts, plan: Plan, reports: list[Record]) -> Iterator[Finding]:
    """Open tasks of stages whose newest report is of the step that marks them."""
    workflow = facts.workflow
    marking = _marking_events(workflow)
    newest = {str(entry["stage"]): f"{entry['phase']}.{entry['outcome']}" for entry in reports}
    skipped = facts.context.value(workflow.skipped_stages).value if workflow.skipped_stages else []
    passed_over = set(map(str, skipped)) if isinstance(skipped, list) else set[str]()
    for stage in plan.stages:
        if newest.get(stage.id) not in marking or stage.id in passed_over or stage.done == stage.total:
            continue
        opened = [task for task in stage.tasks if not task.done]
        names, verb = ", ".join(task.id for task in opened[:_MOST_NAMED]), "is" if len(opened) == 1 else "are"
        step = newest[stage.id].rpartition(".")[0]
        message = f"{step} recorded phase {stage.id} as done, but {names} {verb} not marked done"
        span = stage.span_of(opened[0].mark or opened[0].place)
        yield make_finding("mark-reverted", facts.snapshot.plan_path, message, span, data={"stage": stage.id})


def marking_steps(workflow: Workflow) -> list[str]:
    """The steps whose reports mark the tasks of a stage as done."""
    return [event.rpartition(".")[0] for event in _marking_events(workflow)]


def _marking_events(workflow: Workflow) -> list[str]:
    ticks = f"{PlanEdit.CHECK_TASKS}("
    return [
        event for event, writes in workflow.effects.items() if any(ticks in w.value.source for w in writes)
    ]
