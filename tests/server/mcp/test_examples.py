"""Each of the five example runs, driven to its end by an assistant that knows nothing of the repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.assistants_live.reading import read_step
from tests.roots import EXAMPLES
from tests.server.mcp.driving import drive
from tests.server.mcp.rig import ERAS, async_test, call, rig, text_of
from tests.server.mcp.test_deciding import Person

LATE_FEES = ".ai-tools-chain/tasks/late-fees"
LOOP = ".claude/state"
LISTS = ".orchestrator/tasks/reading-lists"
DESIGN = ".phasekeeper/sessions/lending-design"
CHILD = ".phasekeeper/sessions/lending-reminders"
TUNING = ".workflow/.scratchpad/skill-tuning-book-finder"
eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The examples, as a repository that somebody worked in an hour ago."""
    root = tmp_path / "repository"
    shutil.copytree(EXAMPLES, root, ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
    (root / ".git").mkdir()
    an_hour_ago = time.time() - 3_600
    for path in sorted(root.rglob("*")):
        os.utime(path, (an_hour_ago, an_hour_ago))
    return root


def steps(root: Path, run: str) -> list[str]:
    """What was reported, in order."""
    lines = (root / run / ".phasekeeper/journal.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [
        f"{e['phase']} {e['outcome']}" for e in entries if e["kind"] == "report" and e.get("channel") == "mcp"
    ]


@pytest.mark.parametrize("run", [LATE_FEES, LOOP, LISTS, DESIGN, CHILD, TUNING])
@async_test
async def test_data_and_text_alone_say_the_same_of_the_next_step(repository: Path, run: str) -> None:
    """Claude Code and Codex hand on data alone, Gemini text alone."""
    async with rig() as r, r.client(repository) as client:
        result = await client.call_tool("next_step", {"run": run})
        text, data = read_step(text_of(result)), read_step(json.dumps(result.structured_content))
        assert (text.told, data.told) == ("text", "data")
        assert text._replace(told="") == data._replace(told="")


@async_test
async def test_what_the_text_says_of_questions_and_notes_is_in_the_data(repository: Path) -> None:
    async with rig() as r, r.client(repository) as client:
        waits = await call(client, "next_step", run=LOOP)
        [question] = waits["questions"]
        assert [option["id"] for option in question["options"]] == ["resolve", "lower", "stop"]
        assert waits["decides"].startswith("a person, never you: request_decision")
        asked = await call(client, "escalations", run=LOOP)
        assert asked["decides"] == waits["decides"]
        [note] = (await call(client, "next_step", run=LISTS))["notes"]
        assert note["title"] == "State checkpoint"
        assert note["text"].startswith("[PHASE 2 | Tasks 03-06] F1 OK")


@eras
@async_test
async def test_skill_tuning_is_driven_to_its_end(repository: Path, era: str) -> None:
    async with rig() as r, r.client(repository, era) as client:
        end = await drive(client, TUNING)
    assert end["status"] == "complete"
    assert steps(repository, TUNING) == [f"action-{name} ok" for name in ("apply-fix", "verify", "complete")]


@eras
@async_test
async def test_the_artifact_pipeline_stops_for_the_person_who_accepts(repository: Path, era: str) -> None:
    person = Person(decision="accepted", reason="the fees are right")
    async with rig() as r, r.client(repository, era, elicitation_callback=person) as client:
        waits = await drive(client, LATE_FEES)
        assert (waits["status"], waits["currentPhase"]) == ("waiting_human", "accept")
        assert [each["id"] for each in waits["questions"]] == ["acceptance"]
        await call(client, "request_decision", run=LATE_FEES)
        end = await drive(client, LATE_FEES)
    assert end["status"] == "complete"
    assert set(steps(repository, LATE_FEES)) <= {"codegen ok", "review ok", "test ok"}


@eras
@async_test
async def test_the_master_plan_is_driven_to_its_end(repository: Path, era: str) -> None:
    person = Person(decision="adopt", reason="it was agreed in the meeting")
    async with rig() as r, r.client(repository, era, elicitation_callback=person) as client:
        end = await drive(client, LISTS)
        while end["suggestion"]["kind"] == "escalate" or end["status"] == "waiting_human":
            assert end["questions"], end
            await call(client, "request_decision", run=LISTS)
            end = await drive(client, LISTS)
    assert end["status"] == "complete"
    assert steps(repository, LISTS) == ["F2 complete", "4b pass", "4c ok", "5a pass", "5b pass", "6 ok"]


@eras
@async_test
async def test_the_loop_stops_for_a_severe_item_and_then_runs_until_two_passes_hold(
    repository: Path, era: str
) -> None:
    person = Person(decision="resolve", reason="mend it in this pass")
    async with rig() as r, r.client(repository, era, elicitation_callback=person) as client:
        end = await drive(client, LOOP)
        assert (end["status"], len(person.asked)) == ("waiting_human", 0)
        while end["status"] == "waiting_human":
            await call(client, "request_decision", run=LOOP)
            end = await drive(client, LOOP)
    assert end["status"] == "complete"
    state = json.loads((repository / LOOP / "loop.state.json").read_text(encoding="utf-8"))
    assert state["consecutivePasses"] == 2
    assert {item["status"] for item in state["workQueue"]} == {"done"}
    assert {gate["status"] for gate in state["gates"].values()} == {"passed"}


@eras
@async_test
async def test_the_component_design_is_driven_to_its_end_with_its_child_sessions(
    repository: Path, era: str
) -> None:
    """Where the run waits for child sessions the assistant goes on with each, by the name that it is told."""
    driven: list[str] = []
    async with rig() as r, r.client(repository, era) as client:
        end = await drive(client, DESIGN)
        while end["suggestion"]["kind"] == "wait":
            running = re.search(r"running: ([\w, -]+); each is a run", end["suggestion"]["reason"])
            assert running, end
            for name in running[1].split(", "):
                assert (await drive(client, name))["status"] == "complete"
                driven.append(name)
            end = await drive(client, DESIGN)
    assert end["status"] == "complete"
    assert driven == ["lending-reminders", "lending-design-review"]
    assert steps(repository, DESIGN) == [
        "SpawnComponentDesignSessions ok", "SpawnReviewSession ok", "SpawnReviewSession ok", "Finalize ok",
    ]  # fmt: skip
    review = repository / ".phasekeeper/sessions/lending-design-review/session.json"
    assert json.loads(review.read_text(encoding="utf-8"))["status"] == "complete"
