"""A person's decision, asked by the client's own dialog, in both eras of the protocol."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.cli.main import main
from phasekeeper.server.mcp.uris import resource_uri
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, choosing, loop, plan, task
from tests.server.mcp.rig import ERAS, async_test, call, refusal, rig, text

RUN = ".claude/state"
QUESTION = "severe:1:WQ-1"
eras = pytest.mark.parametrize("era", ERAS)


class Person:
    """Who sits at the client, and what the dialog said."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.action, self.content = action, content
        self.asked: list[types.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        content = self.content if self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)


def records(root: Path, run: str = RUN) -> list[dict[str, Any]]:
    path = root / run / ".phasekeeper/journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@eras
@async_test
async def test_what_the_person_decides_is_recorded_and_signed(root: Path, era: str) -> None:
    loop(root)
    person = Person(decision="resolve", reason="it is being mended")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        data = await call(client, "request_decision")
        assert data["recorded"] == f"answered {QUESTION} resolve, by a person"
        assert data["status"] == "active"
        [content] = (await client.read_resource(resource_uri(str(root), RUN, "history"))).contents
        assert isinstance(content, types.TextResourceContents)
        assert [each["kind"] for each in json.loads(content.text)["records"]] == ["answer"]
    [entry] = records(root)
    assert (entry["kind"], entry["option"], entry["why"]) == ("answer", "resolve", "it is being mended")
    assert (entry["actor"], entry["channel"], len(entry["mac"])) == ("Ada <ada@example.org>", "mcp", 64)
    assert entry["program"] == "mcp 0.1.0"


@eras
@async_test
async def test_the_dialog_shows_what_the_files_and_the_definition_say(root: Path, era: str) -> None:
    loop(root)
    person = Person("decline")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        data = await call(client, "request_decision", question=QUESTION)
        assert data["decided"] is False
    [asked] = person.asked
    assert "Severity S0 or worse is open: WQ-1 (broken). How to go on?" in asked.message
    shown = asked.message.splitlines()
    for option, afterwards in (
        ("resolve: let the loop resolve", "active"),
        ("stop: stop the loop", "failed"),
    ):
        [at] = [at for at, line in enumerate(shown) if line.startswith(f"- {option}")]
        assert shown[at + 1].startswith(f"  afterwards: {afterwards} in plan")
    assert asked.requested_schema["properties"]["decision"]["enum"] == ["resolve", "lower", "stop"]
    assert asked.requested_schema["required"] == ["decision", "reason"]
    assert records(root) == []


@eras
@async_test
async def test_what_has_changed_since_it_was_approved_can_be_approved_anew(root: Path, era: str) -> None:
    """Nobody is asked, for the work goes on; an assistant that read of it can have its person decide."""
    path, name = plan(root, "lists", 3) / "MASTER_PLAN.md", ".orchestrator/tasks/lists"
    workspace, approval = (
        Workspace(root),
        Command("answer", question="plan", option="approve", why="it is right"),
    )
    apply.record_decision(workspace, apply.prepare_decision(workspace, name, approval), "ann", "terminal")
    (root / "made.py").write_text("")
    apply.apply_command(
        Workspace(root), name,
        Command("report", "4a", "complete", tasks=("lists-1",), message="wrote made.py", actor="ann"),
    )  # fmt: skip
    path.write_text(path.read_text().replace("Step 3", "Step 3 and what follows"))
    person = Person(decision="approve", reason="it says more now")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        assert "approval-stale" in {each["code"] for each in await findings(client, name)}
        assert "nothing is asked" in await refusal(client, "request_decision", run="lists")
        data = await call(client, "request_decision", run="lists", question="plan")
        assert data["recorded"] == "answered plan approve, by a person"
        assert "approval-stale" not in {each["code"] for each in await findings(client, name)}
        assert "nothing is asked" in await refusal(client, "request_decision", run="lists", question="no")
    assert "Approve the plan?" in person.asked[0].message


async def findings(client: Client, run: str) -> list[dict[str, Any]]:
    root = (await call(client, "status"))["root"]
    [content] = (await client.read_resource(resource_uri(root, run))).contents
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text)["findings"]


