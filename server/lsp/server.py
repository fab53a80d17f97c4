"""One editor's connection, and the tables of what it is answered.

A feature of the protocol is one function of a `DocumentContext` and one line of `FEATURES`. Requests of our
own stand in `requests/read.py` and `requests/write.py`, commands in `requests/commands.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from ..live.engine import Engine
from .features import code_actions, command_offers, completion, hover, navigation
from .requests.checks import CHECK_COMMANDS, CHECK_REQUESTS
from .requests.commands import COMMANDS, execute
from .requests.page import PAGE_REQUESTS
from .requests.read import MACHINE_REQUESTS, READ_REQUESTS
from .requests.write import WRITE_REQUESTS
from .session.connection import Connection
from .session.transport import INTERNAL_ERROR, DroppingWriter, RequestFailed, read_messages
from .view.documents import DocumentContext

_log = logging.getLogger(__name__)


class Feature(NamedTuple):
    """A function of the document that a request names, and the options with which it is announced."""

    answer: Callable[[DocumentContext, Any], Any]
    options: Any = None


FEATURES: dict[str, Feature] = {
    lsp.TEXT_DOCUMENT_CODE_ACTION: Feature(code_actions.code_actions, code_actions.OPTIONS),
    lsp.TEXT_DOCUMENT_CODE_LENS: Feature(command_offers.code_lenses, command_offers.OPTIONS),
    lsp.TEXT_DOCUMENT_COMPLETION: Feature(completion.complete, completion.OPTIONS),
    lsp.TEXT_DOCUMENT_DEFINITION: Feature(navigation.definition),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Feature(navigation.document_symbols),
    lsp.TEXT_DOCUMENT_HOVER: Feature(hover.hover),
    lsp.TEXT_DOCUMENT_REFERENCES: Feature(navigation.references),
}


async def serve_lsp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, engine: Engine) -> int:
    """Serve one editor until it says `exit` or goes; 0 when it said `shutdown` before, else 1.

    Never ends the process, whatever the editor sends. The caller closes the streams.
    """
    dropping_writer = DroppingWriter(writer)
    connection = Connection(engine, dropping_writer)
    server = connection.server
    for method, feature in FEATURES.items():
        answer = partial(_on_document, connection, feature.answer)
        server.feature(method, feature.options)(_guard(method, answer))
    requests = READ_REQUESTS | MACHINE_REQUESTS | PAGE_REQUESTS | WRITE_REQUESTS | CHECK_REQUESTS
    for name, request in requests.items():
        server.feature(name)(_guard(name, partial(request, connection)))
    for name, command in {**COMMANDS, **CHECK_COMMANDS}.items():
        server.command(name)(_guard(name, partial(execute, connection, command)))

    def end_input() -> None:
        # What the connector still passes on is no client's; the stream's other direction ends in order.
        with suppress(RuntimeError):
            writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        reader.feed_eof()

    connection.on_client_end = end_input
    try:
        await read_messages(reader, connection.protocol)
        return 0 if connection.protocol.is_shut_down else 1
    finally:
        await connection.close()
        await dropping_writer.drain()


def _guard(name: str, answer: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A function that answers a request: what goes wrong in it is logged once, and answered in a sentence."""

    async def guard(*arguments: Any) -> Any:
        try:
            return await answer(*arguments)
        except (JsonRpcException, asyncio.CancelledError):
            raise
        except Exception:
            _log.exception("%s could not be answered", name)
            message = "this could not be answered; the server's log says why"
            raise RequestFailed(message, INTERNAL_ERROR) from None

    return guard


async def _on_document(
    connection: Connection, answer: Callable[[DocumentContext, Any], Any], params: Any
) -> Any:
    """The answer about the document that a request names, on a thread: parsing a long text takes its time.

    An editor asks for lenses and outlines as soon as it has opened a document, and most never ask again: they
    get their answer once the root is evaluated for the first time.
    """
    context = await connection.document_context(params.text_document.uri)
    if context is None:
        await connection.wait_for_roots()
        context = await connection.document_context(params.text_document.uri)
    return await asyncio.to_thread(answer, context, params) if context else None
