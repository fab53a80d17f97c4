"""The end of a journal or a claims log, and appending lines behind it.

Lines are ASCII, so that a torn one can be cut off anywhere and the rest still reads, and so that no
control or bidirectional character hides in a review. Several lines of one commit are written by one
call; each but the last says in `more` how many are still to come. What ends before that was never
committed: it is torn, like a line that is cut off in its middle.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...orchestration.journal.journal import read_journal, record_fault
from ...orchestration.journal.lines import JournalLine, parse_line, parse_lines
from ...orchestration.vfs.files import digest_of, parent
from ..disk.disk_files import MAX_BYTES
from .folder import Folder, StoreError, close, write_all

_WRITTEN = re.compile(rb'\{"path": "([^"\\\n]*(?:\\.[^"\\\n]*)*)", "digest": "([0-9a-f]*)", "was"')
_FILE_FIELDS = ("path", "digest", "was")
_LINKED = re.compile(rb'"prev": "([0-9a-f]{16})"(?:, "(?:mac|signature)": "[0-9A-Za-z+/=]*")?\}')


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
    `ended` says that the last line that stays has its line end. `raw` are the bytes that stay. `merged` are
    the last lines of branches that count beside `head`, and that no record links yet.
    """

    head: str = ""
    seq: int = 0
    size: int = 0
    torn: bool = False
    ended: bool = True
    raw: bytes = b""
    merged: Sequence[str] = ()

    def folders(self) -> set[str]:
        """The folders of the files that the records say were written."""
        return {parent(path) for path in self.newest_digests()}

    def newest_digests(self) -> dict[str, str]:
        """Path -> what the newest record that wrote it says that it holds."""
        return {path: match[2].decode() for path, match in self._newest_matches().items()}

    def newest_writes(self, paths: Collection[str]) -> list[WrittenFile]:
        """The newest record's word on each of these paths. Each line that has one of them is parsed once."""
        last = {path: match for path, match in self._newest_matches().items() if path in paths}
        starts = [0, *(match.end() for match in re.finditer(rb"\n", self.raw)), len(self.raw)]
        lines = {bisect_right(starts, match.start()) for match in last.values()}
        parsed = (parse_line(self.raw[starts[n - 1] : starts[n]]) for n in sorted(lines))
        return [
            each
            for line in parsed
            for each in _files_written(line)
            if each.path in last and last[each.path][2].decode() == each.digest
        ]

    def _newest_matches(self) -> dict[str, re.Match[bytes]]:
        """Path -> where the newest line that says so says what was written there. A line may be no record."""
        newest = {match[1]: match for match in _WRITTEN.finditer(self.raw)}
        found: dict[str, re.Match[bytes]] = {}
        for quoted, match in newest.items():
            # What is no text in JSON stands in no record.
            with suppress(ValueError):
                found[json.loads(f'"{quoted.decode()}"')] = match
        return found

    def written_files(self, numbers: Container[int]) -> list[WrittenFile]:
        """The files that the records with these numbers say were written."""
        marked = [line for line in self.raw.split(b"\n") if b'"was"' in line] if numbers else []
        lines = (line for line in map(parse_line, marked) if line.integer("seq") in numbers)
        return [each for line in lines for each in _files_written(line)]


def _files_written(line: JournalLine) -> Iterator[WrittenFile]:
    files = (line.written or {}).get("files")
    for n, item in enumerate(files if isinstance(files, list) else ()):
        named = item if isinstance(item, dict) else {}
        texts = [value for name in _FILE_FIELDS if isinstance(value := named.get(name), str)]
        if len(texts) == len(_FILE_FIELDS):
            yield WrittenFile(line.integer("seq"), n, *texts)


class BrokenLog(StoreError):  # noqa: N818 - said to people as it is
    """A line in the middle cannot be trusted; nothing is appended behind it."""


def read_tail(raw: bytes, path: str, chained: bool = True) -> LogTail:
    """The end of the log in `raw`. Raises BrokenLog when a line before its last cannot be read or, with
    `chained`, when lines do not follow each other. A fork is none of that: the longer branch goes on."""
    if chained and (tail := _fast_tail(raw)):
        return tail
    lines, size = parse_lines(raw), len(raw)
    # A write that was cut off lacks its line end, or left zeros in blocks that were never flushed.
    # Anything else was put there by somebody and is not ours to cut.
    if lines and lines[-1].written is None and (not raw.endswith(b"\n") or "\0" in lines[-1].text):
        size = lines.pop().start
    while lines and lines[-1].integer("more") > 0:
        size = lines.pop().start
    good = [line for line in lines if line.written is not None]
    head, merged = good[-1].digest if good else "", tuple[str, ...]()
    if chained:
        bad = next((line for line in lines if record_fault(line.data)), None)
        journal = read_journal(raw[:size])
        if bad or journal.broken:
            known = f"line {bad.number + 1} is no record this version knows" if bad else ""
            why = known or journal.problems[-1].message
            raise BrokenLog(f"{path}: {why}; nothing is added to it until `phasekeeper repair` was run")
        head, merged = journal.head, journal.merged
    seq = max((line.integer("seq") for line in good), default=0)
    ended = size == 0 or raw[size - 1 : size] == b"\n" or raw[:size] == BOM_UTF8
    return LogTail(head, seq, size, size < len(raw), ended, raw[:size], merged)


def _fast_tail(raw: bytes) -> LogTail | None:
    """The tail of a journal as this store left it; None when that takes a closer look.

    Nearly every journal is one, and reading each line of thousands for each commit would take longer than
    all the flushing. A line whose digest stands in the next one is the line that was written. The CR of a
    line end is no part of it; git may have put that there.
    """
    lines = raw.split(b"\n")
    if lines.pop() or not lines or lines[0].endswith(b"\r"):
        return None
    first, last = parse_line(lines[0]), parse_line(lines[-1])
    if first.written is None or first.written.get("prev") or record_fault(last.data) or last.integer("more"):
        return None
    digest = first.digest
    for line in lines[1:]:
        link = _LINKED.fullmatch(line, max(0, line.rfind(b'"prev": "')))
        if link is None or link[1].decode() != digest:
            return None
        digest = digest_of(line)
    return LogTail(digest, last.integer("seq"), len(raw), raw=raw)


def format_line(entry: Mapping[str, object]) -> str:
    """One line without its end. Raises ValueError or TypeError for what no reader would take."""
    line = json.dumps(entry, ensure_ascii=True, allow_nan=False)
    if parse_line(line).written is None:
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
        try:
            os.ftruncate(descriptor, size)
            # A flush that failed may have written the line all the same; the cut must be on the disk too.
            os.fsync(descriptor)
        except OSError:
            why = (error.strerror or "the system refused").lower()
            said = "and whether the record is in it is not known; look with `phasekeeper history`"
            raise UnknownOutcome(f"{path}: {why}, {said}") from error
        raise
