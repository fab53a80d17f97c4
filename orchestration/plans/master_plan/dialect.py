"""The dialect of MASTER_PLAN.md (seed 004), put together for the registry."""

from __future__ import annotations

import re

from ..model import Dialect, PlanEdit
from .edits import (
    append_stage,
    check_tasks,
    complete_plan,
    new_task_files,
    new_tasks,
    set_status,
    sync_summaries,
)
from .reader import read
from .rows import MARKS, TASK_COLUMNS
from .task_file import draft_task, read_task

DIALECT = Dialect(
    about="a plan with stages and tasks",
    lacks="table with Task ID, File and Status",
    read=read,
    read_again=read,
    marks=MARKS,
    mark_place=re.compile(r"[^|]*+\|.*\[.?$"),
    read_task=read_task,
    columns=TASK_COLUMNS,
    edits={
        PlanEdit.CHECK_TASKS: check_tasks,
        PlanEdit.SET_STATUS: set_status,
        PlanEdit.APPEND_STAGE: append_stage,
        PlanEdit.COMPLETE_PLAN: complete_plan,
    },
    new_files={PlanEdit.APPEND_STAGE: new_task_files},
    sync_summaries=sync_summaries,
    new_tasks=new_tasks,
    draft_task=draft_task,
)
