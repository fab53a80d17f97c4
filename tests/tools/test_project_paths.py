"""The runs of a project seen from the root above it."""

from __future__ import annotations

from phasekeeper.orchestration.findings import Evidence, Finding
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.workspace.workspace import open_path
from phasekeeper.tools.project_paths import rebase_evaluation, rebase_evidence, rebase_finding, rebase_path

from tests.roots import TASKS, plan, put, task


def test_paths_of_a_project_begin_at_the_root():
    assert rebase_path("", "packages/a") == "packages/a"
    assert rebase_path("tasks/T1", "") == "tasks/T1"
    assert rebase_finding(Finding("c", "f", "m"), "p").path == "p/f"
    assert rebase_evidence([Evidence("e", 1, "f"), Evidence("e", 1)], "p")[0].path == "p/f"
    assert rebase_evidence([Evidence("e", 1)], "p") == (Evidence("e", 1),)


def evaluated(root) -> Evaluation:
    workspace = open_path(root).workspaces[0]
    return workspace.evaluate(workspace.matches[0])


def test_an_evaluation_seen_from_above_has_all_its_paths_there(root):
    evaluation = evaluated(task(root, "T1", ok=False))
    seen = rebase_evaluation(evaluation, "packages/a")

    assert seen.run == f"packages/a/{TASKS}/T1"
    assert all(e.path is None or e.path.startswith("packages/a/") for e in seen.suggestion.evidence)
    gate = next(gate for gate in seen.gates if gate.id == "plan-review")
    assert all(e.path is None or e.path.startswith("packages/a/") for c in gate.criteria for e in c.evidence)
    assert all(found.path.startswith("packages/a/") for found in seen.findings)
    assert rebase_evaluation(evaluation, "") is evaluation


def test_the_files_that_a_report_needs_are_seen_from_above_too(root):
    folder = plan(root, "f", 2, done=1)
    put(folder / "00002-step.md", "## Files to Create\n\n| File |\n|---|\n| `src/new.py` |\n")
    evaluation = evaluated(root)
    [needed] = evaluation.suggestion.reports[0].brings
    assert needed.phrase == "these files exist: src/new.py"
    [seen] = rebase_evaluation(evaluation, "packages/a").suggestion.reports[0].brings
    assert seen.phrase == "these files exist: packages/a/src/new.py"
