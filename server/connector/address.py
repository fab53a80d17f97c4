"""Where the server of this user is found: its folder, its socket, its locks, and how both sides greet.

Two forms: a unix socket in a folder that only its user may enter; and, where there are none (Windows), a
loopback port with a secret in a file of that folder, which both sides prove to know without saying it.

Connectors import this, and there are many of them: modules that cost a megabyte or ten milliseconds (typing,
socket, contextlib, pathlib, re) are done without.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

PROTOCOL = 1
"""Servers and connectors of another number do not see each other: every name below carries it."""
MAX_LINE = 8192
"""Bytes of a greeting or its answer; a folder of 4,096 bytes, all percent-encoded, is refused."""
_MAX_SOCKET_PATH = 100
"""A unix socket's address holds 104 bytes on macOS, 108 on Linux."""
_LOCKED_AT = 4096
_BACKLOG = 128
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~+,:@")
FORM = "PHASEKEEPER_SOCKET"
"""Environment: `tcp` for the loopback form where unix sockets are not to be used."""


class Unusable(OSError):  # noqa: N818 - a reason, said to people
    """The folder for sockets cannot be trusted or made; the text says why and what to do."""


class Address:
    """Where a server listens; `folder` exists and is this user's alone."""

    def __init__(self, folder: str, tcp: bool) -> None:
        self.folder = folder
        self.tcp = tcp

    @property
    def place(self) -> str:
        """The socket, or the file with port and secret."""
        return os.path.join(self.folder, f"{PROTOCOL}.{'port' if self.tcp else 'sock'}")

    @property
    def lock(self) -> str:
        """Held by a server as long as it lives. Never removed: two could hold two files of one name."""
        return os.path.join(self.folder, f"{PROTOCOL}.lock")

    @property
    def start_lock(self) -> str:
        """Held by the one connector that starts a server."""
        return os.path.join(self.folder, f"{PROTOCOL}.start")


class Greeting:
    """A connection's first line: what it wants, from which folder, in which version; the proof is for TCP."""

    def __init__(self, kind: str, folder: str, version: str, proof: str = "") -> None:
        self.kind = kind
        self.folder = folder
        self.version = version
        self.proof = proof

    def line(self) -> bytes:
        words = (f"phasekeeper/{PROTOCOL}", self.kind, _quoted(self.folder), self.version, self.proof)
        return " ".join(word for word in words if word).encode("ascii") + b"\n"


def read_greeting(line: bytes) -> Greeting | None:
    """The greeting of a line without its end; None when it is none of this protocol."""
    words = line.decode("ascii", "replace").split(" ")
    if words[0] != f"phasekeeper/{PROTOCOL}" or not 4 <= len(words) <= 5 or not all(words):
        return None
    return Greeting(words[1], _unquoted(words[2]), *words[3:])


def _quoted(text: str) -> str:
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in os.fsencode(text))


def _unquoted(text: str) -> str:
    first, *others = text.encode("ascii", "replace").split(b"%")
    parts = [first]
    for other in others:
        try:
            parts.append(bytes([int(other[:2], 16)]) + other[2:])
        except ValueError:
            parts.append(b"%" + other)
    return os.fsdecode(b"".join(parts))


# ---- folders -----------------------------------------------------------------------------------


def find() -> Address:
    """Where this user's server is, with its folder made. Raises Unusable."""
    tcp = not hasattr(_socket, "AF_UNIX") or os.environ.get(FORM) == "tcp"
    return Address(private(runtime_folder()), tcp)


def runtime_folder() -> str:
    """The folder for sockets, as platformdirs names it; a short one instead where that is too long."""
    folder = _runtime_folder()
    if os.name == "nt" or len(os.fsencode(folder)) + len("/1.sock") <= _MAX_SOCKET_PATH:
        return folder
    from zlib import crc32

    return f"/tmp/phasekeeper-{os.getuid()}-{crc32(os.fsencode(folder)):08x}"


def _runtime_folder() -> str:
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
        return os.path.join(local, "phasekeeper", "run")
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(chosen):
        return os.path.join(chosen, "phasekeeper")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/TemporaryItems/phasekeeper")
    usual = f"/run/user/{os.getuid()}"
    return f"{usual}/phasekeeper" if os.path.isdir(usual) else f"/tmp/phasekeeper-{os.getuid()}"


