"""issues.jsonl of beads as a plan: what is work, what blocks what, where each issue stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import MarkStatus, Plan

READ = DIALECTS["beads"].read


def issue(name: str, status: str = "open", *needs: tuple[str, str], **more: Any) -> str:
    listed = [{"issue_id": name, "depends_on_id": other, "type": kind} for other, kind in needs]
    return json.dumps({"id": name, "title": name.upper(), "status": status, "dependencies": listed, **more})


def plan_of(*lines: str) -> Plan:
    plan = READ("\n".join(lines) + "\n")
    assert plan is not None
    return plan


def waits(plan: Plan, name: str) -> tuple[str, ...]:
    return (*plan.details[name].depends_on, *plan.details[name].blockers)


def codes(plan: Plan) -> list[tuple[str, int]]:
    return [(each.code, each.span.line if each.span else -1) for each in plan.problems]


@pytest.mark.parametrize("kind", ["blocks", "conditional-blocks", "waits-for"])
def test_some_dependencies_block(kind: str) -> None:
    assert waits(plan_of(issue("a"), issue("b", "open", ("a", kind))), "b") == ("a",)


@pytest.mark.parametrize("kind", ["related", "discovered-from", "tracks", "validates"])
def test_others_are_remarks(kind: str) -> None:
    assert waits(plan_of(issue("a"), issue("b", "open", ("a", kind))), "b") == ()


def test_a_part_waits_for_what_its_whole_waits_for_and_not_for_the_whole() -> None:
    lines = (
        issue("e", "open", ("a", "blocks"), ("external:x:y", "blocks")),
        issue("p", "open", ("e", "parent-child")),
        issue("a"),
    )
    plan = plan_of(*lines)
    assert waits(plan, "p") == ("a", "external:x:y")
    assert waits(plan, "e") == ("a", "p", "external:x:y")


def test_a_whole_that_is_put_off_holds_its_parts() -> None:
    plan = plan_of(issue("e", "deferred"), issue("e.1"), issue("e.1.1"))
    assert waits(plan, "e.1") == ("e.1.1", "e (deferred)")
    assert waits(plan, "e.1.1") == ("e (deferred)",)


def test_parents_in_a_circle_end() -> None:
    plan = plan_of(issue("a", "open", ("b", "parent-child")), issue("b", "open", ("a", "parent-child")))
    assert {task.id for task in plan.tasks} == {"a", "b"}


def test_other_clients_name_what_blocks_by_id() -> None:
    line = json.dumps({"id": "b", "status": "open", "dependencies": [{"id": "a"}, "odd", {"id": 3}]})
    assert waits(plan_of(issue("a"), line), "b") == ("a",)


def test_of_one_id_the_newest_line_counts() -> None:
    old, new = issue("a", "open", updated_at="2026-01"), issue("a", "closed", updated_at="2026-02")
    for lines in ((old, new), (new, old)):
        plan = plan_of(*lines)
        assert [task.status for task in plan.tasks] == [MarkStatus.DONE]
        assert codes(plan) == [("duplicate-task", 1)]


def test_each_issue_stands_at_its_id_and_its_status() -> None:
    lines = [issue("a-1", description='says "id": "x" and "status": "y"'), issue("a-2", "closed")]
    plan = plan_of(*lines)
    for task in plan.tasks:
        assert task.mark
        places = plan.span(task), plan.span(task, task.mark)
        assert [lines[at.line][at.column : at.end_column].strip('"') for at in places] == [task.id, task.word]


def test_what_nobody_works_on_is_no_work_and_a_word_of_nobody_is_not_done() -> None:
    plan = plan_of(
        issue("a", issue_type="message"), issue("b", ephemeral=True), issue("c", "pinned"), issue("d", "soon")
    )
    assert [task.optional for task in plan.tasks] == [True, True, True, False]
    assert plan.by_id["d"].status is MarkStatus.UNKNOWN
    assert codes(plan) == [("marker-unknown", 3)]


def test_a_whole_that_is_closed_before_its_parts_is_told() -> None:
    assert codes(plan_of(issue("a", "closed"), issue("a.1"))) == [("status-drift", 0)]


def test_nothing_to_read_is_no_plan() -> None:
    assert READ("\n \n") is None
    assert READ('{"id": "a", "status": "tombstone"}\n') is None


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["id", "status", "dependencies", "priority", "issue_type", "created_at", "title"]
            ),
            st.none()
            | st.booleans()
            | st.integers()
            | st.text(max_size=4)
            | st.lists(
                st.dictionaries(
                    st.sampled_from(["id", "type", "depends_on_id"]), st.none() | st.text(max_size=3)
                ),
                max_size=3,
            ),
        ),
        max_size=5,
    ),
    st.integers(0, 200),
)
def test_no_content_raises_and_a_line_that_is_cut_is_not_done(lines: list[dict[str, Any]], cut: int) -> None:
    text = "\n".join(map(json.dumps, lines))[:cut]
    plan = READ(text)
    for task in plan.tasks if plan else ():
        assert plan
        assert plan.span(task).line <= text.count("\n")
