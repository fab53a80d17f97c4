"""`make version`: the version of `server/version.py`, written to the files that cannot read it from there."""

from __future__ import annotations

import re
from pathlib import Path

from phasekeeper.server.version import VERSION

from .build import ROOT

_IN_JSON = re.compile(r'(?m)^(\s*"version": ")[^"]*(")')
PLACES = {
    # The first of a package's own file; of a lock's the first two, which are of the package that it locks.
    "vscode-extension/package.json": 1,
    "vscode-extension/package-lock.json": 2,
    # That of the entry, and that of the package it installs.
    "server.json": 2,
}
"""File -> how many versions in it are ours; those of others stand below."""


def with_version(text: str, count: int) -> str:
    """A JSON text with our version in its first `count` keys `version`."""
    return _IN_JSON.sub(rf"\g<1>{VERSION}\g<2>", text, count=count)


def main() -> None:
    """Write every place, and say which of them were others."""
    for name, count in PLACES.items():
        path = Path(ROOT, name)
        before = path.read_text(encoding="utf-8")
        after = with_version(before, count)
        path.write_text(after, encoding="utf-8")
        print(f"{name}: {VERSION}{'' if after == before else ', which is new'}")


if __name__ == "__main__":
    main()
