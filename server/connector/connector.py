"""`phasekeeper lsp` and `phasekeeper mcp`: bytes between the standard streams and the server of this user.

The server is started when there is none. Editors and assistants start many of these, so nothing but light
modules of the standard library is imported, unless the connection has to run standalone.
"""

from __future__ import annotations

import os
import sys
import time

from ..version import VERSION
from . import address as addresses
from .address import ServerAddress, UnusableFolder, find_address
from .handshake import RESTART, Greeting, GreetingRefused, open_connection
from .pump import StdinPump, drain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Sequence

    ExitCode = Callable[[], int | None]

KINDS = ("lsp", "mcp")
STANDALONE = "--standalone"
BACKGROUND = ["serve", "--background"]
"""The command of a server that nobody looks at."""
_OPEN_FILES = "/dev/fd"
_CAN_SPAWN = sys.platform == "linux" and os.path.isdir(_OPEN_FILES)
# What LSP clients add to the command they start; streams are all there is here.
_IGNORED = ("--stdio",)
MISSING_PACKAGE = 5
"""The exit code where a package is not installed that a command or a front end needs."""
WAIT = "PHASEKEEPER_WAIT_S"
"""Environment: seconds to wait for a server, for machines that are slower than most."""
_WAIT_S = 2.0
_ANSWER_S = 10.0
"""A server that listens may still be busy starting."""
_HANDOVER_S = 15.0
"""An older server that makes way finishes what it writes first."""
_POLL_S = 0.02


class NoServer(Exception):  # noqa: N818 - a reason, shown to people
    """No server can be reached or started; the text says why."""


class ClientGone(Exception):  # noqa: N818
    """The client ended before there was a server."""


def is_connector_call(words: Sequence[str]) -> bool:
    """True if a command line is a connector's and in no need of being parsed further."""
    return bool(words) and words[0] in KINDS and set(words[1:]) <= {STANDALONE, *_IGNORED}


def run_connector(kind: str, standalone: bool) -> int:
    """Serve one client on the standard streams until it or the server ends; the exit code.

    That is what the server's front end ended with; 1 when the server is gone, 0 when the client went first.
    """
    stdin, stdout = _take_over_stdio()
    pump = StdinPump(stdin)
    if not standalone:
        greeting = Greeting(kind, addresses.current_folder(), VERSION)

        def on_wait() -> None:
            if kind == "mcp":
                from .early_answers import EarlyAnswers

                pump.answer_early(EarlyAnswers(), stdout)

        try:
            sock = join(find_address(), greeting, lambda: pump.has_ended, on_wait)
        except ClientGone:
            return 0
        except (NoServer, UnusableFolder) as error:
            _warn(f"{error}; this connection runs by itself")
        else:
            code = drain(sock, stdout, pump.connect(sock))
            if code is None and not pump.has_ended:
                _warn("the server ended; start this again")
                return 1
            if code == MISSING_PACKAGE:
                _warn(f"the server lacks a package that {kind} needs; `phasekeeper doctor` names it")
            return code or 0
    # By name: the server imports this package, and a connector seldom needs the server.
    from importlib import import_module

    return import_module("..hub.entry_points", __package__).run_standalone(kind, pump, stdout)


def _take_over_stdio() -> tuple[int, int]:
    """The streams for the protocol alone: what else reads gets nothing, what prints goes to stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (stdin, stdout):
            msvcrt.setmode(descriptor, os.O_BINARY)
    return stdin, stdout


def _warn(text: str) -> None:
    try:
        os.write(2, f"phasekeeper: {text}\n".encode(errors="replace"))
    except OSError:
        pass


# ---- joining or starting -----------------------------------------------------------------------


def join(
    address: ServerAddress,
    greeting: Greeting,
    is_client_gone: Callable[[], bool],
    on_wait: Callable[[], None] = lambda: None,
) -> _socket.socket:
    """A greeted connection to the server, started if there is none.

    One of several connectors at a time starts it, under a lock that its death would free. `on_wait` is called
    once when it is not there at once. Raises NoServer after the time there is, ClientGone when
    `is_client_gone()`.
    """
    limit_s = wait_s()
    until = time.monotonic() + limit_s
    lock: int | None = None
    exit_code: ExitCode | None = None
    is_waiting = False
    try:
        while True:
            try:
                return open_connection(address, greeting, max(_ANSWER_S, limit_s))[0]
            except OSError as error:
                failure = error
            except GreetingRefused as error:
                if str(error) != RESTART:
                    raise NoServer(f"the server refused: {error}") from None
                failure = error
                until = time.monotonic() + max(_HANDOVER_S, limit_s)
            if not is_waiting:
                is_waiting = True
                on_wait()
            if is_client_gone():
                raise ClientGone
            if exit_code is not None:
                if code := exit_code():
                    raise NoServer(f"the server ended at once with {code}; `phasekeeper doctor` says why")
                # 0: another server was there first, or left again at once.
                exit_code = exit_code if code is None else None
            elif lock is not None:
                # Nothing listens although nobody else can be starting one.
                exit_code = start_server()
            else:
                try:
                    lock = addresses.try_lock(address.start_lock)
                except OSError as error:
                    raise NoServer(
                        f"{address.start_lock} cannot be written: {addresses.reason(error)}"
                    ) from None
            if time.monotonic() > until:
                raise NoServer(f"no server answered within {limit_s:g} s ({failure})")
            time.sleep(_POLL_S)
    finally:
        if lock is not None:
            os.close(lock)


def wait_s() -> float:
    """Seconds to wait for a server, from the environment; between 0 and 600."""
    return addresses.seconds_from(WAIT, _WAIT_S, 0.0, 600.0)


def start_server() -> ExitCode:
    """Start a server that outlives this process, from its own interpreter; its exit code, None while it runs.

    Raises NoServer when that is not possible.
    """
    words = [*interpreter(), "-m", "phasekeeper", *BACKGROUND]
    try:
        return _spawn(words) if _CAN_SPAWN else _open_process(words)
    except OSError as error:
        raise NoServer(f"no server can be started: {addresses.reason(error)}") from None


def _spawn(words: list[str]) -> ExitCode:
    """Start a process in a session of its own. `subprocess` would stay in memory as long as the connector."""
    null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    # What the client left open would stay open as long as the server runs.
    rest = [
        (os.POSIX_SPAWN_CLOSE, number)
        for number in map(int, os.listdir(_OPEN_FILES))
        if _is_passed_on(number)
    ]
    process = os.posix_spawn(words[0], words, os.environ, file_actions=[*null, *rest], setsid=True)

    def exit_code() -> int | None:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            # Whoever started this process has the system forget its children.
            return 0
        return os.waitstatus_to_exitcode(status) if ended else None

    return exit_code


def _is_passed_on(number: int) -> bool:
    try:
        return number > 2 and os.get_inheritable(number)
    except OSError:
        return False


def _open_process(words: list[str]) -> ExitCode:
    import subprocess

    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # Windows: DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP.
        creationflags=0x208 if sys.platform == "win32" else 0,
    ).poll


def interpreter() -> list[str]:
    """This interpreter, isolated from the current folder and the environment.

    Where the package lies in the user's own site folder, which isolation leaves out, that one is kept.
    """
    import site

    own = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    is_in_own = bool(own) and os.path.abspath(__file__).startswith(own + os.sep)
    return [sys.executable, *(("-E", "-P") if is_in_own else ("-I",))]
