"""What answers say of a run is made once for each of its evaluations."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.workspace.workspace import Workspace
from phasekeeper.tools.assistant.access import RootRuns
from phasekeeper.tools.assistant.answer_memory import AnswerMemory
from phasekeeper.tools.assistant.run_status import status
from phasekeeper.tools.assistant.totals import RunningTotals

from tests.roots import put


@pytest.fixture
def runs(root: Path) -> dict[str, Evaluation]:
    for name in ("T1", "T2"):
        put(root / f".ai-tools-chain/tasks/{name}/state.json", {"phase": "planning"})
    workspace = Workspace(root)
    return {match.run: workspace.evaluate(match) for match in workspace.matches}


def place_of(runs: dict[str, Evaluation]) -> RootRuns:
    return RootRuns("/r", runs, RunningTotals().of(runs))


def test_a_value_is_made_again_for_another_evaluation_or_another_question(
    runs: dict[str, Evaluation],
) -> None:
    first, second = runs.values()
    memory, numbers = AnswerMemory(), count()

    def ask(evaluation: Evaluation, kind: str = "step", about: str = "") -> int:
        return memory.of(evaluation, kind, about, lambda: next(numbers))

    assert [ask(first), ask(first), ask(second), ask(first)] == [0, 0, 1, 0]
    assert [ask(first, "row"), ask(first)] == [2, 0]
    assert [ask(first, about="task 3"), ask(first)] == [3, 4]
    assert ask(replace(first)) == 5


def test_so_many_values_are_kept_and_those_asked_for_last(runs: dict[str, Evaluation]) -> None:
    evaluation, memory = next(iter(runs.values())), AnswerMemory()
    for number in range(10_000):
        memory.of(evaluation, number, "", lambda: "made first")
        assert memory.of(evaluation, 0, "", lambda: "made anew") == "made first"
    assert memory.of(evaluation, 1, "", lambda: "made anew") == "made anew"


def test_a_page_of_status_says_anew_only_what_differs(runs: dict[str, Evaluation]) -> None:
    memory = AnswerMemory()
    before = status(place_of(runs), memory=memory)
    name = next(iter(runs))
    after = status(place_of({**runs, name: replace(runs[name], title="another title")}), memory=memory)
    assert [one is other for one, other in zip(before.data["runs"], after.data["runs"], strict=True)] == [
        False,
        True,
    ]
    assert after.data["runs"][0]["title"] == "another title"
    assert status(place_of(runs)) == before
