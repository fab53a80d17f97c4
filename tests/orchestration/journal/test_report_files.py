"""Report files: a verdict is one word, said once, in the open; anything else counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import CODES, Problem
from phasekeeper.orchestration.journal.report_files import ReportFile, read_report
from phasekeeper.orchestration.journal.report_forms import ReportForm
from phasekeeper.orchestration.markdown.document import split_lines

CLARITY = ("requirements_clear", "questions_needed", "discovery_needed")
FORMS = (
    ReportForm(
        "4a",
        {"Task Complete": "", "Issue Encountered": "partial", "Blocked - Cannot Continue": "blocked"},
        ("Status",),
        task="Task File",
        words={"Impact": {"blocking": "blocked"}},
        outcomes=("complete", "partial", "blocked"),
    ),
    ReportForm(
        "4b",
        {"Phase Quality Gate": ""},
        ("PHASE GATE STATUS", "Overall Status"),
        stage="Phase",
        tasks="Fix Scope",
        outcomes=("pass", "fail"),
    ),
    ReportForm("F1", {"Failure Analysis": ""}, stage="Phase"),
    ReportForm("5a", {"5a Objective Gate": ""}, ("5a OBJECTIVE GATE STATUS",), outcomes=("pass", "fail")),
    ReportForm("5b", {"5b Subjective Gate": ""}, ("5b SUBJECTIVE GATE STATUS",), outcomes=("pass", "fail")),
    ReportForm("6", {"Success Learnings": ""}, outcomes=("ok",)),
    ReportForm("0b", {"Requirements": ""}, ("Status",), where={"Mode": "POST_DISCOVERY"}, outcomes=CLARITY),
    ReportForm("0a", {"Requirements": ""}, ("Status",), outcomes=CLARITY),
)


def report_of(text: str, forms: Sequence[ReportForm] = FORMS) -> ReportFile:
    report, problems = read_report(text, forms)
    assert problems == ()
    assert report is not None
    return report


def problem_of(text: str, forms: Sequence[ReportForm] = FORMS) -> Problem:
    report, (problem,) = read_report(text, forms)
    assert report is None
    return problem


def place(text: str, problem: Problem) -> str:
    assert problem.span is not None
    return split_lines(text)[problem.span.line][problem.span.column : problem.span.end_column]


# --- verdicts


@pytest.mark.parametrize(
    "text",
    [
        "**PHASE GATE STATUS**: PASS",
        "**Phase Gate Status:** pass",
        "**PHASE GATE STATUS: PASS**",
        "PHASE GATE STATUS: PASS",
        "- **PHASE GATE STATUS**: `PASS`",
        "**PHASE GATE STATUS**: **PASS**.",
        "**PHASE GATE STATUS**: ✅ PASS",
        "🟢 **PHASE GATE STATUS**: PASS (12 tests, 0 failed)",
        "**PHASE GATE STATUS**: PASS - all green",
        "**PHASE GATE STATUS**: PASS — all green",
        "## Phase Quality Gate: PASS",
        "## ✅ Phase Quality Gate: Pass",
        "## Phase Quality Gate\n\n**Overall Status**: PASS",
        "## Phase Quality Gate: phase 1\n\n**Overall Status**: PASS",
        "## PHASE GATE STATUS: PASS",
        "PHASE GATE STATUS: PASS\n---",
        "## Phase Quality Gate: PASS\n**Overall Status**: PASS\n**PHASE GATE STATUS**: PASS",
        "\ufeff**PHASE GATE STATUS**: PASS\r\n",
        "```\n**PHASE GATE STATUS**: FAIL\n```\n> PHASE GATE STATUS: FAIL\n\n**PHASE GATE STATUS**: PASS",
    ],
)
def test_a_verdict_is_read_in_all_its_spellings(text: str) -> None:
    report = report_of(text)
    assert (report.phases, report.outcome) == (("4b",), "pass")


@pytest.mark.parametrize(
    ("text", "phase", "outcome"),
    [
        ("## Task Complete (Delegated Mode)\n**Status**: Complete", "4a", "complete"),
        ("## Task Complete\n**Status**: Partial\n", "4a", "partial"),
        ("## Issue Encountered\n**Impact**: non-blocking", "4a", "partial"),
        ("## Issue Encountered\n**Impact**: blocking", "4a", "blocked"),
        ("## Issue Encountered\n**Status**: Complete / Partial\n**Impact**: Blocking", "4a", "blocked"),
        ("## Blocked - Cannot Continue\n", "4a", "blocked"),
        ("## 5a Objective Gate: FAIL", "5a", "fail"),
        ("**5b SUBJECTIVE GATE STATUS**: PASS", "5b", "pass"),
        ("## Failure Analysis: stage 2\n", "F1", "ok"),
        ("## Success Learnings\n", "6", "ok"),
        (
            "## Requirements Analysis\n**Status**: QUESTIONS_NEEDED\n**Mode**: INITIAL_ANALYSIS",
            "0a",
            "questions_needed",
        ),
        ("## Requirements\n**Status**: Requirements Clear\n", "0a", "requirements_clear"),
    ],
)
def test_the_reports_of_all_phases_are_read(text: str, phase: str, outcome: str) -> None:
    report = report_of(text)
    assert (report.phases, report.outcome) == ((phase,), outcome)


def test_a_report_that_fits_two_phases_names_both() -> None:
    text = "## Requirements\n**Status**: DISCOVERY_NEEDED\n**Mode**: post discovery"
    assert report_of(text).phases == ("0b", "0a")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "PASS | FAIL",
            "PASS/FAIL",
            "PASS or FAIL",
            "[PASS/FAIL]",
            "NOT PASS",
            "PASS with failures",
            "",
            "TBD",
        ),
        *("PASS (or FAIL)", "FAIL - was PASS", "NEEDS_IMPROVEMENT", "PASS PASS", "❌", "PASSED"),
    ],
)
def test_a_value_that_is_not_one_known_word_is_unclear(value: str) -> None:
    text = f"text\n\n**PHASE GATE STATUS**: {value}\n"
    problem = problem_of(text)
    assert (problem.code, place(text, problem)) == ("report-unclear", value)
    assert "pass, fail" in problem.message


@pytest.mark.parametrize(
    ("text", "counts", "first", "second"),
    [
        ("## Phase Quality Gate: FAIL\n**Overall Status**: PASS", "fail", "PASS", "Phase Quality Gate: FAIL"),
        ("**PHASE GATE STATUS**: PASS\n**Overall Status**: FAIL", "fail", "PASS", "FAIL"),
        ("**PHASE GATE STATUS**: PASS\n\nPHASE GATE STATUS: FAIL", "fail", "PASS", "FAIL"),
        (
            "## Task Complete\n**Status**: Complete\n## Issue Encountered",
            "partial",
            "Complete",
            "Issue Encountered",
        ),
    ],
)
def test_of_two_verdicts_that_differ_the_worse_counts_with_both_places(
    text: str, counts: str, first: str, second: str
) -> None:
    report, problems = read_report(text, FORMS)
    assert report and report.outcome == counts
    assert [problem.code for problem in problems] == ["artifact-contradictory"] * 2
    assert [place(text, problem) for problem in problems] == [first, second]


@pytest.mark.parametrize(
    "text",
    [
        "**PHASE GATE STATUS**: ~~PASS~~",
        "**PHASE GATE STATUS**: ~~FAIL~~ PASS",
        "**PHASE GATE STATUS**: ~PASS~",
        "~~**PHASE GATE STATUS**: PASS~~",
        "~~PHASE GATE STATUS: PASS~~",
        "**~~PHASE GATE STATUS~~**: PASS",
        "## ~~Phase Quality Gate: PASS~~",
        "## Phase Quality Gate: ~~PASS~~",
        "## Phase Quality Gate\n~~This was so:\n**PHASE GATE STATUS**: PASS\nuntil today~~",
        "## Phase Quality Gate\n~This was so:\n**PHASE GATE STATUS**: PASS\nuntil today~",
        "<del>\n\n**PHASE GATE STATUS**: PASS\n\n</del>",
        "<s>\n\n**PHASE GATE STATUS**: PASS",
        "**PHASE GATE STATUS**: PASS\n**Phase**: ~~1~~ 2",
        "**PHASE GATE STATUS**: FAIL\n### Fix Scope\n~~[01]~~ [02]",
        "**PHASE GATE STATUS**: not PASS",
        "**PHASE GATE STATUS**: no FAIL",
        "**PHASE GATE STATUS**: PASS (not yet)",
        "**PHASE GATE STATUS**: PASS - never run",
        "**PHASE GATE STATUS**: PASS?",
        '**PHASE GATE STATUS**: "PASS"',
        "**PHASE GATE STATUS**: <!-- PASS -->",
        "**PHASE GATE STATUS**: ❌ PASS",
        "# Success Learnings: none",
        "# Success Learnings: not written",
        "# Success Learnings?",
        "# ~~Success Learnings~~",
    ],
)
def test_words_that_are_struck_out_denied_or_quoted_are_no_verdict(text: str) -> None:
    assert problem_of(text).code == "report-unclear"


@pytest.mark.parametrize(
    "text",
    [
        "~~old~~\n\n**PHASE GATE STATUS**: PASS",
        "**PHASE GATE STATUS**: PASS (took ~5 min)\n**Took**: about ~6 min",
        "**PHASE GATE STATUS**: PASS\n\nThe mark `[~~]` and `<del>` stay, [~] too\n- ~a\n- b~",
        "<details>\n\n**PHASE GATE STATUS**: PASS (no regressions)\n\n</details>",
        "<del>\n\nold\n\n</del>\n\n**PHASE GATE STATUS**: PASS",
        "**PHASE GATE STATUS**: PASS\n\n```\n~~x\n```\n| ~~a | b |\n|---|---|\n",
    ],
)
def test_a_strike_elsewhere_takes_no_verdict_back(text: str) -> None:
    assert report_of(text).outcome == "pass"


CHECKED = "**PHASE GATE STATUS**: PASS\n\n| Task | Criterion | Status |\n|---|---|---|\n"
WITH_CRITERIA = (
    ReportForm("4b", {}, ("PHASE GATE STATUS",), criteria=("Status", "Lint"), outcomes=("pass", "fail")),
)


@pytest.mark.parametrize(
    "rows",
    [
        "| 01 | a | met |",
        "| 01 | a | ✅ |\n| 02 | b | ⚠️ MANUAL |",
        "| 01 | a | ✅ 3 of 3 |",
        "",
        "| 01 | a |",
    ],
)
def test_criteria_that_are_met_or_left_to_a_person_go_with_a_pass(rows: str) -> None:
    assert report_of(CHECKED + rows, WITH_CRITERIA).outcome == "pass"


@pytest.mark.parametrize(
    "rows", ["| 01 | a | unmet |", "| 01 | a | ✅ |\n| 02 | b | ❌ |", "| 01 | a | Not met |"]
)
def test_a_criterion_that_is_not_met_outweighs_a_pass(rows: str) -> None:
    report, problems = read_report(CHECKED + rows, WITH_CRITERIA)
    assert report and report.outcome == "fail"
    assert [problem.code for problem in problems] == ["artifact-contradictory"] * 2
    assert report_of(CHECKED.replace("PASS", "FAIL") + rows, WITH_CRITERIA).outcome == "fail"


def test_a_check_that_failed_outweighs_a_pass() -> None:
    report, problems = read_report("**PHASE GATE STATUS**: PASS\n- Lint: FAIL", WITH_CRITERIA)
    assert report and report.outcome == "fail"
    assert [problem.span and problem.span.line for problem in problems] == [0, 1]
    assert report_of("**PHASE GATE STATUS**: PASS\n- Lint: clean", WITH_CRITERIA).outcome == "pass"


@pytest.mark.parametrize("word", ["mostly", "", "~~met~~"])
def test_a_criterion_in_unknown_words_goes_with_no_pass(word: str) -> None:
    problem = problem_of(f"{CHECKED}| 01 | a | {word} |", WITH_CRITERIA)
    assert (problem.code, problem.span and problem.span.line) == ("report-unclear", 4)


def test_two_verdicts_of_which_none_is_worse_say_nothing() -> None:
    report, problems = read_report(
        "# Requirements\nStatus: questions needed\nStatus: discovery needed", FORMS
    )
    assert report is None
    assert {problem.code for problem in problems} == {"artifact-contradictory"}


def test_verdicts_of_two_forms_that_differ_are_unclear() -> None:
    text = "**PHASE GATE STATUS**: PASS\n**5a OBJECTIVE GATE STATUS**: FAIL"
    assert place(text, problem_of(text)) == "FAIL"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("## Phase Quality Gate\n", "Phase Quality Gate"),
        ("## Phase Quality Gate: PASS or FAIL\n", "Phase Quality Gate: PASS or FAIL"),
        ("## Phase Quality Gate\n```\n**PHASE GATE STATUS**: PASS", "Phase Quality Gate"),
        ("## Phase Quality Gate\n<!-- **PHASE GATE STATUS**: PASS -->", "Phase Quality Gate"),
        ("## Task Complete\n**Status**: Complete / Partial", "Complete / Partial"),
        ("## Issue Encountered\n**Impact**: blocking / non-blocking", "blocking / non-blocking"),
        ("## Phase Quality Gate\n**Overall Status**: PASS\n**PHASE GATE STATUS**: maybe", "maybe"),
        ("## Phase Quality Gate: PASS\n## 5a Objective Gate: PASS | FAIL", "5a Objective Gate: PASS | FAIL"),
    ],
)
def test_a_report_without_a_certain_verdict_is_unclear_at_its_place(text: str, at: str) -> None:
    problem = problem_of(text)
    assert (problem.code, place(text, problem)) == ("report-unclear", at)


def test_a_form_that_has_no_verdict_in_the_text_does_not_spoil_the_one_that_has() -> None:
    assert report_of("## Task Complete\n**Status**: Complete\n## Requirements\nmet\n").phases == ("4a",)
    assert report_of("## Phase Quality Gate: FAIL\n## Failure Analysis\n").phases == ("4b",)


@pytest.mark.parametrize(
    "text",
    ["", "notes\n", "**Status**: PASS", "> **PHASE GATE STATUS**: PASS", "```\n## Success Learnings\n"],
)
def test_a_text_that_no_form_fits_is_unknown(text: str) -> None:
    problem = problem_of(text)
    assert (problem.code, problem.span) == ("report-unknown", None)


def test_a_form_without_words_takes_any_single_word() -> None:
    forms = [ReportForm("x", {"Note": ""}, ("Result",))]
    assert report_of("**Result**: Needs-Work", forms).outcome == "needs_work"
    assert report_of("## Note\n", forms).outcome == "ok"
    assert "one word" in problem_of("**Result**: a / b", forms).message


def test_a_form_with_words_but_no_field_reads_its_heading() -> None:
    forms = [ReportForm("x", {"Note": ""}, outcomes=("good", "Not-So-Good"))]
    assert report_of("## Note: not so good", forms).outcome == "Not-So-Good"
    assert "the heading" in problem_of("## Note", forms).message


# --- the rest


def test_a_report_says_which_stage_tasks_and_round_it_is_about() -> None:
    report = report_of(
        "## Phase Quality Gate: FAIL\n\n**Phase**: 1 (Tasks 01-02)\n**Iteration**: 2 of 3\n\n"
        "### Fix Scope\n\nSee [the log](x.md).\nOnly tasks [02, `shop-04`] require fixes; not [05].\n"
    )
    assert (report.stage, report.iteration, report.tasks_named) == ("1", 2, ("02", "shop-04"))
    assert dict(report.fields) == {"Phase": "1 (Tasks 01-02)", "Iteration": "2 of 3"}


@pytest.mark.parametrize(
    ("value", "stage"),
    [
        ("Phase 2", "2"),
        ("stage 3.5: Core", "3.5"),
        ("[1]", "1"),
        ("4b", "4b"),
        ("", ""),
        ("**2** of 6", "2"),
        ("?", ""),
    ],
)
def test_a_stage_is_the_leading_word_of_its_field(value: str, stage: str) -> None:
    assert report_of(f"## Failure Analysis\n**Phase**: {value}\n").stage == stage


def test_two_stages_are_unclear() -> None:
    problem = problem_of("## Failure Analysis\n**Phase**: 1\n**Phase**: 2\n")
    assert problem.code == "report-unclear"
    assert problem.message == "stage 1 in line 2, but stage 2 in line 3"


def test_a_task_file_is_named_without_its_folder_and_remarks() -> None:
    text = "## Task Complete\n**Status**: Complete\n**Task File**: `tasks/shop/02-cart.md` (again), \n"
    assert report_of(text).tasks_named == ("02-cart.md",)
    assert report_of("## Task Complete\n**Status**: Complete\n**Task File**: 02, [03]\n").tasks_named == (
        "02",
        "03",
    )


def test_a_fix_scope_without_brackets_names_no_task() -> None:
    assert report_of("## Phase Quality Gate: FAIL\n### Fix Scope\nall of them [ ]\n").tasks_named == ()


def test_an_iteration_without_a_number_is_none() -> None:
    assert report_of("## Success Learnings\n**Iteration**: N of 3\n").iteration == 0


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("**Summary**: It `works`\n", "It works"),
        ("**Root Cause**: a typo\n", "a typo"),
        ("**Summary**:\n\n### Root Cause\n\n| a |\n\na typo\nin one file\n\nmore\n", "a typo in one file"),
        ("### Summary\n\n### Next\n**Phase**: 1\nFirst words.\n---\n", "First words."),
        ("line one\n| a | b |\n", "line one"),
        ("\n---\n\n***\n", ""),
        ("x" * 400, "x" * 300),
        ("x\n" * 400, ("x " * 150)),
    ],
)
def test_a_message_is_the_first_line_of_substance(rest: str, message: str) -> None:
    assert report_of(f"# Failure Analysis\n\n{rest}").message == message


def test_manual_criteria_are_listed_from_tables_and_lists() -> None:
    report = report_of(
        "**5a OBJECTIVE GATE STATUS**: PASS\n\n"
        "| Task | Criterion | Status |\n|---|---|---|\n| 01 | it adds up | ✅ |\n"
        "| 02 | it looks well | ⚠️ MANUAL |\n| 03 | it sounds well | manual |\n\n"
        "| What | How |\n|---|---|\n| smell | MANUAL |\n| MANUAL: taste |\n| a manual | no |\n\n"
        "- [ ] MANUAL: touch\n- [MANUAL] **look**\n* **MANUAL** - feel\n1. MANUAL\n"
        "- manual labour\nMANUAL: no item\n"
    )
    expected = (
        "it looks well",
        "it sounds well",
        "smell",
        "| MANUAL: taste |",
        "touch",
        "look",
        "feel",
        "1. MANUAL",
    )
    assert report.manual_criteria == expected


def test_the_place_of_a_verdict_is_its_value_or_else_the_heading() -> None:
    assert report_of("**PHASE GATE STATUS**: PASS (1)").span[:4] == (0, 23, 0, 31)
    assert report_of("\n## Success Learnings").span[:4] == (1, 3, 1, 20)


def test_the_same_fields_are_the_same_report_and_others_are_not() -> None:
    text = "**PHASE GATE STATUS**: FAIL\n**Iteration**: 1 of 3\n"
    digest = report_of(text).digest
    assert report_of(text + "\nmore evidence\n").digest == digest
    assert report_of(text.replace("\n", "\r\n")).digest == digest
    for other in (text.replace("1 of", "2 of"), text.replace("FAIL", "PASS"), text + "**Phase**: 1\n"):
        assert report_of(other).digest != digest


# --- any text

PIECES = st.sampled_from(
    [
        *(
            "## Phase Quality Gate: PASS\n",
            "**PHASE GATE STATUS**: ",
            "PASS",
            "FAIL",
            "\n",
            "| ",
            "MANUAL",
            "> ",
        ),
        *("```\n", "## Fix Scope\n", "[01, 02]", "**Phase**: ", "1", "Status: ", "## Requirements\n"),
        *("Mode: POST_DISCOVERY\n", "## Task Complete\n", "Impact: blocking\n", "## Root Cause\n"),
        *("<!--", "-->", "🚀", "|-|-|\n", "- ", "**", ":"),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_no_text_is_refused_and_every_problem_has_its_place(text: str) -> None:
    report, problems = read_report(text, FORMS)
    lines = split_lines(text)
    assert (report is None) == (len(problems) == 1)
    for problem in problems:
        assert problem.code in CODES
        assert problem.span is None or problem.span.end_column <= len(lines[problem.span.line])
    if report:
        assert report.outcome in {outcome for form in FORMS for outcome in form.outcomes} | {"ok"}
        assert len(report.message) <= 300


@given(st.lists(st.sampled_from(["PASS", "FAIL", "PASS | FAIL", "maybe"]), min_size=1, max_size=4))
def test_the_worst_of_verdicts_counts_and_none_beside_what_is_no_verdict(values: list[str]) -> None:
    report, _ = read_report("".join(f"**PHASE GATE STATUS**: {value}\n" for value in values), FORMS)
    is_certain = set(values) <= {"PASS", "FAIL"}
    worst = "fail" if "FAIL" in values else "pass"
    assert (report.outcome if report else None) == (worst if is_certain else None)
