"""Master plans and task files of seed 004: the rows count, whatever else says so disagrees out loud."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import CODES, Span
from phasekeeper.orchestration.markdown import document
from phasekeeper.orchestration.markdown.document import split_lines
from phasekeeper.orchestration.markdown.tables import tables
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.master_plan import reader
from phasekeeper.orchestration.plans.master_plan import rows as task_rows
from phasekeeper.orchestration.plans.master_plan.reader import read
from phasekeeper.orchestration.plans.master_plan.rows import MARKS, TASK_COLUMNS, TaskRows
from phasekeeper.orchestration.plans.master_plan.task_file import read_task
from phasekeeper.orchestration.plans.model import Plan

PLAN = """\
# Shop - Master Plan

**Objective**: Sell things
**Status**: [ ] Planning | [x] In Progress | [ ] Complete
**Last Updated**: today

## Progress Summary

| Phase | Status | Tasks | Effort | Notes |
|-------|--------|-------|--------|-------|
| Phase 1: Core | [x] | 2 | 3h | - |
| Phase 2: Shell | [ ] | 1 | 2h | - |

## Phase 1: Core (3-4h)

| Order | Task ID | File | Description | Type | Status |
|-------|---------|------|-------------|------|--------|
| 1 | shop-01 | `01-cart.md` | The cart | impl | [x] |
| 2 | shop-02 | `02-phase-1-tests.md` | Its tests | **test** | [X] |

**Milestone**: it counts

## Phase 2: Shell (2h)

| Order | Task ID | File | Description | Type | Status |
|-------|---------|------|-------------|------|--------|
| 3 | shop-03 | `03-phase-2-tests.md` | More tests | **test** | [ ] |

## Exit Criteria

- [ ] everything works

## Quick Reference

```
 1. shop-01  Cart    [x]
 2. shop-02  Tests   [x]
 3. shop-03  Tests   [ ]
```

