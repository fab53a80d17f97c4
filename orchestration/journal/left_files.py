"""Files and marks as records left them: what differs was written since, by no command.

A record lists the files that its command wrote (`files`, each with what it `was`), and in `held` what else
stood there with right then: files by their digests, marked tasks. What was edited past a gate it names
`disputed`: that record does not make it right, however it wrote on in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .journal import Record

_NO_MARKS: frozenset[str] = frozenset()


class LeftFiles(NamedTuple):
    """`digests`: path → digest of a file as the records left it. `known`: (path, digest) of all that any of
    them names. `marked`: the tasks that were marked done with right; None where no record tells."""

    digests: dict[str, str]
    known: set[tuple[str, str]]
    marked: frozenset[str] | None = None


def read_left_files(records: Sequence[Record]) -> LeftFiles:
    """What the records left, the newest going before. Cost: linear in what they name."""
    left = LeftFiles({}, set())
    marked: frozenset[str] | None = None
    for entry in records:
        held = _maps(entry["held"])
        disputed = {str(item["disputed"]) for item in held if "disputed" in item}
        for item in _maps(entry["files"]):
            path, digest = str(item.get("path")), str(item.get("digest"))
            left.known.add((path, digest))
            if "was" in item and path not in disputed:
                left.digests[path] = digest
        for item in held:
            if isinstance(item.get("file"), str):
                path, digest = item["file"], str(item.get("digest"))
                left.known.add((path, digest))
                left.digests[path] = digest
            if isinstance(item.get("marked"), list):
                marked = (marked or _NO_MARKS) | {*map(str, item["marked"])}
            if isinstance(item.get("unmarked"), list):
                marked = (marked or _NO_MARKS) - {*map(str, item["unmarked"])}
            if item.get("marks") == UNKNOWN:
                marked = None
    return left._replace(marked=marked)


UNKNOWN = "unknown"
"""Said of marks that are too many for a record."""


def _maps(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
