"""What a command costs its user: with a server that watches the root, without one, and of that the imports.

Time of the processor of the command's process, least and median, taken in turns with a bare
interpreter's; what the server spends on it is beside it.
`python -m tests.bench.commands 1 1000` measures roots of these sizes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.machine import cpu_ms, machine
from tests.roots import put, task
from tests.server.servers import Home, homes

SIZES = (1, 1_000, 10_000)
ROUNDS, FEW = 9, 3
_LONG = 5_000
"""Among so many runs a command that looks at all of them by itself is measured once."""
COMMANDS = (("status",), ("next", "T0"), ("can", "T0", "codegen"), ("escalate", "T0", "Is it {n}?"))
"""The last one writes: a record each time it is measured, with a number `n` of its own."""
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", re.M)
"""(microseconds of its own, module) in a line of -X importtime."""
_numbers = itertools.count(1)
_PYTHON = (sys.executable, "-I")


def commands(sizes: Sequence[int] = SIZES) -> None:
    """Print the figures."""
    print("\ncommands, time of the processor: least / median of the command, and of the server for each")
    costs: dict[str, dict[int, float]] = {}
    for runs in sizes:
        with homes(bound_s=3600.0) as home:
            root = _root(home, runs)
            server = home.server()
            view = home.joined("view")
            view.settimeout(3600.0)
            view.sendall(json.dumps({"roots": [str(root)]}).encode() + b"\n")
            with view, view.makefile("rb") as stream:
                while "rows" not in json.loads(stream.readline()):
                    pass
                for words in COMMANDS:
                    name = " ".join(words[:1])
                    costs.setdefault(f"{name}, server", {})[runs] = _measure(
                        home, root, words, f"{name}, {runs:,} runs, server", server.pid, "budget 50"
                    )
                    looks_long = words == ("status",) and runs >= _LONG
                    costs.setdefault(f"{name}, --cold", {})[runs] = _measure(
                        home,
                        root,
                        (*words, "--cold"),
                        f"{name}, {runs:,} runs, no server",
                        rounds=1 if looks_long else FEW,
                    )
    if len(sizes) > 1:
        for name, by_runs in costs.items():
            (few, less), (many, more) = [*by_runs.items()][-2:]
            exponent = math.log(more / less) / math.log(many / few)
            print(f"  {name + f', growth from {few:,} to {many:,} runs':<52} exponent {exponent:5.2f}")


def imports() -> None:
    """Print what the modules cost that `next RUN` imports without a server, and the dearest of them."""
    with homes() as home:
        root = _root(home, 1)
        own: dict[str, float] = {}
        for _ in range(ROUNDS):
            line = [*_PYTHON, "-X", "importtime", "-m", "phasekeeper", "next", "T0", "--cold"]
            done = subprocess.run(line, cwd=root, env=home.env, capture_output=True, text=True, check=False)
            for microseconds, name in _IMPORT.findall(done.stderr):
                own[name] = min(own.get(name, math.inf), int(microseconds) / 1000)
    print(f"\nimports of `next RUN` without a server, by -X importtime, least of {ROUNDS}")
    print(f"  {f'{len(own)} modules':<52} {sum(own.values()):7.1f} ms  budget 150")
    for name, cost in sorted(own.items(), key=lambda each: -each[1])[:8]:
        print(f"    {name:<50} {cost:7.1f} ms")


def _root(home: Home, runs: int) -> Path:
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    put(root / ".git/HEAD", "ref: refs/heads/main\n")
    for number in range(runs):
        task(root, f"T{number}")
    return root


def _measure(
    home: Home,
    root: Path,
    words: Sequence[str],
    name: str,
    server: int | None = None,
    budget: str = "",
    rounds: int = ROUNDS,
) -> float:
    """Print and return the least milliseconds of a command."""
    if server:
        # What the server imports for its first command it keeps.
        _cpu_ms([*_PYTHON, "-m", "phasekeeper", *words], root, home)
    before = cpu_ms(server) if server else 0.0
    floors, costs = [], []
    for _ in range(rounds):
        floors.append(_cpu_ms([*_PYTHON, "-c", "pass"], root, home))
        costs.append(_cpu_ms([*_PYTHON, "-m", "phasekeeper", *words], root, home))
    beside = f"server {(cpu_ms(server) - before) / rounds:8.1f} ms" if server else " " * 18
    least, median = min(costs), statistics.median(costs)
    print(
        f"  {name:<40} {least:9.1f} / {median:9.1f} ms  {beside}  floor (-I -c pass) {min(floors):5.1f}"
        f"  {budget}",
        flush=True,
    )
    return least


def _cpu_ms(line: Sequence[str], folder: Path, home: Home) -> float:
    line = [word.replace("{n}", str(next(_numbers))) for word in line]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, cwd=folder, env=home.env)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1000


if __name__ == "__main__":
    print(machine())
    imports()
    commands([int(word) for word in sys.argv[1:]] or SIZES)
    print(f"\n{machine()}")
