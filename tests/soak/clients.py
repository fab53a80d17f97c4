"""Clients as processes that write to runs: assistants (MCP), editors (LSP) and command lines.

Each asks for one write at a time and waits for its answer, no longer than bounded. Any of them may be killed
at any moment, and so may the server that it speaks with.
"""

from __future__ import annotations

import json
import random
import selectors
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from phasekeeper.server.cli.output import NOT_SHOWN, OK, WAITING

from tests.server.servers import BOUND_S, frame
from tests.soak.model import Answer, Attempt

STEP, OUTCOME = "do", "ok"
UNKNOWN_OUTCOME = "is in it is not known"
"""What a refusal says that may have been recorded all the same."""


class Gone(Exception):  # noqa: N818 - a process that was killed, which is no error here
    """The process at the other end of a pipe has ended."""


class Launcher(Protocol):
    """Starts a command of ours whose stderr is kept, and registers it among those that may be killed."""

    def start(
        self, *words: str, cwd: Path, stdin: int, stdout: int, tracer: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]: ...

    def forget(self, process: subprocess.Popen[bytes]) -> None: ...


class CommandLine:
    """A person or script that starts a command for each report, under a `tracer` if there is one.

    It writes through the server where one runs; with `--cold`, and under a tracer, whose faults are meant for
    it, by itself.
    """

    def __init__(
        self, launcher: Launcher, root: Path, options: tuple[str, ...] = (), tracer: tuple[str, ...] = ()
    ) -> None:
        self._launcher, self._root, self._options, self._tracer = launcher, root, options, tracer

    def connect(self) -> None:
        """There is nothing to connect to, nor to close, between two commands."""

    close = connect

    def write(self, attempt: Attempt) -> tuple[Answer, str]:
        words = ("redo", attempt.run, STEP)
        if not attempt.is_redo:
            words = ("report", attempt.run, STEP, OUTCOME, "--summary", attempt.message)
        code, said = self.run(*words, *self._options)
        if code in (OK, WAITING):
            return Answer.ACKNOWLEDGED, said
        if code < 0 or code == NOT_SHOWN:
            return Answer.UNKNOWN, said
        return Answer.REFUSED, f"exit code {code}"

    def run(self, *words: str) -> tuple[int, str]:
        """(the exit code, what was printed) of a command."""
        null, pipe = subprocess.DEVNULL, subprocess.PIPE
        words = (*words, "--cold") if self._tracer else words
        process = self._launcher.start(*words, cwd=self._root, stdin=null, stdout=pipe, tracer=self._tracer)
        try:
            said = process.communicate(timeout=BOUND_S)[0].decode()
        finally:
            process.kill()
            self._launcher.forget(process)
        return process.returncode, said


