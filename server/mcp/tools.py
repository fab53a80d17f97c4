"""tools/list and tools/call: the schemas of tools as clients see them, and reading what clients send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import mcp_types as types
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ...orchestration.sanitize import plain
from ...orchestration.suggestions import did_you_mean
from ...tools.assistant.access import ToolRefused
from ...tools.assistant.tools import TOOLS, Arguments, Tool

OUTPUT = {"type": "object", "properties": {name: {} for name in ("root", "run", "revision")}}
# Of a JSON Schema. The list is small, because every conversation pays for it.
_KEYS = ("type", "description", "enum", "items", "properties", "required", "additionalProperties")


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
        wrong = (_fault(tool, fault["type"], fault["loc"], fault["msg"]) for fault in error.errors()[:5])
        takes = f"{tool.name} takes {', '.join(map(_argument_words, tool.arguments.model_fields.items()))}"
        raise ToolRefused(plain(f"{'; '.join(wrong)}. {takes}", 1_500)) from None


def _fault(tool: Tool, kind: str, at: Sequence[int | str], message: str) -> str:
    """What is wrong with an argument, by the kind and words of the validator."""
    name = plain(".".join(map(str, at)), 80) or "arguments"
    if kind == "extra_forbidden":
        others = [other.name for other in TOOLS if name in other.arguments.model_fields]
        elsewhere = f"; {', '.join(others[:4])} {'does' if len(others) == 1 else 'do'}" if others else ""
        near = "" if others else did_you_mean(name, list(tool.arguments.model_fields))
        return f"{tool.name} takes no {name!r}{elsewhere}{near}"
    return f"{name!r} is needed" if kind == "missing" else f"{name!r}: {message}"


def _argument_words(field: tuple[str, FieldInfo]) -> str:
    """An argument's name, and that it is needed or what it means."""
    name, about = field
    meaning = "needed" if about.is_required() else about.description
    return f"{name} ({meaning})" if meaning else name
