"""Contents of every kind, a text, a picture, a sound, a resource; and resources and prompts made of them."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
import wave
import zlib
from collections.abc import Callable, Mapping

import mcp_types as types

TEXT, JSON, PNG, WAV = "text/plain", "application/json", "image/png", "audio/wav"


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=_encoded(_png()), mime_type=PNG)


def audio() -> types.AudioContent:
    return types.AudioContent(type="audio", data=_encoded(_wav()), mime_type=WAV)


def embedded(uri: str, kind: str, said: str) -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri=uri, mime_type=kind, text=said)
    return types.EmbeddedResource(type="resource", resource=inside)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _png() -> bytes:
    """One grey point."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0\x80")), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _wav() -> bytes:
    """A moment of silence."""
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 2, 8_000, 0, "NONE", "not compressed"))
        sound.writeframes(b"\0\0" * 8)
    return out.getvalue()


# ---- resources --------------------------------------------------------------------------------

RESOURCES = {"test://static-text": TEXT, "test://static-binary": PNG, "test://watched-resource": TEXT}
TEMPLATE = "test://template/{id}/data"
_FILLED = re.compile(r"test://template/([^/]+)/data\Z")


def resources() -> list[types.Resource]:
    return [types.Resource(uri=uri, name=uri.rpartition("/")[2], mime_type=k) for uri, k in RESOURCES.items()]


def template() -> types.ResourceTemplate:
    return types.ResourceTemplate(uri_template=TEMPLATE, name="by-id", mime_type=JSON)


def read(uri: str) -> types.ReadResourceResult | None:
    """A resource of the suite's; None for any other."""
    if filled := _FILLED.match(uri):
        made = types.TextResourceContents(uri=uri, mime_type=JSON, text=json.dumps({"id": filled[1]}))
    elif RESOURCES.get(uri) == PNG:
        made = types.BlobResourceContents(uri=uri, mime_type=PNG, blob=_encoded(_png()))
    elif uri in RESOURCES:
        made = types.TextResourceContents(uri=uri, mime_type=TEXT, text=f"what {uri} holds")
    else:
        return None
    return types.ReadResourceResult(contents=[made])


# ---- prompts ----------------------------------------------------------------------------------

Given = Mapping[str, str]


def _arguments(given: Given) -> list[types.ContentBlock]:
    return [text(f"the first is {given['arg1']}, the second {given['arg2']}")]


def _resource(given: Given) -> list[types.ContentBlock]:
    return [embedded(given["resourceUri"], TEXT, "inside a prompt"), text("Look at this resource.")]


PROMPTS: Mapping[str, tuple[tuple[str, ...], Callable[[Given], list[types.ContentBlock]]]] = {
    "test_simple_prompt": ((), lambda _: [text("a prompt of one text")]),
    "test_prompt_with_arguments": (("arg1", "arg2"), _arguments),
    "test_prompt_with_embedded_resource": (("resourceUri",), _resource),
    "test_prompt_with_image": ((), lambda _: [image(), text("Look at this picture.")]),
}
"""By name: its arguments, and what it says."""


def prompt(content: list[types.ContentBlock]) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=c) for c in content])
