"""Two machines work one plan to its end over three servers of a fleet, whose leader is killed in between.

Each machine is a real server of ours, started by the connector of an assistant, with folders of its own and a
clone of one repository. The assistants are scripts that speak MCP over `phasekeeper mcp`: they claim the next
task, work, report, and take in by git what the other has done.

`python -m tests.server.fleet.scene` prints what happens.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from phasekeeper.server.fleet.connection import BOARD, CLAIMS
from phasekeeper.server.fleet.membership import Membership
from phasekeeper.server.fleet.nats_bucket import create_stream

from tests.server.fleet.nats_servers import Servers, connection_to
from tests.server.servers import Home

PROJECT, RUN = "library", "work/books"
TASKS = [f"T{number:03}" for number in range(1, 8)]
_BOUND_S = 60.0
_LOOK_S = 0.2
_DEFINITION = """\
workflow: shelves
runs: {at: [work/*], marker: {file: tasks.md}}
artifacts: {work: {paths: [tasks.md], kind: spec-kit}}
phase: [{when: "work.done == work.total", is: done}, {is: build}]
phases:
  build:
    tasks: "tasks({'done': false})"
    outcomes: [complete, blocked]
    leads_to: [done]
    rules: [{when: "work.done < work.total", to: build, because: shelves are left}]
  done: {terminal: complete}
effects:
  build.complete: {work: tick_tasks(report.tasks)}
"""
_PLAN = "# Tasks: Books\n\n## Phase 1: Shelves\n\n" + "".join(
    f"- [ ] {task} [P] Build shelf {number} in shelves/{number}.txt\n" for number, task in enumerate(TASKS, 1)
)
_PUSHING = threading.Lock()
_MERGED = "**/tasks.md merge=phasekeeper\n**/journal.jsonl merge=phasekeeper\n"
_IGNORED = "claims.jsonl\nlock\nlock.holder\n.*.new\n"


class Machine:
    """One machine: its folders, its clone, and the assistant's connection to its server."""

    def __init__(self, name: str, origin: Path, servers: Servers, say: Callable[[str, str], None]) -> None:
        self.name, self._say = name, say
        self.home = Home(_BOUND_S)
        self.home.env |= {
            "GIT_CONFIG_GLOBAL": str(self.home.path / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        driver = f"{sys.executable} -m phasekeeper merge-journal %O %A %B %P"
        (self.home.path / "gitconfig").write_text(
            f'[user]\nname = {name}\nemail = {name}@example.org\n[merge "phasekeeper"]\ndriver = "{driver}"\n'
            "[pull]\nrebase = false\n"
        )
        state = self.home.path / "state/phasekeeper"
        state.mkdir(mode=0o700, parents=True)
        joined = Membership(PROJECT, tuple(servers.urls), name)._asdict()
        (state / "fleet.json").touch(0o600)
        (state / "fleet.json").write_text(json.dumps({"projects": {PROJECT: joined}}))
        self.root = self.home.path / "clone"
        self._git("clone", "-q", str(origin), str(self.root), cwd=self.home.path)
        self._connector = self.home.start("mcp", cwd=self.root)
        self._number = 0
        client = {"name": name, "version": "1"}
        self._ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send(method="notifications/initialized")
        self.done: list[str] = []
        self.is_stopped = False

    def work(self) -> None:
        """Claim, work and report until the plan is done here."""
        until = monotonic() + _BOUND_S
        while monotonic() < until and not self.is_stopped:
            said = self._call("next_step", run=RUN, claim=True, agent=self.name)
            text = said["content"][0]["text"]
            answer = said.get("structuredContent") or {}
            if answer.get("suggestion", {}).get("kind") == "stop":
                return
            task = (answer.get("claim") or {}).get("task", "")
            if said.get("isError") or not task:
                self._say(self.name, f"waits: {text.splitlines()[0].partition(': get')[0]}")
                self._take_in()
                sleep(_LOOK_S)
                continue
            self._do(task)
        raise AssertionError(f"{self.name} did not come to an end")

    def _do(self, task: str) -> None:
        self._say(self.name, f"has claimed {task}")
        (self.root / f"{task}.txt").write_text(f"shelf of {task} by {self.name}\n")
        about = {"run": RUN, "agent": self.name, "tasks": [task], "summary": f"{task} is made"}
        said = self._call("report", step="build", outcome="complete", **about)
        text = said["content"][0]["text"]
        if said.get("isError"):
            self._say(self.name, f"is refused: {text[:110]}")
            return
        self.done.append(task)
        self._say(self.name, f"has reported {task}")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", f"Make {task}")
        self._take_in()

    def _take_in(self) -> None:
        """Pull what the other has pushed, and push; one of both at a time, or the slower one never could."""
        with _PUSHING:
            self._git("pull", "-q", "--no-edit")
            self._git("push", "-q")

    def finish(self) -> None:
        """Bring the clone to what both have done."""
        self._take_in()

    def journal(self) -> list[dict[str, Any]]:
        lines = (self.root / RUN / ".phasekeeper/journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def status(self, option: str) -> str:
        """What `phasekeeper status` shows here."""
        done = subprocess.run(
            [sys.executable, "-m", "phasekeeper", "status", option],
            cwd=self.root, env=self.home.env, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return done.stdout.strip()

    def _git(self, *words: str, cwd: Path | None = None, check: bool = True) -> int:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.root, env=self.home.env, capture_output=True, text=True
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.returncode

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self._ask("tools/call", name=tool, arguments=arguments)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._send(id=self._number, method=method, params=params)
        while line := self._connector.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                assert "result" in answer, answer
                return answer["result"]
            if answer.get("method") == "roots/list":
                self._send(id=answer["id"], result={"roots": []})
        raise AssertionError(self._connector.stderr.read())

    def _send(self, **message: Any) -> None:
        self._connector.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._connector.stdin.flush()


def make_origin(folder: Path) -> Path:
    """A bare repository with one plan."""
    seed, origin = folder / "seed", folder / "origin.git"
    for path, text in {
        ".gitattributes": _MERGED,
        ".gitignore": _IGNORED,
        ".phasekeeper/workflows/shelves.yaml": _DEFINITION,
        ".phasekeeper/config.yaml": f"workflows: {{'work/*': shelves}}\nfleet: {{project: {PROJECT}}}\n",
        f"{RUN}/tasks.md": _PLAN,
    }.items():
        (seed / path).parent.mkdir(parents=True, exist_ok=True)
        (seed / path).write_text(text)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-q", "-m", "A plan")):
        subprocess.run(["git", *words], cwd=seed, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(seed), str(origin)], check=True)
    return origin


async def _prepare(servers: Servers) -> None:
    connection = await connection_to(servers.urls)
    for bucket in (CLAIMS, BOARD):
        await create_stream(connection, bucket, replicas=3, max_bytes=1 << 24)
    await connection.close()


async def _leader(servers: Servers) -> int:
    connection = await connection_to(servers.urls)
    info = await connection.jetstream().stream_info(f"KV_{CLAIMS}")
    await connection.close()
    assert info.cluster and info.cluster.leader
    return int(info.cluster.leader.removeprefix("n"))


def play(folder: Path, say: Callable[[str, str], None]) -> Sequence[Machine]:
    """Play the scene to its end; the machines are still up."""
    servers = Servers(folder, 3)
    servers.start()
    machines: list[Machine] = []
    failures: list[BaseException] = []
    enough = threading.Event()

    def heard(who: str, what: str) -> None:
        say(who, what)
        if sum(len(machine.done) for machine in machines) >= len(TASKS) // 3:
            enough.set()

    def work(machine: Machine) -> None:
        try:
            machine.work()
        except BaseException as error:
            failures.append(error)
            say(machine.name, f"failed: {error!r}")
            for other in machines:
                other.is_stopped = True
            enough.set()

    try:
        asyncio.run(_prepare(servers))
        origin = make_origin(folder)
        machines += [Machine(name, origin, servers, heard) for name in ("ann", "bob")]
        threads = [threading.Thread(target=work, args=(machine,)) for machine in machines]
        for thread in threads:
            thread.start()
        enough.wait(_BOUND_S)
        leader = asyncio.run(_leader(servers))
        servers.kill(leader)
        say("(fault)", f"the leader of the claims, server n{leader}, is killed")
        for thread in threads:
            thread.join(_BOUND_S)
        assert not failures, failures
        for machine in (*machines, *machines):
            machine.finish()
        say("ann", machines[0].status("--fleet").replace("\n", "\n" + " " * 17))
        return machines
    except BaseException:
        for machine in machines:
            machine.home.end()
        raise
    finally:
        servers.kill()


def main() -> None:
    begun = monotonic()

    def say(who: str, what: str) -> None:
        print(f"{monotonic() - begun:5.1f} s  {who:8}{what}", flush=True)

    with tempfile.TemporaryDirectory(prefix="phasekeeper-scene-") as folder:
        machines = play(Path(folder), say)
        for machine in machines:
            say(machine.name, machine.status("--oneline"))
            machine.home.end()


if __name__ == "__main__":
    main()
