"""Fixes of plans, task files and reports: Markdown, changed line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ...orchestration.findings import Edit, Span
from ...orchestration.markdown import document as markdown
from ...orchestration.markdown.line_edits import Insertion, Replacement, apply_edits
from ...orchestration.plans.model import STATUS_MEANING, Dialect, Plan, PlanEdit, Task
from ...orchestration.plans.schedule import resolve, similar_tasks
from ...orchestration.vfs.files import below, join, name_in, parent
from .fix import FixContext, Fixer, QuickFix

_PHASE_NUMBER = re.compile(r"(?i)\bphase[ \t]+(\w+)")


def in_plan(fixer: Callable[[FixContext, Plan, Dialect], Iterator[QuickFix]]) -> Fixer:
    """Pass the plan in the finding's file, and how it is written, on to a fixer; none for other files."""

    def fixes(ctx: FixContext) -> Iterator[QuickFix]:
        plan = ctx.dialect.read(ctx.text) if ctx.dialect else None
        return fixer(ctx, plan, ctx.dialect) if plan and ctx.dialect else iter(())

    return fixes


def _sync(ctx: FixContext, dialect: Dialect, title: str) -> Iterator[QuickFix]:
    if dialect.sync_summaries:
        yield QuickFix(title, (ctx.edit(dialect.sync_summaries(ctx.text)),), preferred=True)


def _next_task(dialect: Dialect, text: str, title: str) -> Mapping[str, str] | None:
    """The next free id, number and file, where the dialect can tell them."""
    return dialect.new_tasks(text, [{"title": title, "type": "test"}])[0] if dialect.new_tasks else None


def put_in_place(ctx: FixContext) -> Iterator[QuickFix]:
    """What whoever found it knows to mend it by: another text in its range."""
    for number, (title, text) in enumerate(ctx.finding.data.get("replacements", ())):
        yield QuickFix(title, (ctx.replace(text),), preferred=number == 0)
    if ctx.finding.data.get("row") == "":
        yield QuickFix("Remove this row, which says the same", (ctx.delete_line(),))


# ---- progress that is recorded twice ----------------------------------------------------------


