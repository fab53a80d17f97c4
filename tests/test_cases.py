"""Every row of every table of the seeds, as a file under tests/cases."""

from __future__ import annotations

from tests.golden import Case, check
from tests.orchestration.expressions.agreement import disagreements


def test_the_run_stands_where_the_case_says(golden_case: Case, update_cases: bool) -> None:
    trace = check(golden_case, update_cases)
    assert disagreements(trace.facts.context) == []