class _Connector:
    """A connector's process, and the messages that come from it."""

    def __init__(self, launcher: Launcher, root: Path, words: tuple[str, ...]) -> None:
        pipe = subprocess.PIPE
        self._launcher, self.root = launcher, root
        self.process = launcher.start(*words, cwd=root, stdin=pipe, stdout=pipe)
        self._buffer, self._number = b"", 0
        self._readable = selectors.DefaultSelector()
        self._readable.register(self._stdout, selectors.EVENT_READ)

    @property
    def _stdout(self) -> Any:
        return self.process.stdout

    def close(self) -> None:
        """End it as a client does: by the end of its input."""
        try:
            stdin: Any = self.process.stdin
            with suppress(OSError):
                stdin.close()
            self.process.wait(BOUND_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._launcher.forget(self.process)
            self._readable.close()
            self._stdout.close()

    def send(self, raw: bytes) -> None:
        try:
            stdin: Any = self.process.stdin
            stdin.write(raw)
            stdin.flush()
        except OSError:
            raise Gone from None

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def read_line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._fill()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._fill()
        content, self._buffer = self._buffer[:length], self._buffer[length:]
        return content

    def _fill(self) -> None:
        if not self._readable.select(BOUND_S):
            raise TimeoutError(f"no answer within {BOUND_S:g} s from process {self.process.pid}")
        chunk = self._stdout.read1(1 << 16)
        if not chunk:
            raise Gone
        self._buffer += chunk


class Assistant(_Connector):
    """A coding assistant: reports by a tool of MCP. With `--standalone` its own process writes."""

    def __init__(self, launcher: Launcher, root: Path, options: tuple[str, ...]) -> None:
        super().__init__(launcher, root, ("mcp", *options))

    def connect(self) -> None:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self._request("initialize", {**hello, "clientInfo": {"name": "soak", "version": "1"}})
        self._send(method="notifications/initialized")

    def look(self) -> None:
        """Have the server open the root, and keep it open as long as this is connected."""
        self.call("status")

    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """The message that answers a call of a tool."""
        return self._request("tools/call", {"name": tool, "arguments": {"root": str(self.root), **arguments}})

    def write(self, attempt: Attempt) -> tuple[Answer, str]:
        said = self.call("report", run=attempt.run, step=STEP, outcome=OUTCOME, summary=attempt.message)
        text = json.dumps(said)
        if "result" in said and not said["result"].get("isError"):
            return Answer.ACKNOWLEDGED, text
        return (Answer.UNKNOWN if UNKNOWN_OUTCOME in text else Answer.REFUSED), text

    def _send(self, **message: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        number = self.next_number()
        self._send(id=number, method=method, params=params)
        while True:
            said = json.loads(self.read_line())
            if said.get("id") == number and "method" not in said:
                return said


class Editor(_Connector):
    """An editor whose person has a phase done again, and types into a file that is never saved."""

    def __init__(self, launcher: Launcher, root: Path, options: tuple[str, ...]) -> None:
        super().__init__(launcher, root, ("lsp", *options))
        self._versions = 0

    def connect(self) -> None:
        params = {"rootUri": self.root.as_uri(), "capabilities": {}}
        params["initializationOptions"] = {"trusted": True}
        self._request("initialize", params)
        self.send(frame(method="initialized", params={}))

    def write(self, attempt: Attempt) -> tuple[Answer, str]:
        self._type(self.root / attempt.run / "RUN.md")
        about = {"root": str(self.root), "run": attempt.run, "phase": STEP}
        asked = {"command": "phasekeeper.redo", "arguments": [about]}
        text = " ".join(self._request("workspace/executeCommand", asked))
        if "to be done again" in text:
            return Answer.ACKNOWLEDGED, text
        return (Answer.UNKNOWN if UNKNOWN_OUTCOME in text else Answer.REFUSED), text

    def _type(self, file: Path) -> None:
        self._versions += 1
        uri, text = file.as_uri(), f"# One\n{'typed ' * self._versions}"
        if self._versions == 1:
            item = {"uri": uri, "languageId": "markdown", "version": 1, "text": text}
            self.send(frame(method="textDocument/didOpen", params={"textDocument": item}))
            return
        item = {"uri": uri, "version": self._versions}
        changes = {"textDocument": item, "contentChanges": [{"text": text}]}
        self.send(frame(method="textDocument/didChange", params=changes))

    def _request(self, method: str, params: Mapping[str, Any]) -> list[str]:
        """What a person was shown until the answer came, and an error that was answered."""
        number, shown = self.next_number(), list[str]()
        self.send(frame(id=number, method=method, params=params))
        while True:
            said = self._message()
            if said.get("method") == "window/showMessage":
                shown.append(said["params"]["message"])
            elif "method" in said and "id" in said:
                self.send(frame(id=said["id"], result=None))
            elif said.get("id") == number:
                return [*shown, *([json.dumps(said["error"])] if "error" in said else [])]

    def _message(self) -> Mapping[str, Any]:
        length = 0
        while header := self.read_line().strip():
            name, _, value = header.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return json.loads(self.read(length))


KINDS = (Assistant, Assistant, Editor, CommandLine)
"""Kinds of clients; assistants are the most."""
ALONE = 0.3
"""Of all clients; these are not served by the server."""


@contextmanager
def client_of(chance: random.Random, launcher: Launcher, root: Path) -> Iterator[Any]:
    """A client of some kind, in the server or by itself. Raises Gone when it is killed at its start."""
    kind = chance.choice(KINDS)
    by_itself = "--cold" if kind is CommandLine else "--standalone"
    client = kind(launcher, root, (by_itself,) if chance.random() < ALONE else ())
    try:
        client.connect()
        yield client
    finally:
        client.close()
