"""The version of this package, known without looking it up; a test compares it with pyproject.toml."""

from __future__ import annotations

VERSION = "0.1.0"
PROGRAM = f"phasekeeper {VERSION}"
"""The name of this program in records."""


def release(version: str) -> tuple[int, ...]:
    """The numbers a version begins with: what decides which of two is newer."""
    from itertools import takewhile

    return tuple(int(part[:9]) for part in takewhile(str.isdecimal, version.split(".")))
