"""Gates of a phase loop rest on the checks of their names, and so do its passes in a row."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.states import CheckResult

from tests.verdicts.loops import loop
from tests.verdicts.runs import CONFIG, Run

BAD = [each for each in CheckResult if each is not CheckResult.PASSED]
GATES = {"lint": {"status": "passed"}, "docs": {"status": "skipped"}}
STATE = ".claude/state/loop.state.json"


def gated(phase: str = "evaluate", *, declared: str = "lint", **state: Any) -> Run:
    """A loop with a gate that says passed, in a root that declares a check."""
    config = f"checks: {{{declared}: {{run: [a]}}}}\n"
    return loop(phase, config=config, **{"gates": GATES, **state})


def quality(run: Run) -> Run:
    """Report the gates as passed, and what comes before the pass is evaluated."""
    iteration = json.loads(run.files[STATE])["iteration"]
    run.write(f"gates/pass-{iteration}.md", f"# Gates\n\nlint ran {run.now}.\n")
    said = {"stateUpdates": {"gates": {"lint": {"status": "passed"}}}}
    return run.report("quality", "ok", data=said).report("checkpoint", "ok")


def state(run: Run) -> dict[str, Any]:
    """The state file's data."""
    return json.loads(run.files[STATE])


def criterion(run: Run) -> bool | None:
    """Whether every gate of the loop is passed."""
    return next(each for each in run.evaluation.gates if each.id == "iteration").criteria[0].met


@pytest.mark.parametrize("result", list(CheckResult))
def test_a_gate_is_what_the_check_of_its_name_says(result: CheckResult) -> None:
    run = gated().measure("lint", result)
    assert criterion(run) is (result is CheckResult.PASSED)
    found = run.messages("status-drift")
    assert bool(found) == (result is not CheckResult.PASSED)
    if found:
        assert found[0].startswith(f"{STATE}:1: the state says passed, and the check")
        assert f"lint is {result.value}; the check is what counts" in found[0]


@pytest.mark.parametrize("word", ["pending", "failed", "running"])
def test_a_check_that_passed_needs_no_word(word: str) -> None:
    run = gated(gates={"lint": {"status": word}}).measure("lint", CheckResult.PASSED)
    assert criterion(run) is True
    assert run.messages("status-drift") == []


def test_a_gate_without_a_check_of_its_name_is_what_the_state_says() -> None:
    run = gated(declared="tests").measure("tests", CheckResult.FAILED)
    assert criterion(run) is True
    assert run.messages("status-drift") == []


def test_gates_of_the_loop_that_are_not_passed_are_named_in_the_evidence() -> None:
    def evidence(**gates: str) -> list[tuple[str, object, str | None]]:
        run = gated(declared="other", gates={name: {"status": status} for name, status in gates.items()})
        criteria = next(each for each in run.evaluation.gates if each.id == "iteration").criteria
        return [(each.expression, each.value, each.path) for each in criteria[0].evidence]

    assert evidence(lint="passed", tests="failed", docs="pending") == [
        ("gates_to_pass", ("docs", "tests"), STATE)
    ]
    assert evidence(lint="passed", tests="passed") == [("state.gates", "2 keys", STATE)]


def test_a_gate_that_a_person_skipped_stays_so() -> None:
    run = gated(declared="docs").measure("docs", CheckResult.FAILED)
    assert criterion(run) is True


def test_a_check_that_is_taken_out_of_the_configuration_leaves_no_word_behind_it() -> None:
    none = "checks: {}\n"
    run = gated().commit().measure("lint", CheckResult.FAILED).write(f"/{CONFIG}", none)
    assert criterion(run) is False
    assert "lint is missing" in run.messages("status-drift")[0]
    assert criterion(run.commit()) is True
    recorded = quality(gated("quality").measure("lint", CheckResult.PASSED)).write(f"/{CONFIG}", none)
    assert criterion(recorded) is not True


def test_a_pass_counts_on_files_that_passed_and_on_no_others() -> None:
    run = quality(gated("quality").measure("lint", CheckResult.PASSED, "aa")).report("evaluate", "ok")
    assert (state(run)["consecutivePasses"], state(run)["iteration"]) == (1, 2)
    for result in BAD:
        other = quality(gated("quality").measure("lint", CheckResult.PASSED, "aa"))
        other.measure("lint", result, "bb").report("evaluate", "ok")
        assert (state(other)["consecutivePasses"], state(other)["iteration"]) == (0, 2)


def second_pass() -> Run:
    """A loop that lacks one pass, whose gates ran and passed on the files as they were."""
    run = quality(gated("quality").measure("lint", CheckResult.PASSED, "aa")).report("evaluate", "ok")
    for step in ("classify", "contextualize", "assess", "plan", "execute", "verify"):
        run.report(step, "ok", data={})
    return quality(run)


def test_a_complete_loop_stays_complete_whatever_is_saved_later() -> None:
    run = second_pass().report("evaluate", "ok")
    assert run.evaluation.status == "complete"
    assert state(run)["status"] == "complete"
    for result in BAD:
        assert run.measure("lint", result, "bb").evaluation.status == "complete"


@pytest.mark.parametrize("result", BAD)
def test_an_older_result_completes_no_loop(result: CheckResult) -> None:
    run = second_pass().measure("lint", result, "bb").report("evaluate", "ok")
    assert run.evaluation.status == "active"
    assert state(run)["consecutivePasses"] == 0


@pytest.mark.parametrize("result", BAD)
def test_a_loop_that_says_that_it_is_complete_is_not(result: CheckResult) -> None:
    run = second_pass().measure("lint", result, "bb")
    said = {**state(run), "status": "complete", "consecutivePasses": 2}
    assert run.write("loop.state.json", said).evaluation.status != "complete"
