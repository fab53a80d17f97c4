"""The long haul: clients of all kinds write, are killed, and come again; roots and servers come and go.

In a round a few clients at once write to two roots until so many writes are acknowledged; every few of them
one process is killed. Then nobody writes, and each run is compared with what its clients were answered, and
what the server shows with a cold look.
"""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from difflib import unified_diff
from itertools import count, islice
from pathlib import Path
from typing import Any

from tests.soak.clients import Assistant, Editor, Gone, client_of
from tests.soak.faults import Faults, possible
from tests.soak.model import Answer, History, Verdict, judge
from tests.soak.world import EFFECT, RUNS, Installation, Sample, World, worlds

ACKNOWLEDGED = Answer.ACKNOWLEDGED
AT_ONCE = 5
WRITES = 40
"""Acknowledged in a round, at least."""
ROOTS = 2
LIVES_FOR = 3
"""Rounds after which the older root is removed and a new one appears."""
SERVER_ROUNDS = 8
"""In one of so many rounds the server is among those that are killed; it is old enough to leak otherwise."""
STARVED = 0.15
"""Of assistants; those that are not served by the server then write with hardly any descriptors."""
WARM_ROUNDS = 3
"""Rounds after which a server has imported and cached what it needs."""
_MOST_LINES = 60
"""Of what is shown otherwise than it is."""
MORE_DESCRIPTORS = 8
MORE_MEMORY = 1.25
"""So many descriptors and times the memory a server may have more than when it was warm."""


