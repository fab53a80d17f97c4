"""Fixes of plans, task files and reports: Markdown, changed line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...orchestration.findings import Edit, Span
from ...orchestration.markdown import document as markdown
from ...orchestration.markdown.line_edits import Insertion, Replacement, edited
from ...orchestration.plans.master_plan.edits import in_step, new_tasks, set_status
from ...orchestration.plans.master_plan.reader import read, read_task
from ...orchestration.plans.model import Plan, Task
from ...orchestration.plans.schedule import resolve
from ...orchestration.suggestions import nearest
from ...orchestration.vfs.files import join
from .fix import FixContext, QuickFix

_MEANING = {" ": "not done", "x": "done", "~": "in progress", "-": "blocked", "!": "needs attention"}
_PHASE_NUMBER = re.compile(r"(?i)\bphase[ \t]+(\w+)")


# ---- progress that is recorded twice ----------------------------------------------------------


def sync_plan(ctx: FixContext) -> Iterator[QuickFix]:
    """Two places of a plan that disagree: its task rows count."""
    plan = read(ctx.text)
    if plan is None:
        return
    edit = ctx.edit(in_step(ctx.text))
    yield QuickFix("Bring the plan's summaries in step with its task rows", (edit,), preferred=True)
    if any(problem.span == ctx.finding.span for problem in plan.problems):
        if ctx.finding.data.get("missing") == "row":
            yield QuickFix("Remove this line of the Quick Reference", (ctx.delete_line(),))
        return
    stage = ctx.evaluation.plan.stage if ctx.evaluation and ctx.evaluation.plan else ""
    text = ctx.text
    for task in (task for task in plan.tasks if task.stage == stage):
        text = set_status(text, task.id, " ")
    yield QuickFix(f"Mark the tasks of phase {stage} as not done until its gate passed", (ctx.edit(text),))


def set_mark(ctx: FixContext) -> Iterator[QuickFix]:
    """A status mark that is not known: each of the known ones; a summary's follows from the task rows."""
    plan = read(ctx.text)
    if plan is None:
        return
    task = next((task for task in plan.tasks if task.mark and task.mark.span == ctx.finding.span), None)
    if task is None:
        edit = ctx.edit(in_step(ctx.text))
        yield QuickFix("Set the mark that the task rows say", (edit,), preferred=True)
        return
    for mark, meaning in _MEANING.items():
        text = edited(ctx.text, [Replacement(ctx.span, f"[{mark}]")])
        # What repeats the mark is kept in step with it, where the row can be read then.
        marked = read(text)
        text = set_status(text, task.id, mark) if marked and task.id in marked.by_id else text
        yield QuickFix(f"Mark {task.id} as {meaning}: [{mark}]", (ctx.edit(text),), preferred=mark == " ")


# ---- tasks ------------------------------------------------------------------------------------


def rename_duplicate(ctx: FixContext) -> Iterator[QuickFix]:
    """Two tasks or two phases with one id: the second gets a free one, or its row goes."""
    plan = read(ctx.text)
    task = _task_at(plan, ctx.span.line)
    if plan is None or task is None:
        match = _PHASE_NUMBER.search(ctx.lines[ctx.span.line])
        numbers = [int(stage.id) for stage in plan.stages if stage.id.isdecimal()] if plan else []
        if match and numbers:
            free = str(max(numbers) + 1)
            span = Span(ctx.span.line, match.start(1), ctx.span.line, match.end(1))
            yield QuickFix(f"Make this phase {free}", (ctx.replace(free, span),), preferred=True)
        return
    new = new_tasks(ctx.text, [{"title": task.title or task.id, "type": "test"}])[0]
    if ctx.marked == task.id:
        title = f"Give this task the next free id, {new['id']}"
        yield QuickFix(title, (ctx.replace(new["id"]),), preferred=True)
    else:
        edits = (ctx.replace(new["file"]), *_task_file(ctx, new["file"], task, plan))
        yield QuickFix(f"Give this task a file of its own, {new['file']}", edits, preferred=True)
    yield QuickFix("Remove this row", (ctx.delete_line(),))


