"""No short history of honest work, lies and edits breaks the rules of its seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verdicts.exploration import Exploration, begun, moved
from tests.verdicts.models import MODELS

HISTORIES = 1000


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


# Histories that broke a rule once, as long explorations shrank them; a move a line.
FOUND = """
master-plan
edit: all marks
file: 4a complete 03
edit: no marks
person: moves on to 4c
edit: all marks

master-plan
edit: all marks
report: 4b fail
person: moves on to 4c
report: 4b fail
report: 5a pass
report: 6 ok
person: adopts

master-plan
edit: all marks
person: moves on to 4c
file: F1
edit: no marks

master-plan
edit: all marks
report: 4b fail
person: moves on to 4c
file: 4a complete 02
report: 5a pass
report: 6 ok
person: adopts

phase-loop
honest: up to quality
report: quality error
edit: gates green
person: moves on to evaluate
lie: evaluate
edit: phases skipped
lie: evaluate
edit: gates skipped
person: accepts the state

phase-loop
honest: up to evaluate
edit: gates green
honest: a whole pass
honest: a whole pass

master-plan
edit: all marks
report: 4b fail
person: moves on to 4c
file: F2 complete 02
report: 5a pass
person: moves on to 6
file: 4a complete 01
person: moves on to 4c
file: 5a fail
file: 4a complete 01
person: adopts

master-plan
edit: all marks
report: 4b fail
person: moves on to 4c
file: F2 complete 02
report: 5a pass
person: moves on to 6
person: adopts
file: 4a complete 01
person: moves on to 4c
file: 5a fail
file: 4a complete 01
report: 6 ok

master-plan
edit: all marks
person: adopts
report: 5a pass
report: 4b fail 02
edit: failures into passes
edit: no journal
report: 6 ok
person: adopts

master-plan
person: moves on to 4c
edit: all marks
edit: no journal
report: 5a pass
person: adopts
report: 6 ok

master-plan
edit: all marks
report: 5a pass
report: 4b fail 02
edit: failures into passes
edit: no journal
report: 6 ok
person: adopts

master-plan
edit: all marks
file: 4a complete 01
edit: no reports
report: 5a pass
person: adopts
report: 6 ok

master-plan
edit: all marks
report: 4b fail 02
edit: no journal
report: 5a pass
person: adopts
report: 6 ok

phase-loop
honest: up to evaluate
edit: two passes
person: accepts the state
edit: gates green
report: evaluate ok
edit: gates passed

phase-loop
honest: up to quality
report: quality error
edit: two passes
edit: gates green
person: accepts the state
edit: another iteration
edit: gates skipped
edit: phase evaluate
lie: evaluate

phase-loop
report: classify, on to evaluate
honest: up to execute
honest: a whole pass
edit: as it began
person: accepts the state
honest: a whole pass
report: classify, on to evaluate
report: evaluate ok

component-design
edit: SpawnComponentDesignSessions was ok
honest: components
edit: SpawnReviewSession was ok
honest: review
honest: finalizes
edit: SpawnReviewSession was ok
report: SpawnReviewSession ok
edit: the newest interaction only

component-design
person: moves on to Finalize
honest: finalizes
edit: Finalize was ok
edit: the newest interaction only
edit: Initialize was ok
person: moves on to Finalize

component-design
report: Initialize ok
edit: no journal
edit: only a was announced
edit: SpawnReviewSession was ok
report: SpawnReviewSession ok, a lie
child a: ends

component-design
edit: SpawnComponentDesignSessions was ok
honest: components
honest: review
edit: no interactions
edit: Finalize was a success
edit: Finalize was ok
report: Finalize warning

component-design
edit: only a was announced
edit: Finalize was ok
honest: finalizes
edit: SpawnComponentDesignSessions was ok
edit: the newest interaction only
person: moves on to Finalize

component-design
edit: Finalize was ok
person: retries components
edit: as it began
honest: components
person: moves on to Finalize

component-design
edit: SpawnComponentDesignSessions was ok
edit: Finalize was ok
report: SpawnComponentDesignSessions error
edit: the newest interaction only
person: moves on to Finalize
edit: SpawnComponentDesignSessions was ok

component-design
edit: Finalize was ok
person: moves on to Finalize
edit: Finalize was a success
person: moves on to Finalize
edit: no interactions
"""


@pytest.mark.parametrize("found", FOUND.strip().split("\n\n"))
def test_what_was_talked_open_once_stays_shut(found: str) -> None:
    name, *moves = found.splitlines()
    model = MODELS[name]
    history, broken = begun(model), []
    for move in moves:
        history = moved(model, history, move)
        broken += history.broken()
    assert broken == []
