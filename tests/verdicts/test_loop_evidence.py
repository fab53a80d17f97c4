"""The loop of phases is not talked to its end: work comes with changed files, a pass with its gates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import CommandRefused

from tests.verdicts.runs import Run, built_in, filled_data

GATES = {"lint": {"status": "pending"}, "tests": {"status": "pending"}, "docs": {"status": "skipped"}}
ITEM = {"id": "W1", "priority": "S2", "title": "a form", "status": "pending"}
VERDICTS = {"lint": {"status": "passed"}, "tests": {"status": "passed"}}


def loop(phase: str = "classify", **state: Any) -> Run:
    """A loop in its first pass that was begun by a command."""
    run = Run(built_in("phase-loop"), ".claude/state")
    start = {"seq": 1, "kind": "start", "workflow": "phase-loop", "at": run.now.isoformat()}
    made = {
        "version": "2.0", "iteration": 1, "phase": phase, "status": "running", "consecutivePasses": 0,
        "workQueue": [], "gates": GATES, "history": [],
    }  # fmt: skip
    run.write(".phasekeeper/journal.jsonl", f"{json.dumps(start)}\n")
    return run.write("loop.state.json", {**made, **state})


def updates(**wanted: Any) -> dict[str, Any]:
    return {"data": {"stateUpdates": wanted}}


def walked(run: Run, *, honest: bool) -> Run:
    """The loop, each step reported with the data that is shown; honest ones write what the gates said."""
    for _ in range(60):
        suggestion = run.evaluation.suggestion
        if not suggestion.reports:
            break
        due = suggestion.reports[0]
        if honest and due.step == "quality":
            passed = run.evaluation.limits[0].count
            run.write(f"gates/pass-{passed}.md", "ruff: 0 errors; pytest: 12 passed\n")
        run.report(due.step, "ok", data=filled_data(due.data or {}))
    return run


def test_an_honest_loop_ends_after_two_passes() -> None:
    assert walked(loop(), honest=True).standing == "complete stop"


def test_a_loop_is_not_ended_by_reports_alone() -> None:
    with pytest.raises(CommandRefused) as refused:
        walked(loop(), honest=False)
    assert str(refused.value) == (
        "nothing was recorded: quality ok needs that these files exist: .claude/state/gates/pass-1.md"
    )


def test_each_pass_runs_its_gates_anew() -> None:
    run = (
        loop("quality")
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
        loop("quality")
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
    run = loop(phase, workQueue=[ITEM])
    done = {"workQueue": [{**ITEM, "status": "done"}]}
    assert "it names the files that were changed" in run.refusal(phase, "ok", **updates(**done))
    data = {"files": ["src/form.py"], "stateUpdates": done}
    run.write("/src/form.py", "FORM = 1\n").report(phase, "ok", data=data)
    assert str(run.evaluation.progress) == "Progress(done=1, total=1)"


def test_a_file_of_the_pass_before_is_no_work_of_this_one() -> None:
    run = loop("evaluate", workQueue=[ITEM]).write("/src/form.py", "FORM = 1\n").report("evaluate", "ok")
    run.report("classify", "ok", next="execute")
    done = {"files": ["src/form.py"], "stateUpdates": {"workQueue": [{**ITEM, "status": "done"}]}}
    assert "a file was changed since evaluate ok: src/form.py" in run.refusal("execute", "ok", data=done)
    run.report("execute", "ok", **updates(workQueue=[{**ITEM, "status": "in-progress"}]))
    run.report("verify", "ok", next="execute").write("/src/form.py", "FORM = 2\n")
    run.report("execute", "ok", data=done)
    assert str(run.evaluation.progress) == "Progress(done=1, total=1)"
