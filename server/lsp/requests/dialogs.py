"""Dialogs of an editor: a person reads all of a text, and picks one of some buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from lsprotocol import types as lsp

from ....orchestration.updates.commands import CommandRefused
from ....tools.assistant.questions import dialog
from ..session.connection import Connection

LATER = "Not now"


async def choose(connection: Connection, lines: Iterable[str], titles: list[str], command: str) -> str | None:
    """The title that the person picked in a dialog with these lines; None where it was closed.

    Raises CommandRefused, with the command line in place of the dialog, where that cannot show all of it.
    """
    text = dialog(lines)
    if text is None or len(set(titles)) < len(titles):
        raise CommandRefused(f"a dialog cannot show all that is decided; on a terminal: {command}")
    items = [lsp.MessageActionItem(title) for title in (*titles, LATER)]
    request = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, text, items)
    # Shielded: an answer to a request that was cancelled is an error inside pygls.
    item = await asyncio.shield(connection.server.window_show_message_request_async(request))
    return item.title if item else None
