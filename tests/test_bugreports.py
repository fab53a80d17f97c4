"""What other tools were reported to get wrong with lists of work, as master plans.

Section and number name the report's kind: lost work (A), the next step (B), drift (C), columns (D).
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.root_config import read_config
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.journal.journal import Proofs
from phasekeeper.orchestration.plans.master_plan.reader import read
from phasekeeper.orchestration.plans.model import TaskFile
from phasekeeper.orchestration.plans.schedule import build_schedule, cycles
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

RUN = "tasks/shop"
PLAN = f"{RUN}/MASTER_PLAN.md"
HEAD = "| Order | Task ID | Description | File | Type | Status |\n|---|---|---|---|---|---|\n"
ADOPTED = read_config("parameters: {master-plan: {adoption: auto}}")


def row(number: int, mark: str = "[ ]", name: str = "", title: str = "Work") -> str:
    return f"| {number} | {name or f'shop-{number:02}'} | {title} | `{number:02}-work.md` | test | {mark} |\n"


def plan(*rows: str, before: str = "", after: str = "") -> str:
    return f"# Shop - Master Plan\n\n{before}## Phase 1: Core\n\n{HEAD}{''.join(rows)}\n{after}"


def under_way(*rows: str) -> str:
    """A plan with a task that is done: work is under way, so that tasks are handed out."""
    return plan(row(90, "[x]"), *rows)


def task_file(number: int, depends: str = "none") -> str:
    return f"# {number:02}. Work\n\n## Meta\n\n- **ID**: shop-{number:02}\n- **Depends On**: {depends}\n"


def tasks(count: int, depends: Mapping[int, str] | None = None) -> dict[str, str]:
    needs = depends or {}
    return {f"{RUN}/{n:02}-work.md": task_file(n, needs.get(n, "none")) for n in range(1, count + 1)}


@cache
def master_plan() -> Workflow:
    return DefinitionLibrary().workflow("master-plan")


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def judged(text: str | bytes, files: Mapping[str, str]) -> dict[str, Any]:
    """The evaluation of the run, as JSON; a person's decisions count."""
    # The file of the task that is done in a plan under way.
    begun = {f"{RUN}/90-work.md": task_file(90)} if b"90-work.md" in as_bytes(text) else {}
    held = MemoryFiles({PLAN: text, **begun, **files})
    snapshot = read_run(
        master_plan(), held, RUN, config=ADOPTED, verify=lambda lines: Proofs(frozenset(range(len(lines))))
    )
    return as_json(evaluate(master_plan(), snapshot))


def codes(data: dict[str, Any], *but: str) -> list[str]:
    return [f["code"] for f in data["findings"] if f["severity"] != "hint" and f["code"] not in but]


def states(data: dict[str, Any]) -> dict[str, str]:
    return {task["id"]: task["state"] for stage in data["plan"]["stages"] for task in stage["tasks"]}


def places(text: str, data: dict[str, Any], code: str) -> list[str]:
    """The text from the place of each finding of a code to the end of its line."""
    lines = text.splitlines()
    return [lines[f["line"] - 1][f["column"] - 1 :] for f in data["findings"] if f["code"] == code]


# ---- A: work that is lost ---------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["[?]", "[>]", "[done]", "[ x]", "✅", "x", "", "[]"])
def test_a1_an_unknown_mark_is_work_that_is_not_done(mark: str) -> None:
    text = plan(row(1, "[x]"), row(2, mark), row(3, mark))
    data = judged(text, tasks(3))
    assert data["progress"] == {"done": 1, "total": 3}
    assert codes(data) == ["marker-unknown", "marker-unknown"]
    assert data["status"] == "active"
    assert data["suggestion"]["tasks"] == ["shop-02", "shop-03"]


@pytest.mark.parametrize("mark", ["[~]", "[-]", "[!]"])
def test_a1_a_mark_that_puts_work_off_does_not_take_it_out_of_the_count(mark: str) -> None:
    data = judged(plan(row(1, "[x]"), row(2, mark)), tasks(2))
    assert data["progress"] == {"done": 1, "total": 2}
    assert data["currentPhase"] == "4a"


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "1)"])
def test_a2_a_list_of_any_kind_that_repeats_progress_is_read(bullet: str) -> None:
    listed = f"## Quick Reference\n\n```\n{bullet} shop-01  Work  [x]\n```\n"
    data = judged(plan(row(1), after=listed), tasks(1))
    assert codes(data) == ["status-drift"]
    assert data["progress"] == {"done": 0, "total": 1}


