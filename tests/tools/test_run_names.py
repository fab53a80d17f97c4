"""Naming runs."""

from __future__ import annotations

import pytest
from phasekeeper.tools.run_names import NoSuchRun, find_run

NAMES = ["a/tasks/T1", "a/tasks/T2", "b/tasks/T2", "b/tasks/late-fees"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("a/tasks/T1", "a/tasks/T1"),
        ("./a/tasks/T1/", "a/tasks/T1"),
        ("T1", "a/tasks/T1"),
        ("b/tasks/T2", "b/tasks/T2"),
        ("tasks/late-fees", "b/tasks/late-fees"),
    ],
)
def test_a_run_is_found_by_its_path_or_a_tail_of_it(wanted, found):
    assert find_run(NAMES, wanted) == found


def test_a_whole_path_wins_over_tails():
    assert find_run(["T1", "a/T1"], "T1") == "T1"


def test_a_tail_that_fits_twice_is_refused_with_all_that_fit():
    with pytest.raises(NoSuchRun, match=r"end of more than one run: a/tasks/T2, b/tasks/T2$"):
        find_run(NAMES, "T2")
    with pytest.raises(NoSuchRun, match=r"and 30 more$"):
        find_run([f"{n}/T" for n in range(50)], "T")


def test_half_a_segment_is_no_tail():
    with pytest.raises(NoSuchRun, match=r"there is no run 'fees'; did you mean b/tasks/late-fees\?"):
        find_run(NAMES, "fees")


def test_the_nearest_names_are_told_or_the_first_ones():
    with pytest.raises(NoSuchRun, match=r"the runs are a/tasks/T1, .* and 1 more$"):
        find_run([*NAMES, "c/zebra", "c/yak"], "nothing-like-it")
    with pytest.raises(NoSuchRun, match=r"no run was found here, `phasekeeper demo`"):
        find_run([], "T1")
