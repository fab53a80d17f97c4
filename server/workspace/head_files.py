"""The files of the commit HEAD of the repository that a root lies in, without a process for each."""

from __future__ import annotations

import os
from hashlib import sha1, sha256
from pathlib import Path
from typing import NamedTuple

from ..disk import git
from ..disk.disk_files import MAX_BYTES
from ..disk.repository import head_of
from ..disk.safe_open import refusal
from ..lru_cache import LruCache

_SHA1_DIGITS = 40
_KEPT_BYTES = 1 << 20
"""Contents that differ from the disk are kept up to that, so that no save asks git for them again."""


class CommittedFile(NamedTuple):
    """A file as a commit lists it: the name of its content, and how many bytes that has."""

    blob: str
    size: int


class HeadFiles:
    """The files below a root as HEAD has them while this lives; what fails says that there is none.

    A folder of runs is listed by one process, whatever is asked of it; one more is needed for each file that
    is not on the disk as it was committed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed: dict[str, dict[str, CommittedFile]] = {}
        self._has_head: bool | None = None
        self._contents: LruCache[str, bytes] = LruCache(_KEPT_BYTES, len)

    def blob(self, path: str) -> str:
        """The name of a file's content, "" where HEAD does not have it. Equal names, equal bytes."""
        found = self._find(path)
        return found.blob if found else ""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where HEAD does not have it, or on any doubt."""
        found = self._find(path)
        if found is None or found.size > MAX_BYTES:
            return None
        on_disk = _bytes_of(self._root / path, found.size)
        if on_disk is not None and _blob_of(on_disk, found.blob) == found.blob:
            return on_disk
        content = self._contents.get(found.blob)
        if content is None:
            content = git.answer(self._root, "cat-file", "blob", found.blob)
            if len(content) != found.size:
                return None
            self._contents.keep(found.blob, content)
        return content

    def _find(self, path: str) -> CommittedFile | None:
        if refusal(path):
            return None
        folder = path.rpartition("/")[0]
        above = folder.rpartition("/")[0] or folder
        where = above or path
        if where not in self._listed:
            self._listed[where] = self._list(where)
        return self._listed[where].get(path)

    def _list(self, where: str) -> dict[str, CommittedFile]:
        if self._has_head is None:
            self._has_head = bool(head_of(self._root).state)
        if not self._has_head:
            return {}
        files: dict[str, CommittedFile] = {}
        listing = git.answer(self._root, "ls-tree", "-r", "-z", "-l", "HEAD", "--", where)
        for line in os.fsdecode(listing).split("\0"):
            described, _, name = line.partition("\t")
            _, kind, blob, size = described.split() if len(described.split()) == 4 else ("",) * 4
            if kind == "blob" and size.isdecimal():
                files[name] = CommittedFile(blob, int(size))
        return files


def _bytes_of(path: Path, size: int) -> bytes | None:
    """The bytes of a plain file of that size, else None."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size != size:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _blob_of(content: bytes, like: str) -> str:
    """The name that git gives a content, in the way of another name."""
    digest = sha1 if len(like) == _SHA1_DIGITS else sha256
    return digest(b"blob %d\0%s" % (len(content), content)).hexdigest()
