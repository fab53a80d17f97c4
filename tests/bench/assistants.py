"""`python -m tests.bench.assistants`: what an assistant's connection costs, over the real streams.

Start to initialize (alone, and through a server that runs), the size of the list of tools, a warm `next_step`
on plans of 100 to 10,000 tasks, and memory per client. A bare interpreter is the floor beside it, and in the
end stand the peers that are installed.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from tests.bench import peers
from tests.bench.plans import write_plan
from tests.bench.wire import Raw
from tests.server import servers
from tests.server.servers import Home, homes

ROUNDS, CALLS = 5, 60
SIZES = (100, 1_000, 10_000)


class Started(NamedTuple):
    client: Raw
    process: Any
    wall_ms: float


def started(home: Home, root: Path, *more: str) -> Started:
    """An assistant's process, initialized."""
    begin = perf_counter()
    process = home.start("mcp", *more, cwd=root)

    def write(data: bytes) -> None:
        process.stdin.write(data)
        process.stdin.flush()

    client = Raw(process.stdout.readline, write)
    client.initialize()
    return Started(client, process, (perf_counter() - begin) * 1000)


def ended(made: Started) -> None:
    made.process.stdin.close()
    made.process.wait()


def say(what: str, value: float, unit: str, budget: str = "") -> None:
    print(f"{what:<62} {value:9.2f} {unit:<3}  {budget}")


def starts(home: Home, root: Path) -> None:
    print("\nstart to initialize answered: median of five, and CPU of the process")
    floor = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        floor.append((perf_counter() - begin) * 1000)
    say("  floor: python -I -c pass", statistics.median(floor), "ms")
    for name, more, budget in (
        ("alone, cold", ("--standalone",), ""),
        ("through a warm server", (), "budget 100"),
    ):
        if not more:
            home.server()
            ended(started(home, root))
        walls, cpus = [], []
        for _ in range(ROUNDS):
            before = _children()
            made = started(home, root, *more)
            walls.append(made.wall_ms)
            ended(made)
            cpus.append((_children() - before) * 1000)
        say(f"  {name}", statistics.median(walls), "ms", budget)
        say(f"  {name}, CPU", statistics.median(cpus), "ms")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def steps(home: Home, folder: Path) -> None:
    print("\nwarm next_step over the wire: median of the best of five rounds")
    for tasks in SIZES:
        root = folder / str(tasks)
        (root / ".git").mkdir(parents=True)
        write_plan(root, tasks)
        made = started(home, root, "--standalone")
        answer = made.client.call("next_step")
        text, data = answer["content"][0]["text"], answer["structuredContent"]
        rounds = []
        for _ in range(ROUNDS):
            spent = []
            for _ in range(CALLS):
                begin = perf_counter()
                made.client.call("next_step")
                spent.append((perf_counter() - begin) * 1000)
            rounds.append(statistics.median(spent))
        budget = "budget 5, and 1.5 times that at 100" if tasks == SIZES[-1] else ""
        size = f"{len(text):,} + {len(json.dumps(data, ensure_ascii=False)):,} characters"
        say(f"  {tasks:,} tasks ({size})", min(rounds), "ms", budget)
        if tasks == SIZES[0]:
            listed = json.dumps(made.client.ask("tools/list"), ensure_ascii=False, separators=(",", ":"))
            say("  tools/list, as it is sent", len(listed), "ch", "budget 6000")
        ended(made)


def memory(home: Home, root: Path) -> None:
    print("\nmemory of the server (RSS)")
    # A server without clients leaves after a while.
    if not home.answers():
        home.server()
    ended(started(home, root))
    pid = int(home.information()["pid"])
    empty = _rss(pid)
    say("  with the MCP package, no client", empty, "MiB")
    held: list[tuple[socket.socket, Any]] = []
    before, count = empty, 0
    for clients in (1, 50, 200):
        while count < clients:
            sock = home.joined("mcp")
            stream = sock.makefile("rb")
            client = Raw(stream.readline, sock.sendall)
            client.initialize()
            client.call("next_step", root=str(root))
            held.append((sock, stream))
            count += 1
        now = _rss(pid)
        say(f"  {clients} clients", now, "MiB", "budget 135 with one" if clients == 1 else "")
    say("  a client more (from 1 to 200, each after a call)", (now - before) * 1024 / count, "KiB")
    for sock, stream in held:
        stream.close()
        sock.close()


def _rss(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    # A measured process may live longer than one of a test.
    servers.BOUND_S = 600.0
    print(f"python {sys.version.split()[0]}, load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, homes() as home:
        root = Path(folder) / "small"
        (root / ".git").mkdir(parents=True)
        write_plan(root, 25)
        starts(home, root)
        steps(home, Path(folder))
        memory(home, root)
    peers.compare()
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
