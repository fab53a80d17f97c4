"""The JSON Schema of an evaluation, made from the dataclasses that `values.as_json` renders."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..findings import Evidence, Finding, Severity
from ..journal.journal import Claim
from ..plans.schedule import StageState, TaskBoard, TaskState
from .values import CriterionState, Evaluation, json_fields

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
# Lines and columns are one-based in JSON; a finding or evidence without a place has neither.
_PLACE: Schema = {"type": ["integer", "null"], "minimum": 1}


def evaluation_schema() -> Schema:
    """The schema (JSON Schema 2020-12) of the JSON of one evaluation, whole."""
    definitions = {_name(kind): _object(kind) for kind in _KINDS}
    path = {"type": ["string", "null"]}
    definitions["evidence"] = _closed(
        {"path": path, "line": _PLACE, "column": _PLACE, "expression": _TEXT, "value": {}}
    )
    definitions["finding"] = _finding()
    definitions["claim"] = _closed({name: _of(hint) for name, hint in get_type_hints(Claim).items()})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Phasekeeper evaluation of one run",
        "$ref": "#/$defs/evaluation",
        "$defs": dict(sorted(definitions.items())),
    }


def _collect(kind: type, found: dict[type, None]) -> dict[type, None]:
    """The dataclasses that a dataclass is made of, itself first; those with a JSON of their own left out."""
    if kind not in found and hasattr(kind, "__dataclass_fields__") and kind not in _OWN:
        found[kind] = None
        for hint in get_type_hints(kind).values():
            for part in (hint, *get_args(hint)):
                if isinstance(part, type):
                    _collect(part, found)
    return found


_OWN = (Finding, Evidence, TaskBoard)
_KINDS = (*_collect(Evaluation, {}), StageState, TaskState)
_NAMES = {CriterionState: "criterion"}


def _name(kind: type) -> str:
    plain = _NAMES.get(kind, kind.__name__.removesuffix("State").removesuffix("Text"))
    return plain[0].lower() + plain[1:]


def _object(kind: type) -> Schema:
    hints = get_type_hints(kind)
    return _closed({key: _field(kind, name, hints) for name, key in json_fields(kind).items()})


def _field(kind: type, name: str, hints: dict[str, Any]) -> Schema:
    if name == "line":
        return {"type": "integer", "minimum": 1}
    computed = getattr(kind, name, None)
    return _of(get_type_hints(computed.fget)["return"] if isinstance(computed, property) else hints[name])


def _closed(properties: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _of(hint: Any) -> Schema:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _list(_of(parts[0]))
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(part) for part in parts]}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object"}
    if hint is TaskBoard:
        # A board is rendered as its path and stages alone.
        return _closed({"path": _TEXT, "stages": _list(_reference(StageState))})
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [word.value for word in hint]}
    plain: dict[Any, Schema] = {
        str: _TEXT,
        int: _WHOLE,
        bool: {"type": "boolean"},
        type(None): {"type": "null"},
    }
    return plain.get(hint) or _reference(hint)


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _reference(kind: type) -> Schema:
    return {"$ref": f"#/$defs/{_name(kind)}"}


def _finding() -> Schema:
    fix = _closed({"title": _TEXT, "command": _list(_TEXT)})
    return _closed(
        {
            "code": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
            "severity": _of(Severity),
            "path": _TEXT,
            "line": _PLACE,
            "column": _PLACE,
            "endLine": _PLACE,
            "endColumn": _PLACE,
            "message": _TEXT,
            "fixes": _list(fix),
            "overridden": {"type": "boolean"},
        }
    )
