"""What a person sees before a decision: the words of the definition and the evaluation, never a caller's."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.updates import confirmation as module
from phasekeeper.orchestration.updates.commands import Command, CommandRefused, InvalidCommand
from phasekeeper.orchestration.updates.confirmation import Confirmation, confirmation
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

from tests.verdicts.runs import CONFIG, Run, plan_run
from tests.verdicts.test_contradictions import EVALUATION, pipeline
from tests.verdicts.test_loosened_state import tuning

SMALL = parse_workflow(
    """\
workflow: small
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json, defaults: {asks: ""}}
phase: state.phase
artifacts: {paper: {paths: [paper.md], kind: text}}
phases:
  one:
    produces: [paper]
    rules:
      - {when: "state.asks == 'options' && answers.pick == 'none'", ask: pick}
      - {when: "state.asks == 'words' && answers.words == 'none'", ask: words}
      - {when: "state.asks == 'failures'", ask: again}
      - {when: valid.paper, to: two}
  two: {terminal: complete}
questions:
  pick: {ask: Which one?, options: {left: the left one, right: the right one}, tasks: "['t-1', 't-2']"}
  words: {ask: Why?}
  again:
    ask: Once more?
    history: >-
      [{'phase': 'one', 'outcome': 'failed', 'message': 'it rained'}, {'phase': 'one', 'message': 'snow'}]
effects: {answer.pick.left: {}, answer.pick.right: {}}
gates:
  read: {after: one, title: Somebody read it, criteria: [{text: it was read, when: "state.asks == 'read'"}]}
""",
    "small.yaml",
)


WITH_ERRORS = parse_workflow(
    """\
workflow: broken
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
artifacts:
  a: {paths: [a.json], kind: json}
  b: {paths: [b.json], kind: json}
  c: {paths: [c.json], kind: json}
  d: {paths: [d.json], kind: json}
phases:
  one: {produces: [a, b, c, d], rules: [{when: valid.a, to: two}]}
  two: {terminal: complete}
""",
    "broken.yaml",
)
WITH_REDO = """\
workflow: redone
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
artifacts: {a: {paths: [a.json], kind: json}}
phases:
  one: {produces: [a], rules: [{when: valid.a, to: two}]}
  two: {rules: [{when: valid.a, to: three}]}
  three: {terminal: complete}
