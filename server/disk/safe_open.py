"""Opening and listing below a root without ever leaving it, however hostile the tree is.

On POSIX each folder on the way is opened from its parent's descriptor without following links; a link is
resolved first, its target is checked, and the resolved path is then walked in the same strict way, so a swap
between the check and the open cannot lead out. Nothing blocks: only regular files are opened; pipes, sockets
and devices are told apart by `lstat`, and the open itself does not wait.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from ...orchestration.vfs.files import Entry, below

# More links than this on one way and no system follows them.
_MOST_LINKS = 40
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | _CLOEXEC | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FILE |= getattr(os, "O_BINARY", 0)
_LISTED = os.O_RDONLY | _CLOEXEC | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
# A folder that may be entered but not listed can still lead to a file.
_ENTERED = _LISTED | getattr(os, "O_PATH", 0)
_HAS_DESCRIPTORS = bool(_NOFOLLOW) and os.open in os.supports_dir_fd and os.scandir in os.supports_fd

# What a strict open says when a link stands in the way; BSDs answer EMLINK.
_MAYBE_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)

T = TypeVar("T")


class RefusedError(Exception):
    """Why a path is not read although the system might have given it."""


class FolderError(Exception):
    """The path is a folder: no file, and nothing wrong with it."""


class OpenFile(NamedTuple):
    descriptor: int
    status: os.stat_result


def refusal(path: str, windows: bool = os.sep == "\\") -> str | None:
    """Why `path` cannot name a file below a root, or None when it can."""
    if "\0" in path:
        return "the path holds a NUL byte"
    # On Windows a backslash separates, and a colon names a drive or a stream of another file.
    if windows and ("\\" in path or ":" in path):
        return "the path holds a backslash or a colon"
    if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        return "the path does not lead to a file below the root"
    return None


def close(descriptor: int) -> None:
    """Closes; an error then says nothing about what was read, or flushed, before."""
    with suppress(OSError):
        os.close(descriptor)


def links_on(root: str, path: str) -> frozenset[str]:
    """The links below a resolved root that the way of a path leads through, and where it comes out: what has
    to be watched for changes besides the path itself. Empty when there is no link on the way.

    Like the system it follows a bounded number of links, so that one that leads to itself has an end.
    """
    if not _has_link(root, path):
        return frozenset()
    places: set[str] = set()
    waiting, at, followed = path.split("/")[::-1], Path(root), 0
    while waiting and followed < _MOST_LINKS:
        name = waiting.pop()
        if name == "..":
            at = at.parent
            continue
        at /= name
        try:
            target = at.readlink()
        except (OSError, ValueError):
            continue
        followed += 1
        places |= _places(root, str(at))
        at = Path(target.anchor) if target.is_absolute() else at.parent
        waiting += [part for part in target.parts if part != target.anchor][::-1]
    return frozenset(places | _places(root, str(at))) if places else frozenset()


def _has_link(root: str, path: str) -> bool:
    """Whether a name on the way of a path is a link: nearly none is, and a Path for each name is slow."""
    at = root
    for name in path.split("/"):
        at += os.sep + name
        if os.path.islink(at):  # noqa: PTH114
            return True
    return False


def _places(root: str, full: str) -> set[str]:
    place = _inside(root, full)
    return {place} if place else set()


# --- opening without leaving the root


def _inside(root: str, real: str) -> str | None:
    """The root-relative POSIX path of a resolved path; None outside of the root."""
    prefix = root if root.endswith(os.sep) else root + os.sep
    if os.path.normcase(real) == os.path.normcase(root):
        return ""
    if not os.path.normcase(real).startswith(os.path.normcase(prefix)):
        return None
    return real[len(prefix) :].replace(os.sep, "/")


def _full_path(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))  # noqa: PTH118 - a Path for each of 10,000 names is slow


def _resolve(root: str, path: str) -> str:
    real = _inside(root, os.path.realpath(_full_path(root, path)))
    if real is None:
        raise RefusedError("the link leads out of the root")
    return real


def _through_links(root: str, path: str, strictly: Callable[[str, str], T]) -> T:
    """What `strictly` gives for `path`; when a link stands in the way, for the path it resolves to."""
    try:
        return strictly(root, path)
    except OSError as error:
        real = _resolve(root, path) if error.errno in _MAYBE_LINK else path
        if real == path:
            raise
    return strictly(root, real)


def _enter(root: str, folder: str, flags: int) -> int:
    """A descriptor of `folder`, opened name by name so that no link is followed."""
    names = folder.split("/") if folder else []
    descriptor = os.open(root, _ENTERED if names else flags)
    for left, name in zip(range(len(names) - 1, -1, -1), names, strict=True):
        above = descriptor
        try:
            descriptor = os.open(name, _ENTERED if left else flags, dir_fd=above)
        finally:
            close(above)
    return descriptor


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(status.st_mode):
        raise FolderError
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError("it is not a regular file")


def _open_strictly(root: str, path: str) -> OpenFile:
    folder, _, name = path.rpartition("/")
    parent = _enter(root, folder, _ENTERED)
    try:
        # Asked before the open: opening a device can already do something.
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        _require_regular(status)
        return _checked(os.open(name, _FILE, dir_fd=parent))
    finally:
        close(parent)


def _checked(descriptor: int) -> OpenFile:
    """The open file and its status, after the last look at what was really opened."""
    try:
        status = os.fstat(descriptor)
        _require_regular(status)
    except (OSError, FolderError, RefusedError):
        close(descriptor)
        raise
    return OpenFile(descriptor, status)


def _open_from_root(root: str, path: str) -> OpenFile:
    return _through_links(root, path, _open_strictly)


def _open_by_name(root: str, path: str) -> OpenFile:
    """For systems without folder descriptors (Windows): resolve, open, and resolve again."""
    real = _resolve(root, path)
    name = _full_path(root, real)
    _require_regular(os.lstat(name))
    opened = _checked(os.open(name, _FILE))
    if os.path.realpath(name) != name:
        close(opened.descriptor)
        raise RefusedError("the path changed while it was read")
    return opened


# --- listing one folder


def _list_strictly(root: str, folder: str) -> dict[str, Entry]:
    descriptor = _enter(root, folder, _LISTED)
    try:
        with os.scandir(descriptor) as entries:
            return _entries(root, folder, entries)
    finally:
        close(descriptor)


def _list_from_root(root: str, folder: str) -> dict[str, Entry]:
    return _through_links(root, folder, _list_strictly)


def _list_by_name(root: str, folder: str) -> dict[str, Entry]:
    real = _resolve(root, folder) if folder else ""
    with os.scandir(_full_path(root, real)) as entries:
        return _entries(root, real, entries)


def _look_up_strictly(root: str, folder: str, name: str) -> Entry:
    descriptor = _enter(root, folder, _ENTERED)
    try:
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    finally:
        os.close(descriptor)
    return _link_or_not(root, folder, name, status)


def _look_up_from_root(root: str, folder: str, name: str) -> Entry:
    return _through_links(root, folder, lambda root, folder: _look_up_strictly(root, folder, name))


def _look_up_by_name(root: str, folder: str, name: str) -> Entry:
    real = _resolve(root, folder) if folder else ""
    status = os.lstat(_full_path(root, below(real, name)))
    return _link_or_not(root, real, name, status)


def _link_or_not(root: str, folder: str, name: str, status: os.stat_result) -> Entry:
    if not stat.S_ISLNK(status.st_mode):
        return _entry_of(name, status)
    try:
        return _link_entry(root, folder, name)
    except OSError:
        return Entry(name, "other")


def _entries(root: str, folder: str, entries: Iterator[os.DirEntry[str]]) -> dict[str, Entry]:
    return {entry.name: _scanned_entry(root, folder, entry) for entry in entries}


def _scanned_entry(root: str, folder: str, entry: os.DirEntry[str]) -> Entry:
    """Folders need no further call to the system, files one; a link is resolved."""
    try:
        if entry.is_symlink():
            return _link_entry(root, folder, entry.name)
        if entry.is_dir(follow_symlinks=False):
            return Entry(entry.name, "folder")
        status = entry.stat(follow_symlinks=False)
    except OSError:
        # It vanished or is out of reach; the name was there, and read() says more.
        return Entry(entry.name, "other")
    return _entry_of(entry.name, status)


def _entry_of(name: str, status: os.stat_result) -> Entry:
    if stat.S_ISREG(status.st_mode):
        return Entry(name, "file", status.st_size, status.st_mtime_ns)
    return Entry(name, "folder" if stat.S_ISDIR(status.st_mode) else "other")


def _link_entry(root: str, folder: str, name: str) -> Entry:
    real = os.path.realpath(_full_path(root, f"{folder}/{name}" if folder else name))
    target = _inside(root, real)
    if target is None:
        return Entry(name, "other")
    # A link to a folder that holds it would make every search below it run in circles.
    if target == "" or f"{folder}/".startswith(f"{target}/"):
        return Entry(name, "other")
    return _entry_of(name, os.lstat(real))._replace(link=True)


# All three raise OSError as the system gives it, RefusedError, and for a folder where a file is asked for
# FolderError: the open file at a path; the names in a folder; one name of a folder.
open_file = _open_from_root if _HAS_DESCRIPTORS else _open_by_name
list_folder = _list_from_root if _HAS_DESCRIPTORS else _list_by_name
look_up = _look_up_from_root if _HAS_DESCRIPTORS else _look_up_by_name
