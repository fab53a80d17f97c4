"""Which function answers which of an editor's requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from . import custom, lenses
from .protocol import INTERNAL_ERROR, Refusal

if TYPE_CHECKING:
    from .connection import Connection

_log = logging.getLogger(__name__)


def guarded(answer: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A function that answers a request: what goes wrong in it is logged once and told in one sentence."""

    @wraps(answer)
    async def guarding(*arguments: Any) -> Any:
        try:
            return await answer(*arguments)
        except (JsonRpcException, asyncio.CancelledError):
            raise
        except Exception:
            _log.exception("%s could not be answered", answer.__name__)
            raise Refusal("this could not be answered; the server's log says why", INTERNAL_ERROR) from None

    return guarding


def register(connection: Connection) -> None:
    """Have the connection answer what it can."""
    on = connection.server.feature

    async def code_lens(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        scene = await connection.scene(params.text_document.uri)
        return lenses.lenses(scene) if scene else []

    on(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions())(guarded(code_lens))
    for name, answer in custom.requests(connection).items():
        on(name)(guarded(answer))
