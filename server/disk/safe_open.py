"""Opening and listing below a root without ever leaving it, however hostile the tree is.

On POSIX each folder on the way is opened from its parent's descriptor without following links. Of a link in
the way there are two policies: whoever reads follows it "inside" (it is resolved, its target is checked, and
the resolved path is then walked in the same strict way, so a swap between the check and the open cannot lead
out), whoever writes has it "refuse"d. Where folders have no descriptors (Windows), a path is resolved before
and after its file is opened. Nothing blocks: only regular files are opened; pipes, sockets and devices are
told apart by `lstat`, and the open itself does not wait.

All raise OSError as the system gives it, and RefusedError.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

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
_RELATIVE = {os.open, os.mkdir, os.stat, os.unlink} <= os.supports_dir_fd
_HAS_DESCRIPTORS = bool(_NOFOLLOW) and _RELATIVE and os.scandir in os.supports_fd

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
    # Nearly every path is written plainly.
    is_plain = path[:1] not in ("", "/") and path[-1] not in "/." and "./" not in path and "//" not in path
    if not is_plain and (path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/"))):
        return "the path does not lead to a file below the root"
    return None if path.isascii() or _is_encodable(path) else "the path holds half a character"


def _is_encodable(path: str) -> bool:
    """False for a lone surrogate, as JSON may hold, which stands for no byte of a name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def close(descriptor: int) -> None:
    """Closes; an error then says nothing about what was read, or flushed, before."""
    with suppress(OSError):
        os.close(descriptor)


def links_on(root: str, path: str) -> frozenset[str]:
    """The links below a resolved root that the way of a path leads through, and where it comes out: what has
    to be watched for changes besides the path itself. Empty when there is no link on the way.

    Like the system it follows a bounded number of links, so that one that leads to itself has an end.
    """
    on_way = root
    for name in path.split("/"):
        # Nearly none is a link, and a Path for each name is slow.
        on_way += os.sep + name
        if os.path.islink(on_way):  # noqa: PTH114
            break
    else:
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


def _through_links(
    root: str, path: str, look: Callable[[str], T], links: Literal["inside", "refuse"] = "inside"
) -> T:
    """The answer of `look` for `path`; when a link stands in the way, by the policy for `links`."""
    if not _HAS_DESCRIPTORS:
        real = _resolve(root, path) if path else ""
        if links == "refuse" and os.path.normcase(real) != os.path.normcase(path):
            raise RefusedError("it leads through a link")
        return look(real)
    try:
        return look(path)
    except OSError as error:
        if error.errno not in _MAYBE_LINK:
            raise
        if links == "refuse":
            raise RefusedError(f"{error.filename} is a link or no folder") from error
        real = _resolve(root, path)
        if real == path:
            raise
    return look(real)


def open_folder(root: str, folder: str, create: bool = False) -> int | None:
    """The descriptor of a folder to write in, None where folders have none; a link on the way is refused.

    With `create` it is made, mode 0755, where it is missing, and its name and those of the folders above it
    are flushed to the disk.
    """
    return _through_links(root, folder, lambda path: _enter(root, path, _LISTED, create), "refuse")


def _enter(root: str, folder: str, flags: int, create: bool = False) -> int | None:
    """The descriptor of a folder, opened name by name so that no link is followed."""
    if not _HAS_DESCRIPTORS:
        if create:
            os.makedirs(_full_path(root, folder), 0o755, exist_ok=True)  # noqa: PTH103
        os.stat(_full_path(root, folder))  # noqa: PTH116
        return None
    names = folder.split("/") if folder else []
    # What is only entered cannot be flushed.
    on_way = flags if create else _ENTERED
    descriptor = os.open(root, on_way if names else flags)
    for number, name in enumerate(names, 1):
        above = descriptor
        try:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=above)
                # Without this a power loss could take the folder away with all that is flushed in it. Also
                # for one that was there: whoever made it may have died before this line.
                os.fsync(above)
            descriptor = os.open(name, flags if number == len(names) else on_way, dir_fd=above)
        finally:
            close(above)
    return descriptor


