"""What runs on macOS and other systems without Linux's means, where Linux has the same calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.server import memory, process_end, supervisor
from phasekeeper.server.cache import file_systems
from phasekeeper.server.connector import address
from phasekeeper.server.disk import decision_keys
from phasekeeper.server.hub import process

from tests.server.servers import until
from tests.systems.simulation import copy_without

pytestmark = pytest.mark.skipif(os.name != "posix", reason="it stands on what POSIX systems have")


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


def test_the_folder_for_sockets_is_one_of_the_users_caches(
    macos: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HOME", "/Users/ada")
    assert address.runtime_folder() == "/Users/ada/Library/Caches/TemporaryItems/phasekeeper"
    monkeypatch.setenv("HOME", f"/Users/{'a' * 100}")
    assert address.runtime_folder().startswith(f"/tmp/phasekeeper-{os.getuid()}-")


def test_a_repository_is_known_by_its_path_in_any_case(macos: None, tmp_path: Path) -> None:
    names = [decision_keys.repository_path(tmp_path / name) for name in ("Library", "library")]
    assert names[0] == names[1]


def test_the_end_of_a_process_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_end, "os", copy_without(os, ("pidfd_open",)))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        has_ended = process_end.process_end_probe(child.pid)
        assert has_ended and not has_ended()
    until(has_ended)
    assert process_end.process_end_probe(child.pid) is None


def test_what_a_check_left_behind_is_told_by_its_group(macos: None) -> None:
    script = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    program = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    program.wait()
    assert supervisor._left_behind(program.pid) == ["a process"]  # pyright: ignore[reportPrivateUsage]
    supervisor._kill_all(program.pid)  # pyright: ignore[reportPrivateUsage]
    until(lambda: not supervisor._signal_group(program.pid, 0))  # pyright: ignore[reportPrivateUsage]
    assert signal.SIGKILL


def test_memory_is_told_in_bytes_where_there_is_no_proc(macos: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_STATM", Path("/nowhere"))
    import resource

    assert memory.resident_bytes() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_nothing_is_asked_of_linux_alone(macos: None) -> None:
    assert file_systems.is_trusted("/anywhere")
    assert process.return_large_blocks() is False
