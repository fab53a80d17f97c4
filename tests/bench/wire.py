"""A client of the Model Context Protocol for benches: lines of JSON, and no library that takes time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class McpClient:
    """Asks one thing at a time; notifications that come meanwhile are passed over."""

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
        self._read, self._write = read, write
        self._number = 0

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of a request."""
        self._number += 1
        self.notify(method, params, id=self._number)
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._number:
                return answer["result"]

    def notify(self, method: str, params: Any = None, **more: Any) -> None:
        """Send a message that is not answered; with `id` among `more`, a request."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}
        self._write(json.dumps(message).encode() + b"\n")

    def initialize(self) -> None:
        """The handshake."""
        self.ask("initialize", _HELLO)
        self.notify("notifications/initialized")

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})