def test_a4_the_second_row_of_one_id_is_told_and_both_are_counted() -> None:
    text = plan(row(1, "[x]"), row(2, name="shop-11"), row(3, name="shop-11"))
    data = judged(text, tasks(3))
    assert [place.split(" ")[0] for place in places(text, data, "duplicate-task")] == ["shop-11"]
    (found,) = (f for f in data["findings"] if f["code"] == "duplicate-task")
    assert found["line"] == text[: text.rindex("shop-11")].count("\n") + 1
    assert data["progress"] == {"done": 1, "total": 3}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a11_a_task_that_is_done_in_one_row_and_open_in_another_is_not_done(order: tuple[int, int]) -> None:
    twice = (row(1, "[x]"), row(1, "[ ]"))
    text = plan(*(twice[position] for position in order), row(2, "[x]"))
    data = judged(text, tasks(2))
    assert codes(data) == ["duplicate-task"]
    assert data["currentPhase"] == "4a"
    assert data["suggestion"]["tasks"] == ["shop-01"]


def test_a11_what_depends_on_such_a_task_waits() -> None:
    text = plan(row(1, "[x]"), row(1, "[ ]"), row(2))
    data = judged(text, tasks(2, {2: "01"}))
    assert data["suggestion"]["tasks"] == ["shop-01"]
    assert states(data)["shop-02"] == "blocked"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a5_line_ends_and_a_byte_order_mark_change_nothing(end: str, mark: bytes) -> None:
    text, files = plan(row(1, "[x]"), row(2, "[?]"), row(3)), tasks(3, {3: "02"})
    written = mark + text.replace("\n", end).encode()
    there = {path: body.replace("\n", end) for path, body in files.items()}
    same, other = judged(text, files), judged(written, there)
    for data in (same, other):
        del data["revision"]
    assert other == same
    one, two = read(text), read(text.replace("\n", end))
    assert one and two and one.substance == two.substance


def test_a9_what_stands_in_a_fence_is_an_example_and_no_work() -> None:
    fenced = f"```md\n{HEAD}{row(7)}\n- [ ] an example\n```\n\n"
    data = judged(plan(row(1, "[x]"), before=fenced, after=fenced), tasks(1))
    assert data["progress"] == {"done": 1, "total": 1}
    assert codes(data) == []


def test_a12_a_legend_of_marks_is_no_work() -> None:
    legend = "## Notes\n\n- [P] tasks may run side by side\n- [x] = done, [ ] = open\n- [ ] tick all of it\n"
    data = judged(plan(row(1, "[x]"), after=legend), tasks(1))
    assert data["progress"] == {"done": 1, "total": 1}
    assert codes(data) == []


# ---- B: the next step -------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["[ ]", "[~]", "[!]"])
def test_b25_a_task_whose_dependency_is_open_is_never_next_whatever_its_mark(mark: str) -> None:
    data = judged(under_way(row(1, mark), row(2)), tasks(2, {1: "shop-02"}))
    assert data["suggestion"]["tasks"] == ["shop-02"]
    assert data["suggestion"]["parallel"] == [["shop-02"], ["shop-01"]]
    assert states(data) == {"shop-90": "done", "shop-01": "blocked", "shop-02": "ready"}


def journal(*records: dict[str, Any]) -> dict[str, str]:
    lines: list[str] = []
    for number, record in enumerate(records, 1):
        before = digest_of(lines[-1]) if lines else ""
        lines.append(json.dumps({"seq": number, **record, "prev": before}))
    return {f"{RUN}/.phasekeeper/journal.jsonl": "".join(f"{line}\n" for line in lines)}


