"""What a connection costs: connector and server, from the start to the answer of `initialize`, and in memory.

The floors are a bare interpreter's: nothing in Python can be started faster, or be smaller.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.bench.machine import cpu_ms, resident_mib
from tests.roots import task
from tests.server.servers import Home, answer, frame, homes, initialize, until

ROUNDS = 5
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def connections() -> None:
    """Print the figures. They need /proc."""
    with homes(bound_s=1800.0) as home:
        root = _root(home, 1_000)
        print("\nconnections, 1,000 runs in the root")
        say("floor: python -I -c pass", _best_ms(_floor_s), "ms")
        cold, editor = _cold_ms(home, root)
        say("server cold: initialize answered, CPU of server and connector", cold, "ms", "budget 1200")
        editor.stdin.write(frame(method="initialized", params={}))
        editor.stdin.flush()
        until(lambda: _runs(home) == 1_000)
        pid = home.information()["pid"]
        # The board of the first scan has to be read, though it is not measured.
        editor.stdin.write(frame(id=2, method="phasekeeper/board", params={}))
        editor.stdin.flush()
        answer(editor.stdout, 2)
        say("server, one editor, no assistant yet", resident_mib(pid), "MiB", "budget 80")
        say(
            "connector warm: initialize answered, wall",
            _best_ms(lambda: _warm_s(home, root)),
            "ms",
            "budget 100",
        )
        say("floor: a bare interpreter in memory", _bare_mib(), "MiB")
        say(
            "connector in memory",
            resident_mib(editor.pid),
            "MiB",
            "budget 10 of a wheel; here some 2 find modules",
        )
        assistant = _assistant(home, root)
        say("server, one editor and one assistant", resident_mib(pid), "MiB", "budget 135")
        del assistant


def say(what: str, value: float, unit: str, budget: str = "") -> None:
    """Print one figure."""
    print(f"  {what:<64} {value:9.1f} {unit:<4} {budget}")


def _root(home: Home, runs: int) -> Path:
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    for number in range(runs):
        task(root, f"T{number}")
    return root


def _best_ms(once: Callable[[], float]) -> float:
    """Milliseconds of a call that returns its seconds: the median of five, of the best of five rounds."""
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for _ in range(5):
            times.append(once())
        rounds.append(statistics.median(times))
    return min(rounds) * 1000


def _floor_s() -> float:
    """How long a bare interpreter takes."""
    start = perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return perf_counter() - start


def _open_editor(home: Home, root: Path) -> tuple[float, Any]:
    """(seconds until `initialize` was answered, the connector)"""
    start = perf_counter()
    process = home.start("lsp", cwd=root)
    process.stdin.write(initialize(root))
    process.stdin.flush()
    answer(process.stdout, 1)
    return perf_counter() - start, process


def _warm_s(home: Home, root: Path) -> float:
    """Seconds until `initialize` is answered where a server runs."""
    times, process = _open_editor(home, root)
    process.stdin.close()
    process.wait()
    return times


def _cold_ms(home: Home, root: Path) -> tuple[float, Any]:
    """(milliseconds of CPU until a new server has answered, the connector): the least of three servers."""
    times = []
    while True:
        _, process = _open_editor(home, root)
        pid = home.information()["pid"]
        times.append(cpu_ms(pid) + cpu_ms(process.pid))
        if len(times) == 3:
            return min(times), process
        process.kill()
        home.start("serve", "--stop").wait()


def _bare_mib() -> float:
    """What a connector cannot go below here; an editable installation alone adds two megabytes."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        memory = resident_mib(bare.pid)
        bare.kill()
    return memory


def _runs(home: Home) -> int:
    return sum(root["runs"] for root in home.information()["roots"])


def _assistant(home: Home, root: Path) -> Any:
    """A connected assistant that has asked for the next step once."""
    process = home.start("mcp", cwd=root)
    for message in (
        {"id": 1, "method": "initialize", "params": _HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    while json.loads(process.stdout.readline()).get("id") != 2:
        pass
    return process


if __name__ == "__main__":
    connections()
