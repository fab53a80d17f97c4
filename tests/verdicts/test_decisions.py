"""What a person decides counts when a person is known to have decided it: signed, or in the commit HEAD."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phasekeeper.orchestration.snapshot.read_log import RunReader
from phasekeeper.orchestration.snapshot.staleness import substances
from phasekeeper.server.disk.disk_files import DiskFiles

from tests.verdicts.runs import Run, built_in, plan_run
from tests.verdicts.test_contradictions import EVALUATION, pipeline

DECISION = "accept/decision.json"
TESTED = {"eval/eval-report.json": EVALUATION}


def accepting(verdict: str = "accepted", **more: str) -> Run:
    """A run of the artifact pipeline that awaits a decision, with one written by nobody knows whom."""
    return pipeline("accept", TESTED).write(DECISION, {"verdict": verdict, **more})


@pytest.mark.parametrize("verdict", ["accepted", "rejected", "revert", "deferred", "perhaps"])
def test_a_decision_file_that_nobody_signed_is_a_proposed_answer(verdict: str) -> None:
    run = accepting(verdict)
    assert run.standing == "waiting_human wait"
    assert run.gate("acceptance") == "open"
    assert [message.partition(": ")[0] for message in run.messages("decision-unverified")] == [
        f".ai-tools-chain/tasks/T1/{DECISION}:1"
    ]
    [question] = run.evaluation.questions
    assert f'{DECISION} says: {{"verdict": "{verdict}"}}' in question.question
    assert [option.id for option in question.options][:2] == ["proposed", "accepted"]


def test_one_answer_signs_a_decision_file_as_it_is() -> None:
    run = accepting("rejected", next="review")
    before = run.files[f"{run.at}/{DECISION}"]
    run.answer("acceptance", "proposed")
    assert run.files[f"{run.at}/{DECISION}"] == before
    assert run.evaluation.current_phase == "review"
    assert "decision-unverified" not in run.codes()


def test_what_is_signed_is_these_bytes_and_no_others() -> None:
    run = accepting("deferred").answer("acceptance", "proposed").write(DECISION, {"verdict": "accepted"})
    assert run.standing == "waiting_human wait"
    assert [question.id for question in run.evaluation.questions] == ["acceptance"]
    assert run.answer("acceptance", "proposed").evaluation.status == "complete"


def test_a_decision_made_by_a_question_counts_and_an_older_one_brought_back_does_not() -> None:
    run = accepting("deferred").answer("acceptance", "proposed")
    deferred = run.files[f"{run.at}/{DECISION}"]
    assert run.answer("acceptance", "rejected").standing == "active stay codegen"
    assert run.write(DECISION, deferred).codes() >= {"decision-unverified"}


def test_a_decision_file_in_head_counts_until_a_person_replaced_it() -> None:
    run = accepting().commit()
    assert run.standing == "active advance done"
    committed = run.files[f"{run.at}/{DECISION}"]
    assert run.write(DECISION, {"verdict": "revert"}).standing == "waiting_human wait"
    run.write(DECISION, committed)
    assert run.standing == "active advance done"


def test_a_decision_in_head_that_a_person_replaced_since_is_no_decision_any_more() -> None:
    run = accepting("deferred").commit()
    committed = run.files[f"{run.at}/{DECISION}"]
    run.answer("acceptance", "rejected")
    assert run.standing == "active stay codegen"
    assert run.write(DECISION, committed).codes() >= {"decision-unverified"}


def test_a_run_is_not_done_by_a_decision_file_alone() -> None:
    run = pipeline("done", TESTED).write(DECISION, {"verdict": "accepted"})
    assert run.standing == "active regress accept"
    assert [question.id for question in run.evaluation.questions] == ["acceptance"]
    assert run.answer("acceptance", "proposed").standing == "complete stop"


def test_a_change_is_taken_back_by_a_person_alone() -> None:
    run = pipeline("revert", TESTED).write("revert/record.json", {"reason": "r"})
    assert run.standing == "waiting_human wait"
    run.write(DECISION, {"verdict": "revert"})
    assert [question.id for question in run.evaluation.questions] == ["acceptance"]
    assert run.answer("acceptance", "proposed").evaluation.status == "complete"
    done = pipeline("done", TESTED).write("revert/record.json", {"reason": "r"})
    assert done.evaluation.status != "complete"


def test_a_state_that_says_that_a_person_accepted_is_no_end() -> None:
    claimed = {"task_id": "x", "phase": "done", "actors": {"accept": {"status": "committed"}, "test": {}}}
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1").write("state.json", claimed)
    assert run.standing == "active regress planning"
    [message] = run.messages("decision-unverified")
    assert message.startswith(f"{run.at}/state.json:1: actors.accept.status is committed, with no proof")
    # Nobody is asked to accept what is not there; who wants it closed says so by name.
    assert run.evaluation.questions == ()
    assert run.answer("acceptance", "closed").standing == "complete stop"


def test_what_a_person_answers_proves_no_word_that_an_assistant_wrote_before() -> None:
    run = accepting().write("state.json", {"phase": "accept", "actors": {"accept": {"status": "committed"}}})
    run.answer("acceptance", "rejected")
    assert "decision-unverified" in run.codes()


def test_a_state_in_head_that_says_that_a_person_accepted_is_an_end() -> None:
    claimed = {"phase": "done", "actors": {"accept": {"status": "committed"}}}
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1").write("state.json", claimed)
    assert run.commit().standing == "complete stop"
    assert run.write("state.json", {**claimed, "title": "t"}).standing == "complete stop"
    run.head[f"{run.at}/state.json"] = "{"
    assert "decision-unverified" in run.codes()


def test_a_decision_too_long_to_be_shown_is_not_signed() -> None:
    run = accepting("accepted", reason="x" * 4_000)
    [question] = run.evaluation.questions
    assert "proposed" not in [option.id for option in question.options]
    assert run.commit().standing == "active advance done"


def test_an_answer_about_severe_work_is_of_that_work_and_not_of_other_work_under_its_id() -> None:
    severe = {"id": "WQ-1", "priority": "S0", "title": "a button is red", "status": "pending"}
    run = Run(built_in("phase-loop"), ".claude/state")
    gates = {"lint": {"status": "pending"}}
    state = {"version": "2.0", "sessionId": "s", "iteration": 1, "phase": "execute", "gates": gates}
    run.write("loop.state.json", {**state, "workQueue": [severe]}).commit()
    [question] = run.evaluation.questions
    run.answer(question.id, "resolve")
    assert run.evaluation.questions == ()

    worked_on = [{**severe, "status": "in-progress", "assignedTo": "codex"}]
    run.write("loop.state.json", {**state, "workQueue": worked_on})
    assert run.evaluation.questions == ()

    swapped = [{**severe, "title": "passwords are public"}]
    run.write("loop.state.json", {**state, "workQueue": swapped})
    assert [each.id for each in run.evaluation.questions] == [question.id]


def approved() -> Run:
    """A run whose plan of three tasks in one stage a person approved."""
    return plan_run("   ", adoption="ask").answer("plan", "approve")


def test_a_task_file_that_changes_before_work_begins_is_approved_again() -> None:
    run = approved().write("01-t.md", "# 01. T\n\nLeave the tests out.\n")
    assert (run.evaluation.current_phase, [asked.id for asked in run.evaluation.questions]) == ("3", ["plan"])
    assert run.answer("plan", "approve").evaluation.current_phase == "4a"


def test_a_plan_that_is_sent_back_is_reported_once_it_is_another_one() -> None:
    run = plan_run("  ", adoption="ask").answer("plan", "changes")
    assert run.standing == "active regress 2"
    assert "the plan or a task file is another one since" in run.refusal("2", "ok")
    run.write("MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("do 1", "do one"))
    assert [asked.id for asked in run.evaluation.questions] == ["plan"]


def test_a_task_file_that_changes_under_way_is_told_at_its_place_until_a_person_approves_it() -> None:
    run = approved().report("4a", "complete", "01").write("03-t.md", "# 03. T\n\nLeave the tests out.\n")
    told = run.messages("approval-stale")
    assert told[0] == "tasks/f/03-t.md:: changed in substance since ada answered plan: approve"
    assert told[1].endswith("the plan or a task file changed in substance after it was approved")
    assert run.answer("plan", "approve").messages("approval-stale") == []


def test_criteria_that_are_ticked_off_in_a_task_file_are_no_change_of_the_plan() -> None:
    criteria = "# 01. T\n\n## Acceptance Criteria\n\n- [{}] it runs\n1. [{}] it is fast\n"
    run = plan_run("  ", adoption="ask", t01=criteria.format(" ", " ")).answer("plan", "approve")
    run.report("4a", "complete", "01")
    assert run.write("01-t.md", criteria.format("x", "X")).messages("approval-stale") == []
    assert run.write("01-t.md", criteria.format("x", "X").replace("fast", "there")).messages("approval-stale")


def test_an_analysis_may_revise_the_files_of_failing_tasks_alone() -> None:
    run = approved().report("4a", "complete", "01", "02", "03").report("4b", "fail", "02")
    run.write("02-t.md", "# 02. T\n\nWith a test.\n").report("F1", "ok")
    assert run.messages("approval-stale") == []
    run.write("02-t.md", "# 02. T\n\nWithout a test.\n")
    assert run.messages("approval-stale")
    run = approved().report("4a", "complete", "01", "02", "03").report("4b", "fail", "02")
    run.write("01-t.md", "# 01. T\n\nWithout a test.\n").report("F1", "ok")
    assert run.messages("approval-stale")


def test_an_approval_of_before_task_files_were_kept_goes_on() -> None:
    run = approved().report("4a", "complete", "01")
    path = f"{run.at}/.phasekeeper/journal.jsonl"
    first, second = run.files[path].splitlines()
    kept = json.dumps(
        {**(entry := json.loads(first)), "files": [f for f in entry["files"] if "MASTER" in f["path"]]}
    )
    run.files[path] = f"{kept}\n{second}\n"
    run.proven.add(kept)
    assert run.write("01-t.md", "# 01. T\n\nOther.\n").messages("approval-stale") == []


def test_a_task_file_that_is_no_text_is_compared_by_its_bytes(tmp_path: Path) -> None:
    def digest_of_file(content: bytes) -> str:
        (tmp_path / "01-t.md").write_bytes(content)
        reader = RunReader(DiskFiles(tmp_path))
        return substances(["01-t.md"], reader)["01-t.md"]

    assert digest_of_file(b"\xff one") == digest_of_file(b"\xff one") != digest_of_file(b"\xff two")