**Progress**: 2/3 tasks complete (67%)
"""

HEADER = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"


def plan_of(text: str) -> Plan:
    plan = read(text)
    assert plan is not None
    return plan


def table(*rows: str) -> str:
    return HEADER + "".join(f"| {row} |\n" for row in rows)


def task_row(number: int, status: str = "[ ]", kind: str = "test") -> str:
    return f"{number} | x-{number:02} | `{number:02}-x.md` | Work {number} | {kind} | {status}"


def problems(text: str) -> list[tuple[str, str]]:
    """(code, the text at its place) of each problem."""
    lines = split_lines(text)
    found = []
    for code, message, span, *_ in plan_of(text).problems:
        assert code in CODES
        assert message
        assert span is not None
        assert span.line == span.end_line
        found.append((code, lines[span.line][span.column : span.end_column]))
    return found


# --- a plan as it should be


def test_a_whole_plan_is_read_without_a_problem() -> None:
    plan = plan_of(PLAN)
    assert (plan.title, plan.status, plan.problems) == ("Shop", "In Progress", ())
    stages = [(s.id, s.title, s.done, s.total, s.summary and s.summary.status) for s in plan.stages]
    assert stages == [("1", "Core", 2, 2, "done"), ("2", "Shell", 0, 1, "todo")]
    assert plan.count is not None
    assert plan.count[:2] == (2, 3)
    first = plan.tasks[0]
    assert (first.id, first.number, first.title, first.stage) == ("shop-01", "01", "The cart", "1")
    assert (first.status, first.file, first.type) == ("done", "01-cart.md", "impl")
    assert plan.by_id["shop-02"].type == "test"


def test_every_place_of_a_plan_holds_what_it_says() -> None:
    plan, lines = plan_of(PLAN), split_lines(PLAN)

    def at(span: Span | None) -> str:
        assert span is not None
        return lines[span.line][span.column : span.end_column]

    first, second = plan.tasks[:2]
    assert first.mark is not None and second.mark is not None and first.file_place is not None
    places = (first.place, first.file_place, first.mark)
    assert [at(plan.span(first, place)) for place in places] == ["shop-01", "01-cart.md", "[x]"]
    reference = plan.reference(first)
    assert reference is not None
    assert (at(plan.span(second, second.mark)), at(reference.span)) == ("[X]", "[x]")
    assert plan.stages[0].summary is not None and plan.count is not None
    assert (at(plan.stages[0].span), at(plan.stages[0].summary.span)) == ("Phase 1: Core (3-4h)", "[x]")
    assert at(plan.count.span) == "2/3"


def test_the_dialect_is_registered() -> None:
    dialect = DIALECTS["master-plan"]
    assert (dialect.read, dialect.read_task) == (read, read_task)


@pytest.mark.parametrize(
    "text", ["", "# Plan\nprose\n", "| Task | File |\n|---|---|\n", "```\n" + HEADER + "```\n"]
)
def test_a_text_without_a_task_table_is_no_plan(text: str) -> None:
    assert read(text) is None


def test_the_columns_may_stand_in_any_order_and_case() -> None:
    text = "|status|FILE|**Task ID**|\n|-|-|-|\n|`[x]`|[02-a.md](./02-a.md)|`a`|\n"
    (task,) = plan_of(text).tasks
    assert (task.id, task.file, task.number, task.status, task.type) == ("a", "02-a.md", "02", "done", "")
    assert plan_of(text).problems[0].code == "test-task-missing"


# --- stages


def test_a_lightweight_plan_is_one_stage() -> None:
    plan = plan_of("# Small - Master Plan (Lightweight)\n\n## Tasks\n\n" + table(task_row(1, "[x]")))
    assert [(stage.id, stage.title, stage.done) for stage in plan.stages] == [("1", "Tasks", 1)]
    assert (plan.title, plan.status, plan.count) == ("Small", "", None)


def test_a_table_above_all_headings_is_a_stage_too() -> None:
    plan = plan_of(table(task_row(1)))
    assert [(stage.id, stage.title) for stage in plan.stages] == [("1", "Tasks")]
    assert plan.stages[0].span.line == 0


def test_two_tables_under_one_heading_are_one_stage_and_other_headings_get_numbers() -> None:
    text = (
        f"## Phase 2 - Core\n\n{table(task_row(1))}\nand\n\n{table(task_row(2))}\n"
        f"### Part\n\n{table(task_row(3))}\n## 7. Late\n\n{table(task_row(4))}\n"
        f"## Fixes\n\n{table(task_row(5))}\n## Step 2: Clash\n\n{table(task_row(6))}\n"
    )
    stages = [(stage.id, stage.title, stage.total) for stage in plan_of(text).stages]
    assert stages == [("2", "Core", 3), ("7", "Late", 1), ("8", "Fixes", 1), ("9", "Clash", 1)]


def test_a_title_that_begins_with_phase_does_not_swallow_the_stages() -> None:
    text = f"# Phase 9 Move - Master Plan\n\n## Phase 1\n\n{table(task_row(1))}\n"
    assert [(stage.id, stage.title) for stage in plan_of(text).stages] == [("1", "Phase 1")]


def test_a_title_full_of_spaces_is_read_to_its_end() -> None:
    title = "a" + "\u00a0 \t" * 5 + " " * 200_000 + "x"
    assert reader._TITLE_TAIL.sub("", title) == title
    assert reader._TITLE_TAIL.sub("", "Shop  -  Master Plan (draft)") == "Shop"


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("## Phase 3.5: Review (2h)", ("3.5", "Review")),
        ("## Phase 4b — API (public)", ("4b", "API (public)")),
        ("## **Phase 2**: `Core` (S)", ("2", "Core")),
        ("## Phase A", ("A", "Phase A")),
        ("## Phase IV. End", ("IV", "End")),
        ("## Phases", ("1", "Phases")),
        ("## Phase " + "9" * 5000, ("9" * 5000, "Phase " + "9" * 5000)),
    ],
)
def test_a_stage_is_named_by_its_heading(heading: str, name: tuple[str, str]) -> None:
    (stage,) = plan_of(f"{heading}\n\n{table(task_row(1))}").stages
    assert (stage.id, stage.title) == name


def test_headings_of_one_phase_are_one_stage_and_the_second_is_told() -> None:
    text = f"## Phase 1: A\n\n{table(task_row(1, '[x]'))}\n## Phase 1: B\n\n{table(task_row(2))}\n"
    assert [(s.id, s.title, s.done, s.total) for s in plan_of(text).stages] == [("1", "A", 1, 2)]
    assert problems(text) == [("duplicate-task", "Phase 1: B")]


def test_a_phase_without_a_table_is_a_stage_without_tasks_unless_its_number_has_one() -> None:
    text = f"## Phase 1: A\n\n{table(task_row(1))}\n## Phase 2: B\n\nsoon\n\n## Phase 1\n\n## Phase 1 notes\n"
    assert [(stage.id, stage.total) for stage in plan_of(text).stages] == [("1", 1), ("2", 0)]
    assert problems(text) == [("plan-empty", "Phase 2: B")]


def test_a_task_table_without_rows_is_an_empty_plan() -> None:
    assert problems(f"## Tasks\n\n{table('   |  |  |  | |  ')}") == [("plan-empty", "Tasks")]


def test_a_stage_without_a_test_task_is_told_by_type_or_else_by_file() -> None:
    assert problems(f"## Phase 1: A\n\n{table(task_row(1, kind='impl'))}") == [
        ("test-task-missing", "Phase 1: A")
    ]
    bare = "| Task ID | File | Status |\n|---|---|---|\n| a | 01-phase-1-tests.md | [ ] |\n"
    assert problems(f"## Phase 1: A\n\n{bare}") == []


def test_tables_of_other_things_are_no_tasks() -> None:
    files = "## Files\n\n| File | Task | Status |\n|---|---|---|\n| a | 01 | [x] |\n"
    text = f"{files}\n## Tasks\n\n{table(task_row(1))}"
    assert len(plan_of(text).tasks) == 1


# --- rows


@pytest.mark.parametrize(("mark", "status"), MARKS.items())
@pytest.mark.parametrize("form", ["[{}]", "`[{}]`", "**[{}]**", r"\[{}\]"])
def test_every_known_mark_is_read(mark: str, status: str, form: str) -> None:
    plan = plan_of(table(task_row(1, form.format(mark))))
    assert plan.tasks[0].status == status
    assert plan.problems == ()


@pytest.mark.parametrize(
    "mark",
    [
        "done",
        "✅",
        "[?]",
        "",
        "[x] almost",
        "[ x]",
        "[]",
        "~~[x]~~",
        "~~[x]~~ [x]",
        "not [x]",
        "<!-- [x] -->",
    ],
)
def test_an_unknown_mark_is_counted_and_not_done(mark: str) -> None:
    text = f"# T\n\n{table(task_row(1, mark), task_row(2, '[x]'))}"
    plan = plan_of(text)
    assert [(task.status, task.done) for task in plan.tasks] == [("unknown", False), ("done", True)]
    assert problems(text) == [("marker-unknown", mark)]
    assert "[~]" in plan.problems[0].message


@pytest.mark.parametrize(
    "row", ["1 | ~~x-01~~ | `01.md` | A | impl | [x]", "1 | x-01 | ~~`01.md`~~ | A | impl | [x]"]
)
def test_the_task_of_a_row_that_is_struck_out_is_not_done(row: str) -> None:
    plan = plan_of(table(row, "2 | x-02 | `02-test.md` | ~~B~~ | test | [x]"))
    assert [(task.id, task.status) for task in plan.tasks] == [("x-01", "unknown"), ("x-02", "done")]
    assert [problem.code for problem in plan.problems] == ["marker-unknown"]
    assert plan_of(table("1 | ~~x-01~~ | `01-test.md`")).tasks[0].status == "unknown"


def test_a_row_that_lacks_something_is_still_a_task() -> None:
    text = table("1 | x-01 | `01-a.md`", "2 | | `sub/02-b.md` | B | test | [x]", "3 | | | C | test | [ ]")
    plan = plan_of(text)
    assert [(t.id, t.number, t.status) for t in plan.tasks] == [
        ("x-01", "01", "unknown"),
        ("02-b", "02", "done"),
        ("1-row-3", "1-row-3", "todo"),
    ]
    assert plan.tasks[0].mark is None
    assert problems(text) == [
        ("task-unreadable", "| 1 | x-01 | `01-a.md` |"),
        ("task-unreadable", ""),
        ("task-unreadable", ""),
    ]


def test_a_row_with_too_many_cells_or_without_a_file_is_told() -> None:
    text = table("1 | x-01 | `01-a.md` | a | b | test | [x]", "2 | x-02 | - | B | test | [ ]")
    assert problems(text) == [
        ("task-unreadable", "| 1 | x-01 | `01-a.md` | a | b | test | [x] |"),
        ("marker-unknown", "test"),
        ("task-unreadable", "-"),
    ]
    assert plan_of(text).tasks[1].file_place is None


@pytest.mark.parametrize(
    ("cell", "file"),
    [
        ("`01-a.md`", "01-a.md"),
        ("[the task](./sub/01-a.md)", "sub/01-a.md"),
        ("[`01-a.md`](x.md)", "01-a.md"),
        ("./01-a.md", "01-a.md"),
        ("[01](elsewhere)", "01"),
    ],
)
def test_the_file_of_a_task_is_read_out_of_its_marks(cell: str, file: str) -> None:
    text = table(f"1 | x-01 | {cell} | A | test | [ ]")
    (task,) = plan_of(text).tasks
    assert task.file == file
    assert task.file_place is not None
    assert text.split("\n")[2][task.file_place.column : task.file_place.end_column] == file


def test_the_place_of_a_file_with_escapes_is_its_cell() -> None:
    plan = plan_of(table(r"1 | x-01 | 01\_a.md | A | test | [ ]"))
    (task,) = plan.tasks
    assert (task.file, plan.span(task, task.file_place)) == ("01_a.md", Span(2, 13, 2, 21))


def test_the_second_row_with_an_id_or_a_file_is_told_and_both_stay() -> None:
    text = table(
        "1 | x-01 | `01-a.md` | A | test | [x]",
        "2 | X-01 | `01-a.md` | B | test | [ ]",
        "3 | x-03 | `01-a.md` | C | test | [ ]",
    )
    assert len(plan_of(text).tasks) == 3
    assert problems(text) == [("duplicate-task", "X-01"), ("duplicate-task", "01-a.md")]


# --- damage


def test_tasks_below_an_unclosed_fence_or_in_a_merge_are_counted_and_told() -> None:
    text = f"## Tasks\n\n```\n{table(task_row(1))}<<<<<<< a\n=======\n>>>>>>> b\n"
    assert problems(text) == [("artifact-unreadable", "```"), ("artifact-unreadable", "<<<<<<< a")]
    assert len(plan_of(text).tasks) == 1


# --- the other places that record progress


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("| Phase 1: Core | [x]", "| Phase 1: Core | [ ]", "[ ]"),
        ("| Phase 2: Shell | [ ]", "| Phase 2: Shell | [x]", "[x]"),
        ("| Phase 2: Shell | [ ] | 1", "| Phase 2: Shell | [ ] | 4", "4"),
        ("Cart    [x]", "Cart    [ ]", "[ ]"),
        ("3. shop-03  Tests   [ ]", "3. shop-03  Tests   [~]", "[~]"),
        ("3. shop-03", "4. shop-04", "shop-04"),
        ("2/3", "3/3", "3"),
        ("2/3", "2/4", "4"),
        ("(67%)", "(50%)", "50"),
        (
            "[x] In Progress | [ ] Complete",
            "[ ] In Progress | [x] Complete",
            "[ ] Planning | [ ] In Progress | [x] Complete",
        ),
    ],
)
def test_each_place_that_disagrees_with_the_rows_is_told_there(old: str, new: str, place: str) -> None:
    assert problems(PLAN) == []
    assert old in PLAN
    assert problems(PLAN.replace(old, new)) == [("status-drift", place)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| Phase 2: Shell | [ ]", "| Phase 2: Shell | [~]"),
        ("| Phase 2: Shell | [ ] | 1", "| Shell | [ ] | one"),
        ("| Phase 2: Shell |", "| Total |"),
        ("| Phase 2: Shell | [ ] | 1 | 2h | - |", "| Phase 1 | [ ] | 9 | 2h | - |"),
        ("| Phase 2: Shell | [ ] | 1 | 2h | - |", "| Phase 2 |"),
        ("| Phase | Status | Tasks |", "| Stage | Status | Tasks |"),
        ("(67%)", "(66.6%)"),
        (" (67%)", ""),
        ("2/3 tasks complete", "going well"),
        (
            " 3. shop-03  Tests   [ ]",
            "Phase 2:\nLegend of marks [ ]\n3. 03  Tests  [ ]\n 3. shop-03  Tests  [x]",
        ),
        ("[ ] Planning | [x] In Progress | [ ] Complete", "[ ] Planning | [~] In Progress | [x] Complete"),
        ("[ ] Planning | [x] In Progress | [ ] Complete", "In Progress"),
        ("**Status**: [ ] Planning", "**Status**: Planning\n**Status**: [ ] Planning"),
        ("## Quick Reference", "## Reference"),
        ("- [ ] everything works", "- [x] everything works"),
    ],
)
def test_what_only_says_less_is_no_drift(old: str, new: str) -> None:
    assert old in PLAN
    assert problems(PLAN.replace(old, new)) == []


def test_unknown_marks_of_other_places_are_told_but_are_no_drift() -> None:
    text = PLAN.replace("| Phase 2: Shell | [ ]", "| Phase 2: Shell | open").replace(
        "Cart    [x]", "Cart    [v]"
    )
    assert problems(text) == [("marker-unknown", "open"), ("marker-unknown", "[v]")]


def test_a_plan_without_tasks_is_at_nought_percent() -> None:
    assert ("status-drift", "10") in problems(f"**Progress**: 0/0 (10%)\n\n## Tasks\n\n{HEADER}")


# --- what was approved


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n", "\r\n"),
        ("[ ]", "[x]"),
        ("[X]", "[-]"),
        ("[x] |", "done |"),
        ("2/3 tasks complete (67%)", "3/3 tasks complete (100%)"),
        ("today", "tomorrow"),
        ("[ ] Planning | [x] In Progress", "Complete"),
    ],
)
def test_progress_leaves_the_substance_of_a_plan_as_it_is(old: str, new: str) -> None:
    assert plan_of(PLAN.replace(old, new)).substance == plan_of(PLAN).substance


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cart", "The car"),
        ("shop-03 |", "shop-04 |"),
        ("Sell things", "Sell nothing"),
        ("**Milestone**: it counts", "**Status**: done"),
        ("## Exit", f"## Phase 3: Fix\n\n{table(task_row(9))}\n## Exit"),
        ("**test** | [ ]", "impl | [ ]"),
    ],
)
def test_anything_else_changes_the_substance(old: str, new: str) -> None:
    assert old in PLAN
    assert plan_of(PLAN.replace(old, new)).substance != plan_of(PLAN).substance


# --- task files

TASK = """\
# 02. Cart Totals

