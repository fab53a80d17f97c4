"""The files that git knows and the digests of their contents, each read again only where its status changed.

A status is (inode, size, mtime, ctime). One that was taken in the same tick of the file system's clock as the
last change may hide another change, so such a file is read again until its times are old ("racily clean").
Digests are SHA-256 over the bytes on the disk: git's own names of contents are made behind filters, and would
say that nothing changed where line ends did.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ...orchestration.vfs.files import is_below_root, parent
from ..disk import git, safe_open
from ..disk.repository import head_of
from ..disk.safe_open import RefusedError, close

MOST_INPUTS = 300_000
"""A root with more files has no inputs that can be told."""
RACY_NS = 50_000_000
"""No file system that is in use has a coarser clock, but FAT, whose times are even seconds."""
_FAT_NS = 2_000_000_000
_CHUNK = 1 << 20
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)

UNREADABLE = "unreadable"
"""The digest of what is there and cannot be read: with it nobody knows what a check ran on."""


Status = tuple[int, int, int, int]
"""(mtime, ctime, size, inode)."""


class _DigestEntry(NamedTuple):
    """A digest and the status it was read at; a `racy` one may be another file's by now."""

    status: Status
    digest: str
    racy: bool


class InputTable:
    """The files of one root. Used from one thread at a time. `reads` counts those whose bytes were read."""

    def __init__(self, root: Path | str) -> None:
        self.root = os.path.realpath(root)
        self.reads = 0
        self._digests: dict[str, _DigestEntry] = {}
        self._lines: dict[str, tuple[str, bytes]] = {}
        self._changed: set[str] | None = None
        """Where changes are told: the files that may have changed since they were looked at."""
        self._files: tuple[str, ...] | None = None
        self._is_known = False

    def files(self) -> tuple[str, ...] | None:
        """The files below the root that git tracks or would track, in order; None where there is no git.

        Listed once; `forget_files` has it listed again.
        """
        if not self._is_known:
            self._files, self._is_known = self._list_files(), True
        return self._files

    def forget_files(self) -> None:
        """Files came or went, or what git ignores changed."""
        self._is_known = False

    def rely_on_changes(self, told: bool) -> None:
        """From now on every change is told by `note_changes`, so that nothing else is looked at; or not."""
        self._changed = set() if told else None

    def note_changes(self, paths: Iterable[str]) -> bool:
        """These files, or all that is below these folders, may have changed, come or gone.

        True if there are other files than before, or nobody can tell which ones changed.
        """
        known, noted = self._digests, {*paths}
        others = {path for path in noted if path not in known}
        if self._changed is not None:
            self._changed |= noted - others
            # What lies below folders: a path is told by the folders above it.
            below = (path for path in known if not others.isdisjoint(_above(path))) if others else ()
            self._changed.update(below)
        came = [path for path in others if os.path.lexists(os.path.join(self.root, path))]  # noqa: PTH118
        if not came or not self._is_known or self._files is None:
            return bool(came)
        found = self._list_files(*(path or "." for path in came)) or ()
        files = tuple(sorted({*self._files, *found}))
        differs, self._files = files != self._files, files
        return differs or any(os.path.isdir(os.path.join(self.root, path)) for path in came)  # noqa: PTH112, PTH118

    def _list_files(self, *only: str) -> tuple[str, ...] | None:
        if not head_of(Path(self.root)).state:
            return None
        words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *(only or (".",)))
        listing = git.answer(Path(self.root), *words)
        names = {name for name in os.fsdecode(listing).split("\0") if is_below_root(name)}
        return tuple(sorted(names))

    def digests(self, paths: Sequence[str]) -> dict[str, str]:
        """path → digest of its content; those that are not there are left out.

        `paths` are sorted, so that each folder is opened once.
        """
        if self._changed is not None:
            known, changed = self._digests, self._changed
            due = [path for path in paths if path in changed or path not in known or known[path].racy]
            changed.difference_update(due)
            # What was looked for and not found is looked for again; there is little of it.
            self._read_all(due)
            return {path: known[path].digest for path in paths if path in known}
        return self._read_all(paths)

    def _read_all(self, paths: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for folder, names in groupby(paths, parent):
            found |= self._digests_in(folder, names)
        return found

    def lines(self, digests: Mapping[str, str], line: Callable[[str, str], bytes]) -> list[bytes]:
        """The line of each file in a manifest; those that are as before are not made again."""
        made, lines = self._lines, list[bytes]()
        for path, digest in digests.items():
            known = made.get(path)
            if known is None or known[0] is not digest:
                known = made[path] = digest, line(path, digest)
            lines.append(known[1])
        return lines

    def _digests_in(self, folder: str, paths: Iterable[str]) -> dict[str, str]:
        try:
            above = safe_open.open_folder(self.root, folder)
        except FileNotFoundError:
            return {}
        except (OSError, RefusedError):
            # A link in the place of a folder: what is behind it may lie anywhere.
            there = os.path.lexists(os.path.join(self.root, folder))  # noqa: PTH118
            return dict.fromkeys(paths, UNREADABLE) if there else {}
        prefix = "" if above is not None else os.path.join(self.root, folder, "")  # noqa: PTH118
        skip, known, look, found = len(folder) + 1 if folder else 0, self._digests, os.stat, dict[str, str]()
        try:
            for path in paths:
                name = prefix + path[skip:]
                # Little more than a call to the system: of 10,000 files nearly all are as they were.
                try:
                    status = look(name, dir_fd=above, follow_symlinks=False)
                except (FileNotFoundError, NotADirectoryError):
                    known.pop(path, None)
                    continue
                except OSError:
                    found[path] = UNREADABLE
                    continue
                key = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
                last = known.get(path)
                if last is not None and last.status == key and not last.racy:
                    found[path] = last.digest
                else:
                    found[path] = self._read(path, name, above, status, key)
        finally:
            if above is not None:
                close(above)
        return found

    def _read(self, path: str, name: str, above: int | None, status: os.stat_result, key: Status) -> str:
        before_ns = time.time_ns()
        digest = self._content_digest(path, name, above, status)
        coarse = key[0] % _FAT_NS == 0
        racy = before_ns - max(key[:2]) < (_FAT_NS if coarse else RACY_NS)
        self._digests[path] = _DigestEntry(key, digest, racy)
        return digest

    def _content_digest(self, path: str, name: str, above: int | None, status: os.stat_result) -> str:
        """The digest of a file, of the target of a link, or of the commit of a submodule."""
        if stat.S_ISLNK(status.st_mode):
            with suppress(OSError):
                return sha256(b"link\0" + os.fsencode(os.readlink(name, dir_fd=above))).hexdigest()
            return UNREADABLE
        if stat.S_ISDIR(status.st_mode):
            return sha256(repr(head_of(Path(self.root, path)).state[1:]).encode()).hexdigest()
        if not stat.S_ISREG(status.st_mode):
            return UNREADABLE
        self.reads += 1
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=above)
        except OSError:
            return UNREADABLE
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return UNREADABLE
            hashing = sha256()
            while chunk := os.read(descriptor, _CHUNK):
                hashing.update(chunk)
            return hashing.hexdigest()
        except OSError:
            return UNREADABLE
        finally:
            close(descriptor)


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, "" at last."""
    while path:
        path = parent(path)
        yield path
