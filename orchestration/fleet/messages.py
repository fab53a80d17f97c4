"""The values of a fleet's buckets as JSON: flat objects of texts and numbers, bounded, read as hostile.

Whoever is in a project can write anything into its buckets. What does not have the form is no message; the
texts of one that has are data, and reach a screen through `sanitize` as those of files do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

MAX_BYTES = 8192
MAX_TEXT = 500
"""Characters of one text; a longer one is cut by who writes and refused by who reads."""
MAX_ITEMS = 40
"""Members of one message, and items of a list in it."""
_MAX_NUMBER = 1 << 53

Value = str | int | tuple[str, ...]


def format_message(values: Mapping[str, Value]) -> bytes:
    """The JSON of a message; texts are cut, and lists."""
    return json.dumps({name: _cut(value) for name, value in values.items()}, separators=(",", ":")).encode()


def _cut(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(item[:MAX_TEXT] for item in value[:MAX_ITEMS])
    return value[:MAX_TEXT] if isinstance(value, str) else value


def parse_message(raw: bytes) -> Mapping[str, Value] | None:
    """The members of a message; None for what is none: too long, no flat object, a text that is too long."""
    if len(raw) > MAX_BYTES:
        return None
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or len(data) > MAX_ITEMS:
        return None
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return values if all(map(_is_value, values.values())) else None


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) <= MAX_ITEMS and all(isinstance(item, str) and _is_value(item) for item in value)
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and value.isprintable()
    return type(value) is int and abs(value) <= _MAX_NUMBER


def text_of(values: Mapping[str, Value], name: str) -> str:
    """A member that is a text; "" where it is none."""
    value = values.get(name, "")
    return value if isinstance(value, str) else ""


def number_of(values: Mapping[str, Value], name: str) -> int:
    """A member that is a number; -1 where it is none."""
    value = values.get(name, -1)
    return value if isinstance(value, int) else -1


def key_token(*names: str) -> str:
    """A token of a bucket's key for names of any characters: 128 bits of their digest."""
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