## Meta
- **ID**: shop-02
- **Feature**: shop
- **Phase**: 1
- **Priority**: P2
- **Depends On**: [shop-01, `05`]
- **Parallel With**: 03 (other files); shop-04
- **Effort**: M (2h)
- **Requires UX/DX Review**: true

## Files to Change

| File | Action | Changes |
|------|--------|---------|
| `src/**/*.ts` | Modify | all |
| `src/a.ts` | Create | new |
| | | |

### Files to Create

| File | Purpose |
|---|---|
| `src/a.ts` | again |
|

## Acceptance Criteria
- [ ] it adds up

| File | Other |
|---|---|
| `no.ts` | x |
"""


def test_a_task_file_says_what_it_needs_and_changes() -> None:
    task = read_task(TASK)
    assert (task.depends_on, task.parallel_with) == (("shop-01", "05"), ("03", "shop-04"))
    assert task.files == ("src/**/*.ts", "src/a.ts")
    assert task.requires_ux_dx_review is True
    assert task.problems == ()
    assert task.depends_span is not None
    line = TASK.split("\n")[task.depends_span.line]
    assert line[task.depends_span.column : task.depends_span.end_column] == "[shop-01, `05`]"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("[]", ()),
        ("none", ()),
        ("None (first task)", ()),
        ("N/A", ()),
        ("—", ()),
        ("", ()),
        ("shop-01", ("shop-01",)),
        ("[01], [02](02-b.md), 01", ("01", "02")),
        ("none-such", ("none-such",)),
        ("Task 01; 02", ("Task 01", "02")),
    ],
)
def test_references_are_kept_as_written_without_brackets(value: str, names: tuple[str, ...]) -> None:
    assert read_task(f"## Meta\n- **Depends On**: {value}\n").depends_on == names


@pytest.mark.parametrize(
    ("value", "asked"), [("true", True), ("Yes - new flags", True), ("no (inside)", False), ("FALSE", False)]
)
def test_a_review_is_asked_for_or_not(value: str, asked: bool) -> None:
    task = read_task(f"## Meta\n- **Requires UX/DX Review**: {value}\n")
    assert (task.requires_ux_dx_review, task.problems) == (asked, ())


@pytest.mark.parametrize("value", ["", "maybe", "true/false", "[false]", "not false", "~~false~~"])
def test_a_review_asked_for_unclearly_is_asked_for(value: str) -> None:
    task = read_task(f"## Meta\n- **Requires UX/DX Review**: {value}\n")
    assert task.requires_ux_dx_review is True
    assert [problem.code for problem in task.problems] == ["task-unreadable"]


@pytest.mark.parametrize(
    "text",
    [
        "---\nrequires_ux_dx_review: true\n---\n# 01. A\n",
        "# 01. A\n\n- Requires UX/DX Review: yes\n",
        "## Meta\n- **ID**: a\n\n## Notes\n**Requires UX/DX Review**: true\n",
        "## Meta\n- **Requires UX/DX Review**: false\n- **Requires UX/DX Review**: true\n",
    ],
)
def test_a_review_is_found_wherever_it_is_asked_for(text: str) -> None:
    task = read_task(text)
    assert (task.requires_ux_dx_review, task.problems) == (True, ())


def test_fields_of_other_sections_are_not_the_task_s() -> None:
    text = "# A\n**Effort**: S\n## Notes\n**Depends On**: [x]\n"
    assert (read_task(text).depends_on, read_task(text).problems) == ((), ())
    assert read_task("## Meta\n- **ID**: a\n## Notes\n**Depends On**: [x]\n").depends_on == ()


def test_a_task_file_without_a_meta_list_is_unreadable() -> None:
    for text in ("", "# 01. A\n\ntext\n", "```\n**ID**: a\n```\n"):
        assert [problem.code for problem in read_task(text).problems] == ["task-unreadable"]
    assert read_task("**ID**: a\n").problems == ()


# --- any text

NAMES = st.text(st.sampled_from("abcXYZ 任務🚀é-"), min_size=1, max_size=12).map(
    lambda name: f"T{name.strip(' -')}"
)
SPACES = st.sampled_from(["", " ", "   ", "\t"])
STAGES = st.lists(
    st.lists(st.tuples(NAMES, st.sampled_from([*MARKS])), min_size=1, max_size=4), min_size=1, max_size=4
)


@given(STAGES, st.lists(SPACES, min_size=1, max_size=7), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_plan_reads_back_however_it_is_laid_out(
    stages: list[list[tuple[str, str]]], spaces: list[str], end: str, mark: bool
) -> None:
    def row(cells: list[str]) -> str:
        padded = (
            spaces[i % len(spaces)] + cell + spaces[(i + 1) % len(spaces)] for i, cell in enumerate(cells)
        )
        return "|" + "|".join(padded) + "|"

    lines = ["# Plan", ""]
    expected = []
    for number, tasks in enumerate(stages, 1):
        lines += [
            f"## Phase {number}: Stage 任務",
            "",
            row(["Task ID", "Description", "File", "Status"]),
            row(["---"] * 4),
        ]
        for index, (name, status) in enumerate(tasks):
            task_id = f"t-{number}{index}"
            lines.append(row([task_id, name, f"`{number}{index}-a.md`", f"[{status}]"]))
            expected.append(
                (str(number), task_id, name, f"{number}{index}-a.md", MARKS[status], f"[{status}]")
            )
        lines.append("")
    plan = plan_of("\ufeff" * mark + end.join(lines))
    found = []
    for task in plan.tasks:
        assert task.mark is not None
        line, column, _, end_column = plan.span(task, task.mark)
        place = lines[line][column:end_column]
        found.append((task.stage, task.id, task.title, task.file, task.status, place))
    assert found == expected
    assert plan.substance == plan_of("\n".join(lines).replace("[x]", "[ ]")).substance


PIECES = st.sampled_from(
    [
        *(
            HEADER,
            "| a | b | c | d | test | [x] |\n",
            "| | | | | | |\n",
            "|\n",
            "| x |\n",
            "\n",
            "## Phase 1: A\n",
        ),
        *(
            "# T\n",
            "## Phase 2\n",
            "## Progress Summary\n",
            "| Phase | Status | Tasks |\n|-|-|-|\n",
            "| Phase 1 | [ ] | 3 |\n",
        ),
        *(
            "## Quick Reference\n",
            "```\n",
            " 1. a  A  [x]\n",
            "**Progress**: 1/2 (3%)\n",
            "**Status**: [x] Complete\n",
        ),
        *(
            "## Meta\n",
            "- **Depends On**: [a, b]\n",
            "- **Requires UX/DX Review**: ?\n",
            "## Files to Change\n",
            "\0",
            "🚀",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_no_text_is_refused_and_every_problem_has_its_place(text: str) -> None:
    plan, task = read(text), read_task(text)
    lines = split_lines(text)
    for problem in (*(plan.problems if plan else ()), *task.problems):
        assert problem.code in CODES
        if problem.span:
            assert 0 <= problem.span.column <= problem.span.end_column <= len(lines[problem.span.line])


# --- shortcuts

CELLS = st.sampled_from(
    [
        *("", " ", "1", "t-1", "t-02", "T_3", "`t-4`", "a1b", "t 5", "**t-6**", "٣", "t-٣", "-", "n/a"),
        *(
            "`01-a.md`",
            "`./01-a.md`",
            "`a/b_c.md`",
            "01-a.md",
            "[a](01-a.md)",
            "`01-a.txt`",
            "`01 a.md`",
            "`.md`",
        ),
        *(
            "test",
            "**test**",
            "*",
            " * ",
            "a \\| b",
            "`a | b`",
            "a `b` *c*",
            "\xa0",
            "\x0b",
            "[link](x)",
            "<!-- c -->",
        ),
        *("[ ]", "[x]", "[X]", "[~]", "[-]", "[!]", "[?]", "`[x]`", "[x] done", "[]", "[|]"),
    ]
)
HEADERS = st.sampled_from(
    [
        ["Order", "Task ID", "File", "Description", "Type", "Status"],
        ["Task ID", "File", "Status"],
        ["Status", "Type", "File", "Task ID", "Note"],
        ["Description", "Status", "Task ID", "File"],
        ["Task ID", "File", "Status", *(f"More {number}" for number in range(30))],
    ]
)


@given(
    HEADERS,
    st.lists(st.lists(CELLS, min_size=2, max_size=7), max_size=6),
    st.lists(st.sampled_from(" \t"), max_size=2),
)
def test_an_ordinary_row_is_read_as_it_is_cell_by_cell(
    header: list[str], rows: list[list[str]], blanks: list[str]
) -> None:
    blank = "".join(blanks)
    good = {"Task ID": "t-7", "File": "`07-a.md`", "Status": "[x]"}
    # Each odd row beside one that fits the header, with an odd cell of its own.
    fitting = [[good.get(title, row[index % len(row)]) for index, title in enumerate(header)] for row in rows]
    mixed = [
        [row[0] if index == len(row) else cell for index, cell in enumerate(one)]
        for row, one in zip(rows, fitting, strict=True)
    ]
    lines = [
        f"|{blank}{f'{blank}|{blank}'.join(cells)}{blank}|{blank}" for cells in (*rows, *fitting, *mixed)
    ]
    text = "\n".join(["# P", "|".join(header), "|".join("-" * len(header)), *lines])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_rows, "_ordinary_row", lambda columns: None)
        by_cells = read(text)
    assert by_cells is not None
    assert plan_of(text) == by_cells


@pytest.mark.parametrize(
    "row", ["1 | x-01 | `01-x.md` | A *title* with a `mark` | **test** | [~]", "|x-01|`a_b/01-x.md`|||[ ]"]
)
def test_the_rows_of_real_plans_are_ordinary(row: str) -> None:
    (found,) = tables(document.read(HEADER + f"| {row} |\n"))
    assert found.columns.keys() >= TASK_COLUMNS
    pattern = TaskRows([found]).pattern
    assert pattern is not None
    assert pattern.fullmatch(found.rows[0].text)


def test_a_repeated_header_is_no_task_however_it_is_spaced() -> None:
    for repeated in (
        "|Order|Task ID|File|Description|Type|Status|",
        "|\torder | task id|\xa0File|Description |Type|STATUS|",
    ):
        assert [
            task.id for task in plan_of(table(task_row(1)) + repeated + "\n" + f"| {task_row(2)} |\n").tasks
        ] == [
            "x-01",
            "x-02",
        ]


# --- real plans

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "seeds" / "004"
PLANS = sorted(CORPUS.glob("*MASTER_PLAN*.md"))
TASKS = sorted(CORPUS.glob("*__[0-9][0-9]-*.md"))

if PLANS:

    @pytest.mark.corpus
    @pytest.mark.parametrize("path", PLANS, ids=lambda path: path.name)
    def test_a_real_plan_is_read_without_drift(path: Path) -> None:
        plan = plan_of(path.read_text("utf-8"))
        assert [problem for problem in plan.problems if problem.code != "test-task-missing"] == []
        numbers = [(stage.done, stage.total) for stage in plan.stages]
        if "open-mem" in path.name:
            first = 4 if "4653fbac" in path.name else 0
            assert numbers == [(first, 4), (0, 4), (0, 4), (0, 4), (0, 3), (0, 3)]
        else:
            assert numbers == [(5, 5)]

    @pytest.mark.corpus
    @pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name)
    def test_a_real_task_file_is_read(path: Path) -> None:
        task = read_task(path.read_text("utf-8"))
        assert task.problems == ()