@contextmanager
def _enter_folder(root: str, folder: str, flags: int) -> Iterator[tuple[str, int | None]]:
    """(what stands before the names in a folder, the descriptor that they are relative to)."""
    descriptor = _enter(root, folder, flags)
    if descriptor is None:
        yield os.path.join(_full_path(root, folder), ""), None  # noqa: PTH118
        return
    try:
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


def open_regular(name: str, above: int | None, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
    """(the descriptor, the status) of a regular file, by its name in an open folder or (None) its full path.

    ELOOP for a link, EISDIR for a folder; RefusedError for anything else.
    """
    # Asked before the open: opening a device can already do something.
    with suppress(FileNotFoundError):
        _require_regular(os.stat(name, dir_fd=above, follow_symlinks=False))
    descriptor = os.open(name, flags | _FILE, 0o666, dir_fd=above)
    try:
        # The last look is at what was really opened.
        status = os.fstat(descriptor)
        _require_regular(status)
    except (OSError, RefusedError):
        close(descriptor)
        raise
    return descriptor, status


def open_file(root: str, path: str) -> tuple[int, os.stat_result]:
    """(the descriptor, the status) of the file at a path below a resolved root.

    FileNotFoundError where its folder has no such name; RefusedError where the name is no file, or a link
    that leads to none: what is not a file is not absent.
    """

    def look(path: str) -> tuple[int, os.stat_result]:
        folder, _, name = path.rpartition("/")
        with _enter_folder(root, folder, _ENTERED) as (prefix, above):
            descriptor, status = open_regular(prefix + name, above)
        if above is None and os.path.realpath(prefix + name) != prefix + name:
            close(descriptor)
            raise RefusedError("the path changed while it was read")
        return descriptor, status

    try:
        return _through_links(root, path, look)
    except FileNotFoundError as error:
        if os.path.islink(_full_path(root, path)):  # noqa: PTH114
            raise RefusedError("the link leads to nothing") from error
        raise
    except IsADirectoryError as error:
        raise RefusedError("it is a folder, not a file") from error


class FolderNames(NamedTuple):
    """The names in a folder, and whether one of its files has a name elsewhere (a hard link)."""

    names: dict[str, Entry]
    has_hard_links: bool


def list_folder(root: str, folder: str) -> FolderNames:
    """The names in a folder. Folders need no further call to the system, files one; a link is resolved."""

    def look(folder: str) -> FolderNames:
        names: dict[str, Entry] = {}
        most_links = 0
        with (
            _enter_folder(root, folder, _LISTED) as (full, descriptor),
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
                        status = entry.stat(follow_symlinks=False)
                        most_links = max(most_links, status.st_nlink)
                        names[name] = _entry_of(name, status)
                except OSError:
                    # It vanished or is out of reach; the name was there, and read() says more.
                    names[name] = Entry(name, "other")
        return FolderNames(names, most_links > 1)

    return _through_links(root, folder, look)


def look_up(root: str, folder: str, name: str) -> Entry:
    """One name of a folder."""

    def look(folder: str) -> Entry:
        with _enter_folder(root, folder, _ENTERED) as (prefix, above):
            status = os.stat(prefix + name, dir_fd=above, follow_symlinks=False)
        if not stat.S_ISLNK(status.st_mode):
            return _entry_of(name, status)
        try:
            return _link_entry(root, folder, name)
        except OSError:
            return Entry(name, "other")

    return _through_links(root, folder, look)


def unlinked_entry(full: str) -> Entry | None:
    """What stands at a full path that leads through no link, None for nothing; it opens nothing.

    Raises RefusedError for a link, and OSError for what cannot be looked at.
    """
    try:
        status = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        raise RefusedError("it is a link")
    return _entry_of(os.path.basename(full), status)  # noqa: PTH119 - a Path for each name is slow


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


def may_link(entry: Entry | None) -> bool:
    """True for a link; one that leads nowhere, or out, is no file and no folder."""
    return entry is not None and (entry.link or entry.kind == "other")


def folder_kind(entry: Entry | None) -> bool | None:
    """For a folder, True if it is one by a link; None for what is no folder."""
    return entry.link if entry and entry.kind == "folder" else None
