"""Every criterion, gate and phase says on what it rests: the weakest of what carries its value."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.result.values import GateState, PhaseState
from phasekeeper.orchestration.states import Basis

from tests.verdicts.runs import Run, built_in, plan_run

GUARDED = """\
workflow: guarded
runs: {at: [r], marker: {file: state.json}}
state: {file: state.json}
phase: "'first'"
parameters: {least: {default: 1}}
artifacts:
  review: {paths: [review.json], kind: json, optional: true}
  log: {paths: [log.json], kind: json, optional: true}
values:
  reviewed: "exists.review ? review.ok : newest({'kind': 'report'}).outcome == 'ok'"
limits:
  rounds: {count: "count({'kind': 'report'})", max: parameters.least}
phases:
  first: {rules: [{when: "answers.go == 'none'", ask: go}, {when: "answers.go == 'yes'", to: second}]}
  second: {terminal: complete, attested: "true"}
questions: {go: {kind: approval, ask: Go on?, options: {yes: go on}}}
gates:
  g: {after: first, criteria: [{text: it holds, when: "GUARD"}]}
EFFECTS"""


def guarded(guard: str, effects: str = "") -> Run:
    """A run of a workflow with one gate and its guard, in the phase that it guards."""
    workflow = parse_workflow(GUARDED.replace("GUARD", guard).replace("EFFECTS", effects))
    return Run(workflow, "r").write("state.json", {"done": True, "phase": "first", "word": "ok"})


def gate(run: Run, name: str) -> GateState:
    return next(gate for gate in run.evaluation.gates if gate.id == name)


def phase(run: Run, name: str) -> PhaseState:
    return next(phase for phase in run.evaluation.phases if phase.id == name)


# ---- criteria


@pytest.mark.parametrize(
    ("guard", "basis"),
    [
        ("true", None),
        ("parameters.least == 1 && phase == 'first'", None),
        ("valid.review", Basis.RECORDED),
        ("review.ok", Basis.RECORDED),
        ("state.done", Basis.RECORDED),
        ("newest({'kind': 'report'}).outcome == ''", Basis.REPORTED),
        ("report.outcome == '' && phase == 'first'", Basis.REPORTED),
        ("limits.rounds.reached == false", Basis.REPORTED),
        ("limits.rounds.max == 1", None),
        ("review.ok && limits.rounds.count == 0", Basis.REPORTED),
        ("answers.go == 'none'", None),
        ("count({'kind': ['answer', 'override']}) == 0", None),
        ("count({'phase': 'first'}) == 0", Basis.REPORTED),
        ("count({'kind': ['answer', phase]}) == 0", Basis.REPORTED),
        ("count(review.ok ? {'kind': 'answer'} : {'kind': 'report'}) == 0", Basis.REPORTED),
        ("tasks({'done': false}) == []", None),
    ],
)
def test_a_criterion_rests_on_the_weakest_of_what_it_reads(guard: str, basis: Basis | None) -> None:
    run = guarded(guard).write("review.json", {"ok": True})
    assert gate(run, "g").basis is basis
    assert gate(run, "g").criteria[0].basis is basis


def test_what_only_selects_carries_nothing() -> None:
    guard = "count({'kind': 'answer', 'option': newest({'kind': 'report'}).outcome + 'yes'}) == 1"
    assert gate(guarded(guard).answer("go", "yes"), "g").basis is Basis.DECIDED


def test_an_answer_of_a_person_is_decided() -> None:
    run = guarded("answers.go == 'yes' || review.ok").answer("go", "yes")
    assert gate(run, "g").rests_on == "as a person decided"
    assert gate(run.write("review.json", {"ok": True}), "g").basis is Basis.DECIDED


def test_of_alternatives_the_one_that_holds_is_the_basis() -> None:
    run = guarded("review.ok || newest({'kind': 'report'}).outcome == 'ok'").report("first", "ok")
    assert gate(run, "g").basis is Basis.REPORTED
    run.write("review.json", {"ok": True})
    assert gate(run, "g").basis is Basis.RECORDED


def test_where_no_alternative_holds_all_are_the_basis() -> None:
    run = guarded("review.ok || newest({'kind': 'report'}).outcome == 'ok'")
    run.write("review.json", {"ok": False})
    assert gate(run, "g").basis is Basis.REPORTED


def test_of_a_choice_the_chosen_part_is_the_basis() -> None:
    run = guarded("reviewed").report("first", "ok")
    assert gate(run, "g").basis is Basis.REPORTED
    run.write("review.json", {"ok": True})
    assert gate(run, "g").basis is Basis.RECORDED


def test_of_a_choice_that_cannot_be_made_both_parts_are_the_basis() -> None:
    run = guarded("(review.ok ? valid.review : newest({'kind': 'report'}).outcome == 'ok') || !valid.log")
    assert gate(run, "g").basis is Basis.RECORDED
    run = guarded("[review.ok ? valid.review : count({'kind': 'report'}) == 0, true].size() == 2")
    assert gate(run, "g").criteria[0].met is None
    assert gate(run, "g").basis is None
    run = guarded("(log.ok ? true : count({'kind': 'report'}) == 0) == true || false || log.x == 1")
    run.write("log.json", {"x": 2, "ok": 1})
    assert gate(run, "g").basis in (None, Basis.REPORTED)


def test_alternatives_inside_of_a_loop_are_all_the_basis() -> None:
    run = guarded("['ok'].all(w, review.word == w || newest({'kind': 'report'}).outcome == w)")
    run.write("review.json", {"word": "ok"})
    assert gate(run, "g").basis is Basis.REPORTED


def test_what_reports_write_is_a_reports_word() -> None:
    run = guarded("state.done", "effects: {ok: {word: report.outcome}}\n")
    assert gate(run, "g").rests_on == "as reported in state.json; no other file shows it"
    run = guarded("review.ok", "effects: {ok: {file: review.json, replace: report.data}}\n")
    assert gate(run.write("review.json", {"ok": True}), "g").basis is Basis.REPORTED
    run = guarded("review.ok", "effects: {answer.go.yes: {file: review.json, replace: '{}'}}\n")
    assert gate(run.write("review.json", {"ok": True}), "g").basis is Basis.RECORDED
    run = guarded("state.done && log.ok", "effects: {ok: {file: other.json, replace: report.data}}\n")
    assert gate(run.write("log.json", {"ok": True}), "g").basis is Basis.RECORDED


# ---- gates and phases


def test_a_gate_that_only_a_report_passes_says_who_reported() -> None:
    run = plan_run("xx")
    run.report("5a", "pass")
    passed = gate(run, "5")
    assert (passed.status, passed.basis, passed.reported_by) == ("passed", Basis.REPORTED, ("codex",))
    [file] = passed.reported_in
    assert passed.rests_on == f"as codex reported in {file.rpartition('/')[2]}; no other file shows it"


def test_a_gate_that_is_not_decided_yet_rests_on_nothing_in_words() -> None:
    assert gate(plan_run("x "), "1").rests_on == ""
    assert gate(plan_run("x "), "4").basis is None


def test_a_gate_of_counted_tasks_names_the_newest_report_of_its_phase() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    assert gate(run, "1").rests_on == "as codex reported; no file shows it"


def test_a_gate_of_marks_names_the_plan_that_reports_mark() -> None:
    run = plan_run("x ", "  ")
    run.report("4a", "complete", "02").report("4b", "fail").override("4c")
    run.report("4c", "ok").write("MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]"))
    assert {g.basis for g in run.evaluation.gates if g.status == "passed"} <= {Basis.REPORTED}


def test_a_waived_gate_is_decided() -> None:
    run = plan_run("x ").report("4a", "complete", "02").report("4b", "fail").override("4c")
    waived = [g for g in run.evaluation.gates if g.status == "waived"]
    assert [g.rests_on for g in waived] == ["as a person decided"] * len(waived)
    assert waived
    assert phase(run, "4b").basis is Basis.DECIDED


def test_verdicts_in_artifacts_are_recorded() -> None:
    run = Run(built_in("artifact-pipeline"), "t")
    run.write("state.json", {"phase": "plan_review"}).write("planning/planning.ai.json", {"id": "T"})
    run.write("review/plan-review.json", {"ok": True, "issues": []})
    assert gate(run, "plan-review").basis is Basis.RECORDED
    assert gate(run, "plan-review").rests_on == "as the workflow's files say"
    assert phase(run, "planning").basis is Basis.RECORDED


def test_a_state_file_that_reports_write_is_reported() -> None:
    run = Run(built_in("skill-tuning"), "t").write(
        "state.json",
        {"status": "completed", "quality_gate": "pass", "completed_actions": ["action-complete"]},
    )
    quality = gate(run, "quality")
    assert (quality.status, quality.basis) == ("passed", Basis.REPORTED)
    assert quality.rests_on == "as reported in state.json; no other file shows it"
    assert phase(run, "pending").rests_on == "as reported in state.json; no other file shows it"


def test_a_gate_of_which_a_part_is_in_files_says_so() -> None:
    children = [
        {
            "id": "c",
            "type": "ComponentDesignSessions",
            "status": "complete",
            "state": {"artifact_path": "c.md"},
        }
    ]
    spawned = {"command": {"module": "SpawnComponentDesignSessions"}, "result": {"status": "ok"}}
    run = Run(built_in("component-design"), "s").write("/c.md", "# C\n").write("session.json", {
        "type": "ContextComponentsDesignSessions", "interactions": [spawned], "child_sessions": children,
    })  # fmt: skip
    designed = gate(run, "components-designed")
    assert [criterion.basis for criterion in designed.criteria] == [Basis.REPORTED, Basis.RECORDED]
    assert designed.rests_on == "as reported in session.json; no other file shows all of it"


def test_a_phase_that_an_answer_ended_was_decided() -> None:
    run = plan_run("  ", adoption="ask").answer("plan", "approve")
    assert run.evaluation.current_phase == "4a"
    assert phase(run, "3").basis is Basis.DECIDED
    assert phase(run, "0a").basis is None
    assert phase(run, "0a").rests_on == ""


def test_a_complete_run_says_who_reported_each_phase() -> None:
    run = plan_run("xx").report("5a", "pass").report("6", "ok")
    assert run.evaluation.status == "complete"
    assert phase(run, "6").rests_on.startswith("as codex reported in 6-")
    assert phase(run, "5a").basis is Basis.REPORTED


def test_a_report_file_is_named_where_nobody_signed_it() -> None:
    run = plan_run("xx").write(
        "reports/5a.md",
        "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: PASS\n\n- 01: met\n- 02: met\n",
    )
    assert gate(run, "5").rests_on == "as reported in 5a.md; no other file shows it"
    assert gate(run, "5").reported_in == ("tasks/f/reports/5a.md",)


def test_the_strongest_basis_holds_for_all() -> None:
    assert [basis.holds(Basis.RECORDED) for basis in Basis] == [True, True, True, False]


def test_a_phase_that_a_person_went_over_was_decided() -> None:
    run = Run(built_in("artifact-pipeline"), "t").write("state.json", {"phase": "review"})
    run.write("planning/planning.ai.json", {"id": "T"}).override("test")
    assert phase(run, "review").basis is Basis.DECIDED


@pytest.mark.parametrize("guard", ["valid.yes", "!valid.yes || yes.ok"])
def test_an_artifact_that_a_person_proves_is_decided(guard: str) -> None:
    own = "artifacts:\n  yes: {paths: [yes.json], kind: json, optional: true, decided_by: person}\n"
    text = GUARDED.replace("GUARD", guard).replace("EFFECTS", "").replace("artifacts:\n", own)
    workflow = parse_workflow(text)
    criterion = workflow.gates["g"].criteria[0]
    assert workflow.origins.of(criterion.when).bases == (Basis.DECIDED,)
    run = Run(workflow, "r").write("state.json", {"phase": "first"}).write("yes.json", {"ok": True})
    assert gate(run, "g").criteria[0].basis is Basis.DECIDED
