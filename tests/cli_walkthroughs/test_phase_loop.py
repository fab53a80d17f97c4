"""Seed 001 driven by commands: ten phases again and again, until two passes in a row hold."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive, Result

RUN = ".claude/state"
STATE = f"{RUN}/loop.state.json"
ORDER = (
    "classify", "contextualize", "assess", "plan", "execute", "verify", "quality", "checkpoint", "evaluate",
)  # fmt: skip
PASSED = {"lint": {"status": "passed"}, "security-scan": {"status": "skipped"}}
BROKEN = {"id": "WQ-1", "priority": "S0", "title": "data loss", "status": "pending"}


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


def _loop(drive: Drive, **state: Any) -> None:
    """A loop under way, with gates that passed and nothing left to do."""
    made = {
        "version": "2.0",
        "iteration": 1,
        "phase": "classify",
        "status": "running",
        "consecutivePasses": 0,
    }
    drive.write(STATE, {**made, "workQueue": [], "gates": PASSED, "history": [], **state})


def _state(drive: Drive) -> dict[str, Any]:
    return drive.json(STATE)


def _at(drive: Drive) -> tuple[str, int, int]:
    state = _state(drive)
    return state["phase"], state["iteration"], state["consecutivePasses"]


def _report(drive: Drive, phase: str, outcome: str = "ok", /, *more: str, **updates: Any) -> Result:
    data: dict[str, Any] = {"stateUpdates": updates}
    if phase == "quality":
        # A pass runs its gates anew and keeps what they said.
        state = _state(drive)
        drive.write(f"{RUN}/gates/pass-{state['iteration']}.md", "ruff: 0 errors\n")
        gates = {name: {"status": "passed"} for name, g in state["gates"].items() if g["status"] != "skipped"}
        data["stateUpdates"] = {"gates": gates, **updates}
    if any(item["status"] == "done" for item in updates.get("workQueue", ())):
        drive.write("src/work.py", f"WORK = {len(drive.records(RUN))}\n")
        data["files"] = ["src/work.py"]
    return drive.do("report", RUN, phase, outcome, *more, "--data", "-", stdin=json.dumps(data))


def _history(drive: Drive) -> list[tuple[str, str]]:
    """The phases that were done; what the evaluation of a pass found stands beside them as an action."""
    entries = [entry for entry in _state(drive)["history"] if entry.get("action") != "pass"]
    return [(entry["phase"], entry["result"]) for entry in entries]


def _answer(drive: Drive, option: str, question: str) -> Result:
    """Answer the only open question."""
    asked = drive.questions(RUN)
    assert [one.split(":")[0] for one in asked] == [question]
    result = drive.decide("answer", RUN, asked[0], option, "--reason", "as talked over")
    assert result.code in (0, 3), result
    assert drive.records(RUN)[-1]["option"] == option
    return result


# ---- forward ----------------------------------------------------------------------------------


def test_a_new_loop_begins_with_its_first_phase_and_seven_gates(drive: Drive) -> None:
    assert drive.start("phase-loop", "build-1", "--title", "Add a form") == RUN
    state = _state(drive)
    assert (state["sessionId"], state["title"], len(state["gates"])) == ("build-1", "Add a form", 7)
    assert drive.suggestion(RUN) == ("stay", "classify")
    assert "exists" in drive.wrong("start", "phase-loop", "build-2")


def test_a_loop_ends_after_two_passes_in_a_row(drive: Drive) -> None:
    drive.start("phase-loop", "build-1")
    for phase, then in pairwise(ORDER):
        assert _report(drive, phase).code == 0
        assert _at(drive) == (then, 1, 0)
    _report(drive, "evaluate")
    assert _at(drive) == ("classify", 2, 1)
    for phase in ORDER:
        _report(drive, phase)
    assert _at(drive) == ("evaluate", 2, 2)
    state, evaluation = _state(drive), drive.evaluation(RUN)
    assert state["status"] == evaluation["status"] == "complete"
    assert state["metrics"] == {
        "iterationsTotal": 2, "gatesPassed": 7, "gatesFailed": 0, "tasksCompleted": 0,
    }  # fmt: skip
    assert _history(drive) == [(phase, "ok") for phase in (*ORDER, *ORDER)]
    assert [entry["iteration"] for entry in drive.records(RUN)[1:]] == [1] * 9 + [2] * 9
    assert "complete" in drive.refused("report", RUN, "classify", "ok")


def test_a_pass_that_does_not_hold_starts_counting_anew(drive: Drive) -> None:
    done = {"id": "WQ-1", "priority": "S2", "title": "a form", "status": "done"}
    _loop(drive, phase="quality", consecutivePasses=1, workQueue=[done, {**BROKEN, "priority": "S3"}])
    for phase in ORDER[6:]:
        _report(drive, phase)
    assert _at(drive) == ("classify", 2, 0)
    said = "the last pass did not count: the work queue is not empty (WQ-1); passes in a row still missing: 2"
    assert drive.evaluation(RUN)["suggestion"]["reason"] == said
    assert _state(drive)["metrics"] == {
        "iterationsTotal": 1, "gatesPassed": 1, "gatesFailed": 0, "tasksCompleted": 1,
    }  # fmt: skip


def test_what_a_phase_found_is_merged_into_the_state_at_every_depth(drive: Drive) -> None:
    _loop(drive, gates={"lint": {"status": "pending", "attempts": 2, "x-tool": "kept"}}, phase="quality")
    queue = [{"id": "WQ-2", "priority": "S3", "title": "tidy", "status": "pending"}]
    updates = {"gates": {"lint": {"status": "passed", "value": 0}}, "workQueue": queue}
    _report(drive, "quality", metrics={"tokensUsed": 9}, context=None, **updates)
    state = _state(drive)
    assert state["gates"] == {"lint": {"status": "passed", "attempts": 2, "x-tool": "kept", "value": 0}}
    assert (state["workQueue"], state.get("metrics"), state["context"]) == (queue, None, None)
    assert state["phase"] == "checkpoint"


def test_a_report_does_not_set_what_the_rules_set_and_that_is_told(drive: Drive) -> None:
    _loop(drive)
    wanted = {"status": "complete", "consecutivePasses": 2, "iteration": 9, "phase": "evaluate"}
    _report(drive, "classify", classification={"type": "straightforward"}, history=[], **wanted)
    state = _state(drive)
    assert (_at(drive), state["status"]) == (("contextualize", 1, 0), "running")
    assert state["classification"] == {"type": "straightforward"}
    assert [said.split(":")[0] for said in state["history"][-1]["ignored"]] == list(wanted)
    assert "updates-ignored" in drive.codes(RUN)
    _report(drive, "contextualize")
    assert "updates-ignored" not in drive.codes(RUN)
    assert len(_state(drive)["history"]) == 2


def test_a_dotted_key_is_no_way_around_that(drive: Drive) -> None:
    _loop(drive)
    _report(drive, "classify", **{"status.word": "complete", "context.level": "green"})
    assert (_state(drive)["status"], _state(drive)["context"]) == ("running", {"level": "green"})
    assert _state(drive)["history"][-1]["ignored"] == ["status: its reports do not write it"]


def test_a_phase_can_jump_to_another(drive: Drive) -> None:
    _loop(drive, phase="plan")
    _report(drive, "plan", "ok", "--next", "verify")
    assert _at(drive)[0] == "verify"
    _report(drive, "verify", "ok", "--next", "assess")
    assert _at(drive)[0] == "assess"
    assert drive.records(RUN)[-1]["next"] == "assess"
    assert "verify" in drive.wrong("report", RUN, "assess", "ok", "--next", "verfy")


def test_skipped_phases_are_recorded_with_their_reason(drive: Drive) -> None:
    skip = {
        name: {"skip": True, "reason": f"no need to {name}"} for name in ("classify", "assess", "plan")
    } | {"verify": {"skip": False}}
    _loop(drive, skip=skip)
    assert drive.suggestion(RUN) == ("advance", "contextualize")
    assert "phase-skipped" in drive.codes(RUN)
    _report(drive, "contextualize")
    assert _at(drive)[0] == "execute"
    assert _history(drive) == [
        ("classify", "skipped"), ("contextualize", "ok"), ("assess", "skipped"), ("plan", "skipped"),
    ]  # fmt: skip
    assert _state(drive)["history"][-1]["details"] == "no need to plan"
    assert [(r["kind"], r["phase"], r.get("outcome")) for r in drive.records(RUN)] == [
        ("transition", "classify", "skipped"),
        ("report", "contextualize", "ok"),
        ("transition", "assess", "skipped"),
        ("transition", "plan", "skipped"),
    ]
    told = json.loads(drive.do("history", RUN, "--events", "--json").out)["records"]
    events = [event for entry in told for event in entry["events"]]
    assert [e["payload"] for e in events if e["event"] == "loop.phase.skipped"] == [
        {"phase": name, "iteration": 1, "reason": f"no need to {name}"}
        for name in ("classify", "assess", "plan")
    ]
    _report(drive, "execute")
    assert _at(drive)[0] == "verify"


# ---- errors -----------------------------------------------------------------------------------


def test_an_error_leads_by_way_of_recover_to_contextualize_and_spoils_the_pass(drive: Drive) -> None:
    _loop(drive, phase="execute", consecutivePasses=1)
    _report(drive, "execute", "error", "--summary", "the build broke")
    assert _at(drive)[0] == "recover"
    assert drive.records(RUN)[-1]["message"] == "the build broke"
    assert "phases are not skipped" in drive.refused("report", RUN, "verify", "ok")
    _report(drive, "recover")
    for phase in ORDER[1:]:
        assert _at(drive) == (phase, 1, 1)
        _report(drive, phase)
    assert _at(drive) == ("classify", 2, 0)
    assert _history(drive)[:2] == [("execute", "error"), ("recover", "ok")]


def test_an_error_sets_nothing_and_what_it_wanted_is_told(drive: Drive) -> None:
    _loop(drive, phase="plan")
    _report(drive, "plan", "error", workQueue=[BROKEN])
    said = ["workQueue: a report with this outcome writes nothing"]
    assert (_state(drive)["workQueue"], _state(drive)["history"][-1]["ignored"]) == ([], said)
    assert "updates-ignored" in drive.codes(RUN)


def test_an_error_while_recovering_keeps_the_loop_in_recover(drive: Drive) -> None:
    _loop(drive, phase="plan")
    _report(drive, "plan", "error")
    _report(drive, "recover", "error")
    assert (_at(drive)[0], drive.suggestion(RUN)) == ("recover", ("stay", "recover"))


def _after_errors(drive: Drive) -> None:
    drive.write(".phasekeeper/config.yaml", "parameters: {phase-loop: {errors_per_iteration: 2}}\n")
    _loop(drive, phase="plan")
    _report(drive, "plan", "error")
    assert _report(drive, "recover", "error").code == 3
    assert drive.questions(RUN) == ["errors:1"]
    assert "a person decides first" in drive.refused("report", RUN, "recover", "ok")


def _after_jumps(drive: Drive) -> None:
    drive.write(".phasekeeper/config.yaml", "parameters: {phase-loop: {jumps_per_iteration: 2}}\n")
    _loop(drive, phase="plan")
    _report(drive, "plan", "ok", "--next", "assess")
    assert _report(drive, "assess", "ok", "--next", "assess").code == 3
    assert drive.questions(RUN) == ["jumps:1"]


def _after_a_severe_find(drive: Drive) -> None:
    _loop(drive, phase="plan", workQueue=[BROKEN])
    assert drive.questions(RUN) == ["severe:1:WQ-1"]


def _after_a_failed_item(drive: Drive) -> None:
    _loop(drive, phase="plan", workQueue=[{**BROKEN, "priority": "S2", "status": "failed"}])
    assert drive.questions(RUN) == ["failed_items:1:WQ-1"]


def _after_too_many_iterations(drive: Drive) -> None:
    drive.write(".claude/config.json", {"loop": {"maxIterations": 2}})
    _loop(drive, phase="evaluate", gates={"lint": {"status": "failed", "severity": "S3"}})
    assert _report(drive, "evaluate").code == 3
    assert (_at(drive), drive.questions(RUN)) == (("classify", 2, 0), ["timeout:2"])


ASKED = {
    "errors": _after_errors,
    "jumps": _after_jumps,
    "severe": _after_a_severe_find,
    "failed_items": _after_a_failed_item,
    "timeout": _after_too_many_iterations,
}


@pytest.mark.parametrize("question", ASKED)
def test_every_question_can_be_answered_with_stop(drive: Drive, question: str) -> None:
    ASKED[question](drive)
    _answer(drive, "stop", question)
    assert _state(drive)["status"] == "failed"
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["questions"]) == ("failed", [])
    assert "failed" in drive.refused("report", RUN, _at(drive)[0], "ok")


def test_more_errors_may_be_allowed_once(drive: Drive) -> None:
    _after_errors(drive)
    _answer(drive, "go_on", "errors")
    assert drive.suggestion(RUN) == ("stay", "recover")
    _report(drive, "recover", "error")
    assert drive.questions(RUN) == []
    _report(drive, "recover", "error")
    assert drive.questions(RUN) == ["errors:1"]


def test_more_jumps_may_be_allowed_once(drive: Drive) -> None:
    _after_jumps(drive)
    _answer(drive, "go_on", "jumps")
    _report(drive, "assess", "ok", "--next", "assess")
    assert drive.questions(RUN) == []
    _report(drive, "assess", "ok", "--next", "plan")
    assert drive.questions(RUN) == ["jumps:1"]


def test_a_severe_item_may_be_resolved_in_this_iteration(drive: Drive) -> None:
    _after_a_severe_find(drive)
    _answer(drive, "resolve", "severe")
    assert (_state(drive)["status"], drive.suggestion(RUN)) == ("running", ("stay", "plan"))
    _report(drive, "plan")
    _report(drive, "execute", workQueue=[{**BROKEN, "status": "done"}])
    assert drive.questions(RUN) == []
    assert _at(drive)[0] == "verify"


def test_a_severe_item_that_is_not_resolved_is_asked_for_again_in_the_next_iteration(drive: Drive) -> None:
    _loop(drive, phase="evaluate", workQueue=[BROKEN])
    _answer(drive, "resolve", "severe")
    _report(drive, "evaluate")
    assert (_at(drive), drive.questions(RUN)) == (("classify", 2, 0), ["severe:2:WQ-1"])


def test_a_severity_lowered_by_hand_lets_the_loop_go_on(drive: Drive) -> None:
    _after_a_severe_find(drive)
    _answer(drive, "lower", "severe")
    state = _state(drive)
    drive.write(STATE, {**state, "workQueue": [{**BROKEN, "priority": "S2"}]})
    assert "was S0, now it is S2" in " ".join(_answer(drive, "accept", "state").err.split())
    assert (drive.questions(RUN), drive.suggestion(RUN)) == ([], ("stay", "plan"))
    _report(drive, "plan")
    assert _at(drive)[0] == "execute"


def test_a_failed_item_may_be_tried_again_in_this_iteration(drive: Drive) -> None:
    _after_a_failed_item(drive)
    _answer(drive, "retry", "failed_items")
    _report(drive, "plan")
    assert (_at(drive)[0], drive.questions(RUN)) == ("execute", [])


def test_as_many_iterations_again_may_be_allowed(drive: Drive) -> None:
    _after_too_many_iterations(drive)
    _answer(drive, "more", "timeout")
    assert drive.suggestion(RUN) == ("stay", "classify")
    for iteration in (2, 3):
        _report(drive, "classify", "ok", "--next", "evaluate")
        _report(drive, "evaluate")
        assert _at(drive) == ("classify", iteration + 1, 0)
    assert drive.questions(RUN) == ["timeout:4"]


def test_a_severity_lowered_in_name_only_is_asked_for_again(drive: Drive) -> None:
    _after_a_severe_find(drive)
    _answer(drive, "lower", "severe")
    (told,) = [each for each in drive.evaluation(RUN)["findings"] if each["code"] == "status-drift"]
    assert "the severity of WQ-1 is lowered, and it is not" in told["message"] and told["path"] == STATE
    _report(drive, "plan")
    assert drive.questions(RUN) == ["severe:1:WQ-1"]


def test_a_paused_loop_waits_for_a_person(drive: Drive) -> None:
    _loop(drive, status="paused")
    assert drive.suggestion(RUN) == ("wait", None)


def test_an_override_moves_the_loop_and_stands_in_its_history(drive: Drive) -> None:
    _loop(drive, phase="plan")
    assert drive.decide("override", RUN, "--to", "verify", "--reason", "done by hand").code == 0
    assert _at(drive)[0] == "verify"
    entry = _state(drive)["history"][-1]
    assert (entry["phase"], entry["action"], entry["result"], entry["details"]) == (
        "plan", "override", "verify", "done by hand",
    )  # fmt: skip
    assert "done by hand" in drive.do("history", RUN).out
    _report(drive, "verify")
    assert _at(drive)[0] == "quality"


# ---- refusals ---------------------------------------------------------------------------------


def test_reports_out_of_turn_or_of_unknown_words_are_refused(drive: Drive) -> None:
    _loop(drive)
    assert "phases are not skipped" in drive.refused("report", RUN, "evaluate", "ok")
    assert "ok, error" in drive.wrong("report", RUN, "classify", "done")
    assert "classify" in drive.wrong("report", RUN, "clasify", "ok")
    assert "no way to do a phase again" in drive.refused("redo", RUN, "classify")


def test_wrong_names_of_runs_questions_and_options_are_wrong_use(drive: Drive) -> None:
    _after_a_severe_find(drive)
    drive.wrong("report", "no-run", "plan", "ok")
    drive.wrong("answer", RUN, "severe:9:WQ-1", "stop", "--reason", "x")
    drive.wrong("answer", RUN, "severe:1:WQ-1", "wait", "--reason", "x")
    drive.wrong("report", RUN, "plan", "ok", "--data", "missing.json")
    drive.wrong("report", RUN, "plan", "ok", "--data", "-", stdin="[1]")


def test_no_question_is_answered_without_a_terminal_or_under_another_name(drive: Drive) -> None:
    _after_a_severe_find(drive)
    command = ("answer", RUN, "severe:1:WQ-1", "stop", "--reason", "x")
    assert "terminal" in drive.refused(*command, stdin=f"{RUN}\n")
    before = drive.files()
    result = drive.decide(*command, typed="loop")
    assert (result.code, drive.files()) == (1, before)


def test_a_malformed_loop_takes_no_report(drive: Drive) -> None:
    _loop(drive, gates=[])
    drive.refused("report", RUN, "classify", "ok")


# ---- what others own --------------------------------------------------------------------------

_FOREIGN = (
    '{ "version":"2.0",\n\t"phase" :"quality", "iteration": 1,"status":"running",\n'
    '\t"workQueue":[ ] , "consecutivePasses":0,\n\n\t"x-tool":{"a":[1,2.50],"b":"\\u00e9"},\n'
    '\t"gates": {"lint":{"status":"pending", "mood" : null}},\n\t"history": []\n}\n'
)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_everything_else_in_a_foreign_state_file_keeps_its_bytes(drive: Drive, mark: bytes, end: str) -> None:
    foreign = mark + _FOREIGN.replace("\n", end).encode()
    drive.write(STATE, foreign)
    _report(drive, "quality", gates={"lint": {"status": "passed"}})
    written = (drive.root / STATE).read_bytes()
    head, history = written.split(b'"history": ')
    expected = foreign.replace(b'"phase" :"quality"', b'"phase" :"checkpoint"').replace(
        b'"pending"', b'"passed"'
    )
    assert head == expected.split(b'"history": ')[0]
    assert written.startswith(mark) and history.endswith(end.encode() + b"}" + end.encode())
    assert written.count(b"\n") == written.count(end.encode())
