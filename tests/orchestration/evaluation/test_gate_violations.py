"""What is written past the gates of a guarded run, and what records and commits say of it."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.updates import left_entries

from tests.verdicts.runs import CONFIG, Run, built_in, plan_run

GUARD = "guard: {runs: ['**']}\n"
PIPELINE = ".ai-tools-chain/tasks/t"


def pipeline(files: int) -> Run:
    """A guarded task that is being planned, with a change of so many files that nobody may write yet."""
    run = Run(built_in("artifact-pipeline"), PIPELINE).write(f"/{CONFIG}", GUARD)
    run.write("state.json", {"phase": "planning"}).commit()
    run.write("code/diff.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    for number in range(files):
        run.write(f"code/files/{number:03}.py", f"{number} = 1\n")
    return run


@pytest.mark.parametrize("files", [1, 50, 80])
def test_many_files_of_a_step_are_told_in_bounds_and_a_commit_has_each_of_them(files: int) -> None:
    run = pipeline(files)
    said = run.messages("gate-violation")
    assert len(said) == min(files + 1, 51)
    assert (f"and {files + 1 - 50} more files" in " ".join(said)) == (files >= 50)
    assert run.commit().messages("gate-violation") == []


@pytest.mark.parametrize("files", [1, 80])
def test_files_that_a_record_found_there_are_known_however_many(files: int) -> None:
    run = pipeline(files)
    guard = run.files.pop(CONFIG)
    run.head = {}
    run.write("planning/planning.ai.json", {"id": "T"}).report("planning", "ok")
    run.files[CONFIG] = guard
    assert run.messages("gate-violation") == []
    run.write("code/files/000.py", "0 = 2\n")
    assert run.messages("gate-violation")


def held(run: Run) -> list[dict[str, object]]:
    """What the newest record holds of marks."""
    line = run.files[f"{run.at}/.phasekeeper/journal.jsonl"].splitlines()[-1]
    items = json.loads(line).get("held", [])
    return [item for item in items if item.keys() & {"marked", "unmarked", "marks"}]


def marked(run: Run, *numbers: str, mark: str = "[x]") -> Run:
    path = f"{run.at}/MASTER_PLAN.md"
    lines = run.files[path].splitlines()
    of_tasks = [any(f"| f-{number} |" in line for number in numbers) for line in lines]
    changed = [
        line.replace("[ ]", mark).replace("[x]", mark) if wanted else line
        for line, wanted in zip(lines, of_tasks, strict=True)
    ]
    return run.write("MASTER_PLAN.md", "\n".join(changed) + "\n")


def test_a_record_holds_marks_that_came_with_right_and_those_that_went() -> None:
    run = plan_run("x  ").write(f"/{CONFIG}", GUARD + "parameters: {master-plan: {adoption: auto}}\n")
    run.report("4a", "complete", "02")
    assert held(run) == [{"marked": ["f-01"]}]
    marked(run, "02")
    run.report("4a", "complete", "03")
    assert held(run) == []
    [said] = run.messages("gate-violation")
    assert "f-02 is marked done, and no gate of stage 1 passed that lets it be marked" in said
    marked(run, "01", mark="[ ]").report("4a", "partial", "01")
    assert held(run) == [{"marked": [], "unmarked": ["f-01"]}]


def test_a_plan_in_head_that_cannot_be_read_tells_nothing_of_marks() -> None:
    run = marked(plan_run("  "), "01").write(f"/{CONFIG}", GUARD)
    run.head = {**run.files, f"{run.at}/MASTER_PLAN.md": "nothing\n"}
    assert run.messages("gate-violation") == []


def test_more_marks_than_a_record_keeps_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_entries, "MOST_MARKS", 2)
    run = plan_run("xxx  ")
    run.write(f"/{CONFIG}", GUARD + "parameters: {master-plan: {adoption: auto}}\n")
    run.report("4a", "complete", "04")
    assert held(run) == [{"marks": "unknown"}]
    assert marked(run, "05").messages("gate-violation") == []
