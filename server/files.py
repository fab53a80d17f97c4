"""A frozen view of one root on a disk: `DiskFiles`, the real implementation of `Files`.

Three promises hold for every path, however hostile the tree is:

- Nothing outside the root is ever opened. On POSIX each folder on the way is opened from its parent's
  descriptor without following links; a link is resolved first, its target is checked, and the resolved
  path is then walked in the same strict way, so a swap between the check and the open cannot lead out.
- Nothing blocks. Only regular files are opened; pipes, sockets and devices are told apart by `lstat`,
  and the open itself does not wait.
- Nothing raises. What the system refuses to give comes back as a `File` with a `Problem`.

A torn save. An editor that truncates and rewrites a file in place can be met half-way. If the size or
the time of modification moved while the bytes were read, they are read again, three times at most, and
after that the file is reported as unreadable rather than judged on a mixture. A half that lies still
between two writes of the editor looks like any broken file here; whoever watches waits a grace period
before it shows what was found in it. A save by rename is never torn: the open descriptor keeps the old
file whole.
"""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..orchestration.files import Entry, File, Files, below, decode, name_in, parent
from ..orchestration.findings import Problem

MEBIBYTE = 1 << 20
MAX_BYTES = 8 * MEBIBYTE
"""Text of larger files is not read."""
MAX_HASHED_BYTES = 256 * MEBIBYTE
"""Larger files get no digest either: a sparse file of a terabyte would be hashed for half an hour."""
UNSAVED_MTIME_NS = 2**63 - 1
"""Unsaved text is judged as if it were saved this moment, so it is newer than everything on disk."""

_READS = 3
# More links than this on one way and no system follows them.
_MOST_LINKS = 40
_CHUNK = MEBIBYTE
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
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL)

T = TypeVar("T")


class _RefusedError(Exception):
    """Why a path is not read although the system might have given it."""


class _FolderError(Exception):
    """The path is a folder: no file, and nothing wrong with it."""


class _Opened(NamedTuple):
    descriptor: int
    status: os.stat_result


class DiskFiles:
    """A frozen view of one root: each path is looked at once, later questions get the same answer.

    `reads`, `listings` and `unlisted` say what was looked at so far; `unlisted` names the folders that
    exist but could not be listed, which an empty listing alone would hide.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = os.path.realpath(root)
        self.reads: dict[str, File] = {}
        self.listings: dict[str, Mapping[str, Entry]] = {}
        self.unlisted: dict[str, Problem] = {}

    def read(self, path: str) -> File:
        """The file at `path`.

        `exists` is False for what is missing, a folder, or anything that is no regular file inside the
        root; it is True, with a problem, when the system refused to say more (permissions, a bad disk):
        what cannot be read never passes for absent.
        """
        if path not in self.reads:
            self.reads[path] = self._checked(path, file_at(self.root, path))
        return self.reads[path]

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The names in a folder, sorted; empty when there is none or it cannot be listed."""
        if folder not in self.listings:
            self.listings[folder], problem = listing_at(self.root, folder)
            if problem:
                self.unlisted[folder] = problem
        return self.listings[folder]

    def entry(self, path: str) -> Entry | None:
        """One name as the listing of its folder has it."""
        return self.list(parent(path)).get(name_in(path))

    def read_set(self) -> Mapping[str, str]:
        """Every path that was read, sorted -> its digest, "missing" or "unreadable". No folders."""
        return {path: _seen(self.reads[path]) for path in sorted(self.reads)}

    def _checked(self, path: str, file: File) -> File:
        if not file.exists and file.problem is None:
            listed = self.listings.get(parent(path), {}).get(name_in(path))
            if listed is not None and listed.kind == "file":
                return vanished(path)
        return file


def vanished(path: str) -> File:
    """A file that its folder has and that is not there: nobody can tell which of the two is true."""
    return File(path, problem=Problem("artifact-missing", "it vanished while the folder was read"))


class Overlaid:
    """Files with unsaved texts of an editor over them, by root-relative path."""

    def __init__(self, under: Files, texts: Mapping[str, str]) -> None:
        self.under = under
        self.texts = {path: text for path, text in texts.items() if not refusal(path)}

    @property
    def unlisted(self) -> Mapping[str, Problem]:
        return self.under.unlisted

    def read(self, path: str) -> File:
        file = self.under.read(path)
        if path not in self.texts:
            return file
        unsaved = _unsaved(path, self.texts[path])
        return file if file.exists and file.digest == unsaved.digest else unsaved

    def list(self, folder: str) -> Mapping[str, Entry]:
        unsaved = dict(self._unsaved_entries(folder))
        if not unsaved:
            return self.under.list(folder)
        names = {**self.under.list(folder), **unsaved}
        return {name: names[name] for name in sorted(names)}

    def entry(self, path: str) -> Entry | None:
        unsaved = dict(self._unsaved_entries(parent(path)))
        return unsaved.get(name_in(path)) or self.under.entry(path)

    def _unsaved_entries(self, folder: str) -> Iterator[tuple[str, Entry]]:
        prefix = f"{folder}/" if folder else ""
        for path in self.texts:
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition("/")
                file = File(path) if deeper else self.read(path)
                yield name, Entry(name, "folder" if deeper else "file", file.size, file.mtime_ns)


