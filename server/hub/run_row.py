"""The row of a run in the live view, as the server sends it to who looks."""

from __future__ import annotations

from typing import NamedTuple


class RunRow(NamedTuple):
    """One run as it is shown; `questions` has (id, text) of those a person is asked."""

    root: str
    run: str
    title: str
    workflow: str
    status: str
    phase: str | None
    done: int | None
    total: int | None
    next: str
    reason: str
    questions: tuple[tuple[str, str], ...]
    failed_gates: tuple[str, ...]
    errors: int
    revision: str
