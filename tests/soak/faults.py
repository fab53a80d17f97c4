"""Faults of a haul, each on one run while nobody else writes to it; the next writers find what it left.

Journals are damaged as people and git do it: none of that takes an acknowledged record away. Limits are put
on the server while it runs. A command is traced, and one of its system calls fails.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from phasekeeper.orchestration.journal.lines import FOLDER, JOURNAL
from phasekeeper.server.connector.handshake import connect
from phasekeeper.server.process_end import process_end_probe
from phasekeeper.server.workspace.repair import prepare_repair, repair_run
from phasekeeper.server.workspace.workspace import Workspace

from tests.server.servers import BOUND_S, until
from tests.soak.claims import Claims
from tests.soak.clients import Assistant, CommandLine, Editor
from tests.soak.installation import NEWER
from tests.soak.model import Answer, newest_record
from tests.soak.world import EFFECT, REDONE, Installation, World

MOST_DESCRIPTORS = 64
CALLS = {"write": 8, "fsync": 8, "renameat": 4, "unlinkat": 4, "openat": 36}
"""System calls of a command that reports, and at least how many; of `openat` those in its run."""
ERRORS = ("ENOSPC", "EIO", "EACCES", "EINTR")
SYSTEM_CALLS = [
    (call, error, number + 1) for call, most in CALLS.items() for error in ERRORS for number in range(most)
]
CALLS_AT_ONCE = 12
CLOCKS_H = (48, -48, 2, -1, 9_600)
"""Hours that the clock is off by, some one after the other; files of ours are in its future or past then."""
CLOCKS_AT_ONCE = 3
PAGE = 4096
IGNORED = "lock\nlock.holder\nclaims.jsonl\n"
UNION = f"*.jsonl merge=union\n{EFFECT} merge=union\n{REDONE} merge=union\n"

_Client = TypeVar("_Client", bound=Assistant | Editor)


class Writing(Protocol):
    """What writes once by a client, and records that with its answer."""

    def __call__(self, client: Any, root: Path, run: str) -> Answer: ...


class Faults:
    """The faults, how often each was injected, and on which runs branches were merged."""

    def __init__(
        self,
        world: World,
        chance: random.Random,
        write: Writing,
        end_observers: Callable[[], None],
        compare: Callable[[Path, Installation | None], None],
    ) -> None:
        self.injected: Counter[str] = Counter()
        self.merged: set[tuple[Path, str]] = set()
        """Runs whose records follow each other in the order of branches, not of time."""
        self.complaints: list[str] = []
        self._world, self._chance, self._write = world, chance, write
        self.calls_at_once = CALLS_AT_ONCE
        self._end_observers, self._compare = end_observers, compare
        self._calls = itertools.cycle(chance.sample(SYSTEM_CALLS, len(SYSTEM_CALLS)))

    def inject(self, name: str, root: Path, run: str, observer: Assistant) -> None:
        """Inject the fault of a name. `observer` is served by the server and has the root open."""
        {**ON_FILES, **ON_SERVERS}[name](self, root, run, observer)
        self.injected[name] += 1

    # ---- files

    def tear(self, root: Path, run: str, _: Assistant) -> None:
        """A last line that was cut off while it was written."""
        with (root / run / JOURNAL).open("ab") as file:
            file.write(b'{"seq": 1000000, "kind": "rep'[: self._chance.randint(1, 29)])

    def end_lines_by_crlf(self, root: Path, run: str, _: Assistant) -> None:
        """What git makes of texts where it is told to."""
        for path in (JOURNAL, EFFECT):
            raw = (root / run / path).read_bytes()
            (root / run / path).write_bytes(raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def reorder(self, root: Path, run: str, _: Assistant) -> None:
        """Records in another order, one of them twice, as merges leave them."""
        path = root / run / JOURNAL
        lines = path.read_bytes().splitlines(keepends=True)
        lines.append(self._chance.choice(lines))
        self._chance.shuffle(lines)
        path.write_bytes(b"".join(lines))

    def merge(self, root: Path, run: str, _: Assistant) -> None:
        """Two branches on which reports were made, merged by git, and linked by a person."""

        def git(*words: str) -> None:
            by = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
            subprocess.run(["git", *by, *words], cwd=root, check=True, capture_output=True, timeout=BOUND_S)

        def report(times: int) -> None:
            for _ in range(times):
                self._write(CommandLine(self._world, root, ()), root, run)
            git("add", "--all", ".")
            git("commit", "--quiet", "--allow-empty", "--message=work")

        shutil.rmtree(root / ".git")
        git("init", "--quiet", "--initial-branch=main")
        (root / ".gitignore").write_text(IGNORED)
        (root / ".gitattributes").write_text(UNION)
        report(0)
        git("switch", "--quiet", "--create", "other")
        report(self._chance.randint(1, 2))
        git("switch", "--quiet", "main")
        report(self._chance.randint(1, 2))
        git("merge", "--quiet", "--no-edit", "other")
        self.merged.add((root, run))
        workspace = Workspace(root)
        repair_run(workspace, run, prepare_repair(workspace, run), "ann", "cli")

    # ---- system calls

    def fail_system_calls(self, root: Path, run: str, _: Assistant) -> None:
        """Commands of which each has another call fail: in the end every call of a kind, by every error."""
        for call, error, number in itertools.islice(self._calls, self.calls_at_once):
            places = (root / run, root / run / FOLDER) if call == "openat" else ()
            options = [f"trace={call}", f"inject={call}:error={error}:when={number}"]
            words = [word for option in options for word in ("-e", option)]
            words += [word for place in places for word in ("-P", str(place))]
            tracer = ("strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, *words)
            answer = self._write(CommandLine(self._world, root, (), tracer), root, run)
            self.injected[f"{call} {error}, {answer}"] += 1

    # ---- the server

    def run_out_of_descriptors(self, root: Path, run: str, observer: Assistant) -> None:
        """More connections than the server may have descriptors; none of those that it had may suffer."""
        with self._limited(resource.RLIMIT_NOFILE, MOST_DESCRIPTORS), ExitStack() as connections:
            for _ in range(MOST_DESCRIPTORS):
                raw, _ = connect(self._world.home.address, BOUND_S)
                connections.enter_context(socket.socket(fileno=raw.detach()))
            for _ in range(3):
                if (answer := self._write(observer, root, run)) is not Answer.ACKNOWLEDGED:
                    self.complaints.append(f"a write is {answer} for want of descriptors")
        observer.look()

    def fill_disk(self, root: Path, run: str, observer: Assistant) -> None:
        """The disk is full, or has a page or two left. What was acknowledged stands, whoever wrote it."""
        filler = root / "filler"
        clients = [CommandLine(self._world, root), observer]
        for left in self._chance.sample(range(4), 3):
            with filler.open("ab", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(PAGE))
            os.truncate(filler, max(0, filler.stat().st_size - left * PAGE))
            for client in clients:
                self.injected[f"full disk, {self._write(client, root, run)}"] += 1
        filler.unlink()
        for client in clients:
            self._expect_acknowledged(client, root, run, "once the disk has room")

    def limit_files(self, root: Path, run: str, observer: Assistant) -> None:
        """No file may grow: at once, or after some bytes of the next line of the journal."""
        room = self._chance.choice((0, 1, 100))
        size = (root / run / JOURNAL).stat().st_size
        with self._limited(resource.RLIMIT_FSIZE, size + room):
            for _ in range(2):
                self._write(observer, root, run)
        observer.look()

    def take_over(self, root: Path, run: str, observer: Assistant) -> None:
        """A newer version is installed and joins: the server serves it and makes way after its last client.
        The next one starts a server of its version, which then serves clients of both."""
        world = self._world
        has_ended = process_end_probe(world.server)
        with self._served(Assistant(world.newer, root, ())) as newcomer:
            for client in (newcomer, observer):
                self._expect_acknowledged(client, root, run, "while a newer version waits")
            self._end_observers()
        if has_ended:
            until(has_ended)
        with ExitStack() as clients:
            newer = clients.enter_context(self._served(Assistant(world.newer, root, ())))
            for client in (newer, Assistant(world, root, ()), Editor(world, root, ())):
                if client is not newer:
                    clients.enter_context(self._served(client))
                self._expect_acknowledged(client, root, run, "while a newer server serves")
            for launcher in (world, world.newer):
                self._expect_acknowledged(CommandLine(launcher, root), root, run, "beside a newer server")
            newer.look()
            version = world.information()["version"]
            served, cold = (
                CommandLine(world.newer, root).run("status", "--json", *words) for words in ((), ("--cold",))
            )
        if version != NEWER:
            self.complaints.append(f"the server's version is {version} after a newer one came")
        if served != cold:
            self.complaints.append(f"the newer server shows {root.name} as {served}, and it is {cold}")
        # Older clients are served by it, too; who goes back stops it.
        world.stop_server()

    @contextmanager
    def _served(self, client: _Client) -> Iterator[_Client]:
        """A client that is not among those that are killed."""
        self._world.forget(client.process)
        with closing(client):
            client.connect()
            yield client

    def jump_clock(self, root: Path, run: str, _: Assistant) -> None:
        """The clock of everybody is set ahead and back while a server has the root open; files are of the
        time that it was, and of one to come."""
        world = self._world
        self._end_observers()
        world.stop_server()
        clocked = world.clocked
        world.set_clock(0)
        with self._served(Assistant(clocked, root, ())) as witness:
            witness.look()
            for hours in self._chance.sample(CLOCKS_H, CLOCKS_AT_ONCE):
                world.set_clock(hours * 3600)
                future = time.time() + self._chance.choice((-86_400, 86_400))
                os.utime(root / run / "RUN.md", (future, future))
                for client in (CommandLine(world, root), CommandLine(clocked, root), witness):
                    self._expect_acknowledged(client, root, run, f"with the clock off by {hours} h")
                # By the same clock: claims end by it.
                self._compare(root, clocked)
                recorded = datetime.fromisoformat(str(newest_record(root, run)["at"]))
                off_h = (recorded - datetime.now(UTC)).total_seconds() / 3600
                if abs(off_h - hours) > 1:
                    self.complaints.append(f"a clock off by {hours} h records a time that is {off_h:g} h off")
        self._end_observers()
        world.stop_server()

    # ---- claims

    def exercise_claims(self, root: Path, _run: str, _: Assistant) -> None:
        """A plan of many tasks is worked on; its run stays in the root until that one goes."""
        claims = Claims(self._world, root, self.injected["claims"])
        claims.exercise()
        self.complaints += claims.complaints

    def _expect_acknowledged(self, client: Any, root: Path, run: str, when: str) -> None:
        if (answer := self._write(client, root, run)) is not Answer.ACKNOWLEDGED:
            self.complaints.append(f"a write by {type(client).__name__} is {answer} {when}")

    @contextmanager
    def _limited(self, what: int, limit: int) -> Iterator[None]:
        pid = self._world.server
        before = resource.prlimit(pid, what)
        resource.prlimit(pid, what, (limit, before[1]))
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, what, before)


_Fault = Callable[[Faults, Path, str, Assistant], None]
ON_FILES: dict[str, _Fault] = {
    "torn line": Faults.tear,
    "CRLF": Faults.end_lines_by_crlf,
    "reordered lines": Faults.reorder,
    "merge": Faults.merge,
    "system calls": Faults.fail_system_calls,
    "claims": Faults.exercise_claims,
}
ON_SERVERS: dict[str, _Fault] = {
    "descriptors": Faults.run_out_of_descriptors,
    "full disk": Faults.fill_disk,
    "file size limit": Faults.limit_files,
    "newer version": Faults.take_over,
    "clock": Faults.jump_clock,
}
TOOLS = {"merge": "git", "system calls": "strace", "claims": "faketime"}


def obstacles(has_disks: bool) -> dict[str, str]:
    """Faults that cannot be injected here, and why."""
    lacking = {fault: f"needs {tool}" for fault, tool in TOOLS.items() if not shutil.which(tool)}
    return lacking if has_disks else lacking | {"full disk": "needs a system that lets a namespace mount"}


def possible(has_disks: bool) -> list[str]:
    """The faults that this system has the tools for."""
    return [each for each in (*ON_FILES, *ON_SERVERS) if each not in obstacles(has_disks)]