class Haul:
    """Rounds in one world. All choices are of the seed; what the processes make of them is not."""

    def __init__(
        self, world: World, seed: int, writes: int = WRITES, server_rounds: int = SERVER_ROUNDS
    ) -> None:
        self.world, self.history, self.total = world, History(), Verdict()
        self._chance, self._names = random.Random(seed), count(1)
        compare = self._compare_with_cold
        self.faults = Faults(world, self._chance, self._write, self._end_observers, compare)
        self._rounds = 0
        self._samples: list[Sample] = []
        self._observers: dict[Path, Assistant] = {}
        self._lock = threading.Lock()
        self._writes, self._server_rounds = writes, server_rounds
        self._left = self._until_kill = 0
        self._with_server = False
        for _ in range(ROOTS):
            world.add_root()

    # ---- a round

    def round(self, fault: str | None = None) -> None:
        """Inject a fault, write, kill, and look. What is wrong is in `total` afterwards.

        The fault is one of those that are `possible`; without a name it is one of the seed.
        """
        self._rounds += 1
        self._left, self._until_kill = self._writes, self._chance.randint(1, 12)
        self._with_server = self._rounds % self._server_rounds == 0
        for root in self.world.roots:
            self._observe(root)
        self._inject(fault or self._chance.choice(possible(self.world.has_disks)))
        seeds = [self._chance.random() for _ in range(AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for failed in threads.map(self._write_until_enough, seeds):
                self.total.faults += failed
        for root in self.world.roots:
            self._judge(root)
        if sample := self.world.sample():
            self._samples.append(sample)
        if self._rounds % LIVES_FOR == 0:
            gone = self.world.remove_oldest_root()
            self.history.forget(gone)
            if gone in self._observers:
                self._observers.pop(gone).close()
            self.world.add_root()

    def _inject(self, fault: str) -> None:
        root, run = self._chance.choice(self.world.roots), self._chance.choice(RUNS)
        # There is something to be damaged.
        self._finish(root, run)
        self.faults.inject(fault, root, run, self._observers[root])

    def _write_until_enough(self, seed: float) -> list[str]:
        """Be one client after the other; what went wrong with them."""
        chance, failed = random.Random(seed), list[str]()
        while self._left > 0:
            root = chance.choice(self.world.roots)
            try:
                with client_of(chance, self.world, root) as client:
                    self._write_some(client, chance, root)
            except Gone:
                continue
            except (TimeoutError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
                failed.append(f"a client was not served as it should be: {error!r}")
                break
        return failed

    def _write_some(self, client: Any, chance: random.Random, root: Path) -> None:
        """Write a few times by one client, which may run out of descriptors once it knows how to write."""
        for number in range(chance.randint(1, 12)):
            if self._left > 0 and self._write(client, root, chance.choice(RUNS)) is ACKNOWLEDGED:
                self._count_down()
            if not number and isinstance(client, Assistant) and chance.random() < STARVED:
                self.world.starve(client.process.pid, chance.randint(0, 6))

    def _write(self, client: Any, root: Path, run: str) -> Answer:
        """Write once; what came of it. Raises what the client raises."""
        message = f"m{next(self._names)}"
        attempt = self.history.begin(root, run, message, is_redo=isinstance(client, Editor))
        try:
            answer, said = client.write(attempt)
        except BaseException:
            self.history.end(attempt, Answer.UNKNOWN)
            raise
        self.history.end(attempt, answer, said)
        return answer

    def _count_down(self) -> None:
        with self._lock:
            self._left -= 1
            self._until_kill -= 1
            if self._until_kill <= 0:
                self._until_kill = self._chance.randint(1, 12)
                self.world.kill_one(self._chance, self._with_server)

    # ---- what must hold when nobody writes

    def _judge(self, root: Path) -> None:
        for run in RUNS:
            self._finish(root, run)
            is_merged = (root, run) in self.faults.merged
            found = judge(root, run, self.history.attempts(root, run), EFFECT, is_merged)
            self.total.lost += found.lost
            self.total.doubled += found.doubled
            self.total.uninvited += found.uninvited
            self.total.faults += [
                f"round {self._rounds}, {root.name}, {run}: {each}" for each in found.faults
            ]
        self._compare_with_cold(root)

    def _finish(self, root: Path, run: str) -> None:
        """The next writer finishes what those that were killed left."""
        self._observe(root)
        if self._write(self._observers[root], root, run) is not ACKNOWLEDGED:
            said = self.history.attempts(root, run)[-1].said
            self._fault(f"nobody can write to {root.name}/{run}: {said}")

    def _fault(self, said: str) -> None:
        self.total.faults.append(f"round {self._rounds}: {said}")

    def _compare_with_cold(self, root: Path, looker: Installation | None = None) -> None:
        self._observe(root)
        served, cold = self.world.shown(root, looker)
        if served != cold:
            lines = unified_diff(
                cold.splitlines(), (served or "").splitlines(), "cold", "served", lineterm="", n=2
            )
            self._fault("\n".join([f"{root.name} is not shown as it is:", *islice(lines, _MOST_LINES)]))

    def _observe(self, root: Path) -> None:
        """An assistant that has a root open in the server, by the one before or by a new one, which is not
        among those that are killed."""
        if root in self._observers:
            try:
                self._observers[root].look()
                return
            except Gone:
                self._observers.pop(root).close()
        observer = self._observers[root] = Assistant(self.world, root, ())
        self.world.forget(observer.process)
        observer.connect()
        observer.look()

    def _end_observers(self) -> None:
        while self._observers:
            self._observers.popitem()[1].close()

    # ---- at the end

    def close(self) -> None:
        self._end_observers()

    def failures(self) -> list[str]:
        """All that is wrong; empty is right."""
        counts = {name: getattr(self.total, name) for name in ("lost", "doubled", "uninvited")}
        found = [f"{number} records are {name}" for name, number in counts.items() if number]
        if exceptions := self.world.tracebacks():
            found.append(f"{exceptions} exceptions in logs")
        return [*self.total.faults, *self.faults.complaints, *found, *growth(self._samples)]

    def summary(self) -> str:
        answers, total = self.history.answers, self.total
        first, last = (self._samples[0], self._samples[-1]) if self._samples else (None, None)
        memory = f"{first.memory >> 20} to {last.memory >> 20} MiB" if first and last else "unknown"
        descriptors = f"{first.descriptors} to {last.descriptors}" if first and last else "unknown"
        return (
            f"{self._rounds} rounds: {answers[ACKNOWLEDGED]} writes acknowledged, "
            f"{answers[Answer.REFUSED]} refused, {answers[Answer.UNKNOWN]} unknown; "
            f"{total.lost} lost, {total.doubled} doubled, {total.uninvited} uninvited; "
            f"{self.world.kills} processes killed, {self.world.starved} without descriptors; "
            f"faults: {dict(sorted(self.faults.injected.items()))}; "
            f"memory {memory}, descriptors {descriptors}; "
            f"{self.world.tracebacks()} exceptions in logs"
        )


def growth(samples: Sequence[Sample]) -> list[str]:
    """Servers that came to need more than when they were warm."""
    found: list[str] = []
    for pid in dict.fromkeys(sample.pid for sample in samples):
        of_one = [sample for sample in samples if sample.pid == pid][WARM_ROUNDS - 1 :]
        if not of_one:
            continue
        first, last = of_one[0], of_one[-1]
        if last.descriptors > first.descriptors + MORE_DESCRIPTORS:
            found.append(f"descriptors of {pid}: {first.descriptors}, then {last.descriptors}")
        if last.memory > first.memory * MORE_MEMORY:
            found.append(f"memory of {pid}: {first.memory}, then {last.memory}")
    return found


@contextmanager
def hauls(seed: int, has_disks: bool = False, **sizes: int) -> Iterator[Haul]:
    """A haul in a world of its own, whose processes have all ended afterwards."""
    with worlds(has_disks) as world, closing(Haul(world, seed, **sizes)) as haul:
        yield haul
