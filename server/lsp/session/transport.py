"""JSON-RPC messages of one connection: framed, checked and answered. What they mean is `connection.py`'s.

pygls knows the messages of the protocol and runs the functions that answer them; its reader and a part of
its protocol are replaced here. In pygls 2.1 the reader takes `Content-Length` in one spelling and as the
first header only, has no bound on a message's size, and drops garbage without an answer; `exit` ends the
process, which serves other editors too; a cache keeps connections that are over; documents split their lines
at form feeds. Here `exit` ends the connection, no traceback leaves, and garbage, a request before
`initialize` or after `shutdown`, and a message that is too long get the error that the protocol asks for.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import re
from collections.abc import Callable
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

from ...json_chunks import DEEP, dump
from ...version import VERSION

MOST_BYTES = 64 * 2**20
"""Of one message. A longer one ends the connection: nothing behind it could be found again."""
MOST_HEADERS = 20
_WRITTEN_AT_ONCE = 2**16
"""A message below is one write: each is a call of the system."""
INVALID_REQUEST, NOT_INITIALIZED, REQUEST_FAILED = -32600, -32002, -32803
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603

# Documents are kept in `view/documents.py`; for these methods pygls calls our functions alone.
_OWN_METHODS = (
    lsp.EXIT,
    lsp.TEXT_DOCUMENT_DID_OPEN,
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lsp.TEXT_DOCUMENT_DID_CLOSE,
)
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*", re.IGNORECASE)
_HEADER = re.compile(rb"[!-9;-~]+:[ -~\t]*")
_log = logging.getLogger(__name__)


class RequestFailed(JsonRpcException):
    """A request that cannot be fulfilled; the client is told why in one sentence."""

    def __init__(self, message: str, code: int = REQUEST_FAILED) -> None:
        super().__init__(message, code)


def encode_json(make: Callable[..., Any], *arguments: Any, deep: int = DEEP) -> bytearray:
    """The JSON of what `make` returns, maybe megabytes, as an answer or as parameters.

    Called on a thread, so that other messages need not wait; what lies deeper than `deep` is made in one go.
    """
    return dump(make(*arguments), deep)


class LspProtocol(LanguageServerProtocol):
    """pygls' protocol, for one connection of many in a process, with documents of our own."""

    has_exited = False

    def __init__(self, server: LanguageServer, converter: Any) -> None:
        super().__init__(server, converter)
        for method in _OWN_METHODS:
            self.fm.builtin_features.pop(method)
        self.fm.add_builtin_feature(lsp.EXIT, self._exit)

    def _exit(self, _: Any) -> None:
        """The editor goes: its connection ends, the process does not."""
        self.has_exited = True

    def handle_message(self, message: Any) -> None:
        """Have a message handled. pygls' own finds out what it is with protocol classes, which is slow."""
        run = contextvars.copy_context().run
        if not hasattr(message, "method"):
            result, error = (getattr(message, name, None) for name in ("result", "error"))
            run(self._handle_response, message.id, result, error)
        elif hasattr(message, "id"):
            run(self._handle_request, message.id, message.method, message.params)
        else:
            run(self._handle_notification, message.method, message.params)

    def get_message_type(self, method: str) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The type of a method's messages. pygls' own keeps connections that are over, in a cache."""
        return lsp.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The type of a method's answer, as `get_message_type`."""
        return lsp.METHOD_TO_TYPES.get(method, (None, None))[1]

    def send_encoded(self, method: str, params: bytes | bytearray) -> None:
        """Send a notification whose parameters are JSON already."""
        self._send_encoded(f'"method": {json.dumps(method)}, "params": ', params)

    def _send_response(
        self, msg_id: Any, result: Any | None = None, error: lsp.ResponseError | None = None
    ) -> None:
        if error is not None or not isinstance(result, bytearray):
            super()._send_response(msg_id, result, error)
            return
        self._result_types.pop(msg_id, None)
        self._send_encoded(f'"id": {json.dumps(msg_id)}, "result": ', result)

    def _send_encoded(self, members: str, last: bytes | bytearray) -> None:
        """Send what is JSON already: pygls would look into every part of it for types, on the loop."""
        begin, end = f'{{"jsonrpc": "2.0", {members}'.encode(), b"}"
        length = len(begin) + len(last) + len(end)
        kind = f"{self.CONTENT_TYPE}; charset={self.CHARSET}"
        if self.writer is not None:
            head = f"Content-Length: {length}\r\nContent-Type: {kind}\r\n\r\n".encode()
            if length < _WRITTEN_AT_ONCE:
                self.writer.write(b"".join((head, begin, last, end)))
                return
            # Not put together first: it may be megabytes. A stream takes any kind of bytes.
            for part in (head + begin, cast(bytes, last), end):
                self.writer.write(part)

    async def drain(self) -> None:
        """Wait until the editor has taken most of what was sent."""
        if isinstance(self.writer, DroppingWriter):
            await self.writer.drain()

    def answer_error(self, msg_id: Any, code: int, message: str) -> None:
        """Answer a request, or what may have been one, with an error."""
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "error": {"code": code, "message": message}})

    @property
    def is_shut_down(self) -> bool:
        """True once the editor has said `shutdown`; then it may only say `exit`."""
        return self._shutdown


