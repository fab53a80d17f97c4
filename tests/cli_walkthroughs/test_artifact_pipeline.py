"""Seed 002 driven by commands: plan, review, code, review, test, accept, and every way back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from phasekeeper.orchestration.vfs.files import digest_of

from tests.cli_walkthroughs.driver import Drive, Result

RUN = ".ai-tools-chain/tasks/T1"
STATE = f"{RUN}/state.json"
DECISION = f"{RUN}/accept/decision.json"
PATCH = "--- a/src/flag.py\n+++ b/src/flag.py\n@@ -1 +1 @@\n-OLD = 1\n+NEW = %d\n"
PASSED = {"status": "completed", "overall_pass": True, "results": [{"step": "unit", "status": "passed"}]}
FAILED = {"status": "completed", "overall_pass": False, "results": [{"step": "unit", "status": "failed"}]}


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


def _plan(drive: Drive) -> Result:
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "Rename the flag"})
    return drive.do("report", "T1", "planning", "ok")


def _review_plan(drive: Drive, ok: bool = True) -> Result:
    drive.write(f"{RUN}/review/plan-review.json", {"ok": ok, "issues": []})
    return drive.do("report", "T1", "plan_review", "ok")


def _code(drive: Drive, value: int = 1) -> Result:
    drive.write(f"{RUN}/code/files/src/flag.py", f"NEW = {value}\n")
    drive.write(f"{RUN}/code/diff.patch", PATCH % value)
    return drive.do("report", "T1", "codegen", "ok")


def _review_code(drive: Drive, **said: object) -> Result:
    drive.write(f"{RUN}/review/code-review.json", {"ok": True, "blocking_issues": [], **said})
    return drive.do("report", "T1", "review", "ok")


def _test(drive: Drive, found: dict[str, object] = PASSED) -> Result:
    drive.write(f"{RUN}/eval/eval-report.json", dict(found))
    return drive.do("report", "T1", "test", "ok")


def _started(drive: Drive) -> str:
    return drive.start("artifact-pipeline", "T1", "--title", "Rename the flag")


def _at_acceptance(drive: Drive) -> None:
    _started(drive)
    for done in (_plan, _review_plan, _code, _review_code, _test):
        done(drive)
    assert drive.phase("T1") == "accept"


def _phase(drive: Drive) -> str:
    return drive.json(STATE)["phase"]


def _answer(drive: Drive, option: str, reason: str = "as agreed") -> Result:
    result = drive.decide("answer", "T1", "acceptance", option, "--reason", reason)
    assert result.code in (0, 3), result
    return result


# ---- forward ----------------------------------------------------------------------------------


def test_a_new_task_says_which_file_to_write_first(drive: Drive) -> None:
    assert _started(drive) == RUN
    assert drive.json(STATE) == {
        "task_id": "T1", "title": "Rename the flag", "phase": "planning", "actors": {}, "artifacts": {},
    }  # fmt: skip
    evaluation = drive.evaluation("T1")
    assert evaluation["suggestion"]["suggestedNext"] == "planning"
    assert [one["path"] for one in evaluation["suggestion"]["produce"]] == [
        f"{RUN}/planning/planning.ai.json"
    ]
    assert [entry["kind"] for entry in drive.records(RUN)] == ["start"]


def test_a_task_goes_from_its_plan_to_its_acceptance(drive: Drive) -> None:
    _started(drive)
    steps = [
        (_plan, "plan_review"), (_review_plan, "codegen"), (_code, "review"), (_review_code, "test"),
        (_test, "accept"),
    ]  # fmt: skip
    for done, then in steps:
        assert done(drive).code == (3 if then == "accept" else 0)
        assert (_phase(drive), drive.phase("T1")) == (then, then)
    assert drive.questions("T1") == ["acceptance"]
    assert _answer(drive, "accepted").code == 0
    assert _phase(drive) == "done"
    evaluation = drive.evaluation("T1")
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("complete", "stop")
    assert {name: actor["status"] for name, actor in drive.json(STATE)["actors"].items()} == dict.fromkeys(
        ("planning", "plan_review", "codegen", "review", "test"), "completed"
    )
    assert [entry["kind"] for entry in drive.records(RUN)] == ["start", *["report"] * 5, "answer"]


def test_an_acceptance_is_written_with_who_and_why(drive: Drive) -> None:
    _at_acceptance(drive)
    _answer(drive, "accepted", "the tests cover it")
    decision = drive.json(DECISION)
    assert (decision["verdict"], decision["reasons"]) == ("accepted", ["the tests cover it"])
    assert decision["decider"] == "Ada <ada@example.org>"
    answer = drive.records(RUN)[-1]
    assert (answer["channel"], answer["actor"], answer["why"]) == (
        "terminal", "Ada <ada@example.org>", "the tests cover it",
    )  # fmt: skip
    assert answer["mac"] and answer["about"]


def test_approve_is_the_first_option_of_the_acceptance(drive: Drive) -> None:
    _at_acceptance(drive)
    assert drive.decide("approve", "T1", "--reason", "good").code == 0
    assert drive.json(DECISION)["verdict"] == "accepted"
    assert drive.evaluation("T1")["status"] == "complete"


def test_a_decision_file_counts_once_a_person_signed_it(drive: Drive) -> None:
    _at_acceptance(drive)
    drive.write(DECISION, {"verdict": "accepted", "reasons": ["fine"]})
    assert f"`phasekeeper answer {RUN} acceptance`" in drive.refused("report", "T1", "accept", "ok")
    result = drive.decide("approve", "T1", "--reason", "looked at it")
    assert (result.code, '"reasons": [' in result.err) == (0, True)
    assert drive.json(DECISION) == {"verdict": "accepted", "reasons": ["fine"]}
    assert _phase(drive) == "done"
    assert drive.evaluation("T1")["status"] == "complete"


def test_a_phase_is_not_done_without_its_artifact_but_may_have_failed(drive: Drive) -> None:
    _started(drive)
    said = drive.refused("report", "T1", "planning", "ok")
    assert f"planning is missing ({RUN}/planning/planning.ai.json)" in said
    assert f"`phasekeeper next --run {RUN}`" in said
    drive.do("report", "T1", "planning", "error", "--summary", "no access")
    assert _phase(drive) == "planning"
    assert drive.suggestion("T1") == ("stay", "planning")


def test_a_verdict_is_not_made_anew_by_a_report_alone(drive: Drive) -> None:
    _at_acceptance(drive)
    drive.time_passes()
    drive.write(f"{RUN}/code/files/src/flag.py", "NEW = 3\n")
    assert "artifact-stale" in drive.codes("T1")
    drive.do("redo", "T1", "review")
    assert "code_review is stale" in drive.refused("report", "T1", "review", "ok")
    # The very same verdict, made again, is one of what is there now.
    _review_code(drive)
    assert _phase(drive) == "test"
    assert "evaluation is stale" in drive.refused("report", "T1", "test", "ok")
    _test(drive)
    assert (_phase(drive), drive.codes("T1")) == ("accept", [])


def test_a_file_more_than_was_judged_makes_a_verdict_stale(drive: Drive) -> None:
    _at_acceptance(drive)
    drive.write(f"{RUN}/code/files/src/more.py", "MORE = 1\n")
    assert "artifact-stale" in drive.codes("T1")


def test_a_report_holds_the_digests_of_what_was_judged(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    _review_plan(drive)
    named = {entry["path"]: entry["digest"] for entry in drive.records(RUN)[-1]["files"]}
    made = [f"{RUN}/review/plan-review.json", f"{RUN}/planning/planning.ai.json"]
    assert [named[path] for path in made] == [digest_of(drive.text(path)) for path in made]


def test_a_verdict_is_judged_by_digests_and_not_by_times_once_it_was_reported(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    _review_plan(drive)
    drive.time_passes()
    # The same bytes again, as a checkout writes them; then a file that the review never saw.
    drive.write(f"{RUN}/planning/planning.ai.json", drive.text(f"{RUN}/planning/planning.ai.json"))
    assert drive.codes("T1") == []
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "another"})
    os.utime(drive.root / f"{RUN}/planning/planning.ai.json", (1, 1))
    assert "artifact-stale" in drive.codes("T1")


def test_a_report_of_the_suggested_phase_moves_a_state_file_that_lags(drive: Drive) -> None:
    _started(drive)
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1"})
    assert (_phase(drive), drive.suggestion("T1")) == ("planning", ("advance", "plan_review"))
    _review_plan(drive)
    assert _phase(drive) == "codegen"


def test_another_spelling_of_a_phase_stays_until_the_phase_is_done(drive: Drive) -> None:
    _started(drive)
    for done in (_plan, _review_plan, _code):
        done(drive)
    drive.write(STATE, drive.text(STATE).replace('"phase": "review"', '"phase": "code_review"'))
    drive.do("report", "T1", "review", "error")
    assert (_phase(drive), drive.phase("T1")) == ("code_review", "review")
    _review_code(drive)
    assert _phase(drive) == "test"


# ---- back -------------------------------------------------------------------------------------


def test_a_blocked_plan_goes_back_until_it_is_reviewed_anew(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    _review_plan(drive, ok=False)
    assert _phase(drive) == "planning"
    # The old plan with the old verdict leads nowhere.
    said = drive.unchanged("report", "T1", "planning", "ok")
    assert "the plan is another one than the plan review blocks" in said
    assert _phase(drive) == "planning"
    # So does the very same plan, written again.
    drive.time_passes()
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "Rename the flag"})
    assert "another one" in drive.unchanged("report", "T1", "planning", "ok")
    assert _phase(drive) == "planning"
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "smaller"})
    drive.do("report", "T1", "planning", "ok")
    assert _phase(drive) == "plan_review"
    _review_plan(drive)
    assert _phase(drive) == "codegen"


def test_a_change_outside_of_the_plan_goes_back_to_planning(drive: Drive) -> None:
    _started(drive)
    drive.write(f"{RUN}/planning/plan.files.json", {"files": ["src/other.py"]})
    _plan(drive)
    _review_plan(drive)
    assert "src/flag.py" in _code(drive).out
    assert _phase(drive) == "planning"
    drive.write(f"{RUN}/planning/plan.files.json", {"files": ["src/"]})
    _plan(drive)
    _review_plan(drive)
    _code(drive, 2)
    assert _phase(drive) == "review"


@pytest.mark.parametrize(("cause", "back"), [("code", "codegen"), ("plan", "planning")])
def test_a_blocking_code_review_goes_back_to_its_cause(drive: Drive, cause: str, back: str) -> None:
    _started(drive)
    for done in (_plan, _review_plan, _code):
        done(drive)
    _review_code(drive, ok=False, cause=cause)
    assert _phase(drive) == back


def test_failing_tests_go_back_to_the_code_until_it_changes(drive: Drive) -> None:
    _started(drive)
    for done in (_plan, _review_plan, _code, _review_code):
        done(drive)
    _test(drive, FAILED)
    assert _phase(drive) == "codegen"
    assert "another one than the tests fail with" in drive.unchanged("report", "T1", "codegen", "ok")
    drive.time_passes()
    _code(drive, 2)
    _review_code(drive)
    _test(drive)
    assert _phase(drive) == "accept"


def test_a_rejected_change_is_reworked_reviewed_tested_and_asked_for_again(drive: Drive) -> None:
    _at_acceptance(drive)
    _answer(drive, "rejected", "the name is wrong")
    assert (_phase(drive), drive.json(DECISION)["verdict"]) == ("codegen", "rejected")
    assert "the name is wrong" in drive.json(DECISION)["reasons"]
    # Nothing was changed yet, so nothing leads on.
    assert drive.suggestion("T1") == ("stay", "codegen")
    drive.time_passes()
    _code(drive, 2)
    _review_code(drive)
    _test(drive)
    assert (_phase(drive), drive.questions("T1")) == ("accept", ["acceptance"])
    _answer(drive, "accepted")
    assert drive.json(DECISION)["verdict"] == "accepted"
    assert drive.evaluation("T1")["status"] == "complete"


@pytest.mark.parametrize("back", ["review", "planning", "test"])
def test_a_rejection_in_a_file_can_name_where_to_go_back_to(drive: Drive, back: str) -> None:
    _at_acceptance(drive)
    drive.write(DECISION, {"verdict": "rejected", "next": back})
    assert (drive.suggestion("T1"), drive.questions("T1")) == (("wait", None), ["acceptance"])
    # Tests that have passed are what a person decides on.
    assert drive.decide("approve", "T1", "--reason", "as it says").code == (3 if back == "test" else 0)
    assert _phase(drive) == back


def test_a_revert_is_recorded_before_the_task_is_done(drive: Drive) -> None:
    _at_acceptance(drive)
    _answer(drive, "revert", "a regression in production")
    assert (_phase(drive), drive.json(DECISION)["verdict"]) == ("revert", "revert")
    assert "revert_note is missing" in drive.refused("report", "T1", "revert", "ok")
    drive.write(f"{RUN}/revert/record.json", {"reason": "a regression in production"})
    drive.do("report", "T1", "revert", "ok")
    assert _phase(drive) == "done"
    assert drive.evaluation("T1")["status"] == "complete"


def test_a_task_can_be_closed_without_a_decision_file(drive: Drive) -> None:
    _at_acceptance(drive)
    _answer(drive, "closed", "cleaned up")
    assert _phase(drive) == "done"
    assert drive.evaluation("T1")["status"] == "complete"
    assert not (drive.root / DECISION).exists()


@pytest.mark.parametrize("option", ["accepted", "rejected", "revert", "closed"])
def test_a_deferred_decision_is_replaced_by_the_answer(drive: Drive, option: str) -> None:
    _at_acceptance(drive)
    drive.write(DECISION, {"verdict": "deferred", "reasons": ["wait for the release"]})
    assert drive.questions("T1") == ["acceptance"]
    _answer(drive, option)
    then = {"accepted": "done", "rejected": "codegen", "revert": "revert", "closed": "done"}[option]
    assert _phase(drive) == then
    # Closing leaves the file as somebody wrote it.
    assert drive.json(DECISION)["verdict"] == ("deferred" if option == "closed" else option)


# ---- again, and against the rules -------------------------------------------------------------


def test_redo_marks_the_phase_and_counts_its_rounds(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    _review_plan(drive)
    drive.do("redo", "T1", "planning")
    assert (_phase(drive), drive.json(STATE)["actors"]["planning"]) == (
        "planning", {"status": "redo", "round": 1},
    )  # fmt: skip
    assert drive.suggestion("T1") == ("stay", "planning")
    # A failure in between does not bring the old plan back.
    drive.do("report", "T1", "planning", "error")
    assert drive.json(STATE)["actors"]["planning"]["status"] == "redo"
    assert drive.suggestion("T1") == ("stay", "planning")
    _plan(drive)
    assert _phase(drive) == "plan_review"
    drive.do("redo", "T1", "planning", "--reason", "one more thought")
    assert drive.json(STATE)["actors"]["planning"] == {"status": "redo", "round": 2}
    assert drive.records(RUN)[-1]["why"] == "one more thought"


def test_a_finished_task_is_opened_again_by_redo(drive: Drive) -> None:
    _at_acceptance(drive)
    _answer(drive, "accepted")
    drive.do("redo", "T1", "codegen")
    assert (_phase(drive), drive.evaluation("T1")["status"]) == ("codegen", "active")
    drive.time_passes()
    _code(drive, 2)
    assert _phase(drive) == "review"


def test_what_was_not_done_cannot_be_done_again(drive: Drive) -> None:
    _started(drive)
    assert "ahead" in drive.refused("redo", "T1", "test")
    assert "did you mean" in drive.wrong("redo", "T1", "plannin").lower()


def test_an_override_goes_on_and_is_kept_in_transcript_and_history(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    result = drive.decide("override", "T1", "--to", "codegen", "--reason", "the review is on paper")
    assert result.code == 0, result
    assert "the review is on paper" in result.err
    state = drive.json(STATE)
    line = json.loads(drive.text(f"{RUN}/transcript.jsonl"))
    assert (state["phase"], state["history"]) == ("codegen", [line])
    assert {name: line[name] for name in ("type", "from", "to", "reason", "actor")} == {
        "type": "override", "from": "plan_review", "to": "codegen", "reason": "the review is on paper",
        "actor": "Ada <ada@example.org>",
    }  # fmt: skip
    entry = drive.records(RUN)[-1]
    assert (entry["kind"], entry["gates"], entry["phases"]) == ("override", ["plan-review"], ["plan_review"])
    assert drive.evaluation("T1")["overridden"] is True
    assert "the review is on paper" in drive.do("history", "T1").out
    # The work goes on from there; the review that is missing is not asked for again.
    _code(drive)
    assert _phase(drive) == "review"


def test_failing_tests_can_be_overridden_to_acceptance(drive: Drive) -> None:
    _started(drive)
    for done in (_plan, _review_plan, _code, _review_code):
        done(drive)
    drive.write(f"{RUN}/eval/eval-report.json", FAILED)
    assert drive.suggestion("T1") == ("regress", "codegen")
    drive.write(f"{RUN}/transcript.jsonl", '{"type": "note"}')
    assert drive.decide("override", "T1", "--to", "accept", "--reason", "known flake").code == 3
    assert (_phase(drive), drive.questions("T1")) == ("accept", ["acceptance"])
    lines = drive.text(f"{RUN}/transcript.jsonl").splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["note", "override"]
    _answer(drive, "accepted")
    assert (_phase(drive), drive.evaluation("T1")["status"]) == ("done", "complete")


def test_an_override_waives_gates_that_were_not_reached(drive: Drive) -> None:
    _started(drive)
    _plan(drive)
    drive.decide("override", "T1", "--to", "accept", "--reason", "done by hand")
    gates = drive.records(RUN)[-1]["gates"]
    assert gates == ["plan-review", "scope", "code-review", "tests"], gates
    _answer(drive, "accepted")
    assert drive.evaluation("T1")["status"] == "complete"


# ---- refusals ---------------------------------------------------------------------------------


def test_a_report_out_of_turn_is_refused_with_the_reason(drive: Drive) -> None:
    _started(drive)
    said = drive.refused("report", "T1", "codegen", "ok")
    assert "phases are not skipped" in said
    assert "planning" in said


def test_what_a_workflow_does_not_have_is_refused_by_name(drive: Drive) -> None:
    _started(drive)
    assert "error" in drive.wrong("report", "T1", "planning", "perfect")
    assert "plan_review" in drive.wrong("report", "T1", "plan_revew", "ok")


def test_wrong_names_of_runs_questions_and_options_are_wrong_use(drive: Drive) -> None:
    _at_acceptance(drive)
    assert "T9" in drive.wrong("report", "T9", "planning", "ok")
    assert "T9" in drive.wrong("answer", "T9", "acceptance", "accepted", "--reason", "x")
    assert "acceptance" in drive.wrong("answer", "T1", "acceptence", "accepted", "--reason", "x")
    assert "rejected" in drive.wrong("answer", "T1", "acceptance", "maybe", "--reason", "x")
    assert "reason" in drive.wrong("answer", "T1", "acceptance", "accepted")
    assert "reason" in drive.wrong("override", "T1", "--to", "done", "--reason", "  ")
    assert "exists" in drive.wrong("start", "artifact-pipeline", "T1")
    assert "name" in drive.wrong("start", "artifact-pipeline", "../T2")


@pytest.mark.parametrize(
    "command",
    [
        ("answer", "T1", "acceptance", "accepted"),
        ("resolve", "T1", "acceptance", "accepted"),
        ("approve", "T1"),
        ("override", "T1", "--to", "done"),
    ],
)
def test_no_decision_is_taken_without_a_terminal(drive: Drive, command: tuple[str, ...]) -> None:
    _at_acceptance(drive)
    assert "terminal" in drive.refused(*command, "--reason", "good", stdin=f"{RUN}\n")


def test_another_name_typed_decides_nothing(drive: Drive) -> None:
    _at_acceptance(drive)
    before = drive.files()
    result = drive.decide("approve", "T1", "--reason", "good", typed="T2")
    assert (result.code, result.out) == (1, "")
    assert "nothing was decided" in result.err
    assert drive.files() == before


def test_an_override_to_where_no_rule_leads_is_refused(drive: Drive) -> None:
    _started(drive)
    before = drive.files()
    result = drive.decide("override", "T1", "--to", "nowhere", "--reason", "x")
    assert result.code == 2 and "nowhere" in result.err
    assert drive.files() == before


# ---- what others own --------------------------------------------------------------------------

_FOREIGN = (
    '{\n    "task_id":"T1" , "phase" : "planning",\n\n'
    '    "actors":{"planning":{"status":"idle","round":3,"mood":"\\u00e9"}},\n'
    '    "x-tool": [1,  2.50, {"deep" : null}],\n    "artifacts": {}\n}'
)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_everything_else_in_a_foreign_state_file_keeps_its_bytes(drive: Drive, mark: bytes, end: str) -> None:
    foreign = mark + _FOREIGN.replace("\n", end).encode()
    drive.write(STATE, foreign)
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1"})
    drive.do("report", "T1", "planning", "ok")
    moved = foreign.replace(b'"phase" : "planning"', b'"phase" : "plan_review"')
    assert (drive.root / STATE).read_bytes() == moved.replace(b'"idle"', b'"completed"')


def test_a_state_file_that_cannot_be_read_is_never_written(drive: Drive) -> None:
    _started(drive)
    drive.write(STATE, '{"phase": "planning", "actors": ')
    drive.refused("report", "T1", "planning", "ok")
    drive.refused("redo", "T1", "planning")


def test_an_artifact_that_a_tool_keeps_stays_as_it_is(drive: Drive) -> None:
    _at_acceptance(drive)
    before = drive.files()
    _answer(drive, "accepted")
    after = drive.files()
    changed = {path for path in before if after[path] != before[path]}
    assert changed == {STATE, f"{RUN}/.phasekeeper/journal.jsonl"}


# ---- the definition ---------------------------------------------------------------------------


def test_a_definition_that_changed_under_a_task_holds_its_gates_until_a_person_accepts_it(
    drive: Drive,
) -> None:
    _started(drive)
    _plan(drive)
    drive.write(
        ".phasekeeper/workflows/strict.yaml",
        "workflow: strict\nextend: artifact-pipeline\nruns: {at: [.ai-tools-chain/strict/*]}\n"
        "new: {folder: '.ai-tools-chain/strict/{name}'}\n",
    )
    run = drive.start("strict", "S1")
    drive.write(f"{run}/planning/planning.ai.json", {"id": "S1"})
    drive.do("report", "S1", "planning", "ok")
    definition = drive.text(".phasekeeper/workflows/strict.yaml")
    drive.write(".phasekeeper/workflows/strict.yaml", definition + "title: Stricter\n")
    assert drive.questions("S1") == ["definition"]
    drive.write(f"{run}/review/plan-review.json", {"ok": True, "issues": []})
    drive.do("report", "S1", "plan_review", "ok")
    assert drive.suggestion("S1") == ("stay", "plan_review")
    assert drive.decide("answer", "S1", "definition", "accept", "--reason", "reviewed").code == 0
    assert (drive.questions("S1"), drive.suggestion("S1")) == ([], ("stay", "codegen"))
