"""Edits of master plans: all places change at once, and nothing else does."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.master_plan.edits import (
    append_stage,
    check_tasks,
    new_task_files,
    new_tasks,
    set_status,
    sync_summaries,
)
from phasekeeper.orchestration.plans.master_plan.reader import read
from phasekeeper.orchestration.plans.master_plan.rows import MARKS
from phasekeeper.orchestration.plans.master_plan.task_file import draft_task, read_task
from phasekeeper.orchestration.plans.model import Plan

PLAN = """\
# Shop - Master Plan

**Status**: [ ] Planning | [x] In Progress | [ ] Complete
**Total Tasks**: 3 (one a test)

## Progress Summary

| Phase            | Status | Tasks | Effort |
|------------------|--------|-------|--------|
| Phase 1: Core    | `[ ]`  |     2 | 3h     |
| Phase 2: Shell   | [ ]    |     1 | 2h     |
| **Total**        |        |     3 | 5h     |

---

## Phase 1: Core

| Order | Task ID | File | Description | Type | Status |
|-------|---------|------|-------------|------|--------|
| 1 | shop-01 | `01-cart.md` | The cart | impl | `[ ]` |
| 2 | shop-02 | `02-phase-1-tests.md` | Its tests | **test** | [X] |  \n
**Milestone**: it counts

---

## Phase 2: Shell

| Order | Task ID | File | Description | Type | Status |
|-------|---------|------|-------------|------|--------|
| 3 | shop-03 | `03-phase-2-tests.md` | More tests | **test** | [ ] |

---

## Quick Reference

```
 1. shop-01  Cart         [ ]
 2. shop-02  Tests        [ ]
 3. shop-03  More tests   [ ]
```

