"""Where a run's journal and claims lie, and their lines with byte offsets, as the store reads them.

A line is one JSON object, kept whole as it was written: its digest is what the next line refers to.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..vfs.files import digest_of

FOLDER = ".phasekeeper"
"""Where a run's own files lie, from the run; a root's configuration and definitions lie there too."""
JOURNAL_NAME, CLAIMS_NAME = "journal.jsonl", "claims.jsonl"
JOURNAL = f"{FOLDER}/{JOURNAL_NAME}"
CLAIMS = f"{FOLDER}/{CLAIMS_NAME}"
_BOM = b"\xef\xbb\xbf"


class JournalLine(NamedTuple):
    """One line that is not blank: its zero-based number, the offset of its bytes in the log, and the bytes
    without the line end. `data` is its JSON object, None where it is none."""

    number: int
    start: int
    raw: bytes
    data: dict[str, object] | None

    @property
    def digest(self) -> str:
        """What the line behind it names in `prev`."""
        return digest_of(self.raw)


def parse_lines(raw: bytes) -> list[JournalLine]:
    """The lines of a log that are not blank; a byte order mark, and CR before LF, are no content."""
    lines: list[JournalLine] = []
    start = len(_BOM) if raw.startswith(_BOM) else 0
    for number, line in enumerate(raw[start:].split(b"\n")):
        if line.strip():
            bare = line.removesuffix(b"\r")
            lines.append(JournalLine(number, start, bare, parse_line(bare)))
        start += len(line) + 1
    return lines


def parse_line(raw: bytes) -> dict[str, object] | None:
    """The JSON object in one line; None where it is none."""
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