def _task_at(plan: Plan | None, line: int) -> Task | None:
    return next((task for task in plan.tasks if task.span.line == line), None) if plan else None


def _task_file(ctx: FixContext, file: str, task: Task, plan: Plan) -> tuple[Edit, ...]:
    """A new task file with the Meta list that its reader looks for, unless there is one."""
    path = join(ctx.finding.path.rpartition("/")[0], file)
    if path is None or ctx.read(path):
        return ()
    feature = ctx.finding.path.split("/")[-2] if "/" in ctx.finding.path else plan.title
    number = f"{task.number}. " if task.number else ""
    lines = [f"# {number}{task.title or task.id}", *_meta_list(task, feature), ""]
    return (Edit(path, None, "\n".join(lines)),)


def _meta_list(task: Task, feature: str) -> list[str]:
    return [
        "",
        "## Meta",
        "",
        f"- **ID**: {task.id}",
        f"- **Feature**: {feature}",
        f"- **Phase**: {task.stage}",
        "- **Depends On**: []",
    ]


def draft_task_file(ctx: FixContext) -> Iterator[QuickFix]:
    """A plan's row names a file that is not there: a draft of it. Other artifacts are work to be done."""
    plan = read(ctx.text)
    tasks = plan.tasks if plan else ()
    task = next((task for task in tasks if (task.file_span or task.span) == ctx.finding.span), None)
    if plan and task and task.file:
        drafted = _task_file(ctx, task.file, task, plan)
        yield QuickFix(f"Draft the task file {task.file}", drafted, preferred=True)


def complete_task(ctx: FixContext) -> Iterator[QuickFix]:
    """A row or a task file that lacks something: what it lacks, or `true` and `false` for a review."""
    plan, missing = read(ctx.text), ctx.finding.data.get("missing")
    if plan is not None:
        yield from _complete_row(ctx, plan)
    elif missing == "meta":
        yield from _add_meta_list(ctx)
    else:
        for word in ("true", "false"):
            yield QuickFix(f"Say {word}", (ctx.replace(word),), preferred=word == "true")


def _add_meta_list(ctx: FixContext) -> Iterator[QuickFix]:
    board = ctx.evaluation.plan if ctx.evaluation else None
    folder = f"{board.folder}/" if board and board.folder else ""
    tasks = board.plan.tasks if board else ()
    task = next((task for task in tasks if folder + task.file == ctx.finding.path), None)
    if task is None:
        return
    headings = markdown.read(ctx.text, rescue=True).headings
    line = next((heading.span.line + 1 for heading in headings if heading.level == 1), 0)
    edit = ctx.insert(line, *_meta_list(task, folder.rstrip("/").rpartition("/")[2]))
    yield QuickFix(f"Add the Meta list of {task.id}", (edit,), preferred=True)


def _complete_row(ctx: FixContext, plan: Plan) -> Iterator[QuickFix]:
    task, missing = _task_at(plan, ctx.span.line), ctx.finding.data.get("missing")
    if task is None:
        return
    new = new_tasks(ctx.text, [{"title": task.title or "task", "type": "test"}])[0]
    if missing == "id":
        yield QuickFix(f"Give this task the id {new['id']}", (_fill_cell(ctx, new["id"]),), preferred=True)
    elif missing == "file":
        edits = (_fill_cell(ctx, f"`{new['file']}`"), *_task_file(ctx, new["file"], task, plan))
        yield QuickFix(f"Give this task the file {new['file']}", edits, preferred=True)
    elif task.mark is None:
        edit = ctx.edit(set_status(ctx.text, task.id, " "))
        yield QuickFix("Complete this row as not done", (edit,), preferred=True)


