"""Whose process is at the other end of a local socket."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Mapping
from typing import cast

import pytest
from phasekeeper.server.hub import sockets
from phasekeeper.server.hub.sockets import peer_pid


class Faked:
    """A socket as another system has it: what it says for (level, option)."""

    family = socket.AF_UNIX

    def __init__(self, said: Mapping[tuple[int, int], bytes]) -> None:
        self._said = said

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        if (level, option) not in self._said:
            raise OSError("not connected")
        return self._said[level, option][:size]


def xucred(uid: int, version: int = 0) -> bytes:
    """76 bytes as macOS gives them: two numbers, how many groups, sixteen groups."""
    return struct.pack("=IIhxx16I", version, uid, 1, *[20] * 16)


def faked(said: Mapping[tuple[int, int], bytes]) -> socket.socket:
    return cast(socket.socket, Faked(said))


PID = struct.pack("=i", 4711)


def test_macos_says_user_and_process(monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peer_pid(faked({(0, 1): xucred(os.geteuid()), (0, 2): PID})) == 4711


@pytest.mark.parametrize("platform", ["freebsd14", "dragonfly6"])
def test_a_bsd_says_the_user(monkeypatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert peer_pid(faked({(0, 1): xucred(os.geteuid()) + bytes(12)})) is None


@pytest.mark.parametrize("platform", ["darwin", "freebsd14"])
@pytest.mark.parametrize(
    "said", [xucred(os.geteuid() + 1), xucred(os.geteuid(), version=1), b"", xucred(os.geteuid())[:7]]
)
def test_whoever_is_somebody_else_or_unknown_is_refused(monkeypatch, platform: str, said: bytes) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(ValueError, match=r"somebody else|unknown version|cut short"):
        peer_pid(faked({(0, 1): said, (0, 2): PID}))


@pytest.mark.parametrize("platform", ["darwin", "freebsd14"])
def test_a_system_that_should_say_and_does_not_lets_nobody_in(monkeypatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(OSError, match="not connected"):
        peer_pid(faked({}))


def test_macos_without_the_process_lets_nobody_in(monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match="not connected"):
        peer_pid(faked({(0, 1): xucred(os.geteuid())}))


@pytest.mark.skipif(not sys.platform.startswith(("linux", *sockets._BSD)), reason="the system does not say")
def test_this_system_says_that_it_is_this_process() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_pid(one) in (os.getpid(), None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux says it")
def test_linux_tells_of_another_user(monkeypatch) -> None:
    said = struct.pack("=iII", 4711, os.geteuid() + 1, 0)
    with pytest.raises(ValueError, match="is somebody else"):
        peer_pid(faked({(socket.SOL_SOCKET, socket.SO_PEERCRED): said}))


def test_what_is_no_local_socket_is_not_asked() -> None:
    with socket.socket(socket.AF_INET) as sock:
        assert peer_pid(sock) is None