def file_at(root: str, path: str) -> File:
    """The file at a path below a resolved root as it is now; see `DiskFiles.read`."""
    reason = refusal(path)
    return _unreadable(path, reason) if reason else _read_file(root, path)


def listing_at(root: str, folder: str) -> tuple[dict[str, Entry], Problem | None]:
    """(the names in a folder below a resolved root as they are now, sorted; why it could not be listed)."""
    try:
        names = {} if folder and refusal(folder) else _list_folder(root, folder)
    except _RefusedError as error:
        return {}, Problem("artifact-unreadable", str(error))
    except OSError as error:
        known = error.errno in _MISSING
        return {}, None if known else Problem("artifact-unreadable", _told(error))
    return {name: names[name] for name in sorted(names)}, None


def entry_at(root: str, folder: str, name: str) -> Entry | None:
    """One name of a folder below a resolved root as it is now; see `listing_at`."""
    if refusal(below(folder, name)):
        return None
    try:
        return _look_up(root, folder, name)
    except OSError as error:
        return None if error.errno in _MISSING else listing_at(root, folder)[0].get(name)
    except _RefusedError:
        return None


def links_on(root: str, path: str) -> frozenset[str]:
    """The links below a resolved root that the way of a path leads through, and where it comes out: what has
    to be watched for changes besides the path itself. Empty when there is no link on the way.
    """
    places: set[str] = set()
    if not _has_link(root, path):
        return frozenset()
    waiting, at = path.split("/")[::-1], Path(root)
    while waiting and len(places) < _MOST_LINKS:
        name = waiting.pop()
        if name == "..":
            at = at.parent
            continue
        at /= name
        try:
            target = at.readlink()
        except (OSError, ValueError):
            continue
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


def _seen(file: File) -> str:
    if file.digest:
        return file.digest
    return "unreadable" if file.exists or file.refused else "missing"


def _unreadable(path: str, message: str, exists: bool = False) -> File:
    return File(path, exists, problem=Problem("artifact-unreadable", message))


def _told(error: OSError) -> str:
    return (error.strerror or "the system could not read it").lower()


def _too_large(path: str, size: int, digest: str, mtime_ns: int) -> File:
    message = f"the file is {math.ceil(size / MEBIBYTE)} MB; at most {MAX_BYTES // MEBIBYTE} MB are read"
    return File(path, True, None, digest, size, mtime_ns, Problem("artifact-unreadable", message))


def _unsaved(path: str, text: str) -> File:
    # Editors may hand over half a surrogate pair; decoding then reports it instead of failing here.
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        return _too_large(path, len(raw), sha256(raw).hexdigest()[:16], UNSAVED_MTIME_NS)
    return decode(path, raw, UNSAVED_MTIME_NS)


# --- reading one file


def _read_file(root: str, path: str) -> File:
    try:
        opened = _open_file(root, path)
    except _FolderError:
        return File(path)
    except _RefusedError as error:
        return _unreadable(path, str(error))
    except OSError as error:
        return (
            File(path)
            if error.errno in _MISSING
            else _unreadable(path, _told(error), error.errno != errno.ELOOP)
        )
    try:
        return _name_checked(_content(path, opened))
    except OSError as error:
        return _unreadable(path, _told(error), True)
    finally:
        close(opened.descriptor)


def close(descriptor: int) -> None:
    """Closes; an error then says nothing about what was read, or flushed, before."""
    with suppress(OSError):
        os.close(descriptor)


def _name_checked(file: File) -> File:
    try:
        file.path.encode()
    except UnicodeEncodeError:
        problem = Problem("artifact-unreadable", "the name of the file is not UTF-8")
        return File(file.path, True, None, file.digest, file.size, file.mtime_ns, problem)
    return file


def _content(path: str, opened: _Opened) -> File:
    before = opened.status
    for _ in range(_READS):
        os.lseek(opened.descriptor, 0, os.SEEK_SET)
        raw = _bytes(opened.descriptor, before.st_size)
        if len(raw) > MAX_BYTES:
            digest, size = _hashed(opened.descriptor, raw)
            return _too_large(path, size, digest, before.st_mtime_ns)
        after = os.fstat(opened.descriptor)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            return decode(path, raw, after.st_mtime_ns)
        before = after
    return _unreadable(path, "the file changed each time it was read", True)


