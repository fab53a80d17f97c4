"""What a step asks for is said whole beforehand: how it is done, what its report has, what becomes of it."""

from __future__ import annotations

import json
import re

import pytest
from phasekeeper.orchestration.journal.report_forms import ReportForm, blank_form
from phasekeeper.orchestration.result.values import GateState, Reportable
from phasekeeper.orchestration.states import RequirementKind

from tests.verdicts.loops import loop, tuned
from tests.verdicts.runs import Run, built_in, plan_run
from tests.verdicts.test_ways_out import failed_validation

TASK = "# 01. T\n\n## Meta\n\n- **ID**: f-01\n\n## Files to Change\n\n| File | Action |\n|---|---|\n"
GATES = {"lint": {"status": "pending"}}


def due(run: Run) -> Reportable:
    return run.evaluation.suggestion.reports[0]


@pytest.mark.parametrize("phase", built_in("phase-loop").phases)
def test_each_phase_of_a_loop_says_what_to_read_decide_and_write(phase: str) -> None:
    run = loop(phase, gates=GATES)
    assert due(run).step == phase
    assert 100 < len(due(run).instructions) <= 600
    assert due(run).instructions == built_in("phase-loop").phases[phase].instructions


# ---- fix tasks


def test_fix_tasks_say_beforehand_that_a_test_task_is_added_and_write_every_part_that_was_given() -> None:
    run = failed_validation()
    assert due(run).step == "create-fix-tasks"
    assert "unless the last of yours has the type test, one is added" in due(run).instructions
    data = due(run).data
    assert data is not None
    task = data["tasks"][0]
    made = {name: ["one"] if isinstance(value, list) else "one" for name, value in task.items()}
    run.report("create-fix-tasks", "ok", data={"title": "Mend", "tasks": [made]}, report="")
    text = run.files["tasks/f/03-one.md"]
    assert "To be written." not in text.replace("| Modify | To be written. |", "")
    assert ("1. one" in text, "- one" in text, "- [ ] one" in text) == (True, True, True)
    assert "04-phase-2-tests.md" in run.files["tasks/f/MASTER_PLAN.md"]


def test_a_finished_run_leaves_no_old_status_in_the_header_of_its_plan() -> None:
    run = plan_run("  ", adoption="ask")
    plan = run.files["tasks/f/MASTER_PLAN.md"].replace("Plan\n", "Plan\n\n**Status**: [ ] Planning\n", 1)
    run.write("MASTER_PLAN.md", plan).answer("plan", "approve")
    run.report("4a", "complete", "01").report("4a", "complete", "02")
    run.report("4b", "pass").report("4c", "ok").report("5a", "pass")
    assert "**Status**: [ ] Planning" in run.files["tasks/f/MASTER_PLAN.md"]
    run.report("6", "ok")
    assert run.standing == "complete stop"
    assert "**Status**: [x] Complete\n" in run.files["tasks/f/MASTER_PLAN.md"]
    assert "approval-stale" not in run.codes()


# ---- the whole validated


def test_5a_lists_the_files_that_tasks_declare_and_are_not_there_and_asks_why() -> None:
    run = plan_run("x", t01=f"{TASK}| `src/a.py` | create |\n| `src/b.py` | create |\n").write(
        "/src/b.py", "b"
    )
    assert (run.standing, due(run).step) == ("active stay 5a", "5a")
    [wanted] = [each for each in due(run).brings if each.kind is RequirementKind.MISSING]
    assert (wanted.paths, wanted.met, wanted.outcomes) == (("src/a.py",), None, ("pass",))
    assert "- src/a.py: <why it is not there>" in str(due(run).form)
    silent = run.report_text("5a", "pass")
    assert "why it is not there: src/a.py" in run.refusal("5a", "pass", report=silent)
    other = f"{silent}\n- src/a.pyc: renamed\n"
    assert "why it is not there: src/a.py" in run.refusal("5a", "pass", report=other)
    run.copy().report("5a", "fail", report=run.report_text("5a", "fail"))
    run.report("5a", "pass", report=f"{silent}\n- src/a.py: renamed to src/b.py\n")
    assert run.standing == "active advance 6"