@in_plan
def sync_plan(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    """Two places of a plan that disagree: its task rows count."""
    yield from _sync(ctx, dialect, "Bring the plan's summaries in step with its task rows")
    if any(problem.span == ctx.finding.span for problem in plan.problems):
        if ctx.finding.data.get("missing") == "row":
            yield QuickFix("Remove this line of the Quick Reference", (ctx.delete_line(),))
        elif ctx.finding.data.get("missing") == "stage":
            yield QuickFix("Remove this row of the Progress Summary", (ctx.delete_line(),))
        return
    stage = ctx.board.stage if ctx.board else ""
    text = ctx.text
    for task in (task for task in plan.tasks if task.stage == stage):
        text = dialect.edit(PlanEdit.SET_STATUS, text, (task.id, " "))
    yield QuickFix(f"Mark the tasks of phase {stage} as not done until its gate passed", (ctx.edit(text),))


@in_plan
def set_mark(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    """A status mark that is not known: each of the known ones; a summary's follows from the task rows."""
    marked = (task for task in plan.tasks if task.mark and plan.span(task, task.mark) == ctx.finding.span)
    task = next(marked, None)
    if task is None and "~~" in ctx.marked_text:
        yield QuickFix("Remove the strike", (ctx.replace(ctx.marked_text.replace("~~", "")),))
        return
    if task is None:
        yield from _sync(ctx, dialect, "Set the mark that the task rows say")
        return
    meant = ctx.finding.data.get("mark", " ")
    for status, mark in sorted(dialect.mark_of.items(), key=lambda item: item[1] != meant):
        text = apply_edits(ctx.text, [Replacement(ctx.span, f"[{mark}]")])
        # What repeats the mark is kept in step with it, where the row can be read then.
        after = dialect.read(text)
        if after and task.id in after.by_id:
            text = dialect.edit(PlanEdit.SET_STATUS, text, (task.id, mark))
        title = f"Mark {task.id} as {STATUS_MEANING[status]}: [{mark}]"
        yield QuickFix(title, (ctx.edit(text),), preferred=mark == meant)


@in_plan
def restore_marks(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    """Marks that went back although their stage was recorded as done: the marks that were recorded."""
    stage = ctx.finding.data["stage"]
    text = dialect.edit(PlanEdit.CHECK_TASKS, ctx.text, (stage,))
    title = f"Mark the tasks of phase {stage} as done again, as they were recorded"
    yield QuickFix(title, (ctx.edit(text),), preferred=True)


def write_as_box(ctx: FixContext) -> Iterator[QuickFix]:
    """A task that the convention's own tool does not see, or not so: the line with a proper box."""
    if proper := ctx.finding.data.get("row"):
        number = ctx.span.line
        whole = Span(number, 0, number, len(ctx.lines[number]))
        yield QuickFix("Write it as a checkbox", (ctx.replace(proper, whole),), preferred=True)


# ---- tasks ------------------------------------------------------------------------------------


def set_task_id(ctx: FixContext) -> Iterator[QuickFix]:
    """A task file that says it is another task: the id of its row."""
    name = ctx.finding.data["id"]
    yield QuickFix(f"Say that this is {name}", (ctx.replace(name),), preferred=True)


@in_plan
def rename_duplicate(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    """Two tasks or two phases with one id: the second gets a free one, or its row goes.

    A row goes where the plan is a list of rows with ids that it can count on; what else has such ids says in
    its findings how they are mended.
    """
    if dialect.new_tasks is None:
        return
    task = next(plan.tasks_at(ctx.span.line), None)
    if task is None:
        match = _PHASE_NUMBER.search(ctx.lines[ctx.span.line])
        numbers = [int(stage.id) for stage in plan.stages if stage.id.isdecimal()]
        if match and numbers:
            free = str(max(numbers) + 1)
            span = Span(ctx.span.line, match.start(1), ctx.span.line, match.end(1))
            yield QuickFix(f"Make this phase {free}", (ctx.replace(free, span),), preferred=True)
        return
    new = _next_task(dialect, ctx.text, task.title or task.id)
    if new and ctx.marked_text == task.id:
        title = f"Give this task the next free id, {new['id']}"
        yield QuickFix(title, (ctx.replace(new["id"]),), preferred=True)
    elif new:
        edits = (ctx.replace(new["file"]), *_task_file(ctx, new["file"], task, plan))
        yield QuickFix(f"Give this task a file of its own, {new['file']}", edits, preferred=True)
    yield QuickFix("Remove this row", (ctx.delete_line(),))


def _task_file(ctx: FixContext, file: str, task: Task, plan: Plan) -> tuple[Edit, ...]:
    """A new task file that its reader finds nothing wrong with, unless there is one."""
    folder, dialect = parent(ctx.finding.path), ctx.dialect
    path = join(folder, file)
    if path is None or ctx.read(path) or not (dialect and dialect.draft_task):
        return ()
    return (Edit(path, None, dialect.draft_task(task, name_in(folder) or plan.title)),)


@in_plan
def draft_task_file(ctx: FixContext, plan: Plan, _: Dialect) -> Iterator[QuickFix]:
    """A plan's row names a file that is not there: a draft of it. Other artifacts are work to be done."""
    named = (task for task in plan.tasks if plan.span(task, task.file_place) == ctx.finding.span)
    task = next(named, None)
    if task and task.file:
        drafted = _task_file(ctx, task.file, task, plan)
        yield QuickFix(f"Draft the task file {task.file}", drafted, preferred=True)


def complete_task(ctx: FixContext) -> Iterator[QuickFix]:
    """A row or a task file that lacks something: what it lacks, or `true` and `false` for a review."""
    if ctx.dialect is None or ctx.dialect.parts:
        # Of a plan that is spread over files each finding says how it is mended.
        return
    if ctx.dialect.read(ctx.text):
        yield from _complete_row(ctx)
    elif ctx.finding.data.get("missing") == "meta":
        yield from _add_meta_list(ctx)
    else:
        for word in ("true", "false"):
            yield QuickFix(f"Say {word}", (ctx.replace(word),), preferred=word == "true")


def _add_meta_list(ctx: FixContext) -> Iterator[QuickFix]:
    board, dialect = ctx.board, ctx.dialect
    if board is None or not (dialect and dialect.draft_task):
        return
    headings = markdown.read(ctx.text, rescue=True).headings
    line = next((heading.span.line + 1 for heading in headings if heading.level == 1), 0)
    for task in board.plan.tasks:
        if below(board.folder, task.file) == ctx.finding.path:
            # The draft without its title and without the line end behind it.
            draft = dialect.draft_task(task, name_in(board.folder)).split("\n")[1:-1]
            yield QuickFix(f"Add the Meta list of {task.id}", (ctx.insert(line, *draft),), preferred=True)
            return


@in_plan
def _complete_row(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    task, missing = next(plan.tasks_at(ctx.span.line), None), ctx.finding.data.get("missing")
    new = _next_task(dialect, ctx.text, task.title or "task") if task else None
    if task is None or new is None:
        return
    if missing == "id":
        yield QuickFix(f"Give this task the id {new['id']}", (_fill_cell(ctx, new["id"]),), preferred=True)
    elif missing == "file":
        edits = (_fill_cell(ctx, f"`{new['file']}`"), *_task_file(ctx, new["file"], task, plan))
        yield QuickFix(f"Give this task the file {new['file']}", edits, preferred=True)
    elif task.mark is None:
        edit = ctx.edit(dialect.edit(PlanEdit.SET_STATUS, ctx.text, (task.id, " ")))
        yield QuickFix("Complete this row as not done", (edit,), preferred=True)


def _fill_cell(ctx: FixContext, text: str) -> Edit:
    """The edit that fills an empty cell, or one that says nothing."""
    span = ctx.span
    line = ctx.lines[span.line]
    padded = text if line[span.column - 1 : span.column] == " " else f" {text}"
    return ctx.replace(padded if line[span.end_column : span.end_column + 1] == " " else f"{padded} ")


@in_plan
def add_test_task(ctx: FixContext, plan: Plan, dialect: Dialect) -> Iterator[QuickFix]:
    """A stage without a test task: one more row, shaped like the stage's last."""
    stage = next((stage for stage in plan.stages if stage.span == ctx.finding.span and stage.tasks), None)
    new = _next_task(dialect, ctx.text, f"Phase {stage.id} tests") if stage else None
    if stage is None or new is None:
        return
    last = stage.tasks[-1]
    line = plan.span(last).line
    row = ctx.lines[line]
    new_cells = ((last.id, new["id"]), (last.file, new["file"]), (last.title, new["title"]))
    for old, text in (*new_cells, (last.type, "test")):
        row = row.replace(old, text, 1) if old else row
    row = re.sub(r"\[.\](?=[`*_ \t|]*$)", "[ ]", row)
    with_row = apply_edits(ctx.text, [], [Insertion(line + 1, [row])])
    after = dialect.read(with_row)
    task = after.by_id.get(new["id"]) if after else None
    if after is not None and task is not None and len(after.tasks) == len(plan.tasks) + 1:
        text = dialect.sync_summaries(with_row) if dialect.sync_summaries else with_row
        edits = (ctx.edit(text), *_task_file(ctx, new["file"], task, after))
        yield QuickFix(f"Add a test task to phase {stage.id}", edits, preferred=True)


# ---- dependencies -----------------------------------------------------------------------------


def change_dependency(ctx: FixContext) -> Iterator[QuickFix]:
    """A task depends on one that is not in the plan: the nearest ids instead, or none."""
    yield from _change_named(ctx)
    for name, plan, removal in _dependencies(ctx):
        if resolve(plan, name) is None:
            for close in similar_tasks(plan, name):
                # Whole ids only: `shop-1` is no part of `shop-10`.
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", close, ctx.marked_text, count=1)
                yield QuickFix(f"Depend on {close} instead of {name}", (ctx.replace(text),), preferred=True)
            yield removal


def _change_named(ctx: FixContext) -> Iterator[QuickFix]:
    """A dependency that is written beside the task: the nearest ids in its place, or none in a list."""
    name, marked = ctx.finding.data.get("name", ""), ctx.marked_text
    whole = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\d)")
    if not name or ctx.board is None or not whole.search(marked):
        return
    close = similar_tasks(ctx.board.plan, name)
    for each in close:
        if each != ctx.finding.data["task"]:
            text = whole.sub(lambda _, each=each: each, marked, count=1)
            yield QuickFix(f"Depend on {each} instead of {name}", (ctx.replace(text),), preferred=True)
    if marked[:1] == "[" and marked[-1:] == "]":
        # An element of JSON or of YAML in one line.
        kept = [part for part in marked[1:-1].split(",") if part.strip().strip("\"'") != name]
        left = f"[{','.join(kept).strip()}]"
        yield QuickFix(f"Do not depend on {name}", (ctx.replace(left),))
    elif marked.strip("\"'") == name and ctx.lines[ctx.span.line].lstrip().startswith("- "):
        yield QuickFix(f"Do not depend on {name}", (ctx.delete_line(),))


def break_cycle(ctx: FixContext) -> Iterator[QuickFix]:
    """Tasks depend on each other in a circle: one of the dependencies goes."""
    for name, plan, removal in _dependencies(ctx):
        if resolve(plan, name) in ctx.finding.data["tasks"]:
            yield removal._replace(preferred=True)


def _dependencies(ctx: FixContext) -> Iterator[tuple[str, Plan, QuickFix]]:
    """The dependencies of the task file: each name, the plan it is to be in, and the fix that removes it."""
    if ctx.board is None or ctx.dialect is None or ctx.finding.span is None:
        return
    names = ctx.dialect.read_task(ctx.text).depends_on
    for name in names:
        others = ", ".join(each for each in names if each != name)
        yield name, ctx.board.plan, QuickFix(f"Do not depend on {name}", (ctx.replace(f"[{others}]"),))


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
    elif field is None and ctx.marked_text:
        for word in words:
            edit = ctx.replace(word.upper() if ctx.marked_text.isupper() else word)
            yield QuickFix(f"Say {word}", (edit,))
