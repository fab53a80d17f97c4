"""`python -m tests.bench.editors [RUNS…]`: from a write to the diagnostic at an editor's client.

Beside it, in the same run: raw inotify (the floor of anything that watches) and `ruff server` (a server of
native code that is told of a change in memory, so that its figure holds no disk and no watching). A p50 is
the median of the best of five series; beside it that of all.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import which
from time import perf_counter, sleep
from typing import Any

from tests.bench.machine import cpu_ms, machine, resident_mib

ROUNDS, SERIES = 500, 5
AT_WORK = 10
"""So many runs somebody is at work on: what is known of them is warm."""
BOUND_S = 600.0
_MOVED_TO = 0x80


class LspClient:
    """A client over pipes that notes when each message had come."""

    def __init__(self, command: Sequence[str], env: dict[str, str] | None = None) -> None:
        self.began = perf_counter()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env)
        self.messages: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        self._count = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            body = stream.read(length)
            self.messages.put((perf_counter(), json.loads(body)))

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | (
            {} if number is None else {"id": number}
        )
        body = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> tuple[float, dict[str, Any]]:
        """(when it came, the message) of the first that is wanted; requests are answered with null."""
        while True:
            at, message = self.messages.get(timeout=BOUND_S)
            if "id" in message and "method" in message:
                self._answer(message["id"])
            if wanted(message):
                return at, message

    def _answer(self, number: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": None}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: Any) -> tuple[float, Any]:
        """(when the answer came, its result)."""
        self._count += 1
        number = self._count
        self.send(method, params, number)
        at, message = self.until(lambda m: m.get("id") == number and "method" not in m)
        return at, message.get("result")

    def initialize(self, root: Path) -> float:
        """Milliseconds from the start of the process to the answer."""
        folder = {"uri": root.as_uri(), "name": root.name}
        capabilities = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
        params = {
            "processId": None, "rootUri": root.as_uri(), "workspaceFolders": [folder],
            "capabilities": capabilities,
        }  # fmt: skip
        at, _ = self.ask("initialize", params)
        self.send("initialized", {})
        return (at - self.began) * 1000

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()


def make_root(root: Path, runs: int) -> list[Path]:
    """Write a root with small runs of the artifact pipeline; the reviews that open or shut their gates."""
    (root / ".git").mkdir(parents=True)
    reviews = []
    for number in range(runs):
        folder = root / f".ai-tools-chain/tasks/T{number:05}"
        for name, data in (
            ("state.json", {"phase": "plan_review"}),
            ("planning/planning.ai.json", {"id": "T"}),
            ("review/plan-review.json", {"ok": True}),
        ):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data))
        reviews.append(path)
    return reviews


def replace(path: Path, text: str) -> float:
    """Put a text in a file's place as editors do; when that began."""
    new = path.with_name(".new")
    new.write_text(text)
    at = perf_counter()
    new.replace(path)
    return at


