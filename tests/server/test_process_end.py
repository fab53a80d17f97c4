"""Whether another process has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from phasekeeper.server import process_end
from phasekeeper.server.process_end import parent_end_probe, process_end_probe

LINUX = hasattr(os, "pidfd_open")


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("by_number", [False, True])
def test_a_process_has_ended_once_it_was_killed_and_waited_for(child, monkeypatch, by_number):
    if by_number:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    has_ended = process_end_probe(child.pid)
    assert has_ended
    assert not has_ended()
    child.kill()
    child.wait()
    assert has_ended()
    assert has_ended()
    assert process_end_probe(child.pid) is None


@pytest.mark.skipif(not LINUX, reason="needs pidfd_open")
def test_a_process_that_nobody_waited_for_has_ended(child):
    has_ended = process_end_probe(child.pid)
    assert has_ended
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended()


@pytest.mark.skipif(not LINUX, reason="needs pidfd_open")
def test_where_handles_are_forbidden_the_number_is_asked_for(child, monkeypatch):
    def forbid(_: int) -> int:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "pidfd_open", forbid)
    has_ended = process_end_probe(child.pid)
    assert has_ended
    assert not has_ended()


@pytest.mark.skipif(not LINUX, reason="needs pidfd_open")
def test_a_probe_leaves_no_descriptor_behind(child):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(50):
        process_end_probe(child.pid)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize("pid", [0, -1, 1, 2**31 - 1, 2**31, 2**80])
def test_a_number_that_is_no_process_of_this_machine_says_nothing(pid, monkeypatch):
    assert process_end_probe(pid) is None
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert process_end_probe(pid) is None


def test_the_parent_has_ended_once_another_process_is_the_parent(monkeypatch):
    monkeypatch.setattr(os, "getppid", lambda: 4242)
    has_ended = parent_end_probe()
    assert has_ended
    assert not has_ended()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert has_ended()


@pytest.mark.parametrize("parent", [0, 1])
def test_a_process_without_a_parent_to_be_seen_is_not_ended_for_that(monkeypatch, parent):
    # Outside of the container, or ended before this process looked.
    monkeypatch.setattr(os, "getppid", lambda: parent)
    assert parent_end_probe() is None


class FakeWinapi(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(running={4242}, asked=[])

    def OpenProcess(self, access: int, inherit: bool, pid: int) -> int:  # noqa: N802
        self.asked.append((access, inherit, pid))
        if pid not in self.running:
            raise OSError(87, "no such process")
        return pid

    def WaitForSingleObject(self, handle: int, milliseconds: int) -> int:  # noqa: N802
        assert milliseconds == 0
        return 0x102 if handle in self.running else 0


def test_on_windows_a_handle_tells_of_the_end(monkeypatch):
    windows = FakeWinapi()
    monkeypatch.setitem(sys.modules, "_winapi", windows)
    monkeypatch.setattr(process_end.sys, "platform", "win32")
    monkeypatch.setattr(os, "getppid", lambda: 4242)
    for has_ended in (parent_end_probe(), process_end_probe(4242)):
        assert has_ended
        assert not has_ended()
        windows.running.clear()
        assert has_ended()
        windows.running.add(4242)
    # A handle that can only be waited for.
    assert set(windows.asked) == {(0x100000, False, 4242)}
    assert process_end_probe(4243) is None