def _fill_cell(ctx: FixContext, text: str) -> Edit:
    """The edit that fills an empty cell, or one that says nothing."""
    span = ctx.span
    line = ctx.lines[span.line]
    padded = text if line[span.column - 1 : span.column] == " " else f" {text}"
    return ctx.replace(padded if line[span.end_column : span.end_column + 1] == " " else f"{padded} ")


def add_test_task(ctx: FixContext) -> Iterator[QuickFix]:
    """A stage without a test task: one more row, shaped like the stage's last."""
    plan = read(ctx.text)
    stages = plan.stages if plan else ()
    stage = next((stage for stage in stages if stage.span == ctx.finding.span and stage.tasks), None)
    if plan is None or stage is None:
        return
    last = stage.tasks[-1]
    new = new_tasks(ctx.text, [{"title": f"Phase {stage.id} tests", "type": "test"}])[0]
    row = ctx.lines[last.span.line]
    new_cells = ((last.id, new["id"]), (last.file, new["file"]), (last.title, new["title"]))
    for old, text in (*new_cells, (last.type, "test")):
        row = row.replace(old, text, 1) if old else row
    row = re.sub(r"\[.\](?=[`*_ \t|]*$)", "[ ]", row)
    with_row = edited(ctx.text, [], [Insertion(last.span.line + 1, [row])])
    after = read(with_row)
    task = after.by_id.get(new["id"]) if after else None
    if after is not None and task is not None and len(after.tasks) == len(plan.tasks) + 1:
        edits = (ctx.edit(in_step(with_row)), *_task_file(ctx, new["file"], task, after))
        yield QuickFix(f"Add a test task to phase {stage.id}", edits, preferred=True)


# ---- dependencies -----------------------------------------------------------------------------


def change_dependency(ctx: FixContext) -> Iterator[QuickFix]:
    """A task depends on one that is not in the plan: the nearest ids instead, or none."""
    board = ctx.evaluation.plan if ctx.evaluation else None
    if board is None or ctx.finding.span is None:
        return
    for name in read_task(ctx.text).depends_on:
        if resolve(board.plan, name) is None:
            for close in nearest(name, list(board.plan.by_id)):
                # Whole ids only: `shop-1` is no part of `shop-10`.
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", close, ctx.marked, count=1)
                yield QuickFix(f"Depend on {close} instead of {name}", (ctx.replace(text),), preferred=True)
            yield _without_dependency(ctx, name)


def break_cycle(ctx: FixContext) -> Iterator[QuickFix]:
    """Tasks depend on each other in a circle: one of the dependencies goes."""
    board = ctx.evaluation.plan if ctx.evaluation else None
    if board is None or ctx.finding.span is None:
        return
    for name in read_task(ctx.text).depends_on:
        if resolve(board.plan, name) in ctx.finding.data["tasks"]:
            yield _without_dependency(ctx, name)._replace(preferred=True)


def _without_dependency(ctx: FixContext, name: str) -> QuickFix:
    others = ", ".join(each for each in read_task(ctx.text).depends_on if each != name)
    return QuickFix(f"Do not depend on {name}", (ctx.replace(f"[{others}]"),))


# ---- reports ----------------------------------------------------------------------------------


def set_verdict(ctx: FixContext) -> Iterator[QuickFix]:
    """A report without a known verdict: each word it may be where one stands for it, else the field.

    The field is added with all its words: which of them is right only who wrote the report knows.
    """
    field, words = ctx.finding.data.get("field"), ctx.finding.data.get("expected", ())
    if field:
        line = f"**{field}**: {' | '.join(word.upper() for word in words)}"
        edit = ctx.insert(ctx.span.line + 1, "", line)
        yield QuickFix(f"Add the field {field}, to be filled in", (edit,), preferred=True)
    elif field is None and ctx.marked:
        for word in words:
            edit = ctx.replace(word.upper() if ctx.marked.isupper() else word)
            yield QuickFix(f"Say {word}", (edit,))
