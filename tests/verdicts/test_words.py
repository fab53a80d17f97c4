"""A word nobody knows is a finding at its place; no gate passes on it, and no run completes beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.word_lists import MOST_UNKNOWN

from tests.verdicts.runs import Run, built_in

FLOW = """\
workflow: f
runs: {at: ["*"], marker: {file: s.json}}
state:
  file: s.json
  defaults: {verdicts: []}
  words: {"verdicts[].word": [pass, not run, fail], "marks.*": [green, red]}
phase: state.phase
values: {words: "state.verdicts", enough: "words.size() > 0"}
limits: {many: {count: words.size(), max: 1}}
artifacts: {review: {paths: [r.json], kind: json, words: {severity: [low, high]}}}
phases:
  work:
    rules: [{when: "state.?go.orValue('') == 'stop'", stop: complete}, {when: "true", to: done}]
  done: {terminal: complete, attested: "true"}
gates:
  words:
    after: work
    judged: "false"
    criteria: [{text: enough, when: enough}, {text: many, when: limits.many.reached}]
  other: {after: work, judged: "false", criteria: [{text: phase, when: "state.phase != ''"}]}
"""


def run(state: dict[str, Any], review: str = "low") -> Run:
    """A run of a small workflow."""
    made = Run(parse_workflow(FLOW, "w.yaml"), "r").write("s.json", {"phase": "work", **state})
    return made.write("r.json", {"severity": review})


@pytest.mark.parametrize("word", ["pass", " PASS ", "Not_Run", "not-run", "not  run", None])
def test_words_are_compared_without_case_and_separators(word: str | None) -> None:
    said = run({"verdicts": [{"word": word}, {}], "marks": {"a": "Green"}})
    assert "unknown-word" not in said.codes()
    assert said.standing == "active advance done"


@pytest.mark.parametrize("word", ["~~pass~~", "not pass", "pass!", "", True, 1, ["pass"], {"pass": True}])
def test_another_word_passes_no_gate_and_completes_nothing(word: object) -> None:
    said = run({"verdicts": [{"word": "pass"}, {"word": word}]})
    assert said.messages("unknown-word")[0].startswith("r/s.json:1: verdicts.1.word is ")
    assert (said.gate("words"), said.gate("other")) == ("open", "passed")
    assert said.standing == "active stay work"


@pytest.mark.parametrize("state", [{"phase": "done"}, {"go": "stop"}, {}])
def test_no_way_to_the_end_leads_past_an_unknown_word(state: dict[str, Any]) -> None:
    said = run({"marks": {"a": "gren"}, "verdicts": [{"word": "pass"}], **state})
    assert said.evaluation.status == "active"
    assert "marks.* in r/s.json; it has to be a known one" in said.evaluation.suggestion.reason
    assert "did you mean 'green'" in said.messages("unknown-word")[0]
    beside = run({"verdicts": [{"word": "pass"}], **state}, review="urgent")
    assert beside.evaluation.status == "active"
    assert "severity in r/r.json" in beside.evaluation.suggestion.reason


def test_few_of_many_unknown_words_are_told() -> None:
    said = run({"verdicts": [{"word": "?"}] * 900, "marks": {"a": "?"}})
    assert len(said.messages("unknown-word")) == MOST_UNKNOWN
    assert "marks.* in r/s.json" in run({"phase": "done", "marks": {"a": "?"}}).evaluation.suggestion.reason


TUNING = ".workflow/.scratchpad/skill-tuning-s"
BUILT_IN = [
    ("skill-tuning", TUNING, "state.json", {"quality_gate": "green"}),
    ("skill-tuning", TUNING, "state.json", {"focus_areas": ["context", "speed"]}),
    ("skill-tuning", TUNING, "state.json", {"status": "success"}),
    ("skill-tuning", TUNING, "state.json", {"issues": [{"severity": "~~low~~"}]}),
    ("phase-loop", ".claude/state", "loop.state.json", {"gates": {"lint": {"status": "green"}}}),
    ("phase-loop", ".claude/state", "loop.state.json", {"workQueue": [{"id": "a", "status": "ok"}]}),
    (
        "component-design", ".phasekeeper/sessions/S", "session.json",
        {"interactions": [{"command": {"module": "Initialize"}, "result": {"status": "success"}}]},
    ),
    ("artifact-pipeline", ".ai-tools-chain/tasks/T", "accept/decision.json", {"verdict": "perhaps"}),
]  # fmt: skip


@pytest.mark.parametrize(("workflow", "at", "file", "data"), BUILT_IN)
def test_the_built_in_workflows_know_their_words(
    workflow: str, at: str, file: str, data: dict[str, Any]
) -> None:
    said = Run(built_in(workflow), at).write("state.json", {"phase": "accept"}).write(file, data).commit()
    assert f"{at}/{file}:1" in said.messages("unknown-word")[0], json.dumps(data)
    assert said.evaluation.status != "complete"


def test_words_of_included_files_are_told_where_they_stand_and_hold_the_run_back() -> None:
    run = Run(built_in("component-design"), ".phasekeeper/sessions/S")
    parent = {"type": "ContextComponentsDesignSessions", "child_sessions": ["c", "lost", {"id": "in place"}]}
    child = {
        "type": "ComponentDesignSessions",
        "status": "finished",
        "interactions": [{"result": {"status": "good"}}],
    }
    run.write("session.json", parent).write("/.phasekeeper/sessions/c/session.json", child)
    where = ".phasekeeper/sessions/c/session.json:1: "
    assert [told.split(" is ")[0] for told in run.messages("unknown-word")] == [
        where + "status", where + "interactions.0.result.status",
    ]  # fmt: skip
    unknown = run.trace().facts.snapshot.unknown_words
    assert ("state", "child_sessions", "[]", "status") in unknown
    own = Run(built_in("component-session"), ".phasekeeper/sessions/c", files=run.files)
    assert len(own.messages("unknown-word")) == 2


TABLE: list[tuple[str, str, str, dict[str, Any]]] = [
    ("artifact-pipeline", ".ai-tools-chain/tasks/T", "state.json", {"actors": {"test": {"status": "fine"}}}),
    (
        "artifact-pipeline", ".ai-tools-chain/tasks/T", "review/plan-review.json",
        {"ok": True, "decision": "sure"},
    ),
    (
        "artifact-pipeline", ".ai-tools-chain/tasks/T", "review/code-review.json",
        {"ok": True, "issues": [{"severity": "~~blocking~~"}]},
    ),
    (
        "artifact-pipeline", ".ai-tools-chain/tasks/T", "eval/eval-report.json",
        {"overall_pass": True, "results": [{"step": "a", "status": "green"}]},
    ),
    ("phase-loop", ".claude/state", "loop.state.json", {"classification": {"complexity": "easy"}}),
    ("phase-loop", ".claude/state", "loop.state.json", {"decisions": [{"category": "ARHC"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("workflow", "at", "file", "data"), TABLE)
def test_words_of_reviews_tests_and_decisions_are_known_ones(
    workflow: str, at: str, file: str, data: dict[str, Any]
) -> None:
    said = Run(built_in(workflow), at).write("state.json", {"phase": "accept"}).write(file, data).commit()
    assert said.messages("unknown-word")[0].startswith(f"{at}/{file}:1")
    assert said.evaluation.status != "complete"
