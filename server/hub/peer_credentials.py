"""Who is at the other end of a local socket, by the word of the system."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import NamedTuple

_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
"""Of macOS' <sys/un.h>; FreeBSD and DragonFly have the first two alike."""
_XUCRED = 256
"""Room for a `struct xucred` of any of them; the system says how much of it there is."""
_BSD = ("darwin", "freebsd", "dragonfly")


class Peer(NamedTuple):
    """`pid` is None where the system tells the user only."""

    uid: int
    pid: int | None


def peer(sock: socket.socket) -> int | None:
    """The process at the other end, where the system says.

    Raises ValueError when it is another user's, and that or OSError where the system should say and does not.
    Where it never does, and for what is no local socket, others are kept out by the folder or a secret.
    """
    if sock.family != getattr(socket, "AF_UNIX", None):
        return None
    ask = _asking(sys.platform)
    if ask is None:
        return None
    found = ask(sock)
    if found.uid != os.geteuid():
        raise ValueError(f"user {found.uid} is somebody else")
    return found.pid


def _asking(platform: str) -> Callable[[socket.socket], Peer] | None:
    if platform.startswith("linux"):
        return _linux
    return _bsd if platform.startswith(_BSD) else None


def _linux(sock: socket.socket) -> Peer:
    """`struct ucred`: pid, uid, gid."""
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return Peer(_number(data, 4), _number(data, 0))


def _bsd(sock: socket.socket) -> Peer:
    """`struct xucred`: version (0), uid, groups. A process of its own is told by macOS alone."""
    data = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED)
    if _number(data, 0) != 0:
        raise ValueError("the system tells of a user in a way that is not known")
    pid = None
    if sys.platform == "darwin":
        pid = _number(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4), 0)
    return Peer(_number(data, 4), pid)


def _number(data: bytes, at: int) -> int:
    if len(data) < at + 4:
        raise ValueError("the system did not tell whose the other end is")
    return int.from_bytes(data[at : at + 4], sys.byteorder)
