"""A release that changes a shipped workflow leaves the runs under way as they stand."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.snapshot import definition_digest
from phasekeeper.orchestration.vfs.files import digest_of

from tests.verdicts.runs import LIBRARY, Run, built_in

NAMES = [name for name in sorted(LIBRARY.built_in) if built_in(name).released]
MINE = "extend: artifact-pipeline\nworkflow: mine\nruns: {at: [own/*], marker: {file: state.json}}\n"


def begun_under(run: Run, digest: str, **parameters: object) -> Run:
    """The run with a record of its start under a definition's text, by the digest of that."""
    start = {"seq": 1, "kind": "start", "workflow": run.workflow.name, "prev": ""}
    line = json.dumps({**start, "definition": definition_digest(digest, parameters)})
    return run.write(".phasekeeper/journal.jsonl", f"{line}\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_an_earlier_release_is_judged_without_asking_anybody(name: str) -> None:
    workflow = built_in(name)
    run = begun_under(Run(workflow, "r"), workflow.released[0])
    assert (workflow.digest in workflow.released) or "definition-upgraded" in run.codes()
    assert "definition-changed" not in run.codes()


def test_a_release_is_known_of_all_workflows_but_the_new_ones() -> None:
    known = {name for name, source in LIBRARY.built_in.items() if source.released}
    assert known == set(NAMES)


def test_what_no_release_shipped_is_a_changed_definition() -> None:
    run = begun_under(
        Run(built_in("artifact-pipeline"), "r").write("state.json", {"phase": "planning"}), "0" * 16
    )
    assert "definition-changed" in run.codes()


def test_parameters_that_changed_with_the_release_are_a_changed_definition() -> None:
    workflow = built_in("skill-tuning")
    assert "definition-changed" in begun_under(Run(workflow, "r"), workflow.released[0], retries=9).codes()


def test_a_workflow_that_extends_a_shipped_one_knows_its_earlier_texts() -> None:
    workflow = parse_workflow(MINE, "mine.yaml", LIBRARY.source)
    shipped = built_in("artifact-pipeline").released
    assert workflow.released == tuple(digest_of(f"{digest_of(MINE)}\n{digest}") for digest in shipped)


ENDED = """\
workflow: ended
runs: {at: [r], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
phases: {one: {rules: [{when: "true", to: two}]}, two: {terminal: complete}}
"""


def test_a_run_that_is_over_is_not_complete_under_another_definition() -> None:
    run = Run(parse_workflow(ENDED, "ended.yaml"), "r").write("state.json", {"phase": "two"})
    assert begun_under(run.copy(), run.workflow.digest).standing == "complete stop"
    run = begun_under(run, "0" * 16)
    assert run.standing == "active stay two"
    assert run.evaluation.suggestion.reason == "the definition changed under the run"
    assert run.answer("definition", "accept").standing == "complete stop"
