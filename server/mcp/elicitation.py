"""Elicitation: `request_decision` asks the person who sits at the client, in both eras of the protocol.

What the person reads is the confirmation of `apply.prepare_decision`, never an argument of the call. Where
the client can ask nobody, the answer says exactly how a person can decide, and nothing is decided.

Up to 2025-11-25 the dialog is a request of the server within the call. In 2026-07-28 the call is answered
with what it needs, and made once more with the person's answer; `request_state`, which the SDK seals, then
says what was asked, so that an answer to another text, or about an older revision, asks again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import mcp_types as types
from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from ...orchestration.result.values import Evaluation, QuestionState
from ...orchestration.sanitize import plain
from ...orchestration.updates.commands import Command, answerable, offered_questions
from ...orchestration.vfs.files import digest_of
from ...tools.assistant.access import ToolRefused, select_run
from ...tools.assistant.answer import Answer, AnswerBuilder, quote
from ...tools.assistant.headers import head_of
from ...tools.assistant.next_step import next_step
from ...tools.assistant.questions import DIALOG, dialog, how_to_decide, how_to_override
from ...tools.assistant.tools import RequestDecision
from ..disk.git import actor
from ..workspace.apply import PreparedDecision, prepare_decision
from ..workspace.workspace import Workspace
from .client import ROOTS, RequestContext, is_modern
from .tool_access import CallAccess, refusals

DECISION = "decision"
_STRICT = ConfigDict(extra="forbid")
BY_TERMINAL = "a person, never you, by the command that the person types"
_ASKED = 1_200
"""Characters of what is asked in an answer's text."""
_REASON = "Why you decide so; it is recorded with your name."


class DecisionDialog(NamedTuple):
    """A dialog for one decision, the form of its answer, and the command that decides without it.

    `message` is None where a dialog cannot show all of it: then nobody is asked.
    """

    run: Evaluation
    prepared: PreparedDecision
    message: str | None
    form: type[BaseModel]
    command_line: str


async def request_decision(
    access: CallAccess,
    context: RequestContext,
    params: types.CallToolRequestParams,
    arguments: RequestDecision,
) -> Answer | types.InputRequiredResult:
    """The tool: what the person decided is recorded, signed, on the revision that was shown.

    Raises ToolRefused where it is not clear what is asked, or it cannot be decided.
    """
    request = await _dialog(access, arguments)
    if request.message is None:
        return _abstain(request, "a dialog cannot show all that is decided: nothing is, the gate stays shut")
    # `elicitation: {}` means forms in the older protocol.
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return _abstain(request, "this client cannot ask a person: nothing is decided, the gate stays shut")
    result = await _elicit(context, params, request.message, request.form)
    if isinstance(result, types.InputRequiredResult):
        return result
    if result.action != "accept":
        return _abstain(request, f"the dialog came back with {result.action}: nothing is decided")
    try:
        content = request.form.model_validate(result.content or {}).model_dump()
    except ValidationError:
        options = ", ".join(map(str, get_args(request.form.model_fields["decision"].annotation)))
        wanted = f"decision ({options})" if options else "decision"
        why = f"what the dialog came back with does not fit its form, {wanted} and reason: nothing is decided"
        raise ToolRefused(why) from None
    if not content["reason"].strip():
        return _abstain(request, "the person gave no reason: nothing is decided")
    if content["decision"] == "no" and request.prepared.wanted.kind == "override":
        return _abstain(request, "the person said no: nothing is decided")
    return await _record(access, request, content["decision"], content["reason"])


# ---- what the person sees ---------------------------------------------------------------------


async def _dialog(access: CallAccess, arguments: RequestDecision) -> DecisionDialog:
    run = select_run(await access.place(arguments.root, arguments.run), arguments.run)
    if arguments.override_to:
        command = Command(kind="override", step=arguments.override_to)
        choices: Any = Literal["no", "override"]
        command_line = how_to_override(run, arguments.override_to)
    else:
        question = await _named_question(access, run, arguments.question)
        command = Command(kind="answer", question=question.id)
        options = tuple(option.id for option in question.options)
        choices = Literal[options] if options else Annotated[str, Field(min_length=1, max_length=2_000)]
        command_line = how_to_decide(run, question)
    workspace = Workspace(Path(run.root))
    with refusals():
        prepared = await asyncio.to_thread(prepare_decision, workspace, run.run, command, reason_follows=True)
    reason: Any = (str, Field(description=_REASON, min_length=1, max_length=2_000))
    form = create_model("Decision", __config__=_STRICT, decision=(choices, ...), reason=reason)
    return DecisionDialog(run, prepared, dialog(prepared.text), form, command_line)


