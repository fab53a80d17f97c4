"""Which tasks can start, which run side by side, and what the others wait for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Evidence, Span
from phasekeeper.orchestration.journal.journal import Claim
from phasekeeper.orchestration.plans.model import (
    MarkStatus,
    Plan,
    RowPlace,
    Stage,
    StageTasks,
    Task,
    TaskFile,
)
from phasekeeper.orchestration.plans.schedule import (
    MOST_READY,
    Schedule,
    TaskBoard,
    build_schedule,
    dependency_problems,
    needs,
    resolve,
)

SPAN = Span(0, 0, 0, 1)
PLACE = RowPlace(0, 0, 1)


def task(number: int, status: str = MarkStatus.TODO, stage: str = "1") -> Task:
    return Task(
        f"t-{number:02}",
        f"{number:02}",
        f"Task {number}",
        stage,
        MarkStatus(status),
        f"{number:02}-step.md",
        "impl",
        PLACE,
    )


def plan(*tasks: Task) -> Plan:
    stages = tuple(dict.fromkeys(one.stage for one in tasks))
    grouped = [Stage(s, f"Stage {s}", SPAN, StageTasks(t for t in tasks if t.stage == s)) for s in stages]
    return Plan("Plan", "", tuple(grouped), "digest")


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, dict[str, TaskFile]]:
    """A plan of up to eight tasks with any dependencies, circles and lost ones too, and shared files."""
    count = draw(st.integers(1, 8))
    status = st.sampled_from(["todo", "todo", "done", "in_progress"])
    tasks = [task(n, draw(status)) for n in range(1, count + 1)]
    ids = st.sampled_from([*(one.id for one in tasks), "t-99"])
    details = {
        one.id: TaskFile(
            depends_on=tuple(draw(st.lists(ids, max_size=2))),
            files=tuple(draw(st.lists(st.sampled_from("abc"), max_size=2))),
        )
        for one in tasks
    }
    return plan(*tasks), details


@given(plans(), st.sets(st.integers(1, 8), max_size=2))
def test_batches_respect_dependencies_and_files(
    case: tuple[Plan, dict[str, TaskFile]], held: set[int]
) -> None:
    whole, details = case
    claims = [Claim(f"t-{n:02}", "ann", "2099", 1) for n in held]
    handed = [one for one in whole.tasks if not one.done]
    schedule = build_schedule(whole, handed, lambda one: details[one.id], (), claims)
    claimed = {claim.task for claim in claims}
    taken = {f for name in claimed & details.keys() for f in details[name].files}
    placed = [name for batch in schedule.batches for name in batch]
    done = {one.id for one in whole.tasks if one.done}

    assert len(placed) == len(set(placed))
    for batch in schedule.batches:
        used = [f for name in batch for f in set(details[name].files)]
        assert len(used) == len(set(used))
        assert all(set(details[name].depends_on) <= done for name in batch)
        done |= set(batch)
    for name in schedule.ready:
        assert needs(whole, whole.by_id[name], details[name], ()) == ()
        assert taken.isdisjoint(details[name].files)
    open_ids = {one.id for one in handed} - claimed
    assert set(schedule.ready) | schedule.blocked.keys() == open_ids
    assert schedule.ready == tuple(one.id for one in handed if one.id in schedule.ready)
    # What is in no batch waits, in the end, for something that never comes: a circle, a lost or a held task.
    left = open_ids - set(placed)
    for name in left:
        assert any(need not in done for need in details[name].depends_on)


def test_of_ten_thousand_tasks_in_one_chain_the_first_are_batches() -> None:
    count = 10_000
    whole = plan(*(task(n) for n in range(1, count + 1)))
    before = {one.id: prior.id for prior, one in zip(whole.tasks, whole.tasks[1:], strict=False)}
    details = {
        one.id: TaskFile(depends_on=(before[one.id],) if one.id in before else ()) for one in whole.tasks
    }
    schedule = build_schedule(whole, whole.tasks, lambda one: details[one.id], (), ())
    assert schedule.batches == tuple((one.id,) for one in whole.tasks[:MOST_READY])
    assert schedule.ready == ("t-01",)
    assert dependency_problems(whole, whole.tasks, lambda one: details[one.id]) == []


def test_what_comes_behind_many_tasks_that_can_start_waits_for_its_turn() -> None:
    tasks = [task(number) for number in range(1, MOST_READY + 20)]
    details = {"t-02": TaskFile(depends_on=("t-01",))}
    whole = plan(*tasks)
    found = build_schedule(whole, tasks, lambda t: details.get(t.id, TaskFile()), (), ())
    assert found.ready == tuple(each.id for each in tasks if each.id != "t-02")[:MOST_READY]
    assert found.batches == (found.ready,)
    turn = (f"its turn, behind {MOST_READY} others",)
    assert found.blocked == {"t-02": ("t-01",)} | dict.fromkeys([t.id for t in tasks[MOST_READY + 1 :]], turn)
    done = ["t-01"]
    assert "t-02" in build_schedule(whole, tasks[1:], lambda t: details.get(t.id, TaskFile()), done, ()).ready


def test_a_task_waits_for_the_files_of_one_that_somebody_works_on() -> None:
    whole = plan(task(1), task(2))
    files = lambda one: TaskFile(files=("src/a.py",))  # noqa: E731
    schedule = build_schedule(
        whole, whole.tasks, files, (), [Claim("t-01", "ann", "2099", 1), Claim("lost", "bo", "2099", 2)]
    )
    assert schedule.blocked == {"t-02": ("t-01",)}
    assert schedule.ready == ()


@pytest.mark.parametrize(
    "reference", ["t-03", "03", "3", "T-03", "03-step.md", "03-STEP", "`t-03`", " tasks/03-step.md "]
)
def test_a_task_goes_by_many_names(reference: str) -> None:
    assert resolve(plan(task(3), task(13)), reference) == "t-03"


def test_a_task_that_is_marked_blocked_is_not_handed_out_nor_what_needs_it() -> None:
    whole = plan(task(1, "blocked"), task(2), task(3, "attention"))
    details = {"t-01": TaskFile(), "t-02": TaskFile(depends_on=("t-01",)), "t-03": TaskFile()}
    found = build_schedule(whole, whole.tasks, lambda one: details[one.id], (), ())
    assert found == Schedule(("t-03",), (("t-03",),), {"t-01": ("mark [-]",), "t-02": ("t-01",)})


def test_a_name_that_two_tasks_share_is_neither() -> None:
    other = Task("u-03", "03", "Other", "2", MarkStatus.TODO, "other.md", "impl", PLACE)
    whole = plan(task(3), other)
    assert resolve(whole, "03") is None
    assert resolve(whole, "u-03") == "u-03"


def test_a_number_of_zeros_is_no_empty_name() -> None:
    assert resolve(plan(task(0)), "00") == "t-00"
    assert resolve(plan(task(0)), "") is None


def test_of_two_rows_with_one_id_the_open_one_counts() -> None:
    assert not plan(task(1, "done"), task(1, "todo")).by_id["t-01"].done
    assert not plan(task(1, "todo"), task(1, "done")).by_id["t-01"].done


def test_lost_dependencies_and_circles_are_told_in_the_task_s_file() -> None:
    whole = plan(task(1), task(2), task(3))
    details = {
        "t-01": TaskFile(depends_on=("t-02",), depends_span=Span(3, 0, 3, 4)),
        "t-02": TaskFile(depends_on=("t-01", "t-33")),
        "t-03": TaskFile(),
    }
    found = dependency_problems(whole, whole.tasks, lambda one: details[one.id])
    assert [(one.id, problem.code, problem.span) for one, problem in found] == [
        ("t-02", "dangling-dependency", None),
        ("t-01", "plan-cycle", Span(3, 0, 3, 4)),
    ]
    assert "t-01 → t-02 → t-01" in found[1][1].message
    schedule = build_schedule(whole, whole.tasks, lambda one: details[one.id], (), ())
    assert schedule.blocked == {"t-01": ("t-02",), "t-02": ("t-01", "t-33")}
    assert schedule.batches == (("t-03",),)


def test_a_circle_through_a_row_whose_id_stands_twice_is_told() -> None:
    again = replace(task(1), file="again.md")
    needs = {"02-step.md": ("t-01",), "again.md": ("t-02",)}
    whole = plan(task(1), task(2), again)
    found = dependency_problems(whole, whole.tasks, lambda one: TaskFile(depends_on=needs.get(one.file, ())))
    assert [problem.code for _, problem in found] == ["plan-cycle"]


def board(whole: Plan, **more: Any) -> TaskBoard:
    known: dict[str, Any] = {
        "path": "p/MASTER_PLAN.md", "plan": whole, "folder": "p", "schedule": Schedule(), "stage": "1",
        "phase": "4a", "agent": "coder", "reported": frozenset(), "failed": {}, "skipped": frozenset(),
        "checked": frozenset(), "claims": {}, "files": {},
    }  # fmt: skip
    return TaskBoard(**(known | more))


def test_a_task_that_failed_is_failed_also_where_the_plan_calls_it_done_or_somebody_mends_it() -> None:
    said = Evidence("report 4b of stage 1", "fail", "p/reports/4b.md", Span(4, 20, 4, 24))
    shown = board(
        plan(task(1, "done"), task(2), task(3), task(4)),
        schedule=Schedule(("t-03",)),
        claims={name: Claim(name, "ann", "2099", 1) for name in ("t-02", "t-04")},
        reported=frozenset({"t-04"}),
        failed=dict.fromkeys(("t-01", "t-02", "t-03"), said),
    )
    states = {one.id: (one.state, one.failed_by) for stage in shown.stages for one in stage.tasks}
    assert states == {
        "t-01": ("failed", said),
        "t-02": ("claimed", said),
        "t-03": ("failed", said),
        "t-04": ("reported", None),
    }


def test_what_was_reported_in_a_stage_that_passed_its_check_is_done_before_the_plan_marks_it() -> None:
    reported = frozenset({"t-01", "t-03"})
    shown = board(plan(task(1), task(2), task(3, stage="2")), reported=reported, checked=frozenset({"1"}))
    states = {one.id: one.state for stage in shown.stages for one in stage.tasks}
    assert states == {"t-01": "done", "t-02": "blocked", "t-03": "reported"}
    assert [(stage.done, stage.total) for stage in shown.stages] == [(1, 2), (0, 1)]
    assert shown.done_without_mark == 1


def test_the_board_says_of_each_task_how_it_stands() -> None:
    whole = plan(
        task(1, "done"), task(2), task(3), task(4), task(5), task(6), task(7, stage="2"), task(8, stage="3")
    )
    shown = board(
        whole,
        schedule=Schedule(("t-03",), (("t-03",),), {"t-04": ("t-03",)}),
        claims={"t-02": Claim("t-02", "ann", "2099", 1)},
        reported=frozenset({"t-05"}),
        skipped=frozenset({"3"}),
        files={"t-03": ("a.py",)},
    )
    states = {one.id: (one.state, *one.blocked_by) for stage in shown.stages for one in stage.tasks}
    assert states == {
        "t-01": ("done",),
        "t-02": ("claimed",),
        "t-03": ("ready",),
        "t-04": ("blocked", "t-03"),
        "t-05": ("reported",),
        "t-06": ("blocked", "phase 4a"),
        "t-07": ("blocked", "stage 1"),
        "t-08": ("skipped",),
    }
    tasks = {one.id: one for stage in shown.stages for one in stage.tasks}
    assert [shown.task(name) for name in tasks] == list(tasks.values())
    assert shown.task("t-99") is None
    assert tasks["t-02"].claimed_by == "ann"
    assert (tasks["t-03"].files, tasks["t-04"].files) == (("a.py",), ())
    assert tasks["t-03"].path == "p/03-step.md"
    assert board(whole, folder="").stages[0].tasks[0].path == "01-step.md"
