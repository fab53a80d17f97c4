"""Moves on a JSON state file, and the records of a run, for models of workflows that keep a state."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.verdicts.runs import Run

JOURNAL = ".phasekeeper/journal.jsonl"


def state_of(run: Run, file: str, *, head: bool = False) -> dict[str, Any]:
    """The content of the state file, or of that in the commit HEAD; {} where it is no object."""
    try:
        state = json.loads((run.head if head else run.files).get(f"{run.at}/{file}", ""))
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}


def setting(file: str, **values: Any) -> Callable[[Run], object]:
    """An edit that sets keys of the state; a value that is a function makes the new from the old one."""

    def edit(run: Run) -> None:
        state = state_of(run, file)
        made = {key: value(state.get(key)) if callable(value) else value for key, value in values.items()}
        run.write(file, {**state, **made})

    return edit


def records_of(run: Run) -> list[dict[str, Any]]:
    """The journal's records."""
    return [json.loads(line) for line in run.files.get(f"{run.at}/{JOURNAL}", "").splitlines()]