def latencies(client: LspClient, reviews: Sequence[Path], is_notified: bool) -> Iterator[float]:
    """Milliseconds from a write to its diagnostic, each run in turn; `is_notified`: the editor sends
    `didSave`."""
    step = max(len(reviews) // ROUNDS, 1)
    for number in range(ROUNDS):
        path = reviews[number * step % len(reviews)]
        uri = path.as_uri()
        shut = '"ok": true' in path.read_text()
        at = replace(path, json.dumps({"ok": not shut}))
        if is_notified:
            client.send("textDocument/didSave", {"textDocument": {"uri": uri}})
        seen, _ = client.until(lambda m, uri=uri, shut=shut: _publishes(m, uri, shut))
        yield (seen - at) * 1000
        sleep(0.005)


def _publishes(message: dict[str, Any], uri: str, shut: bool) -> bool:
    """Whether a message has diagnostics of a document, or has none, as wanted."""
    if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != uri:
        return False
    return bool(message["params"]["diagnostics"]) == shut


def inotify(folder: Path) -> Iterator[float]:
    """Milliseconds from a write to its event, with nothing in between."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(0)
    libc.inotify_add_watch(descriptor, str(folder).encode(), _MOVED_TO)
    seen: queue.Queue[float] = queue.Queue()

    def read() -> None:
        while os.read(descriptor, 4096):
            seen.put(perf_counter())

    threading.Thread(target=read, daemon=True).start()
    for number in range(ROUNDS):
        at = replace(folder / "watched", str(number))
        yield (seen.get(timeout=BOUND_S) - at) * 1000
        sleep(0.005)


def ruff(root: Path) -> Iterator[float]:
    """Milliseconds from a change in memory to the diagnostic of `ruff server`."""
    found = which(
        "ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if found is None:
        return
    client = LspClient([found, "server"])
    client.initialize(root)
    uri = (root / "x.py").as_uri()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": "x = 1\n"}
    client.send("textDocument/didOpen", {"textDocument": item})
    client.until(lambda m: m.get("method") == "textDocument/publishDiagnostics")
    for number in range(ROUNDS):
        wrong = number % 2 == 0
        text = "import os\n" if wrong else "x = 1\n"
        at = perf_counter()
        which_one = {"uri": uri, "version": number + 2}
        client.send("textDocument/didChange", {"textDocument": which_one, "contentChanges": [{"text": text}]})
        seen, _ = client.until(lambda m, wrong=wrong: _publishes(m, uri, wrong))
        yield (seen - at) * 1000
        sleep(0.005)
    client.end()


def print_latencies(what: str, found: Sequence[float], budget: str = "") -> None:
    if not found:
        print(f"{what:<58} not run")
        return
    ordered, size = sorted(found), len(found) // SERIES
    best = min(statistics.median(found[n * size : (n + 1) * size]) for n in range(SERIES))
    p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    rest = f"p99 {p99:6.2f} ms  min {ordered[0]:5.2f} ms  {budget}"
    print(f"{what:<52} p50 {best:6.2f} ms (all {p50:6.2f})  {rest}")


def measure(runs: int, folder: Path) -> None:
    """Print the figures of one root with so many runs."""
    root = folder / f"runs-{runs}"
    reviews = make_root(root, runs)
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state")}
    client = LspClient([sys.executable, "-I", "-m", "phasekeeper", "lsp", "--standalone"], environment)
    cold = client.initialize(root)
    began, cpu = perf_counter(), cpu_ms(client.process.pid)
    while not client.ask("phasekeeper/board", {})[1]["roots"]:
        sleep(0.05)
    scan_s, scan_cpu_s = perf_counter() - began, (cpu_ms(client.process.pid) - cpu) / 1000
    print(f"\n{runs:,} runs watched")
    print(f"  initialize answered {cold:,.0f} ms (CPU {cpu / 1000:.2f} s)")
    print(f"  first scan {scan_s:.2f} s (CPU {scan_cpu_s:.2f} s)")
    try:
        for what, files, is_notified in (
            ("a write that the watcher sees", reviews, False),
            ("a save that the editor tells of", reviews, True),
            ("the same ten runs saved again and again", reviews[:AT_WORK], True),
        ):
            before = cpu_ms(client.process.pid)
            found = list(latencies(client, files, is_notified))
            each = (cpu_ms(client.process.pid) - before) / ROUNDS
            print_latencies(f"  {what} -> diagnostic", found, f"CPU {each:.1f} ms a write; budget 3")
        print(f"  memory {resident_mib(client.process.pid):,.0f} MiB")
    finally:
        client.end()


def main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        print(f"{machine()}; {ROUNDS} writes each")
        (folder / "floor").mkdir()
        print_latencies("raw inotify: a write -> its event", list(inotify(folder / "floor")))
        print_latencies("ruff server: a change in memory -> diagnostic", list(ruff(folder)))
        for runs in [int(word) for word in arguments] or (10, 1_000, 10_000):
            measure(runs, folder)
        print_latencies("\nraw inotify again", list(inotify(folder / "floor")))
        print(machine())


if __name__ == "__main__":
    main(sys.argv[1:])
