"""A plan that is read after another one is the plan that its text says, and costs what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.master_plan import plan_text
from phasekeeper.orchestration.plans.master_plan.reader import read
from phasekeeper.orchestration.plans.master_plan.rows import TaskRows
from phasekeeper.orchestration.plans.model import Plan

STAGES = 8


def stage(number: int, tasks: int = 3) -> str:
    rows = "".join(
        f"| {n} | shop-{number}{n} | `{number}{n}-a.md` | Work {n} | test | [ ] |\n" for n in range(tasks)
    )
    head = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"
    return f"## Phase {number}: Part {number}\n\n{head}{rows}\n"


SUMMARY = "## Progress Summary\n\n| Phase | Status | Tasks |\n|---|---|---|\n" + "".join(
    f"| Phase {n} | [ ] | {n % 4}/3 |\n" for n in range(1, STAGES + 1)
)
REFERENCE = (
    "## Quick Reference\n\n```\n" + "".join(f" {n}. shop-{n}1  x  [x]\n" for n in range(1, 4)) + "```\n"
)
PLAN = (
    f"# Shop - Master Plan\n\n**Status**: [x] Planning | [ ] Complete\n\n{SUMMARY}\n"
    + "".join(map(stage, range(1, STAGES + 1)))
    + f"## Exit Criteria\n\n- [ ] all works\n\n{REFERENCE}\n**Progress**: 1/24 tasks complete (4%)\n"
)
# What reaches over the end of a section, or could be taken for something that does.
PIECES = [
    "```\n", "~~~\n", "   ```\n", "<!-- ", "-->\n", "<!DOCTYPE ", "<?\n", "<pre>\n", "</pre>\n", "<div>\n",
    "<script>\n", "<![CDATA[\n", "]]>\n", "> quoted\n", "- item\n", "1. item\n", "    code\n",
    "===\n", "---\n",
    "\n", "\n\n", "\r\n", "\r", "\ufeff", "\f", "`", "~~", "|", "#", "\n\n### Below\n\n",
    "\n\n## Phase 2: Again\n\n",
    "\n\n# Title\n\n", "  ## Indented\n", "\n\nSetext\n---\n\n", "[shop]: http://shop 'a\n", "[shop][shop] ",
    "<<<<<<< ours\n", ">>>>>>> theirs\n", "| Task ID | File | Status |\n|---|---|---|\n",
    "| shop-11 | `x.md` | [x] |\n", "[x]", "[ ]", "[?]", "**Progress**: 2/2\n",
    "**Status**: Complete\n", "Phase",
    "- [ ] a box\n", stage(2, 1), stage(11, 2), SUMMARY, REFERENCE, "---\ntitle: a\n\n# front\n---\n",
]  # fmt: skip
PLACES = st.floats(0, 1, exclude_max=True)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), PLACES, st.sampled_from(PIECES)),
        st.tuples(st.just("insert in a line of its own"), PLACES, st.sampled_from(PIECES)),
        st.tuples(st.just("remove"), PLACES, st.integers(1, 200)),
        st.tuples(st.just("forget"), PLACES, st.just("")),
    ),
    min_size=1,
    max_size=8,
)


def edited(text: str, kind: str, place: float, what: str | int) -> str:
    at = int(place * (len(text) + 1))
    if kind == "insert in a line of its own":
        at = text.find("\n", at) + 1
    return text[:at] + text[at + what :] if isinstance(what, int) else text[:at] + what + text[at:]


def all_of(plan: Plan | None) -> object:
    """A plan with what is looked up in it."""
    return plan and (plan, dict(plan.by_id), dict(plan.names), [*map(plan.span, plan.tasks)])


@given(EDITS)
def test_a_plan_read_after_any_other_is_the_plan_read_alone_and_in_one_piece(edits) -> None:
    text, before = PLAN, read(PLAN)
    for kind, place, what in edits:
        text = edited(text, kind, place, what)
        alone = read(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan_text, "split_sections", lambda whole: [whole])
            in_one_piece = read(text)
        again = read(text, before)
        assert all_of(again) == all_of(alone) == all_of(in_one_piece)
        before = None if kind == "forget" else again


class Work:
    """Counts the sections and the stages that are read."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sections, self.stages = list[str](), list[str]()
        read_section, read_rows = plan_text.read_section, TaskRows.read

        def section(text: str, is_last: bool):
            self.sections.append(text.partition("\n")[0])
            return read_section(text, is_last)

        def rows(self_: TaskRows, tables, stage: str):
            self.stages.append(stage)
            return read_rows(self_, tables, stage)

        patch.setattr(plan_text, "read_section", section)
        patch.setattr(TaskRows, "read", rows)


@pytest.mark.parametrize(
    ("old", "new", "sections", "stages"),
    [
        ("| 1 | shop-41 |", "| 1 | shop-99 |", ["## Phase 4: Part 4"], ["4"]),
        ("\n\n## Progress", "\n\nwords\n\nmore words\n\n## Progress", ["# Shop - Master Plan"], []),
        (stage(3), "", [], []),
        (stage(3), stage(3) + stage(9), ["## Phase 9: Part 9"], ["9"]),
        ("## Phase 5: Part 5", "## Phase 55: Part 5", ["## Phase 55: Part 5"], ["55"]),
        ("1/24", "2/24", ["## Quick Reference"], []),
    ],
)
def test_an_edit_costs_the_sections_that_it_changes(monkeypatch, old, new, sections, stages) -> None:
    before, work = read(PLAN), Work(monkeypatch)
    assert old in PLAN
    after = read(PLAN.replace(old, new), before)
    assert after is not None
    assert (work.sections, work.stages) == (sections, stages)
    assert read(PLAN.replace(old, new), after) == after
    assert (work.sections, work.stages) == (sections, stages)


def test_sections_with_the_same_text_are_read_once_and_stand_in_both_places(monkeypatch) -> None:
    alike = "## Notes\n\n- [ ] later\n\n"
    text = f"# Plan\n\n{alike}{stage(1)}{alike}{stage(2)}"
    work = Work(monkeypatch)
    plan = read(text)
    assert plan is not None
    assert sorted(work.sections) == ["# Plan", "## Notes", "## Phase 1: Part 1", "## Phase 2: Part 2"]
    monkeypatch.setattr(plan_text, "split_sections", lambda whole: [whole])
    assert plan == read(text)
    assert [each.span.line for each in plan.stages] == [6, 18]


def test_a_name_that_tasks_of_two_stages_share_means_neither() -> None:
    plan = read(stage(1) + stage(2).replace("shop-21", "other-11").replace("21-a", "21-b"))
    assert plan is not None
    assert plan.names["shop-11"] == "shop-11"
    assert plan.names["21-b"] == "other-11"
    assert "11" not in plan.names


def test_a_stage_that_moves_keeps_its_tasks_and_their_places_follow() -> None:
    before = read(PLAN)
    moved = read(f"words\n\n\n{PLAN}", before)
    assert before is not None and moved is not None
    assert all(old.tasks is new.tasks for old, new in zip(before.stages, moved.stages, strict=True))
    for task in moved.tasks:
        line = before.span(task).line + 3
        assert moved.span(task).line == line
        assert list(moved.tasks_at(line)) == [task]


def test_what_is_kept_of_a_plan_is_what_it_was_read_from_and_no_more() -> None:
    plan = read(PLAN)
    for number in range(5):
        plan = read(PLAN.replace("shop-41", f"shop-9{number}"), plan)
    last = read(PLAN.replace("shop-41", "shop-94"))
    assert plan is not None and last is not None
    assert len(plan.memory) == len(last.memory)