@eras
@pytest.mark.parametrize("action", ["decline", "cancel"])
@async_test
async def test_a_person_who_says_no_decides_nothing(root: Path, era: str, action: str) -> None:
    loop(root)
    async with rig() as r, r.client(root, era, elicitation_callback=Person(action)) as client:
        # A program that runs without its person gives such an answer on its own.
        why = f"the dialog came back with {action}: nothing is decided"
        assert (await text(client, "request_decision")).startswith(why)
        data = await call(client, "request_decision")
        assert (data["because"], data["decides"].split(",")[0]) == (why, "a person")
        # What was just called is no way on.
        assert "request_decision" not in data["decides"]
        assert (await call(client, "next_step"))["status"] == "waiting_human"
    assert records(root) == []


@eras
@async_test
async def test_a_client_without_dialogs_gets_the_command_for_the_person(root: Path, era: str) -> None:
    loop(root)
    async with rig() as r, r.client(root, era) as client:
        data = await call(client, "request_decision")
        assert data["decided"] is False
        words = shlex.split(data["decide"])
        # No option is chosen for the person, who reads on the terminal what each leads to.
        assert words[:5] == ["phasekeeper", "answer", RUN, QUESTION, "--root"]
        # Without a terminal not even the very command gets round the person.
        assert main(words[1:]) == 1
        assert (await call(client, "next_step"))["status"] == "waiting_human"
    assert records(root) == []


@eras
@pytest.mark.parametrize(
    "content",
    [{"decision": "resolve"}, {"decision": "resolve", "reason": " "}, {"decision": "all", "reason": "x"}],
)
@async_test
async def test_an_answer_that_lacks_something_decides_nothing(root: Path, era: str, content: Any) -> None:
    loop(root)
    async with rig() as r, r.client(root, era, elicitation_callback=Person(**content)) as client:
        result = await client.call_tool("request_decision", {})
        assert result.is_error or (result.structured_content or {})["decided"] is False
    assert records(root) == []


@eras
@async_test
async def test_nothing_is_decided_about_what_was_changed_meanwhile(root: Path, era: str) -> None:
    loop(root)

    class Slow(Person):
        async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
            if not self.asked:
                loop(root, context={"level": "changed while the dialog was open"})
            return await super().__call__(context, params)

    person = Slow(decision="resolve", reason="as it was")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        result = await client.call_tool("request_decision", {})
        if result.is_error:
            assert "changed meanwhile" in str(result.content)
        else:
            # The newer protocol asks again when what it asked about is not the same any more.
            assert len(person.asked) == 2
    assert len(records(root)) == len(person.asked) - 1


@eras
@async_test
async def test_a_gate_is_overridden_by_the_person_alone(root: Path, era: str) -> None:
    folder = task(root, "T1", ok=False)
    person = Person(decision="override", reason="the review is wrong")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        data = await call(client, "request_decision", run="T1", override_to="codegen")
        assert data["currentPhase"] == "codegen"
        assert (
            'gate "The plan is approved by its review" (plan-review) is failed and will be waived'
            in person.asked[0].message
        )
        person.content = {"decision": "no", "reason": "not again"}
        no = await call(client, "request_decision", run="T1", override_to="test")
        assert no["decided"] is False
    entries = records(root, folder.relative_to(root).as_posix())
    assert [(e["kind"], e["next"], e["channel"]) for e in entries] == [("override", "codegen", "mcp")]


@eras
@async_test
async def test_a_person_takes_up_again_what_a_person_stopped(root: Path, era: str) -> None:
    loop(root)
    person = Person(decision="stop", reason="too dear")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        stopped = await call(client, "request_decision")
        reason = stopped["suggestion"]["reason"]
        assert reason.startswith("a person stopped the loop; request_decision(")
        assert f'(run="{RUN}", override_to="plan") takes it up again' in reason
        state = root / RUN / "loop.state.json"
        assert json.loads(state.read_text())["status"] == "failed"
        person.content = {"decision": "override", "reason": "there is money again"}
        again = await call(client, "request_decision", run=RUN, override_to="plan")
        assert [each["id"] for each in again["questions"]] == [QUESTION]
        assert json.loads(state.read_text())["status"] == "running"


