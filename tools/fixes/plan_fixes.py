"""Mends of plans, task files and reports: Markdown, changed line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...orchestration.findings import Edit, Span
from ...orchestration.markdown import document as markdown
from ...orchestration.markdown.line_edits import Insertion, Replacement, edited
from ...orchestration.plans.master_plan.edits import in_step, new_tasks, set_status
from ...orchestration.plans.master_plan.reader import read, read_task
from ...orchestration.plans.model import MARKS, Plan, Task
from ...orchestration.plans.schedule import resolve
from ...orchestration.suggestions import nearest
from ...orchestration.vfs.files import join
from .fix import Ground, Mend, Mender, changed, replaced, without_line

_MEANING = {" ": "not done", "x": "done", "~": "in progress", "-": "blocked", "!": "needs attention"}
_PHASE_NUMBER = re.compile(r"(?i)\bphase[ \t]+(\w+)")


def _plan(ground: Ground) -> Plan | None:
    return read(ground.text)


# ---- progress that is recorded twice ----------------------------------------------------------


def _drift(ground: Ground) -> Iterator[Mend]:
    plan = _plan(ground)
    if plan is None:
        return
    yield Mend(
        "Bring the plan's summaries in step with its task rows",
        (changed(ground, in_step(ground.text)),),
        preferred=True,
    )
    if any(problem.span == ground.finding.span for problem in plan.problems):
        if "has no row" in ground.finding.message:
            yield Mend("Remove this line of the Quick Reference", (without_line(ground, ground.span.line),))
        return
    stage = ground.evaluation.plan.stage if ground.evaluation and ground.evaluation.plan else ""
    text = ground.text
    for task in (task for task in plan.tasks if task.stage == stage):
        text = set_status(text, task.id, " ")
    yield Mend(f"Mark the tasks of phase {stage} as not done until its gate passed", (changed(ground, text),))


def _mark(ground: Ground) -> Iterator[Mend]:
    plan = _plan(ground)
    task = (
        next((t for t in plan.tasks if t.mark and t.mark.span == ground.finding.span), None) if plan else None
    )
    if task is None:
        if plan is not None:
            yield Mend(
                "Set the mark that the task rows say",
                (changed(ground, in_step(ground.text)),),
                preferred=True,
            )
        return
    for mark, meaning in _MEANING.items():
        text = _with_mark(ground.text, task, mark)
        yield Mend(f"Mark {task.id} as {meaning}: [{mark}]", (changed(ground, text),), preferred=mark == " ")


def _with_mark(text: str, task: Task, mark: str) -> str:
    """The plan with a mark in one row, and what repeats it in step with that."""
    assert task.mark and mark in MARKS
    marked = edited(text, [Replacement(task.mark.span, f"[{mark}]")])
    return (
        set_status(marked, task.id, mark)
        if task.id in (plan.by_id if (plan := read(marked)) else ())
        else marked
    )


# ---- tasks ------------------------------------------------------------------------------------


def _duplicate(ground: Ground) -> Iterator[Mend]:
    plan = _plan(ground)
    if plan is None:
        return
    task = next((t for t in plan.tasks if t.span.line == ground.span.line), None)
    if task is None:
        yield from _second_heading(ground, plan)
        return
    new = new_tasks(ground.text, [{"title": task.title or task.id, "type": "test"}])[0]
    if ground.marked == task.id:
        yield Mend(
            f"Give this task the next free id, {new['id']}", (replaced(ground, new["id"]),), preferred=True
        )
    else:
        edits = (replaced(ground, new["file"]), *_drafted(ground, new["file"], task, plan))
        yield Mend(f"Give this task a file of its own, {new['file']}", edits, preferred=True)
    yield Mend("Remove this row", (without_line(ground, ground.span.line),))


def _second_heading(ground: Ground, plan: Plan) -> Iterator[Mend]:
    match = _PHASE_NUMBER.search(ground.lines[ground.span.line])
    numbers = [int(stage.id) for stage in plan.stages if stage.id.isdecimal()]
    if match and numbers:
        free = str(max(numbers) + 1)
        span = Span(ground.span.line, match.start(1), ground.span.line, match.end(1))
        yield Mend(f"Make this phase {free}", (replaced(ground, free, span),), preferred=True)


def _drafted(ground: Ground, file: str, task: Task, plan: Plan) -> tuple[Edit, ...]:
    """A new task file with the Meta list that its reader looks for, unless there is one."""
    path = join(ground.finding.path.rpartition("/")[0], file)
    if path is None or ground.read(path):
        return ()
    feature = ground.finding.path.split("/")[-2] if "/" in ground.finding.path else plan.title
    return (Edit(path, None, _draft(task, feature)),)


def _draft(task: Task, feature: str) -> str:
    number = f"{task.number}. " if task.number else ""
    meta = [
        f"- **ID**: {task.id}",
        f"- **Feature**: {feature}",
        f"- **Phase**: {task.stage}",
        "- **Depends On**: []",
    ]
    return "\n".join([f"# {number}{task.title or task.id}", "", "## Meta", "", *meta, ""])


def _missing_file(ground: Ground) -> Iterator[Mend]:
    """A plan's row names a file that is not there: a draft of it. Other artifacts are work to be done."""
    plan = _plan(ground)
    task = (
        next((t for t in plan.tasks if (t.file_span or t.span) == ground.finding.span), None)
        if plan
        else None
    )
    if plan is None or task is None:
        return
    if task.file:
        drafted = _drafted(ground, task.file, task, plan)
        yield Mend(f"Draft the task file {task.file}", drafted, preferred=True)


