"""Documents of a component design are validated by the checks that the root names for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.states import Basis, CheckResult

from tests.verdicts.runs import CONFIG, Run, built_in

DECLARED = "checks: {docs: {run: [make]}}\n"
ASKED = DECLARED + "parameters: {component-design: {document_checks: [docs]}}\n"
SESSIONS = ".phasekeeper/sessions"
STATE = f"{SESSIONS}/d/session.json"
DESIGN, REVIEW = "SpawnComponentDesignSessions", "SpawnReviewSession"
BAD = [each for each in CheckResult if each is not CheckResult.PASSED]
PULL_REQUEST = {"pr_url": "https://github.com/x/y/pull/1"}


def begun(config: str = ASKED, result: CheckResult = CheckResult.PASSED) -> Run:
    """A design whose one component is designed, which no report says yet, and what its check says."""
    run = Run(built_in("component-design"), f"{SESSIONS}/d").write(f"/{CONFIG}", config)
    run.write("session.json", {"id": "d", "type": "ContextComponentsDesignSessions", "child_sessions": []})
    run.measure("docs", CheckResult.MISSING).report("Initialize", "ok", data={})
    run.report(DESIGN, "ok", data={"components": [{"id": "c", "artifact_path": "docs/c.md"}]})
    return end(run, "c", "docs/c.md").measure("docs", result, "aa")


def end(run: Run, child: str, document: str) -> Run:
    """End a child session, with its document."""
    path = f"{SESSIONS}/{child}/session.json"
    run.write(f"/{path}", {**json.loads(run.files[path]), "status": "complete"})
    return run.write(f"/{document}", f"# Written at {run.now}\n")


def reviewed(run: Run) -> Run:
    """The review begun and its document written; no report says yet that it is done."""
    run.report(DESIGN, "ok", data={}).report(REVIEW, "ok", data={})
    return end(run, "d-review", "docs/review/d_components_review.md")


def finished(run: Run) -> Run:
    """All that is left reported, with documents that passed each time."""
    reviewed(run).measure("docs", CheckResult.PASSED, "bb").report(REVIEW, "ok", data={})
    return run.report("Finalize", "ok", data=PULL_REQUEST)


def forge(run: Run, step: str, **fields: Any) -> Run:
    """Write into the session that a step was ok."""
    session = json.loads(run.files[STATE])
    said = {"id": f"forged-{step}", "command": {"module": step}, "result": {"status": "ok"}}
    return run.write("session.json", {**session, **fields, "interactions": [said, *session["interactions"]]})


def basis(run: Run, gate: str) -> Basis | None:
    """On what a gate rests."""
    return next(each.basis for each in run.evaluation.gates if each.id == gate)


# ---- an honest run


def test_the_gate_of_the_designs_rests_on_what_was_measured() -> None:
    run = begun().report(DESIGN, "ok", data={})
    assert run.standing == f"active advance {REVIEW}"
    assert (run.gate("designs-checked"), basis(run, "designs-checked")) == ("passed", Basis.MEASURED)
    assert "status-drift" not in run.codes()


def test_a_design_that_is_checked_at_each_step_is_complete_and_stays_so() -> None:
    run = finished(begun())
    assert run.standing == "complete stop"
    assert {run.gate(f"{each}-checked") for each in ("designs", "review", "documents")} == {"passed"}
    for result in CheckResult:
        run.measure("docs", result, "cc")
        assert run.standing == "complete stop"
        assert not {"status-drift", "report-unsupported"} & run.codes()
        assert run.gate("designs-checked") == run.gate("documents-checked") == "passed"


@pytest.mark.parametrize("result", BAD)
def test_saving_a_document_shuts_the_gate_in_force_and_none_behind(result: CheckResult) -> None:
    run = begun().report(DESIGN, "ok", data={}).measure("docs", result, "bb")
    assert run.standing == f"active stay {DESIGN}"
    assert run.gate("designs-checked") == ("failed" if result is CheckResult.FAILED else "open")
    [said] = run.messages("status-drift")
    assert said.startswith(f"{STATE}:1: {DESIGN} says ok, and the checks of the documents say otherwise")
    assert f"docs ({result.value}); they are what counts" in said
    run.measure("docs", CheckResult.PASSED, "aa").report(REVIEW, "ok", data={}).measure("docs", result, "bb")
    assert run.standing.startswith("waiting ")
    assert run.evaluation.current_phase == REVIEW
    assert "the review session is running" in run.evaluation.suggestion.reason
    assert run.gate("designs-checked") == "passed"


def test_a_report_that_begins_sessions_needs_no_check_and_says_nothing_of_documents() -> None:
    run = begun(result=CheckResult.FAILED)
    assert "report-unsupported" not in run.codes()
    assert "status-drift" not in run.codes()
    more = {"components": [{"id": "e", "artifact_path": "docs/e.md"}]}
    assert (
        "component sessions are running: e"
        in run.report(DESIGN, "ok", data=more).evaluation.suggestion.reason
    )


def test_without_the_parameter_files_that_are_there_are_enough() -> None:
    run = begun(DECLARED, CheckResult.FAILED)
    run.report(DESIGN, "ok", data={}).report(REVIEW, "ok", data={})
    end(run, "d-review", "docs/review/d_components_review.md").report(REVIEW, "ok", data={})
    assert run.report("Finalize", "ok", data=PULL_REQUEST).standing == "complete stop"
    assert {gate.id for gate in run.evaluation.gates} == {"components-designed", "review-done"}
    assert "status-drift" not in run.codes()


# ---- a dishonest one


@pytest.mark.parametrize("result", BAD)
def test_a_step_is_refused_while_its_documents_have_not_passed(result: CheckResult) -> None:
    run = begun(result=result)
    assert f"{DESIGN} ok needs that the check docs has passed" in run.refusal(DESIGN, "ok", data={})
    run.measure("docs", CheckResult.PASSED, "aa")
    reviewed(run).measure("docs", result, "bb")
    assert f"{REVIEW} ok needs that the check docs has passed" in run.refusal(REVIEW, "ok", data={})
    run.measure("docs", CheckResult.PASSED, "bb").report(REVIEW, "ok", data={}).measure("docs", result, "cc")
    assert f"it is the turn of {REVIEW}" in run.refusal("Finalize", "ok", data=PULL_REQUEST)


@pytest.mark.parametrize("result", BAD)
@pytest.mark.parametrize("step", [DESIGN, REVIEW, "Finalize"])
def test_a_step_that_is_written_into_the_session_is_none(step: str, result: CheckResult) -> None:
    run = begun().copy() if step == DESIGN else reviewed(begun())
    forge(run, step, status="complete").measure("docs", result, "cc")
    assert run.evaluation.status != "complete"
    assert run.evaluation.suggestion.suggested_next in (DESIGN, REVIEW)
    assert run.messages("status-drift")[0].startswith(f"{STATE}:1: {step} says ok")
    again = forge(begun(), REVIEW, child_sessions=["c"]).measure("docs", result, "cc")
    assert again.evaluation.suggestion.suggested_next == DESIGN


@pytest.mark.parametrize("result", BAD)
def test_an_older_result_ends_nothing(result: CheckResult) -> None:
    run = reviewed(begun()).measure("docs", CheckResult.PASSED, "bb").report(REVIEW, "ok", data={})
    assert run.standing == "active advance Finalize"
    forge(run, "Finalize").measure("docs", result, "cc")
    assert run.evaluation.status != "complete"
    assert run.standing == "active stay Finalize"
    assert run.measure("docs", CheckResult.PASSED, "dd").standing == "complete stop"


def test_a_word_is_told_where_it_stands() -> None:
    run = begun(result=CheckResult.STALE)
    forge(run, DESIGN).write("session.json", json.dumps(json.loads(run.files[STATE]), indent=1))
    lines = run.files[STATE].splitlines()
    [said] = run.messages("status-drift")
    assert '"status": "ok"' in lines[int(said.split(":")[1]) - 1]


def test_a_person_may_still_move_the_design_past_it() -> None:
    run = begun(result=CheckResult.FAILED).override("Finalize").measure("docs", CheckResult.PASSED)
    assert run.report("Finalize", "ok", data=PULL_REQUEST).standing == "complete stop"


def test_a_check_that_is_asked_for_no_more_is_so_until_a_person_says_otherwise() -> None:
    run = begun().commit().write(f"/{CONFIG}", DECLARED).measure("docs", CheckResult.FAILED)
    assert "the check docs has passed" in run.refusal(DESIGN, "ok", data={})
    assert run.commit().report(DESIGN, "ok", data={}).standing == f"active advance {REVIEW}"


def test_data_that_names_no_component_is_refused_in_words_about_it() -> None:
    said = begun().refusal(DESIGN, "ok", data={"components": [{"name": "loans"}]})
    assert "needs that the checks that it rests on can be told (" in said
    assert "the check  has passed" not in said
