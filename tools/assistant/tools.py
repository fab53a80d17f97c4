"""The operations that assistants call, in one list: what each takes, what it is for, and what it does.

An operation gets its arguments and an `Access`, by which it looks at runs and writes; it never touches a
file itself. What an operation refuses it raises as `ToolRefused`: one sentence that says what to do instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from ...orchestration.evaluation.reportables import reportable
from ...orchestration.evaluation.trace import EvaluationTrace, check_action
from ...orchestration.journal.journal import Claim
from ...orchestration.result.held_tasks import without_held_tasks
from ...orchestration.result.values import Evaluation, Reportable
from ...orchestration.sanitize import plain
from ...orchestration.states import RunStatus
from ...orchestration.suggestions import did_you_mean
from ...orchestration.updates.commands import AlreadyDone, Command
from ..report_words import report_words
from ..run_filter import STATES, UnknownState
from .access import Access, Outcome, RootRuns, ToolRefused, name_of, select_run
from .answer import TEXT_LIMIT, Answer
from .headers import claims_words, head_of, head_of_root
from .next_step import next_step as next_step_of
from .questions import open_questions
from .run_status import checks_to_run, fleet_status, gates, permission, status

CLAIM_S = 3600
"""A claim made with the next step lasts so many seconds; asking again renews it."""
MOST_WAIT_S = 50
"""Clients give a call up after a minute."""
_MOST_TASKS, _MOST_TEXTS = 200, 4
START = "start"
"""The step of `report` that makes a new run."""
NOTHING_RAISED = "`ask` is empty, so nothing was asked: say in it what a person is to decide"


# ---- arguments --------------------------------------------------------------------------------

Root = Annotated[str, Field(description="absolute path", max_length=4096)]
Run = Annotated[str, Field(description="path or unique end", max_length=4096)]
Start = Annotated[int, Field(description="an answer's `next`", ge=0, le=1_000_000)]
Agent = Annotated[str, Field(description="your unique name", max_length=80)]


class Arguments(BaseModel):
    """The arguments of every tool."""

    model_config = ConfigDict(extra="forbid")
    root: Root = ""


class OfRoot(Arguments):
    start: Start = 0


class Status(OfRoot):
    fleet: Annotated[bool, Field(description="on all machines")] = False
    filter: Annotated[str, Field(description=f"words, {' '.join(STATES)}", max_length=200)] = ""


class OfRun(Arguments):
    run: Run = ""


class NextStep(OfRun, OfRoot):
    claim: Annotated[bool, Field(description="reserve a free task")] = False
    agent: Agent = ""
    token: Annotated[str, Field(max_length=80)] = ""


class CheckGate(OfRun, OfRoot):
    gate: Annotated[str, Field(max_length=200)] = ""
    verify: Annotated[bool, Field(description="run its checks first")] = False


class CheckAction(OfRun):
    step: Annotated[str, Field(description="phase or action", max_length=200)]


class Report(OfRun):
    step: Annotated[str, Field(max_length=200)]
    outcome: Annotated[str, Field(max_length=200)]
    tasks: Annotated[list[str], Field(description="ids", max_length=_MOST_TASKS)] = []
    summary: Annotated[str, Field(description="what was done, or the report's text", max_length=20_000)] = ""
    data: Annotated[dict[str, Any], Field(description="as next_step shows")] = {}
    next: Annotated[str, Field(description="phase to jump to", max_length=200)] = ""
    stage: Annotated[str, Field(max_length=200)] = ""
    agent: Agent = ""
    token: Annotated[int | str | SkipJsonSchema[None], Field(description="a claim's")] = None
    request_id: Annotated[str, Field(description="same on a retry", max_length=80)] = ""
    workflow: Annotated[str, Field(description="step start: of the new run", max_length=200)] = ""
    name: Annotated[str, Field(description="and its name", max_length=200)] = ""


class Escalations(OfRun, OfRoot):
    ask: Annotated[str, Field(description="a question to raise", max_length=4_000)] = ""
    agent: Agent = ""


class RequestDecision(OfRun):
    question: Annotated[str, Field(description="id; default: the only one", max_length=300)] = ""
    override_to: Annotated[str, Field(description="or a phase, against a gate", max_length=200)] = ""


class WaitForChange(OfRun):
    since: Annotated[str, Field(description="the `revision` you know", max_length=64)]
    timeout: Annotated[float, Field(description="seconds", ge=0, le=MOST_WAIT_S)] = 25


# ---- operations -------------------------------------------------------------------------------


async def run_status(access: Access, asked_for: Status) -> Answer:
    place = await access.place(asked_for.root)
    if asked_for.fleet:
        return fleet_status(place, await access.fleet(place), asked_for.start)
    workflows = () if place.runs else await access.workflows(place)
    try:
        return status(place, asked_for.start, place.note, asked_for.filter, workflows, memory=access.memory)
    except UnknownState as error:
        raise ToolRefused(f"filter: {plain(str(error), 300)}") from None


async def run_next_step(access: Access, asked_for: NextStep) -> Answer:
    place = await access.place(asked_for.root, asked_for.run)
    run = select_run(place, asked_for.run)
    children = incomplete_children(place, run)
    claim, token, note = None, "", ""
    if asked_for.claim:
        who = access.who(asked_for.agent)
        run, claim, token = await access.claim(run, who, CLAIM_S, asked_for.token)
        taken = run.plan.schedule.claimed if run.plan else ()
        if taken and not claim:
            note = f"no task is free: {claims_words(run.claims)}; wait_for_change, then ask again"
        elif not claim:
            note = "there is no task to claim in this step; it is done as a whole"
    more = {"token": token, "start": asked_for.start, "note": note, "children": children}
    return await _next_step_answer(access, run, claim=claim, **more)


def incomplete_children(place: RootRuns, run: Evaluation) -> tuple[Evaluation, ...]:
    """The runs beside this one that it reads, that do not read it, and that are not complete.

    A run with a plan has none: it reads its tasks, and those are many.
    """
    if len(place.runs) < 2 or run.plan or run.suggestion.kind.is_final:
        return ()
    folders = dict.fromkeys(path.rpartition("/")[0] for path in run.reads)
    others = (place.runs[folder] for folder in folders if folder in place.runs and folder != run.run)
    return tuple(
        each
        for each in others
        if each.status is not RunStatus.COMPLETE
        and each.root == run.root
        and not any(path.startswith(f"{run.run}/") for path in each.reads)
    )


async def _next_step_answer(
    access: Access, run: Evaluation, claim: Claim | None = None, **more: Any
) -> Answer:
    """The next step, with the texts of the tasks that are to be done first, and what its report needs."""
    run = await access.with_changed_lines(run)
    if claim:
        reports = await access.ask(run, partial(reports_of_task, task=claim.task))
        run = replace(run, suggestion=replace(run.suggestion, reports=reports))
    held = () if claim else await access.held_tasks(run)
    ready = [claim.task] if claim else without_held_tasks(run, held).suggestion.tasks[:_MOST_TEXTS]
    tasks = [task for task in map(run.plan.task, ready) if task and task.path] if run.plan else []
    texts = {task.id: text for task in tasks if (text := await access.text(run, task.path))}
    said = {"texts": texts, "claim": claim, "held": held, **more}
    return access.memory.of(run, "next step", said, partial(next_step_of, run, **said))


def reports_of_task(steps: EvaluationTrace, task: str) -> tuple[Reportable, ...]:
    """The reports of the next step, with what one about this task alone has to come with."""
    return tuple(reportable(steps.facts, each.step, [task]) for each in steps.evaluation.suggestion.reports)


async def run_check_gate(access: Access, asked_for: CheckGate) -> Answer:
    run = select_run(await access.place(asked_for.root, asked_for.run), asked_for.run)
    outcomes: Sequence[Outcome] | None = ()
    if asked_for.verify:
        names = checks_to_run(run, asked_for.gate)
        outcomes = await access.run_checks(run, names)
        run = await access.again(run)
    run = await access.with_changed_lines(run)
    return gates(run, asked_for.gate, asked_for.start, outcomes)


async def run_check_action(access: Access, asked_for: CheckAction) -> Answer:
    run = select_run(await access.place(asked_for.root, asked_for.run), asked_for.run)

    def answer(steps: EvaluationTrace) -> Answer:
        given = check_action(steps, asked_for.step)
        if given is None:
            workflow = steps.facts.workflow
            known = did_you_mean(asked_for.step, [*workflow.phases, *workflow.actions])
            raise ToolRefused(f"{workflow.name} has no phase or action {plain(asked_for.step, 80)!r}{known}")
        return permission(steps.evaluation, given)

    return await access.ask(run, answer)


async def run_report(access: Access, asked_for: Report) -> Answer:
    place = await access.place(asked_for.root, asked_for.run or None)
    means_no_run = asked_for.step == START and not asked_for.run and len(place.runs) != 1
    if asked_for.workflow or asked_for.name or means_no_run:
        return await _start_run(access, asked_for, place)
    run = select_run(place, asked_for.run)
    wanted = Command(
        kind="report", step=asked_for.step, outcome=asked_for.outcome, stage=asked_for.stage,
        tasks=tuple(asked_for.tasks), next=asked_for.next, message=asked_for.summary, data=asked_for.data,
        actor=access.who(asked_for.agent), channel="mcp", request=asked_for.request_id,
    )  # fmt: skip
    try:
        after, records = await access.act(run, wanted, asked_for.token)
    except AlreadyDone as why:
        note = f"nothing to record: {plain(str(why), 400)}"
        return await _next_step_answer(access, await access.again(run), note=note)
    recorded = report_words(asked_for.step, asked_for.outcome, after, records)
    if after.status is RunStatus.WAITING:
        # It may wait for runs that this report has made.
        place = await access.place(asked_for.root, asked_for.run or None)
    children = incomplete_children(place, after)
    return await _next_step_answer(access, after, recorded=recorded, children=children)


async def _start_run(access: Access, asked_for: Report, place: RootRuns) -> Answer:
    """Start a run, which `report` does as its step `start`: clients let people allow writing by tool."""
    if asked_for.step != START or not (asked_for.workflow and asked_for.name):
        known = ", ".join(await access.workflows(place))
        raise ToolRefused(
            f'`workflow` and `name` start a new run, both of them, with step="{START}"; '
            f"a report about a run that is there takes neither; workflows: {plain(known, 1_000)}"
        )
    who = access.who(asked_for.agent)
    try:
        run = await access.start(place, asked_for.workflow, asked_for.name, asked_for.summary, who)
    except ToolRefused:
        # Which can be started is looked up only then: every definition is read for it.
        if asked_for.workflow in (startable := await access.workflows(place)):
            raise
        name, known = plain(asked_for.workflow, 80), did_you_mean(asked_for.workflow, startable)
        raise ToolRefused(f"no workflow is called {name!r} of which a run can be started{known}") from None
    return await _next_step_answer(access, run, recorded=f"the start of {plain(run.run, 200)}")


async def run_escalations(access: Access, asked_for: Escalations) -> Answer:
    place = await access.place(asked_for.root, asked_for.run or None)
    is_empty = "ask" in asked_for.model_fields_set and not asked_for.ask.strip()
    note = NOTHING_RAISED if is_empty else ""
    if not (asked_for.ask.strip() or asked_for.run):
        runs = list(place.runs.values())
        return open_questions(*head_of_root(place), runs, asked_for.start, note)
    run = select_run(place, asked_for.run)
    if asked_for.ask.strip():
        who = access.who(asked_for.agent)
        wanted = Command(kind="raise", message=asked_for.ask, actor=who, channel="mcp")
        run = (await access.act(run, wanted, None)).run
    return open_questions(*head_of(run), [run], asked_for.start, note)


async def run_wait_for_change(access: Access, asked_for: WaitForChange) -> Answer:
    place = await access.place(asked_for.root, asked_for.run or None)
    name = name_of(place, asked_for.run) if asked_for.run else ""
    known = access.is_known(place, name if asked_for.run else None, asked_for.since)
    after = await access.wait(place, name, asked_for.since, asked_for.timeout) if known else place
    if name and name not in after.runs:
        raise ToolRefused(f"{plain(name, 300)} is no run any more; call status")
    revision = after.runs[name].revision if asked_for.run else after.totals.revision
    changed = asked_for.since != revision if known else None
    note = _CHANGES[changed]
    if changed is None:
        about = "this run" if asked_for.run else "all runs of the root; that of one run needs `run`"
        note = f"{note} of {about}: nothing was waited for; wait with since={revision}"
    if asked_for.run:
        answer = await _next_step_answer(access, after.runs[name])
        answer = Answer(f"{note}\n{answer.text}"[:TEXT_LIMIT], {"note": note, **answer.data})
    else:
        answer = status(after, note=note, memory=access.memory)
    return answer._replace(data={**answer.data, "changed": changed})


# Whether there was a change; None where `since` is nothing to compare with.
_CHANGES = {True: "changed", False: "nothing changed", None: "`since` is no known revision"}


# ---- the list ---------------------------------------------------------------------------------


class Tool(NamedTuple):
    """One operation; one that only reads may be repeated. `run` is None where only a person can do it and the
    server asks that person itself."""

    name: str
    title: str
    about: str
    arguments: type[Arguments]
    run: Callable[[Access, Any], Awaitable[Answer]] | None
    read_only: bool = True
    destructive: bool = False


# To add a tool: one function, its arguments, and one entry here. The cap of 8 tools and 6,000 characters of
# the list that clients are sent (design, section 7) is reached: something has to go, or to become shorter.
TOOLS: tuple[Tool, ...] = (
    Tool(
        "status",
        "All runs",
        "Every run (piece of work): phase, status, next step, who is awaited. Start here.",
        Status,
        run_status,
    ),
    Tool(
        "next_step",
        "Next step",
        "What to do now, and why: phase, role, files to write, tasks, what may run in parallel, "
        "what is forbidden, limits, how to report.",
        NextStep,
        run_next_step,
        read_only=False,
    ),
    Tool(
        "check_gate",
        "Gates",
        "Whether gates are passed, failed or open, on what that rests, and each criterion with its evidence.",
        CheckGate,
        run_check_gate,
        read_only=False,
    ),
    Tool(
        "check_action",
        "May I do this now?",
        "Ask before you start a phase or action: allowed, or forbidden with the gate's reason.",
        CheckAction,
        run_check_action,
    ),
    Tool(
        "report",
        "Report an outcome",
        "Record what a step came to; refused out of turn. Answers with the next step. A gate that only a "
        'report passes says so. Step "start" begins a new run.',
        Report,
        run_report,
        read_only=False,
    ),
    Tool(
        "escalations",
        "Questions to people",
        "What people are asked and how they answer. With `ask`, raise a question when you cannot go on.",
        Escalations,
        run_escalations,
        read_only=False,
    ),
    Tool(
        "request_decision",
        "Ask a person",
        "Have the person answer an open question, or go against a gate, in a dialog. Never decide for them; "
        "where no dialog is possible you get the command for the person.",
        RequestDecision,
        None,
        read_only=False,
        destructive=True,
    ),
    Tool(
        "wait_for_change",
        "Wait for a change",
        "Wait until a run or root is not at `since` any more, then say how it stands.",
        WaitForChange,
        run_wait_for_change,
    ),
)
