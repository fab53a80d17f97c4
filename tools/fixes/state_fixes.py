"""Mends of a run's own state file: the phase and the status that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...orchestration.definition.model import Workflow
from ...orchestration.expressions.context import Expression
from ...orchestration.findings import Edit
from ...orchestration.formats.json_edits import set_values
from ...orchestration.formats.json_text import locate_json, read_json
from ...orchestration.suggestions import nearest
from .fix import Ground, Mend, Mender, changed

_WORDS = re.compile(r"\bstatus (?:is .*, it )?must be (\w+(?:, \w+)* or \w+)")
_TOO_EARLY = re.compile(r"^the (?:session|state) says complete, but ")


def _phase(ground: Ground) -> Iterator[Mend]:
    """The phases that a recorded one may be: the nearest, else those of the workflow in their order."""
    workflow, evaluation = ground.workflow, ground.evaluation
    if workflow is None or evaluation is None:
        return
    raw = evaluation.raw_phase or ""
    close = nearest(raw, [*workflow.phases, *workflow.aliases])
    for name in dict.fromkeys([*close, *workflow.phases]):
        edit = _with_phase(ground, workflow, name)
        if edit:
            yield Mend(f"Set the phase to {name}", (edit,), preferred=name in close[:1])


def _roll_back(ground: Ground) -> Iterator[Mend]:
    """Where no command has a phase done again, the state file says which it is."""
    workflow = ground.workflow
    if workflow is None or "redo" in workflow.effects:
        return
    for fix in ground.finding.fixes:
        edit = _with_phase(ground, workflow, fix.command[-1]) if fix.command[:1] == ("redo",) else None
        if edit:
            yield Mend(f"{fix.title[:1].upper()}{fix.title[1:]}: set the phase", (edit,))


def _with_phase(ground: Ground, workflow: Workflow, name: str) -> Edit | None:
    """The edit of the state file that names a phase; None where no single value of it does."""
    path = phase_path(workflow)
    if path is None or not isinstance(read_json(ground.text).data, dict):
        return None
    if locate_json(ground.text, path) is None:
        return None
    return changed(ground, set_values(ground.text, [(path, name)]))


def phase_path(workflow: Workflow) -> tuple[str, ...] | None:
    """The path of the value in the state file that names the phase; None where it is inferred."""
    if not isinstance(workflow.phase, Expression) or len(workflow.phase.reads) != 1:
        return None
    group, *path = workflow.phase.reads[0].path
    return tuple(path) if group == "state" and path else None


def _inconsistent(ground: Ground) -> Iterator[Mend]:
    yield from _status(ground)
    yield from _roll_back(ground)


def _status(ground: Ground) -> Iterator[Mend]:
    """A status that is no known word, or says complete too early: the words that it may be.

    One that says complete claims the end and shows nothing, so it is not offered unless it was meant.
    """
    workflow = ground.workflow
    data = read_json(ground.text).data
    if workflow is None or workflow.state is None or not isinstance(data, dict):
        return
    usual = workflow.state.defaults.get("status")
    said = _WORDS.search(ground.finding.message)
    words = re.findall(r"\w+", said[1].replace(" or ", ", ")) if said else []
    close = nearest(str(data.get("status", "")), words)
    further = [word for word in words if word != "complete"]
    if _TOO_EARLY.match(ground.finding.message):
        close, further = [], [usual] if isinstance(usual, str) else []
    for word in dict.fromkeys([*close, *further]):
        text = set_values(ground.text, [(("status",), word)])
        best = (close or [usual])[0]
        yield Mend(f"Set the status to {word}", (changed(ground, text),), preferred=word == best)


MENDS: Mapping[str, Mender] = {
    "inconsistent-state": _inconsistent,
    "session-inconsistent": _status,
    "unknown-phase": _phase,
}