@async_test
async def test_a_decision_that_nobody_is_asked_is_named(root: Path) -> None:
    folder = root / ".phasekeeper/sessions/S"
    folder.mkdir(parents=True)
    finalize = {"command": {"module": "A.Steps.Finalize"}, "result": {"status": "error"}}
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "active"}
    (root / "docs").mkdir()
    for name in ("c.md", "review.md"):
        (root / "docs" / name).write_text("# It\n")
    children = [
        {"id": "c", "type": "ComponentDesignSessions", "status": "complete",
         "state": {"artifact_path": "docs/c.md"}},
        {"id": "r", "type": "ComponentDesignReviewSessions", "status": "complete",
         "state": {"artifact_path": "docs/review.md"}},
    ]  # fmt: skip
    session |= {"child_sessions": children, "interactions": [finalize]}
    (folder / "session.json").write_text(json.dumps(session))
    person = Person(decision="close", reason="there is no remote")
    async with rig() as r, r.client(root, elicitation_callback=person) as client:
        step = await call(client, "next_step")
        assert 'request_decision(run=".phasekeeper/sessions/S", question="finalize")' in str(step)
        said = await refusal(client, "request_decision")
        assert said.endswith("what a person may decide unasked, by its name: finalize")
        closed = await call(client, "request_decision", question="finalize")
        assert closed["status"] == "complete"
        # Who closes a run has it complete: nothing of it is taken up again.
        assert "request_decision" not in closed["suggestion"]["reason"]
    [decision] = [asked.requested_schema["properties"]["decision"] for asked in person.asked]
    assert decision["enum"] == ["close"] and "const" not in decision


@async_test
async def test_no_argument_of_the_call_is_shown_and_file_text_is_shown_safely(root: Path) -> None:
    task(root, "T1", title="\x1b[2Jerased\u202e", ok=False)
    person = Person("decline")
    async with rig() as r, r.client(root, elicitation_callback=person) as client:
        said = await refusal(client, "request_decision", run="T1", question="is all right?")
        assert said.startswith("nothing is asked in this run now: next_step says what is to be done")
        assert "unknown phase" in await refusal(
            client, "request_decision", run="T1", override_to="everything"
        )
        await call(client, "request_decision", run="T1", override_to="codegen")
    [asked] = person.asked
    assert f'run {TASKS}/T1 "\\x1b[2Jerased\\u202e"' in asked.message
    assert all(line.isprintable() for line in asked.message.splitlines())


MANY = {f"option-{number}": f"number {number}" for number in range(1, 11)}


@eras
@async_test
async def test_every_option_that_may_be_chosen_is_shown(root: Path, era: str) -> None:
    choosing(root, MANY)
    person = Person("decline")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        assert (await call(client, "request_decision"))["decided"] is False
    [asked] = person.asked
    shown = asked.message.splitlines()
    assert [line[2:] for line in shown if line.startswith("- ")] == [f"{k}: {v}" for k, v in MANY.items()]
    assert asked.requested_schema["properties"]["decision"]["enum"] == list(MANY)
    assert len(asked.message) <= 2_000


@eras
@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({f"option-{number}": "x" * 60 for number in range(30)}, "Which one?"),
        ({"yes": "go on", "no": "stop: " + "y" * 2_000}, "Which one?"),
        ({"yes": "go on", "no": "stop"}, "Which one? " + "z" * 2_000),
    ],
)
@async_test
async def test_what_a_dialog_cannot_show_whole_is_decided_on_a_terminal(
    root: Path, era: str, options: dict[str, str], asked: str
) -> None:
    choosing(root, options, asked)
    person = Person(decision="yes", reason="it is short")
    async with rig() as r, r.client(root, era, elicitation_callback=person) as client:
        data = await call(client, "request_decision")
        assert data["decided"] is False
        assert shlex.split(data["decide"])[:4] == ["phasekeeper", "answer", "own/T1", "which"]
        said = await text(client, "request_decision")
        assert said.startswith("a dialog cannot show all that is decided: nothing is, the gate stays shut")
        assert (await call(client, "next_step"))["status"] == "waiting_human"
    assert person.asked == [] and records(root, "own/T1") == []