async def _named_question(access: CallAccess, run: Evaluation, name: str) -> QuestionState:
    """The question that is named, the only open one where none is. One that is named may also be an approval
    of what has changed since, which nobody is asked. Raises ToolRefused."""
    questions, unasked = [question for question in run.questions if name in ("", question.id)], ""
    if not questions:
        named = await access.ask(run, lambda trace: (*answerable(trace), *offered_questions(trace)))
        questions = [question for question in named if question.id == name]
        names = ", ".join(plain(each.id, 80) for each in named[:4])
        unasked = f"; what a person may decide unasked, by its name: {names}" if names else ""
    if len(questions) == 1:
        return questions[0]
    names = ", ".join(plain(question.id, 80) for question in run.questions[:10])
    if names:
        raise ToolRefused(f"name the question: open are {names}")
    raise ToolRefused(
        "nothing is asked in this run now: next_step says what is to be done, "
        f"and escalations with `ask` puts a question of yours to a person{unasked}"
    )


# ---- asking -----------------------------------------------------------------------------------


async def _elicit(
    context: RequestContext, params: types.CallToolRequestParams, message: str, form: type[BaseModel]
) -> types.ElicitResult | types.InputRequiredResult:
    """Show the dialog: what it came back with, or the answer that has the client show it and call again."""
    schema = _with_enum(render_elicitation_schema(form))
    if not is_modern(context):
        try:
            return await context.session.elicit_form(message, schema, context.request_id)
        except (MCPError, ValidationError) as error:
            raise ToolRefused(plain(f"the person could not be asked: {error}", 600)) from None
    answer = (params.input_responses or {}).get(DECISION)
    state: dict[str, Any] = {"asked": digest_of(message)}
    if isinstance(answer, types.ElicitResult) and _state(params).get("asked") == state["asked"]:
        return answer
    shown = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    request = types.ElicitRequest(params=shown)
    if roots := known_roots(params).get(ROOTS):
        state[ROOTS] = roots.model_dump(mode="json", by_alias=True, exclude_none=True)
    return types.InputRequiredResult(input_requests={DECISION: request}, request_state=json.dumps(state))


def _with_enum(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form with an enumeration for a single option, too: clients know no constants."""
    decision = schema["properties"]["decision"]
    if "const" in decision:
        decision["enum"] = [decision.pop("const")]
    return schema


def _state(params: types.CallToolRequestParams) -> Mapping[str, Any]:
    """The state that an earlier round of the call left for this one."""
    return json.loads(params.request_state) if params.request_state else {}


def known_roots(params: types.CallToolRequestParams) -> types.InputResponses:
    """The client's answers, and its roots from an earlier round of the call: it is asked once."""
    roots = _state(params).get(ROOTS)
    earlier = {ROOTS: types.ListRootsResult.model_validate(roots)} if roots else {}
    return {**earlier, **(params.input_responses or {})}


# ---- recording --------------------------------------------------------------------------------


async def _record(access: CallAccess, request: DecisionDialog, decision: str, reason: str) -> Answer:
    root, revision, what = Path(request.run.root), request.prepared.revision, "overridden"
    person = await asyncio.to_thread(actor, root)
    command = request.prepared.wanted._replace(why=reason, actor=person, channel="mcp")
    command = command._replace(program=plain(access.program, 120))
    if command.kind == "answer":
        command = command._replace(option=decision)
        what = f"answered {plain(command.question, 80)} {plain(decision, 60)}"
    with refusals():
        done = await access.engine.act(root, request.run.run, command, signed=True, revision=revision)
    held = await access.held_tasks(done.evaluation)
    return next_step(done.evaluation, held=held, recorded=f"{what}, by a person")


def _abstain(request: DecisionDialog, why: str) -> Answer:
    """Nothing was decided; how a person can."""
    head, line = head_of(request.run)
    builder = AnswerBuilder(head | {"decided": False, "because": why, "decides": BY_TERMINAL}, why, line)
    command = request.command_line
    builder.put("decide", command, f"a person can decide on a terminal: {command}")
    if request.message is not None:
        asked = plain(request.message, DIALOG)
        builder.put("asked", asked, f"what is asked: {quote(asked, _ASKED)}")
    return builder.answer()
