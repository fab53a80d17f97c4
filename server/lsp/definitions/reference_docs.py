"""Meanings of the words of a workflow definition, in one sentence each, for the lists of an editor.

Functions, methods and macros are described by their own docstrings and tables (`expressions`); here are the
words of data. A test holds these tables to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....orchestration.definition.model import STRUCTS
from ....orchestration.definition.shapes import Shape
from ....orchestration.journal.journal import FIELDS

NAMES: Mapping[str, str] = {
    "state": "the data of the run's state file; an empty map without one",
    "checks": "what the root's checks say now, by name: checks.NAME.result, .total, .failed, .coverage.lines",
    "phase": "the current phase; not in what tells the phase",
    "report": "the newest record, if it is a report of the current phase; else an empty one",
    "next_step": "the suggested phase or action; in notes only",
    "step": "the phase or action at hand; in effects and set only",
    "now": "the time; in effects and set only",
}
"""Names that are there in every workflow."""

FACTS: Mapping[str, tuple[str, str]] = {
    "valid": ("artifacts", "whether an artifact is there and is as it has to be"),
    "exists": ("artifacts", "whether an artifact is neither missing nor empty"),
    "answers": (
        "questions",
        "what a person chose: an option, 'none', or 'stale' once what it was about changed",
    ),
    "parameters": ("parameters", "a parameter, as this root sets it"),
    "limits": ("limits", "a limit's count, its max, and whether it is reached"),
}
"""Facts by name: the group of the definition that the names are of, and what a fact says."""

LIMIT: Mapping[str, str] = {
    **{name: key.about for name, key in STRUCTS["limit"].items()},
    "reached": "whether the count is not less than the maximum",
}
PLAN: Mapping[str, str] = {
    "stages": "the plan's stages",
    "files": "the files that its tasks name",
    "done": "how many tasks are done",
    "total": "how many tasks there are",
    "status": "the plan's own status word",
}

RECORD: Mapping[str, str] = {name: about for name, (_, about) in FIELDS.items()}
KINDS: Mapping[str, str] = {
    "start": "the run, or a step of it, began",
    "report": "what came of a step",
    "transition": "a phase was passed over, or is done again",
    "question": "an agent asks a person",
    "answer": "a person chose an option",
    "override": "a person moved the run on against its gates",
    "claim": "somebody took a task",
    "release": "a task was given back",
    "violation": "something was done that was not allowed",
    "refused": "a report that was refused, since nothing had changed; guards do not see it",
    "relink": "a branch of the journal counts again",
    "verified": "what a check had measured when a step was reported",
}
EVENTS: Mapping[str, str] = {
    "always": "with every event",
    "start": "a step is begun",
    "redo": "a phase is done again",
    "skip": "a phase is passed over",
    "override": "a person moved the run on",
    "stop": "the run is complete",
    "ok": "a step is reported as done",
    "error": "a step is reported as failed",
    "warning": "a step is reported with a warning",
}
"""Events that have effects; every outcome of a report is one too, and PHASE.EVENT, answer.QUESTION.OPTION."""

TYPES: Mapping[str, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "number": "any number",
    "string": "a text",
    "list": "a list",
    "map": "an object",
    "any": "anything but null",
}
"""Types that `require` may ask of a value."""

_HOLDS: Mapping[str, str] = {
    "text": "a text",
    "id": "a name",
    "bool": "true or false",
    "typed": "data",
    "template": "a text with {expressions} in it",
    "list": "a list",
    "map": "a map by names",
    "struct": "a map",
}


def holds(shape: Shape) -> str:
    """A shape in words: what may stand under a key."""
    if shape.kind == "cel":
        return "a guard: it holds if it is exactly true" if "bool" in shape.words else "an expression"
    if shape.kind == "word":
        return f"one of {', '.join(shape.words)}"
    if shape.kind == "some" and shape.of:
        return f"{holds(shape.of)}, or a list of such"
    if shape.kind == "either" and shape.of and shape.other:
        return f"{holds(shape.of)}, or {holds(shape.other)}"
    if shape.kind in ("list", "map") and shape.of:
        each = f"a {shape.of.name}" if shape.of.kind == "struct" else holds(shape.of)
        return f"{_HOLDS[shape.kind]}, each {each}"
    return _HOLDS[shape.kind]
