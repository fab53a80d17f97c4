"""JSON of much data, made in parts: one call of the encoder lets no other thread on until it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_DEEP = 6
"""Levels that are taken apart; a run of a board lies on the third, a task of a run's plan on the fifth."""


def dumped(value: Any, deep: int = _DEEP) -> str:
    """`json.dumps(value)`, of keys that are texts. For a thread beside the one that must not wait."""
    if deep and isinstance(value, Mapping):
        parts = (f"{json.dumps(key)}: {dumped(each, deep - 1)}" for key, each in value.items())
        return f"{{{', '.join(parts)}}}"
    if deep and isinstance(value, (list, tuple)):
        return f"[{', '.join(dumped(each, deep - 1) for each in value)}]"
    return json.dumps(value)
