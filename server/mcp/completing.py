"""Completion of the ids of runs, tasks and gates, and of roots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import mcp_types as types

from ...tools.assistant.access import RootRuns, ToolRefused, select_run

MOST = 100
"""Values of one answer (protocol)."""


def completions(place: RootRuns, name: str, value: str, known: Mapping[str, str]) -> types.Completion:
    """Values for an argument of a prompt or an address that begin with, or else hold, what was typed."""
    found = list(_names(place, name, known))
    typed = value.lower()
    first = [each for each in found if each.lower().startswith(typed)]
    then = [each for each in found if typed in each.lower() and not each.lower().startswith(typed)]
    fitting = first + then
    return types.Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)


def _names(place: RootRuns, name: str, known: Mapping[str, str]) -> Iterable[str]:
    if name == "root":
        return (place.root,)
    if name == "run":
        return (run or "." for run in place.runs)
    try:
        run = select_run(place, known.get("run", ""))
    except ToolRefused:
        return ()
    if name == "task" and run.plan:
        return run.plan.plan.by_id
    return (gate.id for gate in run.gates) if name == "gate" else ()
