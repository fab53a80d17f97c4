"""What the expressions of all decisions of a fold may spend together, whatever is remembered of it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.decision import pending_reports

from tests.orchestration.decision.test_fold_memory import GATE, TASK, Watched, working

SAID = "to judge its {} report files takes more than {} steps"


def used_by(watched: Watched) -> int:
    """The steps of a fold from the start."""
    [memory] = [each for key, each in watched.parsed.items() if key[0] == "fold"]
    return sum(step.spent for step in memory.steps)


@pytest.fixture
def watched() -> Watched:
    watched = working()
    watched.look()
    return watched


def test_a_fold_that_takes_too_much_says_nothing_of_the_run(watched, monkeypatch):
    most = used_by(watched) - 1
    monkeypatch.setattr(pending_reports, "MOST_STEPS_OF_REPORTS", most)
    told = Watched(watched.run).look()
    assert (told["status"], told["suggestion"]["kind"]) == ("invalid", "none")
    [found] = [each for each in told["findings"] if each["code"] == "budget-exceeded"]
    assert found["severity"] == "error"
    assert SAID.format(2, most) in found["message"] and SAID.format(2, most) in told["suggestion"]["reason"]


def test_what_a_fold_needs_is_enough(watched, monkeypatch):
    monkeypatch.setattr(pending_reports, "MOST_STEPS_OF_REPORTS", used_by(watched))
    assert Watched(watched.run).look()["status"] == "active"


def test_a_fold_that_goes_on_ends_where_one_from_the_start_does(watched, monkeypatch):
    """It spends more, for where the run stands is found again; then it is done from the start."""
    reports = (("004", TASK.format("04-t.md", "Complete")), ("005", GATE.format(1, "PASS")))
    cold = Watched(watched.run)
    for name, text in reports:
        cold.report(name, text)
    cold.look()
    whole = used_by(cold)
    seen = set()
    for most in range(whole - 400, whole + 400, 16):
        monkeypatch.setattr(pending_reports, "MOST_STEPS_OF_REPORTS", most)
        run = working()
        for name, text in reports:
            run.look()
            run.report(name, text)
        # Each look fails where it differs from a cold one.
        seen.add(run.look()["status"])
    assert len(seen) == 2 and "invalid" in seen


def test_once_a_report_is_taken_away_the_rest_is_judged(watched, monkeypatch):
    monkeypatch.setattr(pending_reports, "MOST_STEPS_OF_REPORTS", used_by(watched))
    watched.report("004", TASK.format("04-t.md", "Complete"))
    assert watched.look()["status"] == "invalid"
    watched.run.remove("reports/004.md")
    assert watched.look()["status"] == "active"
