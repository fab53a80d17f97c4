"""The wire: messages of one connection read, checked and answered. What they mean is `connection.py`'s.

pygls knows the messages of the protocol and runs the functions that answer them. What it does with the
process is replaced here: `exit` ends the connection and not the hub; no traceback leaves; garbage, a request
before `initialize` or after `shutdown`, and a message that is too long get the error that the protocol asks
for. Texts are kept by `lsp/view/documents.py`: pygls' own counts a form feed as the end of a line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    LanguageServerProtocol,
    default_converter,
)
from pygls.protocol.language_server import lsp_method

from ...json_chunks import dumped

MOST_BYTES = 64 * 2**20
"""Of one message. A longer one ends the connection: nothing behind it could be found again."""
MOST_HEADERS = 20
INVALID_REQUEST, NOT_INITIALIZED, REQUEST_FAILED = -32600, -32002, -32803
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*", re.IGNORECASE)
_HEADER = re.compile(rb"[!-9;-~]+:[ -~\t]*")
_log = logging.getLogger(__name__)


class Refusal(JsonRpcException):
    """What was asked for cannot be done; the client is told why in one sentence."""

    def __init__(self, said: str, code: int = REQUEST_FAILED) -> None:
        super().__init__(said, code)


@dataclass(frozen=True, slots=True)
class Written:
    """JSON that a thread has written, as an answer or as parameters. It may be megabytes."""

    json: bytearray


def written(make: Callable[..., Any], *given: Any) -> Written:
    """The JSON of what `make` gives."""
    return Written(dumped(make(*given)))


class Protocol(LanguageServerProtocol):
    """pygls' protocol, for one connection of many in a process."""

    done = False

    def get_message_type(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, method: str
    ) -> type[Any] | None:
        """The type of a method's messages. pygls' own keeps connections that are over, in a cache."""
        return lsp.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, method: str
    ) -> type[Any] | None:
        """The type of a method's answer, as `get_message_type`."""
        return lsp.METHOD_TO_TYPES.get(method, (None, None))[1]

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *_: Any) -> Generator[Any, Any, None]:
        """The editor goes: its connection ends, the process does not."""
        self.done = True
        yield from ()

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    def send_note(self, method: str, params: Written) -> None:
        """Send a notification whose parameters are JSON already."""
        self._send_written(f'"method": {json.dumps(method)}, "params": ', params)

    def _send_response(
        self, msg_id: Any, result: Any | None = None, error: lsp.ResponseError | None = None
    ) -> None:
        if error is not None or not isinstance(result, Written):
            super()._send_response(msg_id, result, error)
            return
        self._result_types.pop(msg_id, None)
        self._send_written(f'"id": {json.dumps(msg_id)}, "result": ', result)

    def _send_written(self, members: str, last: Written) -> None:
        """Send what is JSON already: pygls would look into every part of it for types, on the loop."""
        begin, end = f'{{"jsonrpc": "2.0", {members}'.encode(), b"}"
        length = len(begin) + len(last.json) + len(end)
        kind = f"{self.CONTENT_TYPE}; charset={self.CHARSET}"
        if self.writer is not None:
            head = f"Content-Length: {length}\r\nContent-Type: {kind}\r\n\r\n".encode()
            # Not put together first: it may be megabytes. A stream takes any kind of bytes.
            for part in (head + begin, cast(bytes, last.json), end):
                self.writer.write(part)

    def answer_error(self, msg_id: Any, code: int, said: str) -> None:
        """Answer a request, or what may have been one, with an error."""
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": {"code": code, "message": said}})

    @property
    def ending(self) -> bool:
        """Whether the editor has asked for the end; then it may only say `exit`."""
        return self._shutdown


