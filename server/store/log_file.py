"""The lines of a journal or a claims log: where the next one goes, and putting it there.

Lines are ASCII, so that a torn one can be cut off anywhere and the rest still reads, and so that no
control or bidirectional character hides in a review. Several lines of one commit are written by one
call; each but the last says in `more` how many are still to come. What ends before that was never
committed: it is torn, like a line that is cut off in its middle.
"""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...orchestration.formats.json_text import read_json
from ...orchestration.journal.journal import EMPTY_RECORD, KINDS, read_journal
from ...orchestration.journal.lines import JournalLine, parse_line, parse_lines
from ...orchestration.vfs.files import digest_of
from ..disk.disk_files import MAX_BYTES
from .folder import Folder, StoreError, close, write_all

_WRITTEN = re.compile(rb'\{"path": "([^"\\\n]*(?:\\.[^"\\\n]*)*)", "digest": "[0-9a-f]*", "was"')
_LINKED = re.compile(rb'"prev": "([0-9a-f]{16})"(?:, "mac": "[0-9a-f]*")?\}')


class WrittenFile(NamedTuple):
    """A file that a record says was written: by record `seq`, as number `n` of its files."""

    seq: int
    n: int
    path: str
    digest: str
    was: str


class LogTail(NamedTuple):
    """Where a log ends: `head` is the digest the next line follows, `seq` the highest number given so far.

    `size` is how many bytes stay; `torn` says that others follow them, which the next write cuts off.
    `ended` says that the last line that stays has its line end. `raw` are the bytes that stay.
    """

    head: str = ""
    seq: int = 0
    size: int = 0
    torn: bool = False
    ended: bool = True
    raw: bytes = b""

    def folders(self) -> set[str]:
        """The folders of the files that the records say were written."""
        paths = (json.loads(b'"%s"' % quoted) for quoted in set(_WRITTEN.findall(self.raw)))
        return {path.rpartition("/")[0] for path in paths}

    def written(self, numbers: Container[int]) -> list[WrittenFile]:
        """What the records with these numbers say was written."""
        marked = (parse_line(line) for line in self.raw.split(b"\n") if b'"was"' in line) if numbers else ()
        return [each for entry in marked if entry for each in _written_files(entry) if each.seq in numbers]


class BrokenLog(StoreError):  # noqa: N818 - said to people as it is
    """A line in the middle cannot be trusted; nothing is appended behind it."""


def read_tail(raw: bytes, path: str, chained: bool = True) -> LogTail:
    """Where the log in `raw` ends. Raises Broken when a line before its last cannot be read or, with
    `chained`, when lines do not follow each other. A fork is none of that: the longer branch goes on."""
    return (chained and _fast_tail(raw)) or _full_tail(raw, path, chained)


def _fast_tail(raw: bytes) -> LogTail | None:
    """The tail of a journal as this store left it; None when that takes a closer look.

    Nearly every journal is one, and reading each line of thousands for each commit would take longer than
    all the flushing. A line whose digest stands in the next one is the line that was written.
    """
    lines = raw.split(b"\n")
    first, last = parse_line(lines[0]), parse_line(lines[-2]) if len(lines) > 1 else None
    if lines.pop() or first is None or last is None or first.get("prev") or not _is_last(last):
        return None
    digest = digest_of(lines[0])
    for line in lines[1:]:
        link = _LINKED.fullmatch(line, max(0, line.rfind(b'"prev": "')))
        if link is None or link[1].decode() != digest:
            return None
        digest = digest_of(line)
    return LogTail(digest, _integer(last, "seq"), len(raw), raw=raw)


def _is_last(entry: Mapping[str, object]) -> bool:
    return entry.get("kind") in KINDS and _integer(entry, "more") == 0


def _full_tail(raw: bytes, path: str, chained: bool) -> LogTail:
    lines, size = _cut_uncommitted(parse_lines(raw), raw, path, chained)
    good = [(line.raw, line.data) for line in lines if line.data is not None]
    head = digest_of(good[-1][0]) if good else ""
    if chained and not _is_linear(good):
        journal = read_journal(raw[:size].decode("utf-8-sig", "replace"))
        if journal.broken:
            raise BrokenLog(_broken_message(path, journal.problems[-1].message))
        head = journal.head
    seq = max((_integer(entry, "seq") for _, entry in good), default=0)
    ended = size == 0 or raw[size - 1 : size] == b"\n" or raw[:size] == BOM_UTF8
    return LogTail(head, seq, size, size < len(raw), ended, raw[:size])


def _cut_uncommitted(
    lines: list[JournalLine], raw: bytes, path: str, chained: bool
) -> tuple[list[JournalLine], int]:
    """(the lines that were committed, how many bytes they take)."""
    kept, size = list(lines), len(raw)
    if kept and kept[-1].data is None and _is_torn(kept[-1], raw):
        size = kept.pop().start
    while kept and _integer(kept[-1].data or {}, "more") > 0:
        size = kept.pop().start
    for line in kept if chained else []:
        if line.data is None or line.data.get("kind") not in KINDS:
            raise BrokenLog(_broken_message(path, f"line {line.number + 1} is no record this version knows"))
    return kept, size


def _is_torn(line: JournalLine, raw: bytes) -> bool:
    # A write that was cut off lacks its line end, or left zeros in blocks that were never flushed.
    # Anything else was put there by somebody and is not ours to cut.
    return not raw.endswith(b"\n") or b"\0" in line.raw


def _integer(entry: Mapping[str, object], name: str) -> int:
    value = entry.get(name)
    return value if type(value) is int else 0


def _is_linear(lines: Sequence[tuple[bytes, Mapping[str, object]]]) -> bool:
    previous = ""
    for raw, entry in lines:
        if (entry.get("prev") or "") != previous:
            return False
        previous = digest_of(raw)
    return True


def _written_files(entry: Mapping[str, object]) -> Iterator[WrittenFile]:
    files = entry.get("files")
    for n, item in enumerate(files if isinstance(files, list) else ()):
        values = [item.get(name) for name in ("path", "digest", "was")] if isinstance(item, dict) else []
        if values and all(isinstance(value, str) for value in values):
            yield WrittenFile(_integer(entry, "seq"), n, *map(str, values))


def _broken_message(path: str, why: str) -> str:
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


def is_record(entry: Mapping[str, object]) -> bool:
    """Whether a reader of journals would take the object of a line."""
    try:
        check_record(entry)
    except (ValueError, TypeError):
        return False
    return True


def format_line(entry: Mapping[str, object]) -> str:
    """One line without its end. Raises ValueError or TypeError for what no reader would take."""
    line = json.dumps(entry, ensure_ascii=True, allow_nan=False)
    if not read_json(line).readable:
        raise ValueError("a record holds half a surrogate pair, or is nested too deep")
    return line


def append_lines(folder: Folder, name: str, tail: LogTail, lines: Sequence[str]) -> None:
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
        _write_flushed(descriptor, raw, tail.size, folder.below(name))
    finally:
        close(descriptor)


class UnknownOutcome(StoreError):  # noqa: N818 - said to people as it is
    """The disk failed while a line was added, and again while it was taken back."""


def _write_flushed(descriptor: int, raw: bytes, size: int, path: str) -> None:
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
        raise UnknownOutcome(
            f"{path}: {why}, and whether the record is in it is not known; look with `phasekeeper history`"
        ) from error
