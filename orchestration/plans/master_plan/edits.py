"""Edits of a MASTER_PLAN.md, text to text (seed 004, step 4c and "Create fix tasks").

A plan says the same thing in several places (reference: workflows, seed 004, "What real plans show"); an
edit changes all of them at once, so that reading the plan afterwards finds no disagreement that was not
there before. Every other byte stays. What a row or entry that is added looks like is taken from the last
one there. Each edit raises ValueError when the text is no plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...findings import Span
from ...markdown import document as markdown
from ...markdown.document import MarkdownDocument
from ...markdown.line_edits import Replacement, apply_edits
from ...markdown.tables import tables
from ..model import Mark, MarkStatus, Plan, Stage, StageTasks, Task
from .new_stage import added_entries, added_stage, added_summary_row, one_line, plan_tasks
from .reader import RADIO, header_fields, read
from .rows import MARK_OF, MARKS
from .task_file import draft_task_files

_COUNT = re.compile(r"(?<!\d)\d++([ \t]*+/[ \t]*+)\d++")
_PERCENT = re.compile(r"(?<![\d.])\d{1,9}(?:\.(\d{1,9}))?(?=[ \t]*%)")
_FIGURE = re.compile(r"\d+")


def check_tasks(text: str, stage_id: str) -> str:
    """The plan with every task of a stage ticked: rows, Quick Reference, Progress Summary, Progress line.

    Nothing but the marks changes, so the plan's `substance` stays what it was; what is ticked already stays
    as it is. Only a row too short for a mark gets the cells it lacks. Raises ValueError when there is no
    such stage.
    """
    plan = _plan(text)
    stage = next((stage for stage in plan.stages if stage.id == stage_id), None)
    if stage is None:
        raise ValueError(f"the plan has no phase {stage_id}; it has {', '.join(s.id for s in plan.stages)}")
    return _with_status(text, plan, stage.tasks, MarkStatus.DONE, MARK_OF[MarkStatus.DONE])


def set_status(text: str, task_id: str, mark: str) -> str:
    """The plan with another mark (one of MARKS, with or without brackets) for one task.

    It is set in the task's row, or all of them when rows share the id, and in the Quick Reference; the
    places that add tasks up follow. `task_id` may be any name the plan knows the task by. Raises ValueError
    for a task that is not in the plan, and an unknown mark.
    """
    plan = _plan(text)
    name = task_id if task_id in plan.by_id else plan.names.get(task_id.lower())
    chosen = [task for task in plan.tasks if task.id == name]
    if not chosen:
        raise ValueError(f"the plan has no task {task_id}")
    character = mark[1:-1] if len(mark) == 3 and (mark[0], mark[-1]) == ("[", "]") else mark
    if character not in MARKS:
        raise ValueError(f"`{mark}` is none of {', '.join(f'[{known}]' for known in MARKS)}")
    return _with_status(text, plan, chosen, MARKS[character], f"[{character}]")


def sync_summaries(text: str) -> str:
    """The plan with every place that repeats its task rows saying what they say.

    Those are the Quick Reference, the Progress Summary, the Progress line, and a header that says complete
    while tasks are open. The rows stay as they are; a mark that repeats a row nobody understands stays too.
    """
    plan, document = _plan(text), markdown.read(text, rescue=True)
    done = sum(stage.done for stage in plan.stages)
    replacements = [
        *(
            Replacement(mark.span, MARK_OF[task.status])
            for task in plan.tasks
            if (mark := plan.reference(task)) and task.status not in (MarkStatus.UNKNOWN, mark.status)
        ),
        *_summary_marks(plan.stages, with_unknown=True),
        *_tallies(document, plan.stages),
        *_totals(document, plan, done, len(plan.tasks)),
    ]
    # The figures of tasks that are not those of the tables; the Progress line is among the totals.
    counted = plan.count.span.line if plan.count else -1
    replacements += [
        Replacement(problem.span, str(problem.data["total"]))
        for problem in plan.problems
        if "total" in problem.data and problem.span and problem.span.line != counted
        if document.lines[problem.span.line][problem.span.column : problem.span.end_column].isdecimal()
    ]
    reopens = plan.status.lower().startswith("complete") and done < len(plan.tasks)
    return apply_edits(
        text, [*replacements, *(_header_changes(document, "complete", "In Progress", "~") if reopens else ())]
    )


def complete_plan(text: str) -> str:
    """The plan with a header that says complete, where it has a Status; of one with open tasks as it is."""
    plan, document = _plan(text), markdown.read(text, rescue=True)
    if plan.status.lower().startswith("complete") or not all(task.done for task in plan.tasks):
        return text
    return apply_edits(text, [*_header_changes(document, "", "Complete", "x")])


def append_stage(text: str, title: str, tasks: Sequence[Mapping[str, object]]) -> str:
    """The plan with another phase behind its last one, holding `new_tasks(text, tasks)`, none of them done.

    Its heading is `Phase N: title`; in a plan that has phases without a number, whose own ids such a heading
    would shift, it is the title. A header that says complete says in progress then. Raises ValueError when
    a title is empty, or the new phase would not be read as one.
    """
    plan, document = _plan(text), markdown.read(text, rescue=True)
    title, new = one_line(title, "the phase"), plan_tasks(plan, tasks)
    stages = [*(stage.id for stage in plan.stages), new[0].stage]
    rows = [(task.id, task.stage) for task in (*plan.tasks, *new)]
    total = len(plan.tasks) + len(new)
    replacements = list(_totals(document, plan, sum(stage.done for stage in plan.stages), total))
    field = next((field for field in markdown.fields(document) if field.key.lower() == "total tasks"), None)
    figure = _FIGURE.search(field.value) if field else None
    if field and figure:
        replacements.append(Replacement(field.span_in_value(*figure.span()), str(total)))
    repeated = [*added_summary_row(document, plan, title, new), *added_entries(document, plan, new)]
    for heading in (f"Phase {new[0].stage}: {title}", title, f"Tasks: {title}"):
        longer = apply_edits(text, replacements, [added_stage(document, plan, heading, new), *repeated])
        after = read(longer) or plan
        named = [(task.id, task.stage) for task in after.tasks]
        if [stage.id for stage in after.stages] == stages and named == rows:
            return longer
    raise ValueError("a further phase behind the last one would not be read as one; add it by hand")


def new_tasks(text: str, tasks: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Tasks that `append_stage` creates: `{id, number, file, title, type, stage, description}` of each.

    A task is described by `{title, type?, description?}`, type "impl" unless there is one. The last one is a
    test task, which is added when the last described is none (every phase ends with one, seed 004). `file` is
    in the folder of the plan's last task. Raises ValueError when a title is empty.
    """
    return [task._asdict() for task in plan_tasks(_plan(text), tasks)]


