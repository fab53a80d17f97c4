"""Naming runs, and seeing the runs of a project from the root above it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.findings import Evidence, Finding
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.workspace.workspace import open_path
from phasekeeper.tools.run_names import NoSuchRun, below, find_run, joined, moved, moved_evidence

from tests.roots import TASKS, task

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


def test_paths_of_a_project_begin_at_the_root():
    assert joined("packages/a", "") == "packages/a"
    assert joined("", "tasks/T1") == "tasks/T1"
    assert moved(Finding("c", "f", "m"), "p").path == "p/f"
    assert moved_evidence([Evidence("e", 1, "f"), Evidence("e", 1)], "p")[0].path == "p/f"
    assert moved_evidence([Evidence("e", 1)], "p") == (Evidence("e", 1),)


def evaluated(root) -> Evaluation:
    workspace = open_path(root).workspaces[0]
    return workspace.evaluate(workspace.matches[0])


def test_an_evaluation_seen_from_above_has_all_its_paths_there(root):
    evaluation = evaluated(task(root, "T1", ok=False))
    seen = below(evaluation, "packages/a")

    assert seen.run == f"packages/a/{TASKS}/T1"
    assert all(e.path is None or e.path.startswith("packages/a/") for e in seen.suggestion.evidence)
    gate = next(gate for gate in seen.gates if gate.id == "plan-review")
    assert all(e.path is None or e.path.startswith("packages/a/") for c in gate.criteria for e in c.evidence)
    assert all(found.path.startswith("packages/a/") for found in seen.findings)
    assert below(evaluation, "") is evaluation
