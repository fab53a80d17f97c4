"""Bytes between the standard streams and a socket, and the exit code at the end of what the server sends.

The server's last bytes on a connection are a trailer: 0xFF, which no UTF-8 text holds, and the exit code as
one digit. A connection that ends without it was not ended by its server.

The end of the process that started this one is the end of its stdin too, whoever else still holds that pipe.
"""

from __future__ import annotations

import _socket
import _thread
import os
import time

from ..process_end import parent_end_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .early_answers import EarlyAnswers

_CHUNK = 1 << 16
_GRACE_S = 5.0
"""After the end of stdin the answers that are under way are waited for so long."""
_PARENT_POLL_S = 0.5
_ORPHAN_GRACE_S = 1.0
"""So long the server may take to end the connection of a client that is gone; nobody reads its answers."""
_TRAILER = b"\xff"


def exit_trailer(code: int) -> bytes:
    """The bytes that a server sends last on a connection that ended with this exit code (0 to 9)."""
    return b"%b%d" % (_TRAILER, code)


class StdinPump:
    """A thread that passes what the client says on to a socket as soon as there is one.

    Reading begins at once, on a thread, so that a client that ends while a server is waited for is noticed
    (`has_ended`); what does not fit into one chunk waits in the pipe.
    """

    def __init__(self, stdin: int) -> None:
        self.has_ended = False
        self._stdin = stdin
        self._socket: _socket.socket | None = None
        self._mutex = _thread.allocate_lock()
        """Holds together what follows: what was said before there was a socket, and the answers to it."""
        self._held = b""
        self._early: EarlyAnswers | None = None
        self._stdout = -1
        # Released when there is a socket.
        self._unconnected = _thread.allocate_lock()
        self._unconnected.acquire()
        _thread.start_new_thread(self._run, ())
        if has_parent_ended := parent_end_probe():
            _thread.start_new_thread(self._end_with_parent, (has_parent_ended,))

    def answer_early(self, early: EarlyAnswers, stdout: int) -> None:
        """Answer on `stdout` what can be answered before there is a socket; called once."""
        with self._mutex:
            self._early, self._stdout = early, stdout
            self._answer(self._held)

    def connect(self, sock: _socket.socket) -> list[Any]:
        """Send to this socket from now on; the ids of what was answered already. Called once."""
        with self._mutex:
            try:
                sock.sendall(self._held)
            except OSError:
                # Who reads from the socket notices that its other end is closed.
                pass
            self._socket, self._held = sock, b""
            answered = self._early.answered if self._early else []
        self._unconnected.release()
        return answered

    def _answer(self, chunk: bytes) -> None:
        """Answer early; the caller has the mutex. A client that does not read any more is gone."""
        unwritten = memoryview(self._early.take(chunk) if self._early else b"")
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._stdout, unwritten) :]
        except OSError:
            self.has_ended = True

    def _run(self) -> None:
        try:
            while chunk := self._read():
                with self._mutex:
                    sock = self._socket
                    if sock is None:
                        self._held += chunk
                        self._answer(chunk)
                if sock is not None:
                    sock.sendall(chunk)
                elif len(self._held) >= _CHUNK:
                    self._wait_for_socket()
            sock = self._wait_for_socket()
            sock.shutdown(_socket.SHUT_WR)
            time.sleep(_GRACE_S)
            sock.shutdown(_socket.SHUT_RDWR)
        except OSError:
            # The server's end is closed; who reads from it notices, too.
            pass

    def _wait_for_socket(self) -> _socket.socket:
        self._unconnected.acquire()
        self._unconnected.release()
        assert self._socket is not None
        return self._socket

    def _end_with_parent(self, has_parent_ended: Callable[[], bool]) -> None:
        """End the process soon after its parent; a pipe that others hold may block threads for ever."""
        while not has_parent_ended():
            time.sleep(_PARENT_POLL_S)
        self.has_ended = True
        if self._socket is not None:
            try:
                self._socket.shutdown(_socket.SHUT_WR)
            except OSError:
                pass
        time.sleep(_ORPHAN_GRACE_S)
        os._exit(1)

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._stdin, _CHUNK)
        except OSError:
            chunk = b""
        # Once true it stays so: what somebody else still writes is no client's.
        self.has_ended = self.has_ended or not chunk
        return b"" if self.has_ended else chunk


def drain(sock: _socket.socket, stdout: int, answered: Sequence[Any] = ()) -> int | None:
    """Write what comes from a socket to stdout until it ends; the exit code in its trailer, None without one.

    1 when nobody reads stdout any more. Answers to the requests whose ids are `answered` are left out.
    """
    trailer = b""
    early = None
    if answered:
        from .early_answers import AnswerFilter

        early = AnswerFilter([*answered])
    while True:
        try:
            chunk = sock.recv(_CHUNK)
        except OSError:
            chunk = b""
        text, mark, rest = chunk.partition(_TRAILER) if not trailer else (b"", b"", chunk)
        trailer += mark + rest
        if early:
            text = early.pass_on(text) + (b"" if chunk and not mark else early.rest())
        unwritten = memoryview(text)
        try:
            while unwritten:
                unwritten = unwritten[os.write(stdout, unwritten) :]
        except OSError:
            return 1
        if not chunk:
            return int(trailer[1:]) if trailer[1:].isdigit() else None
