"""Explores short histories of runs, honest and dishonest, and asks a model of the seed's rules about each.

A history is a list of moves: work that is honest, reports that may be lies, edits of files by an assistant
that wants to be done, decisions of a person. A move that the product refuses changes nothing. After each move
the model says what the run may not claim: that it is complete, or that a gate has passed, without its
evidence. The model knows the moves that were accepted and the files, and nothing of the product's engine.

Each history is one that was seen before with one random move more, by a fixed seed; a state that was seen
before is not gone on from, so that histories with equal states are merged. A third of the histories goes on
from the newest ones, a third from any, and a third from one of each standing (phase, status and gates) that a
run was seen in: few histories reach the late phases. A history that breaks a rule is shrunk: moves are left
out as long as it is still broken.
"""

from __future__ import annotations

import argparse
import copy
import gc
import hashlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Protocol

from phasekeeper.orchestration.evaluation.trace import CommandRefused
from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.runs import Run

LONGEST = 18
# Texts of reports say when something was looked at, so that no two are the same.
_CLOCK = re.compile(r"(?<!\d)\d\d:\d\d(:\d\d(\.\d+)?)?|\\?\"about\\?\": \\?\"[0-9a-f]+")
NEWEST = 50
# So many histories are kept to go on from; a longer exploration forgets some of the older ones.
MOST_KNOWN = 20_000


class Truth(Protocol):
    """What is true of a run by the seed's rules, told from the moves that were made, not by the product."""

    def observe(self, move: str, run: Run) -> None:
        """Take note of a move that led to the run."""
        ...

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        """The rules that an evaluation breaks."""
        ...


@dataclass(frozen=True)
class Model:
    """A workflow's moves, and what is true at the start of a run."""

    name: str
    start: Callable[[], Run]
    truth: Callable[[], Truth]
    moves: Mapping[str, Callable[[Run], object]]


@dataclass(frozen=True)
class History:
    """The moves that were accepted, the run that they led to and what is true of it."""

    run: Run
    truth: Truth
    moves: tuple[str, ...] = ()

    def broken(self, evaluation: Evaluation | None = None) -> tuple[str, ...]:
        """The rules that the product breaks here."""
        return tuple(self.truth.broken(evaluation or self.run.evaluation))


@dataclass
class Exploration:
    """What was explored of a model. `violations` are shrunk histories with the rules that they break."""

    model: Model
    seed: int = 1
    histories: int = 0
    states: set[str] = field(default_factory=set)
    complete: int = 0
    violations: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)

    def explore(
        self,
        histories: int,
        most_violations: int = 1,
        progress: Callable[[Exploration], object] = lambda far: None,
    ) -> Exploration:
        """Try so many histories, each one move longer than one before, or until so many break a rule."""
        choose = random.Random(f"{self.model.name} {self.seed}")
        names, known = list(self.model.moves), [begun(self.model)]
        standings: dict[tuple[object, ...], list[History]] = {}
        while self.histories < histories and len(self.violations) < most_violations:
            self.histories += 1
            progress(self)
            which = choose.randrange(3)
            if which == 0 and standings:
                among = standings[choose.choice(list(standings))]
            else:
                # Those are the longest.
                among = known[-NEWEST:] if which == 1 else known
            before = choose.choice(among)
            history = moved(self.model, before, choose.choice(names))
            state = fingerprint(history)
            if len(history.moves) > LONGEST or state in self.states:
                continue
            self.states.add(state)
            evaluation = history.run.evaluation
            self.complete += evaluation.status == "complete"
            if rules := history.broken(evaluation):
                # One history for each way to break rules is enough.
                if all(rules != known_rules for _, known_rules in self.violations):
                    self.violations.append((shrunk(self.model, history.moves, rules), rules))
                continue
            known.append(history)
            if len(known) > MOST_KNOWN:
                del known[choose.randrange(1, MOST_KNOWN // 2)]
            alike = standings.setdefault(standing(evaluation), [])
            alike.append(history)
            if len(alike) > NEWEST:
                del alike[choose.randrange(NEWEST)]
        return self


def standing(evaluation: Evaluation) -> tuple[object, ...]:
    """Where a run stands, as a person sees it."""
    gates = tuple((gate.id, str(gate.status)) for gate in evaluation.gates)
    return (evaluation.current_phase, str(evaluation.status), *gates)


def begun(model: Model) -> History:
    """The history without a move."""
    return History(model.start(), model.truth())


def moved(model: Model, history: History, name: str) -> History:
    """The history with one more move, or as it was where that is refused or changes nothing."""
    run, truth = history.run.copy(), copy.deepcopy(history.truth)
    try:
        model.moves[name](run)
    except CommandRefused:
        return history
    if (run.files, run.head) == (history.run.files, history.run.head):
        return history
    truth.observe(name, run)
    return History(run, truth, (*history.moves, name))


def shrunk(model: Model, names: Sequence[str], rules: tuple[str, ...]) -> tuple[str, ...]:
    """The shortest part of a history found, by leaving moves out, that still breaks the rules."""
    kept, position = tuple(names), 0
    while position < len(kept):
        fewer = begun(model)
        for name in (*kept[:position], *kept[position + 1 :]):
            fewer = moved(model, fewer, name)
        if set(rules) <= set(fewer.broken()):
            kept, position = fewer.moves, 0
        else:
            position += 1
    return kept


def fingerprint(history: History) -> str:
    """A digest of the files without times, so that equal states of different histories are one."""
    lines = []
    for path, text in sorted(history.run.files.items()):
        if path.endswith("journal.jsonl"):
            records = [json.loads(line) for line in text.splitlines()]
            told = ({k: v for k, v in each.items() if k not in ("at", "prev", "files")} for each in records)
            text = json.dumps(list(told))
        lines.append(f"{path}\0{_CLOCK.sub('', text)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def main() -> int:
    """Explore from the command line, as many workflows at once as there are cores."""
    from tests.verdicts.models import MODELS

    parser = argparse.ArgumentParser(description="Explore histories of runs, print what breaks a rule")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    is_broken = False
    with ProcessPoolExecutor(min(len(options.models), os.cpu_count() or 1)) as pool:
        explored = [pool.submit(_told, name, options.seed, options.histories) for name in options.models]
        for each in as_completed(explored):
            lines = each.result()
            is_broken |= len(lines) > 1
            print(*lines, sep="\n", flush=True)
    return int(is_broken)


def _told(name: str, seed: int, histories: int) -> list[str]:
    """What an exploration found, a line for its size and then some for each history that breaks a rule."""
    from tests.verdicts.models import MODELS

    def progress(far: Exploration) -> None:
        if far.histories % 1000 == 0 and sys.stderr.isatty():
            print(f"{name}: {far.histories} of {histories} histories", file=sys.stderr)

    # Nearly all that is made here is kept.
    gc.set_threshold(50_000)
    began = time.monotonic()
    result = Exploration(MODELS[name], seed).explore(histories, 5, progress)
    states, ways = len(result.states), len(result.violations)
    counted = f"{states} states, {result.complete} complete, {ways} ways to break a rule"
    minutes = (time.monotonic() - began) / 60
    lines = [f"{name}: {result.histories} histories, {counted}, {minutes:.1f} minutes"]
    for moves, rules in result.violations:
        lines += [f"  breaks: {'; '.join(rules)}", *(f"    {move}" for move in moves)]
    return lines


if __name__ == "__main__":
    sys.exit(main())
