"""What an edit of a state loosens counts once a person or a commit says so; until then what was holds."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import Source, load_definition
from phasekeeper.orchestration.result.values import Progress
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.updates.confirmation import confirmation

from tests.verdicts.models.json_state import state_of
from tests.verdicts.runs import Run, built_in

LOOP = "loop.state.json"
SEVERE = {"id": "WQ-1", "priority": "S0", "status": "pending"}


def loop(**state: object) -> Run:
    """A loop in its phase execute with a severe item, which a person is asked about."""
    run = Run(built_in("phase-loop"), ".claude/state")
    gates = {"lint": {"status": "pending"}}
    base = {"version": "2.0", "sessionId": "s", "iteration": 1, "phase": "assess"}
    return run.write(LOOP, {**base, "workQueue": [SEVERE], "gates": gates, **state})


def asked(run: Run) -> list[str]:
    return [question.id.partition(":")[0] for question in run.evaluation.questions]


def edit(run: Run, **state: object) -> Run:
    return run.write(LOOP, {**json.loads(run.files[f"{run.at}/{LOOP}"]), **state})


def test_a_severity_lowered_in_place_takes_no_question_away() -> None:
    run = edit(loop().commit(), workQueue=[{**SEVERE, "priority": "S2"}])
    assert asked(run) == ["severe", "state"]
    [said] = run.messages("state-loosened")
    assert said.endswith(
        "workQueue[WQ-1].priority was S0, now it is S2; that counts once a person accepts or commits it"
    )
    assert asked(run.copy().commit()) == []
    assert asked(run.answer("state", "accept")) == []
    assert "state-loosened" not in run.codes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"workQueue": []}, "workQueue[WQ-1] was taken away"),
        ({"workQueue": [{**SEVERE, "id": "WQ-2", "priority": "S3"}]}, "workQueue[WQ-1] was taken away"),
        ({"workQueue": [{**SEVERE, "status": "done"}]}, "status was pending, now it is done"),
        ({"workQueue": [{**SEVERE, "priority": "minor"}]}, "priority was S0, now it is minor"),
        ({"gates": {}}, "gates.lint was taken away"),
        ({"gates": {"lint": {"status": "pending"}}}, "gates.lint.status was failed, now it is pending"),
        ({"gates": {"lint": {"status": "failed", "severity": "S3"}}}, "severity was absent, now it is S3"),
        ({"gates": {"lint": {"status": "failed", "blocking": False}}}, "was absent, now it is false"),
    ],
)
def test_whatever_is_loosened_under_a_loop_leaves_it_as_it_stood(
    change: dict[str, object], named: str
) -> None:
    run = loop(gates={"lint": {"status": "failed"}}, phase="evaluate").commit()
    stood = standing(run)
    edit(run, **change)
    assert [named in said for said in run.messages("state-loosened")] == [True]
    assert standing(run) == stood
    assert asked(run) == ["severe", "state"]


def standing(run: Run) -> tuple[object, ...]:
    """What the next step is, and why; how gates and limits stand."""
    evaluation = run.evaluation
    gates = [(gate.id, gate.status) for gate in evaluation.gates]
    return run.standing, evaluation.status_reason, gates, evaluation.limits


def test_a_failure_is_not_forgotten_where_an_edit_counts_the_iteration_on() -> None:
    run = loop(workQueue=[], phase="evaluate", gates={"lint": {"status": "skipped"}}).commit()
    assert run.gate("iteration") == "passed"
    run.report("evaluate", "error")
    edit(run, iteration=2, phase="evaluate")
    assert run.gate("iteration") == "open"


def test_what_makes_a_loop_stricter_is_anybodys() -> None:
    run = loop(workQueue=[{**SEVERE, "priority": "S2"}], gates={"lint": {"status": "passed"}}).commit()
    more = [{**SEVERE, "status": "failed"}, {**SEVERE, "id": "WQ-2"}]
    edit(run, workQueue=more, gates={"lint": {"status": "failed", "severity": "S0"}}, iteration=4)
    assert "state-loosened" not in run.codes()


def test_the_records_of_a_run_keep_what_an_edit_loosened_whatever_is_reported_later() -> None:
    run = loop(workQueue=[{**SEVERE, "priority": "S1"}], phase="plan")
    run.report("plan", "ok")
    edit(run, workQueue=[{**SEVERE, "priority": "S3"}])
    assert "state-loosened" in run.codes()
    run.report("execute", "ok", data={"stateUpdates": {"workQueue": [{**SEVERE, "status": "in-progress"}]}})
    assert [said.partition("workQueue")[2][:40] for said in run.messages("state-loosened")] == [
        "[WQ-1].priority was S1, now it is S3; th"
    ]
    # A commit that is older than the record lifts nothing; one that is newer does.
    assert "state-loosened" in run.copy().report("verify", "ok").codes()
    assert "state-loosened" not in run.commit().codes()


def test_what_a_report_may_write_is_not_loosened_by_it() -> None:
    run = loop(workQueue=[{**SEVERE, "priority": "S1"}], phase="plan").report("plan", "ok")
    done = {"files": ["src/x.py"], "stateUpdates": {"workQueue": [{"id": "WQ-1", "status": "done"}]}}
    run.write("/src/x.py", "X = 1\n").report("execute", "ok", data=done)
    assert "state-loosened" not in run.codes()
    edit(run, iteration=0)
    assert "state-loosened" in run.codes()


def test_a_commit_that_is_older_than_the_last_record_lifts_nothing() -> None:
    run = loop(workQueue=[], phase="assess").commit()
    run.report("assess", "ok", data={"stateUpdates": {"workQueue": [{**SEVERE, "priority": "S1"}]}})
    edit(run, workQueue=[])
    assert "state-loosened" in run.codes()
    assert run.evaluation.progress == Progress(0, 1)


def test_nothing_is_known_of_a_run_whose_records_an_earlier_release_made() -> None:
    run = loop(workQueue=[{**SEVERE, "priority": "S1"}], phase="plan").report("plan", "ok")
    journal = f"{run.at}/.phasekeeper/journal.jsonl"
    old = {k: v for k, v in json.loads(run.files[journal]).items() if k not in ("held", "definition")}
    run.write(".phasekeeper/journal.jsonl", json.dumps(old) + "\n")
    assert "state-loosened" not in edit(run, workQueue=[]).codes()


TUNING = {"target_skill": {"name": "x"}, "diagnosis": {}, "completed_actions": [], "status": "running"}


def tuning(**state: object) -> Run:
    run = Run(built_in("skill-tuning"), ".workflow/.scratchpad/skill-tuning-1")
    return run.write("state.json", {**TUNING, **state})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"max_iterations": 5}, {"max_iterations": 9}),
        # The limit of iterations ends a tuning: it is not come to by an edit.
        ({"max_iterations": 5}, {"max_iterations": 0}),
        ({"iteration_count": 1}, {"iteration_count": 5}),
        ({"max_errors": 3}, {"max_errors": 4}),
        ({"error_count": 2}, {"error_count": 0}),
        ({"quality_gate": "fail"}, {"quality_gate": "pass"}),
        ({"issues": [{"id": "I", "severity": "high"}]}, {"issues": []}),
        ({"issues": [{"id": "I", "severity": "high"}]}, {"issues": [{"id": "I", "severity": "low"}]}),
        ({"issues": [{"severity": "high"}]}, {"issues": [{"severity": "low"}]}),
        ({"pending_fixes": ["F", "F"]}, {"pending_fixes": ["F"]}),
        (
            {"applied_fixes": [{"fix_id": "F", "verification_result": "pending"}]},
            {"applied_fixes": [{"fix_id": "G", "verification_result": "pending"}]},
        ),
    ],
)
def test_what_is_loosened_under_a_tuning_changes_nothing(
    before: dict[str, object], after: dict[str, object]
) -> None:
    run = tuning(**before).commit()
    stood = standing(run)
    run.write("state.json", {**TUNING, **after})
    assert "state-loosened" in run.codes()
    assert standing(run) == stood
    assert "state-loosened" not in run.answer("state", "accept").codes()


def test_a_limit_above_its_default_counts_once_a_person_says_so_where_nothing_else_is_known() -> None:
    run = tuning(max_iterations=100, iteration_count=7)
    assert run.standing == "active act action-complete"
    assert run.answer("state", "accept").standing == "active act action-diagnose-context"


def session(*results: str, **state: object) -> dict[str, object]:
    steps = [
        {"id": str(n), "command": {"module": "Initialize"}, "result": {"status": result}}
        for n, result in enumerate(results)
    ]
    return {"type": "ContextComponentsDesignSessions", "status": "active", "interactions": steps, **state}


def test_a_session_that_failed_is_not_made_well_by_an_edit() -> None:
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S")
    run.write("session.json", session("error", status="failed")).commit()
    assert asked(run) == ["session_failed"]
    assert asked(run.write("session.json", session("ok"))) == ["session_failed", "state"]
    run.write("session.json", session("error")).commit()
    assert run.standing == "active stay Initialize"
    assert run.write("session.json", session("ok")).standing == "active stay Initialize"
    # Of a step that is gone it is known which one it was, and its result.
    assert run.write("session.json", session()).standing == "active stay Initialize"


def test_a_child_session_is_taken_for_what_announced_it_whatever_an_edit_says() -> None:
    announced = {
        "id": "2",
        "command": {
            "module": "SpawnComponentDesignSessions",
            "metadata": {"child_session_ids": ["a", "b"]},
        },
        "result": {"status": "ok"},
    }
    first = session("ok")["interactions"]
    assert isinstance(first, list)
    spawned = session() | {"interactions": [announced, *first], "child_sessions": ["a", "b"]}
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S").write("session.json", spawned)
    for name, status in (("a", "complete"), ("b", "failed")):
        child = {"id": name, "type": "ComponentDesignSessions", "status": status}
        run.write(f"/.phasekeeper/sessions/{name}/session.json", child | {"state": {"artifact_path": "a.md"}})
    run.write("/a.md", "# A\n").commit()
    assert run.gate("components-designed") == "failed"
    for edited in (
        session("ok", child_sessions=["a"]),
        session("ok", child_sessions=["a", "b"]),
        spawned | {"child_sessions": ["a"]},
        spawned | {"interactions": [{**announced, "command": {"module": "SpawnReviewSession"}}, *first]},
    ):
        forged = run.copy().write("session.json", edited)
        other = {"id": "b", "type": "ComponentDesignReviewSessions", "status": "failed"}
        forged.write("/.phasekeeper/sessions/b/session.json", other)
        assert "state-loosened" in forged.codes()
        assert forged.gate("components-designed") in ("failed", "not-reached")


def test_a_parameter_that_a_file_of_the_project_sets_is_held_too() -> None:
    config = "/.claude/config.json"
    run = loop(workQueue=[{**SEVERE, "priority": "S1"}]).write(config, {"loop": {"pauseOnSeverity": "S1"}})
    assert asked(run) == ["severe"]
    run.answer(run.evaluation.questions[0].id, "resolve")
    assert run.copy().write(config, {"loop": {"pauseOnSeverity": "S2"}}).codes() == run.codes()
    for text in ({"loop": {"pauseOnSeverity": "S0"}}, {}):
        run.write(config, text)
        assert "definition-changed" in run.codes()
        assert run.evaluation.parameters == {"pause_on": "S1"}
    committed = run.copy().commit()
    assert "definition-changed" in committed.codes()
    committed.write(config, {"loop": {"pauseOnSeverity": "S0"}}).commit()
    assert "definition-changed" not in committed.codes()
    assert "definition-changed" not in run.answer("definition", "accept").codes()


def test_the_confirmation_shows_what_was_and_what_is() -> None:
    run = edit(loop().commit(), workQueue=[{**SEVERE, "priority": "S2"}])
    command = Command("answer", question="state", option="accept")
    lines = confirmation(run.trace(), command, run.now).lines
    place = ".claude/state/loop.state.json"
    assert f"{place}: workQueue[WQ-1].priority was S0, now it is S2" in lines


def own(criterion: str) -> Workflow:
    """A workflow of a user's, of one phase whose gate has one criterion."""
    text = f"""
workflow: own
runs: {{at: [runs/*], marker: {{file: s.json, has: [phase]}}}}
state: {{file: s.json}}
phase: state.phase
phases: {{a: {{rules: [{{when: "report.outcome == 'ok'", to: b}}]}}, b: {{terminal: complete}}}}
gates: {{g: {{after: a, criteria: [{{text: it holds, when: "{criterion}"}}]}}}}
"""
    return compile_definition(*load_definition(Source("own.yaml", text)))