def private(folder: str) -> str:
    """The folder, made where there is none, that only this user may enter. Raises Unusable."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode):
            raise Unusable(f"{folder} is no folder; remove it, or set XDG_RUNTIME_DIR to another one")
        if os.name != "nt" and found.st_uid != os.geteuid():
            raise Unusable(f"{folder} belongs to somebody else; set XDG_RUNTIME_DIR to a folder of your own")
        if os.name != "nt" and stat.S_IMODE(found.st_mode) != 0o700:
            os.chmod(folder, 0o700)
    except Unusable:
        raise
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise Unusable(f"{folder} cannot be used: {why}; set XDG_RUNTIME_DIR to a folder of yours") from None
    return folder


# ---- locks -------------------------------------------------------------------------------------


def try_lock(path: str) -> int | None:
    """A descriptor that holds the lock until it is closed or the process ends; None when another has it.

    Raises OSError where the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            # Not where the holder's number stands: what is locked cannot be read.
            os.lseek(descriptor, _LOCKED_AT, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def unlock(descriptor: int) -> None:
    os.close(descriptor)


def sign(descriptor: int) -> None:
    """Leave this process' number in a lock's file, for who wonders what holds it."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, b"%d\n" % os.getpid())
    except OSError:
        pass


def holder(address: Address) -> int | None:
    """The process that said it holds the server's lock."""
    try:
        with open(address.lock, "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return None


# ---- sockets -----------------------------------------------------------------------------------


class Listening:
    """A server's socket, and the secret of the loopback form."""

    def __init__(self, made: socket.socket, secret: bytes) -> None:
        self.socket = made
        self.secret = secret


def listen(address: Address) -> Listening:
    """Listen where connectors look; only who holds the lock may, as it replaces what stands there."""
    import socket

    remove(address)
    if address.tcp:
        made = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        return Listening(made, _publish(address, made.getsockname()[1]))
    made = socket.socket(socket.AF_UNIX)
    made.bind(address.place)
    os.chmod(address.place, 0o600)
    made.listen(_BACKLOG)
    return Listening(made, b"")


def _publish(address: Address, port: int) -> bytes:
    """A new secret, written with the port where only this user can read it."""
    secret = os.urandom(32)
    new = f"{address.place}.{os.getpid()}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, b"%d %s\n" % (port, secret.hex().encode()))
    os.close(descriptor)
    os.replace(new, address.place)
    return secret


def remove(address: Address) -> None:
    """Take the socket or the port's file away, if it is there."""
    try:
        os.unlink(address.place)
    except FileNotFoundError:
        pass


class Connected:
    """A connection to a server that has not been greeted yet."""

    def __init__(self, made: _socket.socket, secret: bytes) -> None:
        self.socket = made
        self.secret = secret


def connect(address: Address, timeout_s: float) -> Connected:
    """Reach the server. Raises OSError when nothing listens."""
    if not address.tcp:
        return Connected(_reached(_socket.AF_UNIX, address.place, timeout_s), b"")
    with open(address.place, "rb") as file:
        port, _, secret = file.read(200).decode("ascii", "replace").strip().partition(" ")
    try:
        known = int(port), bytes.fromhex(secret)
    except ValueError:
        raise OSError(f"{address.place} is damaged") from None
    return Connected(_reached(_socket.AF_INET, ("127.0.0.1", known[0]), timeout_s), known[1])


def _reached(family: int, where: str | tuple[str, int], timeout_s: float) -> _socket.socket:
    made = _socket.socket(family, _socket.SOCK_STREAM)
    made.settimeout(timeout_s)
    try:
        made.connect(where)
    except OverflowError as error:
        made.close()
        raise OSError(str(error)) from None
    except OSError:
        made.close()
        raise
    return made


class Refused(Exception):  # noqa: N818 - what the server answered
    """The server answered `no`; the text is its reason."""


def greet(connected: Connected, greeting: Greeting, timeout_s: float) -> str:
    """Greet and be answered: what follows `ok`. The socket then has no time limit.

    Raises Refused for `no`, OSError when there is no answer in time or none of this protocol.
    """
    sock, secret = connected.socket, connected.secret
    nonce = os.urandom(16).hex()
    if secret:
        greeting.proof = f"{nonce}.{proof(secret, 'connector', nonce)}"
    sock.settimeout(timeout_s)
    sock.sendall(greeting.line())
    answer = _line(sock, timeout_s).decode("utf-8", "replace")
    if secret and not answer.startswith("no "):
        mine, _, answer = answer.partition(" ")
        if not proves(mine, secret, "server", nonce):
            raise OSError("something else than the server answers at its port")
    word, _, rest = answer.partition(" ")
    if word == "no":
        raise Refused(rest)
    if word != "ok":
        raise OSError("the server's answer cannot be understood")
    sock.settimeout(None)
    return rest


def proof(secret: bytes, side: str, nonce: str) -> str:
    """What only one who knows the secret can say, for a side of the connection and its nonce."""
    import hmac

    return hmac.digest(secret, f"{side} {nonce}".encode(), "sha256").hex()


def proves(said: str, secret: bytes, side: str, nonce: str) -> bool:
    """Whether what was said is the proof, compared in a time that does not tell how much of it is right."""
    import hmac

    return hmac.compare_digest(said.encode("utf-8", "replace"), proof(secret, side, nonce).encode())


def _line(sock: _socket.socket, timeout_s: float) -> bytes:
    """One line without its end, read byte by byte, since what follows it is not ours."""
    until = time.monotonic() + timeout_s
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = sock.recv(1)
        if not byte:
            raise OSError("the server closed the connection")
        if time.monotonic() > until:
            raise TimeoutError("the server did not answer in time")
        line += byte
    return bytes(line[:-1])
