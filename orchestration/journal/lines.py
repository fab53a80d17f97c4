"""The one parser of journal and claims lines, and where these logs of a run lie.

Whoever reads a log reads it by this: were a line an object to one reader and torn to another, what is
written behind it would break the journal. A line is kept whole as it was written: its digest is what the
next line refers to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..formats.json_text import clean, read_json
from ..vfs.files import digest_of

FOLDER = ".phasekeeper"
"""Where a run's own files lie, from the run; a root's configuration and definitions lie there too."""
HOMES = f"{FOLDER}/runs"
"""Where the homes of runs are whose own folders are another tool's, from the root."""
JOURNAL_NAME, CLAIMS_NAME = "journal.jsonl", "claims.jsonl"
LOCK_NAME, HOLDER_NAME = "lock", "lock.holder"
JOURNAL = f"{FOLDER}/{JOURNAL_NAME}"
CLAIMS = f"{FOLDER}/{CLAIMS_NAME}"

Record = dict[str, object]
"""A record of a journal, by its fields."""

_BOM = b"\xef\xbb\xbf"
_NO_UTF8 = "surrogateescape"
"""Bytes that are no UTF-8 become halves of characters, which `read_json` refuses."""


class JournalLine(NamedTuple):
    """One line that is not blank: its zero-based number, the offset of its bytes in the log, and the text
    without the line end.

    `written` is its JSON object, None where it holds none; signatures are over this one. `repeated` says that
    a key stands twice in it, of which the last one counts.
    """

    number: int
    start: int
    text: str
    written: dict[str, Any] | None
    repeated: bool

    @property
    def data(self) -> dict[str, Any] | None:
        """The object as guards may see it: null is absent, and numbers fit."""
        seen = clean(self.written)
        return seen if isinstance(seen, dict) else None

    @property
    def digest(self) -> str:
        """The digest that the line behind it names in `prev`."""
        return digest_of(self.text)

    def integer(self, name: str) -> int:
        """The value of a field that is a whole number, else 0."""
        value = clean((self.written or {}).get(name))
        return value if type(value) is int else 0


def parse_lines(log: bytes | str) -> list[JournalLine]:
    """The lines of a log that are not blank."""
    return [parse_line(*line) for line in split_lines(log)]


def split_lines(log: bytes | str) -> list[tuple[str, int, int]]:
    """(text, number, start) of each line that is not blank, as a `JournalLine` has them.

    CR before LF, and a byte order mark in bytes, are no content.
    """
    text, start, errors = log, 0, "surrogatepass"
    if isinstance(text, bytes):
        start = len(_BOM) if text.startswith(_BOM) else 0
        text, errors = text[start:].decode("utf-8", _NO_UTF8), _NO_UTF8
    lines: list[tuple[str, int, int]] = []
    for number, line in enumerate(text.split("\n")):
        bare = line.removesuffix("\r")
        if bare.strip():
            lines.append((bare, number, start))
        start += 1 + (len(line) if line.isascii() else len(line.encode("utf-8", errors)))
    return lines


def parse_line(line: bytes | str, number: int = 0, start: int = 0) -> JournalLine:
    """One line. It holds an object only where `read_json` can read one."""
    text = line if isinstance(line, str) else line.decode("utf-8", _NO_UTF8)
    document = read_json(text)
    data = document.data if isinstance(document.data, dict) else None
    return JournalLine(number, start, text, data, bool(document.problems))
