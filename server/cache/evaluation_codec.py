"""An evaluation in two parts: what a board shows of every run at once, and what is made when it is asked for.

The second part is compressed, a line a field; a field is decoded by itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from ...orchestration.result.values import Evaluation
from .value_codec import decode, decode_parsed, encode

SHOWN = (
    "run", "home", "title", "workflow", "definition", "revision", "current_phase", "raw_phase", "inferred",
    "overridden", "status", "status_reason", "progress", "unknown_marks", "questions", "claims", "findings",
)  # fmt: skip
"""The fields that are at hand at once: what runs are counted, listed and marked by."""
DEFERRED = ("phases", "suggestion", "gates", "plan", "limits", "notes", "parameters", "reads")
PROPERTIES = ("has_failed_gate",)
"""Properties that rest on deferred fields, by which runs are counted and listed too."""
MOST_BYTES = 64 << 20
"""A text that is larger when it is unpacked is damaged."""


def pack(evaluation: Evaluation) -> tuple[str, bytes]:
    """(the text of the shown fields, the packed texts of the others). Raises NotEncodable."""
    shown = encode([getattr(evaluation, name) for name in (*SHOWN, *PROPERTIES)])
    lines = "\n".join(encode(getattr(evaluation, name)) for name in DEFERRED)
    return shown, zlib.compress(lines.encode(), 1)


def unpack(root: str, shown: Any, packed: memoryview | bytes) -> Evaluation:
    """The evaluation of shown fields, read as JSON, and packed others. Raises ValueError and the like."""
    known = dict(zip((*SHOWN, *PROPERTIES), map(decode_parsed, shown[1:]), strict=True))
    properties = _shared_properties(*(known.pop(name) for name in PROPERTIES))
    return Evaluation.with_deferred(
        {"root": root, **known}, DEFERRED, partial(_deferred_field, packed), properties
    )


def defer(evaluation: Evaluation, packed: bytes) -> None:
    """Let go the fields of an evaluation that were packed; they are made again when they are asked for."""
    properties = _shared_properties(*(getattr(evaluation, name) for name in PROPERTIES))
    evaluation.defer(DEFERRED, partial(_deferred_field, packed), properties)


@lru_cache(64)
def _shared_properties(*values: object) -> Mapping[str, Any]:
    """The `PROPERTIES` by name: one mapping for all evaluations that have the same."""
    return dict(zip(PROPERTIES, values, strict=True))


def _deferred_field(packed: memoryview | bytes, name: str) -> Any:
    unpacking = zlib.decompressobj()
    lines = unpacking.decompress(packed, MOST_BYTES).split(b"\n")
    return decode(lines[DEFERRED.index(name)])
