"""`phasekeeper lsp` and `phasekeeper mcp`: bytes between the standard streams and the server of this user.

The server is started when there is none. Editors and assistants start many of these, so nothing but light
modules of the standard library is imported, unless the connection has to run by itself.
"""

from __future__ import annotations

import _socket
import _thread
import os
import sys
import time

from ..version import VERSION
from . import address as places
from .address import Address, Greeting, Refused, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from subprocess import Popen

KINDS = ("lsp", "mcp")
STANDALONE = "--standalone"
BACKGROUND = ["serve", "--background"]
"""The command of a server that nobody looks at."""
# What LSP clients add to the command they start; streams are all there is here.
_IGNORED = ("--stdio",)
WAIT = "PHASEKEEPER_WAIT_S"
"""Environment: seconds to wait for a server, for machines that are slower than most."""
_WAIT_S = 2.0
_ANSWER_S = 10.0
"""A server that listens may still be busy starting."""
_HANDOVER_S = 15.0
"""An older server that makes way finishes what it writes first."""
_POLL_S = 0.02
_GRACE_S = 5.0
"""After the end of stdin the answers that are under way are waited for so long."""
_CHUNK = 1 << 16
RESTART = "restart"


class NoServer(Exception):  # noqa: N818 - a reason, said to people
    """No server can be reached or started; the text says why."""


class Gone(Exception):  # noqa: N818
    """The client ended before there was a server."""


def understood(words: Sequence[str]) -> bool:
    """Whether a command line is a connector's and in no need of being parsed further."""
    return bool(words) and words[0] in KINDS and set(words[1:]) <= {STANDALONE, *_IGNORED}


def connector(kind: str, standalone: bool) -> int:
    """Serve one client on the standard streams until it or the server ends; the exit code."""
    stdin, stdout = _claimed()
    feed = Feed(stdin)
    if not standalone:
        try:
            return _joined(kind, feed, stdout)
        except Gone:
            return 0
        except NoServer as error:
            _say(f"{error}; this connection runs by itself")
    from ..hub.standalone import alone

    return alone(kind, feed, stdout)


