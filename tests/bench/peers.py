"""`python -m tests.bench.peers [--install]`: our server beside two task servers that people use, in one run.

Start to initialize, the size of the list of tools, a warm call that says what is next on 100 to 10,000 tasks,
and memory, each of the process and what it started. They go by turns, so that a busy machine is busy for all,
and reach no network. A peer that is not installed, does not start, or gives no answer in time, is named.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from tests.assistants_live.programs import BACKLOG, PEERS, TASK_MASTER, Program, install
from tests.bench.machine import cpu_ms, machine, resident_mib
from tests.bench.plans import write_plan
from tests.bench.wire import McpClient

ROUNDS, CALLS = 5, 10
SIZES = (100, 1_000, 10_000)
BOUND_S = 120.0
DONE = 0.4


class Contender(NamedTuple):
    """`command` starts it on standard streams, `fill` makes so many tasks, `following` asks what is next."""

    name: str
    command: list[str]
    fill: Callable[[Path, int], object]
    following: Callable[[Path], tuple[str, dict[str, Any]]]


# ---- who takes part ---------------------------------------------------------------------------


def contenders() -> list[Contender]:
    """Ours and the peers that are installed."""
    ours = [sys.executable, "-I", "-m", "phasekeeper", "mcp", "--standalone"]
    found = [
        Contender("phasekeeper", ours, lambda root, n: write_plan(root, n, DONE), lambda _: ("next_step", {}))
    ]
    if program := TASK_MASTER.program:
        found.append(Contender(_name(TASK_MASTER), [str(program)], _task_master, _task_master_next))
    if program := BACKLOG.program:
        found.append(Contender(_name(BACKLOG), [str(program), "mcp", "start"], _backlog, _backlog_next))
    return found


def _name(program: Program) -> str:
    return f"{program.package} {program.version}"


def _needs(number: int, first: int) -> list[int]:
    """What a task waits for: every third one for the one before it, as in our plans."""
    return [number - 1] if number % 3 == 0 and number > first else []


def _task_master(root: Path, tasks: int) -> None:
    entries = [
        {
            "id": number, "title": f"Work {number}", "description": "Do the work.", "priority": "medium",
            "status": "done" if number <= tasks * DONE else "pending", "dependencies": _needs(number, 1),
            "details": "It works.", "testStrategy": "", "subtasks": [],
        }
        for number in range(1, tasks + 1)
    ]  # fmt: skip
    metadata = {
        "created": "2026-01-01T00:00:00.000Z",
        "updated": "2026-01-01T00:00:00.000Z",
        "description": "big",
    }
    _put(
        root / ".taskmaster/tasks/tasks.json",
        json.dumps({"master": {"tasks": entries, "metadata": metadata}}),
    )
    _put(root / ".taskmaster/state.json", json.dumps({"currentTag": "master"}))
    _put(root / ".taskmaster/config.json", json.dumps({"global": {"projectName": "big"}}))


def _task_master_next(root: Path) -> tuple[str, dict[str, Any]]:
    return "next_task", {"projectRoot": str(root)}


def _backlog(root: Path, tasks: int) -> None:
    _put(
        root / "backlog/config.yml",
        'project_name: "big"\ndefault_status: "To Do"\nstatuses: ["To Do", "In Progress", "Done"]\n'
        "labels: []\nremote_operations: false\ncheck_active_branches: false\nauto_commit: false\n",
    )
    for number in range(1, tasks + 1):
        status = "Done" if number <= tasks * DONE else "To Do"
        needs = ", ".join(f"TASK-{each}" for each in _needs(number, 1))
        head = f"id: TASK-{number}\ntitle: Work {number}\nstatus: {status}\nassignee: []\n"
        head += f"created_date: '2026-01-01 00:00'\nlabels: []\ndependencies: [{needs}]\n"
        text = f"---\n{head}---\n\n## Description\n\nDo the work.\n"
        _put(root / f"backlog/tasks/task-{number} - Work-{number}.md", text)


def _backlog_next(_: Path) -> tuple[str, dict[str, Any]]:
    """It has no call for the next task; this is the nearest."""
    return "task_list", {"status": "To Do", "limit": 1}


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# ---- running and measuring --------------------------------------------------------------------


class Running:
    """A server that is initialized, in a home of its own and where no network can be reached."""

    def __init__(self, contender: Contender, root: Path, home: Path) -> None:
        apart = [shutil.which("unshare") or "unshare", "--map-root-user", "--net", "--"]
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        env = {**keep, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "TERM": "dumb"}
        begin = perf_counter()
        self._process = subprocess.Popen(
            [*apart, *contender.command], cwd=root, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # What waits for an answer sees the end of the stream.
        self._bound = threading.Timer(BOUND_S, self._process.kill)
        self._bound.start()
        self.client = McpClient(self._line, self._write)
        try:
            self.client.initialize()
        except OSError:
            self.end()
            raise
        self.wall_ms = (perf_counter() - begin) * 1000
        self.cpu_ms = sum(cpu_ms(pid, with_children=True) for pid in _tree(self._process.pid))

    def _line(self) -> bytes:
        """The next message; other lines, which a peer prints among them, are passed over."""
        assert self._process.stdout
        while line := self._process.stdout.readline():
            if line.startswith(b"{"):
                return line
        raise TimeoutError("it ended, or gave no answer in time")

    def _write(self, data: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def memory_mib(self) -> float:
        """Memory of the server and all that it started."""
        return sum(map(resident_mib, _tree(self._process.pid)))

    def end(self) -> None:
        """Kill it and all that it started."""
        self._bound.cancel()
        for process in reversed(_tree(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.communicate()


def _tree(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for each in found:
        with suppress(OSError):
            for path in Path(f"/proc/{each}/task").glob("*/children"):
                found += map(int, path.read_text().split())
    return found


# ---- the table --------------------------------------------------------------------------------


class TableRow(NamedTuple):
    """A line of the table: one cell a contender."""

    what: str
    cells: list[str]


def compare() -> None:
    """Print the table."""
    print("\nbeside peers, by turns in one run; without a network")
    for program in PEERS:
        if not program.program:
            print(f"  {_name(program)}: not installed; `make bench-peers` installs it")
    if not any(program.program for program in PEERS):
        return
    if not shutil.which("unshare"):
        print("  not run: needs unshare, so that no peer reaches a network")
        return
    with tempfile.TemporaryDirectory(prefix="pk-peers-") as folder:
        place = Path(folder)
        taking_part = [each for each in contenders() if _answers(each, place)]
        roots = {(each.name, size): _make_root(each, size, place) for each in taking_part for size in SIZES}
        rows = [*_starts(taking_part, roots, place), *_following(taking_part, roots, place)]
    _print(taking_part, rows)


def _answers(contender: Contender, place: Path) -> bool:
    """Whether it starts at all; its files are read by then, as they are at each other start."""
    try:
        Running(contender, place, place).end()
    except OSError as error:
        print(f"  {contender.name}: does not start: {error}")
        return False
    return True


def _make_root(contender: Contender, size: int, place: Path) -> Path:
    root = place / contender.name.partition(" ")[0] / str(size)
    (root / ".git").mkdir(parents=True)
    contender.fill(root, size)
    return root


Roots = dict[tuple[str, int], Path]


def _starts(taking_part: list[Contender], roots: Roots, place: Path) -> list[TableRow]:
    walls: dict[str, list[float]] = {each.name: [] for each in taking_part}
    cpus: dict[str, list[float]] = {each.name: [] for each in taking_part}
    listed: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for each in taking_part:
            running = Running(each, roots[each.name, SIZES[0]], place)
            walls[each.name].append(running.wall_ms)
            cpus[each.name].append(running.cpu_ms)
            listed[each.name] = running.client.ask("tools/list")
            running.end()
    sizes = [len(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) for found in listed.values()]
    return [
        TableRow("start to initialize, ms: least / median", [_two(each) for each in walls.values()]),
        TableRow("  time of the processor, ms: least / median", [_two(each) for each in cpus.values()]),
        TableRow("tools", [str(len(found["tools"])) for found in listed.values()]),
        TableRow("tools/list, characters", [f"{size:,}" for size in sizes]),
    ]


def _following(taking_part: list[Contender], roots: Roots, place: Path) -> list[TableRow]:
    rows: list[TableRow] = []
    for size in SIZES:
        found = [_measure_calls(each, roots[each.name, size], place) for each in taking_part]
        rows.append(
            TableRow(f"next, {size:,} tasks, ms: first / median / least", [each[0] for each in found])
        )
        rows.append(TableRow("  its answer, characters", [each[1] for each in found]))
        rows.append(TableRow("  memory after it, MiB", [each[2] for each in found]))
    return rows


def _measure_calls(contender: Contender, root: Path, place: Path) -> tuple[str, str, str]:
    """(times of the calls, size of the answer, memory)."""
    running = Running(contender, root, place)
    tool, arguments = contender.following(root)
    times_ms: list[float] = []
    answer: Any = None
    try:
        for _ in range(1 + CALLS):
            begin = perf_counter()
            answer = running.client.call(tool, **arguments)
            times_ms.append((perf_counter() - begin) * 1000)
            assert not answer.get("isError"), answer
        memory = f"{running.memory_mib():,.0f}"
    except OSError:
        return f"{len(times_ms)} of {1 + CALLS} in {BOUND_S:.0f} s", "", ""
    finally:
        running.end()
    first, *warm = times_ms
    size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return f"{first:,.0f} / {statistics.median(warm):,.1f} / {min(warm):,.1f}", f"{size:,}", memory


def _two(values: list[float]) -> str:
    return f"{min(values):,.0f} / {statistics.median(values):,.0f}"


def _print(taking_part: list[Contender], rows: list[TableRow]) -> None:
    lines = [TableRow("", [each.name for each in taking_part]), *rows]
    for line in lines:
        print(f"{line.what:<49}" + "".join(f"{cell or '-':>27}" for cell in line.cells))


def main() -> int:
    failed = install(PEERS) if sys.argv[1:] == ["--install"] else []
    for line in failed:
        print(f"  not installed: {line}")
    print(machine())
    compare()
    print(f"\n{machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
