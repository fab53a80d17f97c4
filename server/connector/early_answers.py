"""Answers that an assistant gets before there is a server: what it waits for when it starts.

`initialize`, `server/discover` and `ping` are answered from `early_answers.json`, which holds what the server
answers (`python -m tests.server.mcp.snapshot` writes it). The server gets the same requests once it is there,
for it has to know its client; what it answers to them is dropped.
"""

from __future__ import annotations

import os

from ..version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FILE = os.path.join(os.path.dirname(__file__), "early_answers.json")
_META = "io.modelcontextprotocol/"
MOST_BYTES = 1 << 16
"""Of a line; a longer one is none of these requests."""


class EarlyAnswers:
    """The answers to what a client says first, line by line, until one is for the server to answer."""

    def __init__(self) -> None:
        self.answered: list[Any] = []
        """The ids of the requests that were answered."""
        self._line = b""
        self._has_ended = False

    def take(self, chunk: bytes) -> bytes:
        """Take what the client says; the lines to be sent to it now, mostly none."""
        if self._has_ended:
            return b""
        *lines, self._line = (self._line + chunk).split(b"\n")
        answers = b"".join(self._answer(line) for line in lines)
        self._has_ended = self._has_ended or len(self._line) > MOST_BYTES
        return answers

    def _answer(self, line: bytes) -> bytes:
        if self._has_ended or not line.strip():
            return b""
        import json

        message: Any = None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            pass
        result = early_result(message)
        if result is None:
            # What comes later is answered in order by the server; a notification asks for nothing.
            self._has_ended = not (isinstance(message, dict) and "id" not in message)
            return b""
        self.answered.append(message["id"])
        said = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def early_result(message: Any) -> dict[str, Any] | None:
    """The result of a request as the server has it; None for what only the server can answer."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    name, params = message.get("method"), message.get("params")
    if type(message.get("id")) not in (str, int) or name not in ("initialize", "server/discover", "ping"):
        return None
    if name == "ping":
        return {} if params is None else None
    import json

    with open(_FILE, encoding="utf-8") as file:
        known = json.load(file)
    if not isinstance(params, dict):
        return None
    if name == "initialize":
        return _initialize_result(known, params)
    meta = params.get("_meta")
    if not isinstance(meta, dict) or meta.get(f"{_META}protocolVersion") not in known["modern"]:
        return None
    if not all(isinstance(meta.get(_META + part), dict) for part in ("clientInfo", "clientCapabilities")):
        return None
    result = known["discover"]
    result["_meta"][f"{_META}serverInfo"]["version"] = VERSION
    return result


def _initialize_result(known: dict[str, Any], params: dict[str, Any]) -> dict[str, Any] | None:
    version, client = params.get("protocolVersion"), params.get("clientInfo")
    if not (isinstance(version, str) and isinstance(params.get("capabilities"), dict)):
        return None
    if not (isinstance(client, dict) and all(isinstance(client.get(n), str) for n in ("name", "version"))):
        return None
    result = known["initialize"]
    result["serverInfo"]["version"] = VERSION
    # The one that is asked for, else the newest.
    result["protocolVersion"] = version if version in known["handshake"] else known["handshake"][-1]
    return result


class AnswerFilter:
    """Drops from what a server says its answers to requests that were answered already."""

    def __init__(self, answered: list[Any]) -> None:
        self._ids = [*answered]
        self._line = b""

    def pass_on(self, chunk: bytes) -> bytes:
        """What of these bytes the client gets; of an unfinished line nothing yet, while answers are due."""
        if not self._ids:
            return chunk
        passed = b""
        *lines, self._line = (self._line + chunk).split(b"\n")
        for line in lines:
            if not (self._ids and self._is_answered(line)):
                passed += line + b"\n"
        return passed if self._ids else passed + self.rest()

    def rest(self) -> bytes:
        """The unfinished line."""
        line, self._line = self._line, b""
        return line

    def _is_answered(self, line: bytes) -> bool:
        import json

        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if not isinstance(message, dict) or "method" in message or message.get("id") not in self._ids:
            return False
        self._ids.remove(message["id"])
        return True
