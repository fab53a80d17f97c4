"""A judging step comes with something to look at: its text, data, or files that are as they should be."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.vfs.files import digest_of

from tests.verdicts.runs import Run, built_in, plan_run

ADDRESS = "pr_url (the https address of a pull request, as https://HOST/OWNER/NAME/pull/1"

REPORT = (
    "# Phase Quality Gate\n\n**PHASE GATE STATUS**: {word}\n\nRan the tests of both tasks.\n\n"
    "- 01: met\n- 02: met\n"
)


def checked() -> Run:
    """A run whose first stage awaits its quality gate."""
    return plan_run("x ").report("4a", "complete", "02")


def last_record(run: Run) -> dict[str, object]:
    return json.loads(run.files["tasks/f/.phasekeeper/journal.jsonl"].splitlines()[-1])


# ---- the text


@pytest.mark.parametrize("word", ["pass", "fail"])
def test_a_quality_gate_without_its_text_is_refused_with_the_form(word: str) -> None:
    said = checked().refusal("4b", word, report="", message="all good")
    assert "a report of 4b comes with its text" in said
    assert r"**PHASE GATE STATUS**: <PASS or FAIL>" in said


@pytest.mark.parametrize("phase", ["F1", "5a", "5b", "6"])
def test_each_judging_step_asks_for_its_text(phase: str) -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n").report("4a", "complete", "02")
    way = {"F1": [("4b", "fail")], "5a": [("4b", "pass"), ("4c", "ok")]}
    way["5b"] = [*way["5a"], ("5a", "pass")]
    way["6"] = [*way["5b"], ("5b", "pass")]
    for step, outcome in way[phase]:
        run.report(step, outcome)
    outcome = "ok" if phase in ("F1", "6") else "pass"
    assert f"a report of {phase} comes with its text" in run.refusal(phase, outcome, report="")
    run.report(phase, outcome)


def test_the_text_says_the_verdict_that_is_reported() -> None:
    said = checked().refusal("4b", "pass", report=REPORT.format(word="FAIL"))
    assert "the text is a report of 4b fail, not of 4b pass" in said


@pytest.mark.parametrize(
    "text",
    [
        "# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n",
        "**PHASE GATE STATUS**: PASS\n\n<what was looked at, and what it showed>\n",
    ],
)
def test_a_bare_verdict_or_an_unfilled_form_is_no_text(text: str) -> None:
    assert "does not say in a sentence" in checked().refusal("4b", "pass", report=text)


def test_the_form_as_it_is_shown_is_no_report() -> None:
    run = checked()
    form = next(each.form for each in run.evaluation.suggestion.reports if each.step == "4b")
    assert form and "is no verdict" in run.refusal("4b", "pass", report=form)


def test_the_text_is_filed_by_the_record_and_not_folded_again() -> None:
    run = checked().report("4b", "pass", report=REPORT.format(word="PASS"))
    record = last_record(run)
    path = f"tasks/f/reports/4b-1-{digest_of(REPORT.format(word='PASS'))[:8]}.md"
    assert (record["path"], run.files[path]) == (path, REPORT.format(word="PASS"))
    assert [each["path"] for each in record["files"]] == [path]  # type: ignore[union-attr]
    assert run.standing == "active advance 4c"
    assert not [code for code in run.codes() if code.startswith("report")]


def test_the_summary_of_a_call_may_be_the_text() -> None:
    run = checked().report("4b", "fail", report="", message=REPORT.format(word="FAIL"))
    assert last_record(run)["message"] == "Ran the tests of both tasks."
    run.report("F1", "ok").report("F2", "complete", "01").report("F2", "complete", "02").report("4b", "fail")
    assert sum(path.startswith("tasks/f/reports/4b-1-") for path in run.files) == 2


def test_the_text_names_the_tasks_that_failed() -> None:
    run = checked()
    run.report(
        "4b", "fail", report=REPORT.format(word="FAIL") + "\n### Fix Scope\n\nOnly tasks [02] need fixes.\n"
    )
    assert last_record(run)["tasks"] == ["f-02"]


def test_the_same_report_again_is_refused_while_nothing_has_changed() -> None:
    run = checked().report("4b", "fail", report=REPORT.format(word="FAIL"))
    assert "nothing has changed since" in run.refusal("4b", "fail", report=REPORT.format(word="FAIL"))
    run.report("4b", "fail")
    assert "4b failed (2 of 3)" in run.evaluation.suggestion.reason


# ---- files

CREATES = """\
## Meta