def _claimed() -> tuple[int, int]:
    """The streams for the protocol alone: what else reads gets nothing, what prints goes to stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (stdin, stdout):
            msvcrt.setmode(descriptor, os.O_BINARY)
    return stdin, stdout


def _say(text: str) -> None:
    try:
        os.write(2, f"phasekeeper: {text}\n".encode(errors="replace"))
    except OSError:
        pass


class Feed:
    """What the client says, passed on to a socket as soon as there is one.

    Reading begins at once, so that a client that ends while a server is waited for is noticed; what does
    not fit into one chunk waits in the pipe.
    """

    def __init__(self, stdin: int) -> None:
        self.ended = False
        self._stdin = stdin
        self._socket: _socket.socket | None = None
        # Held until there is a socket.
        self._unconnected = _thread.allocate_lock()
        self._unconnected.acquire()
        _thread.start_new_thread(self._run, ())

    def to(self, sock: _socket.socket) -> None:
        self._socket = sock
        self._unconnected.release()

    def _run(self) -> None:
        chunk = self._read()
        self._unconnected.acquire()
        sock = self._socket
        if sock is None:
            return
        try:
            while chunk:
                sock.sendall(chunk)
                chunk = self._read()
            sock.shutdown(_socket.SHUT_WR)
            time.sleep(_GRACE_S)
            sock.shutdown(_socket.SHUT_RDWR)
        except OSError:
            # The server's end is closed; who reads from it notices, too.
            pass

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._stdin, _CHUNK)
        except OSError:
            chunk = b""
        self.ended = not chunk
        return chunk


def drain(sock: _socket.socket, stdout: int) -> None:
    """Write what comes from a socket until it, or who reads, ends."""
    try:
        while chunk := sock.recv(_CHUNK):
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(stdout, rest) :]
    except OSError:
        pass


def _joined(kind: str, feed: Feed, stdout: int) -> int:
    try:
        address = places.find()
        sock, number = join(address, _greeting(kind), lambda: feed.ended)
    except Unusable as error:
        raise NoServer(str(error)) from None
    feed.to(sock)
    drain(sock, stdout)
    sock.close()
    return _how_it_ended(address, number, feed.ended)


def _how_it_ended(address: Address, number: str, by_client: bool) -> int:
    """The exit code of a connection, asked of the server; 1 if that is gone, 0 if the client went first."""
    try:
        return int(ask(address, Greeting("ended", number, VERSION)))
    except (OSError, Refused, ValueError):
        if by_client:
            return 0
        _say("the server ended; start this again")
        return 1


def _greeting(kind: str) -> Greeting:
    try:
        folder = os.getcwd()
    except OSError:
        folder = os.path.expanduser("~")
    return Greeting(kind, folder, VERSION)


def ask(address: Address, greeting: Greeting, timeout_s: float = _ANSWER_S) -> str:
    """One question to the server that runs, and its answer. Raises OSError without one, Refused for `no`."""
    connected = places.connect(address, timeout_s)
    try:
        return places.greet(connected, greeting, timeout_s)
    finally:
        connected.socket.close()


# ---- joining or starting -----------------------------------------------------------------------


def join(address: Address, greeting: Greeting, gone: Callable[[], bool]) -> tuple[_socket.socket, str]:
    """A greeted connection to the server, started if there is none, and the connection's number.

    One of several connectors at a time starts it, under a lock that its death would free. Raises NoServer
    after the time there is, Gone when `gone()`.
    """
    attempt = _Attempt(address)
    try:
        while True:
            answered = attempt.greeted(greeting)
            if answered:
                return answered
            if gone():
                raise Gone
            attempt.go_on()
            time.sleep(_POLL_S)
    finally:
        attempt.end()


class _Attempt:
    """One connector's way to a server."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._wait_s = wait_s()
        self._until = time.monotonic() + self._wait_s
        self._lock: int | None = None
        self._started: Popen[bytes] | None = None

    def greeted(self, greeting: Greeting) -> tuple[_socket.socket, str] | None:
        """The connection; None while nothing listens, or while what listened makes way."""
        try:
            connected = places.connect(self._address, self._wait_s)
        except OSError:
            return None
        try:
            return connected.socket, places.greet(connected, greeting, max(_ANSWER_S, self._wait_s))
        except Refused as error:
            connected.socket.close()
            if str(error) != RESTART:
                raise NoServer(f"the server refused: {error}") from None
            self._until = time.monotonic() + max(_HANDOVER_S, self._wait_s)
            return None
        except OSError as error:
            connected.socket.close()
            if time.monotonic() > self._until:
                raise NoServer(f"the server does not answer ({error})") from None
            return None

    def go_on(self) -> None:
        """Start a server if that falls to this connector. Raises NoServer when the time is over."""
        if self._started is not None:
            self._look_after(self._started)
        elif self._lock is not None:
            # Nothing listened although nobody else can be starting one.
            self._started = start()
        else:
            self._lock = self._try_lock()
        if time.monotonic() > self._until:
            raise NoServer(f"no server answered within {self._wait_s:g} s")

    def _try_lock(self) -> int | None:
        try:
            return places.try_lock(self._address.start_lock)
        except OSError as error:
            why = (error.strerror or "unknown error").lower()
            raise NoServer(f"{self._address.start_lock} cannot be written: {why}") from None

    def _look_after(self, started: Popen[bytes]) -> None:
        code = started.poll()
        if code == 0:
            # Another server was there first, or left again at once.
            self._started = None
        elif code is not None:
            raise NoServer(f"the server ended at once with {code}; `phasekeeper doctor` says why")

    def end(self) -> None:
        if self._lock is not None:
            places.unlock(self._lock)
            self._lock = None


def wait_s() -> float:
    """Seconds to wait for a server."""
    try:
        return min(max(float(os.environ.get(WAIT, "")), 0.0), 600.0)
    except ValueError:
        return _WAIT_S


def start() -> Popen[bytes]:
    """Start a server that outlives this process, from its own interpreter and the home folder.

    Raises NoServer when that is not possible.
    """
    import subprocess

    home = os.path.expanduser("~")
    try:
        return subprocess.Popen(
            [*interpreter(), "-m", "phasekeeper", *BACKGROUND],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home if os.path.isdir(home) else os.path.abspath(os.sep),
            start_new_session=True,
            # Windows: DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP.
            creationflags=0x208 if sys.platform == "win32" else 0,
        )
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise NoServer(f"no server can be started: {why}") from None


def interpreter() -> list[str]:
    """This interpreter, isolated from the current folder and the environment.

    Where the package lies in the user's own site folder, which isolation leaves out, that one is kept.
    """
    import site

    own = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    inside = bool(own) and os.path.abspath(__file__).startswith(own + os.sep)
    return [sys.executable, *(("-E", "-P") if inside else ("-I",))]
