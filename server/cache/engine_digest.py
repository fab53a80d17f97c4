"""What every answer is made with besides files: the product's code, the interpreter and the parsers."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from ..version import VERSION

_PACKAGE = Path(__file__).parents[2]
_FOLDERS = ("orchestration", "server")
_KINDS = frozenset((".py", ".yaml", ".json"))
_PARSERS = ("PyYAML", "google-re2", "jsonschema-rs", "pyromark")


@cache
def engine_digest() -> str:
    """32 hex digits: other ones for whatever may answer otherwise. Reads all the product's modules, once."""
    digest = sha256(f"{VERSION}\0{sys.version}\0{sys.platform}".encode())
    for name in _PARSERS:
        digest.update(f"{name} {metadata.version(name)}\0".encode())
    for folder in _FOLDERS:
        for path in sorted((_PACKAGE / folder).rglob("*")):
            if path.suffix in _KINDS:
                digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:32]