## Files to Change

| File | Action |
|---|---|
| `src/new.py` | create |
| `src/old.py` | delete |
"""


def with_file() -> Run:
    """A run whose task 02 was reported with the file that it declares."""
    run = plan_run("x ", t02=CREATES).write("/src/new.py", "NEW = 1\n")
    return run.report("4a", "complete", "02", data={})


def test_a_task_is_complete_with_the_files_that_it_declares() -> None:
    run = plan_run("x ", t02=CREATES).write("/src/old.py", "OLD = 1\n")
    said = run.refusal("4a", "complete", "02", data={})
    assert "these files exist: src/new.py; these files are gone: src/old.py" in said
    run.report("4a", "partial", "02")
    run.write("/src/new.py", "NEW = 1\n")
    del run.files["src/old.py"]
    run.report("4a", "complete", "02", data={})
    kept = {"path": "src/new.py", "digest": digest_of("NEW = 1\n")}
    assert kept in last_record(run)["files"]  # type: ignore[operator]


def test_a_report_that_names_no_task_is_told_so_beside_what_it_lacks() -> None:
    ending = "; and it names no task that it is about (`--task`)"
    assert plan_run("x ").refusal("4a", "complete", data={}).endswith(ending)
    run = (
        plan_run("x ").write("/src/a.py", "A = 1\n").report("4a", "complete", "02").report("4b", "fail", "02")
    )
    sent_back = run.report("F1", "ok").refusal("F2", "complete", data={})
    assert f": name it{ending}" in sent_back


@pytest.mark.parametrize(
    "named", ["", "changed src/none.py", "changed tasks/f/MASTER_PLAN.md", "all is done"]
)
def test_a_task_that_declares_no_file_is_reported_with_what_was_changed(named: str) -> None:
    run = plan_run("x ")
    assert "it names the files that were changed" in run.refusal(
        "4a", "complete", "02", data={}, message=named
    )
    lost = run.refusal("4a", "complete", "02", data={"files": ["src/none.py", 7]}, message=named)
    assert lost.partition("; not there: ")[2].startswith("src/none.py")
    run.write("/src/a.py", "A = 1\n").report("4a", "complete", "02", data={}, message="changed src/a.py")
    assert run.standing == "active advance 4b"


def test_a_fix_changes_a_file_since_the_failure() -> None:
    run = (
        plan_run("x ", t02=CREATES).write("/src/new.py", "NEW = 1\n").report("4a", "complete", "02", data={})
    )
    run.report("4b", "fail", "02").report("F1", "ok")
    said = run.refusal("F2", "complete", "02", data={})
    assert "a file was changed since 4b fail: src/new.py" in said
    assert "a file was changed" in run.write("/src/new.py", "NEW = 1\n").refusal(
        "F2", "complete", "02", data={}
    )
    run.write("/src/new.py", "NEW = 2\n").report("F2", "complete", "02", data={})
    assert run.standing == "active advance 4b"


def test_a_fix_may_be_in_another_file_that_its_report_names() -> None:
    run = (
        plan_run("x ", t02=CREATES).write("/src/new.py", "NEW = 1\n").report("4a", "complete", "02", data={})
    )
    run.report("4b", "fail", "02").report("F1", "ok").write("/src/other.py", "OTHER = 1\n")
    run.report("F2", "complete", "02", data={"files": ["src/other.py"]})
    assert run.standing == "active advance 4b"


def test_a_stage_passes_with_the_files_that_its_tasks_declare() -> None:
    run = plan_run("x ", t01=CREATES).report("4a", "complete", "02")
    assert "these files exist: src/new.py" in run.refusal("4b", "pass")
    run.report("4b", "fail")
    assert run.gate("3") == "failed"


# ---- report files

DONE = "## Task Complete\n\n**Task File**: {n}-t.md\n**Status**: Complete\n"
BARE = {
    "4b": "# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n",
    "F1": "# Failure Analysis\n\n**Phase**: 1\n",
    "5a": "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: PASS\n",
    "5b": "# 5b Subjective Gate\n\n**5b SUBJECTIVE GATE STATUS**: PASS\n",
    "6": "# Success Learnings\n",
}


def filed(run: Run, name: str, text: str) -> Run:
    return run.write(f"reports/{name}.md", text)


def test_a_report_file_counts_once_the_files_of_its_task_are_there() -> None:
    run = filed(plan_run("x ", t02=CREATES).write("/src/old.py", "OLD = 1\n"), "a", DONE.format(n="02"))
    assert run.standing == "active stay 4a"
    [message] = run.messages("report-unsupported")
    said = "tasks/f/reports/a.md:4: a report of 4a or F2 needs that these files exist: src/new.py; "
    assert message == f"{said}these files are gone: src/old.py"
    del run.files["src/old.py"]
    assert run.write("/src/new.py", "NEW = 1\n").standing == "active advance 4b"
    assert not run.messages("report-unsupported")


def test_a_report_file_of_a_task_without_files_names_what_was_changed() -> None:
    run = filed(plan_run("x ").write("/src/a.py", "A = 1\n"), "a", DONE.format(n="02"))
    [message] = run.messages("report-unsupported")
    assert "it names the files that were changed" in message
    assert filed(run, "a", DONE.format(n="02") + "\nChanged src/a.py.\n").standing == "active advance 4b"


@pytest.mark.parametrize("phase", BARE)
@pytest.mark.parametrize("more", ["", "\n<what was looked at, and what it showed>\n"])
def test_a_report_file_of_a_verdict_alone_counts_for_nothing(phase: str, more: str) -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n").report("4a", "complete", "02")
    way = {"4b": [], "F1": [("4b", "fail")], "5a": [("4b", "pass"), ("4c", "ok")]}
    way["5b"] = [*way["5a"], ("5a", "pass")]
    way["6"] = [*way["5b"], ("5b", "pass")]
    for step, outcome in way[phase]:
        run.report(step, outcome)
    before = run.standing
    assert filed(run, "z", BARE[phase] + more).standing == before
    [message] = run.messages("report-unsupported")
    assert "its text says in a sentence what was looked at and found" in message
    spoken_of = "\nRan all of it; 02 lacks a test.\n\n- 01: met\n- 02: met\n"
    assert filed(run, "z", BARE[phase] + spoken_of).standing != before


def test_a_report_file_says_of_each_task_whether_its_criteria_are_met() -> None:
    run = checked()
    before = run.standing
    assert filed(run, "z", BARE["4b"] + "\nAll of it is fine.\n").standing == before
    [message] = run.messages("report-unsupported")
    assert "it does not of f-01" in message
    assert filed(run, "z", BARE["4b"] + "\nRan all of it.\n\n- 01: met\n- 02: met\n").standing != before


def test_a_failure_counts_as_it_is_filed() -> None:
    run = filed(checked(), "z", BARE["4b"].replace("PASS", "FAIL"))
    assert (run.gate("3"), run.messages("report-unsupported")) == ("failed", [])


def test_a_fix_by_a_report_file_changes_a_file_since_the_failure() -> None:
    run = with_file().report("4b", "fail", "02").report("F1", "ok")
    filed(run, "z", DONE.format(n="02"))
    [message] = run.messages("report-unsupported")
    assert "a file was changed since 4b fail: src/new.py" in message
    assert run.write("/src/new.py", "NEW = 2\n").standing == "active advance 4b"


def test_work_that_a_failure_judged_needs_nothing_more_but_its_fix_does() -> None:
    run = filed(plan_run("x ", t02=CREATES), "1", DONE.format(n="02"))
    filed(run, "2", "# Phase Quality Gate\n\n**Phase**: 1\n**PHASE GATE STATUS**: FAIL\n")
    assert (run.gate("3"), run.messages("report-unsupported")) == ("failed", [])
    filed(run, "3", BARE["F1"] + "\nIt is not there.\n")
    for number in ("01", "02"):
        filed(run, f"4-{number}", DONE.format(n=number) + "\nSee src/old.py.\n")
    # A clone saves all files at once.
    run.mtimes = dict.fromkeys(run.files, run.mtimes["tasks/f/01-t.md"])
    assert run.standing == "active advance F2"
    assert [said.partition(":")[0] for said in run.messages("report-unsupported")] == [
        "tasks/f/reports/4-01.md", "tasks/f/reports/4-02.md",
    ]  # fmt: skip


def test_a_report_file_that_a_person_committed_needs_no_files_any_more() -> None:
    run = filed(plan_run("x ", t02=CREATES), "1", DONE.format(n="02"))
    filed(run, "2", BARE["4b"])
    assert run.commit().standing == "active advance 4c"
    assert filed(run, "2", BARE["4b"] + "\n").standing == "active advance 4b"


def test_a_stage_is_not_walked_by_files_alone() -> None:
    """The run of the example: a failed gate, and nothing made since."""
    run = plan_run("x ", t02=CREATES).report("4a", "partial", "02")
    for name, text in (("1", DONE.format(n="02")), *BARE.items()):
        filed(run, name, text)
    run.write("MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]"))
    for name in ("5a", "6"):
        filed(run, name, BARE[name] + "\nRan all of it.\n")
    assert run.evaluation.status == "active"
    assert run.evaluation.current_phase == "4a"


# ---- data, and what else must hold


@pytest.mark.parametrize(
    "data",
    [
        {}, {"pr_url": "<address of the pull request>"}, {"pr_url": 3}, {"commit": "abc1234"},
        *({"pr_url": each} for each in (
            "https://", "https://x", "https://example.org/", "http://example.org/o/r/pull/1", "https:///o/r/pull/1",
            "https://example.org/o/r", "https://example.org/o/r/pull/", "https://example.org/o/r/pull/one",
            "https://example.org/pull/1", "https://example .org/o/r/pull/1", "https://a..b/o/r/pull/1",
            "ftp://example.org/o/r/pull/1", "https://me:word@example.org/o/r/pull/1", "https://example.org/o/r/issues/1",
        )),
    ],
)  # fmt: skip
def test_finalize_needs_a_pull_request_or_a_commit_that_exists(data: dict[str, object]) -> None:
    run = design()
    assert ADDRESS in run.refusal("Finalize", "ok", data=data)
    assert design().report("Finalize", "ok", data={"commit": "abc1234"}, commits=frozenset(["abc1234"]))
    run.report("Finalize", "ok", data={"pr_url": "https://git.example.org/o/r/pull/1"})
    assert run.standing == "complete stop"


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/o/r/pull/12", "https://github.com/o/r/pull/12/files#diff", "https://localhost:3000/o/r/pulls/2",
        "https://gitlab.com/g/sub/r/-/merge_requests/3", "https://bitbucket.org/o/r/pull-requests/4",
        "https://dev.azure.com/o/p/_git/r/pullrequest/5?_a=files", "https://review.example.org/c/project/+/123",
        "https://code.launchpad.net/~o/p/+git/r/+merge/6", "https://lists.sr.ht/~o/list/patches/7", "https://phab.example.org/D8",
    ],
)  # fmt: skip
def test_a_pull_request_of_any_forge_ends_the_design(address: str) -> None:
    assert design().report("Finalize", "ok", data={"pr_url": f" {address} "}).standing == "complete stop"


def design() -> Run:
    """A run of component-design that awaits its end."""
    run, at = Run(built_in("component-design"), ".phasekeeper/sessions/d"), "/.phasekeeper/sessions"
    run.write("session.json", {"id": "d", "type": "ContextComponentsDesignSessions", "child_sessions": []})
    run.report("Initialize", "ok", data={})
    run.report(
        "SpawnComponentDesignSessions", "ok", data={"components": [{"id": "c", "artifact_path": "docs/c.md"}]}
    )
    for child, path in (("c", "docs/c.md"), ("d-review", "docs/review/d_components_review.md")):
        if child == "d-review":
            run.report("SpawnReviewSession", "ok", data={})
        session = json.loads(run.files[f"{at[1:]}/{child}/session.json"])
        run.write(f"{at}/{child}/session.json", {**session, "status": "complete"}).write(f"/{path}", "text\n")
        run.report(
            "SpawnReviewSession" if child == "d-review" else "SpawnComponentDesignSessions", "ok", data={}
        )
    return run


DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+{}\n"


def code_in_work() -> Run:
    """An artifact pipeline whose plan passed and whose code is written."""
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1")
    run.write("state.json", {"phase": "codegen", "actors": {}})
    run.write("planning/planning.ai.json", {"id": "T1"}).write("review/plan-review.json", {"ok": True})
    return run.write("code/diff.patch", DIFF.format("b")).write("code/files/x", "b\n")


def test_code_that_is_blocked_is_not_reported_again_unchanged() -> None:
    run = code_in_work()
    run.write("review/code-review.json", {"ok": False, "blocking_issues": ["wrong"]})
    assert "the diff is another one than the code review blocks" in run.refusal("codegen", "ok")
    run.write("code/diff.patch", DIFF.format("c")).write("code/files/x", "c\n").report("codegen", "ok")
    assert run.standing == "active stay review"


# ---- empty files


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff"])
def test_an_empty_file_is_no_work(text: str) -> None:
    run = plan_run("x ", t02=CREATES).write("/src/new.py", text)
    assert "these files hold something: src/new.py" in run.refusal("4a", "complete", "02", data={})
    filed(run, "a", DONE.format(n="02"))
    assert "these files hold something: src/new.py" in run.messages("report-unsupported")[0]
    run.write("/src/new.py", "NEW = 1\n")
    assert run.standing == "active advance 4b"


def test_a_fix_that_empties_its_file_is_none() -> None:
    run = with_file().report("4b", "fail", "02").report("F1", "ok").write("/src/new.py", "")
    assert "these files hold something: src/new.py" in run.refusal("F2", "complete", "02", data={})
    run = with_file().write("/src/new.py", "")
    assert "these files hold something: src/new.py" in run.refusal("4b", "pass")


@pytest.mark.parametrize("action", ["create, empty", "Create (empty)", "create an **empty** file"])
def test_a_file_is_empty_where_its_task_says_so(action: str) -> None:
    run = plan_run("x ", t02=CREATES.replace("| create |", f"| {action} |")).write("/src/new.py", "")
    assert run.report("4a", "complete", "02", data={}).standing == "active advance 4b"
    assert run.report("4b", "pass").standing == "active advance 4c"


@pytest.mark.parametrize("name", ["src/__init__.py", "src/py.typed", ".gitkeep"])
def test_a_file_that_means_something_by_its_name_may_be_empty(name: str) -> None:
    run = plan_run("x ", t02=CREATES.replace("src/new.py", name))
    assert f"these files exist: {name}" in run.refusal("4a", "complete", "02", data={})
    assert run.write(f"/{name}", "").report("4a", "complete", "02", data={}).standing == "active advance 4b"


def test_a_session_is_not_written_with_an_empty_document() -> None:
    run = Run(built_in("component-session"), ".phasekeeper/sessions/c")
    session = {"id": "c", "type": "ComponentDesignSessions", "state": {"artifact_path": "docs/c.md"}}
    run.write("session.json", session).write("/docs/c.md", "\n")
    assert "these files hold something: docs/c.md" in run.refusal("Write", "ok")
    assert run.write("/docs/c.md", "# C\n").report("Write", "ok").standing == "complete stop"


# ---- what is said before the report is made


def needs(run: Run, number: int = 0) -> list[tuple[str, str, bool | None]]:
    """(kind, what is needed, whether it is there) of a report that is in turn."""
    due = run.evaluation.suggestion.reports[number]
    return [(each.kind.value, each.phrase, each.met) for each in due.brings]


def test_the_files_of_a_task_are_told_before_it_is_reported() -> None:
    run = plan_run("x ", t02=CREATES).write("/src/old.py", "OLD = 1\n")
    assert needs(run) == [
        ("files", "these files exist: src/new.py", False),
        ("absent", "these files are gone: src/old.py", False),
    ]  # fmt: skip
    run.write("/src/new.py", "NEW = 1\n")
    del run.files["src/old.py"]
    assert [met for _, _, met in needs(run)] == [True, True]


def test_of_several_tasks_the_files_of_all_are_told_and_that_others_name_theirs() -> None:
    said = needs(plan_run("x  ", t02=CREATES))
    assert said[0] == ("files", "of the tasks that it names, these files exist: src/new.py", False)
    assert said[-1][0] == "named"
    assert said[-1][1].startswith("where its task declares no file, it names the files that were changed")


def test_the_change_that_a_fix_needs_is_told_with_its_moment() -> None:
    run = with_file().report("4b", "fail", "02").report("F1", "ok")
    assert ("changed", "a file was changed since 4b fail: src/new.py", None) in needs(run)


@pytest.mark.parametrize("phase", BARE)
def test_the_text_of_a_judging_step_is_told_before_it_is_reported(phase: str) -> None:
    run = plan_run("x ", t02="## Meta\n\n- **Requires UX/DX Review**: true\n").report("4a", "complete", "02")
    way = {"4b": [], "F1": [("4b", "fail")], "5a": [("4b", "pass"), ("4c", "ok")]}
    way["5b"] = [*way["5a"], ("5a", "pass")]
    way["6"] = [*way["5b"], ("5b", "pass")]
    for step, outcome in way[phase]:
        run.report(step, outcome)
    [due] = [each for each in run.evaluation.suggestion.reports if each.step == phase]
    assert due.form and due.brings[0].kind == "report"


def test_code_is_said_to_need_another_diff_once_a_review_blocks_it() -> None:
    run = code_in_work()
    codegen = [each.step for each in run.evaluation.suggestion.reports].index("codegen")
    assert needs(run, codegen) == []
    run.write("review/code-review.json", {"ok": False, "blocking_issues": ["wrong"]})
    said = f"the diff is another one than the code review blocks: {run.at}/code/diff.patch"
    assert needs(run) == [("differs", said, False)]


def test_a_file_that_is_saved_again_is_no_other_revision() -> None:
    run = plan_run("x ", t02=CREATES).write("/src/new.py", f"NEW = 1{'0' * 80}\n")
    before = run.evaluation.revision
    assert run.write("/src/new.py", f"NEW = 2{'0' * 80}\n").evaluation.revision == before
    assert run.write("/src/new.py", "").evaluation.revision != before


@pytest.mark.parametrize("address", ["", "https://example.org/o/r/pull/1"])
def test_what_is_refused_is_what_was_told(address: str) -> None:
    run = design()
    [told] = [each for each in run.evaluation.suggestion.reports[0].brings if not each.met]
    if address:
        run.report("Finalize", "ok", data={"pr_url": address})
    else:
        assert told.phrase in run.refusal("Finalize", "ok", data={})
