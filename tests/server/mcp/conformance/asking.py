"""Tools and a prompt that need an answer first: in the era of 2026-07-28 the client calls again with it."""

from __future__ import annotations

import mcp_types as types

from tests.server.mcp.conformance.contents import prompt, text
from tests.server.mcp.conformance.tools import STRING, Call, Outcome, elicitation, result_of, sampling, tool

_NAME = elicitation("What is your name?", name=STRING)
_SURE = elicitation("Are you sure?", ok={"type": "boolean"})
_ROOTS = types.ListRootsRequest()
PROMPT = "test_input_required_result_prompt"


def first(state: str | None = None, /, **questions: types.InputRequest) -> types.InputRequiredResult:
    """Questions that have to be answered first."""
    return types.InputRequiredResult(input_requests=questions, request_state=state)


def _given(call: Call, question: str) -> str | None:
    """What a person wrote into a form of one field; None where it was not asked or not accepted."""
    told = call.answers.get(question)
    if not isinstance(told, types.ElicitResult) or told.action != "accept" or not told.content:
        return None
    return str(next(iter(told.content.values())))


@tool
async def test_input_required_result_elicitation(call: Call) -> Outcome:
    name = _given(call, "user_name")
    return result_of(text(f"Hello, {name}!")) if name else first(user_name=_NAME)


@tool
async def test_streaming_elicitation(call: Call) -> Outcome:
    return await test_input_required_result_elicitation(call)


@tool
async def test_input_required_result_sampling(call: Call) -> Outcome:
    told = call.answers.get("capital_question")
    if not isinstance(told, types.CreateMessageResult) or not isinstance(told.content, types.TextContent):
        return first(capital_question=sampling("What is the capital of France?", 100))
    return result_of(text(told.content.text))


@tool
async def test_input_required_result_list_roots(call: Call) -> Outcome:
    told = call.answers.get("client_roots")
    if not isinstance(told, types.ListRootsResult):
        return first(client_roots=_ROOTS)
    return result_of(text(", ".join(str(root.uri) for root in told.roots)))


@tool
async def test_input_required_result_request_state(call: Call) -> Outcome:
    if _given(call, "confirm") is None or call.state != "asked":
        return first("asked", confirm=_SURE)
    return result_of(text("state-ok"))


@tool
async def test_input_required_result_tampered_state(call: Call) -> Outcome:
    return await test_input_required_result_request_state(call)


@tool
async def test_input_required_result_multiple_inputs(call: Call) -> Outcome:
    asked = {"user_name": _NAME, "greeting": sampling("A greeting, please", 50), "client_roots": _ROOTS}
    if not call.answers.keys() >= asked.keys() or call.state != "asked":
        return first("asked", **asked)
    return result_of(text(f"{len(asked)} answers came"))


@tool
async def test_input_required_result_multi_round(call: Call) -> Outcome:
    """A name, then a colour; the state carries the name over."""
    if call.state is None:
        return first("name?", step1=_NAME)
    if call.state == "name?" and (name := _given(call, "step1")):
        return first(f"colour? {name}", step2=elicitation("Which colour?", color=STRING))
    colour = _given(call, "step2")
    assert colour is not None
    return result_of(text(f"{call.state.removeprefix('colour? ')} likes {colour}"))


@tool
async def test_input_required_result_capabilities(call: Call) -> Outcome:
    """Only what the client said that it can do is asked of it."""
    able = call.context.session.client_capabilities or types.ClientCapabilities()
    asked: dict[str, types.InputRequest] = {}
    if able.sampling is not None:
        asked["model"] = sampling("Anything", 50)
    if able.elicitation is not None:
        asked["person"] = _NAME
    return first(**asked) if asked.keys() - call.answers.keys() else result_of(text("nothing to ask"))


def prompt_result(params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    """The prompt that asks first."""
    told = (params.input_responses or {}).get("user_context")
    if not isinstance(told, types.ElicitResult) or not told.content:
        return first(user_context=elicitation("In which context?", context=STRING))
    return prompt([text(f"in the context of {told.content['context']}")])
