"""Puts a grammar together with the shared reader and writer into a dialect of plans."""

from __future__ import annotations

import re

from ..model import Dialect, PlanEdit
from .edits import check_stage, set_mark, tick_tasks
from .grammar import ChecklistGrammar
from .reader import read_plan


def checklist_dialect(about: str, grammar: ChecklistGrammar) -> Dialect:
    """The dialect of a convention whose work is a checklist."""
    marks = {mark: status for status, mark in grammar.written.items()}
    return Dialect(
        about=about,
        lacks="line that looks like a task",
        read=lambda text: read_plan(text, grammar),
        read_again=lambda text, before: read_plan(text, grammar, before),
        marks=marks,
        mark_place=re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++\[.?$"),
        edits={
            PlanEdit.TICK_TASKS: lambda text, names: tick_tasks(text, names, grammar),
            PlanEdit.CHECK_TASKS: lambda text, stage: check_stage(text, stage, grammar),
            PlanEdit.SET_STATUS: lambda text, name, mark: set_mark(text, name, mark, grammar),
        },
    )
