"""The form of a file of kept evaluations: a line of magic, a header, rows, a digest over all before it.

A row is a line of JSON and, behind it, the packed part of its evaluation, whose length the line says. The
form and whatever may answer otherwise are part of the header's `key`: a file of another key is outdated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .private_files import MOST_BYTES, UntrustedFile, read_private

MAGIC = b"phasekeeper evaluations 1\n"
PART_BYTES = 1 << 20
_DIGEST_BYTES = 32


class CacheFault(StrEnum):
    """Why a cache was not used."""

    UNTRUSTED = "untrusted"
    UNREADABLE = "unreadable"
    DAMAGED = "damaged"
    OUTDATED = "outdated"
    DIFFERENT = "different"


class CacheRefused(Exception):  # noqa: N818 - all goes on without the cache
    def __init__(self, fault: CacheFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class CacheHeader(NamedTuple):
    """What all rows hold for: the root, the `key` of what answers, the time (ISO 8601, UTC) when they were
    taken, and a digest of the commit HEAD then."""

    root: str
    key: str
    taken: str
    head: str


class CacheRow(NamedTuple):
    """One candidate. `workflow` is None for what is no run; `shown` then holds its findings, encoded.

    `definitions`, `named` and `rivals` are those of discovery. `signs` is its read set, `outside` what it saw
    outside of its folder by key, `head` the names of contents in the commit HEAD by path. It is to be judged
    anew at `until`, if that is not "".
    """

    run: str
    workflow: str | None
    rivals: list[str]
    definitions: list[str]
    named: list[str | None]
    shown: Any
    signs: list[list[Any]]
    outside: Mapping[str, str]
    head: Mapping[str, str]
    until: str
    size: int


class RowSlice(NamedTuple):
    """Where a row stands in the bytes of its file, and its line read as JSON."""

    row: CacheRow
    start: int
    packed: int
    end: int


def row_line(row: CacheRow, shown: str) -> bytes:
    """The line of a row; `shown` is the text of that field."""
    parts = (json.dumps(row[:5])[:-1], shown, json.dumps(row[6:], separators=(",", ":"))[1:])
    return ",".join(parts).encode("ascii") + b"\n"


def file_parts(header: CacheHeader, rows: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The file in parts of about `PART_BYTES`; rows past `MOST_BYTES` in all are left out."""
    digest, size = sha256(), 0
    part = MAGIC + json.dumps(header).encode("ascii") + b"\n"
    for row in rows:
        if size + len(part) + len(row) > MOST_BYTES - _DIGEST_BYTES:
            break
        part += row
        if len(part) >= PART_BYTES:
            digest.update(part)
            size += len(part)
            yield part
            part = b""
        else:
            yield b""
    digest.update(part)
    yield part + digest.digest()


def read_file(path: Path, root: str, key: str, now: str) -> tuple[CacheHeader, memoryview]:
    """(the header, the bytes of the whole file) of a cache that holds at `now`.

    Raises CacheRefused; FileNotFoundError where there is none.
    """
    try:
        data = read_private(path)
    except FileNotFoundError:
        raise
    except UntrustedFile as error:
        raise CacheRefused(CacheFault.UNTRUSTED) from error
    except OSError as error:
        raise CacheRefused(CacheFault.UNREADABLE) from error
    if not data.startswith(MAGIC):
        is_other_form = data.startswith(MAGIC[: MAGIC.rindex(b" ")])
        raise CacheRefused(CacheFault.OUTDATED if is_other_form else CacheFault.DAMAGED)
    content = memoryview(data)[:-_DIGEST_BYTES]
    if len(content) < len(MAGIC) or sha256(content).digest() != data[-_DIGEST_BYTES:]:
        raise CacheRefused(CacheFault.DAMAGED)
    try:
        header = CacheHeader(*json.loads(data[len(MAGIC) : data.index(b"\n", len(MAGIC))]))
    except (ValueError, TypeError) as error:
        raise CacheRefused(CacheFault.DAMAGED) from error
    # A clock that was set back: claims that had ended then may be alive.
    if (header.root, header.key) != (root, key) or header.taken > now:
        raise CacheRefused(CacheFault.OUTDATED)
    return header, content


def parse_row(line: bytes | memoryview) -> CacheRow:
    """The row of a line. Raises ValueError, TypeError."""
    return CacheRow(*json.loads(bytes(line)))


def row_places(content: memoryview) -> Iterator[RowSlice]:
    """The rows of the bytes of a file. Raises CacheRefused."""
    data: Any = content.obj
    end = data.index(b"\n", len(MAGIC)) + 1
    try:
        while end < len(content):
            start = end
            packed = data.index(b"\n", start) + 1
            row = parse_row(data[start:packed])
            end = packed + row.size
            if end > len(content):
                raise CacheRefused(CacheFault.DAMAGED)
            yield RowSlice(row, start, packed, end)
    except (ValueError, TypeError, RecursionError) as error:
        raise CacheRefused(CacheFault.DAMAGED) from error
