"""The version of this package, known without looking it up. Everything else has it from here.

The build reads it, and `make version` writes it to what cannot: the extension, server.json, the action.
"""

from __future__ import annotations

VERSION = "0.2.0"
PROGRAM = f"phasekeeper {VERSION}"
"""The name of this program in records."""


def release(version: str) -> tuple[int, ...]:
    """The numbers a version begins with: what decides which of two is newer."""
    from itertools import takewhile

    return tuple(int(part[:9]) for part in takewhile(str.isdecimal, version.split(".")))
