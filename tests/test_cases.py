"""Every row of every table of the seeds, as a file under tests/cases."""

from __future__ import annotations

from .golden import Case, check


def test_the_run_stands_where_the_case_says(golden_case: Case, update_cases: bool) -> None:
    check(golden_case, update_cases)
