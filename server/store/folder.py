"""The writer's handle of a folder: links are refused on the way to it and in it.

Everything is done relative to a folder's descriptor where the system can do that. Windows cannot; there
the path is resolved first and refused when it leads elsewhere, and folders need no flush of their own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..disk import safe_open
from ..disk.disk_files import MAX_BYTES
from ..disk.safe_open import RefusedError, close, refusal

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class StoreError(Exception):
    """A write that was not done; the text says what stood in the way and what to do."""


class Unreachable(StoreError):  # noqa: N818 - said to people as it is
    """A folder that a path cannot lead to: a link or a file stands on the way, or it leaves the root."""


class Unreadable(StoreError):  # noqa: N818 - said to people as it is
    """A file that the system did not give back this time: what is in it is not known."""


@contextmanager
def as_store_error(path: str) -> Iterator[None]:
    """Turns what the system refuses for `path` into a StoreError with a sentence for people."""
    try:
        yield
    except OSError as error:
        raise StoreError(describe_os_error(path, error)) from error


def describe_os_error(path: str, error: OSError, what: str = "written") -> str:
    """A sentence of what the system refused, and what a person can do about it; `what` could not be done."""
    if error.errno in _FULL:
        return f"{path} cannot be written: the disk is full; free some space and run it again"
    if error.errno == errno.EROFS:
        return f"{path} cannot be written: the file system is read-only"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{path} cannot be {what}: permission denied; look at the owner and mode of it and its folder"
    return f"{path} cannot be {what}: {(error.strerror or 'the system refused').lower()}"


@dataclass(frozen=True)
class Folder:
    """One open folder: `path` from the root, and its descriptor (None on Windows)."""

    path: str
    full: Path
    descriptor: int | None

    def below(self, name: str) -> str:
        """The root-relative path of a name in this folder."""
        return f"{self.path}/{name}" if self.path else name

    def _name(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.full / name)

    def open(self, name: str, flags: int) -> int:
        """A descriptor of a regular file; links, pipes and devices are refused with a StoreError."""
        try:
            return safe_open.open_regular(self._name(name), self.descriptor, flags)[0]
        except (RefusedError, IsADirectoryError) as error:
            raise StoreError(f"{self.below(name)} is not a regular file") from error
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise StoreError(f"{self.below(name)} is a link; nothing is written through links") from error
            raise

    def status(self, name: str) -> os.stat_result | None:
        """The status of a name, a link's own; None when there is nothing."""
        try:
            return os.stat(self._name(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, limit: int = MAX_BYTES) -> bytes | None:
        """The bytes of a regular file, None when it is missing. Raises StoreError past `limit` and for what
        is no such file, Unreadable where the system cannot read it."""
        try:
            with os.fdopen(self.open(name, os.O_RDONLY), "rb") as file:
                raw = file.read(limit + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unreadable(describe_os_error(self.below(name), error, "read")) from error
        if len(raw) > limit:
            raise StoreError(f"{self.below(name)} is larger than {limit} bytes; that is not read")
        return raw

    def write(self, name: str, raw: bytes, mode: int | None = None, flush: bool = True) -> None:
        """A new file with these bytes, flushed to the disk. A file of that name is removed first."""
        self.remove(name)
        descriptor = self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            write_all(descriptor, raw)
            if flush:
                os.fsync(descriptor)
        finally:
            close(descriptor)

    def replace(self, name: str, target: str) -> None:
        above = self.descriptor
        os.replace(self._name(name), self._name(target), src_dir_fd=above, dst_dir_fd=above)

    def put(self, name: str, temporary: str, raw: bytes, mode: int | None = None, flush: bool = True) -> None:
        """Bytes in the place of a file, all of them or none; then nothing is left of `temporary` either.

        The caller flushes the folder.
        """
        try:
            self.write(temporary, raw, mode, flush)
            self.replace(temporary, name)
        except OSError:
            with suppress(OSError):
                self.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        """Removes a file; a missing one is no error."""
        with suppress(FileNotFoundError):
            os.unlink(self._name(name), dir_fd=self.descriptor)

    def names(self) -> list[str]:
        return sorted(os.listdir(self.full if self.descriptor is None else self.descriptor))  # noqa: PTH208

    def sync(self) -> None:
        """Flushes the names in this folder to the disk."""
        if self.descriptor is not None:
            os.fsync(self.descriptor)


def write_all(descriptor: int, raw: bytes) -> None:
    """Writes with one call, and goes on only where the system took less."""
    left = memoryview(raw)
    while left:
        left = left[os.write(descriptor, left) :]


@contextmanager
def open_folder(root: Path | str, path: str, create: bool = False) -> Iterator[Folder]:
    """The folder at `path` ("" is the root). With `create` it is made, mode 0755, where it is missing, and
    its name and those of the folders above it are flushed to the disk.

    Raises Unreachable for a link or a file on the way and for a path that leaves the root, and
    FileNotFoundError when it is missing.
    """
    if path and (reason := refusal(path)):
        raise Unreachable(f"{path!r}: {reason}")
    real = Path(root).resolve()
    try:
        descriptor = safe_open.open_folder(str(real), path, create)
    except RefusedError as error:
        raise Unreachable(f"{path}: {error}; nothing is written through links") from error
    try:
        yield Folder(path, real / path, descriptor)
    finally:
        if descriptor is not None:
            close(descriptor)


def read_file(root: Path, path: str) -> tuple[bytes | None, int | None]:
    """(the bytes of a file, its mode) as it is now; None for both where it or its folder is missing.

    Raises StoreError for what cannot be read.
    """
    folder_path, _, name = path.rpartition("/")
    with as_store_error(path), suppress(FileNotFoundError), open_folder(root, folder_path) as folder:
        raw, status = folder.read(name), folder.status(name)
        return raw, status.st_mode & 0o777 if status else None
    return None, None
