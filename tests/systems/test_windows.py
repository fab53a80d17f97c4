"""What runs on Windows alone, against fakes of what it has: locks, the socket, streams, ending a check."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from phasekeeper.server import supervisor
from phasekeeper.server.connector import address, command_call
from phasekeeper.server.connector.address import ServerAddress, try_lock
from phasekeeper.server.hub import process, sockets
from phasekeeper.server.store.lock import run_lock
from phasekeeper.server.terminal import keyboard

from tests.roots import task
from tests.server.servers import BOUND_S, answer, homes, initialize, until
from tests.systems.simulation import copy_without, without_descriptors

fcntl = pytest.importorskip("fcntl", reason="the fakes stand on what POSIX systems have")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


class FakeMsvcrt(ModuleType):
    """Locks of bytes as Windows has them, which end with their descriptor; and the modes that were set."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.locks: list[tuple[int, int]] = []
        self.modes: list[int] = []

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert mode == self.LK_NBLCK
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.locks.append((os.lseek(descriptor, 0, os.SEEK_CUR), count))


def test_a_lock_is_a_byte_behind_the_number_of_its_owner(
    windows: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = FakeMsvcrt()
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    path = str(tmp_path / "2.lock")
    first = try_lock(path)
    assert first is not None and try_lock(path) is None
    address.write_lock_owner(first)
    assert address.lock_owner(ServerAddress(str(tmp_path), tcp=True)) == os.getpid()
    os.close(first)
    again = try_lock(path)
    assert again is not None
    os.close(again)
    # What is locked cannot be read there, and the number has to be.
    assert all(start > 20 and count == 1 for start, count in fake.locks) and len(fake.locks) == 2


def test_the_folder_is_the_users_own_and_there_are_no_sockets_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere: Any = copy_without(os, ("getuid", "geteuid"))
    elsewhere.name = "nt"
    monkeypatch.setattr(address, "os", elsewhere)
    monkeypatch.setattr(address, "_socket", copy_without(socket, ("AF_UNIX",)))
    monkeypatch.setenv("LOCALAPPDATA", "/home/ada/AppData/Local")
    assert address.runtime_folder() == "/home/ada/AppData/Local/phasekeeper/run"
    found = address.existing_address()
    assert found is None
    assert address._is_tcp()  # pyright: ignore[reportPrivateUsage]


CONNECTOR = """
import os, sys
from types import ModuleType
import subprocess, selectors
msvcrt = ModuleType("msvcrt")
msvcrt.setmode = lambda descriptor, mode: os.write(2, b"mode %d\\n" % mode)
winapi = ModuleType("_winapi")
winapi.OpenProcess = lambda access, inherit, pid: pid
winapi.WaitForSingleObject = lambda handle, milliseconds: 0x102
sys.modules["_winapi"] = winapi
sys.modules["msvcrt"], sys.platform, os.O_BINARY = msvcrt, "win32", 0x8000
from phasekeeper.server.cli.main import main
sys.exit(main(["lsp"]))
"""


def test_a_connector_of_windows_is_served_over_the_loopback_port() -> None:
    with homes() as home:
        home.env[address.FORM] = "tcp"
        home.server()
        (home.path / "work/.git").mkdir(parents=True)
        task(home.path / "work", "T1")
        process = home.popen([sys.executable, "-c", CONNECTOR], home.path, home.env)
        process.stdin.write(initialize(home.path / "work"))
        process.stdin.flush()
        assert answer(process.stdout, 1)["result"]["serverInfo"]["name"].lower() == "phasekeeper"
        process.stdin.close()
        # An editor that did not say goodbye.
        assert process.wait(BOUND_S) == 1
        # Both streams carry bytes: a line end stays what it is.
        assert process.stderr.read().count(b"mode 32768") == 2


def test_nobody_asks_whose_process_is_at_the_other_end_of_a_port(windows: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert sockets.peer_pid(listener) is None
        assert sockets.descriptors_above(listener) == float("inf")


def test_signals_reach_the_loop_where_it_hears_none() -> None:
    async def run() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        process.on_termination(_DeafLoop(loop), heard.set)  # pyright: ignore[reportArgumentType]
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(heard.wait(), BOUND_S)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    asyncio.run(run())


class _DeafLoop:
    """A loop as Windows has it: it takes no handlers of signals."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.call_soon_threadsafe = loop.call_soon_threadsafe

    def add_signal_handler(self, *_: object) -> None:
        raise NotImplementedError


SUPERVISOR = """
import json, os, subprocess, sys
real, run = subprocess.Popen, subprocess.run
def start(words, creationflags=0, start_new_session=False, **options):
    print(json.dumps({"flags": creationflags, "session": start_new_session}), file=sys.stderr, flush=True)
    return real(words, **options)
def taskkill(words, **options):
    print(json.dumps({"taskkill": words[:-1]}), file=sys.stderr, flush=True)
    return run(["kill", "-9", words[-1]], **options)
subprocess.Popen, subprocess.run = start, lambda words, **options: taskkill(words, **options)
from phasekeeper.server.supervisor import main
sys.platform, os.name = "win32", "nt"
sys.exit(main(sys.argv[1:]))
"""


def test_a_check_and_all_below_it_end_with_its_owner() -> None:
    with homes() as home:
        words = [sys.executable, "-c", SUPERVISOR, sys.executable, "-c", "import time; time.sleep(60)"]
        process = home.popen(words, home.path, home.env)
        pid = json.loads(process.stdout.readline())["pid"]
        process.stdin.close()
        last = json.loads(process.stdout.readline())
        assert (last["asked"], last["left"]) == (True, []) and last["code"] == -signal.SIGKILL
        assert process.wait(BOUND_S) == 0
        until(lambda: not Path(f"/proc/{pid}").exists())
        said = [json.loads(line) for line in process.stderr.read().splitlines()]
        assert said[0] == {"flags": supervisor._NEW_GROUP, "session": False}  # pyright: ignore[reportPrivateUsage]
        assert {"taskkill": ["taskkill", "/F", "/T", "/PID"]} in said


def test_the_lock_of_a_run_is_not_removed_while_it_is_open(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import filelock  # noqa: F401 - as it is on this system

    folder = task(root, "T1")
    monkeypatch.setattr(sys, "platform", "win32")
    with run_lock(root, folder.relative_to(root).as_posix()):
        pass
    assert (folder / ".phasekeeper/lock").exists()


def test_a_console_is_written_by_its_own_process(windows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    console = io.StringIO()
    monkeypatch.setattr(console, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", console)
    assert command_call._call_here(["status"]) is None  # pyright: ignore[reportPrivateUsage]


def test_there_are_no_keys_without_a_terminal_of_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyboard, "termios", None)
    keys = keyboard.Keyboard(io.StringIO())
    assert keys.open() is None
    keys.close()


def test_the_simulation_takes_away_what_windows_lacks() -> None:
    assert not hasattr(copy_without(os, ("getuid",)), "getuid")
    descriptor = os.open("/", os.O_RDONLY)
    try:
        with pytest.raises(NotImplementedError):
            without_descriptors(os.stat)("tmp", dir_fd=descriptor)
        assert without_descriptors(os.stat)("/tmp", dir_fd=None)
    finally:
        os.close(descriptor)