def _unreadable_task(ground: Ground) -> Iterator[Mend]:
    plan = _plan(ground)
    if plan is not None:
        yield from _unreadable_row(ground, plan)
    elif "there is no Meta list" in ground.finding.message:
        yield from _with_meta(ground)
    else:
        for word in ("true", "false"):
            yield Mend(f"Say {word}", (replaced(ground, word),), preferred=word == "true")


def _with_meta(ground: Ground) -> Iterator[Mend]:
    board = ground.evaluation.plan if ground.evaluation else None
    folder = f"{board.folder}/" if board and board.folder else ""
    tasks = board.plan.tasks if board else ()
    task = next((t for t in tasks if folder + t.file == ground.finding.path), None)
    if task is None:
        return
    document = markdown.read(ground.text, rescue=True)
    line = next((h.span.line + 1 for h in document.headings if h.level == 1), 0)
    lines = ["", *_draft(task, folder.rstrip("/").rpartition("/")[2]).split("\n")[2:-1]]
    text = edited(ground.text, [], [Insertion(line, lines)])
    yield Mend(f"Add the Meta list of {task.id}", (changed(ground, text),), preferred=True)


def _unreadable_row(ground: Ground, plan: Plan) -> Iterator[Mend]:
    task = next((t for t in plan.tasks if t.span.line == ground.span.line), None)
    if task is None:
        return
    new = new_tasks(ground.text, [{"title": task.title or "task", "type": "test"}])[0]
    message = ground.finding.message
    if "no task id" in message:
        yield Mend(f"Give this task the id {new['id']}", (_in_cell(ground, new["id"]),), preferred=True)
    elif "names no file" in message:
        edits = (_in_cell(ground, f"`{new['file']}`"), *_drafted(ground, new["file"], task, plan))
        yield Mend(f"Give this task the file {new['file']}", edits, preferred=True)
    elif task.mark is None:
        yield Mend(
            "Complete this row as not done",
            (changed(ground, set_status(ground.text, task.id, " ")),),
            preferred=True,
        )


def _in_cell(ground: Ground, text: str) -> Edit:
    """The edit that fills an empty cell, or one that says nothing."""
    span = ground.span
    line = ground.lines[span.line]
    padded = text if line[span.column - 1 : span.column] == " " else f" {text}"
    return replaced(ground, padded if line[span.end_column : span.end_column + 1] == " " else f"{padded} ")