def new_task_files(text: str, title: str, tasks: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """file -> text of the task files that `append_stage` names anew, with its arguments and its errors."""
    plan = _plan(text)
    return draft_task_files(plan.title, plan_tasks(plan, tasks), tasks)


def _plan(text: str) -> Plan:
    plan = read(text)
    if plan is None:
        raise ValueError("the text is no master plan: it has no task table")
    return plan


# --- marks


def _with_status(text: str, plan: Plan, chosen: Sequence[Task], status: MarkStatus, mark: str) -> str:
    """The text with a status, written as `mark`, for some tasks, and all that adds them up."""
    document = markdown.read(text, rescue=True)
    rows = {task.row for task in chosen}
    stages = [
        replace(
            stage, tasks=StageTasks(replace(t, status=status) if t.row in rows else t for t in stage.tasks)
        )
        for stage in plan.stages
    ]
    touched = {task.stage for task in chosen}
    places = [Mark(task.status, plan.span(task, task.mark)) for task in chosen if task.mark]
    places += filter(None, map(plan.reference, chosen))
    replacements = [
        *(Replacement(place.span, mark) for place in places if place.status != status),
        *_summary_marks([stage for stage in stages if stage.id in touched]),
        *_tallies(document, [stage for stage in stages if stage.id in touched]),
        *_totals(document, plan, sum(stage.done for stage in stages), len(plan.tasks)),
    ]
    # Rows too short to have a mark get it, with the cells that they lack before it.
    short = {plan.span(task).line for task in chosen if task.mark is None}
    for table in tables(document) if short else ():
        column = table.columns.get("status", -1)
        for row in (row for row in table.rows if row.line in short):
            bare = row.text.rstrip()
            bar = "" if bare.endswith("|") and not bare.endswith("\\|") else " |"
            empty = "  |" * (column - len(row.parts().texts))
            end = Span(row.line, len(bare), row.line, len(bare))
            replacements.append(Replacement(end, f"{bar}{empty} {mark} |"))
    return apply_edits(text, replacements)


def _summary_marks(stages: Sequence[Stage], with_unknown: bool = False) -> Iterator[Replacement]:
    """The marks of the Progress Summary that contradict the stages' rows, or are no known mark."""
    for stage in stages:
        if stage.summary is None:
            continue
        unknown = with_unknown and stage.summary.status == MarkStatus.UNKNOWN
        if unknown or stage.is_complete != (stage.summary.status == MarkStatus.DONE):
            begun = any(task.status != MarkStatus.TODO for task in stage.tasks)
            status = MarkStatus.IN_PROGRESS if begun else MarkStatus.TODO
            yield Replacement(stage.summary.span, MARK_OF[MarkStatus.DONE if stage.is_complete else status])


# --- totals


def _tallies(document: MarkdownDocument, stages: Sequence[Stage]) -> Iterator[Replacement]:
    """The counts of the Progress Summary ("2/4") that are not those of the stages' rows."""
    for stage in stages:
        if stage.tally and stage.tally[:2] != (stage.done, stage.total):
            span = stage.tally.span
            written = document.lines[span.line][span.column : span.end_column]
            yield Replacement(span, _COUNT.sub(rf"{stage.done}\g<1>{stage.total}", written))


def _totals(document: MarkdownDocument, plan: Plan, done: int, total: int) -> Iterator[Replacement]:
    """The Progress line, and the header's Status when it says that all is done and that is true no more."""
    if plan.count is not None:
        span, old = plan.count.span, plan.count[:2]
        field = next(field for field in markdown.fields(document) if field.line == span.line)
        if old != (done, total):
            written = document.lines[span.line][span.column : span.end_column]
            yield Replacement(span, _COUNT.sub(rf"{done}\g<1>{total}", written))
        percent = _PERCENT.search(field.value)
        exact = 100 * done / max(total, 1)
        # The figure of the same count may have been rounded up or down.
        if percent and (old != (done, total) or abs(float(percent[0]) - exact) >= 1):
            places = len(percent[1] or "")
            share = f"{exact:.{places}f}"
            # It is 100 only when all is done.
            if done < total and float(share) >= 100:
                share = f"{100 - 10**-places:.{places}f}"
            yield Replacement(field.span_in_value(*percent.span()), share)
    was_complete = all(task.done for task in plan.tasks) and plan.status.lower().startswith("complete")
    if was_complete and done < total:
        yield from _header_changes(document, "complete", "In Progress", "~")


def _header_changes(document: MarkdownDocument, before: str, word: str, mark: str) -> Iterator[Replacement]:
    """The header's Status with another word, where it says the one `before` ("" is any).

    The tick moves to the box of the word; where there is none, the words change.
    """
    fields = header_fields(document, markdown.fields(document))
    named = (f for f in fields if f.key.lower() == "status" and before in f.value.lower())
    field = next(named, None)
    if field is None:
        return
    boxes = list(RADIO.finditer(field.value))
    ticked = [box for box in boxes if box[1].strip()]
    other = next((box for box in boxes if word.lower() in box[2].lower()), None)
    if not boxes:
        yield Replacement(field.value_span, word)
    elif other is None or not ticked:
        box = ticked[0] if len(ticked) == 1 else boxes[0]
        end = box.start(2) + len(box[2].rstrip())
        yield Replacement(field.span_in_value(box.start(), end), f"[{mark}] {word}")
    else:
        yield from (Replacement(field.span_in_value(*box.span(1)), " ") for box in ticked if box is not other)
        yield Replacement(field.span_in_value(*other.span(1)), "x")
