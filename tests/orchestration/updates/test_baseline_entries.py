"""Values that a record keeps, so that a later edit of a state or parameter cannot loosen them unseen."""

from __future__ import annotations

import json
from typing import Any

from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.journal.journal import record
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.updates.baseline_entries import baseline_entries
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

OWN = parse_workflow(
    """\
workflow: own
runs: {at: [r], marker: {file: README.md}}
state: {file: s.json, ratchet: {most: limit}}
parameters: {tries: {default: 2, ratchet: limit}}
phase: [{when: "true", is: one}]
phases: {one: {rules: [{when: "state.most > parameters.tries", to: two}]}, two: {terminal: complete}}
""",
    "own.yaml",
)


def entries_of_start(**files: str) -> Any:
    """The entries of the record with which a run of these files begins."""
    snapshot = read_run(OWN, MemoryFiles({f"r/{path}": text for path, text in files.items()}), "r")
    return baseline_entries(
        evaluate_traced(OWN, snapshot), snapshot.state, record(kind="start", workflow="own")
    )


def test_a_start_keeps_the_values_of_the_state_that_it_writes() -> None:
    entries = entries_of_start(**{"README.md": "x", "s.json": json.dumps({"most": 3})})
    assert entries == [{"head": ""}, {"path": ["most"], "value": 3}]


def test_a_start_that_writes_no_state_leaves_it_unknown() -> None:
    """Also no mark of HEAD: with one, the first state of the run would be compared with nothing."""
    assert entries_of_start(**{"README.md": "x"}) == []
    assert entries_of_start(**{"README.md": "x", "s.json": "{"}) == []
