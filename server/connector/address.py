"""Where the server of this user is found: its private folder, the names in it, and its locks.

Two forms: a unix socket in a folder that only its user may enter; and, where there are none (Windows), a
loopback port with a secret in a file of that folder.

Connectors import this, and there are many of them: no module of this folder imports what costs a megabyte or
ten milliseconds (typing, socket, contextlib, pathlib, re) before it is needed. A test compares what is
loaded.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys

PROTOCOL = 2
"""Servers and connectors of another number do not see each other: every name below carries it."""
_MAX_SOCKET_PATH = 100
"""A unix socket's address holds 104 bytes on macOS, 108 on Linux."""
_LOCK_OFFSET = 4096
FORM = "PHASEKEEPER_SOCKET"
"""Environment: `tcp` for the loopback form where unix sockets are not to be used."""


class UnusableFolder(OSError):  # noqa: N818 - a reason, shown to people
    """The folder for sockets cannot be trusted or created; the text says why and what to do."""


class ServerAddress:
    """Where a server listens; `folder` exists and is this user's alone, `tcp` chooses the loopback form.

    One of another `protocol` is of an earlier or later release; `other_servers` looks for those.
    """

    def __init__(self, folder: str, tcp: bool, protocol: int = PROTOCOL) -> None:
        prefix = os.path.join(folder, f"{protocol}.")
        self.folder, self.tcp, self.protocol = folder, tcp, protocol
        self.endpoint = prefix + ("port" if tcp else "sock")
        """The socket, or the file with port and secret."""
        self.lock = prefix + "lock"
        """Held by a server as long as it lives. Never removed: two could hold two files of one name."""
        self.start_lock = prefix + "start"
        """Held by the one connector that starts a server."""


def find_address() -> ServerAddress:
    """The address of this user's server; its folder is created. Raises UnusableFolder."""
    return ServerAddress(make_private_folder(runtime_folder()), _is_tcp())


def existing_address() -> ServerAddress | None:
    """The address of this user's server where one may listen; nothing is created or changed."""
    address = ServerAddress(runtime_folder(), _is_tcp())
    try:
        if not os.path.lexists(address.endpoint):
            return None
        is_private = _check_owner(address.folder)
    except OSError:
        return None
    return address if is_private else None


def _is_tcp() -> bool:
    return not hasattr(_socket, "AF_UNIX") or os.environ.get(FORM) == "tcp"


def runtime_folder() -> str:
    """The folder for sockets, as platformdirs names it; a short one in /tmp where that is too long."""
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
        return os.path.join(local, "phasekeeper", "run")
    configured, system = os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"
    short = f"/tmp/phasekeeper-{os.getuid()}"
    if os.path.isabs(configured):
        folder = os.path.join(configured, "phasekeeper")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Caches/TemporaryItems/phasekeeper")
    else:
        folder = f"{system}/phasekeeper" if os.path.isdir(system) else short
    if len(os.fsencode(folder)) + len("/1.sock") <= _MAX_SOCKET_PATH:
        return folder
    from zlib import crc32

    return f"{short}-{crc32(os.fsencode(folder)):08x}"


def make_private_folder(folder: str) -> str:
    """The folder, created where there is none, with mode 0700. Raises UnusableFolder for another user's."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _check_owner(folder):
            os.chmod(folder, 0o700)
    except UnusableFolder:
        raise
    except OSError as error:
        raise UnusableFolder(
            f"{folder} cannot be used: {reason(error)}; set XDG_RUNTIME_DIR to a folder of yours"
        ) from None
    return folder


def _check_owner(folder: str) -> bool:
    """True when nobody else may enter the folder. Raises UnusableFolder for another user's, and OSError."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise UnusableFolder(f"{folder} is no folder; remove it, or set XDG_RUNTIME_DIR to another one")
    if os.name != "nt" and status.st_uid != os.geteuid():
        raise UnusableFolder(
            f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of your own"
        )
    return os.name == "nt" or stat.S_IMODE(status.st_mode) == 0o700


def reason(error: OSError) -> str:
    """The system's words for an error, as a part of a sentence."""
    return (error.strerror or "unknown error").lower()


def current_folder() -> str:
    """The current folder of this process; the user's home where that one is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.expanduser("~")


def seconds_from(variable: str, default: float, least: float, most: float) -> float:
    """Seconds that a variable of the environment says, within bounds; the default where it says none."""
    try:
        return min(max(float(os.environ.get(variable, "")), least), most)
    except ValueError:
        return default


# ---- locks -------------------------------------------------------------------------------------


def try_lock(path: str) -> int | None:
    """A descriptor that holds the lock until it is closed or the process ends; None when another has it.

    Raises OSError where the file cannot be created.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            # Not where the owner's process number stands: what is locked cannot be read.
            os.lseek(descriptor, _LOCK_OFFSET, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def write_lock_owner(descriptor: int) -> None:
    """Leave this process' number in a lock's file, for `lock_owner`; a full disk is no reason to fail."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, b"%d\n" % os.getpid())
    except OSError:
        pass


def lock_owner(address: ServerAddress) -> int | None:
    """The process that last wrote that it holds the server's lock."""
    try:
        with open(address.lock, "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return None
