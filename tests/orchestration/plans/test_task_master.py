"""tasks.json of Task Master as a plan: tags, ids, what waits for what, what is wrong, and what is written."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import Dialect, MarkStatus, Plan, TaskFile
from phasekeeper.orchestration.plans.records.tags import FIRST_TAG, MOST_TAGS, fault, tags
from phasekeeper.orchestration.plans.schedule import build_schedule

PLAN = """\
{
  "master": {
    "tasks": [
      {
        "id": 1, "title": "Make the project", "status": "done", "priority": "high",
        "dependencies": [], "subtasks": []
      },
      {
        "id": 2,
        "title": "Store",
        "status": "in-progress",
        "dependencies": [1],
        "subtasks": [
          {"id": 1, "title": "Table", "status": "done", "dependencies": []},
          {"id": 2, "title": "Index", "status": "pending", "dependencies": [1]},
          {"id": 3, "title": "Backup", "dependencies": ["2.2"]}
        ]
      },
      {"id": "3", "title": "Page", "status": "pending", "priority": "low", "dependencies": ["1"]},
      {"id": 4, "title": "Mail", "status": "pending", "priority": "high", "dependencies": [1]},
      {"id": 10, "title": "Ship", "status": "pending", "dependencies": [2, 3]}
    ],
    "metadata": {"description": "what is built"}
  },
  "later ideas/№1": {"tasks": [{"id": 1, "title": "Dark mode", "status": "deferred"}]}
}
"""
KIND = DIALECTS["task-master"]


def units(text: str) -> list[str]:
    """The names of the plans in a text."""
    assert KIND.units
    return list(KIND.units(text) or ())


def of(unit: str = "master") -> Dialect:
    return KIND.for_unit(unit)


def read(text: str, unit: str = "master") -> Plan:
    plan = of(unit).read(text)
    assert plan is not None
    return plan


def tagged(*tasks: Any) -> str:
    return json.dumps({"master": {"tasks": tasks}}, indent=2)


def todo(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "title": f"Task {number}", "status": "pending", "dependencies": [], **more}


def ready(plan: Plan) -> list[str]:
    left = sorted((task for task in plan.tasks if not task.done), key=lambda task: task.rank)
    return list(
        build_schedule(plan, left, lambda task: plan.details.get(task.id, TaskFile()), frozenset(), ()).ready
    )


def said(plan: Plan) -> list[tuple[str, int, str]]:
    return [(each.code, each.span.line if each.span else -1, each.message) for each in plan.problems]


def test_a_tag_is_a_plan_and_its_name_is_fit_for_a_folder() -> None:
    assert list(units(PLAN)) == ["master", "later ideas/№1"]
    assert [task.id for task in read(PLAN, "later%20ideas%2F%E2%84%961").tasks] == ["1"]
    assert of("nobody").read(PLAN) is None


def test_subtasks_are_tasks_and_those_above_them_wait_for_them() -> None:
    plan = read(PLAN)
    assert [(task.id, task.status) for task in plan.tasks][:5] == [
        ("1", MarkStatus.DONE),
        ("2", MarkStatus.IN_PROGRESS),
        ("2.1", MarkStatus.DONE),
        ("2.2", MarkStatus.TODO),
        ("2.3", MarkStatus.TODO),
    ]
    assert plan.details["2"].depends_on == ("1", "2.2", "2.3")
    assert plan.details["2.3"].depends_on == ("2.2",)
    assert plan.problems == ()


def test_what_is_under_way_goes_first_then_by_priority() -> None:
    assert ready(read(PLAN)) == ["2.2", "4", "3"]


def test_each_task_stands_at_its_id_and_its_status() -> None:
    plan = read(PLAN)
    lines = PLAN.split("\n")
    for task in plan.tasks:
        place = plan.span(task)
        assert lines[place.line][place.column : place.end_column].strip('"') == task.id.rpartition(".")[2]
        if task.mark:
            mark = plan.span(task, task.mark)
            assert lines[mark.line][mark.column : mark.end_column] == f'"{task.word}"'


@pytest.mark.parametrize(
    "member",
    [
        r'"title": "say \"status\": \"done\""',
        r'"title": "it ends in \\", "details": "\"id\": 9"',
        '"title": "status"',
        r'"title": "a", "stat\u0075s": "review"',
        '"title": "a", "status": "done"',
        '"title": "a", "more": {"status": "done", "id": 9}',
        '"title": "a", "dependencies": ["a]b"]',
    ],
)
def test_text_that_looks_like_a_key_is_none(member: str) -> None:
    text = f'{{"master": {{"tasks": [{{"id": 1, {member}, "status" :  "deferred"}}]}}}}'
    plan = read(text)
    (task,) = plan.tasks
    assert (task.id, task.mark is not None) == ("1", True)
    place, mark = plan.span(task), plan.span(task, task.mark)
    assert text[place.column : place.end_column] == "1"
    assert text[mark.column : mark.end_column] == '"deferred"'


def test_an_id_of_thousands_of_digits_is_one_like_any_other() -> None:
    long = "7" * 5_000
    plan = read(tagged({"id": long, "title": "a", "status": "pending"}, todo(2, dependencies=[long])))
    assert [task.id for task in plan.tasks] == [long, "2"]
    assert ready(plan) == [long]


def test_a_file_from_before_there_were_tags_is_one_tag() -> None:
    text = json.dumps({"tasks": [todo(1), todo(2, dependencies=[1])], "metadata": {}})
    assert list(units(text)) == ["master"]
    assert ready(read(text)) == ["1"]
    # Other tools have a list of tasks, too.
    assert list(units('{"tasks": [{"label": "build", "command": "make"}]}')) == []


@pytest.mark.parametrize("status", ["review", "deferred", "blocked"])
def test_what_waits_for_a_person_cannot_be_begun(status: str) -> None:
    plan = read(tagged(todo(1, status=status, subtasks=[todo(1)]), todo(2, dependencies=[1])))
    assert ready(plan) == []
    assert plan.details["1"].blockers == (f"a person ({status})",)
    assert plan.details["1.1"].blockers == (f"1 ({status})",)


def test_both_readings_of_a_dependency_on_a_cancelled_task_are_told() -> None:
    plan = read(tagged(todo(1, status="cancelled", subtasks=[todo(1)]), todo(2, dependencies=[1])))
    assert ready(plan) == []
    assert plan.details["2"].blockers == ("cancelled 1",)
    # Nothing is left to do in what was cancelled.
    assert plan.by_id["1.1"].done
    message = (
        "2 waits for 1, which is cancelled; task-master next passes over it, and its core takes that as met"
    )
    assert said(plan) == [("dependency-cancelled", 21, message)]


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([todo(1), todo(1)], "duplicate-task"),
        ([todo(1, status="done", subtasks=[todo(1)])], "status-drift"),
        ([todo(1), todo(2, status="done", dependencies=[1])], "task-ahead"),
        ([todo(1, status="half done")], "marker-unknown"),
        ([todo(1, status=7)], "marker-unknown"),
        ([{"title": "Nameless"}], "task-malformed"),
        (["Just words"], "task-malformed"),
        ([todo(1, dependencies="2")], "task-malformed"),
        ([todo(1, subtasks={})], "task-malformed"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_dropped(tasks: list[Any], code: str) -> None:
    plan = read(tagged(*tasks))
    assert code in [each.code for each in plan.problems]
    assert len(plan.tasks) >= len(tasks)
    assert not all(task.done for task in plan.tasks)


def test_null_is_no_task_and_no_status_is_pending() -> None:
    plan = read(tagged(None, {"id": 1.0, "title": "A", "dependencies": None, "subtasks": None}))
    assert [(task.id, task.status) for task in plan.tasks] == [("1", MarkStatus.TODO)]
    assert plan.problems == ()


def test_dependencies_that_cannot_be_read_hold_a_task_back() -> None:
    assert ready(read(tagged(todo(1, dependencies={"a": 1}), todo(2, dependencies=[["x"]])))) == []


def test_parts_that_are_left_below_a_done_task_come_last() -> None:
    assert ready(read(tagged(todo(1, status="done", subtasks=[todo(1)]), todo(2, priority="low")))) == [
        "2",
        "1.1",
    ]


# ---- edits


def test_a_task_is_done_by_one_word_and_with_its_last_part_the_whole() -> None:
    once = of().edit("tick_tasks", PLAN, (["2.2"],))
    assert once == PLAN.replace('"title": "Index", "status": "pending"', '"title": "Index", "status": "done"')
    twice = of().edit("tick_tasks", once, (["2.3"],))
    assert '{"id": 3, "title": "Backup", "dependencies": ["2.2"], "status": "done"}' in twice
    assert read(twice).by_id["2"].status is MarkStatus.DONE
    assert of().edit("tick_tasks", twice, (["2.3", "2"],)) == twice


def test_a_status_is_set_to_a_word_of_its_tool_alone() -> None:
    text = of().edit("set_status", PLAN, ("4", "review"))
    assert text == PLAN.replace('"title": "Mail", "status": "pending"', '"title": "Mail", "status": "review"')
    with pytest.raises(ValueError, match="is none of pending"):
        of().edit("set_status", PLAN, ("4", "soon"))


@pytest.mark.parametrize("name", ["99", "2.9", "1.1"])
def test_a_task_that_is_not_there_is_not_written(name: str) -> None:
    with pytest.raises(ValueError, match="has no task"):
        of().edit("tick_tasks", PLAN, ([name],))


def test_of_two_tasks_with_one_id_none_is_ticked() -> None:
    with pytest.raises(ValueError, match="more than once"):
        of().edit("tick_tasks", tagged(todo(1), todo(1)), (["1"],))


# ---- damage


def test_a_damaged_file_says_where_and_keeps_the_tags_that_can_be_made_out() -> None:
    text = PLAN.replace('"id": 4, "title"', '"id": 4 "title"')
    problem = KIND.fault(text)
    assert problem
    assert problem.span
    assert (problem.code, problem.span.line) == ("artifact-unreadable", 19)
    assert list(units(text)) == ["master", "later ideas/№1"]
    assert list(units("")) == list(units("[")) == list(units('"master')) == ["master"]


@pytest.mark.parametrize("damage", ["", ","])
def test_of_a_file_with_too_many_tags_none_is_read(damage: str) -> None:
    text = json.dumps({f"t{number}": {"tasks": []} for number in range(MOST_TAGS + 1)})
    text = text[:-1] + damage + text[-1]
    assert tags(text) == (FIRST_TAG,)
    problem = fault(text, FIRST_TAG)
    assert problem is not None
    assert damage or (problem.code, problem.message) == (
        "budget-exceeded",
        "the file has 501 tags; of more than 500 none is read",
    )


def test_a_file_that_is_cut_off_is_never_complete() -> None:
    draw = random.Random(3)
    done = PLAN.replace("pending", "done")
    for text in (PLAN, done):
        for _ in range(300):
            cut = text[: draw.randrange(len(text))]
            for unit in units(cut):
                plan = None if KIND.fault(cut) else of(unit).read(cut)
                assert plan is None or not plan.tasks


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["id", "status", "subtasks", "dependencies", "title", "priority", "tasks"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=30,
    )
)
def test_no_content_raises(value: Any) -> None:
    text = json.dumps({"master": {"tasks": value}, "tasks": value})
    for unit in (*units(text), "tasks"):
        plan = None if of(unit).fault(text) else of(unit).read(text)
        for task in plan.tasks if plan else ():
            assert plan
            assert plan.span(task).line >= 0
