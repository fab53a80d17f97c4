"""Files in the user's cache folder: read only where nobody else can write them, replaced as a whole."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 256 << 20
"""Larger files are neither written nor read."""
MOST_BYTES_IN_ALL = 512 << 20
UNUSED_S = 60 * 86_400.0
"""A file that nobody used for so long is removed, and the longest unused while there are more bytes."""
_LEFT_OVER_S = 3600.0
_SUFFIX = ".evaluations"


class UntrustedFile(OSError):  # noqa: N818 - the text says why
    """A file that others could have written, or that is none."""


def cache_folder() -> Path:
    """The folder of all caches in the user's cache folder."""
    import platformdirs  # late: most processes need no cache

    return platformdirs.user_cache_path("phasekeeper", appauthor=False) / "evaluations"


def read_private(path: Path) -> bytes:
    """The bytes of a file. Raises UntrustedFile, OSError."""
    _require_own_folders(path)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        _require_own(status, stat.S_ISREG, 0o077, path)
        if status.st_size > MOST_BYTES:
            raise UntrustedFile(f"{path} is too large")
        return file.read(status.st_size)


def _require_own_folders(path: Path) -> None:
    for folder in (path.parent.parent, path.parent):
        _require_own(folder.lstat(), stat.S_ISDIR, 0o022, folder)


def _require_own(status: os.stat_result, is_kind: Callable[[int], bool], closed: int, path: Path) -> None:
    if not is_kind(status.st_mode):
        raise UntrustedFile(f"{path} is of another kind")
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & closed):
        raise UntrustedFile(f"{path} belongs to another user, or is open to others")


def write_private(path: Path, parts: Iterable[bytes]) -> Iterator[None]:
    """Replace a file by these parts, a step each; it is the old one until the last step. Raises OSError.

    Whoever ends the iteration before leaves nothing behind.
    """
    for folder in (path.parent.parent, path.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    _require_own_folders(path)
    made = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(made, flags, 0o600), "wb") as file:
            for part in parts:
                file.write(part)
                yield
        made.replace(path)
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def note_use(path: Path) -> None:
    """The file is needed still."""
    with suppress(OSError):
        os.utime(path)


def remove_unused(folder: Path) -> None:
    """Remove what nobody used for long, what a killed process left, and what is too much."""
    files: list[tuple[float, int, Path]] = []
    now, in_all = time.time(), 0
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                status = path.lstat()
                age_s = now - status.st_mtime
                if age_s > (UNUSED_S if path.suffix == _SUFFIX else _LEFT_OVER_S):
                    path.unlink()
                else:
                    files.append((age_s, status.st_size, path))
    for _, size, path in sorted(files):
        in_all += size
        if in_all > MOST_BYTES_IN_ALL:
            with suppress(OSError):
                path.unlink()


def file_name(digest: str) -> str:
    return f"{digest}{_SUFFIX}"
