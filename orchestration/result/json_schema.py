"""The JSON Schema of an evaluation, made from the types that `values.as_json` renders."""

from __future__ import annotations

import types
from enum import StrEnum
from functools import cached_property
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..findings import Fix
from ..plans.schedule import TaskBoard
from .values import PLACE_KEYS, CriterionState, Evaluation, json_fields

Schema = dict[str, Any]
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    object: {},
}
# Fields that are more than their type says. Lines and columns are one-based in JSON.
_FIELDS: dict[str, Schema] = {
    "line": {"type": "integer", "minimum": 1},
    "code": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
}
_PLACE: Schema = {"type": ["integer", "null"], "minimum": 1}
_INLINE = (TaskBoard, Fix)


def evaluation_schema() -> Schema:
    """The schema (JSON Schema 2020-12) of the JSON of one evaluation, whole."""
    definitions: dict[str, Schema] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Phasekeeper evaluation of one run",
        **_of(Evaluation, definitions),
        "$defs": dict(sorted(definitions.items())),
    }


def _of(hint: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of a type; of one with fields a reference to its entry in `definitions`, made if need be."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": _of(parts[0], definitions)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(part, definitions) for part in parts]}
    if origin is not None:
        return {"type": "object"}
    if issubclass(hint, StrEnum):
        return {"enum": [word.value for word in hint]}
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint in _INLINE:
        return _object(hint, definitions)
    name = "criterion" if hint is CriterionState else hint.__name__.removesuffix("State").removesuffix("Text")
    name = name[0].lower() + name[1:]
    if name not in definitions:
        definitions[name] = {}
        definitions[name] |= _object(hint, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(kind: type, definitions: dict[str, Schema]) -> Schema:
    """An object with exactly the keys that the JSON of a type has."""
    hints, properties = get_type_hints(kind), Schema()
    for name, key in json_fields(kind).items():
        computed = getattr(kind, name, None)
        if isinstance(computed, (property, cached_property)):
            getter = computed.fget if isinstance(computed, property) else computed.func
            hints[name] = get_type_hints(getter)["return"]
        if name == "span":
            properties |= dict.fromkeys(PLACE_KEYS[kind], _PLACE)
        else:
            properties[key] = _FIELDS.get(name) or _of(hints[name], definitions)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
