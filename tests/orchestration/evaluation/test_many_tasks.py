"""In a plan of any size the next step names tasks, and a gate judges all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

import pytest
from phasekeeper.orchestration.expressions.values import MOST_ITEMS
from phasekeeper.orchestration.plans.schedule import MOST_READY
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.states import GateStatus

from tests.golden import CASES, Case, steps_of

MANY = MOST_ITEMS + 10
"""So many tasks are open, and as many are done."""
Rows = Iterable[tuple[int, bool]]


def boxes(rows: Rows, line: str) -> str:
    return "".join(f"- [{'x' if is_done else ' '}] {line.format(n)}\n" for n, is_done in rows)


def task_master(rows: Rows) -> Mapping[str, str]:
    tasks = [{"id": n, "title": "Work", "status": "done" if is_done else "pending"} for n, is_done in rows]
    return {".taskmaster/tasks/tasks.json": json.dumps({"master": {"tasks": tasks}})}


def beads(rows: Rows) -> Mapping[str, str]:
    issues = [{"id": f"b-{n}", "title": "Work", "status": "closed" if d else "open"} for n, d in rows]
    return {".beads/issues.jsonl": "".join(f"{json.dumps(each)}\n" for each in issues)}


def backlog(rows: Rows) -> Mapping[str, str]:
    criteria = "## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [{}] #1 works\n<!-- AC:END -->\n"
    task = f"---\nid: TASK-{{}}\ntitle: Work\nstatus: {{}}\n---\n{criteria}"
    files = {
        f"backlog/tasks/task-{n} - Work.md": task.format(n, *(("Done", "x") if is_done else ("To Do", " ")))
        for n, is_done in rows
    }
    return files | {"backlog/config.yml": "statuses: [To Do, In Progress, Done]\n"}


def bmad(rows: Rows) -> Mapping[str, str]:
    stories = "".join(f"  1-{n}-work: {'done' if is_done else 'backlog'}\n" for n, is_done in rows)
    return {"docs/sprint-status.yaml": f"development_status:\n  epic-1: in-progress\n{stories}"}


def kiro(rows: Rows) -> Mapping[str, str]:
    documents = {f".kiro/specs/a/{name}.md": "# A\n\nWords.\n" for name in ("requirements", "design")}
    return documents | {".kiro/specs/a/tasks.md": boxes(rows, "{}. Work")}


def plan_file(rows: Rows) -> Mapping[str, str]:
    return {"PLAN.md": f"# Plan\n\n## Work\n\n{boxes(rows, 'work {}')}"}


def answer(files: Mapping[str, str]) -> Evaluation:
    return steps_of(Case(CASES / "many.txt", "many", dict(files))).evaluation


EACH = pytest.mark.parametrize("write", [task_master, beads, backlog, bmad, kiro, plan_file])


@EACH
def test_the_next_step_of_a_large_plan_names_tasks(write: Callable[[Rows], Mapping[str, str]]) -> None:
    found = answer(write([(n, n > MANY) for n in range(1, 2 * MANY + 1)]))
    assert found.progress
    assert found.progress.done == MANY
    assert "1" in found.suggestion.tasks[0]
    assert len(found.suggestion.tasks) <= MOST_READY
    assert GateStatus.OPEN not in [gate.status for gate in found.gates]


@EACH
def test_a_large_plan_is_done_when_each_of_its_tasks_is(write: Callable[[Rows], Mapping[str, str]]) -> None:
    assert answer(write([(n, True) for n in range(1, MANY + 1)])).status == "complete"
    almost = answer(write([(n, n != MANY) for n in range(1, MANY + 1)]))
    assert (almost.status, len(almost.suggestion.tasks)) == ("active", 1)


def test_one_criterion_that_is_open_shuts_the_gate_of_a_large_board() -> None:
    files = dict(backlog([(n, n > 1) for n in range(1, MANY + 1)]))
    name = f"backlog/tasks/task-{MANY} - Work.md"
    files[name] = files[name].replace("[x]", "[ ]")
    (gate,) = [each for each in answer(files).gates if each.id == "criteria"]
    assert gate.status == "failed"
    assert f"TASK-{MANY}" in str(gate.criteria[0].evidence)
