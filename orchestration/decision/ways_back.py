"""Fixes that have a phase done again: by the command where one is accepted, else by what files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..definition.model import Workflow
from ..findings import Fix


def ways_back(
    workflow: Workflow, run: str, place: str, phases: Mapping[str, str], owed: Sequence[str] = ()
) -> tuple[Fix, ...]:
    """A fix for each phase, by its title. Where no command does it: make the files that are `owed`, or have
    the file at `place`, which tells the phase, name that one."""
    files = [*dict.fromkeys(filter(None, owed))]
    made = [Fix(f"make {', '.join(files)}")] if files and not all(map(workflow.has_redo, phases)) else []
    named = (
        Fix(title, ("redo", run, phase))
        if workflow.has_redo(phase)
        else Fix(f"{title}: {place} has to say that the run is in {phase}")
        for phase, title in phases.items()
    )
    return (*made, *named)
