"""Servers of this user that are of another protocol: those of earlier and later releases, beside this one's.

Names in the folder for sockets carry the protocol's number, so that releases of different numbers never meet
there. They may run side by side: the lock of a run is the same for all of them.
"""

from __future__ import annotations

import os

from .address import PROTOCOL, ServerAddress, try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = ".lock"


def other_servers(address: ServerAddress) -> list[ServerAddress]:
    """The addresses of other protocols at which a server runs, the oldest first, as its lock is held."""
    return [found for found in _addresses(address) if _is_held(found.lock)]


def _addresses(address: ServerAddress) -> Iterator[ServerAddress]:
    try:
        names = os.listdir(address.folder)
    except OSError:
        return
    numbers = {int(name[: -len(_LOCK)]) for name in names if _is_lock(name)}
    for number in sorted(numbers - {PROTOCOL}):
        yield ServerAddress(address.folder, address.tcp, number)


def _is_lock(name: str) -> bool:
    number = name[: -len(_LOCK)]
    return name.endswith(_LOCK) and number.isascii() and number.isdecimal() and len(number) < 10


def _is_held(path: str) -> bool:
    """True if a process has the lock; the file is there already, and taking it for a moment hurts nobody."""
    try:
        lock = try_lock(path)
    except OSError:
        return False
    if lock is not None:
        os.close(lock)
    return lock is None
