"""Parameters: what the configuration or a file of the project sets, and what HEAD has of it."""

from __future__ import annotations

import json

from phasekeeper.orchestration.decision.facts import RunFacts
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

OWN = parse_workflow(
    """\
workflow: own
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
artifacts:
  settings: {paths: [settings.json], kind: json}
  more: {paths: [more.json], kind: json}
parameters:
  most: {default: 3, from: "has(settings.most) ? settings.most : other", ratchet: limit}
values: {other: more.most}
phases:
  one: {produces: [settings, more], rules: [{when: parameters.most > 3, to: two}]}
  two: {terminal: complete}
""",
    "own.yaml",
)


def facts(settings: object, more: object, head: object) -> RunFacts:
    """A run with two files of settings, of which HEAD has the first one."""
    data = {"t/state.json": {"phase": "one"}, "t/settings.json": settings, "t/more.json": more}
    files = MemoryFiles({path: json.dumps(value) for path, value in data.items()})
    committed = {"t/settings.json": json.dumps(head).encode()}
    return evaluate_traced(OWN, read_run(OWN, files, "t", committed=committed.get)).facts


def test_a_value_that_head_has_counts() -> None:
    assert facts({"most": 9}, {}, {"most": 9}).parameter("most").value == 9
    assert facts({"most": 9}, {}, {"most": 5}).parameter("most").value == 5


def test_a_value_that_head_tells_only_with_another_file_is_none_of_head() -> None:
    """The first file alone is read from HEAD: what the expression needs besides is not known there."""
    parameter = facts({}, {"most": 9}, {}).parameter("most")
    assert (parameter.value, parameter.asked) == (3, 9)
    assert parameter.finding is not None
    assert parameter.finding.code == "definition-changed"
