"""Telling an editor how far a long first look at a root has come."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from lsprotocol import types as lsp

from .transport import Server

FEWEST_RUNS = 200
"""Fewer are looked at before anybody would see a bar."""


class Scanning:
    """One look's progress; it begins with the first report of a look at many runs."""

    def __init__(self, server: Server, what: str) -> None:
        self._server, self._what = server, what
        self._token = f"phasekeeper-{uuid4()}"
        self._asked: asyncio.Task[None] | None = None
        self._begun = self._over = False
        self._percent = -1

    def report(self, done: int, total: int) -> None:
        """So many of all runs have been judged."""
        window = self._server.client_capabilities.window
        if total < FEWEST_RUNS or not (window and window.work_done_progress):
            return
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._begin(total))
        percent = 100 * done // total
        if self._begun and percent > self._percent:
            self._percent = percent
            value = lsp.WorkDoneProgressReport(message=f"{done} of {total} runs", percentage=percent)
            self._server.work_done_progress.report(self._token, value)

    async def _begin(self, total: int) -> None:
        # Shielded: an answer to a request that was cancelled is an error inside pygls.
        await asyncio.shield(self._server.work_done_progress.create_async(self._token))
        begin = lsp.WorkDoneProgressBegin("Phasekeeper", message=f"looking at {total} runs", percentage=0)
        self._server.work_done_progress.begin(self._token, begin)
        self._begun = True
        if self._over:
            self.end()

    def end(self) -> None:
        """The look is over."""
        self._over = True
        if self._begun:
            self._begun = False
            self._server.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd())
