"""Checklists as plans: what waits for what, what is said of odd lines, and what ticking writes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import MarkStatus, Plan, PlanEdit, TaskFile
from phasekeeper.orchestration.plans.schedule import build_schedule

SPEC_KIT = """\
# Tasks: Login

- **[P]**: can run in parallel

## Phase 1: Setup

- [X] T001 Make the project
- [ ] T002 [P] Lint in config/lint.toml
- [ ] T003 [P] Format in config/format.toml
- [ ] T004 Build

## Phase 2: User Story 1 - Log in (Priority: P1)

- [ ] **T005** [P] [US1] Model in src/user.py
- [ ] T006 [US1] Service in src/login.py (depends on T005)

## Phase Dependencies

- [P] tasks = different files
"""


def read(kind: str, text: str) -> Plan:
    plan = DIALECTS[kind].read(text)
    assert plan is not None
    return plan


def waits(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {name: each.depends_on for name, each in plan.details.items() if each.depends_on}


def said(plan: Plan) -> list[tuple[str, int, str]]:
    return [(each.code, each.span.line if each.span else -1, each.message) for each in plan.problems]


def batches(plan: Plan, *, optional: bool = False) -> tuple[tuple[str, ...], ...]:
    stage = next(stage for stage in plan.stages if stage.done < stage.total)
    tasks = [task for task in stage.tasks if not task.done and (optional or not task.optional)]
    found = build_schedule(plan, tasks, lambda task: plan.details.get(task.id, TaskFile()), frozenset(), ())
    return found.batches


# ---- spec-kit


def test_a_range_of_spec_kit_ids_ends_at_no_number_of_thousands_of_digits() -> None:
    long = f"T{'7' * 5_000}000000003"
    plan = read("spec-kit", f"- [ ] T001 a\n- [ ] {long} b\n- [ ] T002 c, depends on T001-{long}\n")
    assert plan.details["T002"].depends_on[:2] == ("T001", long)


def test_a_spec_kit_list_is_its_phases_with_their_tasks() -> None:
    plan = read("spec-kit", SPEC_KIT)
    assert plan.title == "Login"
    assert [(stage.id, stage.title, stage.done, stage.total) for stage in plan.stages] == [
        ("1", "Phase 1: Setup", 1, 4),
        ("2", "Phase 2: User Story 1 - Log in (Priority: P1)", 0, 2),
    ]
    assert [task.id for task in plan.tasks] == ["T001", "T002", "T003", "T004", "T005", "T006"]
    assert plan.problems == ()


def test_parallel_tasks_of_spec_kit_go_together_and_the_next_waits_for_all() -> None:
    plan = read("spec-kit", SPEC_KIT)
    assert batches(plan) == (("T002", "T003"), ("T004",))
    assert waits(plan)["T004"] == ("T002", "T003")
    assert waits(plan)["T006"] == ("T005",)
    assert plan.details["T005"].files == ("src/user.py",)


def test_parallel_tasks_that_name_one_file_are_not_done_at_once() -> None:
    text = "- [ ] T001 [P] Write src/a.py\n- [ ] T002 [P] Test src/a.py\n- [ ] T003 [P] Write src/b.py\n"
    assert batches(read("spec-kit", text)) == (("T001", "T003"), ("T002",))


def test_a_range_of_dependencies_is_each_of_them() -> None:
    text = "".join(f"- [x] T00{n} a\n" for n in (1, 2, 3)) + "- [ ] T004 b (depends on T001-T003, T009)\n"
    assert waits(read("spec-kit", text))["T004"] == ("T001", "T002", "T003", "T009")
    assert waits(read("spec-kit", "- [ ] T004 b (depends on T003-T001)\n"))["T004"] == ("T003", "T001")


def test_a_task_that_waits_for_a_later_one_makes_no_circle() -> None:
    text = "- [ ] T001 a (depends on T003)\n- [ ] T002 b\n- [ ] T003 c\n"
    assert waits(read("spec-kit", text)) == {"T001": ("T003",), "T003": ("T002",)}


def test_a_task_that_is_done_before_what_it_depends_on_is_told_at_its_words() -> None:
    plan = read("spec-kit", "- [ ] T001 a\n- [x] T002 b (depends on T001)\n")
    assert said(plan) == [("task-ahead", 1, "T002 is done, but it depends on T001")]
    assert plan.problems[0].span == (1, 14, 1, 29)


def test_headings_that_are_no_phases_are_stages_of_their_own_names() -> None:
    text = "# T\n## Phase N: Polish\n- [ ] T001 a\n### Sub\n- [ ] T002 b\n"
    text += "## フェーズ 2\n- [ ] T003 c\n## Polish\n- [ ] d\n"
    plan = read("spec-kit", text)
    assert [(s.id, [t.id for t in s.tasks]) for s in plan.stages] == [
        ("phase-n-polish", ["T001", "T002"]),
        ("2", ["T003"]),
        ("polish", ["d"]),
    ]


def test_tasks_without_an_id_are_called_by_their_words_and_stay_apart() -> None:
    plan = read("spec-kit", "- [ ] Add the login form\n- [x] Add the login form\n- [ ] \n- [ ] 任務\n")
    assert [task.id for task in plan.tasks] == [
        "add-the-login-form",
        "add-the-login-form-2",
        "untitled",
        "任務",
    ]


def test_of_a_line_that_stands_twice_the_open_one_counts() -> None:
    plan = read("spec-kit", "- [x] T001 a\n- [ ] T001 a\n")
    assert not plan.by_id["T001"].done
    assert said(plan) == [
        (
            "duplicate-task",
            1,
            "T001 stands in line 1 already; one is ticked and one is not, so it counts as not done",
        )
    ]


# ---- OpenSpec


def test_what_openspec_makes_of_an_odd_line_is_said_at_the_line() -> None:
    text = (
        "- ✅ 1.1 a\n- [✅] 1.2 b\n- [done] 1.3 c\n- [ ] ~~1.4 d~~\n- [P] legend\n- [?] 1.5 e\n1. [x] 1.6 f\n"
    )
    plan = read("openspec", text)
    assert [(task.id, task.status.value) for task in plan.tasks] == [
        ("1.1", "done"),
        ("1.2", "done"),
        ("1.3", "done"),
        ("1.4", "cancelled"),
        ("1.5", "unknown"),
        ("1.6", "done"),
    ]
    assert [(code, line, message.partition("; ")[2]) for code, line, message in said(plan)] == [
        ("task-malformed", 0, "OpenSpec does not see this line"),
        ("task-malformed", 1, "OpenSpec counts it as open"),
        ("task-malformed", 2, "OpenSpec does not see this line"),
        ("task-malformed", 3, "OpenSpec counts it as open"),
        ("marker-unknown", 5, "the task counts as not done"),
    ]
    assert (sum(s.done for s in plan.stages), sum(s.total for s in plan.stages)) == (4, 5)


def test_a_number_below_another_group_is_told() -> None:
    plan = read("openspec", "## 1. A\n- [ ] 1.1 a\n## 2. B\n- [ ] 1.2 b\n- [ ] 2.1 c\n")
    assert [(code, line) for code, line, _ in said(plan)] == [("task-malformed", 3)]


def test_a_number_in_a_sentence_is_no_id() -> None:
    plan = read("openspec", "- [ ] 3 retries\n- [ ] 2.x branch\n- [ ] 1.10 a\n- [ ] 4) b\n- [ ] 5.1创建\n")
    assert [task.id for task in plan.tasks] == ["3-retries", "2-x-branch", "1.10", "4", "5.1"]


def test_a_row_of_a_table_is_a_task() -> None:
    plan = read(
        "openspec", "| # | Task | Done |\n|---|---|---|\n| T1 | Write it | ☑ |\n| T2 | Read it | ☐ |\n"
    )
    assert [(task.id, task.title, task.done) for task in plan.tasks] == [
        ("T1", "Write it", True),
        ("T2", "Read it", False),
    ]


# ---- Kiro and cc-sdd

KIRO = """\
# Implementation Plan

