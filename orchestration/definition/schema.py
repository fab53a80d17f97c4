"""The shape of workflow definitions: every key and what it holds.

One table (`STRUCTS`), read three ways: to check a definition and read it (`reader.py`), to suggest the
key that was meant, and to make the JSON Schema that editors complete from.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from .artifact_kinds import KINDS_AND_DIALECTS


class Shape(NamedTuple):
    """What may stand under a key.

    kind: text, id, bool, word (one of `words`), typed (any data), cel (an expression of the type in `words`),
    template, list (of `of`), some (one `of` or a list of them), map (names to `of`), struct (`name`), or
    either (`of` where a scalar, `other` elsewhere).
    """

    kind: str
    of: Shape | None = None
    words: Collection[str] = ()
    name: str = ""
    other: Shape | None = None


class Key(NamedTuple):
    shape: Shape
    about: str
    required: bool = False


TEXT, ID, BOOL, TYPED, TEMPLATE = (Shape(kind) for kind in ("text", "id", "bool", "typed", "template"))
TEXTS = Shape("some", TEXT)


def cel(kind: str = "any") -> Shape:
    return Shape("cel", words=(kind,))


def word(*words: str) -> Shape:
    return Shape("word", words=words)


def list_of(shape: Shape) -> Shape:
    return Shape("list", shape)


def map_of(shape: Shape) -> Shape:
    return Shape("map", shape)


def struct(name: str) -> Shape:
    return Shape("struct", name=name)


RULES = list_of(struct("rule"))
WRITES = map_of(cel())

STRUCTS: dict[str, dict[str, Key]] = {
    "definition": {
        "workflow": Key(ID, "the name; a user's file is .phasekeeper/workflows/NAME.yaml", True),
        "title": Key(TEXT, "what people see"),
        "source": Key(TEXT, "where the rules come from"),
        "extend": Key(ID, "start from that definition: maps merge, lists are replaced, null removes a key"),
        "runs": Key(struct("runs"), "which folders are runs", True),
        "state": Key(struct("state"), "the run's own state file"),
        "phase": Key(
            Shape("either", cel("string"), other=list_of(struct("phase rule"))),
            "which phase the run is in",
            True,
        ),
        "aliases": Key(map_of(TEXT), "other spellings of phases; one * is allowed on both sides"),
        "parameters": Key(map_of(struct("parameter")), "numbers and words that a root may override"),
        "artifacts": Key(map_of(struct("artifact")), "files of the run"),
        "reports": Key(struct("reports"), "Markdown files that count as reports"),
        "report_stage": Key(cel("string"), "the stage of a report that names neither task nor stage"),
        "skipped_stages": Key(cel("list"), "ids of the stages that a person let be skipped"),
        "values": Key(map_of(cel()), "named facts; they may use each other in any order"),
        "limits": Key(
            map_of(struct("limit")), "counters with a maximum; rules say what happens when one is reached"
        ),
        "before": Key(RULES, "rules tried before the phase's own, in every phase"),
        "phases": Key(map_of(struct("phase")), "the phases, in order", True),
        "otherwise": Key(RULES, "rules tried after the phase's own"),
        "actions": Key(map_of(struct("action")), "things done inside a phase that are no phases"),
        "action_aliases": Key(map_of(TEXT), "other spellings of actions"),
        "questions": Key(map_of(struct("question")), "what only a person can answer"),
        "gates": Key(map_of(struct("gate")), "criteria that must hold after a phase"),
        "progress": Key(struct("progress"), "how much is done; without it the tasks of the plan"),
        "notes": Key(map_of(struct("note")), "text shown with the next step"),
        "new": Key(struct("new"), "how a run begins: its folder and first files"),
        "effects": Key(
            map_of(Shape("some", WRITES)), "what an event writes: EVENT or PHASE.EVENT to path to value"
        ),
    },
    "runs": {
        "at": Key(list_of(TEXT), "globs of folders, relative to the root", True),
        "marker": Key(struct("marker"), "the content that makes such a folder a run", True),
    },
    "marker": {
        "any": Key(list_of(struct("marker test")), "one of these is enough"),
        "file": Key(TEXT, "a file of the run that must exist"),
        "has": Key(list_of(TEXT), "dotted keys that its JSON must have"),
        "text": Key(TEXT, "text that it must hold"),
        "table": Key(list_of(TEXT), "columns that one of its Markdown tables must have"),
        "where": Key(cel("bool"), "a guard over `state`"),
        "journal": Key(ID, "the journal's start record names this workflow"),
    },
    "state": {
        "file": Key(TEXT, "path from the run", True),
        "kind": Key(word("json"), "its format"),
        "defaults": Key(TYPED, "laid under the data"),
        "dotted_keys": Key(word("fold"), "keys with dots are read as paths"),
        "include": Key(map_of(struct("include")), "lists whose text elements are ids of other files"),
    },
    "include": {"at": Key(TEXT, "path of the file; {id} is the element", True)},
    "phase rule": {
        "when": Key(cel("bool"), "the guard"),
        "is": Key(TEMPLATE, "the phase", True),
        "because": Key(TEMPLATE, "the reason"),
    },
    "parameter": {
        "default": Key(TYPED, "used where nothing else is said; its type is the parameter's", True),
        "min": Key(TYPED, "the least allowed"),
        "max": Key(TYPED, "the most allowed"),
        "one_of": Key(TYPED, "the words allowed"),
        "from": Key(cel(), "where a file of the project sets it"),
    },
    "artifact": {
        "paths": Key(list_of(TEXT), "the first that exists counts; /x is from the root"),
        "listed": Key(cel("strings"), "instead of paths: files named by data"),
        "kind": Key(Shape("word", words=KINDS_AND_DIALECTS), "how it is read", True),
        "require": Key(
            map_of(Shape("either", TEXT, other=list_of(TEXT))), "paths that must be there, with their types"
        ),
        "schema": Key(TEXT, "path of a JSON Schema, from the definition's root"),
        "defaults": Key(TYPED, "laid under the data"),
        "optional": Key(BOOL, "missing is no finding"),
        "of": Key(list_of(ID), "the artifacts it judges; it is stale once they change"),
        "tasks": Key(TEXT, "plans only: the glob of task files"),
        "example": Key(TEXT, "what a small valid one looks like"),
    },
    "reports": {
        "files": Key(list_of(TEXT), "globs from the run", True),
        "read": Key(map_of(struct("report form")), "phase to what its report looks like", True),
    },
    "report form": {
        "heading": Key(
            Shape("either", TEXT, other=map_of(TEXT)),
            "how its heading begins; a map gives the outcome it means",
        ),
        "outcome": Key(TEXTS, "fields that hold the verdict"),
        "stage": Key(TEXT, "the field that names the stage"),
        "task": Key(TEXT, "the field that names the task"),
        "tasks": Key(TEXT, "the heading before the list of [tasks]"),
        "where": Key(map_of(TEXT), "fields that must have this word"),
        "words": Key(map_of(map_of(TEXT)), "field to word to the outcome it means"),
    },
    "limit": {
        "count": Key(cel("int"), "how often so far", True),
        "max": Key(cel("int"), "how often at most", True),
    },
    "phase": {
        "title": Key(TEXT, "what people see"),
        "agent": Key(TEXTS, "who does it; `person` waits for one"),
        "produces": Key(list_of(ID), "artifacts that must be valid when the phase is over"),
        "outcomes": Key(list_of(TEXT), "what a report of it may say; ok and error without it"),
        "data": Key(cel("map"), "an example of what a report of it carries, made of how the run stands"),
        "rules": Key(RULES, "the first whose guard holds decides"),
        "tasks": Key(cel("list"), "tasks that can be handed out"),
        "checks": Key(list_of(TEXT), "what its agent validates"),
        "terminal": Key(word("complete", "failed", "exited", "blocked"), "the run is over"),
        "attested": Key(cel("bool"), "other proof that a terminal phase was reached"),
        "detour": Key(BOOL, "no part of the ordinary order"),
        "leads_to": Key(list_of(ID), "where new files lead from it without a rule; shown in graphs"),
        "follow_up": Key(BOOL, "may be reported once the run is complete"),
        "skip": Key(cel("bool"), "`to: next` passes over it"),
        "skip_because": Key(TEMPLATE, "why it is passed over"),
    },
    "rule": {
        "when": Key(cel("bool"), "the guard; without it the rule always fits"),
        "because": Key(TEMPLATE, "the reason shown"),
        "to": Key(TEMPLATE, "go to that phase; `next` is the next in order"),
        "act": Key(TEMPLATE, "do that action"),
        "wait": Key(word("person", "job"), "wait for it"),
        "stop": Key(word("complete", "failed", "exited", "blocked", "invalid"), "the run is over"),
        "ask": Key(ID, "open that question"),
        "warn": Key(TEXT, "give a finding of that code"),
        "set": Key(WRITES, "written when the rule wins after a report"),
    },
    "action": {
        "title": Key(TEXT, "what people see"),
        "when": Key(cel("bool"), "its precondition"),
        "person": Key(TEXT, "what a person confirms in it"),
        "agent": Key(TEXTS, "who does it"),
        "data": Key(cel("map"), "an example of what a report of it carries, made of how the run stands"),
    },
    "question": {
        "kind": Key(word("escalation", "approval"), "what it is; escalation without it"),
        "ask": Key(TEMPLATE, "the question", True),
        "options": Key(
            map_of(TEXT), "id to text (what it is: what that brings); without any it is answered in words"
        ),
        "scope": Key(cel("string"), "an answer holds for this only"),
        "about": Key(list_of(ID), "an answer holds while these stay as they are"),
        "tasks": Key(cel("list"), "the tasks concerned"),
        "history": Key(cel("list"), "the records that led here"),
    },
    "gate": {
        "title": Key(TEXT, "what people see"),
        "after": Key(ID, "the phase it guards", True),
        "when": Key(cel("bool"), "only in this case there is such a gate"),
        "criteria": Key(list_of(struct("criterion")), "all must hold", True),
        "judged": Key(cel("bool"), "until this holds an unmet criterion leaves the gate open"),
        "allowed": Key(list_of(TEMPLATE), "phases and actions allowed now"),
        "forbidden": Key(map_of(TEMPLATE), "phase or action to the reason; * is everything else"),
    },
    "criterion": {
        "text": Key(TEXT, "what must hold, in words", True),
        "when": Key(cel("bool"), "the guard", True),
        "artifact": Key(ID, "the file it is about"),
    },
    "progress": {
        "done": Key(cel("int"), "how much is done", True),
        "total": Key(cel("int"), "of how much", True),
    },
    "new": {
        "folder": Key(TEXT, "where it lies; {name} is the name somebody gives it", True),
        "files": Key(map_of(TEXT), "path in it to text; {name}, {title} and {now} are filled in"),
    },
    "note": {
        "title": Key(TEXT, "its heading"),
        "when": Key(cel("bool"), "when it is shown"),
        "text": Key(TEMPLATE, "what it says", True),
    },
}
STRUCTS["marker test"] = {key: value for key, value in STRUCTS["marker"].items() if key != "any"}


# ---- JSON Schema ------------------------------------------------------------------------------


def json_schema() -> dict:
    """The JSON Schema (2020-12) of definition files, for editors; the reader above is stricter."""
    definitions = {name.replace(" ", "-"): _struct_schema(keys) for name, keys in STRUCTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Phasekeeper workflow definition",
        "$ref": "#/$defs/definition",
        "$defs": definitions,
    }


def _struct_schema(keys: Mapping[str, Key]) -> dict:
    properties = {name: {"description": key.about, **_shape_schema(key.shape)} for name, key in keys.items()}
    required = [name for name, key in keys.items() if key.required]
    schema: dict = {
        "type": ["object", "null"] if not required else "object",
        "properties": properties,
        "additionalProperties": False,
    }
    return schema | ({"required": required} if required else {})


_SCALAR = {"type": ["string", "number", "boolean"]}


def _shape_schema(shape: Shape) -> dict:
    match shape.kind:
        case "struct":
            return {"$ref": f"#/$defs/{shape.name.replace(' ', '-')}"}
        case "list" if shape.of:
            return {"type": "array", "items": _shape_schema(shape.of)}
        case "some" if shape.of:
            return {"anyOf": [_shape_schema(shape.of), {"type": "array", "items": _shape_schema(shape.of)}]}
        case "map" if shape.of:
            return {"type": "object", "additionalProperties": _shape_schema(shape.of)}
        case "either" if shape.of and shape.other:
            choices = [_shape_schema(shape.of), _shape_schema(shape.other)]
            return {"anyOf": [*choices, {"type": "array", "items": choices[0]}]}
        case "word":
            return {"enum": list(shape.words)}
        case "bool":
            return {"type": "boolean"}
        case "typed":
            return {}
    return dict(_SCALAR)
