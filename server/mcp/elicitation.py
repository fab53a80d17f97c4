"""A decision, asked of the person who sits at the client: `request_decision`, in both eras of the protocol.

What the person reads comes from the definition and the evaluation, never from an argument of the call. Where
the client can ask nobody, the answer says exactly how a person can decide, and nothing is decided.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ListRootsResult
from pydantic import BaseModel, ConfigDict, Field, create_model

from ...orchestration.evaluation.questions import answerable
from ...orchestration.result.values import Evaluation, QuestionState
from ...orchestration.sanitize import plain
from ...orchestration.updates.commands import Command, CommandRefused
from ...tools.assistant.access import ToolRefused, select_run
from ...tools.assistant.answer import Answer, AnswerBuilder, quoted
from ...tools.assistant.headers import head_of
from ...tools.assistant.next_step import next_step
from ...tools.assistant.questions import DECIDES, dialog, how_to_decide, how_to_override
from ...tools.assistant.tools import RequestDecision
from ..store.folder import StoreError
from ..workspace.apply import PreparedDecision, prepare_decision
from ..workspace.git import actor
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .client import folders_of
from .tool_access import CallAccess

CHANNEL = "mcp"
"""One of `apply.CHANNELS`."""
_REASON = "Why you decide so; it is recorded with your name."


class Shown(NamedTuple):
    """What the person is shown and decides with it, what the dialog takes, and how to decide without one.

    `said` is None where a dialog cannot show all of it: then nobody is asked.
    """

    run: Evaluation
    prepared: PreparedDecision
    said: str | None
    form: type[BaseModel]
    command: str


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


# ---- what the person sees ---------------------------------------------------------------------


async def client_roots(ctx: Context, root: str) -> ListRoots | None:
    """The client's own folders, where they decide about the call and are not known yet."""
    return ListRoots() if access_of(ctx).needs_roots else None


async def look(
    ctx: Context,
    roots: Annotated[ListRootsResult | None, Resolve(client_roots)],
    root: str,
    run: str,
    question: str,
    override_to: str,
) -> Shown:
    """What is asked. Raises ToolRefused where that is not clear, or nothing is, or it cannot be decided."""
    if roots is not None:
        access_of(ctx).work_in(await asyncio.to_thread(folders_of, roots))
    found = select_run(await access_of(ctx).place(root), run)
    if override_to:
        act = Command(kind="override", step=override_to)
        choices, command = Literal["no", "override"], how_to_override(found, override_to)
        return await _shown(found, act, choices, command)
    asked = await _meant(access_of(ctx), found, question)
    ids = tuple(option.id for option in asked.options)
    choices = Literal[ids] if ids else Annotated[str, Field(min_length=1, max_length=2_000)]
    command = Command(kind="answer", question=asked.id)
    return await _shown(found, command, choices, how_to_decide(found, asked))


async def _shown(run: Evaluation, act: Command, choices: Any, command: str) -> Shown:
    workspace = Workspace(Path(run.root))
    try:
        prepared = await asyncio.to_thread(prepare_decision, workspace, run.run, act, reason_follows=True)
    except (CommandRefused, StoreError, UsageError) as error:
        raise ToolRefused(plain(str(error), 1_200)) from None
    return Shown(run, prepared, dialog(prepared.text), _form(choices), command)


async def _meant(access: CallAccess, run: Evaluation, wanted: str) -> QuestionState:
    """The question that is named, the only open one where none is. One that is named may also be an approval
    of what has changed since, which nobody is asked. Raises ToolRefused."""
    asked = [question for question in run.questions if wanted in ("", question.id)]
    if wanted and not asked:
        asked = [question for question in await access.ask(run, answerable) if question.id == wanted]
    if len(asked) == 1:
        return asked[0]
    names = ", ".join(plain(question.id, 80) for question in run.questions[:10])
    raise ToolRefused(f"name the question: open are {names}" if names else "nothing is asked in this run now")


