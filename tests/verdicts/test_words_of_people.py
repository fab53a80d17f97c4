"""What a person decides is no assistant's to report, and words claim no more than is known."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evaluation.trace import check_action
from phasekeeper.orchestration.states import RunStatus

from tests.verdicts.runs import Run, built_in, plan_run
from tests.verdicts.test_report_writes import loop, state_of, tuning

AT = ".ai-tools-chain/tasks/t"
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-OLD = 1\n+NEW = {1}\n"


def pipeline(phase: str) -> Run:
    """A change of src/a.py that is written, reviewed and tested."""
    run = Run(built_in("artifact-pipeline"), AT)
    run.write("planning/planning.ai.json", {"id": "t", "title": "x"})
    run.write("planning/plan.files.json", {"files": ["src/a.py"]})
    run.write("review/plan-review.json", {"ok": True, "issues": []})
    run.write("code/diff.patch", DIFF.format("src/a.py", 1)).write("code/files/src/a.py", "NEW = 1\n")
    run.write("review/code-review.json", {"ok": True, "blocking_issues": []})
    run.write("eval/eval-report.json", {"status": "completed", "overall_pass": True, "results": [
        {"step": "unit", "status": "passed"}]})  # fmt: skip
    return run.write("state.json", {"task_id": "t", "phase": phase, "actors": {}})


def test_a_report_about_a_file_that_was_mended_is_another_one() -> None:
    unclear = {"status": "completed", "results": []}
    mended = {**unclear, "overall_pass": True, "results": [{"step": "unit", "status": "passed"}]}
    run = pipeline("test").write("eval/eval-report.json", unclear).report("test", "ok")
    assert run.standing == "active stay test"
    assert "nothing has changed since" in run.refusal("test", "ok")
    run.write("eval/eval-report.json", mended).report("test", "ok")
    assert run.standing.startswith("waiting_human wait")


def test_a_step_that_a_person_ends_is_not_reported() -> None:
    run = pipeline("accept")
    before = dict(run.files)
    said = run.refusal("accept", "ok")
    assert "accept is ended by a person, who is asked 'Is the change accepted?'" in said
    assert f"phasekeeper answer {AT} acceptance" in said
    assert run.files == before
    plan = plan_run("  ", adoption="ask")
    assert "3 is ended by a person" in plan.refusal("3", "ok")


def test_a_step_that_a_person_ended_leads_on() -> None:
    run = pipeline("accept").answer("acceptance", "accepted")
    assert run.evaluation.status is RunStatus.COMPLETE


def test_a_run_that_an_agent_reports_to_be_ended_is_not_said_to_be_ended_by_its_user() -> None:
    run = tuning().report("running", "exit")
    assert run.evaluation.status_reason == "the run is ended: codex reported that its user wants so"


def test_an_end_that_no_report_and_no_person_made_is_said_of_the_files_alone() -> None:
    said = "the run is ended by its user, as its files say"
    run = tuning().report("action-apply-fix", "error")
    assert run.write("state.json", {**state_of(run), "status": "user_exit"}).evaluation.status_reason == said
    run = tuning().override("running")
    assert run.write("state.json", {**state_of(run), "status": "user_exit"}).evaluation.status_reason == said


def test_a_tuning_does_not_begin_without_the_skill_that_it_is_of() -> None:
    blank = {"name": None, "path": None}
    run = tuning(status="pending", target_skill=blank, completed_actions=[], user_issue_description="")
    assert "says which skill is tuned" in run.refusal("action-init", "ok")
    half = {"stateUpdates": {"target_skill": {"name": "s"}}}
    assert "says which skill is tuned" in run.refusal("action-init", "ok", data=half)
    whole = {"stateUpdates": {**half["stateUpdates"], "user_issue_description": "It forgets."}}
    assert run.report("action-init", "ok", data=whole).standing == "active act action-analyze-requirements"


def test_a_phase_that_a_report_may_jump_to_is_said_to_be_so() -> None:
    run = loop("classify", gates={})
    permission = check_action(run.trace(), "quality")
    assert permission and not permission.allowed
    assert "a report of classify may lead there (`--next quality`)" in permission.because
    assert run.report("classify", "ok", next="quality").evaluation.current_phase == "quality"


# ---- a change that leaves the plan ------------------------------------------------------------


@pytest.mark.parametrize("phase", ["review", "test", "accept"])
def test_a_change_that_leaves_its_plan_goes_no_further(phase: str) -> None:
    run = pipeline(phase).write("planning/plan.files.json", {"files": ["src/b.py"]})
    run.write("review/plan-review.json", {"ok": True, "issues": []})
    for path in (
        "code/diff.patch",
        "code/files/src/a.py",
        "review/code-review.json",
        "eval/eval-report.json",
    ):
        run.write(path, run.files[f"{AT}/{path}"])
    assert run.gate("scope") == "failed"
    assert run.standing == "active regress codegen"
    assert "src/a.py, which plan.files.json does not name" in run.evaluation.suggestion.reason


# ---- a review that was of another change ------------------------------------------------------


def test_a_review_that_is_only_saved_again_is_no_new_one() -> None:
    run = pipeline("codegen").remove("eval/")
    run.write("code/diff.patch", DIFF.format("src/a.py", 2)).write("code/files/src/a.py", "NEW = 2\n")
    run.report("codegen", "ok")
    assert run.evaluation.suggestion.suggested_next == "review"
    run.write("review/code-review.json", run.files[f"{AT}/review/code-review.json"])
    assert any("code-review.json" in message for message in run.messages("artifact-stale"))
    assert run.evaluation.suggestion.suggested_next == "review"
    run.write("review/code-review.json", {"ok": True, "blocking_issues": [], "of": "the second change"})
    assert run.messages("artifact-stale") == []
    assert run.report("review", "ok").evaluation.suggestion.suggested_next == "test"


def test_a_review_that_was_reported_is_of_the_change_that_it_was_reported_with() -> None:
    run = pipeline("review").write("review/code-review.json", {"ok": False, "blocking_issues": ["x"]})
    run.report("review", "ok")
    assert run.evaluation.suggestion.suggested_next == "codegen"
    run.write("code/diff.patch", DIFF.format("src/a.py", 2)).write("code/files/src/a.py", "NEW = 2\n")
    run.report("codegen", "ok").write("review/code-review.json", run.files[f"{AT}/review/code-review.json"])
    assert any("code-review.json" in message for message in run.messages("artifact-stale"))


# ---- the end of a design ----------------------------------------------------------------------


def design(**last: object) -> Run:
    """A session whose designs and review are complete, with the result of its last step."""
    run = Run(built_in("component-design"), ".phasekeeper/sessions/s")
    run.write("/docs/a.md", "# A\n").write("/docs/review.md", "# Review\n")
    kinds = {
        "a": ("ComponentDesignSessions", "docs/a.md"),
        "r": ("ComponentDesignReviewSessions", "docs/review.md"),
    }
    children = [
        {"id": name, "type": kind, "status": "complete", "state": {"artifact_path": path}}
        for name, (kind, path) in kinds.items()
    ]
    done = {"command": {"module": "A.Finalize"}, "result": {"status": "ok"}, **last}
    session = {"id": "s", "type": "ContextComponentsDesignSessions", "status": "active", "state": {}}
    return run.write("session.json", {**session, "child_sessions": children, "interactions": [done]})


def test_the_end_of_a_design_claims_no_more_than_was_reported() -> None:
    run = design(result={"status": "warning"})
    address = "https://example.org/o/n/pull/1"
    run.report("Finalize", "ok", data={"pr_url": address})
    told = f"Finalize was reported ok, with the pull request {address}, which nobody opened to look"
    assert run.evaluation.status_reason == f"{told} (session_complete)"
    commit = "0123456789abcdef"
    run = design(result={"status": "error"}).report(
        "Finalize", "ok", data={"commit": commit}, commits=frozenset([commit])
    )
    assert f"with the commit {commit}, which the repository has" in run.evaluation.status_reason
    assert "no pull request is known" in run.evaluation.status_reason


@pytest.mark.parametrize("status", ["warning", "error"])
def test_a_person_closes_a_design_that_no_repository_takes(status: str) -> None:
    run = design(result={"status": status})
    assert "`phasekeeper answer .phasekeeper/sessions/s finalize close`" in run.evaluation.suggestion.reason
    run.answer("finalize", "close")
    assert run.evaluation.status is RunStatus.COMPLETE
    assert "a person closed the session" in run.evaluation.status_reason
    assert "session-inconsistent" not in run.codes()