class LspServer(LanguageServer):
    """pygls' server object of one connection. Errors that it would show are logged, once."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        if not isinstance(error, JsonRpcException) or error.code == INTERNAL_ERROR:
            _log.error("a message could not be handled: %s", error)


def plain_json(value: Any) -> Any:
    """A value of the protocol's types as `json` takes it, its keys as the protocol spells them."""
    return _converter().unstructure(value)


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


def new_server() -> LspServer:
    # pygls logs each failing request a second time, with its traceback.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    return LspServer(
        "phasekeeper",
        VERSION,
        text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
        protocol_cls=LspProtocol,
        converter_factory=_converter,
    )


class DroppingWriter:
    """The stream that pygls writes to; what is written after the editor went is dropped."""

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


async def read_messages(reader: asyncio.StreamReader, protocol: LspProtocol) -> None:
    """Handle messages until the editor says `exit`, goes, or sends what is no message."""
    try:
        while not protocol.has_exited and (body := await _read_body(reader)) is not None:
            _handle(body, protocol)
    except MalformedMessage as error:
        _log.warning("a connection is ended: %s", error)
        protocol.answer_error(None, PARSE_ERROR, str(error))


class MalformedMessage(Exception):  # noqa: N818 - shown to people as it is
    """Bytes that are no message; the text says why."""


async def _read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message's body; None at the end. Raises MalformedMessage for a header that is none."""
    length: int | None = None
    try:
        for _ in range(MOST_HEADERS):
            line = await reader.readline()
            if not line:
                return None
            header = line.rstrip()
            if not header:
                break
            if not _HEADER.fullmatch(header):
                raise MalformedMessage("a message begins with a Content-Length header")
            if match := _LENGTH.fullmatch(header):
                length = int(match[1])
        if length is None:
            raise MalformedMessage("a message begins with a Content-Length header")
        if length > MOST_BYTES:
            raise MalformedMessage(f"a message has {length} bytes, at most {MOST_BYTES} are read")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return None
    except ValueError:
        raise MalformedMessage("a header line is too long") from None


def _handle(body: bytes, protocol: LspProtocol) -> None:
    """Have one message handled; an error in it is answered and ends nothing."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        protocol.answer_error(None, PARSE_ERROR, "the message is no JSON")
        return
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        protocol.answer_error(None, INVALID_REQUEST, "a message is an object with jsonrpc 2.0")
        return
    method, started = data.get("method"), protocol._workspace is not None
    ends, begins = method == lsp.EXIT, method == lsp.INITIALIZE
    refusals = (
        (not isinstance(method, str), INVALID_REQUEST, "the name of a method is a text"),
        (protocol.is_shut_down and not ends, INVALID_REQUEST, f"{method} comes after shutdown"),
        (begins and started, INVALID_REQUEST, "initialize comes once"),
        (not (started or begins or ends), NOT_INITIALIZED, f"{method} comes before initialize"),
    )
    # What names no method is an answer.
    wrong = ((code, text) for is_wrong, code, text in refusals if is_wrong and method is not None)
    error = next(wrong, None)
    if error is None:
        try:
            message: Any = protocol.structure_message(data)
            protocol.handle_message(message)
        except JsonRpcInvalidParams:
            error = JsonRpcInvalidParams.CODE, f"{method}: its parameters cannot be read"
        except Exception as exception:
            _log.error("the message %r could not be handled: %r", method, exception)
            error = INTERNAL_ERROR, "the message could not be handled"
    if error is not None and "id" in data and "method" in data:
        protocol.answer_error(data["id"], *error)
