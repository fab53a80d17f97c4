"""What the fence lets through is never a violation afterwards; what it refuses is one once a shell did it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest
from phasekeeper.orchestration.evaluation.trace import CommandRefused
from phasekeeper.orchestration.evaluation.write_check import check_write, is_root_file
from phasekeeper.orchestration.updates.commands import Command

from tests.verdicts.exploration import LONGEST
from tests.verdicts.models import MODELS
from tests.verdicts.runs import CONFIG, Run

GUARD = "guard: {runs: ['**']}\n"
WALKS, SEED = 25, 1
# While the marks of one stage may be set the fence lets the whole plan be written.
DISHONEST = ("edit: all marks",)


@dataclass
class FencedRun(Run):
    """A guarded run in which nobody writes what the fence refuses to the tools of an assistant."""

    is_recording: bool = False

    def write(self, path: str, content: str | Mapping[str, Any]) -> Run:
        whole = path[1:] if path.startswith("/") else f"{self.at}/{path}"
        if not self.is_recording and (is_root_file(whole) or check_write(self.trace(), whole)):
            raise CommandRefused(f"{whole} may not be written")
        return super().write(path, content)

    def remove(self, path: str) -> Run:
        if check_write(self.trace(), f"{self.at}/{path}"):
            raise CommandRefused(f"{path} may not be removed")
        return super().remove(path)

    def apply(self, command: Command) -> Run:
        self.is_recording = True
        try:
            return super().apply(command)
        finally:
            self.is_recording = False


def guarded(run: Run, kind: type[Run] = Run) -> Run:
    """The same run, guarded."""
    same = kind(**{each.name: getattr(run, each.name) for each in fields(run)})
    same.files = {**run.files, CONFIG: run.files.get(CONFIG, "") + GUARD}
    return same


def violations(run: Run) -> list[str]:
    """The violations that are told of a run."""
    return run.messages("gate-violation")


@pytest.mark.parametrize("name", MODELS)
def test_what_the_fence_lets_through_is_no_violation_at_any_step(name: str) -> None:
    model, choose = MODELS[name], random.Random(f"{name} {SEED}")
    made = 0
    for _ in range(WALKS):
        run, moves = guarded(model.start(), FencedRun), list[str]()
        assert violations(run) == []
        for _ in range(LONGEST):
            move = choose.choice([name for name in model.moves if name not in DISHONEST])
            before = run.copy()
            try:
                model.moves[move](run)
            except CommandRefused:
                # What a move did before it was refused is undone, as a program's own rollback would.
                run = before
                continue
            moves.append(move)
            made += 1
            assert violations(run) == [], "\n".join(moves)
    assert made > WALKS
