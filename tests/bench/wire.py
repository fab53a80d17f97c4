"""A client of the assistants' protocol, without a library between it and the clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Raw:
    """A client of lines, without a library between it and the clock."""

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
        self._read, self._write = read, write
        self._number = 0

    def ask(self, method: str, params: Any = None) -> Any:
        self._number += 1
        self.say(method, params, id=self._number)
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._number:
                return answer["result"]

    def say(self, method: str, params: Any = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}
        self._write(json.dumps(message).encode() + b"\n")

    def initialize(self) -> None:
        self.ask("initialize", _HELLO)
        self.say("notifications/initialized")

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})
