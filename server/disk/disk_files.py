"""A frozen view of one root on a disk: `DiskFiles`, the real implementation of `Files`.

These promises hold for every path, however hostile the tree is:

- Nothing outside the root is ever opened, and nothing blocks: see `beneath`.
- Nothing raises. What the system refuses to give comes back as a `File` with a `Problem`.

A torn save. An editor that truncates and rewrites a file in place can be met half-way. If the size or
the time of modification moved while the bytes were read, they are read again, three times at most, and
after that the file is reported as unreadable rather than judged on a mixture. A half that lies still
between two writes of the editor looks like any broken file; with `grace` a file that was saved this moment
and ends in the middle of a structure is read again when its grace is over. A save by rename is never torn:
the open descriptor keeps the old file whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import sleep, time_ns
from typing import NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.vfs.files import (
    MAX_BYTES,
    MEBIBYTE,
    Entry,
    File,
    below,
    decode,
    name_in,
    parent,
    too_large,
)
from ..lru_cache import LruCache
from . import safe_open
from .partial_saves import GRACE_MS, MAX_HOLD_MS, is_partial
from .safe_open import RefusedError, close, refusal

MAX_HASHED_BYTES = 256 * MEBIBYTE
"""Larger files get no digest either: a sparse file of a terabyte would be hashed for half an hour."""

TEXT_BYTES = 64 * MEBIBYTE
"""So much text is kept; a file that was not asked for for long is read again."""
_READS = 3
_LOOK_MS = 10.0
"""So often a file that may be half saved is read again."""
_CHUNK = MEBIBYTE
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL)


class StatKey(NamedTuple):
    """Values that tell one state of a file from another without reading it; `inode` 0 is nothing there."""

    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0


ABSENT = StatKey()


class DiskFiles:
    """A frozen view of one root: each path is looked at once, later questions get the same answer.

    `reads`, `listings` and `unlisted_folders` say what was looked at so far; the last names the folders
    that exist but could not be listed, which an empty listing alone would hide. With `grace` it waits for
    what may be half saved, `MAX_HOLD_MS` at most in all.
    """

    def __init__(self, root: Path | str, *, grace: bool = False) -> None:
        self.root = os.path.realpath(root)
        self._grace_left_ms = float(MAX_HOLD_MS) if grace else 0.0
        self.reads: dict[str, File] = {}
        self._texts = LruCache[str, File](TEXT_BYTES, lambda file: file.size)
        self.listings: dict[str, Mapping[str, Entry]] = {}
        self.unlisted_folders: dict[str, Problem] = {}

    def read(self, path: str) -> File:
        """The file at `path`.

        `exists` is False for what is missing and, with a problem, for what is no regular file inside the
        root: a folder, a pipe, a link that leads out or to nothing. It is True, with a problem, when the
        system refused to say more (permissions, a bad disk). What cannot be read never passes for absent.
        """
        known = self.reads.get(path)
        if known is None:
            file = self._settled_file(path)
            if not file.exists and file.problem is None:
                listed = self.listings.get(parent(path), {}).get(name_in(path))
                if listed is not None and listed.kind == "file":
                    file = vanished_file(path)
            self.reads[path] = file if file.text is None else replace(file, text=None)
            if file.text is not None:
                self._texts.keep(path, file)
            return file
        if not known.exists or known.problem:
            return known
        # A text that was let go is read again; what is another one now is not mixed with what was seen.
        file = self._texts.get(path) or file_at(self.root, path)
        if file.digest != known.digest:
            file = self.reads[path] = _unreadable(path, "the file changed while the root was looked at", True)
        elif file.text is not None:
            self._texts.keep(path, file)
        return file

    def _settled_file(self, path: str) -> File:
        """The file as it is when nobody is in the middle of saving it, as far as that can be told."""
        file = file_at(self.root, path)
        while self._grace_left_ms > 0 and (age_ms := abs(time_ns() - file.mtime_ns) / 1e6) < GRACE_MS:
            if not is_partial(File(path), file):
                break
            wait_ms = min(_LOOK_MS, GRACE_MS - age_ms, self._grace_left_ms)
            sleep(wait_ms / 1000)
            self._grace_left_ms -= wait_ms
            file = file_at(self.root, path)
        return file

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The names in a folder, sorted; empty when there is none or it cannot be listed."""
        if folder not in self.listings:
            listing = listing_at(self.root, folder)
            self.listings[folder] = listing.names
            if listing.problem:
                self.unlisted_folders[folder] = listing.problem
        return self.listings[folder]

    def entry(self, path: str) -> Entry | None:
        """One name as the listing of its folder has it."""
        return self.list(parent(path)).get(name_in(path))


