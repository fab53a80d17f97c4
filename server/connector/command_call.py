"""A command that the running server carries out: what is sent to it, and the answer that is printed.

A command by itself pays 0.2 s and more for imports; the server has them, and the evaluations of the roots
that it watches. What it answers is what the command would print itself, or nothing: then the command does it
itself, as it does after every failure. Standard library only, and little of it, as all of this folder.

On the wire, after the greeting of kind `command`: the call as one frame; then frames of what is printed, in
order, and a last one with the exit code. A frame is a letter, the length in 8 hexadecimal digits, the bytes.

A command that writes is carried out once. Before anything of its answer the server offers to do it and says
which folders and files it is about; nothing is written yet. The command looks whether these are the same for
it, and says `BEGIN`. From then on it never does it itself; without an answer its outcome is unknown.
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
READING = frozenset(
    ("status", "next", "gates", "questions", "escalations", "check", "explain", "history", "can")
)
WRITING = frozenset(("start", "report", "escalate", "redo", "claim", "release"))
"""Never a decision: a person makes those on the terminal of the command's own process."""
COMMANDS = READING | WRITING
"""The commands that the server carries out."""
COLD = "--cold"
"""The option by which a command asks no server."""
STDOUT, STDERR, CODE, DECLINED = b"o", b"e", b"x", b"n"
"""Letters of frames: text of a stream in UTF-8, the exit code as text, and that the server says nothing."""
OFFER, PROGRESS = b"a", b"p"
"""Letters of frames: an `Offer`; what is printed on stderr while a command goes on."""
BEGIN = b"!"
"""What a command says to an offer, as one byte."""
UNKNOWN_OUTCOME, INTERRUPTED = 4, 130
"""Exit codes without an answer to a command that may have been carried out."""
HEADER = 9
MAX_CALL = 2**20
"""Bytes of a call."""
SAME = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "USERPROFILE", "TZ")
"""Variables of the environment on which answers depend: the server declines a call that has others."""
SAME_FOR_WRITING = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "LOGNAME",
    "USER",
    "LNAME",
    "USERNAME",
)
"""Those that say who writes."""
PATH = "PATH"
"""The variable by which git is found, which says who writes."""
_SHOWN_BY = ("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables that say how a terminal is written to."""
_GREETING_S = 2.0
_ANSWER_S = 10.0
"""A pause in an answer, or before it, after which the command looks itself."""
_WRITE_S = 90.0
"""A pause after which nothing is known of a command that has begun: a writer waits for up to 60 s for its
turn and 10 s for the lock."""


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
        umask: str,
        environment: Mapping[str, str],
    ) -> None:
        self.words = words
        self.folder = folder
        self.identity = identity
        self.is_terminal = is_terminal
        self.encoding = encoding
        self.umask = umask
        self.environment = environment

    def to_bytes(self) -> bytes:
        """The call on the wire; its parts can hold every byte but NUL."""
        fixed = (self.folder, self.identity, "1" if self.is_terminal else "", self.encoding, self.umask)
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        parts = (*fixed, str(len(self.words)), *self.words, *variables)
        return b"\0".join(map(os.fsencode, parts))


def parse_call(data: bytes) -> CommandCall:
    """The call of `CommandCall.to_bytes`. Raises ValueError for what is none."""
    folder, identity, terminal, encoding, umask, count, *parts = map(os.fsdecode, data.split(b"\0"))
    words, variables = parts[: int(count)], parts[int(count) :]
    pairs = (variable.partition("=") for variable in variables)
    environment = {name: value for name, _, value in pairs}
    return CommandCall(words, folder, identity, bool(terminal), encoding, umask, environment)