**Progress**: 1/3 tasks complete (33%)
"""

HEADER = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"


def plan_of(text: str) -> Plan:
    plan = read(text)
    assert plan is not None
    return plan


def replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def table(*rows: str, head: str = HEADER) -> str:
    return head + "".join(f"| {row} |\n" for row in rows)


def task_row(number: int, status: str = "[ ]") -> str:
    return f"{number} | x-{number:02} | `{number:02}-x.md` | Work {number} | test | {status}"


# --- what repeats the rows


def test_every_place_that_repeats_the_rows_is_brought_in_step_with_them() -> None:
    drifted = replaced(
        PLAN,
        ("**Status**: [ ] Planning | [x] In Progress | [ ] Complete", "**Status**: [x] Complete"),
        ("| `[ ]`  |     2 |", "| `[x]`  |     5 |"),
        ("| Phase 2: Shell   | [ ]    |", "| Phase 2: Shell   | soon   |"),
        (" 3. shop-03  More tests   [ ]", " 3. shop-03  More tests   [x]"),
        ("1/3 tasks complete (33%)", "2/4 tasks complete (90%)"),
    )
    made = sync_summaries(drifted)
    assert not codes(made)["status-drift"] and not codes(made)["marker-unknown"]
    assert "**Status**: [~] In Progress" in made
    assert "| `[~]`  |     2 |" in made
    assert " 2. shop-02  Tests        [x]" in made
    assert "**Progress**: 1/3 tasks complete (33%)" in made
    assert [task.status for task in plan_of(made).tasks] == [task.status for task in plan_of(PLAN).tasks]


def test_a_place_whose_row_nobody_understands_stays() -> None:
    odd = PLAN.replace("| `[ ]` |\n| 2 |", "| `[?]` |\n| 2 |")
    assert " 1. shop-01  Cart         [ ]" in sync_summaries(odd)


def test_a_stage_that_is_done_gets_the_mark_of_it() -> None:
    made = sync_summaries(
        PLAN.replace("[ ]    |     1", "soon   |     1").replace("**test** | [ ]", "**test** | [x]")
    )
    assert "| Phase 2: Shell   | [x]   |     1 |" in made


# --- ticking a stage off


def test_ticking_a_stage_changes_its_rows_and_all_that_repeats_them() -> None:
    expected = replaced(
        PLAN,
        ("| `[ ]`  |", "| `[x]`  |"),
        ("impl | `[ ]` |", "impl | `[x]` |"),
        ("Cart         [ ]", "Cart         [x]"),
        (" Tests        [ ]", " Tests        [x]"),
        ("1/3 tasks complete (33%)", "2/3 tasks complete (67%)"),
    )
    assert check_tasks(PLAN, "1") == expected
    assert check_tasks(expected, "1") == expected
    assert plan_of(expected).problems == ()


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_stay(end: str) -> None:
    text = "\ufeff" + PLAN.replace("\n", end)
    assert check_tasks(text, "1") == "\ufeff" + check_tasks(PLAN, "1").replace("\n", end)
    assert append_stage(text, "X", []) == "\ufeff" + append_stage(PLAN, "X", []).replace("\n", end)


def test_a_plan_with_nothing_but_rows_is_ticked_too() -> None:
    text = "## Tasks\n\n" + table(task_row(1), task_row(2, "[!]"))
    assert check_tasks(text, "1") == "## Tasks\n\n" + table(task_row(1, "[x]"), task_row(2, "[x]"))


@pytest.mark.parametrize(
    ("cell", "ticked"),
    [
        ("| [~] |", "| [x] |"),
        ("| `[-]`  |", "| `[x]`  |"),
        ("|[!]|", "|[x]|"),
        ("| in progress |", "| [x] |"),
        ("| `[?]` |", "| [x] |"),
        ("|      |", "| [x]     |"),
        ("||", "|[x]|"),
        ("| in progress", "| [x]"),
    ],
)
def test_nothing_but_the_mark_itself_changes_in_a_row(cell: str, ticked: str) -> None:
    before, after = (f"{HEADER}| 1 | x-01 | `01-x.md` | Work | test {end}\n" for end in (cell, ticked))
    assert check_tasks(before, "1") == after
    assert plan_of(after).substance == plan_of(before).substance


@pytest.mark.parametrize(
    ("row", "completed"),
    [
        ("| 1 | a-01 | `01-a.md` |", "| 1 | a-01 | `01-a.md` |  |  | [x] |"),
        ("| 1 | a-01 | `01-a.md` | A | impl |  ", "| 1 | a-01 | `01-a.md` | A | impl | [x] |  "),
        ("1 | a-01 | `01-a.md` | A | impl", "1 | a-01 | `01-a.md` | A | impl | [x] |"),
        ("| 1 | a-01 | `01-a.md` | A \\|", "| 1 | a-01 | `01-a.md` | A \\| |  | [x] |"),
    ],
)
def test_a_row_too_short_for_a_mark_gets_one(row: str, completed: str) -> None:
    other = "| Other | Words |\n|---|---|\n| a | b |\n"
    text = f"{HEADER}| 2 | a-02 | `02-a.md` | B | test | [x] |\n{row}\n\n{other}"
    made = check_tasks(text, "1")
    assert made == text.replace(row, completed)
    assert plan_of(made).stages[0].done == 2


def test_a_stage_without_tasks_is_never_ticked() -> None:
    text = PLAN.replace("| 3 | shop-03 | `03-phase-2-tests.md` | More tests | **test** | [ ] |\n", "")
    text = text.replace(" 3. shop-03  More tests   [ ]\n", "").replace("1/3", "1/2").replace("33%", "50%")
    assert check_tasks(text, "2") == text


def test_wrong_figures_are_mended_and_figures_rounded_another_way_are_not() -> None:
    wrong = PLAN.replace("1/3 tasks complete (33%)", "1 / 7 tasks complete (90.04 %)")
    assert "**Progress**: 2 / 3 tasks complete (66.67 %)" in check_tasks(wrong, "1")
    assert "2/3 tasks complete\n" in check_tasks(PLAN.replace(" (33%)", ""), "1")
    down = check_tasks(PLAN, "1").replace("67%", "66%")
    assert check_tasks(down, "1") == down
    late = check_tasks(PLAN, "1").replace("67%", "33%")
    assert check_tasks(late, "1") == check_tasks(PLAN, "1")


def test_a_share_is_a_hundred_only_when_all_is_done() -> None:
    rows = [task_row(number, "[x]") for number in range(1, 200)]
    text = "## Phase 1\n\n" + table(*rows) + "## Phase 2\n\n" + table(task_row(200)) + "\n"
    for percent, expected in (("0%", "99%"), ("0.0%", "99.5%")):
        assert f"199/200 ({expected})" in check_tasks(f"{text}**Progress**: 0/200 ({percent})\n", "1")
    done = text.replace("## Phase 2\n\n" + HEADER + f"| {task_row(200)} |\n", "")
    assert "199/199 (100%)" in check_tasks(f"{done}**Progress**: 0/199 (0%)\n", "1")


@pytest.mark.parametrize(
    ("text", "said"), [("# Plan\n", "no master plan"), (PLAN, "no phase 9; it has 1, 2")]
)
def test_a_stage_that_is_not_there_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_tasks(text, "9")


# --- one task


@pytest.mark.parametrize("name", ["shop-03", "03", "3", "03-phase-2-tests"])
@pytest.mark.parametrize("mark", ["~", "[~]"])
def test_one_task_s_mark_is_set_in_its_row_and_the_quick_reference(name: str, mark: str) -> None:
    assert set_status(PLAN, name, mark) == replaced(
        PLAN, ("More tests | **test** | [ ]", "More tests | **test** | [~]"), ("tests   [ ]", "tests   [~]")
    )


def test_the_places_that_add_tasks_up_follow_a_single_mark() -> None:
    done = check_tasks(check_tasks(PLAN, "1"), "2").replace("[ ] Complete", "[x] Complete")
    done = done.replace("[x] In Progress", "[ ] In Progress")
    assert set_status(done, "03", "[ ]") == replaced(
        done,
        ("| Phase 2: Shell   | [x] ", "| Phase 2: Shell   | [ ] "),
        ("More tests | **test** | [x]", "More tests | **test** | [ ]"),
        ("More tests   [x]", "More tests   [ ]"),
        ("3/3 tasks complete (100%)", "2/3 tasks complete (67%)"),
        ("[ ] In Progress | [x] Complete", "[x] In Progress | [ ] Complete"),
    )
    begun = set_status(done, "01", "!")
    assert "| Phase 1: Core    | `[~]`  |" in begun
    assert set_status(begun, "01", "x") == replaced(done, ("[ ] In Progress | [x]", "[x] In Progress | [ ]"))


def test_rows_that_share_an_id_are_all_set() -> None:
    text = table(task_row(1), task_row(1))
    assert set_status(text, "x-01", "x") == table(task_row(1, "[x]"), task_row(1, "[x]"))


@pytest.mark.parametrize(
    ("header", "reopened"),
    [
        ("**Status**: Complete", "**Status**: In Progress"),
        ("**Status**: [x] Complete", "**Status**: [~] In Progress"),
        ("- **Status**: [ ] Planning | [X] Completed  ", "- **Status**: [ ] Planning | [~] In Progress  "),
        ("**Status**: [ ] Complete | [ ] In Progress", "**Status**: [~] In Progress | [ ] In Progress"),
        ("**Status**: [x] Complete [x] In progress", "**Status**: [ ] Complete [x] In progress"),
        ("**Status**: [ ] Planning | [x] In Progress", "**Status**: [ ] Planning | [x] In Progress"),
        ("**Status**:\n\n**Status**: complete", "**Status**:\n\n**Status**: In Progress"),
        ("plan\n\n## Status\n\n**Status**: Complete", "plan\n\n## Status\n\n**Status**: Complete"),
    ],
)
def test_a_header_that_says_complete_says_in_progress_once_a_task_is_open(header: str, reopened: str) -> None:
    text = f"# Plan\n\n{header}\n\n## Phase 1\n\n{table(task_row(1, '[x]'))}"
    made = set_status(text, "1", " ")
    assert made.startswith(f"# Plan\n\n{reopened}\n\n## Phase 1\n")
    assert plan_of(made).problems == ()
    assert check_tasks(text, "1") == text


@pytest.mark.parametrize(
    ("task", "mark", "said"), [("09", "x", "no task 09"), ("03", "?", "none of"), ("03", "(x)", "none of")]
)
def test_an_unknown_task_or_mark_is_refused(task: str, mark: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        set_status(PLAN, task, mark)


# --- a further stage


def test_a_new_stage_goes_behind_the_last_one_and_into_every_place() -> None:
    tasks = [
        {"title": "Mend the\ncart", "description": "Prices | sums"},
        {"title": "Tests", "type": "unit test"},
    ]
    assert append_stage(PLAN, "Fixes", tasks) == replaced(
        PLAN,
        ("**Total Tasks**: 3 (", "**Total Tasks**: 5 ("),
        (
            "| **Total**        |",
            "| Phase 3: Fixes   | [ ]    | 2     | -      |\n| **Total**        |",
        ),
        (
            "## Quick Reference",
            (
                "## Phase 3: Fixes\n\n"
                "| Order | Task ID | File | Description | Type | Status |\n"
                "|-------|---------|------|-------------|------|--------|\n"
                "| 4 | shop-04 | `04-mend-the-cart.md` | Prices \\| sums | impl | [ ] |\n"
                "| 5 | shop-05 | `05-tests.md` | Tests | **test** | [ ] |\n\n---\n\n## Quick Reference"
            ),
        ),
        (
            " 3. shop-03  More tests   [ ]\n",
            " 3. shop-03  More tests   [ ]\n 4. shop-04  Mend the cart  [ ]\n 5. shop-05  Tests        [ ]\n",
        ),
        ("1/3 tasks complete (33%)", "1/5 tasks complete (20%)"),
    )


def test_what_will_be_created_is_told_before() -> None:
    tasks = [{"title": "Mend it", "description": "all\nof it"}]
    assert new_tasks(PLAN, tasks) == [
        {
            "id": "shop-04",
            "number": "04",
            "file": "04-mend-it.md",
            "title": "Mend it",
            "type": "impl",
            "stage": "3",
            "description": "all of it",
        },
        {
            "id": "shop-05",
            "number": "05",
            "file": "05-phase-3-tests.md",
            "title": "Phase 3 tests",
            "type": "test",
            "stage": "3",
            "description": "Phase 3 tests",
        },
    ]
    with pytest.raises(ValueError, match="no master plan"):
        new_tasks("", tasks)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["1 | a-7 | `x/12-a.md` | A | test | [ ]"], ("a-13", "x/13-phase-2-tests.md")),
        (["1 | 009 | 009-a.md | A | test | [ ]"], ("010", "010-phase-2-tests.md")),
        (["1 | cart | cart.md | A | test | [ ]"], ("my-shop-02", "02-phase-2-tests.md")),
        (["1 | a-99 | | A | test | [ ]", "2 | b |  | A | test | [ ]"], ("a-100", "100-phase-2-tests.md")),
        (["1 | a-99999999999 | | A | test | [ ]"], ("my-shop-02", "02-phase-2-tests.md")),
        ([], ("my-shop-01", "01-phase-2-tests.md")),
    ],
)
def test_ids_numbers_and_files_go_on_from_the_plan_s(rows: list[str], expected: tuple[str, str]) -> None:
    text = f"# My Shop - Master Plan\n\n## Phase 1\n\n{table(*rows)}"
    (task,) = new_tasks(text, [])
    assert (task["id"], task["file"]) == expected
    assert plan_of(append_stage(text, "More", [])).tasks[-1].id == expected[0]


def test_the_file_s_name_is_short_and_plain() -> None:
    titles = ["¿?", "Ünder_score / it's", "a" * 59 + " b"]
    files = [task["file"] for task in new_tasks(PLAN, [{"title": title} for title in titles])]
    assert files[:3] == ["04-task.md", "05-ünder-score-it-s.md", f"06-{'a' * 59}.md"]


@pytest.mark.parametrize(
    ("stages", "stage"),
    [(["Phase 2: A", "Phase 10b: B"], "11"), (["Phase A", "Phase B"], "3"), (["Phase 1.5"], "2")],
)
def test_the_new_stage_has_the_next_number(stages: list[str], stage: str) -> None:
    text = "".join(f"### {name}\n\n{table(task_row(index))}" for index, name in enumerate(stages, 1))
    made = append_stage(text, "More", [])
    assert f"\n\n### Phase {stage}: More\n\n" in made
    assert plan_of(made).stages[-1].id == stage


@pytest.mark.parametrize(
    ("title", "heading"), [("Fixes", "Fixes"), ("3 bugs", "Tasks: 3 bugs"), ("Phase 9", "Tasks: Phase 9")]
)
@pytest.mark.parametrize("above", ["## Tasks\n\n", "", "# Plan\n\n"])
def test_a_lightweight_plan_keeps_the_ids_of_its_stages(above: str, title: str, heading: str) -> None:
    text = above + table(task_row(1, "[x]"), task_row(2)) + "\nwords\n\n## Notes\n\n- none"
    made = append_stage(text, title, [{"title": "A"}])
    plan = plan_of(made)
    assert [(stage.id, stage.total) for stage in plan.stages] == [("1", 2), ("2", 2)]
    assert f"\nwords\n\n## {heading}\n\n{HEADER}| 3 | x-03 | " in made
    assert made.endswith(" |\n\n## Notes\n\n- none")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"## Phase 1\n\n{HEADER}| {task_row(1)} |", "\n\n## Phase 2: X\n"),
        (f"## Phase 1\n\n{HEADER}| {task_row(1)} |\n", "\n\n## Phase 2: X\n"),
        (f"## Phase 1\n\n{HEADER}| {task_row(1)} |\n\n", "\n\n## Phase 2: X\n"),
        (f"a\n\n---\n\n## Phase 1\n\n{HEADER}| {task_row(1)} |\n", "\n\n---\n\n## Phase 2: X\n"),
        (f"a\n\n---\n\n## Phase 1\n\n{HEADER}| {task_row(1)} |", "\n\n---\n\n## Phase 2: X\n"),
        (f"# Plan\n\n{HEADER}| {task_row(1)} |\n", "\n\n## X\n"),
    ],
)
def test_a_stage_at_the_end_of_the_text_is_followed_by_one_at_the_end(text: str, expected: str) -> None:
    made = append_stage(text, "X", [])
    assert made.startswith(text.rstrip("\n") + expected)
    assert made.endswith(" [ ] |\n") == text.endswith("\n")
    assert not made.endswith("\n\n")


@pytest.mark.parametrize(
    ("head", "last", "expected"),
    [
        (
            "|Task ID|File|Status|\n|-|-|-|\n",
            "|`x-01`|[01-x.md](./01-x.md)|`[x]`|",
            "|`x-02`|[02-phase-2-tests.md](./02-phase-2-tests.md)|`[ ]`|",
        ),
        (
            "Task ID | File | Status | Owner\n--|--|--|--\n",
            "x-01 | ./01-x.md | done | me",
            "| x-02 | ./02-phase-2-tests.md | [ ] | -",
        ),
        (
            "| # | Name | Task ID | File        | Status |\n|---|--|--|-------------|---|\n",
            "| 7 | A | **x-01** | [A](01-x.md) | **[x]** |",
            "| 8 | Phase 2 tests | **x-02** | `02-phase-2-tests.md` | **[ ]** |",
        ),
        (
            "| Task ID | Type      | File    | Status |\n|---|---|---|---|\n",
            "| x-01    | Unit Test |         | [x]    |",
            "| x-02    | Unit Test | `02-phase-2-tests.md` | [ ]    |",
        ),
    ],
)
def test_a_new_row_looks_like_the_last_one(head: str, last: str, expected: str) -> None:
    text = f"## Phase 1\n\n{head}{last}\n"
    assert append_stage(text, "X", []) == f"{text}\n## Phase 2: X\n\n{head}{expected}\n"


def test_a_table_without_a_full_row_shapes_rows_like_its_header() -> None:
    text = f"## Phase 1\n\n{HEADER}| 1 | x-01 | `01-x.md` |\n"
    made = append_stage(text, "X", [{"title": "A"}])
    assert made.endswith(
        "| 2     | x-02    | `02-a.md` | A           | impl | [ ]    |\n"
        "| 3     | x-03    | `03-phase-2-tests.md` | Phase 2 tests | **test** | [ ]    |\n"
    )


def test_a_backslash_does_not_swallow_the_bar_behind_it() -> None:
    text = "## Phase 1\n\n|Task ID|File|Description|Status|\n|-|-|-|-|\n|x-01|`01-x.md`|a|[x]|\n"
    made = append_stage(text, "X", [{"title": "C:\\"}])
    assert plan_of(made).tasks[1].title == "C:\\"


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("1", "| 2 | [ ] | 1 |"), ("Core", "| X | [ ] | 1 |"), ("[Phase 1](#a)", "| Phase 2: X | [ ] | 1 |")],
)
def test_the_summary_names_the_new_stage_as_it_names_the_others(phase: str, expected: str) -> None:
    text = (
        f"## Progress Summary\n\n| Phase | Status | Tasks |\n|--|--|--|\n| {phase} | [ ] | 1 |\n\n"
        f"## Phase 1: Core\n\n{table(task_row(1))}"
    )
    made = append_stage(text, "X", [])
    assert f"| {phase} | [ ] | 1 |\n{expected}\n" in made
    assert plan_of(made).problems == ()


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("x-01  A   [ ]", "x-02  Phase 2 tests  [ ]"),
        ("- x-01 A              [ ]", "- x-02 Phase 2 tests  [ ]"),
        ("9) 01  A                  [ ]", "10) 02  Phase 2 tests     [ ]"),
        (" 9. x-01  A                  [ ]", "10. x-02  Phase 2 tests      [ ]"),
        ("\t9.\tx-01\tA [ok]", "10.\tx-02\tPhase 2 tests  [ ]"),
    ],
)
def test_an_entry_of_the_quick_reference_looks_like_the_last_one(last: str, expected: str) -> None:
    text = f"## Phase 1\n\n{table(task_row(1))}\n## Quick Reference\n\n```text\n{last}\n```\n"
    made = append_stage(text, "X", [])
    assert made.endswith(f"```text\n{last}\n{expected}\n```\n")
    after = plan_of(made)
    assert after.reference(after.tasks[1]) is not None


def test_a_total_without_a_figure_stays() -> None:
    text = f"**Total Tasks**: many\n\n## Phase 1\n\n{table(task_row(1))}"
    assert append_stage(text, "X", []).startswith("**Total Tasks**: many\n")


def test_a_stage_or_task_without_a_title_is_refused() -> None:
    with pytest.raises(ValueError, match="the phase has no title"):
        append_stage(PLAN, " \n", [])
    with pytest.raises(ValueError, match="task 2 has no title"):
        append_stage(PLAN, "X", [{"title": "a"}, {}])


def test_a_stage_that_would_not_be_read_is_not_written() -> None:
    fences = "".join("`" * length + "\n" for length in range(20, 2, -1))
    with pytest.raises(ValueError, match="by hand"):
        append_stage(f"## Phase 1\n\n{table(task_row(1))}\n{fences}", "X", [])


# --- any plan

TITLES = st.text("abc XYZ0189|`*_[]()<>#\\-任務🚀.:", min_size=1, max_size=14).filter(str.strip)
STAGES = st.lists(st.lists(st.sampled_from([*MARKS, "?", ""]), max_size=3), min_size=1, max_size=3)
STATUSES = st.sampled_from(
    ["Complete", "[x] Complete", "[ ] Planning | [ ] In Progress | [x] Complete", "[ ] Planning", ""]
)


@st.composite
def plans(draw: st.DrawFn) -> str:
    """A plan that may lack any of its places, and whose places may contradict its rows."""
    stages = draw(STAGES)
    light = draw(st.booleans())
    marks = st.sampled_from(["[ ]", "[x]", "[~]", "`[x]`", "soon", ""])
    lines = ["# Plan - Master Plan", "", f"**Status**: {draw(STATUSES)}", "**Total Tasks**: 3", ""]
    if draw(st.booleans()):
        lines += ["## Progress Summary", "", "| Phase | Status | Tasks |", "|---|---|---|"]
        lines += [f"| Phase {i} | {draw(marks)} | {len(tasks)} |" for i, tasks in enumerate(stages, 1)]
        lines += ["", *draw(st.sampled_from([[], ["---", ""]]))]
    number = 0
    references = []
    for index, tasks in enumerate(stages, 1):
        lines += [
            f"## Part {'abc'[index - 1]}" if light else f"## Phase {index}: S",
            "",
            *HEADER.splitlines(),
        ]
        for mark in tasks:
            number += 1
            cell = draw(st.sampled_from([f" [{mark}] |", f" `[{mark}]`  |", f"[{mark}]|", "", " |"]))
            lines.append(f"| {number} | t-{number:02} | `{number:02}-a.md` | T | impl |{cell}")
            references.append(
                f" {number}. t-{number:02}  T   {draw(st.sampled_from(['[ ]', '[x]', f'[{mark}]']))}"
            )
        lines += ["", *draw(st.sampled_from([[], ["**Milestone**: m", ""], ["---", ""]]))]
    if draw(st.booleans()):
        lines += ["## Quick Reference", "", "```", *references, "```", ""]
    done = draw(st.integers(0, 4))
    lines += draw(st.sampled_from([[], [f"**Progress**: {done}/{number} tasks complete ({done * 20}%)", ""]]))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines[: len(lines) - draw(st.integers(0, 1))])


def codes(text: str) -> Counter[str]:
    return Counter(problem.code for problem in plan_of(text).problems)


def no_worse(old: str, new: str) -> bool:
    return codes(new) <= codes(old)


def line_ends(text: str) -> list[str]:
    return re.findall(r"\r\n|\r|\n", text)


@given(plans(), st.data())
def test_ticking_any_stage_ticks_it_alone_and_adds_no_problem(text: str, data: st.DataObject) -> None:
    plan = plan_of(text)
    stage = data.draw(st.sampled_from(plan.stages))
    made = check_tasks(text, stage.id)
    after = plan_of(made)
    expected = [(t.id, "done" if t.stage == stage.id else t.status) for t in plan.tasks]
    assert [(task.id, task.status) for task in after.tasks] == expected
    assert no_worse(text, made)
    assert check_tasks(made, stage.id) == made
    assert line_ends(made) == line_ends(text)
    if all(task.mark for task in plan.tasks):
        assert after.substance == plan.substance
    if after.count:
        assert after.count[:2] == (sum(task.done for task in after.tasks), len(after.tasks))


@given(plans(), st.sampled_from([*MARKS]), st.data())
def test_setting_any_mark_sets_it_alone_and_adds_no_problem(
    text: str, mark: str, data: st.DataObject
) -> None:
    plan = plan_of(text)
    if not plan.tasks:
        return
    task = data.draw(st.sampled_from(plan.tasks))
    made = set_status(text, task.id, mark)
    after = plan_of(made)
    expected = [(t.id, MARKS[mark] if t.id == task.id else t.status) for t in plan.tasks]
    assert [(task.id, task.status) for task in after.tasks] == expected
    assert no_worse(text, made)
    assert set_status(made, task.id, mark) == made
    assert line_ends(made) == line_ends(text)
    if task.mark:
        assert after.substance == plan.substance


@given(plans())
def test_any_plan_is_brought_in_step_with_its_rows(text: str) -> None:
    made = sync_summaries(text)
    assert not codes(made)["status-drift"]
    assert [task.status for task in plan_of(made).tasks] == [task.status for task in plan_of(text).tasks]
    assert no_worse(text, made)
    assert sync_summaries(made) == made
    assert plan_of(made).substance == plan_of(text).substance


@given(plans(), TITLES, st.lists(TITLES, max_size=3))
def test_any_stage_is_added_with_its_tasks_and_no_problem(text: str, title: str, titles: list[str]) -> None:
    tasks = [{"title": title} for title in titles]
    plan, new = plan_of(text), new_tasks(text, tasks)
    made = append_stage(text, title, tasks)
    after = plan_of(made)
    assert [task.id for task in after.tasks] == [
        *(task.id for task in plan.tasks),
        *(task["id"] for task in new),
    ]
    assert [s.id for s in after.stages] == [*(stage.id for stage in plan.stages), new[0]["stage"]]
    added = after.stages[-1].tasks
    assert [(t.number, t.file, t.status, t.type) for t in added] == [
        (task["number"], task["file"], "todo", task["type"]) for task in new
    ]
    assert no_worse(text, made)
    assert any(map(plan.reference, plan.tasks)) == all(map(after.reference, added))
    kept = iter(made.splitlines())
    changed = ("**Status**", "**Total Tasks**", "**Progress**")
    assert all(line in kept for line in text.splitlines() if not line.startswith(changed))


# --- real plans

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "seeds" / "004"
PLANS = sorted(CORPUS.glob("*MASTER_PLAN*.md"))

if PLANS:

    @pytest.mark.corpus
    def test_ticking_a_real_phase_gives_the_plan_that_was_committed_after_it() -> None:
        before, after = (next(p for p in PLANS if name in p.name) for name in ("@7dd52040", "@4653fbac"))
        assert check_tasks(before.read_text("utf-8"), "1") == after.read_text("utf-8")

    @pytest.mark.corpus
    @pytest.mark.parametrize("path", PLANS, ids=lambda path: path.name)
    def test_a_real_plan_takes_every_edit_without_a_problem(path: Path) -> None:
        text = path.read_text("utf-8")
        made = append_stage(text, "Final fixes", [{"title": "Mend what the gate found"}])
        assert no_worse(text, made)
        for stage in plan_of(made).stages:
            made = check_tasks(made, stage.id)
            assert no_worse(text, made)
        plan = plan_of(made)
        assert all(task.done for task in plan.tasks)
        assert [mark.status for mark in map(plan.reference, plan.tasks) if mark] == ["done"] * len(plan.tasks)
        for task in plan_of(made).tasks:
            assert no_worse(text, set_status(made, task.id, "~"))


# --- task files of a further stage


def test_the_task_files_of_a_further_stage_read_back_as_they_were_reported() -> None:
    reported = {
        "title": "Ship  it",
        "depends_on": ["shop-01", " "],
        "files": ["src/a|b.py"],
        "acceptance": ["it ships"],
        "requires_ux_dx_review": True,
        "priority": "P0",
        "effort": "L",
    }
    texts = new_task_files(PLAN, "Launch", [reported])
    assert [*texts] == [task["file"] for task in new_tasks(PLAN, [reported])]
    first, tests = (read_task(text) for text in texts.values())
    assert (first.depends_on, first.files) == (("shop-01",), ("src/ab.py",))
    assert (first.requires_ux_dx_review, tests.depends_on, tests.files) == (True, ("shop-04",), ())
    assert [first.problems, tests.problems] == [(), ()]
    written, drafted = texts.values()
    for line in ("# 04. Ship it", "- **Priority**: P0", "- **Effort**: L", "- [ ] it ships"):
        assert f"{line}\n" in written
    assert "- **Priority**: P1\n- **Depends On**: [shop-04]\n- **Effort**: S\n" in drafted


def test_the_draft_of_a_task_file_has_nothing_wrong() -> None:
    task = plan_of(PLAN).tasks[0]
    draft = draft_task(task, "shop")
    assert draft.startswith("# 01. The cart\n\n## Meta\n\n- **ID**: shop-01\n- **Feature**: shop\n")
    assert read_task(draft).problems == ()
    assert draft_task(replace(task, number="", title=""), "shop").startswith("# shop-01\n")


def test_a_header_without_a_box_for_progress_gets_its_words() -> None:
    text = PLAN.replace("[ ] Planning | [x] In Progress | [ ] Complete", "[x] Complete | [ ] Planning")
    for name in ("shop-01", "shop-02", "shop-03"):
        text = set_status(text, name, "x")
    assert "**Status**: [~] In Progress | [ ] Planning" in set_status(text, "shop-01", " ")


def test_a_status_that_only_reads_as_complete_stays() -> None:
    text = PLAN.replace("[ ] Planning | [x] In Progress | [ ] Complete", "Com**ple**te")
    assert plan_of(text).status == "Complete"
    assert "**Status**: Com**ple**te\n" in sync_summaries(text)
