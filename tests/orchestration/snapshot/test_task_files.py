"""Task files of a plan in a folder of the run: those that are missing, and those that no row names."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

OWN = parse_workflow(
    """\
workflow: own
runs: {at: ["work/*"], marker: {file: PLAN.md}}
phase: [{when: "true", is: one}]
artifacts:
  plan: {paths: [PLAN.md], kind: master-plan, tasks: "tasks/*.md"}
  files: {listed: plan.files, kind: files}
phases: {one: {produces: [plan, files]}}
""",
    "own.yaml",
)
PLAN = """# Own - Master Plan

## Phase 1: All

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | own-01 | `tasks/01-a.md` | first | impl | [ ] |
| 2 | own-02 | `tasks/02-b.md` | second | impl | [ ] |
"""


def messages(*paths: str) -> dict[str, list[str]]:
    """The messages about missing and unlisted task files, by code, of a run with some of them."""
    texts = {f"work/a/{path}": "# 01. T\n" for path in paths} | {"work/a/PLAN.md": PLAN}
    found: dict[str, list[str]] = {"artifact-missing": [], "task-unlisted": []}
    for finding in evaluate(OWN, read_run(OWN, MemoryFiles(texts), "work/a")).findings:
        if finding.code in found:
            found[finding.code].append(finding.message)
    return found


def test_task_files_in_a_folder_that_the_plan_names_are_neither_missing_nor_unlisted() -> None:
    assert messages("tasks/01-a.md", "tasks/02-b.md") == {"artifact-missing": [], "task-unlisted": []}


def test_one_that_is_missing_and_one_that_no_row_names_are_told() -> None:
    found = messages("tasks/01-a.md", "tasks/09-x.md", "tasks/10-note.txt")
    assert ["tasks/02-b.md" in said for said in found["artifact-missing"]] == [True]
    assert found["task-unlisted"] == ["tasks/09-x.md is a task file that no row of the plan names"]


OVER = parse_workflow(
    """\
workflow: over
runs: {at: ["work/*"], marker: {file: PLAN.md}}
phase: [{when: "true", is: done}]
artifacts: {plan: {paths: [PLAN.md], kind: master-plan, tasks: "tasks/*.md"}}
phases: {done: {terminal: complete}}
""",
    "over.yaml",
)


@pytest.mark.parametrize(("more", "status"), [([], "complete"), (["tasks/09-x.md"], "active")])
def test_a_run_beside_a_task_file_that_no_row_names_is_not_complete(more: list[str], status: str) -> None:
    paths = ("tasks/01-a.md", "tasks/02-b.md", *more)
    texts = {f"work/a/{path}": "# 01. T\n" for path in paths} | {"work/a/PLAN.md": PLAN}
    evaluation = evaluate(OVER, read_run(OVER, MemoryFiles(texts), "work/a"))
    assert evaluation.status == status
    assert ("tasks/09-x.md" in evaluation.status_reason) == bool(more)


def test_the_tasks_of_a_line_are_those_whose_row_it_is() -> None:
    plan = read_run(OVER, MemoryFiles({"work/a/PLAN.md": PLAN}), "work/a").plan
    assert plan
    assert [[task.id for task in plan.tasks_at(line)] for line in (5, 6, 7, 8)] == [
        [],
        ["own-01"],
        ["own-02"],
        [],
    ]
