"""tools/list and tools/call: the schemas of tools as clients see them, and reading what clients send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from ...orchestration.sanitize import plain
from ...tools.assistant.access import ToolRefused
from ...tools.assistant.tools import TOOLS, Arguments, Tool

OUTPUT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("root", "run", "revision")},
    "required": ["root"],
}
# Of a JSON Schema. The list is small, because every conversation pays for it.
_KEYS = ("type", "description", "enum", "minimum", "maximum", "items", "properties", "required")


def find_tool(name: str) -> Tool | None:
    return next((tool for tool in TOOLS if tool.name == name), None)


def tool_list() -> list[types.Tool]:
    """All tools as clients see them."""
    return [client_tool(tool) for tool in TOOLS]


@cache
def client_tool(tool: Tool) -> types.Tool:
    """A tool as clients see it, with a schema in which nothing stands that a model does not need."""
    hints = types.ToolAnnotations(read_only_hint=tool.read_only, open_world_hint=False)
    # Of a tool that only reads the protocol asks no more; that another may not be repeated it assumes.
    if not tool.read_only:
        hints.destructive_hint = tool.destructive
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=_lean(tool.arguments.model_json_schema()),
        output_schema=OUTPUT,
        annotations=hints,
    )


def _lean(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without titles, defaults and lengths; what breaks those is told when it happens."""
    lean = {key: schema[key] for key in _KEYS if key in schema}
    if "properties" in lean:
        lean["properties"] = {name: _lean(each) for name, each in lean["properties"].items()}
    return lean


def read_arguments(tool: Tool, sent: Mapping[str, Any]) -> Arguments:
    """The arguments of a call. Some clients send lists and maps as JSON in a text: those are unpacked.

    Raises ToolRefused, which says what is wrong without repeating it.
    """
    arguments = dict(sent)
    for name, field in tool.arguments.model_fields.items():
        value = arguments.get(name)
        if isinstance(value, str) and field.annotation is not str and value[:1] in ("[", "{"):
            with suppress(ValueError, RecursionError):
                arguments[name] = json.loads(value)
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5])
        raise ToolRefused(plain("; ".join(wrong), 1_000)) from None
