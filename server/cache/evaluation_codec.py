"""An evaluation in two parts: what a board shows of every run at once, and what is made when it is asked for.

The second part is compressed, a line a field; a field is decoded by itself.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any

from ...orchestration.result.values import Evaluation
from .value_codec import decode, decode_parsed, encode

SHOWN = (
    "run", "home", "title", "workflow", "definition", "revision", "current_phase", "raw_phase", "inferred",
    "overridden", "status", "status_reason", "progress", "unknown_marks", "questions", "claims", "findings",
)  # fmt: skip
"""The fields that are at hand at once: what runs are counted, listed and marked by."""
DEFERRED = ("phases", "suggestion", "gates", "plan", "limits", "notes", "parameters", "reads")
MOST_BYTES = 64 << 20
"""A text that is larger when it is unpacked is damaged."""


def pack(evaluation: Evaluation) -> tuple[str, bytes]:
    """(the text of the shown fields, the packed texts of the others). Raises NotEncodable."""
    shown = encode([getattr(evaluation, name) for name in SHOWN])
    lines = "\n".join(encode(getattr(evaluation, name)) for name in DEFERRED)
    return shown, zlib.compress(lines.encode(), 1)


def unpack(root: str, shown: Any, packed: memoryview | bytes) -> Evaluation:
    """The evaluation of shown fields, read as JSON, and packed others. Raises ValueError and the like."""
    known = dict(zip(SHOWN, map(decode_parsed, shown[1:]), strict=True))
    return Evaluation.with_deferred({"root": root, **known}, DEFERRED, partial(_deferred_field, packed))


def defer(evaluation: Evaluation, packed: bytes) -> None:
    """Let go the fields of an evaluation that were packed; they are made again when they are asked for."""
    evaluation.defer(DEFERRED, partial(_deferred_field, packed))


def _deferred_field(packed: memoryview | bytes, name: str) -> Any:
    unpacking = zlib.decompressobj()
    lines = unpacking.decompress(packed, MOST_BYTES).split(b"\n")
    return decode(lines[DEFERRED.index(name)])
