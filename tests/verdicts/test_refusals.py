"""A report that brings no change is refused and recorded; the third in a row asks a person."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from phasekeeper.orchestration.evaluation.trace import CommandRefused
from phasekeeper.orchestration.result.phrases import shell_word
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.updates.refusals import RecordedRefusal
from phasekeeper.orchestration.updates.state_writes import permitted_updates

from tests.verdicts.runs import Run, built_in, plan_run

CREATES = "## Meta\n\n## Files to Change\n\n| File | Action |\n|---|---|\n| `src/new.py` | create |\n"
DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+{}\n"


def records(run: Run) -> list[dict[str, object]]:
    return [json.loads(line) for line in run.files[f"{run.at}/.phasekeeper/journal.jsonl"].splitlines()]


def fix() -> Run:
    """A run that awaits the fix of task 02, which declares a file."""
    run = plan_run("x ", t02=CREATES).write("/src/new.py", "NEW = 1\n")
    run.report("4a", "complete", "02", data={}).report("4b", "fail", "02").report("F1", "ok")
    return run


def no_fix(run: Run, **more: object) -> str:
    return run.refusal("F2", "complete", "02", data={}, **more)


def blocked(step: str) -> Run:
    """A task whose plan or diff a review blocks."""
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1")
    run.write("state.json", {"phase": step, "actors": {}}).write("planning/planning.ai.json", {"id": "T1"})
    run.write("review/plan-review.json", {"ok": step == "codegen"})
    run.write("code/diff.patch", DIFF.format("b")).write("code/files/x", "b\n")
    return run.write("review/code-review.json", {"ok": False, "blocking_issues": ["wrong"]})


def failed(step: str) -> Run:
    """A run in which a verdict failed, and nothing was done about it."""
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n").report("4a", "complete", "02")
    for each, outcome in [("4b", "pass"), ("4c", "ok"), ("5a", "pass"), ("5b", "pass")]:
        run.report(each, "fail" if each == step else outcome)
        if each == step:
            break
    return run


# ---- the count


def test_a_refusal_for_want_of_change_is_recorded_and_changes_no_standing() -> None:
    run = fix()
    before, standing = records(run), (run.standing, run.gate("3"), run.codes())
    assert "refusal 1 of 3 in a row of F2; then a person is asked" in no_fix(run)
    *same, refused = records(run)
    assert same == before
    assert (refused["kind"], refused["phase"], refused["tasks"]) == ("refused", "F2", ["f-02"])
    assert [each["path"] for each in refused["files"]] == ["src/new.py"]  # type: ignore[union-attr]
    assert refused["about"] and "a file was changed since 4b fail" in str(refused["why"])
    assert (run.standing, run.gate("3"), run.codes()) == standing


CASES: dict[str, tuple[Callable[[], Run], str, str, dict[str, object]]] = {
    "a fix without a change": (fix, "F2", "complete", {"data": {}, "tasks": ("02",)}),
    "code that the review blocks": (lambda: blocked("codegen"), "codegen", "ok", {}),
    "a plan that the review blocks": (lambda: blocked("planning"), "planning", "ok", {}),
    "4b passed without remedies": (lambda: failed("4b"), "4b", "pass", {}),
    "5a passed without remedies": (lambda: failed("5a"), "5a", "pass", {}),
    "5b passed without remedies": (lambda: failed("5b"), "5b", "pass", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_third_refusal_in_a_row_asks_a_person(case: str) -> None:
    begin, step, outcome, given = CASES[case]
    run, more = begin(), dict(given)
    tasks = more.pop("tasks", ())
    assert isinstance(tasks, tuple)
    for number in (1, 2):
        assert f"refusal {number} of 3 in a row" in run.refusal(step, outcome, *tasks, **more)
        assert not run.evaluation.questions
    assert "a person is asked now how to go on" in run.refusal(step, outcome, *tasks, **more)
    [question] = run.evaluation.questions
    assert question.kind == "escalation" and f"3 reports of {step} in a row were refused" in question.question
    assert [option.id for option in question.options] == ["continue", "accept", "stop"]
    assert run.standing == "waiting_human escalate"
    lines = len(records(run))
    assert "a person decides first" in run.refusal(step, outcome, *tasks, **more)
    assert len(records(run)) == lines


@pytest.mark.parametrize("step", ["codegen", "planning"])
def test_a_refusal_for_want_of_another_file_names_the_file(step: str) -> None:
    run = blocked(step)
    file = {"codegen": "code/diff.patch", "planning": "planning/planning.ai.json"}[step]
    assert f"blocks: {run.at}/{file}. This is refusal 1 of 3 in a row of {step}" in run.refusal(step, "ok")
    [report] = run.evaluation.suggestion.reports
    assert [each.paths for each in report.brings] == [(f"{run.at}/{file}",)]


def test_the_same_report_again_is_such_a_refusal() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    text = run.report_text("4b", "fail")
    run.report("4b", "fail", report=text)
    for number in (1, 2):
        assert f"refusal {number} of 3 in a row" in run.refusal("4b", "fail", report=text)
    run.report("4b", "fail")
    assert "refusal 1 of 3 in a row" in run.refusal("4b", "fail", report=run.files[last_text(run)])


def last_text(run: Run) -> str:
    return str(records(run)[-1]["path"])


def test_what_is_missing_beside_the_change_hides_no_refusal() -> None:
    run = failed("5a")
    tasks = [{"title": "Mend it", "files": ["src/mended.py"]}]
    run.report("create-fix-tasks", "ok", data={"title": "Remediation", "tasks": tasks})
    said = run.refusal("4a", "complete", "03", data={})
    assert "these files exist: src/mended.py; a file was changed since 5a fail" in said
    assert "refusal 1 of 3 in a row" in said


def test_a_refusal_for_anything_else_is_not_recorded() -> None:
    run = plan_run("x ", t02=CREATES)
    said = run.refusal("4a", "complete", "02", data={})
    assert "nothing was recorded: 4a complete needs that these files exist" in said
    assert not [path for path in run.files if path.endswith("journal.jsonl")]


# ---- what takes it back


def test_a_change_that_counts_takes_the_count_back() -> None:
    run = fix()
    no_fix(run)
    no_fix(run)
    run.write("/src/new.py", "NEW = 2\n").report("F2", "complete", "02", data={})
    run.report("4b", "fail", "02").report("F1", "ok")
    assert "refusal 1 of 3 in a row" in no_fix(run)


def test_a_file_that_was_changed_between_takes_the_count_back() -> None:
    run = blocked("codegen")
    run.refusal("codegen", "ok")
    run.refusal("codegen", "ok")
    run.write("code/diff.patch", DIFF.format("c")).write("code/files/x", "c\n")
    run.write("review/code-review.json", {"ok": False, "blocking_issues": ["still wrong"]})
    assert "refusal 1 of 3 in a row" in run.refusal("codegen", "ok")


def test_neither_unfinished_work_nor_another_step_takes_it_back() -> None:
    run = fix()
    no_fix(run)
    run.report("F2", "partial", "02")
    no_fix(run)
    run.report("F1", "ok")
    assert "a person is asked now" in no_fix(run, message="really done")


def test_a_report_file_is_recorded_before_the_refusal() -> None:
    run = fix()
    no_fix(run)
    run.write(
        "reports/f1.md",
        "# Failure Analysis\n\n**Phase**: 1\n\n01 and 02 read a field that is gone.\n",
    )
    no_fix(run)
    assert [record["kind"] for record in records(run)[-3:]] == ["refused", "report", "refused"]


# ---- what a person says


def asked() -> tuple[Run, str]:
    run = fix()
    for _ in range(3):
        no_fix(run)
    return run, run.evaluation.questions[0].id


def test_an_answer_lets_the_run_go_on_and_counts_anew() -> None:
    run, question = asked()
    run.answer(question, "continue", why="rename the field in src/new.py")
    assert run.standing == "active advance F2" and not run.evaluation.questions
    assert "refusal 1 of 3 in a row" in no_fix(run)


def test_a_person_lets_a_report_count_without_a_change_once() -> None:
    run, question = asked()
    run.answer(question, "accept").report("F2", "complete", "02", data={})
    assert run.standing == "active advance 4b"
    run.report("4b", "fail", "02").report("F1", "ok")
    assert "refusal 1 of 3 in a row" in no_fix(run)


def test_a_person_lets_a_failed_verdict_be_given_again() -> None:
    run = failed("4b")
    for _ in range(3):
        run.refusal("4b", "pass")
    run.answer(run.evaluation.questions[0].id, "accept").report("4b", "pass")
    assert run.standing == "active advance 4c"


def test_a_person_stops_the_run() -> None:
    run, question = asked()
    run.answer(question, "stop", why="it goes in circles")
    assert run.standing == "blocked stop"


def test_an_answer_that_nobody_signed_changes_nothing() -> None:
    run, question = asked()
    run.answer(question, "accept")
    run.proven.clear()
    assert run.standing == "waiting_human escalate" and "decision-unverified" in run.codes()


def test_a_refusal_that_no_journal_can_keep_is_refused_all_the_same() -> None:
    command = Command("report", "F2", "complete", tasks=("02",), actor="a\ud800")
    with pytest.raises(CommandRefused, match="cannot be kept as text"):
        fix().apply(command)


# ---- a call that is repeated

PARTIAL = Command("report", "4a", "partial", tasks=("02",), actor="codex", channel="mcp", request="c-1")


def test_a_call_repeated_with_its_request_id_writes_nothing() -> None:
    run = plan_run("x ").apply(PARTIAL)
    files = dict(run.files)
    assert run.apply(PARTIAL).files == files
    assert records(run)[-1]["request"] == "c-1"
    run.apply(PARTIAL._replace(request="c-2"))
    assert len(records(run)) == 2


def test_a_refused_call_that_is_repeated_is_refused_once() -> None:
    run = fix()
    command = Command("report", "F2", "complete", tasks=("02",), actor="codex", request="c-1")
    with pytest.raises(RecordedRefusal, match="refusal 1 of 3 in a row"):
        run.apply(command)
    files = dict(run.files)
    with pytest.raises(CommandRefused, match="needs that a file was changed") as refused:
        run.apply(command)
    assert not isinstance(refused.value, RecordedRefusal) and run.files == files


def test_a_question_is_asked_once() -> None:
    command = Command("raise", message="Which of both?", request="c-1")
    run = plan_run("x ").apply(command)
    assert len(records(run.apply(command))) == 1
    with pytest.raises(CommandRefused, match="the request id c-1 is that of the last record, question"):
        run.apply(command._replace(message="Another?"))


@pytest.mark.parametrize("other", [{"outcome": "complete"}, {"step": "4b"}, {"kind": "redo"}])
def test_the_id_of_another_call_is_refused(other: dict[str, str]) -> None:
    run = plan_run("x ").apply(PARTIAL)
    with pytest.raises(CommandRefused, match="is that of the last record, report 4a partial"):
        run.apply(PARTIAL._replace(**other))


def test_a_call_repeated_after_another_record_is_judged_anew() -> None:
    run = plan_run("x ").apply(PARTIAL).apply(PARTIAL._replace(request="c-2"))
    assert len(records(run.apply(PARTIAL))) == 3


def test_a_failure_of_a_step_that_its_files_show_as_done_is_refused_with_the_file_that_decides() -> None:
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1")
    run.write("state.json", {"phase": "accept", "actors": {}}).write(
        "planning/planning.ai.json", {"id": "T1"}
    )
    run.write("review/plan-review.json", {"ok": True}).write("code/diff.patch", DIFF.format("b"))
    run.write("code/files/x", "b\n").write("review/code-review.json", {"ok": True})
    run.write("eval/eval-report.json", {"overall_pass": True, "status": "completed"})
    said = run.refusal("test", "error")
    assert said.startswith("nothing was recorded: test counts as done by its evidence (")
    assert "a report of error changes nothing of that, " in said and "eval-report.json has to say it" in said
    assert "accept is a person's to end" in run.refusal("test", "ok")


def test_what_a_report_may_not_write_names_the_steps_that_write_it() -> None:
    run = Run(built_in("phase-loop"), ".claude/state")
    start = {"version": "2.0", "phase": "evaluate", "status": "running", "iteration": 1, "gates": {}}
    queue = [{"id": "WQ-1", "priority": "S2", "title": "t", "status": "pending"}]
    run.write("loop.state.json", {**start, "workQueue": queue})
    cut = permitted_updates(run.trace(), "evaluate", {"workQueue": []}, ("always", "ok", "evaluate.ok"))
    [note] = cut.ignored
    assert note.startswith("workQueue: its reports do not write it; those of ") and note.endswith(" do")


def test_a_task_of_a_plan_that_is_gone_is_refused_with_its_path() -> None:
    run = plan_run("x ").remove("MASTER_PLAN.md")
    with pytest.raises(CommandRefused, match=r"'02' is no task: the plan \S*MASTER_PLAN.md cannot be read"):
        run.apply(Command("raise", message="Which one?", tasks=("02",)))


def test_a_word_of_a_command_is_quoted_where_a_shell_would_take_it_apart() -> None:
    assert (shell_word("a/b:c"), shell_word("it's")) == ("a/b:c", "'it'\"'\"'s'")
