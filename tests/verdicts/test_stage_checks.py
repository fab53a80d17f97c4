"""A PASS of a master plan counts only with the checks that the root names, passed on the files of then."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.journal.journal import EMPTY_RECORD
from phasekeeper.orchestration.states import Basis, CheckResult
from phasekeeper.orchestration.vfs.files import digest_of

from tests.verdicts.runs import CONFIG, Run, plan_run

DECLARED = "checks: {tests: {run: [make]}, lint: {run: [ruff]}}\n"
ASKED = DECLARED + "parameters: {master-plan: {adoption: auto, stage_checks: [tests]}}\n"
NOT_ASKED = DECLARED + "parameters: {master-plan: {adoption: auto}}\n"
JOURNAL = ".phasekeeper/journal.jsonl"
BAD = [each for each in CheckResult if each is not CheckResult.PASSED]


def implemented(*stages: str, config: str = ASKED) -> Run:
    """A plan whose first stage is implemented, and whose check passed on the files as they are."""
    run = plan_run(*(stages or ("x ",))).write(f"/{CONFIG}", config)
    return run.measure("tests", CheckResult.PASSED, "aa").report("4a", "complete", "02")


def forge(run: Run, **fields: object) -> Run:
    """Write a line into the journal by hand, rightly chained."""
    lines = run.files.get(f"{run.at}/{JOURNAL}", "").splitlines()
    given = {"kind": "report", "outcome": "pass", "stage": "1", "seq": len(lines) + 1, **fields}
    said = {name: value for name, value in given.items() if value != EMPTY_RECORD[name]}
    line = json.dumps({**said, "at": run.now.isoformat(), "prev": digest_of(lines[-1]) if lines else ""})
    return run.write(JOURNAL, "".join(f"{each}\n" for each in [*lines, line]))


def tick(run: Run) -> Run:
    """Mark all tasks of the plan as done by hand."""
    plan = run.files[f"{run.at}/MASTER_PLAN.md"].replace("[ ]", "[x]")
    return run.write("MASTER_PLAN.md", plan)


def recorded(run: Run) -> list[tuple[str, str, str]]:
    """(check, step, result) of the measurements in the journal."""
    entries = map(json.loads, run.files[f"{run.at}/{JOURNAL}"].splitlines())
    return [(e["check"], e.get("phase", ""), e["outcome"]) for e in entries if e["kind"] == "verified"]


def finish(run: Run) -> Run:
    """Report all that is left of a plan of one stage."""
    for step, outcome in (("4b", "pass"), ("4c", "ok"), ("5a", "pass"), ("6", "ok")):
        run.report(step, outcome)
    return run


# ---- an honest run


def test_a_pass_counts_with_the_check_passed_and_is_recorded_with_it() -> None:
    run = implemented().report("4b", "pass")
    assert run.standing == "active advance 4c"
    assert recorded(run)[-1] == ("tests", "4b", "passed")
    run.report("4c", "ok").report("5a", "pass").report("6", "ok")
    assert run.evaluation.status == "complete"
    assert [step for _, step, _ in recorded(run)][-3:] == ["4b", "5a", "6"]


def test_saving_a_file_takes_a_pass_away_at_once_and_undoing_it_gives_it_back() -> None:
    run = implemented().report("4b", "pass")
    run.measure("tests", CheckResult.STALE, "bb")
    assert run.standing == "active stay 4b"
    assert "first these checks have to pass: tests" in run.evaluation.suggestion.reason
    [said] = run.messages("report-unsupported")
    assert said.startswith("tasks/f/reports/4b-1-")
    assert said.endswith("it says 4b pass, but the check tests says otherwise (stale: as it is)")
    assert run.measure("tests", CheckResult.PASSED, "aa").standing == "active advance 4c"
    assert run.messages("report-unsupported") == []


@pytest.mark.parametrize("later", BAD)
def test_what_is_saved_later_reopens_neither_a_stage_behind_nor_a_run_that_is_complete(
    later: CheckResult,
) -> None:
    run = implemented("x ", " ").report("4b", "pass").report("4c", "ok")
    assert run.measure("tests", later, "bb").standing == "active stay 4a"
    assert run.trace().facts.stage == "2"
    whole = finish(implemented()).measure("tests", later, "cc")
    assert whole.evaluation.status == "complete"
    assert whole.messages("report-unsupported") == []


def test_without_the_parameter_a_word_is_enough_and_nothing_is_recorded() -> None:
    run = finish(implemented(config=NOT_ASKED).measure("tests", CheckResult.FAILED))
    assert run.evaluation.status == "complete"
    assert recorded(run) == []
    asked = plan_run("x ").report("4a", "complete", "02").evaluation.suggestion.reports[0]
    assert not [each for each in asked.brings if each.kind == "checks"]


# ---- a dishonest one


@pytest.mark.parametrize("result", BAD)
def test_a_pass_is_refused_while_the_check_has_not_passed(result: CheckResult) -> None:
    run = implemented().measure("tests", result)
    said = run.refusal("4b", "pass")
    assert f"the check tests has passed on the files as they are ({result.value}: as it is)" in said
    assert run.report("4b", "fail", "02").standing == "active regress F1"


def test_a_check_that_nobody_runs_here_has_not_passed() -> None:
    run = implemented()
    run.measured.clear()
    assert "(missing: nobody looks after checks here)" in run.refusal("4b", "pass")


@pytest.mark.parametrize("result", BAD)
def test_a_report_that_is_written_into_the_folder_counts_for_nothing_without_the_check(
    result: CheckResult,
) -> None:
    run = implemented().measure("tests", result)
    run.write("reports/gate.md", run.report_text("4b", "pass"))
    assert tick(run).standing == "active advance 4b"
    [said] = run.messages("report-unsupported")
    assert said.startswith("tasks/f/reports/gate.md:")
    assert run.measure("tests", CheckResult.PASSED).standing == "active stay 5a"


def test_report_files_are_recorded_with_what_was_measured_for_them() -> None:
    run = implemented("x ", " ")
    run.write("reports/gate.md", run.report_text("4b", "pass")).report("4c", "ok")
    assert ("tests", "4b", "passed") in recorded(run)
    assert run.measure("tests", CheckResult.STALE).trace().facts.stage == "2"


@pytest.mark.parametrize("result", BAD)
def test_a_line_written_into_the_journal_is_no_pass(result: CheckResult) -> None:
    run = forge(implemented().measure("tests", result), phase="4b")
    assert run.standing == "active stay 4b"
    tick(forge(run, phase="4c", outcome="ok"))
    assert run.trace().facts.stage == "1"
    for step in ("5a", "6"):
        forge(run, phase=step, outcome="pass" if step == "5a" else "ok", stage="")
    assert run.trace().facts.stage == "1"
    assert run.evaluation.status == "active"


def test_a_measurement_written_into_the_journal_is_none() -> None:
    run = implemented().measure("tests", CheckResult.FAILED)
    forge(run, kind="verified", check="tests", outcome="passed", phase="4b")
    tick(forge(run, phase="4b"))
    assert run.trace().facts.stage == "1"
    assert "evidence-unverified" in run.codes()


def test_an_older_result_carries_no_later_pass() -> None:
    run = implemented().report("4b", "pass").report("4b", "fail", "02")
    run.report("F1", "ok").report("F2", "complete", "02").measure("tests", CheckResult.STALE)
    tick(forge(run, phase="4b"))
    assert run.trace().facts.stage == "1"
    assert run.standing == "active stay 4b"
    again = implemented("x ", "x ")
    again.report("4b", "pass").report("4c", "ok").report("4a", "complete", "04")
    again.measure("tests", CheckResult.STALE)
    tick(forge(again, phase="4b", stage="2"))
    assert again.trace().facts.stage == "2"


def test_the_whole_is_validated_by_the_check_and_so_is_the_end() -> None:
    run = implemented().report("4b", "pass").report("4c", "ok").measure("tests", CheckResult.FAILED)
    assert "5a pass needs that the check tests has passed" in run.refusal("5a", "pass")
    forge(run, phase="5a", stage="")
    assert run.standing == "active stay 5a"
    forge(run, phase="6", outcome="ok", stage="")
    assert run.standing == "active stay 5a"
    assert run.measure("tests", CheckResult.PASSED).evaluation.status == "active"
    assert run.report("6", "ok").evaluation.status == "complete"
    other = implemented().report("4b", "pass").report("4c", "ok").report("5a", "pass")
    assert other.standing == "active advance 6"
    assert other.measure("tests", CheckResult.STALE).standing == "active stay 5a"
    forge(other, phase="6", outcome="ok", stage="")
    assert other.evaluation.status == "active"


def test_a_person_may_still_move_the_run_past_it() -> None:
    run = implemented().measure("tests", CheckResult.FAILED).override("4c")
    assert run.report("4c", "ok").override("6").report("6", "ok").evaluation.status == "complete"


# ---- the configuration


def test_a_name_that_no_check_has_is_told_and_counts_as_not_passed() -> None:
    run = implemented(config=ASKED.replace("[tests]", "[tests, test]"))
    assert run.messages("parameter-invalid") == [
        f"{CONFIG}:2: stage_checks: no check is called 'test'; did you mean 'tests'?; it counts as not passed"
    ]
    assert "the check test has passed" in run.refusal("4b", "pass")


def test_taking_the_check_itself_out_of_the_configuration_passes_nothing() -> None:
    run = implemented().write(f"/{CONFIG}", ASKED.replace(DECLARED, ""))
    assert "(missing: the configuration declares it no more" in run.refusal("4b", "pass")
    assert "the root declares no check of that name" in run.commit().refusal("4b", "pass")


@pytest.mark.parametrize(
    "loosened", [NOT_ASKED, ASKED.replace("[tests]", "[]"), ASKED.replace("[tests]", "[lint]")]
)
def test_a_check_that_is_asked_for_no_more_is_so_until_a_person_says_otherwise(loosened: str) -> None:
    run = implemented().measure("tests", CheckResult.FAILED).measure("lint", CheckResult.PASSED)
    run.write(f"/{CONFIG}", loosened)
    assert "the check tests has passed" in run.refusal("4b", "pass")
    [said] = run.messages("definition-changed")
    assert "['tests'] holds until a person accepts or commits it" in said
    assert run.copy().commit().report("4b", "pass").standing == "active advance 4c"
    assert run.answer("definition", "accept").report("4b", "pass").standing == "active advance 4c"


def test_what_head_asks_for_holds_before_anything_is_recorded() -> None:
    run = plan_run("x ").write(f"/{CONFIG}", ASKED).commit().write(f"/{CONFIG}", NOT_ASKED)
    run.measure("tests", CheckResult.FAILED).report("4a", "complete", "02")
    assert "the check tests has passed" in run.refusal("4b", "pass")


def test_one_more_check_may_be_asked_for_by_anybody() -> None:
    run = implemented().write(f"/{CONFIG}", ASKED.replace("[tests]", "[tests, lint]"))
    assert "definition-changed" not in run.codes()
    assert "the check lint has passed" in run.measure("lint", CheckResult.FAILED).refusal("4b", "pass")


@pytest.mark.parametrize("given", ["tests", "3", "{tests: 1}", "[1]"])
def test_what_is_no_list_of_names_is_told(given: str) -> None:
    run = implemented().write(f"/{CONFIG}", ASKED.replace("[tests]", given))
    assert "is no list of names; [] is used" in run.messages("parameter-invalid")[0]


# ---- what it rests on


def test_a_gate_names_the_check_that_it_rests_on() -> None:
    """A gate has the weakest basis of what it rests on: here there is a word beside what was measured."""
    run = implemented().report("4b", "pass")
    gate = next(each for each in run.evaluation.gates if each.id == "2")
    assert gate.basis is Basis.REPORTED
    said = [(each.expression, each.value, each.path) for each in gate.criteria[0].evidence]
    assert ("checks.tests.result", "passed", CONFIG) in said
