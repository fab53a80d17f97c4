"""Writes down what clients see, as it is now: `python -m tests.server.mcp.snapshot`.

The list of tools is a snapshot of tests; what a connector answers before there is a server is a file of the
package.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from phasekeeper.server.connector import early_answers

from tests.server.mcp.rig import LIMIT_S, rig

SNAPSHOT = Path(__file__).parent / "tools.json"
EARLY = Path(early_answers.__file__).parent / "early_answers.json"
CLIENT = {"name": "a client", "version": "1"}


def initialize(version: str) -> dict[str, Any]:
    """The request that begins a connection of the handshake era."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def discover(version: str) -> dict[str, Any]:
    """The request that begins a connection of the newer era."""
    said = {"protocolVersion": version, "clientInfo": CLIENT, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in said.items()}
    return {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}


async def answer_of_server(request: dict[str, Any], root: Path) -> dict[str, Any]:
    """What the server itself answers to the first request of a connection."""
    async with rig() as r, r.streams(root) as (reader, writer):
        writer.write(json.dumps(request).encode() + b"\n")
        return json.loads(await asyncio.wait_for(reader.readline(), LIMIT_S))


async def early_answers_of_server(root: Path) -> dict[str, Any]:
    """What `early_answers.json` is to hold; the version of the program is put in when it is read."""
    handshake, modern = list(HANDSHAKE_PROTOCOL_VERSIONS), list(MODERN_PROTOCOL_VERSIONS)
    initialized = (await answer_of_server(initialize(handshake[-1]), root))["result"]
    discovered = (await answer_of_server(discover(modern[-1]), root))["result"]
    del initialized["serverInfo"]["version"], initialized["protocolVersion"]
    del discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["version"]
    return {"handshake": handshake, "modern": modern, "initialize": initialized, "discover": discovered}


def text_of_file(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from tests.server.mcp.test_tools import tools_as_json

    SNAPSHOT.write_text(text_of_file(tools_as_json()), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        early = asyncio.run(early_answers_of_server(Path(folder)))
    EARLY.write_text(text_of_file(early), encoding="utf-8")
