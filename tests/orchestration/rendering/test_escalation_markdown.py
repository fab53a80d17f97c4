"""Escalations in the Markdown form of seed 004, for every workflow, whatever the files say."""

from __future__ import annotations

import json
from typing import Any

from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.journal.journal import Proofs
from phasekeeper.orchestration.rendering.escalation_markdown import (
    SHOWN,
    Failure,
    escalation_markdown,
    escalations_markdown,
    failures,
)
from phasekeeper.orchestration.result.values import Evaluation, Option, QuestionState
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.states import QuestionKind
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

PLAN = """\
# Late fees

## Phase 1: Fees <b>

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | LF-1 | `01-fees.md` | Fees | impl | [x] |
"""
RUN = ".orchestrator/tasks/late-fees"
ANALYSES = frozenset({"F1"})


def journal(*entries: dict[str, Any]) -> str:
    text, prev = "", ""
    for seq, entry in enumerate(entries, 1):
        line = json.dumps({"seq": seq, "at": f"2026-01-01T00:00:{seq:02}Z", **entry, "prev": prev})
        text, prev = text + line + "\n", digest_of(line)
    return text


def report(phase: str, outcome: str, message: str = "") -> dict[str, Any]:
    return {"kind": "report", "phase": phase, "outcome": outcome, "stage": "1", "message": message}


def plan_run(*entries: dict[str, Any]) -> Evaluation:
    """The run of a plan that was adopted, with these reports behind each other."""
    adopted = {"kind": "answer", "question": "adoption", "option": "adopt", "why": "ours"}
    files = {
        f"{RUN}/MASTER_PLAN.md": PLAN,
        f"{RUN}/01-fees.md": "# Fees\n",
        f"{RUN}/.phasekeeper/journal.jsonl": journal(adopted, *entries),
    }
    used = DefinitionLibrary().workflow("master-plan")
    taken = read_run(used, MemoryFiles(files), RUN, verify=lambda lines: Proofs(frozenset(range(len(lines)))))
    return evaluate_traced(used, taken).evaluation


def loop_run(**state: Any) -> Evaluation:
    data = {"version": "2", "phase": "plan", "iteration": 3, "workQueue": [], "gates": {}, **state}
    used = DefinitionLibrary().workflow("phase-loop")
    files = MemoryFiles({".claude/state/loop.state.json": json.dumps(data)})
    return evaluate_traced(used, read_run(used, files, ".claude/state")).evaluation


ROUND = (
    report("4b", "fail", "rounding | is off"),
    report("F1", "ok", "cents are floats"),
    report("F2", "ok", "used `Decimal`"),
)


def test_three_failed_gates_are_told_in_the_form_of_the_seed() -> None:
    evaluation = plan_run(*ROUND, *ROUND, report("4b", "fail", "still off"))
    assert (
        escalations_markdown(evaluation)
        == """\
## Escalation Required

**Run**: .orchestrator/tasks/late-fees
**Phase**: 1 (Fees &#60;b&#62;), in 4b
**Tasks**: LF-1
**Iteration**: 3/3 (maximum reached)
**Question**: fix\\_iterations:1: 4b failed 3 times in stage 1. How to go on?

### Failure History
| Iteration | Failure | Fix Attempted | Result |
|-----------|---------|---------------|--------|
| 1 | rounding \\| is off | used \\`Decimal\\` | FAIL |
| 2 | rounding \\| is off | used \\`Decimal\\` | FAIL |
| 3 | still off | none | FAIL |

### Root Cause Analysis
cents are floats

### Options
1. **retry**: try as many times again: nothing has to be changed, but the same cause may fail again
2. **change**: change the tasks by hand and try again: it mends the cause, but takes a person's time
3. **skip**: Skip this phase (document as known issue): the work goes on, but the stage stays unchecked

**User decision required to proceed.**
"""
    )


def test_an_escalation_of_another_workflow_has_the_same_frame() -> None:
    queue = [{"id": "WQ-1", "priority": "S0", "title": "broken", "status": "pending"}]
    text = escalations_markdown(loop_run(workQueue=queue))
    assert "**Phase**: plan (Plan)\n**Tasks**: none named\n**Question**: severe:3:WQ-1: Severity S0" in text
    assert "No failure is recorded for this question." in text
    assert "No failure analysis is recorded. severity S0 or worse is open: WQ-1" in text
    assert "3. **stop**: stop the loop" in text


def test_the_only_limit_that_is_reached_is_the_iteration_of_a_question_of_another_name() -> None:
    assert "**Iteration**: 50/50 (maximum reached)" in escalations_markdown(loop_run(iteration=50))


def test_a_limit_of_the_same_name_is_told_although_it_is_not_reached() -> None:
    asked = QuestionState("jumps:3", QuestionKind.ESCALATION, "Jumped?")
    assert "**Iteration**: 0/10\n" in escalation_markdown(loop_run(), asked)


def test_a_run_without_open_escalations_has_none_to_show() -> None:
    assert escalations_markdown(plan_run()) == ""


def test_nothing_that_a_history_holds_can_break_the_table() -> None:
    odd: list[dict[str, Any]] = [
        {"phase": ["4b"], "outcome": "fail", "iteration": "two", "tasks": 5, "path": "r/1.md"},
        {"phase": {"a": 1}, "message": "# x\n| y |"},
        {"phase": ["4b"], "outcome": "error", "tasks": ["T|1", 2], "iteration": 7},
    ]
    text = escalation_markdown(
        loop_run(phase="nowhere"), QuestionState("raised:4", QuestionKind.ESCALATION, "?", history=tuple(odd))
    )
    assert "| 1 | r/1.md | \\#&#8203; x \\| y \\| | ERROR |\n| 7 | T\\|1, 2 | none | ERROR |" in text
    assert "**Phase**: unknown" in text


def test_of_a_long_history_the_newest_failures_are_shown_and_the_others_counted() -> None:
    history = tuple({"phase": "4b", "outcome": "fail", "message": f"no {n}"} for n in range(1, SHOWN + 3))
    text = escalation_markdown(loop_run(), QuestionState("q", QuestionKind.ESCALATION, "?", history=history))
    assert "2 earlier failures are in the run's history." in text
    assert "no 2 " not in text and "| 3 | no 3 | none | FAIL |" in text


def test_a_check_that_passed_later_is_the_result_of_the_fix() -> None:
    checks = report("4b", "fail", "broken"), report("4b", "pass")
    history = [checks[0], report("F2", "ok", "mended"), checks[1], report("F1", "ok")]
    assert failures(history, ANALYSES) == (Failure(1, "broken", "mended", "PASS"),)


def test_an_analysis_that_nothing_followed_fixed_nothing() -> None:
    history = [report("4b", "fail"), report("F1", "ok", "floats"), report("4b", "fail")]
    assert [each.fix for each in failures(history, ANALYSES)] == ["none", "none"]
    assert failures(history, ANALYSES)[0].failure == "not described"


def test_an_option_has_a_label_for_where_there_is_room_for_no_more() -> None:
    assert Option("stop", "stop the loop: nothing more is spent").label == "stop the loop"
    assert Option("stop", "stop the loop").label == "stop the loop"
