"""Any order of operations, faults and edits by hand leaves every run as the files say, and loses nothing."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machine.operations import Operations

EXAMPLES = int(os.environ.get("PHASEKEEPER_EXAMPLES", "6"))
"""How many walks each workflow gets; more of them are of other seeds than those that are always the same."""
STEPS = 25
WORKFLOWS = ("component-design", "phase-loop", "artifact-pipeline", "skill-tuning", "master-plan")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_nothing_is_lost_and_the_answer_is_that_of_the_files(workflow: str) -> None:
    tally: Counter[str] = Counter()
    machine = type("Walk", (Operations,), {"workflow": workflow, "tally": tally})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="PHASEKEEPER_EXAMPLES" not in os.environ,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.filter_too_much,
                HealthCheck.data_too_large,
            ],
        ),
    )
    print(workflow, dict(tally))  # pytest -s shows what the walks came to
    assert min(tally[each] for each in ("acknowledged report", "refused")) > 0
