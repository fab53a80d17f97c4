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
from tests.bench.machine import resident_mib
from tests.bench.plans import write_plan
from tests.bench.wire import McpClient
from tests.server import servers
from tests.server.servers import Home, homes

ROUNDS, CALLS = 5, 60
SIZES = (100, 1_000, 10_000)


class RunningAssistant(NamedTuple):
    """An initialized assistant's connector, and how long that took."""

    client: McpClient
    process: Any
    wall_ms: float


def start(home: Home, root: Path, *options: str) -> RunningAssistant:
    """Start an assistant's connector and initialize the connection."""
    begin = perf_counter()
    process = home.start("mcp", *options, cwd=root)

    def write(data: bytes) -> None:
        process.stdin.write(data)
        process.stdin.flush()

    client = McpClient(process.stdout.readline, write)
    client.initialize()
    return RunningAssistant(client, process, (perf_counter() - begin) * 1000)


def end(assistant: RunningAssistant) -> None:
    """Close its input and wait for it."""
    assistant.process.stdin.close()
    assistant.process.wait()


def say(what: str, value: float, unit: str, budget: str = "") -> None:
    """Print one figure."""
    print(f"{what:<62} {value:9.2f} {unit:<3}  {budget}")


def starts(home: Home, root: Path) -> None:
    """Print what it takes from the start to `initialize`, standalone and through a server."""
    print("\nstart to initialize answered: median of five, and CPU of the process")
    floor = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        floor.append((perf_counter() - begin) * 1000)
    say("  floor: python -I -c pass", statistics.median(floor), "ms")
    for name, options, budget in (
        ("alone, cold", ("--standalone",), ""),
        ("through a warm server", (), "budget 100"),
    ):
        if not options:
            home.server()
            end(start(home, root))
        walls, cpus = [], []
        for _ in range(ROUNDS):
            before = _children_cpu_s()
            assistant = start(home, root, *options)
            walls.append(assistant.wall_ms)
            end(assistant)
            cpus.append((_children_cpu_s() - before) * 1000)
        say(f"  {name}", statistics.median(walls), "ms", budget)
        say(f"  {name}, CPU", statistics.median(cpus), "ms")


def _children_cpu_s() -> float:
    """Time of the processor of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def steps(home: Home, folder: Path) -> None:
    """Print what a warm `next_step` takes on plans of several sizes."""
    print("\nwarm next_step over the wire: median of the best of five rounds")
    for tasks in SIZES:
        root = folder / str(tasks)
        (root / ".git").mkdir(parents=True)
        write_plan(root, tasks)
        assistant = start(home, root, "--standalone")
        answer = assistant.client.call("next_step")
        text, data = answer["content"][0]["text"], answer["structuredContent"]
        rounds = []
        for _ in range(ROUNDS):
            times_ms = []
            for _ in range(CALLS):
                begin = perf_counter()
                assistant.client.call("next_step")
                times_ms.append((perf_counter() - begin) * 1000)
            rounds.append(statistics.median(times_ms))
        budget = "budget 5, and 1.5 times that at 100" if tasks == SIZES[-1] else ""
        size = f"{len(text):,} + {len(json.dumps(data, ensure_ascii=False)):,} characters"
        say(f"  {tasks:,} tasks ({size})", min(rounds), "ms", budget)
        if tasks == SIZES[0]:
            listed = json.dumps(assistant.client.ask("tools/list"), ensure_ascii=False, separators=(",", ":"))
            say("  tools/list, as it is sent", len(listed), "ch", "budget 6000")
        end(assistant)


def memory(home: Home, root: Path) -> None:
    """Print the server's memory by the number of its clients."""
    print("\nmemory of the server (RSS)")
    # A server without clients leaves after a while.
    if not home.answers():
        home.server()
    end(start(home, root))
    pid = int(home.information()["pid"])
    empty = resident_mib(pid)
    say("  with the MCP package, no client", empty, "MiB")
    connections: list[tuple[socket.socket, Any]] = []
    before, count = empty, 0
    for clients in (1, 50, 200):
        while count < clients:
            sock = home.joined("mcp")
            stream = sock.makefile("rb")
            client = McpClient(stream.readline, sock.sendall)
            client.initialize()
            client.call("next_step", root=str(root))
            connections.append((sock, stream))
            count += 1
        now = resident_mib(pid)
        say(f"  {clients} clients", now, "MiB", "budget 135 with one" if clients == 1 else "")
    say("  a client more (from 1 to 200, each after a call)", (now - before) * 1024 / count, "KiB")
    for sock, stream in connections:
        stream.close()
        sock.close()


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
