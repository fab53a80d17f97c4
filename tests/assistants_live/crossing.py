"""What went between an assistant and the server, and what of it reached the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from phasekeeper.server.mcp.server import INSTRUCTIONS
from phasekeeper.tools.assistant.tools import TOOLS

from tests.assistants_live.script import Script

Message = Mapping[str, Any]
_VERSION = "io.modelcontextprotocol/protocolVersion"


def crossed(said: Path, heard: Path, model: Path, script: Script) -> Iterator[str]:
    """Sentences about a drive. Raises AssertionError where the model did not get it all."""
    asked, answered = _lines(said), _lines(heard)
    calls = [message for message in asked if message.get("method") == "tools/call"]
    yield f"protocol {_version(asked, calls)}; it can {', '.join(_abilities(asked)) or 'do nothing besides'}"
    yield f"_meta of calls: {', '.join(sorted({key for call in calls for key in _meta(call)}))}"
    yield _offered(script)
    first = next(line["request"] for line in _lines(model) if line["request"].get("tools"))
    told = INSTRUCTIONS.partition("\n")[0] in json.dumps(first, ensure_ascii=False)
    assert told, "our instructions are not in the first request to the model"
    yield f"of our answers the model gets the {' and the '.join(sorted(script.told))}"
    yield _sizes(answered, script)
    errors = {_error(message) for message in answered if "error" in message}
    yield f"errors of the protocol: {'; '.join(sorted(errors)) or 'none'}"


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _meta(message: Message) -> Mapping[str, Any]:
    return message.get("params", {}).get("_meta", {})


def _version(asked: Sequence[Message], calls: Sequence[Message]) -> str:
    """The one that calls name; before it came into being the one of the last handshake."""
    named = [_meta(call)[_VERSION] for call in calls if _VERSION in _meta(call)]
    hands = [each["params"]["protocolVersion"] for each in asked if each.get("method") == "initialize"]
    return f"{named[-1]}, without a handshake" if named else f"{hands[-1]}, by a handshake"


def _abilities(asked: Sequence[Message]) -> list[str]:
    """What the client says that it can be asked."""
    said = [each["params"].get("capabilities", {}) for each in asked if each.get("method") == "initialize"]
    modern = [_meta(each).get("io.modelcontextprotocol/clientCapabilities", {}) for each in asked]
    return sorted({name for found in (*said, *modern) for name in found})


def _offered(script: Script) -> str:
    """How the tools are named for the model, and what their definitions take of a conversation."""
    ours = {
        name: tool
        for name, tool in script.offered.items()
        if "phasekeeper" in name and any(name.endswith(each.name) for each in TOOLS)
    }
    assert len(ours) == len(TOOLS), f"the model is offered {sorted(ours)}"
    size = sum(len(json.dumps(tool, ensure_ascii=False)) for tool in ours.values())
    return f"{len(ours)} tools for the model, named like {min(ours)}, {size:,} characters"


def _sizes(answered: Sequence[Message], script: Script) -> str:
    """The largest answers, as sent and as they reached the model."""
    results = [each["result"] for each in answered if "content" in each.get("result", {})]
    text = max(len(each["content"][0]["text"]) for each in results)
    data = max(
        len(json.dumps(each.get("structuredContent"), ensure_ascii=False, separators=(",", ":")))
        for each in results
    )
    return f"largest answers: text {text:,}, data {data:,} characters; to the model {script.largest:,}"


def _error(message: Message) -> str:
    return f"{message['error']['code']} {message['error']['message']}"
