"""What a connection costs: connector and server, from the start to the answer of `initialize`, and in memory.

The floors are a bare interpreter's: nothing in Python can be started faster, or be smaller.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.roots import task
from tests.server.servers import Home, answer, frame, homes, initialize, until

ROUNDS = 5
_TICKS = os.sysconf("SC_CLK_TCK")
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
        say("floor: python -I -c pass", _best(_floor), "ms")
        cold, editor = _cold(home, root)
        say("server cold: initialize answered, CPU of server and connector", cold, "ms", "budget 1200")
        editor.stdin.write(frame(method="initialized", params={}))
        editor.stdin.flush()
        until(lambda: _runs(home) == 1_000)
        pid = home.information()["pid"]
        # What the editor is told of the first look is its own affair; it has to be read all the same.
        editor.stdin.write(frame(id=2, method="phasekeeper/board", params={}))
        editor.stdin.flush()
        answer(editor.stdout, 2)
        say("server, one editor, no assistant yet", _memory(pid), "MiB", "budget 80")
        say("connector warm: initialize answered, wall", _best(lambda: _warm(home, root)), "ms", "budget 100")
        say("floor: a bare interpreter in memory", _bare_memory(), "MiB")
        say(
            "connector in memory",
            _memory(editor.pid),
            "MiB",
            "budget 10 of a wheel; here some 2 find modules",
        )
        assistant = _assistant(home, root)
        say("server, one editor and one assistant", _memory(pid), "MiB", "budget 135")
        del assistant


def say(what: str, value: float, unit: str, budget: str = "") -> None:
    print(f"  {what:<64} {value:9.1f} {unit:<4} {budget}")


def _root(home: Home, runs: int) -> Path:
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    for number in range(runs):
        task(root, f"T{number}")
    return root


def _best(once: Any) -> float:
    """The median of five calls, of the best of five rounds, in milliseconds."""
    rounds = []
    for _ in range(ROUNDS):
        spent = []
        for _ in range(5):
            spent.append(once())
        rounds.append(statistics.median(spent))
    return min(rounds) * 1000


def _floor() -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return perf_counter() - start


def _opened(home: Home, root: Path) -> tuple[float, Any]:
    """(seconds until `initialize` was answered, the connector)"""
    start = perf_counter()
    process = home.start("lsp", cwd=root)
    process.stdin.write(initialize(root))
    process.stdin.flush()
    answer(process.stdout, 1)
    return perf_counter() - start, process


def _warm(home: Home, root: Path) -> float:
    spent, process = _opened(home, root)
    process.stdin.close()
    process.wait()
    return spent


def _cold(home: Home, root: Path) -> tuple[float, Any]:
    """(milliseconds of CPU until a new server has answered, the connector): the least of three servers."""
    spent = []
    while True:
        _, process = _opened(home, root)
        pid = home.information()["pid"]
        spent.append(_cpu(pid) + _cpu(process.pid))
        if len(spent) == 3:
            return min(spent), process
        process.kill()
        home.start("serve", "--stop").wait()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS * 1000


def _bare_memory() -> float:
    """What a connector cannot go below here; an editable installation alone adds two megabytes."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        memory = _memory(bare.pid)
        bare.kill()
    return memory


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


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
