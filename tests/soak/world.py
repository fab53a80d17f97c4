"""The world of a haul: the one server of a user, roots that come and go, and the processes in it.

The server is nobody's child here: connectors start it, as they do for people.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import mock

from phasekeeper.server.connector.address import lock_owner
from phasekeeper.server.connector.command_call import ask_server
from phasekeeper.server.connector.handshake import STOP
from phasekeeper.server.process_end import process_end_probe

from tests.roots import put
from tests.server.servers import BOUND_S, Home, homes, until
from tests.soak import moved_clock
from tests.soak.installation import NEWER, install

RUNS = ("work/one", "work/two")
EFFECT, REDONE = "log.txt", "redone.txt"
"""What a report and a redo add a line to."""
DEFINITION = f"""\
workflow: counted
runs: {{at: [work/*], marker: {{file: RUN.md}}}}
phase: [{{is: do}}]
phases:
  do: {{outcomes: [ok], rules: [{{when: "report.outcome == 'never'", to: over}}]}}
  over: {{terminal: complete}}
effects:
  do.ok: {{file: {EFFECT}, append: report.message}}
  redo: {{file: {REDONE}, append: "'again'"}}
"""
TRACEBACK = b"Traceback (most recent call last)"
DISK_SIZE = "8m"
CONFIG = """\
workflows: {'work/*': counted}
parameters: {master-plan: {adoption: auto}}
"""


class Sample(NamedTuple):
    """What the server uses: its process, resident bytes, open descriptors."""

    pid: int
    memory: int
    descriptors: int


class Installation:
    """Starts commands of another installation; a server that such a connector starts is of that one."""

    def __init__(self, world: World, python: str, env: Mapping[str, str] = MappingProxyType({})) -> None:
        self._world, self._python, self._env = world, python, env

    def start(
        self, *words: str, cwd: Path, stdin: int, stdout: int, tracer: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        command = [*tracer, self._python, "-I", "-m", "phasekeeper", *words]
        return self._world.start_process(command, cwd, stdin, stdout, self._env)

    def output_of(self, *words: str, cwd: Path) -> str:
        """What a command of this installation prints."""
        command = [self._python, "-I", "-m", "phasekeeper", *words]
        env = {**self._world.home.env, **self._env}
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=BOUND_S, check=False
        ).stdout

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        self._world.forget(process)


class World:
    """Folders, the server and the clients' processes. `start` and `kill_one` may be called by any thread.

    With `has_disks` each root is a small disk of its own; this process has to be one that may mount.
    """

    def __init__(self, home: Home, has_disks: bool = False) -> None:
        self.home, self.has_disks = home, has_disks
        self.roots: list[Path] = []
        self.kills = self.starved = 0
        self._created = 0
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._killed_servers: set[int] = set()
        self._stderr = (home.path / "stderr.log").open("ab")

    # ---- roots

    def add_root(self) -> Path:
        """A new root with two runs that nobody has written to."""
        self._created += 1
        root = self.home.path / f"root-{self._created}"
        if self.has_disks:
            root.mkdir()
            disk = ("-t", "tmpfs", "-o", f"size={DISK_SIZE}", "none", str(root))
            subprocess.run(["mount", *disk], check=True, timeout=BOUND_S)
        put(root / ".phasekeeper/workflows/counted.yaml", DEFINITION)
        put(root / ".phasekeeper/config.yaml", CONFIG)
        (root / ".git").mkdir()
        for run in RUNS:
            put(root / run / "RUN.md", "# One\n")
            put(root / run / EFFECT, "")
        self.roots.append(root)
        return root

    def remove_oldest_root(self) -> Path:
        root = self.roots.pop(0)
        if self.has_disks:
            # Whoever still has a file of it open keeps it, as with a disk that is pulled out.
            subprocess.run(["umount", "--lazy", str(root)], check=True, timeout=BOUND_S)
        shutil.rmtree(root)
        return root

    # ---- processes

    def start(
        self, *words: str, cwd: Path, stdin: int, stdout: int, tracer: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        command = [*tracer, sys.executable, "-I", "-m", "phasekeeper", *words]
        return self.start_process(command, cwd, stdin, stdout, {})

    def start_process(
        self, command: list[str], cwd: Path, stdin: int, stdout: int, env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=self._stderr, cwd=cwd, env={**self.home.env, **env}
        )
        with self._lock:
            self._running.append(process)
        return process

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """Kill this one no more: it has ended, or is not to be killed."""
        with self._lock, suppress(ValueError):
            self._running.remove(process)

    def starve(self, pid: int, more: int) -> None:
        """Let a process open so many files more than it has open, until its end."""
        with suppress(OSError):
            most = len(os.listdir(f"/proc/{pid}/fd")) + more  # noqa: PTH208
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
            with self._lock:
                self.starved += 1

    def kill_one(self, chance: random.Random, with_server: bool) -> None:
        """Kill a process with SIGKILL: a client, or one time in eight the server, where that may be."""
        if with_server and chance.random() < 0.125:
            self._kill_server()
            return
        with self._lock:
            living = [each for each in self._running if each.poll() is None]
            if living:
                chance.choice(living).kill()
                self.kills += 1

    def _kill_server(self) -> None:
        pid = lock_owner(self.home.address)
        # The note of who has the lock stays behind a server that was killed.
        if pid is not None and pid not in self._killed_servers:
            self._killed_servers.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.kills += 1

    @property
    def server(self) -> int:
        """The process of the server that listens."""
        pid = lock_owner(self.home.address)
        assert pid is not None
        return pid

    def stop_server(self) -> None:
        """Have the server end, as `phasekeeper stop` does; the next client starts another."""
        has_ended = process_end_probe(self.server)
        self.home.ask(STOP)
        if has_ended:
            until(has_ended)

    @cached_property
    def newer(self) -> Installation:
        """A newer version, installed when it is first asked for."""
        return Installation(self, install(self.home.path / "newer", NEWER))

    @cached_property
    def clocked(self) -> Installation:
        """Starts commands whose clock is off by what `set_clock` says, whenever it says it."""
        python = install(self.home.path / "clocked", first=Path(moved_clock.__file__))
        return Installation(self, python, {moved_clock.OFFSET: str(self._clock)})

    @property
    def _clock(self) -> Path:
        return self.home.path / "clock"

    def set_clock(self, offset_s: int) -> None:
        # At once: no process may see an empty file.
        new = self._clock.with_name("clock-new")
        new.write_text(str(offset_s))
        new.replace(self._clock)

    # ---- what is seen of it

    def sample(self) -> Sample | None:
        """What the server uses now; None where there is none."""
        try:
            found = self.information()
            return Sample(found["pid"], found["memory"], len(os.listdir(f"/proc/{found['pid']}/fd")))  # noqa: PTH208
        except OSError:
            return None

    def information(self) -> Mapping[str, Any]:
        """What the server says of itself. Raises OSError where there is none."""
        return self.home.information()

    def tracebacks(self) -> int:
        """Exceptions that a server logged or a client printed."""
        self._stderr.flush()
        logs = [*(self.home.path / "state").rglob("server.log*"), self.home.path / "stderr.log"]
        return sum(log.read_bytes().count(TRACEBACK) for log in logs)

    def shown(self, root: Path, looker: Installation | None = None) -> tuple[str | None, str]:
        """The status of a root as JSON: what the server says (None: nothing), and what a cold look finds.

        `looker` is the installation that looks, where the server is of another than this process.
        """
        words = ("status", "--json")
        with mock.patch.dict(os.environ, self.home.env), chdir(root):
            answer = ask_server(words)
        cold = (looker or Installation(self, sys.executable)).output_of(*words, "--cold", cwd=root)
        said = None if answer is None else "".join(text for _, text in answer.texts)
        return said, cold

    def close(self) -> None:
        self._stderr.close()
        if self.has_disks:
            for root in self.roots:
                subprocess.run(["umount", "--lazy", str(root)], check=True, timeout=BOUND_S)


@contextmanager
def worlds(has_disks: bool = False) -> Iterator[World]:
    """A world in folders of its own; all processes in it have ended afterwards."""
    with homes() as home:
        world = World(home, has_disks)
        try:
            yield world
        finally:
            world.close()
