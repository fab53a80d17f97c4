"""`phasekeeper hook CLIENT EVENT`: the hook of an assistant, answered by the running server.

An assistant starts one for each call of a tool, so a server that runs answers in one round trip, and nothing
but light modules of the standard library is imported. Without a server this process looks itself, and then
starts one for the next. Whatever goes wrong, the assistant gets an answer: what the folder's policy is.

On the wire, after the greeting of kind `hook`: one frame with client, event, folder and input; then the
frames of an answer (`command_call`).
"""

from __future__ import annotations

import os
import sys

from ..version import VERSION
from . import address as addresses
from .command_call import CODE, HEADER, STDERR, STDOUT, frame, frame_length
from .handshake import Greeting, GreetingRefused, open_connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

KIND = "hook"
MAX_INPUT = 8 * 2**20
"""Bytes of an event; a tool's input holds the whole text of a file that it writes."""
_GREETING_S = 1.0
_ANSWER_S = 4.0
"""After both there is time left to look at the files itself, of the thirty seconds that a hook has."""
_BLOCK = 2
"""The exit code that keeps every client from going on; its reason is on stderr."""


def run_hook(client: str, event: str) -> int:
    """Answer one event from stdin; the exit code. Never raises, but for what ends this process."""
    folder = addresses.current_folder()
    try:
        sent = sys.stdin.buffer.read(MAX_INPUT + 1)
        answer = _ask_server(client, event, folder, sent)
        is_alone = answer is None
        stdout, stderr, code = answer if answer is not None else _look(client, event, folder, sent)
        os.write(1, stdout) if stdout else None
        os.write(2, stderr) if stderr else None
        if is_alone:
            _start_server()
        return code
    except Exception as error:
        why = f"phasekeeper: this hook could not be answered: {type(error).__name__}: {error}\n"
        os.write(2, why.encode(errors="replace"))
        return _BLOCK if fails_closed(folder) else 0


def _ask_server(client: str, event: str, folder: str, sent: bytes) -> tuple[bytes, bytes, int] | None:
    """The answer of the running server; None where there is none, or it has not answered in time."""
    try:
        address = addresses.existing_address()
        if address is None:
            return None
        sock, _ = open_connection(address, Greeting(KIND, folder, VERSION), _GREETING_S)
        try:
            sock.settimeout(_ANSWER_S)
            words = (client.encode(), event.encode(errors="replace"), os.fsencode(folder))
            sock.sendall(frame(STDOUT, b"\0".join((*words, sent))))
            return _receive(sock)
        finally:
            sock.close()
    except (OSError, GreetingRefused, ValueError):
        return None


def _receive(sock: _socket.socket) -> tuple[bytes, bytes, int] | None:
    """(stdout, stderr, exit code) of an answer that is whole, else None."""
    data = b""
    while part := sock.recv(1 << 16):
        data += part
    texts = {STDOUT: b"", STDERR: b""}
    while len(data) >= HEADER:
        letter, end = data[:1], HEADER + frame_length(data[:HEADER])
        if letter == CODE:
            return texts[STDOUT], texts[STDERR], int(data[HEADER:end])
        texts[letter] = texts.get(letter, b"") + data[HEADER:end]
        data = data[end:]
    return None


def _look(client: str, event: str, folder: str, sent: bytes) -> tuple[bytes, bytes, int]:
    """The answer of this process. By name: what it needs is imported where no server has it."""
    from importlib import import_module

    output = import_module("..fence.hook_answer", __package__).answer_bytes(client, event, folder, sent)
    return output.stdout.encode(), output.stderr.encode(errors="replace"), output.code


def _start_server() -> None:
    """Have a server there for the next hook; whoever else starts one at this moment is enough."""
    from .connector import start_server

    try:
        lock = addresses.try_lock(addresses.find_address().start_lock)
    except (OSError, addresses.UnusableFolder):
        return
    if lock is not None:
        start_server()
        os.close(lock)


def fails_closed(folder: str) -> bool:
    """True if a configuration around the folder says that its guard fails closed, by its text alone."""
    import re

    while True:
        try:
            with open(os.path.join(folder, ".phasekeeper", "config.yaml"), "rb") as file:
                if re.search(rb"""\bfail["']?\s*:\s*["']?closed""", file.read(1 << 20)):
                    return True
        except OSError:
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
