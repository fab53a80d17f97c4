"""Reports write only what their step may; the rest is left out, recorded and said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import InvalidWorkflow
from phasekeeper.orchestration.evaluation.trace import CommandRefused
from phasekeeper.orchestration.lint.checks import parse_workflow

from tests.verdicts.runs import Run, built_in

AT_TUNING, AT_LOOP = ".workflow/.scratchpad/skill-tuning-s", ".claude/state"
CHANGED = ".claude/skills/s/SKILL.md"
FIX = {"fix_id": "F1", "verification_result": "pending"}


def tuning(**state: Any) -> Run:
    """A tuning whose diagnoses are made and reported, with two fixes to apply."""
    made: dict[str, Any] = {
        "status": "running",
        "target_skill": {"name": "x"},
        "focus_areas": ["context"],
        "diagnosis": {"context": {"status": "completed"}},
        "issues": [{"id": "I1", "severity": "high"}, {"id": "I2", "severity": "low"}],
        "proposed_fixes": [{"id": "F1", "issue_ids": ["I1"]}, {"id": "F2", "issue_ids": ["I2"]}],
        "pending_fixes": ["F1", "F2"],
        "iteration_count": 0,
        "completed_actions": [
            "action-init", "action-analyze-requirements", "action-diagnose-context",
            "action-generate-report", "action-propose-fixes",
        ],
    }  # fmt: skip
    run = Run(built_in("skill-tuning"), AT_TUNING).write("state.json", {**made, **state})
    return run.write(f"/{CHANGED}", "# A skill\n").write("fixes/applied-fixes.json", "[]\n")


QUEUE = [
    {"id": "W1", "priority": "S0", "title": "a", "status": "pending"},
    {"id": "W2", "priority": "S2", "title": "b", "status": "pending", "note": None},
]


def loop(phase: str, **state: Any) -> Run:
    """A loop in a phase, with two open items and a gate that failed."""
    made = {
        "version": "2.0", "iteration": 1, "phase": phase, "status": "running", "consecutivePasses": 0,
        "workQueue": [{**QUEUE[0], "priority": "S1"}, QUEUE[1]],
        "gates": {"lint": {"status": "failed", "severity": "S3"}}, "history": [],
    }  # fmt: skip
    return Run(built_in("phase-loop"), AT_LOOP).write("loop.state.json", {**made, **state})


def state_of(run: Run) -> dict[str, Any]:
    return json.loads(run.files[f"{run.at}/{run.workflow.state.file if run.workflow.state else ''}"])


def updates(**wanted: Any) -> dict[str, Any]:
    return {"data": {"files": [CHANGED], "stateUpdates": wanted}}


def ignored(run: Run) -> list[str]:
    """What the last report wanted and did not get."""
    journal = run.files[f"{run.at}/.phasekeeper/journal.jsonl"].splitlines()
    return json.loads(journal[-1]).get("ignored", [])


# ---- the examples -----------------------------------------------------------------------------


def test_applying_a_fix_reaches_neither_limits_nor_the_gate_nor_the_status() -> None:
    run = tuning()
    wanted = {
        "max_iterations": 100000, "error_count": -5, "quality_gate": "pass", "issues": [],
        "status": "completed", "completed_actions": ["action-complete"], "pending_fixes": ["F2"],
        "applied_fixes": [FIX],
    }  # fmt: skip
    before = state_of(run)
    run.report("action-apply-fix", "ok", **updates(**wanted))
    after = state_of(run)
    assert (after["pending_fixes"], after["applied_fixes"]) == (["F2"], [FIX])
    for name in ("max_iterations", "error_count", "quality_gate", "issues", "status"):
        assert after.get(name) == before.get(name)
    assert after["completed_actions"] == [*before["completed_actions"], "action-apply-fix"]
    assert [said.split(":")[0] for said in ignored(run)] == [
        "max_iterations", "error_count", "quality_gate", "issues", "status", "completed_actions",
    ]  # fmt: skip
    assert run.standing == "active act action-apply-fix"
    (said,) = run.messages("updates-ignored")
    assert "max_iterations" in said and "codex" in said


def test_items_of_the_queue_change_their_state_and_do_not_vanish() -> None:
    run = loop("execute").report("execute", "ok", **updates(workQueue=[]))
    assert [item["id"] for item in state_of(run)["workQueue"]] == ["W1", "W2"]
    assert ignored(run) == ["workQueue.W1: its elements stay", "workQueue.W2: its elements stay"]
    done = {"files": ["src/b.py"], "stateUpdates": {"workQueue": [{"id": "W2", "status": "done"}]}}
    run = loop("execute").write("/src/b.py", "B = 1\n").report("execute", "ok", data=done)
    # What a report does not mention it does not wish away.
    assert [item["id"] for item in state_of(run)["workQueue"]] == ["W1", "W2"]
    assert state_of(run)["workQueue"][1] == {**QUEUE[1], "status": "done"}
    assert ignored(run) == []


# ---- their relatives --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "wanted", "said"),
    [
        ("execute", {"workQueue": [{"id": "W1", "priority": "S3"}, QUEUE[1]]}, "workQueue.W1.priority"),
        ("execute", {"workQueue": [{"id": "W1", "status": "cancelled"}, QUEUE[1]]}, "workQueue.W1.status"),
        ("execute", {"gates": {"lint": {"status": "passed"}}, "workQueue": QUEUE}, "gates"),
        ("quality", {"gates": {"lint": {"blocking": False}}}, "gates.lint.blocking"),
        ("quality", {"gates": {"lint": {"status": ["passed", {}]}}}, "gates.lint.status"),
        ("quality", {"gates": {"lint": None}}, "gates.lint"),
        ("quality", {"gates": 1}, "gates"),
        ("quality", {"gates.lint.severity": "S2"}, "gates.lint.severity"),
        ("plan", {"skip": {"quality": {"skip": True}}}, "skip"),
        ("evaluate", {"consecutivePasses": 9}, "consecutivePasses"),
        ("evaluate", {"metrics.gatesPassed": 9}, "metrics"),
    ],
)
def test_a_report_of_the_loop_does_not_write(phase: str, wanted: dict[str, Any], said: str) -> None:
    # Of gates that are skipped nothing has to be brought.
    run = loop(phase, gates={"lint": {"status": "skipped", "severity": "S3"}})
    before = state_of(run)
    run.report(phase, "ok", data={"stateUpdates": wanted})
    after = state_of(run)
    assert [text.split(":")[0] for text in ignored(run)][:1] == [said]
    for name in ("workQueue", "gates", "skip"):
        assert after.get(name) == before.get(name)


@pytest.mark.parametrize("value", ["none", None, {"id": "W1"}, 1])
def test_a_report_that_puts_something_else_in_the_place_of_a_list_is_refused(value: object) -> None:
    said = loop("plan").refusal("plan", "ok", **updates(workQueue=value))
    assert said == "nothing was recorded: workQueue is a list, and stays one"


def test_work_on_the_queue_is_reported_with_the_status_of_an_item() -> None:
    assert "the status of an item" in loop("execute").refusal("execute", "ok", message="Done.")
    run = loop("execute", workQueue=[{**QUEUE[1], "status": "blocked"}]).report("execute", "ok", data={})
    assert ignored(run) == []


@pytest.mark.parametrize(
    ("action", "wanted", "said"),
    [
        ("action-apply-fix", {"applied_fixes": [{**FIX, "verification_result": "pass"}]}, "applied_fixes."),
        ("action-apply-fix", {"applied_fixes": ["F1"]}, "applied_fixes."),
    ],
)
def test_a_report_of_the_tuning_does_not_write(action: str, wanted: dict[str, Any], said: str) -> None:
    run = tuning().report(action, "ok", **updates(**wanted))
    assert ignored(run)[0].startswith(said)
    assert "F2" in state_of(run)["pending_fixes"] and not state_of(run).get("applied_fixes")


@pytest.mark.parametrize(
    "wanted",
    [
        {"pending_fixes": []},
        {"pending_fixes": ["F2"]},
        {"pending_fixes": ["F2", "F1"]},
        {"pending_fixes": ["F2"], "applied_fixes": [{**FIX, "verification_result": "pass"}]},
        {"pending_fixes": ["F2"], "applied_fixes": ["F1"]},
    ],
)
def test_a_fix_is_taken_only_to_be_verified(wanted: dict[str, Any]) -> None:
    run = tuning()
    assert "still to be verified" in run.refusal("action-apply-fix", "ok", **updates(**wanted))
    assert state_of(run)["pending_fixes"] == ["F1", "F2"]


@pytest.mark.parametrize("left", [[], ["F1"]])
def test_one_fix_is_taken_at_a_time(left: list[str]) -> None:
    run = tuning().report("action-apply-fix", "ok", **updates(pending_fixes=left, applied_fixes=[FIX]))
    assert ignored(run)[0].startswith("pending_fixes.F2")
    assert "F2" in state_of(run)["pending_fixes"] and state_of(run)["applied_fixes"] == [FIX]


def verified(**wanted: Any) -> Run:
    run = tuning(pending_fixes=[], applied_fixes=[FIX], error_count=0)
    return run.report("action-verify", "ok", **updates(**wanted))


def test_a_verification_sets_results_removes_issues_and_counts_one_iteration() -> None:
    run = verified(
        applied_fixes=[{"fix_id": "F1", "verification_result": "pass"}], issues=[{"id": "I2"}],
        quality_gate="pass", iteration_count=1, **{"diagnosis.context": None},
    )  # fmt: skip
    after = state_of(run)
    assert after["issues"] == [{"id": "I2", "severity": "low"}]
    assert after["applied_fixes"] == [{"fix_id": "F1", "verification_result": "pass"}]
    assert (after["quality_gate"], after["iteration_count"]) == ("pass", 1)
    assert after["diagnosis"]["context"] is None
    assert ignored(run) == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"iteration_count": 3}, "iteration_count: it is 0, and goes up by one"),
        ({"iteration_count": True}, "iteration_count: it is 0, and goes up by one"),
        (
            {"issues": [{"id": "I1", "severity": "low"}, {"id": "I2"}]},
            "issues.I1.severity: it stays as it is",
        ),
        ({"issues": [{"id": "I1"}, {"id": "I2"}, {"id": "I3"}]}, "issues.I3: no element is added"),
        (
            {"issues": [{"id": "I2"}, {"id": "I1"}]},
            "issues: its elements stay in their order, whatever else it says of them",
        ),
        ({"applied_fixes": []}, "applied_fixes.F1: its elements stay"),
        ({"applied_fixes": [7]}, "applied_fixes.7: no element has this fix_id"),
        (
            {"diagnosis.context": {"status": "completed", "x": 1}},
            "diagnosis.context: it is set to one of null",
        ),
    ],
)
def test_a_verification_writes_no_more(wanted: dict[str, Any], said: str) -> None:
    assert verified(**wanted) and ignored(verified(**wanted))[0].startswith(said)


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ({"quality_gate": "green"}, "quality_gate"),
        ({"applied_fixes": [{**FIX, "verification_result": "fine"}]}, "applied_fixes.0.verification_result"),
    ],
)
def test_a_word_that_nobody_knows_is_no_verification(wanted: dict[str, Any], place: str) -> None:
    with pytest.raises(
        CommandRefused, match=f"in stateUpdates {place} is .*, which is no known word;.* known: "
    ):
        verified(**wanted)


@pytest.mark.parametrize(
    ("phase", "wanted", "place"),
    [
        ("quality", {"gates": {"lint": {"status": "green"}}}, "gates.lint.status"),
        ("quality", {"gates.lint.severity": "S9"}, "gates.lint.severity"),
        ("execute", {"workQueue": [{"id": "W1", "status": "finished"}, QUEUE[1]]}, "workQueue.0.status"),
    ],
)
def test_a_report_with_a_word_that_nobody_knows_is_none(
    phase: str, wanted: dict[str, Any], place: str
) -> None:
    run = loop(phase, gates={"lint": {"status": "skipped", "severity": "S3"}})
    with pytest.raises(
        CommandRefused, match=f"in stateUpdates {place} is .*, which is no known word;.* known: "
    ):
        run.report(phase, "ok", data={"stateUpdates": wanted})


@pytest.mark.parametrize("left", [["I2"], [{"id": "I2"}], [{"id": "I2", "severity": "low"}]])
def test_a_list_of_what_is_left_keeps_elements_that_are_named_by_their_id(left: list[Any]) -> None:
    fixed = [{"fix_id": "F1", "verification_result": "pass"}]
    run = verified(issues=left, applied_fixes=fixed, quality_gate="pass")
    assert state_of(run)["issues"] == [{"id": "I2", "severity": "low"}]
    assert ignored(run) == []


@pytest.mark.parametrize("left", [["I3"], ["I2", "I3"], [{"id": "I3"}], [7]])
def test_a_list_of_what_is_left_that_names_what_is_not_there_is_refused(left: list[Any]) -> None:
    both = [FIX, {"fix_id": "F2", "verification_result": "pass"}]
    run = tuning(pending_fixes=[], applied_fixes=both)
    passed = [{"fix_id": "F1", "verification_result": "pass"}]
    said = run.refusal("action-verify", "ok", **updates(issues=left, applied_fixes=passed))
    assert "issues names" in said and "it has I1, I2" in said
    assert len(state_of(run)["issues"]) == 2


@pytest.mark.parametrize(
    ("left", "result"), [(["I2"], "fail"), (["I1"], "pass"), ([], "pass"), (["I2"], "pending")]
)
def test_an_issue_goes_only_with_a_fix_of_it_that_was_verified(left: list[str], result: str) -> None:
    run = tuning(pending_fixes=[], applied_fixes=[FIX])
    fixes = [{"fix_id": "F1", "verification_result": result}]
    assert "leaves out" in run.refusal("action-verify", "ok", **updates(issues=left, applied_fixes=fixes))
    assert len(state_of(run)["issues"]) == 2


def test_a_name_among_elements_that_are_more_than_names_adds_none() -> None:
    run = loop("plan").report("plan", "ok", **updates(workQueue=["W1", "W9"]))
    assert [item["id"] for item in state_of(run)["workQueue"]] == ["W1", "W2"]
    assert ignored(run) == ["workQueue.W9: no element has this id"]


def test_an_error_writes_nothing() -> None:
    run = tuning().report("action-apply-fix", "error", **updates(pending_fixes=["F2"]))
    assert state_of(run)["pending_fixes"] == ["F1", "F2"]
    assert ignored(run) == ["pending_fixes: a report with this outcome writes nothing"]


def test_what_is_there_already_is_no_wish() -> None:
    run = tuning()
    wanted = updates(status="running", iteration_count=0, pending_fixes=["F2"], applied_fixes=[FIX])
    run.report("action-apply-fix", "ok", **wanted)
    assert ignored(run) == [] and run.messages("updates-ignored") == []


def test_what_was_left_out_is_said_in_few_words() -> None:
    run = tuning().report("action-apply-fix", "ok", **updates(**{f"k{n}" + "x" * 300: 1 for n in range(30)}))
    assert len(ignored(run)) == 21 and ignored(run)[-1] == "and 10 more"
    assert max(map(len, ignored(run))) <= 200


def test_the_next_report_takes_the_finding_away() -> None:
    run = loop("plan").report("plan", "ok", **updates(status="complete"))
    run.report("execute", "ok", **updates(workQueue=[{"id": "W1", "status": "in-progress"}]))
    assert run.messages("updates-ignored") == []


# ---- forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["skill-tuning", "phase-loop"])
def test_no_example_shows_a_passing_verdict(name: str) -> None:
    workflow: Workflow = built_in(name)
    for step in (*workflow.phases.values(), *workflow.actions.values()):
        shown = step.data.source if step.data else ""
        assert not any(f"'{word}'" in shown for word in ("pass", "passed", "completed", "satisfied", "done"))


def test_a_form_that_was_not_filled_is_refused() -> None:
    run = loop("quality").write("gates/pass-1.md", "lint: 0 errors\n")
    data = run.evaluation.suggestion.reports[0].data
    assert data == {"stateUpdates": {"gates": {"lint": {"status": "<passed or failed>"}}}}
    for wanted in (
        data,
        *({"stateUpdates": {"gates": {"lint": {"status": w}}}} for w in ("green", "skipped")),
    ):
        assert "says passed or failed of every gate" in run.refusal("quality", "ok", data=wanted)
    run.report("quality", "ok", data={"stateUpdates": {"gates": {"lint": {"status": "failed"}}}})
    listed = {
        "stateUpdates": {"workQueue": [{"id": "W1", "status": "<done, in-progress, blocked or failed>"}]}
    }
    assert "stateUpdates.workQueue.0.status" in loop("execute").refusal("execute", "ok", data=listed)


# ---- a workflow of a user ---------------------------------------------------------------------

OWN = """
workflow: own
runs: {{at: [o/*], marker: {{file: s.json, has: [phase]}}}}
state: {{file: s.json, defaults: {{phase: a, round: 0, notes: []}}}}
phase: state.phase
phases:
  a:
    rules: [{{when: "report.outcome == 'ok'", stop: complete}}]
{writes}
effects: {{ok: {{"*": {merged}}}}}
"""


def own(writes: str = "", merged: str = "report.stateUpdates") -> Workflow:
    return parse_workflow(OWN.format(writes=f"    writes: {{{writes}}}" if writes else "", merged=merged))


def test_a_workflow_that_names_no_writes_merges_all_of_it() -> None:
    run = Run(own(), "o/r").write("s.json", {"phase": "a"})
    run.report("a", "ok", **updates(round=9, more=1))
    assert (state_of(run)["round"], state_of(run)["more"], ignored(run)) == (9, 1, [])


@pytest.mark.parametrize("merged", ["report.stateUpdates", "report.data.stateUpdates"])
def test_effects_see_only_what_is_permitted(merged: str) -> None:
    run = Run(own("notes: append", merged), "o/r").write("s.json", {"phase": "a", "notes": ["x"]})
    run.report("a", "ok", **updates(round=9, notes=["x", {"y": None}, {"id": 1}, "x"]))
    assert state_of(run) == {"phase": "a", "notes": ["x", {"y": None}, {"id": 1}, "x"]}
    assert ignored(run) == ["round: its reports do not write it"]


@pytest.mark.parametrize(
    ("writes", "said"),
    [
        ("nots: append", "the state's defaults have no 'nots'; did you mean 'notes'"),
        ("notes: appendd", "'appendd' is not known here; did you mean 'append'"),
        (
            "notes: {append: any, set: any}",
            "is set, goes up, or changes by its elements; it says set and append",
        ),
        ("notes: {by: id}", "it says none of these"),
        ("notes: {remove: last}", "'last' is not known here"),
    ],
)
def test_a_wrong_permission_is_told_when_the_definition_is_read(writes: str, said: str) -> None:
    with pytest.raises(InvalidWorkflow) as wrong:
        own(writes)
    assert said in str(wrong.value)


def test_what_a_report_says_is_written_where_an_edit_had_put_a_word_that_nobody_knows() -> None:
    run = Run(built_in("phase-loop"), ".claude/state")
    state = {"version": "2.0", "sessionId": "s", "iteration": 1, "phase": "quality", "workQueue": []}
    passed = {"lint": {"status": "passed"}}
    run.write("loop.state.json", {**state, "gates": passed}).commit()
    run.write("loop.state.json", {**state, "gates": {"lint": {"status": "green"}}})
    run.write("gates/pass-1.md", "Lint was run and found nothing.\n")
    run.report("quality", "ok", data={"stateUpdates": {"gates": passed}})
    assert json.loads(run.files[f"{run.at}/loop.state.json"])["gates"] == passed
    assert "unknown-word" not in run.codes()
