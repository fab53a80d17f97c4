"""Task files of Backlog.md as one plan: front matter as people write it, ids, ends, and what is written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import MarkStatus, Plan
from phasekeeper.orchestration.plans.records.task_document import read_document

PARTS = DIALECTS["backlog"].parts
CONFIG = 'statuses: ["To Do", "In Progress", "Done"]\n'


def combined(**files: str) -> Plan | None:
    """The plan of files by their names in tasks/; `config` is the configuration."""
    assert PARTS
    texts = {
        "config.yml": files.pop("config", CONFIG),
        **{f"tasks/{name}.md": text for name, text in files.items()},
    }
    return PARTS.combine({path: PARTS.read(path, text) for path, text in texts.items()})


def plan_of(**files: str) -> Plan:
    plan = combined(**files)
    assert plan
    return plan


def front(**fields: str) -> str:
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in fields.items()) + "---\n"


def edited(name: str, texts: Mapping[str, str], *arguments: object) -> Mapping[str, str]:
    assert PARTS
    return PARTS.edit(name, texts, arguments)


@pytest.mark.parametrize(
    ("line", "title", "faults"),
    [
        ("title: Pay: by card", "Pay: by card", 1),
        ("title: 'Pay: by card'", "Pay: by card", 0),
        ("title: 'It''s paid'", "It's paid", 0),
        ("title: 'It's paid'", "It's paid", 1),
        ("title: >-\n  Pay\n  by card", "Pay by card", 0),
        ("title: Pay # soon", "Pay", 0),
        ("title: @home", "@home", 1),
        ("assignee: @ann", "", 0),
    ],
)
def test_a_front_matter_is_read_as_it_was_meant(line: str, title: str, faults: int) -> None:
    document = read_document(f"---\r\nid: a-1\r\n{line}\r\n---\r\n".replace("\n  ", "\r\n  "))
    assert (document.text("id"), document.text("title"), len(document.faults)) == ("a-1", title, faults)


@pytest.mark.parametrize("listed", ["[a-1, 'a-2']", "\n  - a-1\n  - a-2", "\n- a-1\n- 'a-2'"])
def test_lists_are_written_in_two_ways(listed: str) -> None:
    assert read_document(f"---\ndependencies: {listed}\n---\n").values("dependencies") == ("a-1", "a-2")


def test_only_criteria_are_counted() -> None:
    criteria = "## Acceptance Criteria\n- [x] #1 a\n- [ ] #2 b\n## Definition of Done\n- [ ] c\n"
    text = f"---\nid: a\n---\n## Plan\n- [ ] x\n{criteria}"
    document = read_document(text)
    assert (document.criteria, document.open_criteria) == (3, 2)


def test_the_last_status_is_the_end_and_what_says_done_is_done() -> None:
    config = 'statuses:\n  - "To Do"\n  - Done\n  - Wontfix\n'
    plan = plan_of(
        config=config,
        a=front(id="a-1", status="done"),
        b=front(id="a-2", status="wont-fix"),
        c=front(id="a-3", status="to do"),
    )
    assert [task.status for task in plan.tasks] == [MarkStatus.DONE, MarkStatus.CANCELLED, MarkStatus.TODO]


def test_ids_are_compared_without_case_and_zeros() -> None:
    plan = plan_of(
        a=front(id="TASK-007", status="To Do"), b=front(id="task-8", status="To Do", dependencies="[Task-7]")
    )
    assert plan.details["task-8"].depends_on == ("TASK-007",)


def test_a_part_waits_for_nothing_and_the_whole_for_its_parts() -> None:
    plan = plan_of(
        a=front(id="t-1", status="Done"),
        b=front(id="t-1.1", status="To Do"),
        c=front(id="t-9", status="To Do", parent_task_id="T-1"),
    )
    assert plan.details["t-1"].depends_on == ("t-1.1", "t-9")
    assert [each.code for each in plan.details["t-1"].problems] == ["status-drift"]


def test_a_file_that_is_no_task_is_none_and_one_without_front_matter_is() -> None:
    plan = combined(README="# Notes\n", **{"task-4 - Later": "# Later\n"})
    assert plan
    assert [(task.id, task.done) for task in plan.tasks] == [("task-4", False)]
    assert [each.code for each in plan.details["task-4"].problems] == ["task-unreadable"]
    assert combined(README="# Notes\n") is None


def test_a_file_that_cannot_be_read_is_work_that_is_not_done() -> None:
    assert PARTS
    plan = PARTS.combine({"config.yml": None, "tasks/task-4 - a.md": None})
    assert plan
    assert [(task.id, task.status) for task in plan.tasks] == [("task-4", MarkStatus.UNKNOWN)]


# ---- edits

TEXTS = {
    "config.yml": CONFIG,
    "tasks/a.md": "\ufeff---\r\nid: A-1\r\nstatus: 'To Do'\r\n---\r\nText\r\n",
    "tasks/b.md": "---\nid: A-2\n---\n",
    "tasks/c.md": "---\nid: A-3\nstatus: Done\n---\n",
}


def test_a_status_is_one_word_and_nothing_else_changes() -> None:
    assert edited("tick_tasks", TEXTS, ["a-01", "A-3"]) == {
        "tasks/a.md": "\ufeff---\r\nid: A-1\r\nstatus: 'Done'\r\n---\r\nText\r\n"
    }
    assert edited("tick_tasks", TEXTS, ["A-2"]) == {"tasks/b.md": "---\nid: A-2\nstatus: Done\n---\n"}
    assert edited("set_status", TEXTS, "A-3", "in-progress") == {
        "tasks/c.md": "---\nid: A-3\nstatus: In Progress\n---\n"
    }


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("tick_tasks", (["A-9"],), "there is no task A-9"),
        ("set_status", ("A-1", "Soon"), "is none of To Do, In Progress, Done"),
        ("check_tasks", ("tasks",), "have no edit"),
    ],
)
def test_what_cannot_be_written_is_refused(name: str, arguments: tuple[object, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        edited(name, TEXTS, *arguments)


def test_of_two_files_with_one_id_none_is_written() -> None:
    texts = {**TEXTS, "tasks/d.md": "---\nid: a-1\n---\n"}
    with pytest.raises(ValueError, match="nobody can tell"):
        edited("tick_tasks", texts, ["a-01"])


@given(st.text(alphabet="-: \n#[]'\"idstausTo@,x", max_size=80))
def test_no_content_raises(text: str) -> None:
    plan = plan_of(**{"task-1 - a": text, "b": f"---\n{text}\n---\n"} | {"task-2": "---\nid: task-2\n---\n"})
    assert {"task-1", "task-2"} <= {task.number for task in plan.tasks} | {
        task.file[6:12] for task in plan.tasks
    }
