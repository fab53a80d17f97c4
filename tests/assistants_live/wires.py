"""How four assistants talk to their models over HTTP: what one asks, and how it is answered.

A wire reads the body of a request and writes the events of an answer; it decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

Body = Mapping[str, Any]
Event = dict[str, Any]


class Asked(NamedTuple):
    """What a model is asked: the tools it may call, how tools answered so far, oldest first, and the JSON
    Schema that its answer has to keep to. `opening` is what was said before it said anything, `turns` how
    often it did."""

    tools: Mapping[str, Any]
    results: tuple[str, ...]
    form: Mapping[str, Any] | None = None
    opening: str = ""
    turns: int = 0


class Call(NamedTuple):
    """A call of one of the assistant's tools. `given` is a text for a tool that takes text as it is."""

    tool: str
    given: dict[str, Any] | str
    space: str = ""


class Say(NamedTuple):
    text: str


Move = Call | Say


class Wire(NamedTuple):
    """`ending` is how the path of a request ends, in small letters; `named` whether events are named."""

    ending: str
    named: bool
    read: Callable[[Body], Asked]
    write: Callable[[Move, int], list[Event]]


def texts_of(content: Any) -> str:
    """The text of content that is one text, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


def blank(form: Mapping[str, Any]) -> Any:
    """The least that keeps to a schema: nothing found, nothing wrong."""
    if form.get("type") == "object":
        return {name: blank(inner) for name, inner in form.get("properties", {}).items()}
    return {"number": 0, "integer": 0, "boolean": False, "array": []}.get(form.get("type", ""), "")


def _opening(said: Iterable[tuple[str, str]], own: str) -> str:
    """The texts before the first of the model's own, of pairs of a role and a text."""
    return "\n".join(text for _, text in takewhile(lambda each: each[0] != own, said))


# ---- Messages, as Claude Code asks ------------------------------------------------------------


def _read_messages(body: Body) -> Asked:
    blocks = (
        block
        for message in body.get("messages", ())
        if isinstance(message["content"], list)
        for block in message["content"]
    )
    results = [texts_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    said = [(message["role"], texts_of(message["content"])) for message in body.get("messages", ())]
    turns = sum(role == "assistant" for role, _ in said)
    tools = {tool["name"]: tool for tool in body.get("tools") or ()}
    return Asked(tools, tuple(results), None, _opening(said, "assistant"), turns)


def _write_messages(move: Move, number: int) -> list[Event]:
    if isinstance(move, Say):
        start: Event = {"type": "text", "text": ""}
        delta: Event = {"type": "text_delta", "text": move.text}
    else:
        start = {"type": "tool_use", "id": f"toolu_{number:06}", "name": move.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(move.given)}
    message: Event = {
        "id": f"msg_{number:06}", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    stop = {"stop_reason": "end_turn" if isinstance(move, Say) else "tool_use", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


# ---- Responses, as Codex asks -----------------------------------------------------------------


SEARCH = "tool_search"
"""A tool with items of a form of its own."""


def _read_responses(body: Body) -> Asked:
    items = [item for item in body.get("input", ()) if isinstance(item, dict)]
    ended = [item for item in items if item.get("type", "").endswith("_output")]
    found = [tool for item in ended for tool in item.get("tools") or ()]
    tools = dict(_tools_within([*(body.get("tools") or ()), *found], ""))
    said = [(_codex_role(item), texts_of(item.get("content"))) for item in items]
    turns = sum(role == "assistant" for role, _ in said)
    results = tuple(texts_of(item.get("output")) for item in ended)
    return Asked(tools, results, None, _opening(said, "assistant"), turns)


def _codex_role(item: Event) -> str:
    """Who said it: calls of tools are the model's."""
    return "assistant" if str(item.get("type", "")).endswith("_call") else str(item.get("role", ""))


def _tools_within(tools: Iterable[Any], space: str) -> Iterable[tuple[str, Any]]:
    """Tools by name; those of a server stand in a space that has its name."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tools_within(tool.get("tools", ()), f"{tool['name']}/")
        else:
            yield space + (tool.get("name") or tool.get("type", "")), tool


def _write_responses(move: Move, number: int) -> list[Event]:
    item: Event = {"id": f"item_{number:06}", "status": "completed"}
    if isinstance(move, Say):
        content = [{"type": "output_text", "text": move.text, "annotations": []}]
        item |= {"type": "message", "role": "assistant", "content": content}
    elif move.tool == SEARCH:
        item |= {"type": "tool_search_call", "call_id": f"call_{number:06}", "execution": "client"}
        item |= {"arguments": move.given}
    elif isinstance(move.given, str):
        item |= {
            "type": "custom_tool_call",
            "call_id": f"call_{number:06}",
            "name": move.tool,
            "input": move.given,
        }
    else:
        item |= {"type": "function_call", "call_id": f"call_{number:06}", "name": move.tool}
        item |= {"arguments": json.dumps(move.given)} | ({"namespace": move.space} if move.space else {})
    usage: Event = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response: Event = {"id": f"resp_{number:06}", "status": "in_progress"}
    done = response | {"status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]


# ---- generateContent, as Gemini asks ----------------------------------------------------------


def _read_contents(body: Body) -> Asked:
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    declared = [tool for tools in body.get("tools") or () for tool in tools.get("functionDeclarations", ())]
    form = (body.get("generationConfig") or {}).get("responseJsonSchema")
    said = [(content.get("role", ""), texts_of(content.get("parts"))) for content in body.get("contents", ())]
    turns = sum(role == "model" for role, _ in said)
    tools = {tool["name"]: tool for tool in declared}
    return Asked(tools, tuple(map(_told, answers)), form, _opening(said, "model"), turns)


def _told(response: Any) -> str:
    """How a tool answered: what is under `output` or `error`, else all of it."""
    told = response.get("output", response.get("error")) if isinstance(response, dict) else response
    return told if isinstance(told, str) else json.dumps(response, ensure_ascii=False)


def _write_contents(move: Move, number: int) -> list[Event]:
    if isinstance(move, Say):
        part: Event = {"text": move.text}
    else:
        part = {"functionCall": {"id": f"call_{number:06}", "name": move.tool, "args": move.given}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [{"candidates": [candidate], "usageMetadata": usage}]


# ---- chat completions, as Copilot asks ---------------------------------------------------------


def _read_chat(body: Body) -> Asked:
    said = [
        (message.get("role", ""), texts_of(message.get("content"))) for message in body.get("messages", ())
    ]
    results = tuple(text for role, text in said if role == "tool")
    tools = {tool["function"]["name"]: tool for tool in body.get("tools") or () if "function" in tool}
    turns = sum(role == "assistant" for role, _ in said)
    return Asked(tools, results, None, _opening(said, "assistant"), turns)


def _write_chat(move: Move, number: int) -> list[Event]:
    message: Event = {"role": "assistant", "content": move.text if isinstance(move, Say) else None}
    if isinstance(move, Call):
        function = {"name": move.tool, "arguments": json.dumps(move.given)}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{number:06}", "type": "function", "function": function}
        ]
    chunk: Event = {"id": f"chat_{number:06}", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    reason = "stop" if isinstance(move, Say) else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]


MESSAGES = Wire("/messages", True, _read_messages, _write_messages)
RESPONSES = Wire("/responses", True, _read_responses, _write_responses)
CONTENTS = Wire("generatecontent", False, _read_contents, _write_contents)
CHAT = Wire("/chat/completions", False, _read_chat, _write_chat)
WIRES: Sequence[Wire] = (MESSAGES, RESPONSES, CONTENTS, CHAT)
