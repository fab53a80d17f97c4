"""What a person may answer beside what is asked: approvals of what has changed since."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.updates.commands import answerable

from tests.orchestration.updates.test_propose import JOURNAL, steps_of, workflow

APPROVING = workflow("""\
workflow: small
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
artifacts:
  paper: {paths: [paper.md], kind: markdown}
  more: {paths: [more.md], kind: markdown}
phases:
  draft:
    produces: [paper]
    rules:
      - {when: "valid.paper && answers.fine != 'yes'", ask: fine}
      - {when: answers.fine == 'yes', to: print}
  print:
    rules:
      - {when: "state.?again.orValue(false)", ask: fine}
      - {when: "state.?off.orValue(false)", stop: failed}
  out: {terminal: complete}
questions:
  fine: {kind: approval, ask: Fine?, about: [paper], options: {yes: print it}}
  help: {ask: Help?, about: [more], options: {yes: go on}}
  any: {kind: approval, ask: Any?, options: {yes: go on}}
effects: {answer.help.yes: {}, answer.any.yes: {}}
""")
ANSWER = '{"kind": "answer", "question": "fine", "option": "yes", "about": "old", "prev": ""}\n'


def names(state: str, paper: str = "text", journal: str = ANSWER) -> list[str]:
    texts = {"t/state.json": state, "t/paper.md": paper, JOURNAL: journal}
    return [question.id for question in answerable(steps_of(texts, APPROVING))]


def test_an_approval_of_what_has_changed_since_may_be_given_anew() -> None:
    assert names('{"phase": "print"}') == ["fine"]
    assert names('{"phase": "print"}', journal="") == []


def test_a_question_that_is_asked_is_listed_once() -> None:
    assert names('{"phase": "print", "again": true}') == ["fine"]


@pytest.mark.parametrize(
    ("state", "paper"),
    [
        ('{"phase": "print", "off": true}', "text"),
        ('{"phase": "nought"}', "text"),
        ('{"phase": "print"}', ""),
    ],
)
def test_nothing_more_is_approved_of_a_run_that_is_over_broken_or_owes_work(state: str, paper: str) -> None:
    assert names(state, paper) == []
