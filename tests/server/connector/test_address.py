"""Where the server is found: folders that can be trusted, locks, and greetings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.server.connector import address as places
from phasekeeper.server.connector import handshake
from phasekeeper.server.connector.address import PROTOCOL, ServerAddress, UnusableFolder, make_private_folder
from phasekeeper.server.connector.handshake import Greeting, parse_greeting
from phasekeeper.server.version import VERSION

from tests.server.servers import BOUND_S, reached


def test_the_version_is_the_packages():
    assert metadata.version("phasekeeper") == VERSION


@given(st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name))
def test_every_folder_can_be_told(name):
    greeting = Greeting("lsp", os.fsdecode(b"/" + name), VERSION, "a.b")
    line = greeting.line()
    assert line.isascii() and line.count(b"\n") == 1
    read = parse_greeting(line[:-1])
    assert read is not None and vars(read) == vars(greeting)


@given(st.binary(max_size=200))
def test_no_line_breaks_the_reading_of_greetings(line):
    assert parse_greeting(line) is None or line.startswith(b"phasekeeper/%d " % PROTOCOL)


def test_a_folder_that_is_no_hexadecimal_is_no_greeting():
    assert parse_greeting(b"phasekeeper/%d lsp 2f6 1" % PROTOCOL) is None


@pytest.mark.skipif(os.name != "posix", reason="the folders of POSIX systems")
class TestFolders:
    def test_the_folder_is_the_one_that_platformdirs_names(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/x")
        assert places.runtime_folder() == str(platformdirs.user_runtime_path("phasekeeper"))

    def test_a_name_too_long_for_a_socket_becomes_a_short_one_of_its_own(self, monkeypatch):
        names = set()
        for letter in "ab":
            monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/" + letter * 100)
            names.add(places.runtime_folder())
        assert len(names) == 2 and all(len(name) < 50 and str(os.getuid()) in name for name in names)

    def test_without_a_runtime_folder_it_is_one_of_this_users(self, monkeypatch):
        monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
        assert str(os.getuid()) in places.runtime_folder() or sys.platform == "darwin"

    def test_it_is_made_for_this_user_alone_and_kept_so(self, tmp_path):
        folder = tmp_path / "new/phasekeeper"
        assert make_private_folder(str(folder)) == str(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o777)
        make_private_folder(str(folder))
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_a_link_or_a_file_in_its_place_is_refused(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "file").touch()
        with pytest.raises(UnusableFolder, match="is no folder; remove it"):
            make_private_folder(str(tmp_path / "link"))
        with pytest.raises(UnusableFolder, match="cannot be used"):
            make_private_folder(str(tmp_path / "file"))

    def test_somebody_elses_folder_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(UnusableFolder, match="belongs to somebody else"):
            make_private_folder(str(tmp_path))

    def test_the_socket_is_this_users_alone(self, home):
        address = ServerAddress(make_private_folder(str(home.path / "p")), tcp=False)
        listener, _ = handshake.listen(address)
        assert Path(address.endpoint).stat().st_mode & 0o777 == 0o600
        listener.close()


def test_a_lock_is_held_by_one_and_freed_by_its_holders_death(tmp_path):
    path = str(tmp_path / f"{PROTOCOL}.lock")
    hold = (
        "import sys; from phasekeeper.server.connector import address as a; "
        "d = a.try_lock(sys.argv[1]); a.write_lock_owner(d); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert places.try_lock(path) is None
        assert places.lock_owner(ServerAddress(str(tmp_path), tcp=False)) == other.pid
        other.kill()
        other.wait(BOUND_S)
    lock = places.try_lock(path)
    assert lock is not None
    os.close(lock)


def test_nobody_who_left_no_number_holds_a_lock(tmp_path):
    assert places.lock_owner(ServerAddress(str(tmp_path), tcp=False)) is None
    (tmp_path / f"{PROTOCOL}.lock").write_text("x")
    assert places.lock_owner(ServerAddress(str(tmp_path), tcp=False)) is None


@pytest.mark.parametrize("text", ["", "x y", "99999999 ab", "12 zz"])
def test_a_damaged_file_with_a_port_is_no_server(home, text):
    address = ServerAddress(make_private_folder(str(home.path / "p")), tcp=True)
    Path(address.endpoint).write_text(text)
    with pytest.raises(OSError):
        handshake.connect(address, 1.0)


@pytest.mark.parametrize(
    ("answer", "what"),
    [(b"", "closed"), (b"maybe 1\n", "understood"), (b"ok 1", "closed")],
)
def test_an_answer_that_is_none_is_an_error(home, answer, what):
    address = ServerAddress(make_private_folder(str(home.path / "p")), tcp=False)
    with handshake.listen(address)[0] as server:
        sock, secret = reached(address)
        other, _ = server.accept()
        other.sendall(answer)
        if what == "closed":
            other.shutdown(socket.SHUT_WR)
        with sock, pytest.raises(OSError, match=what):
            handshake.greet(sock, secret, Greeting("lsp", "/", VERSION), BOUND_S)
        other.close()
