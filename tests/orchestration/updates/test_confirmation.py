"""What a person sees before a decision: the words of the definition and the evaluation, never a caller's."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from phasekeeper.orchestration.evaluation.evaluate import look
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.snapshot import read_run
from phasekeeper.orchestration.updates.confirmation import decision_lines
from phasekeeper.orchestration.updates.propose import Act, propose
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

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
      - {when: valid.paper, to: two}
  two: {terminal: complete}
questions:
  pick: {ask: Which one?, options: {left: the left one, right: the right one}, tasks: "['t-1', 't-2']"}
  words: {ask: Why?}
effects: {answer.pick.left: {}, answer.pick.right: {}}
gates:
  read: {after: one, title: Somebody read it, criteria: [{text: it was read, when: "state.asks == 'read'"}]}
""",
    "small.yaml",
)


def said(act: Act, asks: str = "") -> tuple[str, ...]:
    state = json.dumps({"phase": "one", "asks": asks})
    steps = look(SMALL, read_run(SMALL, MemoryFiles({"t/state.json": state}), "t"))
    return decision_lines(steps, act, propose(steps, act, datetime(2026, 1, 2, tzinfo=UTC)))


def test_an_answer_shows_the_question_its_tasks_the_option_and_what_follows() -> None:
    assert said(Act("answer", question="pick", option="left", why=" near "), "options") == (
        "t: Which one?",
        "tasks: t-1, t-2",
        "answer: left (the left one)",
        "reason: near",
        "afterwards: active in one, next one: paper is missing (t/paper.md)",
    )


def test_an_answer_in_words_shows_the_words() -> None:
    lines = said(Act("answer", question="words", option="it is old", why="w"), "words")
    assert lines[:2] == ("t: Why?", "answer: it is old")


def test_an_override_shows_the_gates_it_waives_and_the_files_it_goes_without() -> None:
    assert said(Act("override", "two", why="w")) == (
        "t is in one: paper is missing (t/paper.md)",
        "move it to two",
        "gate read is open and will be waived: Somebody read it",
        "one will go without what it owes: t/paper.md is missing",
        "reason: w",
        "afterwards: complete in two: the run is complete",
    )