def test_a_criterion_that_was_taken_away_after_the_first_record_counts_once_a_person_accepts_it() -> None:
    run = Run(own("has(state.ok)"), "runs/r").write("s.json", {"phase": "a"}).report("a", "ok")
    assert "definition-changed" not in run.codes()
    run.workflow = own("true")
    assert "definition-changed" in run.codes()
    assert (run.gate("g"), run.standing) == ("open", "active stay a")
    run.report("a", "ok")
    assert run.gate("g") == "open"
    assert "definition-changed" not in run.answer("definition", "accept").codes()


def test_a_state_that_is_in_head_no_more_lifts_nothing() -> None:
    run = loop(workQueue=[{**SEVERE, "priority": "S1"}], phase="plan").commit().report("plan", "ok")
    run.head = {}
    assert "state-loosened" in edit(run, workQueue=[]).codes()


def test_a_step_that_an_edit_took_away_is_put_back_where_it_stood() -> None:
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S")
    empty = session() | {"child_sessions": [], "state": {}}
    steps = session("ok", "ok")["interactions"]
    run.write("session.json", {**empty, "interactions": steps})
    run.report("Initialize", "warning", message="the disk is nearly full")
    assert "the last result is warning" in run.evaluation.suggestion.reason
    run.write("session.json", empty)
    assert "the last result is warning" in run.evaluation.suggestion.reason
    newest_is_gone = json.dumps({**empty, "interactions": steps})
    assert (
        "the last result is warning" in run.write("session.json", newest_is_gone).evaluation.suggestion.reason
    )