def _bytes(descriptor: int, expected: int) -> bytes:
    """The bytes up to the end of the file, or one more than `MAX_BYTES`."""
    chunks: list[bytes] = []
    left = MAX_BYTES + 1
    while left and (chunk := os.read(descriptor, min(left, max(expected, 0) + 1))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _hashed(descriptor: int, start: bytes) -> tuple[str, int]:
    """(digest, size) of the whole file whose first bytes are `start`; digest "" past the limit."""
    size = max(os.fstat(descriptor).st_size, len(start))
    if size > MAX_HASHED_BYTES:
        return "", size
    hashing, total = sha256(start), len(start)
    while total <= MAX_HASHED_BYTES and (chunk := os.read(descriptor, _CHUNK)):
        hashing.update(chunk)
        total += len(chunk)
    return ("" if total > MAX_HASHED_BYTES else hashing.hexdigest()[:16]), total


# --- opening without leaving the root


def _inside(root: str, real: str) -> str | None:
    """The root-relative POSIX path of a resolved path; None outside of the root."""
    prefix = root if root.endswith(os.sep) else root + os.sep
    if os.path.normcase(real) == os.path.normcase(root):
        return ""
    if not os.path.normcase(real).startswith(os.path.normcase(prefix)):
        return None
    return real[len(prefix) :].replace(os.sep, "/")


def _full(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))  # noqa: PTH118 - a Path for each of 10,000 names is slow


def _resolved(root: str, path: str) -> str:
    real = _inside(root, os.path.realpath(_full(root, path)))
    if real is None:
        raise _RefusedError("the link leads out of the root")
    return real


def _through_links(root: str, path: str, strictly: Callable[[str, str], T]) -> T:
    """What `strictly` gives for `path`; when a link stands in the way, for the path it resolves to."""
    try:
        return strictly(root, path)
    except OSError as error:
        real = _resolved(root, path) if error.errno in _MAYBE_LINK else path
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


def _regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(status.st_mode):
        raise _FolderError
    if not stat.S_ISREG(status.st_mode):
        raise _RefusedError("it is not a regular file")


def _open_strictly(root: str, path: str) -> _Opened:
    folder, _, name = path.rpartition("/")
    parent = _enter(root, folder, _ENTERED)
    try:
        # Asked before the open: opening a device can already do something.
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        _regular(status)
        return _settled(os.open(name, _FILE, dir_fd=parent))
    finally:
        close(parent)


def _settled(descriptor: int) -> _Opened:
    """The open file and its status, after the last look at what was really opened."""
    try:
        status = os.fstat(descriptor)
        _regular(status)
    except (OSError, _FolderError, _RefusedError):
        close(descriptor)
        raise
    return _Opened(descriptor, status)


def _open_from_root(root: str, path: str) -> _Opened:
    return _through_links(root, path, _open_strictly)


def _open_by_name(root: str, path: str) -> _Opened:
    """For systems without folder descriptors (Windows): resolve, open, and resolve again."""
    real = _resolved(root, path)
    name = _full(root, real)
    _regular(os.lstat(name))
    opened = _settled(os.open(name, _FILE))
    if os.path.realpath(name) != name:
        close(opened.descriptor)
        raise _RefusedError("the path changed while it was read")
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
    real = _resolved(root, folder) if folder else ""
    with os.scandir(_full(root, real)) as entries:
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
    real = _resolved(root, folder) if folder else ""
    status = os.lstat(_full(root, below(real, name)))
    return _link_or_not(root, real, name, status)


def _link_or_not(root: str, folder: str, name: str, status: os.stat_result) -> Entry:
    if not stat.S_ISLNK(status.st_mode):
        return _described(name, status)
    try:
        return _linked(root, folder, name)
    except OSError:
        return Entry(name, "other")


def _entries(root: str, folder: str, entries: Iterator[os.DirEntry[str]]) -> dict[str, Entry]:
    return {entry.name: _entry(root, folder, entry) for entry in entries}


def _entry(root: str, folder: str, entry: os.DirEntry[str]) -> Entry:
    """Folders need no further call to the system, files one; a link is resolved."""
    try:
        if entry.is_symlink():
            return _linked(root, folder, entry.name)
        if entry.is_dir(follow_symlinks=False):
            return Entry(entry.name, "folder")
        status = entry.stat(follow_symlinks=False)
    except OSError:
        # It vanished or is out of reach; the name was there, and read() says more.
        return Entry(entry.name, "other")
    return _described(entry.name, status)


def _described(name: str, status: os.stat_result) -> Entry:
    if stat.S_ISREG(status.st_mode):
        return Entry(name, "file", status.st_size, status.st_mtime_ns)
    return Entry(name, "folder" if stat.S_ISDIR(status.st_mode) else "other")


def _linked(root: str, folder: str, name: str) -> Entry:
    real = os.path.realpath(_full(root, f"{folder}/{name}" if folder else name))
    target = _inside(root, real)
    if target is None:
        return Entry(name, "other")
    # A link to a folder that holds it would make every search below it run in circles.
    if target == "" or f"{folder}/".startswith(f"{target}/"):
        return Entry(name, "other")
    return _described(name, os.lstat(real))._replace(link=True)


_open_file = _open_from_root if _HAS_DESCRIPTORS else _open_by_name
_list_folder = _list_from_root if _HAS_DESCRIPTORS else _list_by_name
_look_up = _look_up_from_root if _HAS_DESCRIPTORS else _look_up_by_name