def vanished_file(path: str) -> File:
    """A file that its folder has and that is not there: nobody can tell which of the two is true."""
    return File(path, problem=Problem("artifact-missing", "it vanished while the folder was read"))


def file_at(root: str, path: str) -> File:
    """The file at a path below a resolved root as it is now; see `DiskFiles.read`."""
    if reason := refusal(path):
        return _unreadable(path, reason)
    try:
        descriptor, status = safe_open.open_file(root, path)
    except RefusedError as error:
        return _unreadable(path, str(error))
    except OSError as error:
        if error.errno in _MISSING:
            return File(path)
        return _unreadable(path, _reason(error), error.errno != errno.ELOOP)
    try:
        file = _content(path, descriptor, status)
    except OSError as error:
        return _unreadable(path, _reason(error), True)
    finally:
        close(descriptor)
    try:
        path.encode()
    except UnicodeEncodeError:
        problem = Problem("artifact-unreadable", "the name of the file is not UTF-8")
        return File(path, True, None, file.digest, file.size, file.mtime_ns, problem)
    return file


class Listing(NamedTuple):
    """The names in a folder, sorted; why it could not be listed; whether one of its files has hard links."""

    names: dict[str, Entry]
    problem: Problem | None = None
    has_hard_links: bool = False


def listing_at(root: str, folder: str) -> Listing:
    """A folder below a resolved root as it is now."""
    if folder and refusal(folder):
        return Listing({})
    try:
        names, has_hard_links = safe_open.list_folder(root, folder)
    except RefusedError as error:
        return Listing({}, Problem("artifact-unreadable", str(error)))
    except OSError as error:
        known = error.errno in _MISSING
        return Listing({}, None if known else Problem("artifact-unreadable", _reason(error)))
    return Listing({name: names[name] for name in sorted(names)}, None, has_hard_links)


def entry_at(root: str, folder: str, name: str) -> Entry | None:
    """One name of a folder below a resolved root as it is now; see `listing_at`."""
    if refusal(below(folder, name)):
        return None
    try:
        return safe_open.look_up(root, folder, name)
    except OSError as error:
        return None if error.errno in _MISSING else listing_at(root, folder).names.get(name)
    except RefusedError:
        return None


def _unreadable(path: str, message: str, exists: bool = False) -> File:
    return File(path, exists, problem=Problem("artifact-unreadable", message))


def _reason(error: OSError) -> str:
    return (error.strerror or "the system could not read it").lower()


def _content(path: str, descriptor: int, before: os.stat_result) -> File:
    for _ in range(_READS):
        os.lseek(descriptor, 0, os.SEEK_SET)
        # Up to the end of the file, or one byte more than is read of any.
        chunks, left, step = list[bytes](), MAX_BYTES + 1, max(before.st_size, 0) + 1
        while left and (chunk := os.read(descriptor, min(left, step))):
            chunks.append(chunk)
            left -= len(chunk)
        raw = b"".join(chunks)
        if not left:
            digest, size = _digest_and_size(descriptor, raw)
            return too_large(path, size, digest, before.st_mtime_ns)
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return decode(path, raw, after.st_mtime_ns)
        before = after
    return _unreadable(path, "the file changed each time it was read", True)


def _digest_and_size(descriptor: int, start: bytes) -> tuple[str, int]:
    """(digest, size) of the whole file whose first bytes are `start`; digest "" past the limit."""
    size = max(os.fstat(descriptor).st_size, len(start))
    if size > MAX_HASHED_BYTES:
        return "", size
    hashing, total = sha256(start), len(start)
    while total <= MAX_HASHED_BYTES and (chunk := os.read(descriptor, _CHUNK)):
        hashing.update(chunk)
        total += len(chunk)
    return ("" if total > MAX_HASHED_BYTES else hashing.hexdigest()[:16]), total


def stat_key(full: str | Path) -> StatKey:
    """The state of a file, links followed; all zeros where nothing is or can be looked at."""
    try:
        status = os.stat(full)  # noqa: PTH116 - a Path for each of 100,000 names is slow
    except (OSError, ValueError):
        return ABSENT
    return StatKey(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
