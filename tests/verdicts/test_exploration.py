"""No short history of honest work, lies and edits breaks the rules of its seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verdicts.exploration import Exploration
from tests.verdicts.models import MODELS

HISTORIES = 3000


@pytest.mark.parametrize("name", MODELS)
def test_no_gate_passes_and_no_run_completes_without_its_evidence(name: str) -> None:
    result = Exploration(MODELS[name]).explore(HISTORIES)
    assert result.violations == []
    assert len(result.states) > HISTORIES / 5


@pytest.mark.parametrize("name", MODELS)
def test_the_rules_see_a_gate_that_is_talked_open(name: str) -> None:
    class Nothing:
        """The truth of a run in which nothing was done, whatever is reported."""

        def observe(self, move: str, run: object) -> None:
            pass

        broken = MODELS[name].truth().broken

    result = Exploration(replace(MODELS[name], truth=Nothing)).explore(HISTORIES)
    assert result.violations