def test_a_step_whose_id_an_edit_used_again_is_put_back_where_the_last_report_left_it() -> None:
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S")
    empty = session() | {"child_sessions": [], "state": {}}
    forged = {"id": "x", "command": {"module": "Initialize"}, "result": {"status": "ok"}}
    run.write("session.json", {**empty, "interactions": [forged]})
    run.report("Initialize", "warning", message="the disk is nearly full")
    steps = state_of(run, "session.json")["interactions"]
    run.write("session.json", {**empty, "interactions": [forged, *steps]})
    run.report("Initialize", "ok", message="there is room again")
    newest = state_of(run, "session.json")["interactions"][:1]
    reason = run.evaluation.suggestion.reason
    assert "the last result is warning" not in reason
    run.write("session.json", {**empty, "interactions": newest})
    assert "state-loosened" in run.codes()
    assert run.evaluation.suggestion.reason == reason


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"title": "Data is lost"}, "WQ-1 (Data is lost)"), ({"title": {"of": "the item"}}, "WQ-1"),
        ({"title": "x" * 1000}, f"WQ-1 ({'x' * 80}…)"), ({"id": 5, "title": "t"}, "5 (t)"),
    ],
)  # fmt: skip
def test_a_question_names_its_severe_items_whatever_stands_in_them(
    item: dict[str, object], named: str
) -> None:
    run = loop(workQueue=[{**SEVERE, **item}])
    (question,) = run.evaluation.questions
    assert question.question == f"Severity S0 or worse is open: {named}. How to go on?"
