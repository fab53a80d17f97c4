"""Loops are not talked to their end: work comes with changed files, a pass with what its gates said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.updates.commands import CommandRefused

from tests.verdicts.loops import TUNING, loop, tuned
from tests.verdicts.runs import Run, built_in, filled_data

GATES = {"lint": {"status": "pending"}, "tests": {"status": "pending"}, "docs": {"status": "skipped"}}
ITEM = {"id": "W1", "priority": "S2", "title": "a form", "status": "pending"}
VERDICTS = {"lint": {"status": "passed"}, "tests": {"status": "passed"}}


def gated(phase: str = "classify", **state: Any) -> Run:
    """A loop with gates that nobody ran yet."""
    return loop(phase, **{"gates": GATES, **state})


def updates(**wanted: Any) -> dict[str, Any]:
    return {"data": {"stateUpdates": wanted}}


def walked(run: Run, *, honest: bool) -> Run:
    """The run, each step reported with the data that is shown; who is honest makes the files asked for.

    No step finds new work, so the example of an item is left out.
    """
    for _ in range(60):
        suggestion = run.evaluation.suggestion
        if not suggestion.reports:
            break
        due = suggestion.reports[0]
        data = filled_data(due.data or {})
        data.get("stateUpdates", {}).pop("workQueue", None)
        try:
            run.report(due.step, "ok", data=data)
        except CommandRefused as refused:
            wanted = re.search(r"these files exist: (\S+)", str(refused))
            if not (honest and wanted):
                raise
            run.write("/" + wanted[1].replace("*", "made"), f"What was seen at {run.now}.\n")
            run.report(due.step, "ok", data=data)
    return run


def tuning() -> Run:
    """A tuning that a command began."""
    workflow = built_in("skill-tuning")
    assert workflow.new
    begun = workflow.new.files["state.json"].replace("{title}", "T").replace("{now}", "2026-01-02")
    return Run(workflow, TUNING).write("state.json", begun)


@pytest.mark.parametrize("begun", [gated, tuning])
def test_an_honest_run_ends_by_what_it_is_told(begun: Callable[[], Run]) -> None:
    assert walked(begun(), honest=True).standing == "complete stop"


@pytest.mark.parametrize(
    ("begun", "first"),
    [
        (gated, "quality ok needs that these files exist: .claude/state/gates/pass-1.md"),
        (tuning, f"action-analyze-requirements ok needs that these files exist: {TUNING}/requirement-"),
    ],
)  # fmt: skip
def test_a_run_is_not_ended_by_reports_alone(begun: Callable[[], Run], first: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        walked(begun(), honest=False)
    assert str(refused.value).startswith(f"nothing was recorded: {first}")


def test_each_pass_runs_its_gates_anew() -> None:
    run = (
        gated("quality")
        .write("gates/pass-1.md", "all pass\n")
        .report("quality", "ok", **updates(gates=VERDICTS))
    )
    run.report("checkpoint", "ok").report("evaluate", "ok")
    assert run.evaluation.suggestion.reason.startswith("the last pass holds")
    run.report("classify", "ok", next="quality").write("gates/pass-2.md", "all pass\n")
    assert "of every gate that is not skipped" in run.refusal("quality", "ok")
    assert "of every gate" in run.refusal("quality", "ok", **updates(gates={"lint": {"status": "passed"}}))
    run.report("quality", "ok", **updates(gates=VERDICTS)).report("checkpoint", "ok").report("evaluate", "ok")
    assert run.standing == "complete stop"


def test_the_gates_of_the_pass_before_do_not_count() -> None:
    run = (
        gated("quality")
        .write("gates/pass-1.md", "all pass\n")
        .report("quality", "ok", **updates(gates=VERDICTS))
    )
    run.report("checkpoint", "ok").report("evaluate", "ok").report("classify", "ok", next="evaluate")
    assert run.gate("iteration") == "open"
    run.report("evaluate", "ok")
    said = "the last pass did not count: the gates were not run after the last work of this pass"
    assert run.evaluation.suggestion.reason.startswith(said)


@pytest.mark.parametrize("phase", ["execute", "verify"])
def test_an_item_is_done_with_a_file_that_was_changed_in_this_pass(phase: str) -> None:
    run = gated(phase, workQueue=[ITEM])
    done = {"workQueue": [{**ITEM, "status": "done"}]}
    assert "it names the files that were changed" in run.refusal(phase, "ok", **updates(**done))
    data = {"files": ["src/form.py"], "stateUpdates": done}
    run.write("/src/form.py", "FORM = 1\n").report(phase, "ok", data=data)
    assert str(run.evaluation.progress) == "Progress(done=1, total=1)"


def test_a_file_of_the_pass_before_is_no_work_of_this_one() -> None:
    run = gated("evaluate", workQueue=[ITEM]).write("/src/form.py", "FORM = 1\n").report("evaluate", "ok")
    run.report("classify", "ok", next="execute")
    done = {"files": ["src/form.py"], "stateUpdates": {"workQueue": [{**ITEM, "status": "done"}]}}
    assert "a file was changed since evaluate ok: src/form.py" in run.refusal("execute", "ok", data=done)
    run.report("execute", "ok", **updates(workQueue=[{**ITEM, "status": "in-progress"}]))
    run.report("verify", "ok", next="execute").write("/src/form.py", "FORM = 2\n")
    run.report("execute", "ok", data=done)
    assert str(run.evaluation.progress) == "Progress(done=1, total=1)"


# ---- skill-tuning

AREAS = ("context", "memory", "dataflow", "agent", "docs", "token_consumption")


@pytest.mark.parametrize("area", AREAS)
def test_a_diagnosis_leaves_its_file_unless_it_was_skipped(area: str) -> None:
    run, step = tuned(focus_areas=[area]), f"action-diagnose-{area}"
    said = run.refusal(step, "ok", **updates(diagnosis={area: {"status": "completed"}}))
    assert f"skill-tuning-t/diagnosis/{area.replace('_', '*')}-diagnosis.json" in said
    assert "these files exist" in run.refusal(step, "ok")
    run.copy().report(step, "ok", **updates(diagnosis={area: {"status": "skipped"}}))
    run.write(f"diagnosis/{area}-diagnosis.json", "{}").report(step, "ok")


def test_what_an_iteration_made_is_no_evidence_of_the_next() -> None:
    issue, fix = {"id": "I1", "severity": "high"}, {"fix_id": "F1", "verification_result": "pending"}
    run = tuned(diagnosis={"context": {"status": "completed"}}, issues=[issue], applied_fixes=[fix])
    run.write("tuning-report.md", "# Report\n").report("action-generate-report", "ok")
    run.write("fixes/fix-proposals.json", "[]").report(
        "action-propose-fixes", "ok", **updates(proposed_fixes=[{"id": "F1"}], pending_fixes=["F1"])
    )
    applied = {"applied_fixes": [fix], "pending_fixes": []}
    assert "names the files that were changed" in run.refusal("action-apply-fix", "ok", **updates(**applied))
    named = {"files": ["SKILL.md"], "stateUpdates": applied}
    run.write("/SKILL.md", "# Skill\n").report("action-apply-fix", "ok", data=named)
    results = {"applied_fixes": [{**fix, "verification_result": "fail"}], "diagnosis": {"context": None}}
    run.write("fixes/applied-fixes.json", "[]").write("diagnosis/context-diagnosis.json", "{}")
    run.report("action-verify", "ok", **updates(**results, iteration_count=1))
    said = run.refusal("action-diagnose-context", "ok")
    assert "a file was changed since action-verify ok: .workflow" in said
    run.write("diagnosis/context-diagnosis.json", "{ }").report("action-diagnose-context", "ok")


# ---- what cannot be told

BRINGS = """
workflow: own
runs: {at: [o/*], marker: {file: s.json, has: [phase]}}
state: {file: s.json, defaults: {phase: a}}
phase: state.phase
phases:
  a: {brings: {ASKED}, rules: [{when: "report.outcome == 'ok'", stop: complete}]}
effects: {}
"""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('files: "report.data.none"', "the files that it must come with can be told"),
        ('absent: "report.data.none"', "the files that it must come with can be told"),
        ('named: "report.data.none"', "it names the files that were changed"),
        ('changed: "report.data.none"', "a file was changed since ?: name it"),
        ("changed: \"newest({'kind': 'start'})\"", "a file was changed since start: name it"),
    ],
)
def test_what_cannot_be_told_is_missing(asked: str, said: str) -> None:
    run = Run(parse_workflow(BRINGS.replace("ASKED", asked)), "o/r").write("s.json", {"phase": "a"})
    run.write(".phasekeeper/journal.jsonl", '{"seq": 1, "kind": "start", "at": "2026-01-02T03:04:05Z"}\n')
    assert said in run.refusal("a", "ok")


@pytest.mark.parametrize("asked", ['named: "1 == 2"', 'files: "[]", changed: "report"', 'changed: "{}"'])
def test_what_is_not_asked_is_not_missing(asked: str) -> None:
    run = Run(parse_workflow(BRINGS.replace("ASKED", asked)), "o/r").write("s.json", {"phase": "a"})
    assert run.report("a", "ok").standing == "complete stop"


@pytest.mark.parametrize("path", ["./x/*.md", "x/a.md", "./x/a.md"])
def test_files_may_lie_in_the_run(path: str) -> None:
    workflow = parse_workflow(BRINGS.replace("ASKED", f"files: \"['{path}']\""))
    run = Run(workflow, "o/r").write("s.json", {"phase": "a"})
    run.refusal("a", "ok")
    assert run.write("x/a.md", "a\n").report("a", "ok").standing == "complete stop"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [("text", "x", ""), ("number", 1.5, True), ("list", [1], []), ("map", {"a": 1}, "x")],
)
def test_data_is_of_its_type_and_not_empty(kind: str, good: object, bad: object) -> None:
    workflow = parse_workflow(BRINGS.replace("ASKED", f"data: [{{what.is: {kind}}}]"))
    run = Run(workflow, "o/r").write("s.json", {"phase": "a"})
    assert f"its data says what.is ({'a ' if kind != 'text' else ''}{kind})" in run.refusal(
        "a", "ok", data={"what": {"is": bad}}
    )
    assert run.report("a", "ok", data={"what": {"is": good}}).standing == "complete stop"


def test_what_is_no_name_of_a_file_is_passed_over() -> None:
    workflow = parse_workflow(BRINGS.replace("ASKED", "files: \"[1, ['x.md', 2]]\""))
    run = Run(workflow, "o/r").write("s.json", {"phase": "a"})
    assert run.refusal("a", "ok").endswith("these files exist: x.md")