class Offer:
    """What the server says before it writes.

    `look` is how a person finds out what became of it; `places` are the absolute paths of the folders that it
    writes in and of the files that it has read for it, with what they are to the server (`identity_of`).
    """

    def __init__(self, look: str, places: Sequence[tuple[str, str]]) -> None:
        self.look = look
        self.places = places

    def to_bytes(self) -> bytes:
        parts = (self.look, *(part for place in self.places for part in place))
        return b"\0".join(map(os.fsencode, parts))

    def is_same_here(self) -> bool:
        """True if this process, too, has these folders and files, and may write in the folders."""
        for path, identity in self.places:
            wanted = os.W_OK if os.path.isdir(path) else os.R_OK
            if identity_of(path) != identity or not os.access(path, wanted):
                return False
        return True


def parse_offer(data: bytes) -> Offer:
    """The offer of `Offer.to_bytes`. Raises ValueError for what is none."""
    look, *parts = map(os.fsdecode, data.split(b"\0"))
    return Offer(look, list(zip(parts[::2], parts[1::2], strict=True)))


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
    """The server's answer to a command line; None when the command has to do it itself.

    Of a command that writes and began in the server the answer may be that its outcome is unknown.
    """
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
            if words[0] in READING:
                return _receive_answer(sock)
            offer = _receive_offer(sock)
            if offer is None or not offer.is_same_here():
                return None
            # One that cannot be sent does not begin it.
            sock.sendall(BEGIN)
            return _receive_outcome(sock, offer)
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
    names = (*SAME, *SAME_FOR_WRITING, PATH, *_SHOWN_BY)
    environment = {name: os.environ[name] for name in names if name in os.environ}
    columns = _terminal_columns() if is_terminal else 0
    if columns and not environment.get("COLUMNS", "").isdigit():
        environment["COLUMNS"] = str(columns)
    folder = os.getcwd()
    encoding = out.encoding or "utf-8"
    return CommandCall(words, folder, identity_of(folder), is_terminal, encoding, umask_here(), environment)


def _terminal_columns() -> int:
    """The width of the terminal of the first standard stream that is one, as it is found for printing."""
    for descriptor in range(3):
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except (ValueError, OSError):
            pass
    return 80


def identity_of(path: str) -> str:
    """What tells a folder or file from another of the same name elsewhere. Raises OSError."""
    status = os.stat(path)
    return f"{status.st_dev}:{status.st_ino}"


def umask_here() -> str:
    """The umask of this process; for a moment it is a stricter one, as there is no other way to ask."""
    umask = os.umask(0o077)
    os.umask(umask)
    return f"{umask:o}"


def _receive_offer(sock: _socket.socket) -> Offer | None:
    """The offer to carry out a command; None where the server declined."""
    letter, content = next(_frames(sock), (DECLINED, b""))
    return parse_offer(content) if letter == OFFER else None


def _receive_outcome(sock: _socket.socket, offer: Offer) -> CommandAnswer:
    """The answer to a command that has begun, or that its outcome is unknown. Raises nothing."""
    code, lost = UNKNOWN_OUTCOME, "the server was lost while it carried this out"
    try:
        sock.settimeout(_WRITE_S)
        answer = _receive_answer(sock)
        if answer is not None:
            return answer
    except KeyboardInterrupt:
        code, lost = INTERRUPTED, "interrupted while the server carried this out"
    except (OSError, ValueError):
        pass
    said = f"phasekeeper: {lost}; whether it is done is not known. {offer.look}\n"
    return CommandAnswer([(STDERR, said)], code)


def _receive_answer(sock: _socket.socket) -> CommandAnswer | None:
    """The answer, once all of it is there; None for one that the server declined or did not finish.

    What a command says while it goes on is printed at once.
    """
    texts: list[tuple[bytes, str]] = []
    for letter, content in _frames(sock):
        if letter == CODE:
            return CommandAnswer(texts, int(content))
        if letter == PROGRESS:
            _print_progress(content)
            continue
        if letter not in (STDOUT, STDERR):
            return None
        texts.append((letter, content.decode("utf-8", "surrogatepass")))
    return None


def _print_progress(content: bytes) -> None:
    try:
        sys.stderr.write(content.decode("utf-8", "surrogatepass"))
        sys.stderr.flush()
    except OSError:
        # Nobody can be told.
        pass


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