def _form(choices: Any) -> type[BaseModel]:
    reason: Any = (str, Field(description=_REASON, min_length=1, max_length=2_000))
    return create_model("Decision", __base__=_Form, decision=(choices, ...), reason=reason)


# ---- asking and recording ---------------------------------------------------------------------


async def ask(ctx: Context, shown: Annotated[Shown, Resolve(look)]) -> Elicit[BaseModel] | None:
    """The dialog, where the client can show one."""
    return Elicit(shown.said, shown.form) if shown.said is not None and can_ask(ctx) else None


def can_ask(ctx: Context) -> bool:
    """Whether the client shows forms to its person."""
    told = ctx.client_capabilities
    elicitation = told.elicitation if told else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def decided(
    ctx: Context,
    shown: Annotated[Shown, Resolve(look)],
    outcome: Annotated[ElicitationResult[BaseModel], Resolve(ask)],
    root: str = "",
    run: str = "",
    question: str = "",
    override_to: str = "",
) -> Answer:
    """The tool: what the person decided is recorded, signed, on the revision that was shown."""
    if outcome.action != "accept":
        return undecided(shown, f"the dialog came back with {outcome.action}: nothing is decided")
    if shown.said is None:
        return undecided(shown, "a dialog cannot show all that is decided: nothing is, the gate stays shut")
    if outcome.data is None:
        return undecided(shown, "this client cannot ask a person: nothing is decided, the gate stays shut")
    given = outcome.data.model_dump()
    if not given["reason"].strip():
        return undecided(shown, "the person gave no reason: nothing is decided")
    if shown.prepared.wanted.kind == "override" and given["decision"] != "override":
        return undecided(shown, "the person said no: nothing is decided")
    return await _recorded(access_of(ctx), shown, given["decision"], given["reason"])


async def _recorded(access: CallAccess, shown: Shown, decision: str, reason: str) -> Answer:
    root, act, is_answer = Path(shown.run.root), shown.prepared.wanted, shown.prepared.wanted.kind == "answer"
    who = await asyncio.to_thread(actor, root)
    act = act._replace(option=decision if is_answer else "", why=reason, actor=who, channel=CHANNEL)
    revision = shown.prepared.revision
    try:
        done = await access.engine.act(root, shown.run.run, act, signed=True, revision=revision)
    except (CommandRefused, StoreError, UsageError) as error:
        raise ToolRefused(plain(str(error), 1_200)) from None
    what = f"answered {plain(act.question, 80)} {plain(decision, 60)}" if is_answer else "overridden"
    return next_step(done.evaluation, recorded=f"{what}, by a person")


def undecided(shown: Shown, why: str) -> Answer:
    """Nothing was decided; how a person can."""
    head, line = head_of(shown.run)
    builder = AnswerBuilder(head | {"decided": False, "because": why, "decides": DECIDES}, why, line)
    builder.put("decide", shown.command, f"a person can decide on a terminal: {shown.command}")
    if shown.said is not None:
        builder.put("asked", plain(shown.said, 600), f"what is asked: {quoted(shown.said, 500)}")
    return builder.answer()


TOOL = Tool.from_function(decided, name="request_decision", structured_output=False)
_NAMES = tuple(RequestDecision.model_fields)
_ACCESS: ContextVar[CallAccess] = ContextVar("access of the call at hand")


def access_of(_: Context) -> CallAccess:
    """What the call at hand may look at; resolvers get nothing but the SDK's context."""
    return _ACCESS.get()


async def request_decision(access: CallAccess, ctx: Context, arguments: RequestDecision) -> Any:
    """An Answer, or the SDK's InputRequiredResult, which has the client call again with its person's answer.

    Raises ToolRefused.
    """
    token = _ACCESS.set(access)
    try:
        return await TOOL.run({name: getattr(arguments, name) for name in _NAMES}, ctx)
    except ToolError as error:
        cause = error.__cause__
        raise (cause if isinstance(cause, ToolRefused) else ToolRefused(plain(str(error), 600))) from None
    finally:
        _ACCESS.reset(token)
