"""The handshake of a connector and the server: listen, connect, one line each way.

The connector sends `phasekeeper/PROTOCOL KIND FOLDER VERSION [PROOF]`, the folder in hexadecimal; the server
answers `ok [TEXT]` or `no REASON`. Over loopback TCP both sides prove to know the secret in the port's file
without sending it: the connector's proof is `NONCE.HMAC`, and the server's HMAC stands before its `ok`.

This line, INFO, STOP and the names in the folder are of one form for every PROTOCOL, so that each release
finds the servers of all others and can end them; what follows a greeting of another kind may differ.
"""

from __future__ import annotations

import _socket
import os
import time

from .address import PROTOCOL, ServerAddress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

INFO, STOP = "info", "stop"
"""Kinds of greeting that are answered with one line of JSON and start no connection."""
RESTART = "restart"
"""The reason of a refusal by a server that makes way for the caller's newer version."""
MAX_LINE = 2 * 4096 + 512
"""Bytes of a greeting or its answer; holds the longest folder of Linux."""
_BACKLOG = 128


class Greeting:
    """A connection's first line: what it wants, from which folder, in which version; the proof is for TCP."""

    def __init__(self, kind: str, folder: str, version: str, proof: str = "") -> None:
        self.kind = kind
        self.folder = folder
        self.version = version
        self.proof = proof
        self.protocol = PROTOCOL

    def line(self) -> bytes:
        """The greeting on the wire, with its end of line; ASCII whatever the folder's name is."""
        folder = os.fsencode(self.folder).hex()
        words = (f"phasekeeper/{self.protocol}", self.kind, folder, self.version, self.proof)
        return " ".join(word for word in words if word).encode("ascii") + b"\n"


def parse_greeting(line: bytes) -> Greeting | None:
    """The greeting of a line without its end of line; None when it is none of this protocol."""
    words = line.decode("ascii", "replace").split(" ")
    if words[0] != f"phasekeeper/{PROTOCOL}" or not 4 <= len(words) <= 5 or not all(words):
        return None
    try:
        folder = os.fsdecode(bytes.fromhex(words[2]))
    except ValueError:
        return None
    return Greeting(words[1], folder, *words[3:])


def listen(address: ServerAddress) -> tuple[socket.socket, bytes]:
    """(the listening socket, the secret of the loopback form) where connectors look.

    Only who holds the server's lock may call this: what stands there is replaced.
    """
    import socket

    try:
        os.unlink(address.endpoint)
    except FileNotFoundError:
        pass
    if not address.tcp:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address.endpoint)
        os.chmod(address.endpoint, 0o600)
        listener.listen(_BACKLOG)
        return listener, b""
    listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    port, secret = listener.getsockname()[1], os.urandom(32)
    # Complete under its name, and never readable by others.
    temporary = f"{address.endpoint}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, b"%d %s\n" % (port, secret.hex().encode()))
    os.close(descriptor)
    os.replace(temporary, address.endpoint)
    return listener, secret


def connect(address: ServerAddress, timeout_s: float) -> tuple[_socket.socket, bytes]:
    """(a connection that has to be greeted, the secret). Raises OSError when nothing listens."""
    secret = b""
    where: str | tuple[str, int] = address.endpoint
    if address.tcp:
        with open(address.endpoint, "rb") as file:
            port, _, key = file.read(200).decode("ascii", "replace").strip().partition(" ")
        try:
            where, secret = ("127.0.0.1", int(port)), bytes.fromhex(key)
        except ValueError:
            raise OSError(f"{address.endpoint} is damaged") from None
    sock = _socket.socket(_socket.AF_INET if address.tcp else _socket.AF_UNIX, _socket.SOCK_STREAM)
    sock.settimeout(timeout_s)
    try:
        sock.connect(where)
    except (OSError, OverflowError) as error:
        sock.close()
        raise error if isinstance(error, OSError) else OSError(str(error)) from None
    return sock, secret


class GreetingRefused(Exception):  # noqa: N818 - what the server answered
    """The server answered `no`; the text is its reason."""


def greet(sock: _socket.socket, secret: bytes, greeting: Greeting, timeout_s: float) -> str:
    """Send the greeting; the text after `ok`. The socket then blocks without a time limit.

    Raises GreetingRefused for `no`, OSError when there is no answer in time or none of this protocol.
    """
    nonce = os.urandom(16).hex()
    if secret:
        greeting.proof = f"{nonce}.{make_proof(secret, 'connector', nonce)}"
    sock.settimeout(timeout_s)
    sock.sendall(greeting.line())
    answer = _read_line(sock, timeout_s).decode("utf-8", "replace")
    if secret and not answer.startswith("no "):
        proof, _, answer = answer.partition(" ")
        if not is_valid_proof(proof, secret, "server", nonce):
            raise OSError("something else than the server answers at its port")
    word, _, text = answer.partition(" ")
    if word == "no":
        raise GreetingRefused(text)
    if word != "ok":
        raise OSError("the server's answer cannot be understood")
    sock.settimeout(None)
    return text


def open_connection(
    address: ServerAddress, greeting: Greeting, timeout_s: float
) -> tuple[_socket.socket, str]:
    """(a greeted connection, the text after `ok`); raises what `connect` and `greet` raise."""
    sock, secret = connect(address, timeout_s)
    greeting.protocol = address.protocol
    try:
        return sock, greet(sock, secret, greeting, timeout_s)
    except BaseException:
        sock.close()
        raise


def ask(address: ServerAddress, greeting: Greeting, timeout_s: float = 10.0) -> str:
    """The running server's answer to INFO or STOP; raises what `open_connection` raises."""
    sock, text = open_connection(address, greeting, timeout_s)
    sock.close()
    return text


def make_proof(secret: bytes, side: str, nonce: str) -> str:
    """The HMAC that only who knows the secret can compute, for a side of the connection and its nonce."""
    import hmac

    return hmac.digest(secret, f"{side} {nonce}".encode(), "sha256").hex()


def is_valid_proof(proof: str, secret: bytes, side: str, nonce: str) -> bool:
    """True if `proof` is what `make_proof` gives, compared in constant time."""
    import hmac

    return hmac.compare_digest(proof.encode("utf-8", "replace"), make_proof(secret, side, nonce).encode())


def _read_line(sock: _socket.socket, timeout_s: float) -> bytes:
    """One line without its end, read byte by byte, since what follows it belongs to the client."""
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
