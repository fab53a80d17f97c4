"""A reading command that the running server carries out: what is sent to it, and the answer that is printed.

A command by itself pays 0.2 s and more for imports; the server has them, and the evaluations of the roots
that it watches. What it answers is what the command would print itself, or nothing: then the command looks
itself, as it does for every failure. Standard library only, and little of it, as all of this folder.

On the wire, after the greeting of kind `command`: the call as one frame; then frames of what is printed, in
order, and a last one with the exit code. A frame is a letter, the length in 8 hexadecimal digits, the bytes.
"""

from __future__ import annotations

import os
import sys

from ..version import VERSION
from . import address as addresses
from .handshake import Greeting, GreetingRefused, open_connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

KIND = "command"
COMMANDS = frozenset(
    ("status", "next", "gates", "questions", "escalations", "check", "explain", "history", "can")
)
"""The commands that the server carries out."""
COLD = "--cold"
"""The option by which a command looks itself."""
STDOUT, STDERR, CODE, DECLINED = b"o", b"e", b"x", b"n"
"""Letters of frames: text of a stream in UTF-8, the exit code as text, and that the server says nothing."""
HEADER = 9
MAX_CALL = 2**20
"""Bytes of a call."""
SAME = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "USERPROFILE")
"""Variables of the environment on which answers depend: the server declines a call that has others."""
_SHOWN_BY = ("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables that say how a terminal is written to."""
_GREETING_S = 2.0
_ANSWER_S = 10.0
"""A pause in an answer, or before it, after which the command looks itself."""


class CommandCall:
    """A command line, and what its output depends on besides the files.

    `folder` is the current folder and `identity` its device and inode, for a server that may see other files
    under its name; `is_terminal` and `encoding` are those of stdout; `environment` has what `SAME` and the
    variables for terminals say, with the terminal's width in COLUMNS.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: str,
        identity: str,
        is_terminal: bool,
        encoding: str,
        environment: Mapping[str, str],
    ) -> None:
        self.words = words
        self.folder = folder
        self.identity = identity
        self.is_terminal = is_terminal
        self.encoding = encoding
        self.environment = environment

    def to_bytes(self) -> bytes:
        """The call on the wire; its parts can hold every byte but NUL."""
        fixed = (self.folder, self.identity, "1" if self.is_terminal else "", self.encoding)
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        parts = (*fixed, str(len(self.words)), *self.words, *variables)
        return b"\0".join(map(os.fsencode, parts))


def parse_call(data: bytes) -> CommandCall:
    """The call of `CommandCall.to_bytes`. Raises ValueError for what is none."""
    folder, identity, terminal, encoding, count, *parts = map(os.fsdecode, data.split(b"\0"))
    words, variables = parts[: int(count)], parts[int(count) :]
    pairs = (variable.partition("=") for variable in variables)
    environment = {name: value for name, _, value in pairs}
    return CommandCall(words, folder, identity, bool(terminal), encoding, environment)


def frame(letter: bytes, content: bytes = b"") -> bytes:
    """A frame; see above."""
    return b"%b%08x%b" % (letter, len(content), content)


def frame_length(header: bytes) -> int:
    """The length that a frame's first `HEADER` bytes say. Raises ValueError."""
    return int(header[1:HEADER], 16)


class CommandAnswer:
    """The whole answer of the server: texts to print, in order, and the exit code."""

    def __init__(self, texts: Sequence[tuple[bytes, str]], code: int) -> None:
        self.texts = texts
        self.code = code

    def print_on(self, stdout: IO[str], stderr: IO[str]) -> None:
        """Print it as the command would have. Raises OSError when stdout takes nothing."""
        for letter, text in self.texts:
            if letter == STDOUT:
                stdout.write(text)
                continue
            try:
                stderr.write(text)
            except OSError:
                # Nobody can be told.
                pass
        stdout.flush()


def ask_server(words: Sequence[str]) -> CommandAnswer | None:
    """The server's answer to a command line; None when the command has to look itself."""
    if not words or words[0] not in COMMANDS or COLD in words:
        return None
    try:
        address = addresses.existing_address()
        call = _call_here(words) if address else None
        if address is None or call is None:
            return None
        sock, _ = open_connection(address, Greeting(KIND, call.folder, VERSION), _GREETING_S)
        try:
            sock.settimeout(_ANSWER_S)
            sock.sendall(frame(STDOUT, call.to_bytes()))
            return _receive_answer(sock)
        finally:
            sock.close()
    except (OSError, GreetingRefused, ValueError):
        return None


def _call_here(words: Sequence[str]) -> CommandCall | None:
    """The call of this process; None where the server could not print as this one would."""
    out = sys.stdout
    is_terminal = out.isatty()
    # A console of Windows is no matter of escape sequences alone.
    if is_terminal and sys.platform == "win32":
        return None
    environment = {name: os.environ[name] for name in (*SAME, *_SHOWN_BY) if name in os.environ}
    columns = _terminal_columns() if is_terminal else 0
    if columns and not environment.get("COLUMNS", "").isdigit():
        environment["COLUMNS"] = str(columns)
    folder = os.getcwd()
    return CommandCall(words, folder, identity_of(folder), is_terminal, out.encoding or "utf-8", environment)


def _terminal_columns() -> int:
    """The width of the terminal of the first standard stream that is one, as it is found for printing."""
    for descriptor in range(3):
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except (ValueError, OSError):
            pass
    return 80


def identity_of(folder: str) -> str:
    """What tells a folder from another of the same name elsewhere. Raises OSError."""
    status = os.stat(folder)
    return f"{status.st_dev}:{status.st_ino}"


def _receive_answer(sock: _socket.socket) -> CommandAnswer | None:
    """The answer, once all of it is there; None for one that the server declined or did not finish."""
    texts: list[tuple[bytes, str]] = []
    for letter, content in _frames(sock):
        if letter == CODE:
            return CommandAnswer(texts, int(content))
        if letter not in (STDOUT, STDERR):
            return None
        texts.append((letter, content.decode("utf-8", "surrogatepass")))
    return None


def _frames(sock: _socket.socket) -> Iterator[tuple[bytes, bytes]]:
    while header := _receive(sock, HEADER):
        yield header[:1], _receive(sock, frame_length(header))


def _receive(sock: _socket.socket, length: int) -> bytes:
    """So many bytes, or fewer at the end of the stream."""
    chunks: list[bytes] = []
    while length and (chunk := sock.recv(min(length, 1 << 20))):
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)