def _untested(ground: Ground) -> Iterator[Mend]:
    """A stage without a test task: one more row, shaped like the stage's last."""
    plan = _plan(ground)
    stage = (
        next((s for s in plan.stages if s.span == ground.finding.span and s.tasks), None) if plan else None
    )
    if plan is None or stage is None:
        return
    last = stage.tasks[-1]
    new = new_tasks(ground.text, [{"title": f"Phase {stage.id} tests", "type": "test"}])[0]
    row = ground.lines[last.span.line]
    for old, now in (
        (last.id, new["id"]),
        (last.file, new["file"]),
        (last.title, new["title"]),
        (last.type, "test"),
    ):
        row = row.replace(old, now, 1) if old else row
    row = re.sub(r"\[.\](?=[`*_ \t|]*$)", "[ ]", row)
    added = edited(ground.text, [], [Insertion(last.span.line + 1, [row])])
    after = read(added)
    task = after.by_id.get(new["id"]) if after else None
    if after is not None and task is not None and len(after.tasks) == len(plan.tasks) + 1:
        edits = (changed(ground, in_step(added)), *_drafted(ground, new["file"], task, after))
        yield Mend(f"Add a test task to phase {stage.id}", edits, preferred=True)


# ---- dependencies -----------------------------------------------------------------------------


def _dangling(ground: Ground) -> Iterator[Mend]:
    board = ground.evaluation.plan if ground.evaluation else None
    if board is None or ground.finding.span is None:
        return
    for name in read_task(ground.text).depends_on:
        if resolve(board.plan, name) is None:
            for close in nearest(name, list(board.plan.by_id)):
                yield Mend(
                    f"Depend on {close} instead of {name}", (_reference(ground, name, close),), preferred=True
                )
            yield Mend(f"Do not depend on {name}", (_reference(ground, name, None),))


def _circle(ground: Ground) -> Iterator[Mend]:
    board = ground.evaluation.plan if ground.evaluation else None
    if board is None or ground.finding.span is None:
        return
    circle = set(re.findall(r"[^\s→]+", ground.finding.message.split(" depend on each other")[0]))
    for name in read_task(ground.text).depends_on:
        if resolve(board.plan, name) in circle:
            yield Mend(f"Do not depend on {name}", (_reference(ground, name, None),), preferred=True)


def _reference(ground: Ground, name: str, instead: str | None) -> Edit:
    """The edit that names another task in a Depends On field, or none."""
    value = ground.marked
    if instead is not None:
        return replaced(ground, re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", instead, value, count=1))
    left = [each for each in read_task(ground.text).depends_on if each != name]
    return replaced(ground, f"[{', '.join(left)}]")


# ---- reports ----------------------------------------------------------------------------------


def _verdict(ground: Ground) -> Iterator[Mend]:
    """A report whose verdict is no known word: each word it may be, where one stands for it."""
    match = re.search(r"expected one of: (.+)$", ground.finding.message)
    value = ground.marked
    field = re.match(r"no verdict in `([^`]+)`", ground.finding.message)
    if match and field:
        yield _unfilled(ground, field[1], match[1].split(", "))
        return
    if match is None or not value or f"`{value}`" not in ground.finding.message:
        return
    for word in match[1].split(", "):
        yield Mend(f"Say {word}", (replaced(ground, word.upper() if value.isupper() else word),))


def _unfilled(ground: Ground, field: str, words: list[str]) -> Mend:
    """The field that a report lacks, with all its words: which of them is right only who wrote it knows."""
    line = f"**{field}**: {' | '.join(word.upper() for word in words)}"
    added = edited(ground.text, [], [Insertion(ground.span.line + 1, ["", line])])
    return Mend(f"Add the field {field}, to be filled in", (changed(ground, added),), preferred=True)


MENDS: Mapping[str, Mender] = {
    "artifact-missing": _missing_file,
    "dangling-dependency": _dangling,
    "duplicate-task": _duplicate,
    "marker-unknown": _mark,
    "plan-cycle": _circle,
    "report-unclear": _verdict,
    "status-drift": _drift,
    "task-unreadable": _unreadable_task,
    "test-task-missing": _untested,
}
