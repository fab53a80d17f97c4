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
    from collections.abc import Callable

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
        # Released when there is a socket.
        self._unconnected = _thread.allocate_lock()
        self._unconnected.acquire()
        _thread.start_new_thread(self._run, ())
        if has_parent_ended := parent_end_probe():
            _thread.start_new_thread(self._end_with_parent, (has_parent_ended,))

    def connect(self, sock: _socket.socket) -> None:
        """Send to this socket from now on; called once."""
        self._socket = sock
        self._unconnected.release()

    def _run(self) -> None:
        chunk = self._read()
        self._unconnected.acquire()
        sock = self._socket
        assert sock is not None
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


def drain(sock: _socket.socket, stdout: int) -> int | None:
    """Write what comes from a socket to stdout until it ends; the exit code in its trailer, None without one.

    1 when nobody reads stdout any more.
    """
    trailer = b""
    while True:
        try:
            chunk = sock.recv(_CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            return int(trailer[1:]) if trailer[1:].isdigit() else None
        text, mark, rest = chunk.partition(_TRAILER) if not trailer else (b"", b"", chunk)
        trailer += mark + rest
        unwritten = memoryview(text)
        try:
            while unwritten:
                unwritten = unwritten[os.write(stdout, unwritten) :]
        except OSError:
            return 1
