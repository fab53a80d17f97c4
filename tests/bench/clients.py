"""`python -m tests.bench.clients [CLIENTS…]`: what one save costs a server with several editors.

The editors speak with the server's socket, without connectors: what is measured is the server.
Each is told of the diagnostic and of the board. A save is over when the last of them has heard both.
"""

from __future__ import annotations

import json
import selectors
import socket
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

from tests.bench.assistants import start
from tests.bench.editors import make_root, replace
from tests.bench.machine import machine, threads_ms
from tests.server import servers
from tests.server.servers import Home, frame, homes, until

SAVES = 200
PAGE = {"limit": 100}
CLIENTS = (1, 20, 50)
AT_WORK = 50
"""Saves are in so many runs, however many there are: people and assistants are at work in few at a time. The
first save in a run that was packed costs as much as a first look at it."""
_PUBLISH, _CHANGED = b'"textDocument/publishDiagnostics"', b'"phasekeeper/changed"'


class Editor:
    """One editor's end of a connection; it counts what it is told, and reads no more than it has to."""

    def __init__(self, home: Home, root: Path, pages: bool = True) -> None:
        self.received = 0
        self.socket: socket.socket = home.joined("lsp")
        self._rest = bytearray()
        options = {"trusted": False, "phasekeeper": {"client": "bench", "pages": pages}}
        folder = {"uri": root.as_uri(), "name": root.name}
        params = {
            "processId": None, "rootUri": root.as_uri(), "workspaceFolders": [folder],
            "capabilities": {}, "initializationOptions": options,
        }  # fmt: skip
        self.ask(1, "initialize", params)
        self.socket.sendall(frame(method="initialized", params={}))

    def ask(self, number: int, method: str, params: Any) -> Any:
        """The result of a request; what is told meanwhile is passed over."""
        self.socket.sendall(frame(id=number, method=method, params=params))
        while True:
            for body in self.messages():
                if b'"id"' in body and (message := json.loads(body)).get("id") == number:
                    return message["result"]

    def messages(self) -> list[bytes]:
        """The bodies that have come, after waiting for some bytes."""
        data = self.socket.recv(1 << 20)
        self.received += len(data)
        self._rest += data
        bodies = []
        while (end := self._rest.find(b"\r\n\r\n")) >= 0:
            length = int(self._rest[:end].lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(self._rest) < end + 4 + length:
                break
            bodies.append(bytes(self._rest[end + 4 : end + 4 + length]))
            del self._rest[: end + 4 + length]
        return bodies


class SaveCost(NamedTuple):
    """What one save costs: CPU of the server, and milliseconds until the last editor had heard of it."""

    cpu_ms: float
    last_ms: float


def save_cost(pid: int, editors: Sequence[Editor], reviews: Sequence[Path], saves: int = SAVES) -> SaveCost:
    """The mean CPU and the median wall of saves that the watcher sees."""
    at_work = reviews[:AT_WORK]
    selector = selectors.DefaultSelector()
    for editor in editors:
        selector.register(editor.socket, selectors.EVENT_READ, editor)
    before, walls = threads_ms(pid), []
    for number in range(saves):
        path = at_work[number % len(at_work)]
        at = replace(path, json.dumps({"ok": '"ok": true' not in path.read_text()}))
        unheard = {(id(editor), kind) for editor in editors for kind in (_PUBLISH, _CHANGED)}
        while unheard:
            for key, _ in selector.select():
                for body in key.data.messages():
                    unheard -= {(id(key.data), kind) for kind in (_PUBLISH, _CHANGED) if kind in body}
        walls.append((perf_counter() - at) * 1000)
        sleep(0.002)
    selector.close()
    return SaveCost((threads_ms(pid) - before) / saves, statistics.median(walls))


def measure(runs: int, clients: Sequence[int]) -> list[SaveCost]:
    """Print the figures of one root with so many runs, and what each further editor costs."""
    with homes(bound_s=1800.0) as home:
        root = home.path / "work"
        reviews = make_root(root, runs)
        home.server()
        pid = int(home.information()["pid"])
        servers.BOUND_S = 600.0
        editors: list[Editor] = []
        costs = []
        print(f"\n{runs:,} runs: one save, until all editors have its diagnostic and the board's change")
        for count in clients:
            while len(editors) < count:
                editors.append(Editor(home, root))
                until(lambda: any(each["runs"] == runs for each in home.information()["roots"]))
                editors[-1].ask(2, "phasekeeper/board", {})
            first = save_cost(pid, editors, reviews, len(reviews[:AT_WORK]))
            cost = save_cost(pid, editors, reviews)
            costs.append(cost)
            if len(costs) == 1:
                print(f"  the first save in each of {AT_WORK} of them: CPU {first.cpu_ms:6.2f} ms")
            each = (cost.cpu_ms - costs[0].cpu_ms) / max(count - clients[0], 1)
            more = f"  each further editor {each:.2f} ms (budget 0.2)" if len(costs) > 1 else ""
            print(f"  {count:>3} editors: CPU {cost.cpu_ms:6.2f} ms, last told {cost.last_ms:6.2f} ms{more}")
    return costs


def opening(runs: int) -> None:
    """Print what it costs a server with many runs to have one more editor show its board."""
    with homes(bound_s=1800.0) as home:
        root = home.path / "work"
        reviews = make_root(root, runs)
        home.server()
        pid = int(home.information()["pid"])
        first = Editor(home, root)
        servers.BOUND_S = 600.0
        first.socket.settimeout(servers.BOUND_S)
        until(lambda: any(each["runs"] == runs for each in home.information()["roots"]))
        first.ask(2, "phasekeeper/board", PAGE)
        print(f"\n{runs:,} runs: one more editor, until it has its board")
        for what, params in (("in pages", PAGE), ("whole", {})):
            before = threads_ms(pid)
            at = perf_counter()
            editor = Editor(home, root, pages=params == PAGE)
            editor.socket.settimeout(servers.BOUND_S)
            while not (board := editor.ask(2, "phasekeeper/board", params))["roots"]:
                pass
            wall = (perf_counter() - at) * 1000
            editor.ask(3, "phasekeeper/run", {"root": str(root), "run": board["roots"][0]["runs"][0]["run"]})
            cpu, size = threads_ms(pid) - before, editor.received / 1000
            budget = "budget 500" if params == PAGE else ""
            print(f"  {what:<8} CPU {cpu:8.0f} ms, answered after {wall:8.0f} ms, {size:8,.0f} KB  {budget}")
        _assistant(home, root, reviews)


def _assistant(home: Home, root: Path, reviews: Sequence[Path]) -> None:
    """Print what an assistant's calls take among so many runs, when nothing and when one file has changed."""
    client = start(home, root).client
    run = f".ai-tools-chain/tasks/{reviews[0].parts[-3]}"
    for tool, arguments in (("status", {}), ("next_step", {"run": run})):
        for what in ("warm", "after a save"):
            walls = []
            for number in range(40):
                if what != "warm":
                    replace(reviews[0], json.dumps({"ok": True, "n": number}))
                at = perf_counter()
                client.call(tool, **arguments)
                walls.append((perf_counter() - at) * 1000)
            figures = f"least {min(walls):6.2f} ms, median {statistics.median(walls):6.2f} ms"
            print(f"  MCP {tool}, {what:<13} {figures}  budget 5")


def main(arguments: Sequence[str]) -> None:
    print(machine())
    measure(10, [int(word) for word in arguments] or CLIENTS)
    opening(10_000)
    print(machine())


if __name__ == "__main__":
    main(sys.argv[1:])
