"""Edits of a checklist, text to text: only the characters in the boxes of the named tasks change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...markdown.block_outline import split_lines
from ...markdown.line_edits import Replacement, apply_edits
from ..model import MarkStatus, Plan, Task
from .grammar import COMMON_MARKS, ChecklistGrammar
from .reader import read_plan

_MOST_NAMED = 8


def tick_tasks(text: str, names: Sequence[str], grammar: ChecklistGrammar) -> str:
    """The text with the named tasks done, and those above them by number whose required parts then are.

    What is done already stays as it is. Raises ValueError for a task that the list does not have.
    """
    plan = _plan(text, grammar)
    ids = {_task(plan, str(name)).id for name in names}
    parents = [grammar.parent_of(name) for name in ids]
    while parents:
        above = parents.pop()
        parts = (
            [each for each in plan.tasks if grammar.parent_of(each.id) == above]
            if above in plan.by_id
            else []
        )
        if parts and all(each.done or each.optional or each.id in ids for each in parts) and above not in ids:
            ids.add(above)
            parents.append(grammar.parent_of(above))
    chosen = (task for task in plan.tasks if task.id in ids and not task.done)
    return _with_mark(text, plan, chosen, grammar.written[MarkStatus.DONE])


def check_stage(text: str, stage: str, grammar: ChecklistGrammar) -> str:
    """The text with all tasks of a stage done. Raises ValueError when there is no such stage."""
    plan = _plan(text, grammar)
    found = next((each for each in plan.stages if each.id == stage), None)
    if found is None:
        raise ValueError(
            f"the list has no stage {stage}; it has {', '.join(each.id for each in plan.stages)}"
        )
    chosen = (task for task in found.tasks if not task.done and not task.optional)
    return _with_mark(text, plan, chosen, grammar.written[MarkStatus.DONE])


def set_mark(text: str, name: str, mark: str, grammar: ChecklistGrammar) -> str:
    """The text with another mark, with or without brackets, in the boxes of a task.

    Raises ValueError for a task that the list does not have, and for an unknown mark.
    """
    plan = _plan(text, grammar)
    task = _task(plan, name)
    character = mark[1:-1] if len(mark) == 3 and (mark[0], mark[-1]) == ("[", "]") else mark
    if grammar.status_of(character.strip().lower()) is MarkStatus.UNKNOWN:
        known = ", ".join(f"[{each}]" for each in grammar.written.values())
        raise ValueError(f"`{mark}` is none of {known}")
    return _with_mark(text, plan, (each for each in plan.tasks if each.id == task.id), character)


def _plan(text: str, grammar: ChecklistGrammar) -> Plan:
    plan = read_plan(text, grammar)
    if plan is None:
        raise ValueError("it holds no task")
    return plan


def _task(plan: Plan, name: str) -> Task:
    task = plan.by_id.get(name) or plan.by_id.get(plan.names.get(name.lower(), ""))
    if task is None:
        has = ", ".join(list(plan.by_id)[:_MOST_NAMED])
        raise ValueError(f"the list has no task {name}; it has {has}")
    return task


def _with_mark(text: str, plan: Plan, tasks: Iterable[Task], character: str) -> str:
    """The text with a mark in the boxes of tasks; a character in place of a box gives way to another one."""
    lines = split_lines(text)
    replacements = []
    for task in tasks:
        span = plan.span(task, task.mark)
        is_box = lines[span.line][span.column : span.column + 1] == "["
        symbol = "☑" if COMMON_MARKS.get(character.lower()) is MarkStatus.DONE else "☐"
        replacements.append(Replacement(span, f"[{character}]" if is_box else symbol))
    return apply_edits(text, replacements)