effects: {redo: {phase: step}}
"""
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def shown(act: Command, asks: str = "") -> Confirmation:
    """The confirmation of an act on a run in phase one; `asks` opens one of its questions."""
    state = json.dumps({"phase": "one", "asks": asks})
    trace = evaluate_traced(SMALL, read_run(SMALL, MemoryFiles({"t/state.json": state}), "t"))
    return confirmation(trace, act, NOW)


def test_an_answer_shows_the_question_its_tasks_the_option_and_what_follows() -> None:
    text = shown(Command("answer", question="pick", option="left", why=" near "), "options")
    assert text.title == "Which one?"
    assert text.lines[1:] == (
        "phase one: no reason is given",
        "tasks: t-1, t-2",
        "answer: left (the left one)",
        "reason: near",
        "afterwards: active in one, next one: paper is missing (t/paper.md)",
    )


def test_the_first_line_names_the_run_and_the_revision_that_is_decided_on() -> None:
    text = shown(Command("answer", question="words", option="x"), "words")
    assert text.lines[0].startswith('run t "t" (small) in , revision ')
    assert text.lines[0] != shown(Command("override", "two"))[1][0]


def test_an_answer_without_an_option_shows_every_option_and_what_follows_from_each() -> None:
    text = shown(Command("answer", question="pick"), "options")
    after = "  afterwards: active in one, next one: paper is missing (t/paper.md)"
    assert text.lines[3:] == ("- left: the left one", after, "- right: the right one", after)


def test_an_option_that_cannot_be_taken_now_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CommandRefused("the state file is gone")

    monkeypatch.setattr(module, "propose", refuse)
    text = shown(Command("answer", question="pick"), "options")
    assert text.lines[4] == "  not possible now: the state file is gone"


def test_an_answer_in_words_shows_the_words() -> None:
    text = shown(Command("answer", question="words", option="it is old", why="w"), "words")
    assert (text.title, text.lines[2]) == ("Why?", "answer: it is old")
    assert len(shown(Command("answer", question="words"), "words").lines) == 2


def test_a_question_shows_the_failures_that_led_to_it() -> None:
    text = shown(Command("answer", question="again"), "failures")
    assert text.lines[2:4] == ("before: one failed: it rained", "before: one: snow")


def test_a_question_that_is_not_open_cannot_be_confirmed() -> None:
    with pytest.raises(InvalidCommand, match="the question 'pick' is not open; open are: words"):
        shown(Command("answer", question="pick"), "words")


def test_an_override_shows_the_gates_it_waives_and_the_files_it_goes_without() -> None:
    text = shown(Command("override", "two", why="w"))
    assert text.title == "Move t from one to two, against what its files say?"
    assert text.lines[1:] == (
        "phase one: paper is missing (t/paper.md)",
        'gate "Somebody read it" (read) is open and will be waived',
        "one will go without what it owes: t/paper.md is missing",
        "reason: w",
        "afterwards: complete in two: the run is complete",
    )


def test_a_phase_that_is_to_be_done_again_shows_errors_and_how_the_run_stands_then() -> None:
    of = parse_workflow(WITH_REDO, "redone.yaml")
    files = {"t/state.json": json.dumps({"phase": "two"}), "t/a.json": "{"}
    trace = evaluate_traced(of, read_run(of, MemoryFiles(files), "t"))
    text = confirmation(trace, Command("redo", "one", why="it was never done"), NOW)
    assert text.title == "Do one of t again?"
    assert [line.partition(":")[0] for line in text.lines[2:-2]] == [
        "error in t/a.json",
        "error in t/state.json",
    ]
    assert text.lines[-2] == "reason: it was never done"
    assert text.lines[-1].startswith("afterwards: active in one, next one: a is unreadable")


def test_an_override_shows_the_first_errors_that_it_goes_past() -> None:
    files = {"t/state.json": json.dumps({"phase": "one"})} | {f"t/{n}.json": "{" for n in "abcd"}
    trace = evaluate_traced(WITH_ERRORS, read_run(WITH_ERRORS, MemoryFiles(files), "t"))
    lines = confirmation(trace, Command("override", "two"), NOW).lines
    assert [line.partition(": ")[0] for line in lines if "error" in line] == [
        "error in t/a.json",
        "error in t/b.json",
        "error in t/c.json",
        "and 1 more errors",
    ]


def confirmed(run: Run, act: Command) -> tuple[str, ...]:
    """The lines that a person reads before an act, without the two that name the run and its phase."""
    return confirmation(run.trace(), act, NOW).lines[2:]


DECISION = {"verdict": "deferred", "next": "review"}


def test_an_answer_that_signs_a_file_shows_every_line_of_it() -> None:
    run = pipeline("accept", {"eval/eval-report.json": EVALUATION})
    run.write("accept/decision.json", json.dumps(DECISION, indent=1))
    shown = (
        "  .ai-tools-chain/tasks/T1/accept/decision.json:",
        "  | {", '  |  "verdict": "deferred",', '  |  "next": "review"', "  | }",
    )  # fmt: skip
    lines = confirmed(run, Command("answer", question="acceptance", option="proposed", why="w"))
    assert lines[0].startswith("about .ai-tools-chain/tasks/T1/code/diff.patch, ")
    assert lines[1].startswith("answer: proposed")
    assert lines[2:7] == shown
    lines = confirmed(run, Command("answer", question="acceptance"))
    assert lines[1].startswith("- proposed: ")
    assert lines[2:7] == shown


def test_the_answer_that_accepts_a_state_shows_each_value_that_was_loosened() -> None:
    run = tuning(issues=[{"id": "I-1", "severity": "critical"}]).commit()
    run.write("state.json", json.loads(run.files[f"{run.at}/state.json"]) | {"max_iterations": 99})
    lines = confirmed(run, Command("answer", question="state", option="accept", why="w"))
    assert lines[0] == f"{run.at}/state.json: max_iterations was 5, now it is 99"


def test_the_answer_that_accepts_a_definition_shows_each_parameter_that_was_loosened() -> None:
    run = plan_run("x ").report("4a", "complete", "02")
    run.write(f"/{CONFIG}", "parameters: {master-plan: {adoption: auto, fix_iterations: 99}}\n")
    lines = confirmed(run, Command("answer", question="definition", option="accept", why="w"))
    assert lines[0] == (
        f"{CONFIG}: fix_iterations was raised to 99; 3 holds until a person accepts or commits it"
    )
