"""A model on loopback that answers what a script says, over whichever wire it is asked."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.assistants_live.wires import CHAT, WIRES, Asked, Move, Say, Wire, blank

Answering = Callable[[Asked], Move]


class Model(ThreadingHTTPServer):
    """`answering` is asked for every request that offers tools; all of them are written down in `log`."""

    daemon_threads = True

    def __init__(self, answering: Answering, log: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.answering, self.log = answering, log
        self.faults: list[str] = []
        self._number, self._lock = 0, threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, wire: Wire, body: Any) -> list[dict[str, Any]]:
        """The events of the answer. Requests without tools, for a title or a judgement, get the least."""
        with self._lock:
            self._number += 1
            try:
                asked = wire.read(body)
                least = json.dumps(blank(asked.form)) if asked.form else "ok"
                move = self.answering(asked) if asked.tools else Say(least)
            except Exception as error:
                # It is told in the end; the assistant is told to end now.
                self.faults.append(f"{type(error).__name__}: {error}")
                move = Say("The script has no answer.")
            line = {"number": self._number, "request": body, "answer": [type(move).__name__, *move]}
            with self.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line, ensure_ascii=False) + "\n")
            return wire.write(move, self._number)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model  # pyright: ignore[reportIncompatibleVariableOverride] - it is the one that makes requests

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        if self.path.partition("?")[0].endswith("/models"):
            return self._json({"data": [], "models": []})
        return self._json({"error": {"message": "there is no such path"}}, 404)

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path, _, query = self.path.partition("?")
        if path.endswith(("/count_tokens", ":countTokens")):
            return self._json({"input_tokens": 1, "totalTokens": 1})
        wire = next((wire for wire in WIRES if path.lower().endswith(wire.ending)), None)
        if wire is None:
            return self._json({"error": {"message": "there is no such path"}}, 404)
        events = self.server.answer(wire, body)
        if not wire.named and "alt=sse" not in query and not body.get("stream"):
            return self._json(events[0])
        said = "".join(_event(event, wire.named) for event in events)
        if wire is CHAT:
            said += "data: [DONE]\n\n"
        return self._send(200, "text/event-stream", said.encode())

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _event(event: dict[str, Any], named: bool) -> str:
    return (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"


@contextmanager
def serving(answering: Answering, log: Path) -> Iterator[Model]:
    model = Model(answering, log)
    thread = threading.Thread(target=model.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        thread.join()
