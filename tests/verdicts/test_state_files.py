"""Native state files and plans say what the evidence carries, in each of their places."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.evaluation.trace import CommandRefused
from phasekeeper.orchestration.plans.master_plan.edits import check_tasks, sync_summaries
from phasekeeper.orchestration.plans.master_plan.reader import read
from phasekeeper.orchestration.updates.commands import Command

from tests.verdicts.runs import Run, built_in

PIPELINE = ".ai-tools-chain/tasks/t"


@pytest.mark.parametrize(
    ("review", "status"), [({"ok": False}, "blocked"), ({"ok": True, "issues": []}, "completed")]
)
def test_a_plan_review_that_blocks_says_so_in_the_state(review: dict[str, object], status: str) -> None:
    run = Run(built_in("artifact-pipeline"), PIPELINE)
    run.write("state.json", {"phase": "plan_review", "actors": {}})
    run.write("planning/planning.ai.json", {"id": "t", "title": "t", "brief": "t"})
    run.write("planning/plan.md", "# Plan\n\nDo it.\n")
    run.write("review/plan-review.json", review).report("plan_review", "ok")
    assert json.loads(run.files[f"{PIPELINE}/state.json"])["actors"]["plan_review"]["status"] == status


def test_interactions_have_ids_of_their_own() -> None:
    run = Run(built_in("component-design"), ".phasekeeper/sessions/s")
    old = {"id": "1", "command": {"module": "Other"}, "result": None}
    run.write(
        "session.json",
        {"id": "s", "type": "ContextComponentsDesignSessions", "status": "active", "interactions": [old]},
    )
    run.report("Initialize", "ok")
    ids = [each["id"] for each in json.loads(run.files[f"{run.at}/session.json"])["interactions"]]
    assert len(set(ids)) == 2 and ids[0].startswith("1-")


PLAN = """# F - Master Plan

## Progress Summary

| Phase | Status | Tasks | Effort |
|---|---|---|---|
| Phase 1: A | [ ] | **0 / 2** | 3h |
| Phase 2: B | [ ] | 0/1 | 1h |

## Phase 1: A

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-t.md` | one | impl | [ ] |
| 2 | f-02 | `02-t.md` | two | **test** | [ ] |

## Phase 2: B

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-03 | `03-t.md` | three | **test** | [ ] |
"""


def test_a_finished_stage_is_counted_in_the_summary_too() -> None:
    before, after = read(PLAN), check_tasks(PLAN, "1")
    assert "| Phase 1: A | [x] | **2 / 2** | 3h |" in after and "| 0/1 |" in after
    plan = read(after)
    assert before and plan and plan.substance == before.substance
    assert [problem.code for problem in plan.problems] == []


def test_a_count_of_the_summary_that_is_not_so_is_drift() -> None:
    plan = read(PLAN.replace("**0 / 2**", "1/4"))
    assert plan
    drift = [problem.message for problem in plan.problems if problem.code == "status-drift"]
    assert drift == ["1/4 for phase 1, but 0 of 2 tasks are done"]
    assert sync_summaries(PLAN.replace("**0 / 2**", "1/4")) == PLAN.replace("**0 / 2**", "0/2")


def test_a_tuning_that_only_says_completed_is_taken_back_by_a_command_and_not_by_a_report() -> None:
    """Seed 003: completed ends the loop, and nothing was come to here."""
    run = Run(built_in("skill-tuning"), ".workflow/.scratchpad/skill-tuning-x")
    state = {"status": "completed", "target_skill": {"name": "x"}, "diagnosis": {}, "completed_actions": []}
    run.write("state.json", state)
    suggestion = run.evaluation.suggestion
    assert (run.standing, suggestion.reports) == ("active regress running", ())
    [fix] = [fix for found in run.evaluation.findings for fix in found.fixes]
    assert fix.command == ("redo", run.at, "running")
    run.apply(Command("redo", "running", why="nothing was done"))
    assert json.loads(run.files[f"{run.at}/state.json"])["status"] == "running"
    assert run.evaluation.suggestion.action == "action-diagnose-context"


@pytest.mark.parametrize("status", ["failed", "user_exit", "running", "pending"])
def test_no_other_status_of_a_tuning_is_taken_back(status: str) -> None:
    run = Run(built_in("skill-tuning"), ".workflow/.scratchpad/skill-tuning-x")
    run.write("state.json", {"status": status, "target_skill": {}, "diagnosis": {}, "completed_actions": []})
    with pytest.raises(CommandRefused):
        run.apply(Command("redo", "running", why="again"))
    assert json.loads(run.files[f"{run.at}/state.json"])["status"] == status


def test_a_report_writes_no_incomplete_elements_in_place_of_those_that_an_edit_took_away() -> None:
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "active", "state": {}}
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S")
    run.write("session.json", {**session, "interactions": [], "child_sessions": []})
    run.report("Initialize", "error", message="no network").report("Initialize", "warning")
    state = json.loads(run.files[f"{run.at}/session.json"])
    run.write("session.json", {**state, "interactions": state["interactions"][:1]})
    assert len(run.messages("state-loosened")) == 1

    run.report("Initialize", "ok")
    written = json.loads(run.files[f"{run.at}/session.json"])["interactions"]
    assert [each["command"]["module"] for each in written] == ["Initialize", "Initialize"]
    assert len(run.messages("state-loosened")) == 1