class Server(LanguageServer):
    """pygls' server object of one connection. Errors that it would show are logged, once."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        if not isinstance(error, JsonRpcException) or error.code == INTERNAL_ERROR:
            _log.error("a message could not be handled: %s", error)


@cache
def _converter() -> Any:
    """One converter for all connections: making one costs more than all the rest of a connection.

    Parameters of messages that the protocol does not know stay plain data; pygls' own form loses keys.
    """
    converter = default_converter()
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda o, cls: cls(id=o["id"], method=o["method"], jsonrpc="2.0", params=o.get("params")),
    )
    converter.register_structure_hook(
        JsonRPCNotification, lambda o, cls: cls(method=o["method"], jsonrpc="2.0", params=o.get("params"))
    )
    return converter


def new_server(version: str) -> Server:
    # pygls logs each failing request a second time, with its traceback.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    return Server(
        "phasekeeper",
        version,
        text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
        protocol_cls=Protocol,
        converter_factory=_converter,
    )


class Outlet:
    """Where pygls writes to. What is said after the editor went is dropped."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes | bytearray) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        self._writer.close()

    async def drain(self) -> None:
        """Wait until the editor has taken most of what was written."""
        try:
            await self._writer.drain()
        except OSError:
            self._writer.close()


async def read_messages(reader: asyncio.StreamReader, protocol: Protocol) -> None:
    """Handle messages until the editor says `exit`, goes, or sends what is no message."""
    try:
        while not protocol.done and (body := await _body(reader)) is not None:
            _handle(body, protocol)
    except _Garbage as error:
        _log.warning("a connection is ended: %s", error)
        protocol.answer_error(None, PARSE_ERROR, str(error))


class _Garbage(Exception):  # noqa: N818 - said to people as it is
    """What came is no message; the text says why."""


async def _body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message's body; None at the end. Raises _Garbage for a header that is none."""
    try:
        length = await _length(reader)
        return None if length is None else await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return None


async def _length(reader: asyncio.StreamReader) -> int | None:
    """What the next header says of its message's length; None at the end."""
    length: int | None = None
    for _ in range(MOST_HEADERS):
        try:
            line = await reader.readline()
        except ValueError:
            raise _Garbage("a header line is too long") from None
        if not line:
            return None
        if not line.strip():
            break
        if not _HEADER.fullmatch(line.rstrip()):
            raise _Garbage("a message begins with a Content-Length header")
        if match := _LENGTH.fullmatch(line.rstrip()):
            length = int(match[1])
    if length is None:
        raise _Garbage("a message begins with a Content-Length header")
    if length > MOST_BYTES:
        raise _Garbage(f"a message has {length} bytes, at most {MOST_BYTES} are read")
    return length


def _handle(body: bytes, protocol: Protocol) -> None:
    """Have one message handled; an error in it is answered and ends nothing."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        protocol.answer_error(None, PARSE_ERROR, "the message is no JSON")
        return
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        protocol.answer_error(None, INVALID_REQUEST, "a message is an object with jsonrpc 2.0")
        return
    refused = _out_of_turn(data, protocol)
    if refused:
        _refuse(data, protocol, *refused)
        return
    try:
        message: Any = protocol.structure_message(data)
        protocol.handle_message(message)
    except JsonRpcInvalidParams:
        _refuse(
            data, protocol, JsonRpcInvalidParams.CODE, f"{data.get('method')}: its parameters cannot be read"
        )
    except Exception as error:
        _log.error("the message %r could not be handled: %r", data.get("method"), error)
        _refuse(data, protocol, INTERNAL_ERROR, "the message could not be handled")


def _out_of_turn(data: dict[str, Any], protocol: Protocol) -> tuple[int, str] | None:
    """Why a message may not come now: (code, sentence)."""
    method = data.get("method")
    if method is None:
        return None
    if not isinstance(method, str):
        return INVALID_REQUEST, "the name of a method is a text"
    if protocol.ending and method != lsp.EXIT:
        return INVALID_REQUEST, f"{method} comes after shutdown"
    started = protocol._workspace is not None
    if method == lsp.INITIALIZE and started:
        return INVALID_REQUEST, "initialize comes once"
    if not started and method not in (lsp.INITIALIZE, lsp.EXIT):
        return NOT_INITIALIZED, f"{method} comes before initialize"
    return None


def _refuse(data: dict[str, Any], protocol: Protocol, code: int, said: str) -> None:
    if "id" in data and "method" in data:
        protocol.answer_error(data["id"], code, said)
