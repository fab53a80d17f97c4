"""A bare client of the protocol: it sends what it is told to, and waits for what it expects, with a bound."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from phasekeeper.server.live.engine import Engine
from phasekeeper.server.lsp.server import serve_lsp

BOUND_S = 30.0
CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
    "workspace": {"workspaceFolders": True, "applyEdit": True},
    "window": {"workDoneProgress": True, "showMessage": {}},
}


class ErrorResponse(Exception):  # noqa: N818 - an error that was answered
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Client:
    """One end of a connection. `diagnostics` is what a Problems list would show, by URI."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self._heard = asyncio.Condition()
        self.notes: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.answer: Callable[[dict[str, Any]], Any] = lambda request: None
        self.reading = asyncio.ensure_future(self._read())
        self.serving: asyncio.Future[int] | None = None

    async def _read(self) -> None:
        while header := await self._reader.readline():
            length = int(header.split(b":")[1])
            while (await self._reader.readline()).strip():
                pass
            self._hear(json.loads(await self._reader.readexactly(length)))
            async with self._heard:
                self._heard.notify_all()

    def _hear(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self.asked.append(message)
            result = self.answer(message)
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif "method" in message:
            self.notes.append(message)
            if message["method"] == "textDocument/publishDiagnostics":
                self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif message["id"] in self._answers:
            future = self._answers.pop(message["id"])
            if "error" in message:
                future.set_exception(ErrorResponse(message["error"]))
            else:
                future.set_result(message["result"])
        else:
            self.errors.append(message)

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    def note(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> asyncio.Future[Any]:
        """The answer to a request, to be awaited; raises Failed. `number` is the request's id."""
        self._count += 1
        future = self._answers[self._count] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return future

    async def request(self, method: str, params: Any) -> Any:
        return await asyncio.wait_for(self.ask(method, params), BOUND_S)

    @property
    def last_id(self) -> int:
        return self._count

    async def until(self, true: Callable[[], Any]) -> Any:
        """The first value that is true, looked at after each message."""

        async def wait() -> Any:
            async with self._heard:
                while not (found := true()):
                    await self._heard.wait()
                return found

        return await asyncio.wait_for(wait(), BOUND_S)

    async def initialize(self, *folders: Path, **options: Any) -> dict[str, Any]:
        found = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        capabilities = options.pop("capabilities", CAPABILITIES)
        params = {
            "processId": None, "rootUri": found[0]["uri"] if found else None, "workspaceFolders": found,
            "capabilities": capabilities, "initializationOptions": options,
            "clientInfo": {"name": "An editor", "version": "1.2"},
        }  # fmt: skip
        result = await self.request("initialize", params)
        self.note("initialized", {})
        return result

    async def ready(self, *roots: Path) -> dict[str, Any]:
        """The board once it has these roots."""
        wanted = {str(root) for root in roots}
        while True:
            board = await self.request("phasekeeper/board", {})
            if wanted <= {root["root"] for root in board["roots"]}:
                return board
            await asyncio.sleep(0)

    async def until_closed(self) -> None:
        """Wait until the board has no root any more."""
        while (await self.ready())["roots"]:
            await asyncio.sleep(0)

    def open(self, path: Path, text: str | None = None, version: int = 1) -> str:
        uri = path.as_uri()
        language = {".md": "markdown", ".json": "json", ".yaml": "yaml"}.get(path.suffix, "plaintext")
        held = path.read_bytes().decode() if text is None else text
        item = {"uri": uri, "languageId": language, "version": version, "text": held}
        self.note("textDocument/didOpen", {"textDocument": item})
        return uri

    def close_document(self, path: Path) -> None:
        """Close a document."""
        self.note("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def type(self, uri: str, version: int, text: str, range: dict[str, Any] | None = None) -> None:  # noqa: A002
        change = {"text": text} | ({"range": range} if range else {})
        self.note(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
        )

    def codes(self, path: Path | str) -> list[str]:
        uri = path if isinstance(path, str) else path.as_uri()
        return [found["code"] for found in self.diagnostics.get(uri, [])]

    async def exit_status(self) -> int:
        """What the server's side of the connection came to."""
        assert self.serving is not None
        return await asyncio.wait_for(asyncio.shield(self.serving), BOUND_S)

    async def close(self) -> None:
        self._writer.close()
        await asyncio.wait_for(asyncio.wait([self.reading]), BOUND_S)


@asynccontextmanager
async def client_of(engine: Engine) -> AsyncIterator[Client]:
    """A client with a server of its own at the other end of a pair of sockets."""
    ours, theirs = socket.socketpair()
    limit = 64 * 2**20
    server_side = await asyncio.open_connection(sock=theirs, limit=limit)
    client_side = await asyncio.open_connection(sock=ours, limit=limit)

    async def serve() -> int:
        try:
            return await serve_lsp(*server_side, engine)
        finally:
            server_side[1].close()

    serving = asyncio.ensure_future(serve())
    client = Client(*client_side)
    client.serving = serving
    try:
        yield client
    finally:
        await client.close()
        await asyncio.wait_for(serving, BOUND_S)


@asynccontextmanager
async def engine_of() -> AsyncIterator[Engine]:
    """An engine of its own for one test."""
    engine = Engine(asyncio.get_running_loop())
    try:
        yield engine
    finally:
        await engine.stop()


def run_with(work: Callable[[Client], Any]) -> None:
    """Run `work` with a client of a server that is not connected to anything else."""

    async def serve() -> None:
        async with engine_of() as engine, client_of(engine) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(serve(), 4 * BOUND_S))
