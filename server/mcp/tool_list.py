"""The list of tools as clients see it: small, because every conversation pays for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcp_types as types

from ...tools.assistant.tools import TOOLS, Tool

OUTPUT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("root", "run", "revision")},
    "required": ["root"],
}


@cache
def tool_list() -> tuple[types.Tool, ...]:
    """All tools, with schemas in which nothing stands that a model does not need."""
    return tuple(map(_tool, TOOLS))


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=_lean(tool.arguments.model_json_schema()),
        output_schema=OUTPUT,
        annotations=_annotations(tool),
    )


def _annotations(tool: Tool) -> types.ToolAnnotations:
    """What a tool does; of one that only reads the protocol asks no more."""
    if tool.read_only:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.ToolAnnotations(
        read_only_hint=False,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )


_KEPT = ("type", "description", "enum", "minimum", "maximum", "items", "properties", "required", "anyOf")


def _lean(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles, defaults and lengths; what breaks those is told when it happens."""
    made: dict[str, Any] = {}
    for key in _KEPT:
        value = schema.get(key)
        if key == "properties" and value is not None:
            made[key] = {name: _lean(each) for name, each in value.items()}
        elif key == "items" and value is not None:
            made[key] = _lean(value)
        elif key == "anyOf" and value is not None:
            made |= _lean(next(each for each in value if each.get("type") != "null"))
        elif value is not None:
            made[key] = value
    return made
