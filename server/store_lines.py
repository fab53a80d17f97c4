"""The lines of a journal or a claims log: where the next one goes, and putting it there.

Lines are ASCII, so that a torn one can be cut off anywhere and the rest still reads, and so that no
control or bidirectional character hides in a review. Several lines of one commit are written by one
call; each but the last says in `more` how many are still to come. What ends before that was never
committed: it is torn, like a line that is cut off in its middle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..orchestration.files import digest_of
from ..orchestration.journal import EMPTY_RECORD, KINDS, read_journal
from .files import MAX_BYTES
from .store_folder import Folder, StoreError, close, write_all

_BOM = b"\xef\xbb\xbf"


class Written(NamedTuple):
    """A file that a record says was written: by record `seq`, as number `n` of its files."""

    seq: int
    n: int
    path: str
    digest: str
    was: str


class Tail(NamedTuple):
    """Where a log ends: `head` is the digest the next line follows, `seq` the highest number given so far.

    `size` is how many bytes stay; `torn` says that others follow them, which the next write cuts off.
    `ended` says that the last line that stays has its line end.
    """

    head: str = ""
    seq: int = 0
    size: int = 0
    torn: bool = False
    ended: bool = True
    written: tuple[Written, ...] = ()


class Broken(StoreError):  # noqa: N818 - said to people as it is
    """A line in the middle cannot be trusted; nothing is appended behind it."""


class _Line(NamedTuple):
    number: int
    start: int
    raw: bytes
    entry: dict[str, object] | None


def tail_of(raw: bytes, path: str, chained: bool = True) -> Tail:
    """Where the log in `raw` ends. Raises Broken when a line before its last cannot be read or, with
    `chained`, when lines do not follow each other. A fork is none of that: the longer branch goes on."""
    lines = _lines(raw)
    lines, size = _committed(lines, raw, path, chained)
    good = [line for line in lines if line.entry is not None]
    head = digest_of(good[-1].raw) if good else ""
    if chained and not _is_linear(good):
        journal = read_journal(raw[:size].decode("utf-8-sig", "replace"))
        if journal.broken:
            raise Broken(_broken(path, journal.problems[-1].message))
        head = journal.head
    seq = max((_whole(line, "seq") for line in good), default=0)
    ended = size == 0 or raw[size - 1 : size] == b"\n" or raw[:size] == _BOM
    return Tail(head, seq, size, size < len(raw), ended, tuple(_written(good)))


def _lines(raw: bytes) -> list[_Line]:
    found: list[_Line] = []
    start = len(_BOM) if raw.startswith(_BOM) else 0
    for number, line in enumerate(raw[start:].split(b"\n")):
        if line.strip():
            bare = line.removesuffix(b"\r")
            found.append(_Line(number, start, bare, _entry(bare)))
        start += len(line) + 1
    return found


def _entry(line: bytes) -> dict[str, object] | None:
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _committed(lines: list[_Line], raw: bytes, path: str, chained: bool) -> tuple[list[_Line], int]:
    """(the lines that were committed, how many bytes they take)."""
    kept, size = list(lines), len(raw)
    if kept and kept[-1].entry is None and _is_torn(kept[-1], raw):
        size = kept.pop().start
    while kept and _whole(kept[-1], "more") > 0:
        size = kept.pop().start
    for line in kept if chained else []:
        if line.entry is None or line.entry.get("kind") not in KINDS:
            raise Broken(_broken(path, f"line {line.number + 1} is no record this version knows"))
    return kept, size


def _is_torn(line: _Line, raw: bytes) -> bool:
    # A write that was cut off lacks its line end, or left zeros in blocks that were never flushed.
    # Anything else was put there by somebody and is not ours to cut.
    return not raw.endswith(b"\n") or b"\0" in line.raw


def _whole(line: _Line, name: str) -> int:
    value = line.entry.get(name) if line.entry is not None else 0
    return value if type(value) is int else 0


def _is_linear(lines: Sequence[_Line]) -> bool:
    previous = ""
    for line in lines:
        if line.entry is None or (line.entry.get("prev") or "") != previous:
            return False
        previous = digest_of(line.raw)
    return True


def _written(lines: Sequence[_Line]) -> Iterator[Written]:
    for line in lines:
        # Most records write nothing, and a journal has thousands.
        if b'"was"' not in line.raw or line.entry is None:
            continue
        files = line.entry.get("files")
        for n, item in enumerate(files if isinstance(files, list) else ()):
            values = [item.get(name) for name in ("path", "digest", "was")] if isinstance(item, dict) else []
            if values and all(isinstance(value, str) for value in values):
                yield Written(_whole(line, "seq"), n, *map(str, values))


def _broken(path: str, why: str) -> str:
    return f"{path}: {why}; nothing is added to it until `phasekeeper repair` was run"


def check_record(given: Mapping[str, object]) -> None:
    """Raises ValueError or TypeError for what a reader of journals would refuse.

    Such a line must not get into a journal: it could not be taken out again.
    """
    if given.get("kind") not in KINDS:
        raise ValueError(f"unknown kind of record {given.get('kind')!r}")
    for name, empty in EMPTY_RECORD.items():
        if given.get(name) is not None and type(given[name]) is not type(empty):
            raise TypeError(f"{name} of a record must be a {type(empty).__name__}")


def record_in(line: bytes) -> dict[str, object] | None:
    """The record in a line, None when a reader of journals would refuse it."""
    entry = _entry(line)
    try:
        check_record(entry or {})
    except (ValueError, TypeError):
        return None
    return entry


def line_of(entry: Mapping[str, object]) -> str:
    """One line without its end. Raises ValueError or TypeError for what is no JSON."""
    return json.dumps(entry, ensure_ascii=True, allow_nan=False)


def append(folder: Folder, name: str, tail: Tail, lines: Sequence[str]) -> None:
    """Puts lines behind the tail and flushes them: when this returns they are there after a power loss.

    Raises OSError when nothing was added, and Unknown when that could not be made sure.
    """
    raw = ("" if tail.ended else "\n").encode() + "".join(line + "\n" for line in lines).encode("ascii")
    if tail.size + len(raw) > MAX_BYTES:
        raise StoreError(
            f"{folder.below(name)} would grow past {MAX_BYTES} bytes, which is not read any more"
        )
    descriptor = folder.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        if not tail.size:
            # The name comes first: a log with a line in it is one whose name is on the disk.
            folder.sync()
        if tail.torn:
            os.ftruncate(descriptor, tail.size)
        _append(descriptor, raw, tail.size, folder.below(name))
    finally:
        close(descriptor)


class Unknown(StoreError):  # noqa: N818 - said to people as it is
    """The disk failed while a line was added, and again while it was taken back."""


def _append(descriptor: int, raw: bytes, size: int, path: str) -> None:
    try:
        write_all(descriptor, raw)
        os.fsync(descriptor)
    except OSError as error:
        _take_back(descriptor, size, path, error)
        raise


def _take_back(descriptor: int, size: int, path: str, error: OSError) -> None:
    try:
        os.ftruncate(descriptor, size)
        # A flush that failed may have written the line all the same; the cut must be on the disk too.
        os.fsync(descriptor)
    except OSError:
        why = (error.strerror or "the system refused").lower()
        raise Unknown(
            f"{path}: {why}, and whether the record is in it is not known; look with `phasekeeper history`"
        ) from error