def test_5a_says_that_no_file_is_missing() -> None:
    run = plan_run("x", t01=f"{TASK}| `src/a.py` | create |\n").write("/src/a.py", "a")
    [wanted] = [each for each in due(run).brings if each.kind is RequirementKind.MISSING]
    assert (wanted.text, wanted.met) == ("no file is missing that the tasks declare", True)
    assert "not there" not in str(due(run).form)


def test_a_form_is_of_a_bounded_length_whatever_its_tasks_are_called() -> None:
    form = ReportForm("4b", {"Gate": ""}, ("Status",), tasks="Scope", outcomes=("pass", "fail"))
    long = [f"{'n' * 200}-{number}" for number in range(9)]
    text = blank_form(form, "1", long, long)
    assert len(text) < 2_000
    assert ("| <task> | <criterion>" in text, "- <each other file>: <why" in text) == (True, True)
    short = blank_form(form, "1", ["01", "02"])
    assert re.findall(r"^\| (\S+) \| <criterion>", short, re.M) == ["01", "02"]


def test_each_thing_that_a_report_needs_says_for_which_outcomes() -> None:
    needed = {each.kind: each.outcomes for each in due(plan_run("x")).brings}
    assert needed[RequirementKind.REPORT] == ("pass", "fail")
    assert needed[RequirementKind.MISSING] == ("pass",)


# ---- lists, and ids in examples


def test_the_example_of_a_fix_has_an_id_that_no_fix_has_and_keeps_what_is_to_be_verified() -> None:
    fixes = [{"id": "FIX-1", "issue_ids": ["A"]}, {"id": "FIX-2", "issue_ids": ["B"]}]
    applied = [
        {"fix_id": "FIX-1", "verification_result": "pass"},
        {"fix_id": "FIX-7", "verification_result": "pass"},
    ]
    done = ("init", "analyze-requirements", "verify", "generate-report")
    run = tuned(
        completed_actions=[f"action-{name}" for name in done],
        issues=[{"id": "A", "severity": "medium"}], proposed_fixes=fixes, pending_fixes=["FIX-2"],
        applied_fixes=applied, diagnosis={"context": {"status": "completed"}}, focus_areas=["context"],
    )  # fmt: skip
    assert due(run).step == "action-propose-fixes"
    data = due(run).data
    assert data is not None
    shown = data["stateUpdates"]
    assert [each["id"] for each in shown["proposed_fixes"]] == ["FIX-2", "FIX-8"]
    assert shown["pending_fixes"] == ["FIX-2", "FIX-8"]
    added = "of pending_fixes what is new is added, the rest stays"
    assert due(run).list_changes == f"proposed_fixes replaces the list that is there; {added}"


def test_what_becomes_of_a_queue_is_said_where_items_change_and_come() -> None:
    run = loop("execute", workQueue=[{"id": "W1", "priority": "S2", "title": "a form", "status": "pending"}])
    said = "of workQueue what is named by its id is changed, what has a new id is added, the rest stays"
    assert due(run).list_changes == said


# ---- what a gate rests on


def iteration(run: Run) -> GateState:
    return next(gate for gate in run.evaluation.gates if gate.id == "iteration")


def test_a_pass_names_the_file_of_its_gates_while_that_is_there() -> None:
    run = loop("quality", gates=GATES, iteration=1)
    run.write("gates/pass-1.md", "lint: 0 errors\n")
    run.report("quality", "ok", data={"stateUpdates": {"gates": {"lint": {"status": "passed"}}}})
    run.report("checkpoint", "ok")
    path = f"{run.at}/gates/pass-1.md"
    gate = iteration(run)
    assert (gate.status, gate.basis, gate.reported_in) == ("passed", "reported", (path,))
    assert gate.rests_on == "as codex reported in pass-1.md; no other file shows it"
    gone = iteration(run.copy().remove("gates/pass-1.md"))
    assert (gone.basis, gone.rests_on) == ("reported", "as codex reported; no file shows it")
    assert iteration(run.copy().write("gates/pass-1.md", " \n")).reported_in == ()


def test_a_gate_that_is_not_passed_rests_on_no_file() -> None:
    run = loop("quality", gates=GATES, iteration=1).write("gates/pass-1.md", "lint: 1 error\n")
    run.report("quality", "ok", data={"stateUpdates": {"gates": {"lint": {"status": "failed"}}}})
    assert iteration(run).reported_in == ()
    assert json.loads(run.files[f"{run.at}/loop.state.json"])["gates"]["lint"]["status"] == "failed"
