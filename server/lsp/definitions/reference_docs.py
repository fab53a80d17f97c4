"""What the words of a workflow definition mean, in one sentence each, as an editor shows it beside them.

The words themselves are those of the engine; a test holds these tables to them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....orchestration.definition.schema import Shape

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "records": ("records({..})", "the records that fit, oldest first"),
    "records_since": ("records_since({mark}, {..})", "the records that fit, behind the newest of the mark"),
    "newest": ("newest({..})", "the newest record that fits, or an empty one; LIST.newest() is the last"),
    "count": ("count({..})", "how many records fit"),
    "count_since": ("count_since({mark}, {..})", "how many records fit, behind the newest of the mark"),
    "verdicts": ("verdicts({..}, [outcomes])", "the stages whose newest such record has one of the outcomes"),
    "tasks": ("tasks({..})", "the plan's tasks that fit"),
    "unreported": ("unreported({tasks}, {records})", "the tasks that no such record names"),
    "unreported_since": (
        "unreported_since({mark}, {tasks}, {records})",
        "the tasks that no such record names, behind the newest of the mark",
    ),
    "stage_ids": ("stage_ids({..})", "the ids of the plan's stages that fit"),
    "open_stage": (
        "open_stage([reopened], [skipped])",
        "the first stage with an open task, or in the first list, unless it is in the second; {} without one",
    ),
    "where": ("LIST.where({..})", "the elements that fit a pattern, or equal a text"),
    "after": ("LIST.after({..})", "the elements behind the last one that fits"),
    "keep": ("LIST.keep(n)", "the last n elements"),
    "by": ("LIST.by('a.b')", "the elements in the order of what stands at a path; '' orders plain values"),
    "reversed": ("LIST.reversed()", "the elements the other way round"),
    "joined": ("LIST.joined(', ')", "one text of the elements"),
    "minus": ("LIST.minus(OTHER)", "the elements that are not in the other list"),
    "circles": ("LIST.circles('id', 'needs')", "elements that need each other in a circle, as texts"),
}  # fmt: skip
"""The engine's functions and methods: how each is called, and what it gives."""

METHODS = ("where", "after", "newest", "keep", "by", "reversed", "joined", "minus", "circles")

NAMES: Mapping[str, str] = {
    "state": "the data of the run's state file; an empty map without one",
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
    "count": "how often so far",
    "max": "how often at most",
    "reached": "whether the count is not less than the maximum",
}
PLAN: Mapping[str, str] = {
    "stages": "the plan's stages",
    "files": "the files that its tasks name",
    "done": "how many tasks are done",
    "total": "how many tasks there are",
    "status": "the plan's own status word",
}

LANGUAGE: Mapping[str, str] = {
    "has": "has(a.b): whether the last part is there; a.?b.hasValue() where a may be missing too",
    "size": "size(x): the length of a text, a list or a map",
    "exists": "LIST.exists(x, guard): whether it holds for one element",
    "all": "LIST.all(x, guard): whether it holds for every element",
    "filter": "LIST.filter(x, guard): the elements for which it holds",
    "map": "LIST.map(x, value): a value for each element",
    "string": "string(x): as text",
    "int": "int(x): as a whole number",
    "type": "type(x): compare it with list, map, string, int, bool",
    "orValue": "a.?b.orValue(c): what stands there, else another value",
    "hasValue": "a.?b.hasValue(): whether anything stands there",
    "true": "the one value with which a guard holds",
    "false": "",
}
"""What CEL itself gives, as far as guards mostly need it."""
LANGUAGE_METHODS = ("exists", "all", "filter", "map", "size", "orValue", "hasValue")

RECORD: Mapping[str, str] = {
    "kind": "what was recorded",
    "seq": "its number",
    "at": "its time",
    "prev": "the digest of the line before",
    "workflow": "in a start: the workflow",
    "definition": "in a start: the digest of the workflow's definition",
    "phase": "the phase or action it is of",
    "stage": "the plan's stage it is of",
    "task": "the task it names",
    "tasks": "all tasks it names",
    "outcome": "what a report says came of the step",
    "message": "what a report says in a line",
    "manual_criteria": "criteria that a report leaves to a person",
    "next": "where a report asks to go, or an override went",
    "iteration": "its round; 0 where none is named",
    "question": "the question that was answered",
    "scope": "what an answer holds for",
    "option": "what was chosen",
    "about": "the substance that an answer holds for",
    "gates": "the gates that an override waives",
    "phases": "the phases that an override lets go undelivered",
    "why": "the reason",
    "actor": "who",
    "channel": "by which way",
    "mac": "the proof that a person decided",
    "path": "the report's file",
    "files": "files with their digests as they were then",
}
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
    "relink": "a branch of the journal counts again",
}
TASK: Mapping[str, str] = {
    "id": "its id",
    "number": "the short number in its id",
    "title": "what it is",
    "type": "the kind of work",
    "stage": "its stage's id",
    "status": "todo, in_progress, done, blocked, attention or unknown",
    "done": "whether it is done",
    "file": "its task file",
    "depends_on": "the tasks that it waits for",
    "parallel_with": "the tasks beside which it may be done",
    "files": "the files that it changes",
    "requires_ux_dx_review": "whether a review of its use is asked for",
}
STAGE: Mapping[str, str] = {
    "id": "its number",
    "title": "its heading",
    "line": "its line in the plan; the first is 0",
    "done": "how many of its tasks are done",
    "total": "how many tasks it has",
    "complete": "whether it has tasks and all are done",
}
STATUSES = ("todo", "in_progress", "done", "blocked", "attention", "unknown")

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
"""What `require` may ask of a value."""

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
    """What may stand under a key, in words."""
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
