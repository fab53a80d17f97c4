"""`make soak`: python -m tests.soak storm --rounds 20000 --seed 1, haul --minutes 120, fleet --rounds 20,
changes --changes 1000000."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from tests.faults.scenario import mount_namespace
from tests.soak.faults import ON_FILES, ON_SERVERS, obstacles
from tests.soak.haul import hauls
from tests.soak.storm import Storm

BEHIND_S = 2.0
"""A change is shown within so long, whatever becomes of the watcher."""
IN_NAMESPACE = "PHASEKEEPER_SOAK_MOUNTS"
"""Environment: this process is one that may mount, and nobody else sees what it does."""


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parts = options.add_subparsers(dest="part", required=True)
    storm = parts.add_parser("storm", help="renames and removals of watched folders")
    storm.add_argument("--rounds", type=int, default=20_000)
    storm.add_argument("--seed", type=int, default=1)
    haul = parts.add_parser("haul", help="writers of all kinds, killed at random, against a model")
    haul.add_argument("--rounds", type=int, default=250)
    haul.add_argument("--minutes", type=float, help="so long instead of so many rounds")
    haul.add_argument("--seed", type=int, default=1)
    haul.add_argument("--fault", choices=(*ON_FILES, *ON_SERVERS), help="this one in each round")
    haul.add_argument("--writes", type=int, default=40, help="acknowledged in a round, at least")
    fleet = parts.add_parser("fleet", help="machines that share claims, while their servers fail")
    fleet.add_argument("--rounds", type=int, default=20)
    fleet.add_argument("--seed", type=int, default=1)
    changes = parts.add_parser("changes", help="changes of files, each told, and a cache that is spoilt")
    changes.add_argument("--changes", type=int, default=1_000_000)
    changes.add_argument("--seed", type=int, default=1)
    changes.add_argument("--first", type=int, default=0, help="the number of the first root")
    arguments = options.parse_args()
    if arguments.part == "changes":
        return _changes(arguments)
    if arguments.part == "haul":
        return _haul(arguments)
    if arguments.part == "fleet":
        from tests.soak.fleet import play_rounds

        play_rounds(arguments.rounds, arguments.seed)
        return 0
    with tempfile.TemporaryDirectory(prefix="phasekeeper-soak-") as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        return asyncio.run(_storm(Path(folder).resolve(), arguments.rounds, arguments.seed))


def _changes(arguments: argparse.Namespace) -> int:
    from tests.soak.changes import play_changes

    began = time.monotonic()

    def progress(made: int, root: int) -> None:
        minutes = (time.monotonic() - began) / 60
        print(f"{made} changes of {arguments.changes}, {root} roots, {minutes:.1f} minutes", flush=True)

    compared = play_changes(arguments.changes, arguments.seed, arguments.first, progress)
    print(f"{arguments.changes} changes, {compared} comparisons, no difference")
    return 0


def _haul(arguments: argparse.Namespace) -> int:
    has_disks = os.environ.pop(IN_NAMESPACE, "") == "1"
    if not has_disks and (namespace := mount_namespace()):
        os.environ[IN_NAMESPACE] = "1"
        words = [*namespace, sys.executable, "-m", "tests.soak", *sys.argv[1:]]
        os.execvp(words[0], words)
    for fault, why in obstacles(has_disks).items():
        print(f"not injected: {fault}, which {why}", flush=True)
    if arguments.fault in obstacles(has_disks):
        return 1
    minutes = arguments.minutes
    until = None if minutes is None else time.monotonic() + minutes * 60
    with hauls(arguments.seed, has_disks, writes=arguments.writes) as haul:
        for number in count(1):
            haul.round(arguments.fault)
            print(haul.summary(), file=sys.stderr, flush=True)
            if haul.failures() or (number >= arguments.rounds if until is None else time.monotonic() > until):
                break
        print(haul.summary())
        print(*haul.failures() or ["nothing is wrong"], sep="\n")
        return 1 if haul.failures() else 0


async def _storm(folder: Path, rounds: int, seed: int) -> int:
    storm = Storm(folder, seed)
    async with storm.served():
        for number in range(1, rounds + 1):
            await storm.round()
            if number % 1000 == 0 or number == rounds:
                print(f"{number} rounds: {storm.summary()}; {await storm.faults()}", flush=True)
        await storm.settle()
    late = sum(behind > BEHIND_S for behind in storm.behind_s)
    print(f"later than {BEHIND_S:g} s: {late} of {len(storm.behind_s)}")
    return 1 if late else 0


if __name__ == "__main__":
    raise SystemExit(main())
