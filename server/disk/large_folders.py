"""Folders of so many names that to list them takes longer than to ask a watcher what was written in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from .disk_files import Listing
from .safe_open import may_link

LARGE_FOLDER = 512


def is_large(count: int) -> bool:
    """True for a folder of so many names, or folders of so many files."""
    return count >= LARGE_FOLDER


class FolderSign(NamedTuple):
    """Values that tell one state of the names in a folder from another without listing it."""

    device: int
    inode: int
    mtime_ns: int
    ctime_ns: int


def folder_sign(full: str) -> FolderSign | None:
    """The sign of the folder at a full path; None for a link, no folder, or what cannot be looked at."""
    try:
        status = os.lstat(full)
    except (OSError, ValueError):
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    return FolderSign(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


class LargeFolders:
    """The large folders of a root, with their signs right before they were listed.

    A sign vouches for the names alone, so that none can come or go unseen. That a file was written in place
    is what a watcher tells, but for one that is written by another name, or lies on another file system: a
    folder that is reached by a link, or with a link or a hard link in it, or a mount, is none of these. Only
    the next whole look sees what is written by a hard link that was made since, or by a memory map.
    """

    def __init__(self, root: str) -> None:
        sign = folder_sign(root)
        self._device = sign.device if sign else None
        self._signs: dict[str, FolderSign] = {}

    def note(self, folder: str, sign: FolderSign | None, listing: Listing, settled_ns: int) -> None:
        """A folder was listed, whose sign was this one before; what changed after `settled_ns` may change
        once more without another sign."""
        names = listing.names
        is_vouched_for = (
            is_large(len(names))
            and sign is not None
            and sign.device == self._device
            and max(sign.mtime_ns, sign.ctime_ns) < settled_ns
            and not listing.has_hard_links
            and not any(map(may_link, names.values()))
        )
        if sign is not None and is_vouched_for:
            self._signs[folder] = sign
        else:
            self.drop(folder)

    def drop(self, folder: str) -> None:
        """The folder counts as any other."""
        self._signs.pop(folder, None)

    def has_same_names(self, folder: str, full: str) -> bool:
        """True if a stat shows that a large folder, at this full path, has the names that it had."""
        sign = self._signs.get(folder)
        return sign is not None and sign == folder_sign(full)

    def among(self, keys: Iterable[str]) -> list[str]:
        """The large folders whose names these keys are about; such a key ends with a "/"."""
        signs = self._signs
        return [key[:-1] for key in keys if key[-1:] == "/" and key[:-1] in signs] if signs else []
