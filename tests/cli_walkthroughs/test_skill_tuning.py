"""Seed 003 driven by commands: the action table, its loops and limits, its error recovery and its endings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive

RUN = ".workflow/.scratchpad/skill-tuning-s1"
NAME = "skill-tuning-s1"
STATE = f"{RUN}/state.json"
CONTEXT = "action-diagnose-context"
COMPLETE_ANALYSIS = {"requirement_analysis": {"status": "completed", "coverage": {"status": "satisfied"}}}
HIGH, MEDIUM = {"id": "CTX-1", "severity": "high"}, {"id": "MEM-1", "severity": "medium"}


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    made = Drive(tmp_path, monkeypatch)
    assert made.start("skill-tuning", "s1", "--title", "Summarise") == RUN
    return made


def state(drive: Drive) -> dict[str, Any]:
    return drive.json(STATE)


LEFT = {
    "action-analyze-requirements": "requirement-analysis.json",
    "action-gemini-analysis": "diagnosis/gemini-analysis-root_cause.md",
    "action-generate-report": "tuning-report.md",
    "action-propose-fixes": "fixes/fix-proposals.json",
    "action-verify": "fixes/applied-fixes.json",
    "action-complete": "tuning-summary.md",
}


def leave(drive: Drive, action: str) -> None:
    """Write what an action leaves in the work directory; a fix is applied to the skill itself."""
    area = action.removeprefix("action-diagnose-")
    own = f"diagnosis/{area}-diagnosis.json" if area != action else LEFT.get(action)
    path = "SKILL.md" if action == "action-apply-fix" else f"{RUN}/{own}"
    if own or action == "action-apply-fix":
        drive.write(path, f"{len(drive.records(RUN))}\n")


def ok(drive: Drive, action: str, updates: dict[str, Any] | None = None, **more: Any) -> int:
    """Report an action that is suggested now, with the files that it leaves; the exit code."""
    assert drive.suggestion(RUN) == ("act", action)
    leave(drive, action)
    about = {"target_skill": {"name": "summarise"}, "user_issue_description": "It forgets."}
    told = {**(about if action == "action-init" else {}), **(updates or {})}
    data = json.dumps({"files": ["SKILL.md"], "stateUpdates": told, **more})
    return drive.do("report", NAME, action, "ok", "--data", "-", stdin=data).code


def failed(drive: Drive, action: str, message: str = "no") -> None:
    assert drive.suggestion(RUN) == ("act", action)
    drive.do("report", NAME, action, "error", "--summary", message)


def change(drive: Drive, **values: Any) -> None:
    """What a person writes into the state file by hand, and confirms where it loosens the run."""
    drive.write(STATE, {**state(drive), **values})
    if "state" in drive.questions(RUN):
        assert drive.decide("answer", NAME, "state", "accept", "--reason", "it is mine").code in (0, 3)


def diagnosed(drive: Drive, focus: list[str] | None = None, **updates: Any) -> None:
    """From the start to diagnoses that are all made, with issues where `updates` say so."""
    focus = focus or ["context", "memory"]
    ok(drive, "action-init", {"focus_areas": focus, "target_skill": {"name": "summarise"}})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    for area in focus:
        ok(drive, f"action-diagnose-{area}", {f"diagnosis.{area}": {"status": "completed"}, **updates})


def applied(drive: Drive) -> None:
    """On to a fix that is applied and not verified."""
    diagnosed(drive, issues=[HIGH])
    ok(drive, "action-generate-report", {"quality_gate": "fail"})
    proposed = [{"id": "F1", "issue_ids": [HIGH["id"]]}]
    ok(drive, "action-propose-fixes", {"proposed_fixes": proposed, "pending_fixes": ["F1"]})
    fix = {"fix_id": "F1", "verification_result": "pending"}
    ok(drive, "action-apply-fix", {"pending_fixes": [], "applied_fixes": [fix]})


def test_a_fix_that_is_reported_without_data_is_the_one_whose_turn_it_was(drive: Drive):
    diagnosed(drive, issues=[HIGH])
    ok(drive, "action-generate-report", {"quality_gate": "fail"})
    proposed = [{"id": name, "issue_ids": [HIGH["id"]]} for name in ("F1", "F2")]
    ok(drive, "action-propose-fixes", {"proposed_fixes": proposed, "pending_fixes": ["F1", "F2"]})
    leave(drive, "action-apply-fix")
    assert drive.do("report", NAME, "action-apply-fix", "ok", "--summary", "Changed SKILL.md.").code == 0
    state = json.loads((drive.root / STATE).read_text())
    assert state["pending_fixes"] == ["F2"]
    assert state["applied_fixes"] == [{"fix_id": "F1", "verification_result": "pending"}]


# ---- the way to the end -----------------------------------------------------------------------


def test_a_tuning_goes_from_start_to_complete(drive: Drive):
    evaluation = drive.evaluation(RUN)
    assert (evaluation["title"], evaluation["currentPhase"]) == ("Summarise", "pending")
    applied(drive)
    # The seed's "user interaction points" stop nobody, and are not said to.
    said = drive.do("next", RUN).out
    assert "a person may look at it besides: Review the verification" in said and "waiting for" not in said
    passed = {"fix_id": "F1", "verification_result": "pass"}
    ok(
        drive,
        "action-verify",
        {"applied_fixes": [passed], "issues": [], "iteration_count": 1, "quality_gate": "pass"},
    )
    ok(drive, "action-complete", {"final_report": "tuning-summary.md"})
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("complete", "stop")
    assert evaluation["findings"] == []
    written = state(drive)
    assert (written["status"], written["current_action"]) == ("completed", None)
    assert written["completed_at"] == written["updated_at"]
    assert written["completed_actions"] == [
        "action-init", "action-analyze-requirements", CONTEXT, "action-diagnose-memory",
        "action-generate-report", "action-propose-fixes", "action-apply-fix", "action-verify",
        "action-complete",
    ]  # fmt: skip
    assert [entry["action"] for entry in written["action_history"]] == written["completed_actions"]
    assert [record["kind"] for record in drive.records(RUN)] == ["start", *["report"] * 9]


def test_all_six_diagnoses_are_made_in_order_where_no_focus_is_set(drive: Drive):
    ok(drive, "action-init")
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    for area in ("context", "memory", "dataflow", "agent", "docs", "token_consumption"):
        ok(drive, f"action-diagnose-{area}", {f"diagnosis.{area}": {"status": "completed"}})
    ok(drive, "action-generate-report")
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_an_action_reported_by_its_other_name_is_recorded_by_its_own(drive: Drive):
    ok(drive, "action-init", {"focus_areas": ["token_consumption"]})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    leave(drive, "action-diagnose-token-consumption")
    drive.do("report", NAME, "action-diagnose-token-consumption", "ok")
    assert state(drive)["completed_actions"][-1] == "action-diagnose-token_consumption"


def test_an_init_that_says_another_status_is_not_believed(drive: Drive):
    ok(drive, "action-init", {"status": "completed"})
    assert state(drive)["status"] == "running"
    assert drive.codes(RUN) == ["updates-ignored"]


def test_a_passed_gate_ends_the_run_and_warns_of_fixes_that_are_dropped(drive: Drive):
    diagnosed(drive, issues=[MEDIUM])
    change(drive, pending_fixes=["F1"])
    ok(drive, "action-generate-report", {"quality_gate": "pass"})
    assert "fixes-dropped" in drive.codes(RUN)
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


# ---- the state file ---------------------------------------------------------------------------


def test_keys_with_dots_in_updates_are_folded_into_their_paths(drive: Drive):
    ok(drive, "action-init", {"target_skill.name": "summarise", "target_skill.path.of": None, "a.b": 1})
    written = state(drive)
    assert written["target_skill"] == {"name": "summarise", "path": {"of": None}}
    assert "a" not in written and "a.b" not in written
    assert "dotted-key" not in drive.codes(RUN)


def test_a_key_with_dots_that_is_there_does_not_hide_the_new_value(drive: Drive):
    ok(drive, "action-init", {"focus_areas": ["context"]})
    change(drive, **{"diagnosis.context": None})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    ok(drive, CONTEXT, {"diagnosis.context": {"status": "completed"}})
    assert drive.suggestion(RUN) == ("act", "action-generate-report")
    assert state(drive)["diagnosis.context"] == {"status": "completed"}


def test_the_last_ten_actions_and_five_errors_are_kept(drive: Drive):
    change(drive, max_errors=20)
    for number in range(7):
        failed(drive, "action-init", f"failure {number}")
    diagnosed(drive)
    ok(drive, "action-generate-report")
    written = state(drive)
    assert written["error_count"] == 7
    assert [error["message"] for error in written["errors"]] == [
        f"failure {number}" for number in range(2, 7)
    ]
    assert set(written["errors"][0]) == {"action", "message", "timestamp"}
    assert len(written["action_history"]) == 10
    assert written["action_history"][-1]["action"] == "action-generate-report"
    assert len(written["completed_actions"]) == 5


def test_an_entry_of_the_history_says_when_and_how_it_ended(drive: Drive):
    ok(drive, "action-init", startedAt="2026-01-01T00:00:00Z", outputFiles=["init.json"])
    failed(drive, "action-analyze-requirements")
    first, second = state(drive)["action_history"]
    assert first.pop("completed_at")
    assert first == {
        "action": "action-init",
        "started_at": "2026-01-01T00:00:00Z",
        "result": "success",
        "output_files": ["init.json"],
    }
    assert (second["result"], second["started_at"]) == ("failure", second["completed_at"])


def test_an_action_that_the_loop_marked_as_current_stands_once_in_the_history(drive: Drive):
    begun = {"action": "action-init", "started_at": "2026-01-01T00:00:00Z", "completed_at": None}
    change(drive, current_action="action-init", action_history=[begun])
    ok(drive, "action-init")
    assert (state(drive)["action_history"], state(drive)["current_action"]) == ([begun], None)
    change(drive, current_action="action-analyze-requirements", action_history=[begun])
    failed(drive, "action-analyze-requirements")
    assert (state(drive)["action_history"], state(drive)["error_count"]) == ([begun], 1)


def test_what_others_wrote_survives_byte_for_byte(drive: Drive):
    own = (
        '{"status" : "running",\n\t"target_skill":{"name":null,  "path":null},\n'
        '\t"odd": [1,2,  3.50], "diagnosis":{ "context" : null },\n'
        '\t"issues": [{"id":"CTX-1","severity":"low",   "location":null}],\n'
        '\t"completed_actions":["action-init"],   "error_count":0,\n'
        '\t"errors":[{"action":"x","message":null,  "n":1e2}], "tail" : {"a":null}}'
    )
    drive.write(STATE, own)
    drive.do("report", NAME, "action-analyze-requirements", "error", "--summary", "no")
    text = drive.text(STATE)
    assert text.startswith(own[: own.index('"error_count":0')] + '"error_count":1')
    assert '{"action":"x","message":null,  "n":1e2}' in text
    assert '"tail" : {"a":null}' in text
    leave(drive, "action-analyze-requirements")
    drive.do("report", NAME, "action-analyze-requirements", "ok")
    again = drive.text(STATE)
    assert again.startswith(
        own[: own.index('["action-init"]')] + '["action-init", "action-analyze-requirements"]'
    )
    assert '{"action":"x","message":null,  "n":1e2}' in again


@pytest.mark.parametrize("updates", ["7", "[1]", '"text"', "null"])
def test_updates_that_are_no_object_are_refused(drive: Drive, updates: str):
    data = f'{{"stateUpdates": {updates}}}'
    drive.refused("report", NAME, "action-init", "ok", "--data", "-", stdin=data)


# ---- waiting and iterating --------------------------------------------------------------------


def test_requirements_that_need_clarification_wait_for_a_person(drive: Drive):
    ok(drive, "action-init", {"focus_areas": ["context"]})
    unclear = {"requirement_analysis": {"status": "needs_clarification"}}
    assert ok(drive, "action-analyze-requirements", unclear) == 3
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("waiting_human", "wait")
    drive.refused("report", NAME, CONTEXT, "ok")
    change(drive, requirement_analysis={"status": "completed"})
    assert drive.suggestion(RUN) == ("act", CONTEXT)


def test_an_analysis_is_started_waited_for_and_not_repeated(drive: Drive):
    ok(drive, "action-init", {"focus_areas": ["context", "architecture"]})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    ok(drive, "action-gemini-analysis", {"gemini_analysis.status": "running"})
    assert drive.suggestion(RUN) == ("wait", None)
    change(drive, gemini_analysis={"status": "completed"})
    assert drive.suggestion(RUN) == ("act", CONTEXT)


def test_requirements_that_are_not_covered_are_analysed_once(drive: Drive):
    ok(drive, "action-init", {"focus_areas": ["context"]})
    ok(
        drive,
        "action-analyze-requirements",
        {"requirement_analysis": {"coverage": {"status": "unsatisfied"}}},
    )
    ok(drive, "action-gemini-analysis", {"gemini_analysis": {"status": "failed"}})
    assert drive.suggestion(RUN) == ("act", CONTEXT)


def test_a_verification_that_empties_diagnoses_begins_a_second_iteration(drive: Drive):
    applied(drive)
    kept = {"fix_id": "F1", "verification_result": "fail"}
    emptied = {
        "iteration_count": 1,
        "applied_fixes": [kept],
        "diagnosis.context": None,
        "diagnosis.memory": None,
    }
    ok(drive, "action-verify", emptied)
    # Issues that are left call for an analysis only once all five areas were looked at.
    for area in ("context", "memory"):
        ok(drive, f"action-diagnose-{area}", {f"diagnosis.{area}": {"status": "completed"}})
    ok(drive, "action-generate-report")
    proposed = [{"id": "F2", "issue_ids": [HIGH["id"]]}]
    ok(drive, "action-propose-fixes", {"proposed_fixes": proposed, "pending_fixes": ["F2"]})
    fixes = [kept, {"fix_id": "F2", "verification_result": "pending"}]
    ok(drive, "action-apply-fix", {"pending_fixes": [], "applied_fixes": fixes})
    passed = {"fix_id": "F2", "verification_result": "pass"}
    ok(drive, "action-verify", {"iteration_count": 2, "issues": [], "applied_fixes": [kept, passed]})
    ok(drive, "action-generate-report")
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_the_last_iteration_ends_the_run(drive: Drive):
    applied(drive)
    change(drive, iteration_count=4)
    ok(drive, "action-verify", {"iteration_count": 5, "applied_fixes": []})
    assert drive.evaluation(RUN)["limits"][1] == {"id": "iterations", "count": 5, "max": 5, "reached": True}
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def no_progress(drive: Drive) -> str:
    """On to an iteration that changed nothing; the question that it asks."""
    diagnosed(drive, issues=[HIGH])
    ok(drive, "action-generate-report")
    ok(drive, "action-propose-fixes", {"proposed_fixes": [{"id": "F1"}], "pending_fixes": []})
    ok(drive, CONTEXT)
    (question,) = drive.questions(RUN)
    return question


def test_an_iteration_that_changes_nothing_asks_and_is_accepted(drive: Drive):
    question = no_progress(drive)
    assert question == "no_progress:7"
    assert drive.decide("answer", NAME, question, "complete", "--reason", "good enough").code == 0
    assert drive.questions(RUN) == []
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_an_iteration_that_changes_nothing_asks_and_is_repeated_once(drive: Drive):
    question = no_progress(drive)
    assert drive.decide("answer", NAME, question, "again", "--reason", "once more").code == 0
    ok(drive, CONTEXT)
    assert drive.questions(RUN) == ["no_progress:8"]


# ---- errors -----------------------------------------------------------------------------------


def test_the_third_error_aborts_the_run(drive: Drive):
    ok(drive, "action-init")
    for _ in range(3):
        failed(drive, "action-analyze-requirements")
    assert drive.suggestion(RUN) == ("act", "action-abort")
    drive.refused("report", NAME, "action-analyze-requirements", "ok")
    drive.do("report", NAME, "action-abort", "ok")
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("failed", "stop")
    assert state(drive)["status"] == "failed"
    drive.refused("report", NAME, "action-abort", "ok")


def test_an_action_is_retried_three_times_and_then_skipped(drive: Drive):
    change(drive, max_errors=10)
    ok(drive, "action-init", {"focus_areas": ["context", "memory"]})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    for _ in range(4):
        failed(drive, CONTEXT)
    assert [entry["result"] for entry in state(drive)["action_history"][-4:]] == [*["failure"] * 3, "skipped"]
    assert "action-skipped" in drive.codes(RUN)
    assert CONTEXT not in state(drive)["completed_actions"]
    ok(drive, "action-diagnose-memory", {"diagnosis.memory": {"status": "completed"}})
    drive.refused("report", NAME, CONTEXT, "ok")
    ok(drive, "action-generate-report")
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_an_action_that_succeeds_at_the_third_retry_is_not_skipped(drive: Drive):
    change(drive, max_errors=10)
    ok(drive, "action-init", {"focus_areas": ["context"]})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    for _ in range(3):
        failed(drive, CONTEXT)
    ok(drive, CONTEXT, {"diagnosis.context": {"status": "completed"}})
    failed(drive, "action-generate-report")
    assert "action-skipped" not in drive.codes(RUN)


def test_an_abort_comes_before_a_skip(drive: Drive):
    change(drive, max_errors=4)
    ok(drive, "action-init")
    for _ in range(4):
        failed(drive, "action-analyze-requirements")
    assert drive.suggestion(RUN) == ("act", "action-abort")


@pytest.mark.parametrize(
    ("action", "following"),
    [
        ("action-analyze-requirements", CONTEXT),
        ("action-generate-report", "action-propose-fixes"),
        ("action-propose-fixes", CONTEXT),
        ("action-apply-fix", CONTEXT),
        ("action-verify", CONTEXT),
    ],
)
def test_every_action_that_can_be_skipped_gives_way_to_the_next(drive: Drive, action: str, following: str):
    change(drive, max_errors=20)
    steps: list[tuple[str, dict[str, Any]]] = [
        ("action-init", {"focus_areas": ["context"]}),
        ("action-analyze-requirements", COMPLETE_ANALYSIS),
        (CONTEXT, {"diagnosis.context": {"status": "completed"}, "issues": [HIGH]}),
        ("action-generate-report", {}),
        ("action-propose-fixes", {"proposed_fixes": [{"id": "F1"}], "pending_fixes": ["F1"]}),
        ("action-apply-fix", {"pending_fixes": [], "applied_fixes": [{"fix_id": "F1"}]}),
    ]
    for step, updates in steps:
        if step == action:
            break
        ok(drive, step, updates)
    for _ in range(4):
        failed(drive, action)
    assert drive.suggestion(RUN) == ("act", following)


def test_a_new_iteration_tries_a_skipped_action_again(drive: Drive):
    change(drive, max_errors=20)
    ok(drive, "action-init", {"focus_areas": ["context", "memory"]})
    ok(drive, "action-analyze-requirements", COMPLETE_ANALYSIS)
    ok(drive, CONTEXT, {"diagnosis.context": {}})
    change(drive, applied_fixes=[{"fix_id": "F0"}])
    for _ in range(4):
        failed(drive, "action-diagnose-memory")
    ok(drive, "action-generate-report")
    verified = [{"fix_id": "F0", "verification_result": "pass"}]
    ok(drive, "action-verify", {"applied_fixes": verified, "iteration_count": 1})
    assert drive.suggestion(RUN) == ("act", "action-diagnose-memory")
    assert "action-skipped" not in drive.codes(RUN)


def test_a_fix_that_cannot_be_applied_is_dropped_with_a_warning(drive: Drive):
    change(drive, max_errors=20)
    diagnosed(drive, issues=[MEDIUM])
    ok(drive, "action-generate-report")
    ok(drive, "action-propose-fixes", {"proposed_fixes": [{"id": "F1"}], "pending_fixes": ["F1"]})
    for _ in range(4):
        failed(drive, "action-apply-fix")
    assert {"action-skipped", "fixes-dropped"} <= set(drive.codes(RUN))
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_how_often_is_retried_can_be_set(drive: Drive):
    drive.write(".phasekeeper/config.yaml", "parameters: {skill-tuning: {retries: 0}}\n")
    # The definition changed while the run was under way: a person lets it count.
    drive.decide("answer", NAME, "definition", "accept", "--reason", "set on purpose")
    ok(drive, "action-init", {"focus_areas": ["context"]})
    failed(drive, "action-analyze-requirements")
    assert drive.suggestion(RUN) == ("act", CONTEXT)


def test_a_state_that_cannot_be_parsed_is_never_overwritten(drive: Drive):
    ok(drive, "action-init")
    drive.write(STATE, drive.text(STATE)[:-40])
    assert drive.evaluation(RUN)["status"] == "invalid"
    drive.refused("report", NAME, "action-analyze-requirements", "ok")


def test_a_state_that_cannot_be_parsed_is_restored_from_its_backup(drive: Drive):
    ok(drive, "action-init")
    good = drive.text(STATE)
    drive.write(f"{STATE}.backup", good)
    drive.write(STATE, good[:-40])
    drive.do("repair", NAME, "--restore")
    assert drive.text(STATE) == good
    assert good[:-40].encode() in [drive.files()[path] for path in drive.files() if ".corrupt-" in path]
    ok(drive, "action-analyze-requirements")


def test_an_output_written_to_another_path_is_named_in_the_history(drive: Drive):
    diagnosed(drive)
    failed(drive, "action-generate-report", "tuning-report.md cannot be written")
    ok(drive, "action-generate-report", outputFiles=["/tmp/tuning-report.md"])
    assert state(drive)["action_history"][-1]["output_files"] == ["/tmp/tuning-report.md"]
    assert state(drive)["errors"][-1]["message"] == "tuning-report.md cannot be written"


# ---- endings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1])
def test_a_user_ends_the_tuning_and_the_state_is_saved(drive: Drive, steps: int):
    if steps:
        ok(drive, "action-init", {"issues": [HIGH]})
    phase = drive.phase(RUN)
    drive.do("report", NAME, phase, "exit", "--summary", "enough for today")
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["currentPhase"]) == ("exited", "user_exit")
    written = state(drive)
    assert (written["status"], written["current_action"]) == ("user_exit", None)
    assert written["completed_actions"] == ["action-init"] * steps
    drive.refused("report", NAME, "action-init", "ok")


def test_a_phase_is_reported_to_end_and_for_nothing_else(drive: Drive):
    assert "says one of exit" in drive.wrong("report", NAME, "pending", "ok")


def endless(drive: Drive) -> str:
    """A loop that has run fifty actions; the question that it asks."""
    diagnosed(drive)
    change(drive, completed_actions=[*state(drive)["completed_actions"], *[CONTEXT] * 45])
    assert ok(drive, "action-generate-report") == 3
    (question,) = drive.questions(RUN)
    return question


def test_fifty_actions_without_an_end_ask_a_person(drive: Drive):
    assert endless(drive) == "max_loop:50"
    assert drive.suggestion(RUN) == ("escalate", None)
    drive.refused("report", NAME, "action-complete", "ok")


def test_a_person_allows_as_many_actions_again(drive: Drive):
    assert drive.decide("answer", NAME, endless(drive), "more", "--reason", "it gets better").code == 0
    assert drive.evaluation(RUN)["limits"][2]["max"] == 100
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_a_person_ends_the_loop(drive: Drive):
    assert drive.decide("answer", NAME, endless(drive), "stop", "--reason", "it goes round").code == 0
    ok(drive, "action-complete")
    assert drive.evaluation(RUN)["status"] == "complete"


def test_no_override_leads_where_only_actions_lead(drive: Drive):
    diagnosed(drive, issues=[HIGH])
    said = drive.refused("override", NAME, "--to", "completed", "--reason", "I am an agent")
    assert "no rule leads from running to completed" in said
    before = drive.files()
    decided = drive.decide("override", NAME, "--to", "completed", "--reason", "we ship as it is")
    assert decided.code == 1
    assert "no rule leads from running to completed" in decided.err
    assert drive.files() == before
