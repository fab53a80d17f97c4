"""A document that contradicts itself: the worse counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from phasekeeper.orchestration.definition.reader import InvalidWorkflow
from phasekeeper.orchestration.lint.checks import parse_workflow

from tests.verdicts.runs import Run, built_in

EVALUATION = {"status": "completed", "overall_pass": True, "summary": {"passed": 1}}


def pipeline(phase: str, files: Mapping[str, Mapping[str, Any]]) -> Run:
    """A run of the artifact pipeline in a phase, with what leads there and these files."""
    run = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/T1")
    run.write("state.json", {"phase": phase, "actors": {}})
    run.write("planning/planning.ai.json", {"id": "T1", "brief": "b"})
    run.write("review/plan-review.json", {"ok": True})
    run.write("code/diff.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").write("code/files/x", "b\n")
    run.write("review/code-review.json", {"ok": True, "blocking_issues": []})
    for path, content in files.items():
        run.write(path, content)
    return run


@pytest.mark.parametrize("word", ["failed", "error", "unheard-of", ""])
def test_a_failed_case_fails_a_test_report_that_says_it_passed(word: str) -> None:
    suite = {
        "id": "unit",
        "status": "completed",
        "overall_pass": True,
        "cases": [{"id": "a", "status": word}],
    }
    run = pipeline("test", {"eval/eval-report.json": EVALUATION | {"suites": [suite]}})
    assert run.standing == "active regress codegen"
    assert run.gate("tests") == "failed"
    assert "tests-contradictory" in run.codes()


PASSED: dict[str, Any] = {"overall_pass": True, "results": [{"step": "unit", "status": "ok"}]}
REVIEWS = [
    ("plan_review", "review/plan-review.json", {"ok": True, "blocking_issues": ["x"]}, "planning"),
    ("plan_review", "review/plan-review.json", {"ok": True, "blocked": True}, "planning"),
    ("plan_review", "review/plan-review.json", {"ok": True, "aggregate": {"ok": False}}, "planning"),
    ("plan_review", "review/plan-review.json", {"ok": True, "issues": [{"severity": "error"}]}, "planning"),
    ("review", "review/code-review.json", {"ok": True, "blocking_issues": ["x"]}, "codegen"),
    ("review", "review/code-review.json", {"ok": True, "decision": "Request changes"}, "codegen"),
    ("test", "eval/eval-report.json", PASSED | {"status": "failed"}, "codegen"),
    ("test", "eval/eval-report.json", PASSED | {"summary": {"failed": 1}}, "codegen"),
    ("test", "eval/eval-report.json", PASSED | {"results": [{"step": "b", "status": "failed"}]}, "codegen"),
]


@pytest.mark.parametrize(("phase", "path", "said", "back"), REVIEWS)
def test_a_verdict_that_contradicts_itself_is_told_at_both_places_and_the_worse_counts(
    phase: str, path: str, said: Mapping[str, Any], back: str
) -> None:
    run = pipeline(phase, {path: said})
    assert run.standing == f"active regress {back}"
    told = run.messages("artifact-contradictory")
    assert len(told) >= 2 and all(path in message and "but" in message for message in told)


def test_a_review_and_the_meeting_about_it_contradict_each_other() -> None:
    run = pipeline("review", {"review.meeting.json": {"decision": "hold"}})
    assert run.standing == "active regress codegen"
    review, meeting = sorted(run.messages("artifact-contradictory"), key=len)
    assert 'ok is true, but decision is "hold" in ' in review + meeting
    assert "review.meeting.json:1" in review + meeting and "review/code-review.json:1" in review + meeting


def test_a_gate_that_passes_with_a_critical_issue_does_not_pass() -> None:
    tuning = Run(built_in("skill-tuning"), ".workflow/.scratchpad/skill-tuning-s")
    state = {"target_skill": {}, "diagnosis": {}, "quality_gate": "pass", "status": "completed"}
    state["completed_actions"] = ["action-complete"]
    tuning.write("state.json", {**state, "issues": [{"severity": "critical"}]})
    assert (tuning.evaluation.status, tuning.gate("quality")) == ("active", "failed")
    assert len(tuning.messages("artifact-contradictory")) == 2
    tuning.write("state.json", {**state, "issues": [{"severity": "low"}]})
    assert tuning.evaluation.status == "complete"


FLOW = """\
workflow: f
runs: {at: ["*"], marker: {file: s.json}}
state: {file: s.json}
phase: state.phase
artifacts: {review: {paths: [r.json], kind: json, optional: true}}
values: {bad: "['red', 'dark ' + 'red']"}
conflicts:
  - {"state.parts[].ok": "true", "state.parts[].marks.*.word": ["{bad}", poor]}
  - {state.count: "0", "review.faults[]": any}
