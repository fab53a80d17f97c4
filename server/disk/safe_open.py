"""Opening and listing below a root without ever leaving it, however hostile the tree is.

On POSIX each folder on the way is opened from its parent's descriptor without following links; a link is
resolved first, its target is checked, and the resolved path is then walked in the same strict way, so a swap
between the check and the open cannot lead out. Where folders have no descriptors (Windows), a path is
resolved before and after its file is opened. Nothing blocks: only regular files are opened; pipes, sockets
and devices are told apart by `lstat`, and the open itself does not wait.

`open_file`, `list_folder` and `look_up` raise OSError as the system gives it, and RefusedError.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

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
    links: list[Path] = []
    waiting, at = path.split("/")[::-1], Path(root)
    while waiting and len(links) < _MOST_LINKS:
        name = waiting.pop()
        if name == "..":
            at = at.parent
            continue
        at /= name
        try:
            target = at.readlink()
        except (OSError, ValueError):
            continue
        links.append(at)
        at = Path(target.anchor) if target.is_absolute() else at.parent
        waiting += [part for part in target.parts if part != target.anchor][::-1]
    places = {place for link in links if (place := _inside(root, str(link)))}
    end = _inside(root, str(at))
    return frozenset({*places, end} if places and end else places)


def _has_link(root: str, path: str) -> bool:
    """Whether a name on the way of a path is a link: nearly none is, and a Path for each name is slow."""
    at = root
    for name in path.split("/"):
        at += os.sep + name
        if os.path.islink(at):  # noqa: PTH114
            return True
    return False


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


def _through_links(root: str, path: str, look: Callable[[str], T]) -> T:
    """What `look` gives for `path`; when a link stands in the way, for the path it resolves to."""
    if not _HAS_DESCRIPTORS:
        return look(_resolve(root, path) if path else "")
    try:
        return look(path)
    except OSError as error:
        real = _resolve(root, path) if error.errno in _MAYBE_LINK else path
        if real == path:
            raise
    return look(real)


@contextmanager
def _entered(root: str, folder: str, flags: int) -> Iterator[tuple[str, int | None]]:
    """(what stands before the names in a folder, the descriptor that they are relative to).

    The descriptor is opened name by name so that no link is followed.
    """
    if not _HAS_DESCRIPTORS:
        yield os.path.join(_full_path(root, folder), ""), None  # noqa: PTH118
        return
    names = folder.split("/") if folder else []
    descriptor = os.open(root, _ENTERED if names else flags)
    try:
        for number, name in enumerate(names, 1):
            above = descriptor
            descriptor = os.open(name, flags if number == len(names) else _ENTERED, dir_fd=above)
            close(above)
        yield "", descriptor
    finally:
        close(descriptor)


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError("it is not a regular file")


def open_file(root: str, path: str) -> tuple[int, os.stat_result]:
    """(the descriptor, the status) of the file at a path below a resolved root; EISDIR for a folder."""

    def look(path: str) -> tuple[int, os.stat_result]:
        folder, _, name = path.rpartition("/")
        with _entered(root, folder, _ENTERED) as (prefix, above):
            # Asked before the open: opening a device can already do something.
            _require_regular(os.stat(prefix + name, dir_fd=above, follow_symlinks=False))
            descriptor = os.open(prefix + name, _FILE, dir_fd=above)
        try:
            # The last look is at what was really opened.
            status = os.fstat(descriptor)
            _require_regular(status)
            if above is None and os.path.realpath(prefix + name) != prefix + name:
                raise RefusedError("the path changed while it was read")
        except (OSError, RefusedError):
            close(descriptor)
            raise
        return descriptor, status

    return _through_links(root, path, look)


def list_folder(root: str, folder: str) -> dict[str, Entry]:
    """The names in a folder. Folders need no further call to the system, files one; a link is resolved."""

    def look(folder: str) -> dict[str, Entry]:
        names: dict[str, Entry] = {}
        with (
            _entered(root, folder, _LISTED) as (full, descriptor),
            os.scandir(full if descriptor is None else descriptor) as entries,
        ):
            for entry in entries:
                name = entry.name
                try:
                    if entry.is_symlink():
                        names[name] = _link_entry(root, folder, name)
                    elif entry.is_dir(follow_symlinks=False):
                        names[name] = Entry(name, "folder")
                    else:
                        names[name] = _entry_of(name, entry.stat(follow_symlinks=False))
                except OSError:
                    # It vanished or is out of reach; the name was there, and read() says more.
                    names[name] = Entry(name, "other")
        return names

    return _through_links(root, folder, look)


def look_up(root: str, folder: str, name: str) -> Entry:
    """One name of a folder."""

    def look(folder: str) -> Entry:
        with _entered(root, folder, _ENTERED) as (prefix, above):
            status = os.stat(prefix + name, dir_fd=above, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            return _entry_of(name, status)
        try:
            return _link_entry(root, folder, name)
        except OSError:
            return Entry(name, "other")

    return _through_links(root, folder, look)


def _entry_of(name: str, status: os.stat_result) -> Entry:
    if stat.S_ISREG(status.st_mode):
        return Entry(name, "file", status.st_size, status.st_mtime_ns)
    return Entry(name, "folder" if stat.S_ISDIR(status.st_mode) else "other")


def _link_entry(root: str, folder: str, name: str) -> Entry:
    real = os.path.realpath(_full_path(root, below(folder, name)))
    target = _inside(root, real)
    # A link out of the root leads nowhere here. One to a folder that holds it would make every search below
    # it run in circles.
    if not target or f"{folder}/".startswith(f"{target}/"):
        return Entry(name, "other")
    return _entry_of(name, os.lstat(real))._replace(link=True)
