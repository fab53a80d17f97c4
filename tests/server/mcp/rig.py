"""Real clients of the SDK, over the streams that the server speaks on, in one process with it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import Client
from mcp.server.stdio import stdio_server
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.mcp.server import McpServer
from phasekeeper.server.mcp.transports import LineWriter, read_lines

LIMIT_S = 240
ERAS = ("auto", "legacy")
STREAM_LIMIT = 8 << 20


class Rig:
    """One engine with its assistants. Each `client` is a connection of its own."""

    def __init__(self, engine: Engine, stack: AsyncExitStack) -> None:
        self.engine = engine
        self.assistants = McpServer(engine)
        self._stack = stack

    def hold_counts(self) -> dict[Path, int]:
        """How many callers hold each root open."""
        return dict(self.assistants.open_roots.counts)

    @asynccontextmanager
    async def client(self, folder: Path, era: str = "auto", **options: Any) -> AsyncIterator[Client]:
        """A connected client that works in a folder."""
        async with self.streams(folder) as (reader, writer):
            transport = cast(Any, _transport(reader, writer))
            async with Client(transport, mode=cast(Any, era), **options) as client:
                yield client

    @asynccontextmanager
    async def streams(self, folder: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """The bare ends of a connection."""
        mine, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=mine, limit=STREAM_LIMIT)
        ends = await asyncio.open_connection(sock=theirs, limit=STREAM_LIMIT)

        async def serve() -> None:
            try:
                await self.assistants.serve(*ends, folder)
            finally:
                ends[1].close()

        serving = asyncio.create_task(serve())
        try:
            yield reader, writer
        finally:
            writer.close()
            await asyncio.wait_for(serving, LIMIT_S)


@asynccontextmanager
async def _transport(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Any]:
    """The client's end. What it says ends when the client does, as a program's standard input would."""
    async with stdio_server(cast(Any, read_lines(reader)), cast(Any, LineWriter(writer))) as streams:
        try:
            yield streams
        finally:
            writer.close()


@asynccontextmanager
async def rig(watch: bool = False) -> AsyncIterator[Rig]:
    """An engine and its assistants; both end with it."""
    engine = Engine(asyncio.get_running_loop(), watch=watch)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.stop)
        made = Rig(engine, stack)
        stack.push_async_callback(made.assistants.stop)
        yield made


def async_test(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A coroutine as a test, with a user's folders of its own, ended when it takes too long."""

    @wraps(test)
    def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **more: Any) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
        person = tmp_path / "gitconfig"
        person.write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(person))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        try:
            given_too = {"monkeypatch": monkeypatch, "tmp_path": tmp_path}
            more |= {name: value for name, value in given_too.items() if name in given}
            asyncio.run(asyncio.wait_for(test(**more), LIMIT_S))
        except BaseExceptionGroup as group:
            raise _first(group) from None

    given = list(test.__code__.co_varnames[: test.__code__.co_argcount])
    _sign(run, given)
    return run


def _first(error: BaseException) -> BaseException:
    """What went wrong; the SDK's client wraps it in groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _sign(run: Any, given: list[str]) -> None:
    """The fixtures that pytest sees: those of the test, and what it runs in."""
    import inspect

    names = [*dict.fromkeys(["monkeypatch", "tmp_path", *given])]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    run.__signature__ = inspect.Signature(parameters)
    del run.__wrapped__


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers as data; it has to answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


async def text(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers as text; it has to answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Why a tool refuses; it has to."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def size(value: Any) -> int:
    """Characters as JSON, as it is sent."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
