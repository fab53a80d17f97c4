"""Bytes between the standard streams and a socket, and the exit code at the end of what the server sends.

The server's last bytes on a connection are a trailer: 0xFF, which no UTF-8 text holds, and the exit code as
one digit. A connection that ends without it was not ended by its server.
"""

from __future__ import annotations

import _socket
import _thread
import os
import time

_CHUNK = 1 << 16
_GRACE_S = 5.0
"""After the end of stdin the answers that are under way are waited for so long."""
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

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._stdin, _CHUNK)
        except OSError:
            chunk = b""
        self.has_ended = not chunk
        return chunk


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
