"""The tools of the suite: what they say, what they tell meanwhile, and what they ask of the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from phasekeeper.server.mcp.client import RequestContext

from tests.server.mcp.conformance.contents import JSON, TEXT, audio, embedded, image, text

Schema = Mapping[str, Any]
Outcome = types.CallToolResult | types.InputRequiredResult


@dataclass(frozen=True)
class Call:
    """One call of a tool. `answers` are what the client brought to questions that it was asked before."""

    context: RequestContext
    arguments: Mapping[str, Any]
    answers: types.InputResponses
    state: str | None
    bus: InMemorySubscriptionBus


Run = Callable[[Call], Awaitable[Outcome]]


@dataclass(frozen=True)
class Tool:
    schema: Schema
    run: Run


TOOLS: dict[str, Tool] = {}


def tool(run: Run, schema: Schema | None = None) -> Run:
    """Have the suite find a function as a tool of the same name."""
    TOOLS[run.__name__] = Tool(schema or {"type": "object", "properties": {}}, run)
    return run


def with_arguments(**properties: Schema) -> Callable[[Run], Run]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return lambda run: tool(run, schema)


def tool_list() -> list[types.Tool]:
    return [
        types.Tool(name=name, description=about(name), input_schema=dict(made.schema))
        for name, made in TOOLS.items()
    ]


def about(name: str) -> str:
    """A name of the suite's says what the thing is for."""
    return name.removeprefix("test_").replace("_", " ")


def result_of(*content: types.ContentBlock, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), is_error=wrong)


# ---- what a tool says -------------------------------------------------------------------------


@tool
async def test_simple_text(_: Call) -> Outcome:
    return result_of(text("one text"))


@tool
async def test_image_content(_: Call) -> Outcome:
    return result_of(image())


@tool
async def test_audio_content(_: Call) -> Outcome:
    return result_of(audio())


@tool
async def test_embedded_resource(_: Call) -> Outcome:
    return result_of(embedded("test://embedded-resource", TEXT, "inside an answer"))


@tool
async def test_multiple_content_types(_: Call) -> Outcome:
    return result_of(
        text("several"), image(), embedded("test://mixed-content-resource", JSON, '{"inside": true}')
    )


@tool
async def test_error_handling(_: Call) -> Outcome:
    return result_of(text("this tool never succeeds"), wrong=True)


_CONTACT: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "address": {"$anchor": "addressDef", "type": "object", "properties": {"city": {"type": "string"}}}
    },
    "type": "object",
    "properties": {"phone": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["address"]}]}],
    "if": {"required": ["address"]},
    "then": {"properties": {"phone": {"type": "string"}}},
    "else": {"required": ["phone"]},
    "additionalProperties": False,
}


async def json_schema_2020_12_tool(_: Call) -> Outcome:
    return result_of(text("a schema with all words of its dialect"))


tool(json_schema_2020_12_tool, _CONTACT)


async def test_header_argument(call: Call) -> Outcome:
    return result_of(text(f"region {call.arguments.get('region')}"))


_REGION = {"type": "string", "x-mcp-header": "Region"}
tool(test_header_argument, {"type": "object", "properties": {"region": _REGION}})


# ---- what a tool tells meanwhile --------------------------------------------------------------


@tool
async def test_tool_with_logging(call: Call) -> Outcome:
    for line in ("begun", "under way", "done"):
        await _log(call, line)
    return result_of(text("three lines were told"))


@tool
async def test_logging_tool(call: Call) -> Outcome:
    await _log(call, "told to those alone who asked for it")
    return result_of(text("one line for those who asked"))


async def _log(call: Call, line: str) -> None:
    # Deprecated, and still part of the protocol that most clients speak.
    tell: Any = call.context.session.send_log_message
    await tell("info", line, related_request_id=call.context.request_id)


@tool
async def test_tool_with_progress(call: Call) -> Outcome:
    for done in (0, 50, 100):
        await call.context.session.report_progress(done, 100, f"{done} of 100")
    return result_of(text("progress was told"))


@tool
async def test_reconnection(call: Call) -> Outcome:
    if call.context.close_sse_stream is not None:
        await call.context.close_sse_stream()
    return result_of(text("an answer for those who come again"))


@tool
async def test_trigger_tool_change(call: Call) -> Outcome:
    await call.bus.publish(ToolsListChanged())
    return result_of(text("the list of tools counts as changed"))


@tool
async def test_trigger_prompt_change(call: Call) -> Outcome:
    await call.bus.publish(PromptsListChanged())
    return result_of(text("the list of prompts counts as changed"))


@tool
async def test_missing_capability(call: Call) -> Outcome:
    able = call.context.session.client_capabilities
    if able is None or able.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs a model of the client's", needed)
    return result_of(text("the client has a model"))


# ---- what a tool asks, in the handshake era ---------------------------------------------------


@with_arguments(prompt={"type": "string"})
async def test_sampling(call: Call) -> Outcome:
    message = sampling(call.arguments["prompt"], 100).params.messages
    create: Any = call.context.session.create_message
    made = await create(message, max_tokens=100, related_request_id=call.context.request_id)
    return result_of(text(f"the model said {made.content.text}"))


@with_arguments(message={"type": "string"})
async def test_elicitation(call: Call) -> Outcome:
    return await _asked(call, call.arguments["message"], {"username": STRING, "email": STRING})


@tool
async def test_elicitation_sep1034_defaults(call: Call) -> Outcome:
    form: dict[str, Schema] = {
        "name": STRING | {"default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": STRING | {"enum": ["active", "inactive"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await _asked(call, "each field comes with a default", form)


@tool
async def test_elicitation_sep1330_enums(call: Call) -> Outcome:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"The value {n}"} for n in (1, 2, 3)]
    form: dict[str, Schema] = {
        "untitledSingle": STRING | {"enum": plain},
        "titledSingle": STRING | {"oneOf": titled},
        "legacyEnum": STRING | {"enum": ["opt1", "opt2"], "enumNames": ["The first", "The second"]},
        "untitledMulti": {"type": "array", "items": STRING | {"enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _asked(call, "a choice of each form", form)


async def _asked(call: Call, message: str, properties: Mapping[str, Schema]) -> Outcome:
    """What the person answers to a form, asked within the call."""
    form = elicitation(message, **properties).params
    assert isinstance(form, types.ElicitRequestFormParams)
    session = call.context.session
    told = await session.elicit_form(
        message, form.requested_schema, related_request_id=call.context.request_id
    )
    return result_of(text(f"the person said {told.action}: {told.content}"))


# ---- questions, as both eras put them ---------------------------------------------------------

STRING: dict[str, Any] = {"type": "string"}


def elicitation(message: str, **properties: Schema) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    form = types.ElicitRequestFormParams(message=message, requested_schema=cast(Any, schema))
    return types.ElicitRequest(params=form)


def sampling(prompt: str, most: int) -> types.CreateMessageRequest:
    asked = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[asked], max_tokens=most)
    )
