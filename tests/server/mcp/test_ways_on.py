"""Every answer has a way on: what is called next, in the tools that the assistant has, and whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from phasekeeper.server.cli.commands.init import copy_examples
from phasekeeper.tools.assistant.next_step import ENDED
from phasekeeper.tools.assistant.tool_names import as_tools
from phasekeeper.tools.assistant.tools import NOTHING_RAISED

from tests.roots import TASKS, choosing, loop, plan, put, task
from tests.server.mcp.rig import ERAS, async_test, call, refusal, rig, text
from tests.server.mcp.test_tools import tools_as_json

T1 = f"{TASKS}/T1"
LOOP = ".claude/state"
eras = pytest.mark.parametrize("era", ERAS)


# ---- finding a run ----------------------------------------------------------------------------


@async_test
async def test_runs_that_wait_or_fail_come_first_and_a_filter_leaves_the_others_out(root: Path) -> None:
    task(root, "A1")
    task(root, "T1")
    put(root / TASKS / "T0/state.json", "{")
    loop(root)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "status")
        shown = [(each["run"], each["revision"]) for each in data["runs"]]
        assert [name for name, _ in shown[:2]] == [LOOP, f"{TASKS}/T0"]
        assert (data["count"], data["awaitingPerson"]) == (4, 1)
        for name, revision in shown:
            assert (await call(client, "next_step", run=name))["revision"] == revision
        found = await call(client, "status", filter="@waiting")
        assert [each["run"] for each in found["runs"]] == [LOOP]
        found = await call(client, "status", filter="ARTIFACT-pipeline @active")
        assert {each["run"] for each in found["runs"]} == {f"{TASKS}/A1", T1}
        assert found["filtered"] == '2 of 4 fit "ARTIFACT-pipeline @active"'
        assert (await call(client, "status", filter="nothing like it"))["runs"] == []
        refused = await refusal(client, "status", filter="@wait")
        assert refused == "filter: '@wait' is no state; there are @waiting, @failed, @active, @job, @done"


@async_test
async def test_a_page_beyond_the_end_says_so(root: Path) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        for tool, more in (("status", {}), ("check_gate", {"run": "T1"})):
            data = await call(client, tool, start=99_999, **more)
            assert data["note"].startswith("start=99999 is beyond the end: there are ")
            assert "next" not in data


@eras
@async_test
async def test_an_absolute_path_is_the_name_of_a_run_and_so_is_one_of_a_file_in_it(
    root: Path, era: str
) -> None:
    task(root, "T1")
    loop(root)
    async with rig() as r, r.client(root, era) as client:
        for name in (root / T1, root / T1 / "state.json", f"{root / T1}/"):
            assert (await call(client, "next_step", run=str(name)))["run"] == T1
        assert "there is no run '/nowhere/T9'; " in await refusal(client, "next_step", run="/nowhere/T9")


# ---- a first run ------------------------------------------------------------------------------


@eras
@async_test
async def test_an_assistant_that_finds_no_run_starts_one_by_what_it_is_told(root: Path, era: str) -> None:
    async with rig() as r, r.client(root, era) as client:
        for tool, more in (("next_step", {}), ("check_gate", {}), ("request_decision", {})):
            assert "status says how one is started" in await refusal(client, tool, **more)
        hint = (await call(client, "status"))["hint"]
        assert 'report(step="start", outcome="ok", workflow=WORKFLOW, name=NAME' in hint
        assert "artifact-pipeline" in hint
        said = {"step": "start", "outcome": "ok", "workflow": "artifact-pipeline", "name": "fees"}
        begun = await call(client, "report", **said, summary="Fees for late returns")
        assert (begun["run"], begun["title"]) == (f"{TASKS}/fees", "Fees for late returns")
        assert begun["recorded"] == f"the start of {TASKS}/fees"
        assert begun["suggestion"]["produce"][0]["path"] == f"{TASKS}/fees/planning/planning.ai.json"
        assert [each["run"] for each in (await call(client, "status"))["runs"]] == [f"{TASKS}/fees"]
        assert "next_step" in await refusal(client, "report", **said)


@async_test
async def test_a_start_that_lacks_something_or_names_no_workflow_says_what(root: Path) -> None:
    async with rig() as r, r.client(root) as client:
        said = {"step": "start", "outcome": "ok", "name": "fees"}
        assert "both of them" in await refusal(client, "report", **said)
        both = "both of them, with step="
        assert both in await refusal(client, "report", **{**said, "step": "x"}, workflow="master-plan")
        known = "did you mean 'artifact-pipeline'"
        assert known in await refusal(client, "report", **said, workflow="artefact-pipeline")
        assert not (root / ".ai-tools-chain").exists()


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", tools_as_json(), ids=lambda tool: tool["name"])
def test_a_schema_lets_a_client_refuse_arguments_that_a_tool_does_not_take(tool: dict[str, Any]) -> None:
    assert tool["inputSchema"]["additionalProperties"] is False


@async_test
async def test_wrong_arguments_are_answered_with_those_that_there_are(root: Path) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        said = await refusal(client, "status", run="T1")
        assert said.startswith("status takes no 'run'; next_step, check_gate, check_action, report do. ")
        assert "status takes root (absolute path), start (" in said
        said = await refusal(client, "report", stp="codegen", outcome="ok")
        assert "'step' is needed; report takes no 'stp'; did you mean 'step'?" in said
        assert "outcome (needed)" in said


@async_test
async def test_no_refusal_has_a_command_line_that_a_tool_stands_for(root: Path) -> None:
    task(root, "T1", ok=True)
    async with rig() as r, r.client(root) as client:
        refused = [
            await refusal(client, "report", run="T1", step="accept", outcome="ok"),
            await refusal(client, "report", run="T1", step="codegen", outcome="nothing"),
            await refusal(client, "report", run="T1", step="nothing", outcome="ok"),
            await refusal(client, "report", run="nothing", step="codegen", outcome="ok"),
            await refusal(client, "check_gate", run="T1", gate="nothing"),
            await refusal(client, "request_decision", run="T1"),
        ]
    for said in refused:
        assert not re.search(r"phasekeeper (next|status|gates|can|questions|report|answer|approve)\b", said)


def test_commands_become_tools_and_what_only_a_person_can_type_says_so() -> None:
    assert as_tools("`phasekeeper next --run x` shows it") == "next_step shows it"
    assert as_tools("see `phasekeeper override r`") == "see request_decision with `override_to`"
    assert (
        as_tools("`phasekeeper repair r` mends it") == "`phasekeeper repair r` (typed by a person) mends it"
    )
    assert as_tools("claim it again with `phasekeeper claim`") == "claim it again with next_step with `claim`"
    assert as_tools("phasekeeper next") == "phasekeeper next"


# ---- what is said of a step -------------------------------------------------------------------


@eras
@async_test
async def test_a_fresh_loop_says_in_data_and_text_how_its_first_step_is_done(root: Path, era: str) -> None:
    async with rig() as r, r.client(root, era) as client:
        said = {"step": "start", "outcome": "ok", "workflow": "phase-loop", "name": "import"}
        begun = await call(client, "report", **said, summary="Import the old catalogue")
        [due] = begun["suggestion"]["reports"]
        assert "report that as stateUpdates.classification" in due["instructions"]
        assert f'\nhow: "{due["instructions"]}"\n' in await text(client, "next_step")


@async_test
async def test_the_text_of_each_task_that_can_be_done_now_is_given_or_its_file_named(root: Path) -> None:
    root = root / "demo"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "next_step", run="reading-lists")
        first, second = data["tasks"]
        assert data["taskText"].startswith("# 03. ")
        given = [each["id"] for each in data.get("moreTaskTexts", ())]
        assert given == [second["id"]] or second["path"].endswith("04-export.md")
        whose = f"what a task asks for stands in the file at its path; taskText is that of {first['id']}"
        assert whose in data["words"]


@async_test
async def test_the_texts_of_further_tasks_are_given_where_there_is_room(root: Path) -> None:
    plan(root, "shelves", 3, done=1)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "next_step")
        first, second = data["tasks"]
        [more] = data["moreTaskTexts"]
        assert (more["id"], more["text"] != data["taskText"]) == (second["id"], True)
        claimed = await call(client, "next_step", claim=True)
        assert claimed["claim"]["task"] == first["id"]
        assert "moreTaskTexts" not in claimed
        assert not [word for word in claimed["words"] if "taskText" in word]


@async_test
async def test_gates_that_hold_the_run_back_are_named_with_the_status_that_they_have(root: Path) -> None:
    root = root / "demo"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "check_gate", run="reading-lists")
        [gate] = [each for each in data["gates"] if each["inForce"] and each["status"] in ("open", "failed")]
        assert data["summary"] == f"not passed, so it holds the run back: {gate['id']} ({gate['status']})"


@async_test
async def test_a_filter_for_what_is_active_hides_no_run_with_an_error(root: Path) -> None:
    root = root / "demo"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        runs = (await call(client, "status"))["runs"]
        active = {each["run"] for each in runs if each["status"] == "active"}
        found = {each["run"] for each in (await call(client, "status", filter="@active"))["runs"]}
        failed = {each["run"] for each in (await call(client, "status", filter="@failed"))["runs"]}
        assert found == active
        assert active & failed


# ---- questions and waiting --------------------------------------------------------------------


@eras
@async_test
async def test_the_options_of_a_question_are_never_cut(root: Path, era: str) -> None:
    options = {"a": "x" * 150 + " the end", "b": "y" * 150 + " the end"}
    choosing(root, options)
    async with rig() as r, r.client(root, era) as client:
        for tool in ("next_step", "escalations"):
            data, said = await call(client, tool), await text(client, tool)
            [question] = data["questions"]
            assert {each["id"]: each["text"] for each in question["options"]} == options
            assert [each for each in options.values() if each not in said] == []


@async_test
async def test_a_question_that_no_answer_could_hold_says_that_it_is_cut(root: Path) -> None:
    choosing(root, {f"o{number}": "z" * 290 for number in range(8)})
    async with rig() as r, r.client(root) as client:
        [question] = (await call(client, "escalations"))["questions"]
        assert "shows the person all of it" in question["cut"]
        assert [each["id"] for each in question["options"]] == [f"o{number}" for number in range(8)]


@async_test
async def test_a_wait_for_a_job_names_where_it_is_seen_and_how_to_hear_of_its_end(root: Path) -> None:
    root = root / "demo"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "next_step", run="lending-design")
        [_, how] = data["words"]
        assert f'wait_for_change(run="{data["run"]}", since="{data["revision"]}")' in how
        assert "until its session.json has the status complete" in data["suggestion"]["reason"]
        assert how in await text(client, "next_step", run="lending-design")


@async_test
async def test_a_person_is_awaited_only_where_the_run_stands_still_for_one(root: Path) -> None:
    root = root / "demo"
    copy_examples(root)
    state = root / ".workflow/.scratchpad/skill-tuning-book-finder/state.json"
    fixed = {**json.loads(state.read_text()), "pending_fixes": []}
    fixed["applied_fixes"] = [{"fix_id": "FIX-1", "verification_result": "pending"}]
    put(state, fixed)
    async with rig() as r, r.client(root) as client:
        data = await call(client, "next_step", run="skill-tuning-book-finder")
        assert (data["status"], data["suggestion"]["action"]) == ("active", "action-verify")
        assert "waitingFor" not in data["suggestion"]
        assert data["besides"].startswith("a person may look at this besides; nobody is asked, so go on")
        assert "\nawaited" not in await text(client, "next_step", run="skill-tuning-book-finder")
        asked = await call(client, "next_step", run=LOOP)
        assert asked["suggestion"]["waitingFor"].startswith("person: ")


@eras
@async_test
async def test_a_revision_of_status_can_be_waited_on_and_an_unknown_one_is_told(root: Path, era: str) -> None:
    task(root, "T1")
    loop(root)
    async with rig() as r, r.client(root, era) as client:
        whole = await call(client, "status")
        revisions = {each["run"]: each["revision"] for each in whole["runs"]}
        still = await call(client, "wait_for_change", run="T1", since=revisions[T1], timeout=0)
        assert still["changed"] is False
        for since in ("garbage", whole["revision"], revisions[LOOP]):
            unknown = await call(client, "wait_for_change", run="T1", since=since)
            assert unknown["changed"] is None
            assert unknown["note"] == (
                "`since` is no known revision of this run: nothing was waited for; "
                f"wait with since={revisions[T1]}"
            )
        of_all = await call(client, "wait_for_change", since=revisions[T1])
        assert (of_all["changed"], "needs `run`" in of_all["note"]) == (None, True)
        put(root / T1 / "review/plan-review.json", {"ok": False})
        await r.engine.refresh(root, [root / T1 / "review/plan-review.json"])
        after = await call(client, "wait_for_change", run="T1", since=revisions[T1])
        assert after["changed"] is True
        again = await call(client, "wait_for_change", since=whole["revision"])
        assert again["changed"] is True


# ---- data alone -------------------------------------------------------------------------------

# Words that join what is said; what they join is data.
_JOINING = frozenset(
    re.findall(
        "[a-z]+",
        """
        a again all also an and are as ask asked at await awaited awaits because besides
        by complete decides do done errors evidence example fill for forbidden from gate gates go goes has
        have if in is it
        its know limits like may met more needs next no not now nobody of on open or other out passed
        person phase progress report reported revise revision run runs say says shown side since so
        start step summary task tasks than that the then there they this to true turn type until wait
        what when where which who with work write you your unknown row check files options instead
        allowed dialog asks yours none reached data ids did
        """,
    )
)


@async_test
async def test_who_gets_the_data_alone_misses_no_word_of_the_text(root: Path) -> None:
    """Claude Code and Codex give a model `structuredContent` and nothing else."""
    root = root / "demo"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        names = [each["run"] for each in (await call(client, "status"))["runs"]]
        calls: list[tuple[str, dict[str, Any]]] = [("status", {}), ("escalations", {})]
        calls += [(tool, {"run": run}) for run in names for tool in ("next_step", "check_gate")]
        for tool, arguments in calls:
            said = await text(client, tool, **arguments)
            data = json.dumps(await call(client, tool, **arguments), ensure_ascii=False).lower()
            words = set(re.findall(r"[a-z]{2,}", said.lower())) - _JOINING
            missing = sorted(word for word in words if word not in data)
            assert missing == [], (tool, arguments)


# ---- prompts ----------------------------------------------------------------------------------


@eras
@async_test
async def test_a_prompt_without_a_run_lists_those_there_are_to_choose_from(root: Path, era: str) -> None:
    plan(root, "lists", 2)
    loop(root)
    async with rig() as r, r.client(root, era) as client:
        [message] = (await client.get_prompt("next", {})).messages
        said = json.dumps(message.model_dump(mode="json"))
        assert "ask which one is meant" in said
        assert f"- {LOOP}: waiting_human" in said
        assert "- .orchestrator/tasks/lists: " in said
        with pytest.raises(MCPError, match="there is no run 'nothing'"):
            await client.get_prompt("next", {"run": "nothing"})


# ---- what people are asked --------------------------------------------------------------------


@async_test
async def test_every_open_question_has_its_command_and_the_one_that_holds_the_run_comes_first(
    root: Path,
) -> None:
    loop(root)
    async with rig() as r, r.client(root) as client:
        asked = (await call(client, "escalations", ask="is it ok?"))["questions"]
        raised = asked[0]["id"]
        assert [(each["id"], each["holds"]) for each in asked] == [(raised, True), ("severe:1:WQ-1", False)]
        data = await call(client, "next_step")
        assert [each["id"] for each in data["questions"]] == [raised, "severe:1:WQ-1"]
        assert data["holds"] == raised and data["suggestion"]["reason"] == "an agent asks a person: is it ok?"
        assert data["decideEach"] == {each["id"]: each["decide"] for each in asked}
        assert data["decide"] == data["decideEach"][raised]
        assert f'request_decision(question="{raised}")' in await text(client, "next_step")
        said = await refusal(client, "report", step="plan", outcome="ok")
        assert f'a person decides first (request_decision(run="{LOOP}", question="{raised}"))' in said


@async_test
async def test_a_question_without_words_is_not_raised_and_the_answer_says_so(root: Path) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        for more in ({"run": "T1"}, {}):
            data = await call(client, "escalations", ask=" ", **more)
            assert (data["note"], data["questions"]) == (NOTHING_RAISED, [])
            assert "note" not in await call(client, "escalations", **more)


@async_test
async def test_where_nothing_is_decided_run_or_named_the_refusal_says_what_is_called(
    root: Path,
) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        said = await refusal(client, "request_decision", run="T1")
        assert said.endswith("next_step says what is to be done, and escalations with `ask` puts a question "
                             "of yours to a person")  # fmt: skip
        said = await refusal(client, "check_gate", run="T1", verify=True)
        assert "check_gate without `verify` shows on what else" in said
        said = await refusal(client, "report", run="T1", step="codegen", outcome="ok", tasks=["FIX-9"])
        assert said == "'FIX-9' is no task: this run has no plan; leave `tasks` out"
        said = await refusal(client, "request_decision", run="T1", override_to="planned")
        assert "unknown phase 'planned'" in said


@async_test
async def test_an_argument_is_named_as_the_tool_has_it(root: Path) -> None:
    loop(root)
    said = "`phasekeeper answer a/b c:1` or `--to x`; `--task 01`, `--report FILE`, `--next done`, `--other`"
    assert as_tools(said) == (
        'request_decision(run="a/b", question="c:1") or override_to="x"; tasks=["01"], `summary`, '
        'next="done", `--other`'
    )
    assert as_tools("`phasekeeper answer 'a`") == "request_decision"
    async with rig() as r, r.client(root) as client:
        no = await call(client, "check_action", step="classify")
        assert "--next" not in json.dumps(no)


@async_test
async def test_a_jump_is_told_with_what_it_leaves_out(root: Path) -> None:
    loop(root, phase="classify", workQueue=[])
    async with rig() as r, r.client(root) as client:
        jumped = await call(client, "report", step="classify", outcome="ok", next="evaluate")
        assert jumped["recorded"].startswith(
            "classify ok; it jumps to evaluate and leaves out contextualize, assess"
        )


@async_test
async def test_a_run_that_waits_for_other_runs_names_their_next_steps_first(tmp_path: Path) -> None:
    root = tmp_path / "examples"
    copy_examples(root)
    async with rig() as r, r.client(root) as client:
        waiting = await call(client, "next_step", run="lending-design")
        call_of = 'next_step(run=".phasekeeper/sessions/lending-reminders")'
        first, second = waiting["words"][:2]
        assert first == f"first do what the runs need that it waits for: {call_of}"
        assert second.startswith("it goes on when")
        child = await call(client, "next_step", run="lending-reminders")
        assert not [line for line in child["words"] if "runs need" in line]


@async_test
async def test_a_warning_of_the_files_stands_with_the_next_step_too(root: Path) -> None:
    loop(root, workQueue=[], gates={"spelling": {"status": "failed", "blocking": False}})
    async with rig() as r, r.client(root) as client:
        (found,) = (await call(client, "next_step"))["findings"]
    assert (found["severity"], found["code"]) == ("warning", "gate-failing")


@async_test
async def test_runs_that_a_report_has_made_are_named_as_what_it_waits_for(root: Path) -> None:
    async with rig() as r, r.client(root) as client:
        await call(client, "report", step="start", outcome="ok", workflow="component-design", name="shop")
        await call(client, "report", step="Initialize", outcome="ok", summary="a branch")
        components = [{"id": "cart", "artifact_path": "docs/cart.md"}]
        step = {"step": "SpawnComponentDesignSessions", "outcome": "ok", "data": {"components": components}}
        waiting = await call(client, "report", run="shop", **step)
        call_of = 'next_step(run=".phasekeeper/sessions/cart")'
        assert waiting["words"][0] == f"first do what the runs need that it waits for: {call_of}"


@async_test
async def test_the_end_of_a_run_that_is_not_complete_says_how_another_begins(root: Path) -> None:
    async with rig() as r, r.client(root) as client:
        await call(client, "report", step="start", outcome="ok", workflow="skill-tuning", name="t")
        ended = await call(client, "report", step="pending", outcome="exit", summary="the user wants no more")
        assert (ended["status"], ended["final"]) == ("exited", ENDED)
        said = await refusal(client, "request_decision", override_to="running")
        assert said.endswith('the end of the run; report with step="start" begins a new run')
