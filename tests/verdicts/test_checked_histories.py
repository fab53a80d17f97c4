"""No short history of lies and edits passes a gate, or completes a run, whose check says otherwise.

The moves are those of the models, and saves after which the check says something else. A person may let a
run be; then nothing is asked any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from phasekeeper.orchestration.definition.root_config import read_config
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.states import CheckResult

from tests.verdicts.exploration import Exploration, Model
from tests.verdicts.models import MODELS
from tests.verdicts.runs import CONFIG, Run

HISTORIES = 800
ASKED: Mapping[str, Mapping[str, Any]] = {
    "artifact-pipeline": {"test_checks": ["tests"]},
    "component-design": {"document_checks": ["tests"]},
    "master-plan": {"adoption": "auto", "stage_checks": ["tests"]},
    "skill-tuning": {"quality_checks": ["tests"]},
}
MEASURED = {"tests", "quality", "quality-checked", "designs-checked", "review-checked", "documents-checked"}
"""Gates that pass by their check alone, or not without it."""
SAVES: Mapping[str, tuple[CheckResult, str]] = {
    "save: what passes": (CheckResult.PASSED, "fine"),
    "save: what fails": (CheckResult.FAILED, "bad"),
    "save: what nobody ran": (CheckResult.STALE, "new"),
}


@dataclass
class Measured:
    """What the check of a run says, and whether it said so when the run was seen complete first."""

    result: CheckResult = CheckResult.FAILED
    passed_before: bool = False
    was_complete: bool = False
    is_let_go: bool = False

    def observe(self, move: str, run: Run) -> None:
        self.is_let_go |= move.startswith("person: ")
        self.result = run.measured["tests"].result
        self.passed_before |= self.result is CheckResult.PASSED

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        if self.is_let_go:
            return
        if evaluation.status == "complete":
            self.was_complete |= self.result is CheckResult.PASSED
            if not self.was_complete:
                yield "complete, and its check had not passed"
        for gate in evaluation.gates:
            if gate.id in MEASURED and gate.status == "passed" and not self.passed_before:
                yield f"gate {gate.id} passed, and its check never did"


def save(result: CheckResult, text: str) -> Callable[[Run], object]:
    """A move that saves a file on which the check says this."""
    return lambda run: run.write("/src/watched.txt", text).measure("tests", result, text)


def checked(name: str, asked: Mapping[str, Any]) -> Model:
    """A model of runs in a root that asks for a check, which fails at first."""
    model = MODELS[name]

    def start() -> Run:
        run = model.start()
        assert not read_config(run.files.get(CONFIG, "")).of(name).keys() - asked.keys()
        config = {"checks": {"tests": {"run": ["make"]}}, "parameters": {name: asked}}
        run.write(f"/{CONFIG}", json.dumps(config)).measure("tests", CheckResult.FAILED, "bad")
        # What is asked for was so before anything was done.
        run.head = {**run.head, CONFIG: run.files[CONFIG]} if run.head else {}
        return run

    moves = {move: save(result, text) for move, (result, text) in SAVES.items()}
    return Model(name, start, Measured, {**model.moves, **moves})


@pytest.mark.parametrize("name", ASKED)
def test_no_word_passes_what_a_check_denies(name: str) -> None:
    result = Exploration(checked(name, ASKED[name])).explore(HISTORIES)
    assert result.violations == []
    assert len(result.states) > HISTORIES / 5


@pytest.mark.parametrize("name", ["artifact-pipeline", "skill-tuning"])
def test_without_the_parameter_these_rules_are_broken(name: str) -> None:
    assert Exploration(checked(name, {})).explore(4 * HISTORIES).violations