- [ ] 1. Build the model
  - [x] 1.1 Define it
    - _Requirements: 1.1, 2.3_
  - [ ] 1.2 Store it
- [ ]* 1.3 Test it by properties
- [ ] 2. Checkpoint
- [ ] 3. Show it
- [ ] 3.1 List
"""


def test_a_parent_waits_for_what_is_required_below_it_and_is_not_next_before() -> None:
    plan = read("kiro", KIRO)
    assert waits(plan) == {"1": ("1.2",), "2": ("1.2",), "3": ("3.1",), "3.1": ("2",)}
    assert batches(plan) == (("1.2",), ("1", "2"), ("3.1",), ("3",))
    assert [task.id for task in plan.tasks if task.optional] == ["1.3"]
    assert (plan.stages[0].done, plan.stages[0].total) == (1, 6)


def test_ticking_the_last_required_part_ticks_what_is_above_it() -> None:
    ticked = DIALECTS["kiro"].edit("tick_tasks", KIRO, (["1.2"],))
    assert ticked == KIRO.replace("- [ ] 1.2", "- [x] 1.2").replace("- [ ] 1. ", "- [x] 1. ")


def test_parallel_tasks_and_dependencies_of_cc_sdd_are_followed() -> None:
    text = (
        "- [ ] 1.1 (P) a\n- [ ] 1.2 b (P)\n- [ ] 1.3 c\n  - _Depends: 1.1_\n- [ ] 1.4 d\n  - _Depends: 9.9_\n"
    )
    plan = read("kiro", text)
    assert batches(plan)[:2] == (("1.1", "1.2"), ("1.3",))
    assert waits(plan)["1.4"] == ("9.9", "1.3")
    assert plan.details["1.4"].depends_span == (5, 4, 5, 18)


def graph(*waves: list[str]) -> str:
    return '\n## Task Dependency Graph\n\n```json\n{"waves": ' + str([*waves]).replace("'", '"') + "}\n```\n"


def test_waves_are_followed_where_they_name_every_task() -> None:
    text = "- [ ] 1. a\n- [ ] 2. b\n- [ ] 3. c\n"
    assert batches(read("kiro", text + graph(["1", "3"], ["2"]))) == (("1", "3"), ("2",))


def test_waves_may_name_a_parent_for_its_parts_and_what_is_done_waits_for_nothing() -> None:
    text = "- [ ] 1. a\n- [ ] 1.1 b\n- [x] 1.2 c\n- [ ] 2. d\n"
    assert waits(read("kiro", text + graph(["2"], ["1"]))) == {"1": ("1.1",), "1.1": ("2",)}


@pytest.mark.parametrize("said", ['{"waves": [', '{"waves": 1}', '["waves"]', '{"waves": [{"tasks": 1}]}'])
def test_a_graph_that_cannot_be_read_says_nothing(said: str) -> None:
    text = f"- [ ] 1. a\n- [ ] 2. b\n\n```json\n{said}\n```\n"
    assert (batches(read("kiro", text)), read("kiro", text).problems) == ((("1",), ("2",)), ())


def test_headings_of_one_text_are_stages_apart_and_of_one_number_are_one() -> None:
    plan = read(
        "kiro", "# A\n- [ ] a\n# A\n- [ ] b\n## Phase 1\n- [ ] c\n# B\n- [ ] d\n## Phase 1\n- [ ] e\n"
    )
    assert [(s.id, [t.id for t in s.tasks]) for s in plan.stages] == [
        ("a", ["a"]),
        ("a-2", ["b"]),
        ("1", ["c", "e"]),
        ("b", ["d"]),
    ]


def test_a_graph_that_leaves_a_checkpoint_out_gives_way_to_the_numbers() -> None:
    text = "- [x] 1. build\n- [ ] 2. Checkpoint - tests pass\n- [ ] 3. next layer\n" + graph(
        ["1"], ["3"], ["9"]
    )
    plan = read("kiro", text)
    assert batches(plan) == (("2",), ("3",))
    late = "2 is in no wave of the graph, so Kiro does it last; the order of numbers counts"
    assert [(code, message) for code, _, message in said(plan)] == [
        ("task-malformed", late),
        ("dangling-dependency", "the graph names 9, no task of this list; the order of numbers counts"),
    ]
    line = plan.problems[1].span
    assert line
    assert text.splitlines()[line.line][line.column : line.end_column] == "9"


def test_a_parent_that_is_ticked_over_open_required_parts_is_drift_and_over_optional_ones_is_not() -> None:
    plan = read("kiro", "- [x] 1. a\n- [ ] 1.1 b\n- [x] 2. c\n- [ ]* 2.1 d\n")
    assert said(plan) == [("status-drift", 0, "1 is ticked, but 1.1 below it is open")]
    assert [(task.id, task.done) for task in plan.tasks] == [
        ("1", True),
        ("1.1", False),
        ("2", True),
        ("2.1", False),
    ]


def test_a_summary_with_emojis_repeats_boxes_and_lines_without_boxes_are_tasks() -> None:
    assert [t.id for t in read("kiro", "- [x] 1.1 a\n## Summary\n- ✅ 1.1 a\n- ✅ All is well\n").tasks] == [
        "1.1"
    ]
    text = "- [x] 1.1 a\n\n| 1.1 | a | ✅ |\n| 1.2 | b | ✅ |\n"
    assert [t.id for t in read("kiro", text).tasks] == ["1.1"]
    text = "- [x] T001 a\n\n| T001 | a | ✅ |\n| T002 | b | ☐ |\n| 1.2 | b | ✅ |\n"
    assert [t.id for t in read("spec-kit", text).tasks] == ["T001", "T002"]
    assert [t.done for t in read("kiro", "- ✅ 1.1 a\n- ⏳ 1.2 b\n").tasks] == [True, False]


# ---- what holds for all

KINDS = ("spec-kit", "openspec", "kiro")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_without_a_task_is_no_list(kind: str) -> None:
    assert DIALECTS[kind].read("# Tasks\n\nNothing here\n- [P] legend\n") is None


@pytest.mark.parametrize("kind", KINDS)
def test_merge_marks_are_told_and_both_sides_are_read(kind: str) -> None:
    plan = read(kind, "<<<<<<< ours\n- [x] a\n=======\n- [ ] b\n>>>>>>> theirs\n")
    assert [(task.title, task.done) for task in plan.tasks] == [("a", True), ("b", False)]
    assert [(each.code, each.span and each.span.line) for each in plan.problems] == [
        ("artifact-unreadable", 0)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ticking_changes_the_characters_in_the_boxes_and_no_other_byte(kind: str, end: str) -> None:
    text = "\ufeff" + end.join(["# 計画", "", "1.  [ ] a  ", "\t* [ ]b", "- ☐ x", "- [-] c"])
    plan = read(kind, text)
    mark = DIALECTS[kind].mark_of[MarkStatus.DONE]
    ticked = DIALECTS[kind].edit("tick_tasks", text, ([task.id for task in plan.tasks],))
    assert ticked == text.replace("[ ]", f"[{mark}]").replace("☐", "☑").replace("[-]", f"[{mark}]")
    assert all(task.done for task in read(kind, ticked).tasks)
    assert read(kind, ticked).substance == plan.substance


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_what_is_not_there_is_refused(kind: str) -> None:
    edit: Callable[..., str] = DIALECTS[kind].edit
    for name, arguments, said in (
        (PlanEdit.TICK_TASKS, (["zz"],), "no task zz"),
        (PlanEdit.SET_STATUS, ("zz", "x"), "no task zz"),
        (PlanEdit.SET_STATUS, ("a", "%"), "`%` is none of"),
        (PlanEdit.CHECK_TASKS, ("9",), "no stage 9"),
    ):
        with pytest.raises(ValueError, match=said):
            edit(name, "- [ ] a\n", arguments)
    with pytest.raises(ValueError, match="holds no task"):
        edit(PlanEdit.TICK_TASKS, "words\n", (["a"],))
    assert edit(PlanEdit.CHECK_TASKS, "- [ ] a\n- [ ]* b\n", ("tasks",)).count("[ ]") == 1
    assert edit(PlanEdit.SET_STATUS, "- [x] a\n", ("a", "[ ]")) == "- [ ] a\n"


TEXTS = st.lists(
    st.sampled_from(
        [
            "- [ ] T001 a\n",
            "- [x] T001 b\n",
            "- [ ] 1. c\n",
            "  - [x] 1.1 d\n",
            "- [ ]* 1.2 e\n",
            "- [?] f\n",
            "## Phase 1\n",
            "## 1. One\n",
            "```\n",
            "- ✅ 1.3 g\n",
            "| 2.1 | h | [ ] |\n",
            "- [N/A] i\n",
            "  - _Depends: 1.1, 8_\n",
            "# T\n",
            "- [ ] T002 [P] j (depends on T001)\n",
            "<<<<<<< x\n",
            '```json\n{"waves": [["1"], ["2", 3]]}\n```\n',
            "words\n",
            "- [ ] ~~T003 k~~\n",
            "\r\n",
            "\ufeff",
            "\0",
        ]
    ),
    max_size=25,
)


@given(TEXTS, st.sampled_from(KINDS))
def test_a_plan_is_total_its_places_hold_and_ticking_all_completes_it(pieces: list[str], kind: str) -> None:
    text = "".join(pieces)
    plan = DIALECTS[kind].read(text)
    if plan is None:
        return
    lines = [line.rstrip("\r") for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")]
    for task in plan.tasks:
        span = plan.span(task, task.mark)
        assert lines[span.line][span.column : span.end_column]
    assert sum(stage.total for stage in plan.stages) <= len(plan.tasks)
    wanted = [task.id for task in plan.tasks if not task.done]
    done = read(kind, DIALECTS[kind].edit("tick_tasks", text, (wanted,)))
    assert all(task.done for task in done.tasks)
    assert [task.id for task in done.tasks] == [task.id for task in plan.tasks]


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_cut_at_any_byte_is_never_complete_by_it(kind: str) -> None:
    """What is cut off may hold work: a list that was not complete is complete only if what is left was."""
    whole = (SPEC_KIT + KIRO + "- [x] 9.9 é 任務\n").encode()
    draw = random.Random(7)
    for _ in range(300):
        cut = draw.randrange(len(whole))
        plan = DIALECTS[kind].read(whole[:cut].decode("utf-8", "replace"))
        if plan is not None and all(stage.is_complete for stage in plan.stages):
            assert b"[ ]" not in whole[:cut].rpartition(b"\n")[0].replace(b"[ ]*", b"")


# ---- agent-os and spec-workflow


def test_numbers_from_zero_are_wholes_too_and_ticking_the_last_part_ticks_the_whole() -> None:
    text = "- [ ] 1. a\n  - [x] 1.1 b\n  - [ ] 1.2 c\n- [ ] 2.0 d\n  - [ ] 2.1 e\n"
    plan = read("agent-os", text)
    assert waits(plan) == {"1": ("1.2",), "2.1": ("1.2",), "2.0": ("2.1",)}
    assert DIALECTS["agent-os"].edit("tick_tasks", text, (["1.2"],)) == text.replace("[ ] 1", "[x] 1")


@pytest.mark.parametrize(
    "note", ["⚠️ Blocking issue: no key", "  ⚠️ **Blocking issue:** no key", "**Blocked**: no key"]
)
def test_a_blocking_issue_of_agent_os_waits_for_a_person(note: str) -> None:
    plan = read("agent-os", f"- [ ] 1. a\n  {note}\n- [x] 2. b\n  {note}\n")
    assert [plan.details[name].blockers for name in ("1", "2")] == [("a person (blocking issue)",), ()]


def test_spec_workflow_marks_what_is_under_way_and_what_is_blocked() -> None:
    plan = read("spec-workflow", "- [-] 1. a\n- [~] 2. b\n- [ ] 3. c\n  - _Blocked: no key_\n")
    statuses = [task.status for task in plan.tasks]
    assert statuses == [MarkStatus.IN_PROGRESS, MarkStatus.BLOCKED, MarkStatus.TODO]
    assert [each.blockers for each in plan.details.values()] == [
        (),
        ("a person (it is blocked)",),
        ("a person (no key)",),
    ]
    assert plan.problems == ()


@pytest.mark.parametrize("line", ["- [X] 1. a", "+ [ ] 1. a", "1. [ ] 1.1 a", "- [ ] no number"])
def test_a_line_that_spec_workflow_loses_is_a_task_and_told(line: str) -> None:
    assert [each.code for each in read("spec-workflow", line).problems] == ["task-malformed"]


@pytest.mark.parametrize("kind", ["agent-os", "spec-workflow"])
def test_a_part_that_is_open_below_a_ticked_whole_is_told(kind: str) -> None:
    plan = read(kind, "- [x] 1. a\n  - [ ] 1.1 b\n")
    assert said(plan) == [("status-drift", 0, "1 is ticked, but 1.1 below it is open")]


def test_a_task_that_is_ticked_before_what_it_depends_on_is_told_where_it_says_so() -> None:
    plan = read("kiro", "- [ ] 1. a\n- [x] 2. b\n  - _Depends: 1_\n")
    assert [(code, line) for code, line, _ in said(plan)] == [("task-ahead", 2)]
