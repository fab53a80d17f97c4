"""The grammar of definitions at work: nodes of a definition read by it, and the JSON Schema made of it.

What the values mean is the business of `compiler.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import Span
from ..formats.yaml_text import Node, typed_value
from ..suggestions import did_you_mean, misspelling
from .model import STRUCTS
from .reader import DefinitionErrors, DefinitionNode, LocatedMap, LocatedText
from .root_config import STRUCTS as CONFIG_STRUCTS
from .shapes import MAPPING, Key, Shape, list_of

_EXPECTED = {
    "word": "a word",
    "cel": "an expression",
    "template": "text",
    "text": "text",
    "id": "a name",
    "list": "a list",
    "map": "a map",
    "some": "text or a list",
}


def read(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> Any:
    """The node as plain values: LocatedText, bool, list, dict; None where something is wrong (and was noted).

    A struct is a LocatedMap.
    """
    inner = shape.of or shape
    match shape.kind:
        case "struct":
            return _struct(node, shape, errors)
        case "either" if node.kind == "scalar":
            return read(node, inner, errors)
        case "either":
            other = shape.other or shape
            lists = node.kind == "list" and other.kind not in ("list", "some")
            return read(node, list_of(inner) if lists else other, errors)
        case "some" if node.kind != "list":
            item = read(node, inner, errors)
            return [] if item is None else [item]
        case "typed":
            value = _data(node)
            if shape == MAPPING and value is not None and not isinstance(value, dict):
                errors.add(node, f"expected a map, found a {node.kind}")
            return value
        case "bool":
            value = typed_value(node.yaml) if node.kind == "scalar" else None
            if not isinstance(value, bool):
                errors.add(node, "expected true or false")
            return value is True
    wanted = {"some": "list"}.get(shape.kind, shape.kind if shape.kind in ("list", "map") else "scalar")
    if node.kind != wanted:
        quote = "; quote it if it is text that begins with { or ["
        hint = quote if shape.kind in ("cel", "template") else ""
        errors.add(node, f"expected {_EXPECTED[shape.kind]}, found a {node.kind}{hint}")
        return {"list": [], "map": {}}.get(wanted)
    if isinstance(node.children, Mapping):
        values = {key: read(child, inner, errors) for key, child in node.children.items()}
        return {_key(node, key): value for key, value in values.items() if value is not None}
    if wanted == "list":
        items = (read(child, inner, errors) for child in node.children)
        return [item for item in items if item is not None]
    return _scalar(LocatedText.of(node), shape, errors)


def _scalar(text: LocatedText, shape: Shape, errors: DefinitionErrors) -> LocatedText | None:
    if shape.kind == "id" and (not text or any(character in " *{}" for character in text)):
        errors.add(text, f"{str(text)!r} is no name: it must not be empty nor hold blanks, '*' or braces")
        return None
    if shape.kind == "word" and text not in shape.words:
        words = list(shape.words)
        said = f"{str(text)!r} is not known here{did_you_mean(text, words)}"
        errors.add(text, said, data=misspelling(text, words))
        return None
    return text


def _data(node: DefinitionNode) -> object:
    if isinstance(node.children, Mapping):
        return {key: _data(child) for key, child in node.children.items()}
    return [_data(child) for child in node.children] if node.kind == "list" else typed_value(node.yaml)


def _key(node: DefinitionNode, key: str) -> LocatedText:
    """A key as a text: its place is the key's own."""
    source, span = node.key(key)
    return LocatedText.of(DefinitionNode(Node("scalar", key, span, {}, "", -1), source))


def _struct(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> LocatedMap | None:
    keys = STRUCTS[shape.name]
    needed = {name: key.about for name, key in keys.items() if key.required}
    if node.is_null and not needed:
        return LocatedMap(node)
    if not isinstance(node.children, Mapping):
        errors.add(node, f"expected a {shape.name} (a map), found a {node.kind}")
        return None
    out = LocatedMap(node)
    for name, child in node.children.items():
        if name not in keys:
            said = f"unknown key {name!r} in a {shape.name}{did_you_mean(name, list(keys))}"
            errors.add_at(node.key(name), said, misspelling(name, list(keys)))
            continue
        before = len(errors.findings)
        out[name] = read(child, keys[name].shape, errors)
        may_be_empty = keys[name].shape.kind == "typed" or child.kind == "scalar"
        empty = not may_be_empty and not child.children and before == len(errors.findings)
        if name in needed and empty:
            errors.add(child, f"{name} must hold at least one")
    span = node.yaml.span
    first = span if span.line == span.end_line else Span(span.line, span.column, span.line, span.column + 1)
    for name, about in needed.items():
        if name not in node.children:
            errors.add(node, f"a {shape.name} needs {name!r}: {about}", first)
    return out


def json_schema() -> dict:
    """The JSON Schema (2020-12) of definition files, for editors; the reader above is stricter."""
    return _schema_of("Phasekeeper workflow definition", "definition", STRUCTS)


def config_schema() -> dict:
    """Likewise the JSON Schema of `.phasekeeper/config.yaml`."""
    return _schema_of("Phasekeeper configuration", "configuration", CONFIG_STRUCTS)


def _schema_of(title: str, top: str, structs: Mapping[str, Mapping[str, Key]]) -> dict:
    definitions: dict[str, dict] = {}
    for name, keys in structs.items():
        properties = {
            key: {"description": each.about, **_shape_schema(each.shape)} for key, each in keys.items()
        }
        required = [key for key, each in keys.items() if each.required]
        definitions[name.replace(" ", "-")] = {
            "type": "object" if required else ["object", "null"],
            "properties": properties,
            "additionalProperties": False,
            **({"required": required} if required else {}),
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$ref": f"#/$defs/{top}",
        "$defs": definitions,
    }


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
    return {"type": ["string", "number", "boolean"]}