def test_b27_what_depends_on_work_that_was_let_go_waits_and_says_for_what() -> None:
    second = f"## Phase 2: Shell\n\n{HEAD}{row(2)}"
    failed = {"kind": "report", "phase": "4b", "stage": "1", "outcome": "fail", "tasks": ["shop-01"]}
    let_go = {"kind": "answer", "question": "fix_iterations", "scope": "1", "option": "skip", "why": "known"}
    closed = {"kind": "report", "phase": "4c", "stage": "1", "outcome": "ok"}
    records = journal({"kind": "start"}, failed, failed, failed, let_go, closed)
    free = judged(plan(row(1), after=second), tasks(2) | records)
    assert (free["status"], free["suggestion"]["tasks"]) == ("active", ["shop-02"])
    bound = judged(plan(row(1), after=second), tasks(2, {2: "01"}) | records)
    assert states(bound) == {"shop-01": "skipped", "shop-02": "blocked"}
    assert (bound["status"], bound["suggestion"]["kind"]) == ("blocked", "wait")
    assert bound["statusReason"] == "no task can start: shop-02 waits for shop-01"
    assert bound["suggestion"]["waitingFor"].startswith("person: ")


def test_b27_a_dependency_that_nobody_knows_counts_as_open() -> None:
    data = judged(under_way(row(1), row(2)), tasks(2, {1: "shop-77"}))
    assert codes(data) == ["dangling-dependency"]
    assert data["suggestion"]["tasks"] == ["shop-02"]


def test_b30_the_members_of_a_circle_are_told_once_and_the_rest_goes_on() -> None:
    data = judged(under_way(*map(row, range(1, 5))), tasks(4, {1: "02", 2: "03", 3: "01"}))
    (found,) = (f for f in data["findings"] if f["code"] == "plan-cycle")
    assert found["message"].startswith("shop-01 → shop-02 → shop-03 → shop-01 ")
    assert found["path"] == f"{RUN}/01-work.md"
    assert data["suggestion"]["tasks"] == ["shop-04"]
    assert data["status"] == "active"


def test_b30_a_plan_of_nothing_but_a_circle_is_blocked() -> None:
    data = judged(under_way(row(1), row(2)), tasks(2, {1: "02", 2: "01"}))
    assert data["status"] == "blocked"
    assert data["suggestion"]["tasks"] == []


def test_b30_a_circle_of_ten_thousand_tasks_is_found() -> None:
    count = 10_000
    big = read(plan(*(row(number) for number in range(1, count + 1))))
    assert big

    def details(task: Any) -> TaskFile:
        number = int(task.number)
        return TaskFile(depends_on=(f"shop-{number % count + 1:02}",))

    (circle,) = cycles(big, big.tasks, details)
    assert len(circle) == count
    assert build_schedule(big, big.tasks, details, frozenset(), ()).ready == ()


def test_b31_the_order_is_the_plan_s_whatever_order_the_files_come_in() -> None:
    text, files = under_way(*map(row, range(1, 13))), tasks(12, {3: "12", 5: "03"})
    expected = judged(text, files)
    assert expected["suggestion"]["tasks"][:3] == ["shop-01", "shop-02", "shop-04"]
    assert [len(batch) for batch in expected["suggestion"]["parallel"]] == [10, 1, 1]
    for seed in range(5):
        shuffled = list(files.items())
        random.Random(seed).shuffle(shuffled)
        assert judged(text, dict(shuffled)) == expected


# ---- C: drift ---------------------------------------------------------------------------------


def test_c43_a_ticked_row_that_names_a_file_that_is_not_there_is_told_and_stays_ticked() -> None:
    text = plan(row(1, "[x]"), row(2))
    files = tasks(2)
    del files[f"{RUN}/01-work.md"]
    data = judged(text, files)
    assert [place[:10] for place in places(text, data, "artifact-missing")] == ["01-work.md"]
    assert data["progress"] == {"done": 1, "total": 2}
    assert data["currentPhase"] == "2"


# ---- D: columns -------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["🚀 任務", "👩‍👩‍👧 família", "né\u0301e", "\U0001f680" * 40])
def test_d55_a_column_counts_code_points(title: str) -> None:
    text = plan(row(1, "[?]", title=title))
    data = judged(text, {})
    line = row(1, "[?]", title=title)
    found = {f["code"]: f["column"] for f in data["findings"] if f["line"]}
    assert found["marker-unknown"] == line.index("[?]") + 1
    assert found["artifact-missing"] == line.index("01-work.md") + 1