phases:
  work: {rules: [{when: state.phase == 'work', to: done}]}
  done: {terminal: complete}
gates:
  parts: {after: work, criteria: [{text: some, when: "state.parts.size() > 1"}]}
  other: {after: work, criteria: [{text: phase, when: "state.phase != ''"}]}
"""


def parts(*said: tuple[bool, str], **more: Any) -> Run:
    """A run of a small workflow whose state has some parts."""
    listed = [{"ok": ok, "marks": {"a": {"word": "good"}, "b": {"word": word}}} for ok, word in said]
    return Run(parse_workflow(FLOW, "f.yaml"), "r").write(
        "s.json", {"phase": "work", "parts": listed, **more}
    )


def test_words_contradict_each_other_in_one_element_only() -> None:
    assert parts((True, "green"), (False, "red")).standing == "active advance done"
    run = parts((True, "green"), (True, "Dark_Red"), (True, "poor"))
    assert (run.gate("parts"), run.gate("other"), run.standing) == ("open", "passed", "active stay work")
    places = {told.split(": ")[1].split(" is ")[0] for told in run.messages("artifact-contradictory")}
    assert places == {f"parts.{part}.{path}" for part in (1, 2) for path in ("ok", "marks.b.word")}


def test_what_two_files_say_against_each_other_holds_a_run_back_from_its_end() -> None:
    run = parts((True, "good"), (True, "good"), count=0).write("r.json", {"faults": [0, "", None]})
    assert run.standing == "active advance done"
    run.write("r.json", {"faults": ["x"]})
    assert run.standing == "active stay work"
    reason = run.evaluation.suggestion.reason
    assert reason.startswith(
        "files contradict each other or themselves at count in r/s.json, faults[] in r/r"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("review.faults[]", "reviews.faults[]", "a path begins with state or an artifact that has data"),
        ("{bad}", "{bat}", "unknown value 'bat'; did you mean 'bad'?"),
        ("'red', 'dark '", "state.x, 'dark '", "bad is no list of words that are the same in every run"),
        ("'red', 'dark '", "phase, 'dark '", "bad is no list of words that are the same in every run"),
        ("'red', 'dark ' + 'red'", "1", "bad is no list of words that are the same in every run"),
    ],
)
def test_a_contradiction_that_cannot_be_is_an_error_of_the_definition(old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidWorkflow, match=re.escape(said)):
        parse_workflow(FLOW.replace(old, new), "f.yaml")


def test_a_change_that_is_taken_back_needs_no_fresh_diff() -> None:
    run = pipeline("revert", {"accept/decision.json": {"verdict": "revert"}}).commit()
    run.write("planning/plan.files.json", {"files": ["x"]})
    assert run.standing == "active stay revert"


@pytest.mark.parametrize(
    ("phase", "path", "text"),
    [
        ("plan_review", "review/plan-review.json", '{"ok": false, "ok": true}'),
        ("plan_review", "review/plan-review.json", '{"ok": true, "ok": false}'),
        ("review", "review/code-review.json", '{"ok": false, "ok": true, "blocking_issues": []}'),
        (
            "test",
            "eval/eval-report.json",
            '{"overall_pass": false, "overall_pass": true, "results": []}',
        ),
    ],
)
def test_a_document_that_says_two_things_passes_no_gate(phase: str, path: str, text: str) -> None:
    run = pipeline(phase, {}).write(path, text)
    assert run.standing == f"active stay {phase}"
    assert "artifact-contradictory" in run.codes()


def test_a_state_file_that_says_two_things_cannot_be_judged() -> None:
    run = pipeline("test", {}).write("state.json", '{"phase": "test", "phase": "accept", "actors": {}}')
    assert run.standing == "invalid none"
