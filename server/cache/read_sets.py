"""The read set of a run as the system's signs of its files and folders: equal signs, equal answers.

A file is vouched for by inode, size, mode and both times; the names in a folder, and so what is absent
there, by those of the folder. Signs count only where a later change would be sure to alter them: not within
`SETTLED_NS` of the last one, nor where a clock counts whole seconds. What lies outside of the run's own
folder is no part of it (`outside_keys`): many runs share it, and it is looked at as ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from time import time_ns

from ...orchestration.vfs.files import below, name_in, parent
from ..disk.disk_files import listing_at
from ..disk.file_cache import SETTLED_NS, FileCache

Sign = tuple[int, int, int, int, int]
"""Mode, inode, size, mtime and ctime in nanoseconds."""
_ABSENT: Sign = (0, 0, 0, 0, 0)
_SECOND_NS = 1_000_000_000


class NotVouchedFor(Exception):  # noqa: N818 - nothing went wrong: the run is judged anew next time
    """Signs cannot tell that nothing of a run has changed."""


class NotSettled(NotVouchedFor):
    """Signs cannot tell it yet."""


def outside_keys(run: str, keys: Iterable[str]) -> list[str]:
    """The keys that are about neither the run's folder and what is in it nor a folder that holds it."""
    inside = f"{run}/"
    return [key for key in keys if not key.startswith(inside) and key != run and not is_above(key, run)]


def is_above(key: str, run: str) -> bool:
    """True for the path of a folder that holds a run; for its listing not."""
    return run.startswith(f"{key}/")


def sign_at(full: str, absent: Sign | None = None) -> Sign | None:
    """The sign of what stands at a place, links not followed; `absent` where there is surely nothing, None
    where it cannot be looked at."""
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return absent
    except (OSError, ValueError):
        return None
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def is_plain_folder(root: str, folder: str) -> bool:
    """True if a path below the root leads through folders alone, and no link."""
    while folder:
        sign = sign_at(os.path.join(root, *folder.split("/")))  # noqa: PTH118
        if sign is None or not stat.S_ISDIR(sign[0]):
            return False
        folder = parent(folder)
    return True


def is_unchanged(full: str, signs: Iterable[Sequence[object]]) -> bool:
    """True if all still have the signs that they had; `full` is the run's folder, before each name."""
    lstat = os.lstat
    try:
        for name, mode, inode, size, mtime_ns, ctime_ns in signs:
            now = lstat(f"{full}{name}")
            if (
                now.st_mtime_ns != mtime_ns
                or now.st_ctime_ns != ctime_ns
                or now.st_ino != inode
                or now.st_size != size
                or now.st_mode != mode
            ):
                return False
    except (OSError, ValueError):
        return False
    return True


def has_hard_links(full: str, signs: Iterable[Sequence[object]]) -> bool:
    """True if one of the files has a name elsewhere, or cannot be looked at; `full` as for `is_unchanged`."""
    try:
        found = [os.lstat(f"{full}{name}") for name, *_ in signs]
    except (OSError, ValueError):
        return True
    return any(stat.S_ISREG(each.st_mode) and each.st_nlink > 1 for each in found)


def folders_among(signs: Iterable[Sequence[object]]) -> list[Sequence[object]]:
    """The signs that are those of folders."""
    return [sign for sign in signs if isinstance(sign[1], int) and stat.S_ISDIR(sign[1])]


class ReadSetSigner:
    """Takes the read set of one run, whose answers the file cache has given."""

    def __init__(self, files: FileCache, run: str) -> None:
        self._files, self._run = files, run
        self._signs: dict[str, Sign] = {}
        self._latest_ns = time_ns() - SETTLED_NS

    def signs(self, keys: Iterable[str]) -> list[tuple[str | int, ...]]:
        """What stands behind the run's path in names of its read set, with their signs. Raises NotVouchedFor.

        Folders are signed before what is in them is compared with what the run was told: whatever changes in
        between alters the sign.
        """
        own = [key for key in keys if f"{key}/".startswith(f"{self._run}/")]
        for place in sorted({place for key in own for place in self._way_of(key)}):
            self._sign_folder(place)
        for key in own:
            if key.endswith("/"):
                self._compare_listing(key[:-1])
            else:
                self._compare_path(key)
        return [(name, *sign) for name, sign in self._signs.items()]

    def _way_of(self, key: str) -> list[str]:
        """The run's folder and all below it on the way to what a key is about."""
        way = [key.rstrip("/")]
        while way[-1] != self._run:
            way.append(parent(way[-1]))
        return way

    def _full(self, path: str) -> str:
        return f"{self._files.root}{os.sep}{path.replace('/', os.sep)}"

    def _sign_folder(self, place: str) -> None:
        """Sign a folder; where it is absent, or a file, the sign of the folder above it says so, but for the
        run's own: what holds that is signed for no run."""
        sign = sign_at(self._full(place))
        if sign is not None and stat.S_ISDIR(sign[0]):
            self._note(place, sign)
        elif place == self._run:
            raise NotVouchedFor(f"{place} is no folder")
        elif sign is not None and not stat.S_ISREG(sign[0]):
            # A link may lead elsewhere without a change here.
            raise NotVouchedFor(f"{place} is no file and no folder")

    def _note(self, path: str, sign: Sign) -> None:
        *_, mtime_ns, ctime_ns = sign
        if max(mtime_ns, ctime_ns) >= self._latest_ns:
            raise NotSettled(f"{path} was changed this moment")
        if not (mtime_ns % _SECOND_NS or ctime_ns % _SECOND_NS):
            raise NotVouchedFor(f"the clock of {path} is coarse")
        self._signs[path[len(self._run) :]] = sign

    def _compare_path(self, path: str) -> None:
        """Compare what is there with what the file cache has said of it, as a file and as a name."""
        file, names = self._files.file(path), self._files.listing(parent(path))
        entry = names.get(name_in(path)) if names is not None else None
        if file is None and names is None:
            raise NotVouchedFor(f"nothing is known of {path}")
        sign = sign_at(self._full(path), _ABSENT)
        if sign is _ABSENT:
            is_same = not entry and not (file and (file.exists or file.problem))
        elif sign is None:
            is_same = False
        elif stat.S_ISREG(sign[0]):
            self._note(path, sign)
            _, *key = sign
            is_same = file is None or self._files.sign(path) == tuple(key)
            is_same &= names is None or (entry is not None and entry[1:] == ("file", key[1], key[2], False))
        else:
            is_same = stat.S_ISDIR(sign[0])
            is_same &= file is None or bool(file.problem and not file.exists)
            is_same &= names is None or (entry is not None and entry[1:] == _FOLDER)
        if not is_same:
            raise NotVouchedFor(f"{path} is not as it was seen")

    def _compare_listing(self, folder: str) -> None:
        now, problem, _ = listing_at(self._files.root, folder)
        if problem or now != self._files.listing(folder):
            raise NotVouchedFor(f"{folder} is not as it was listed")
        for name, entry in now.items():
            if entry.link or entry.kind == "other":
                raise NotVouchedFor(f"{below(folder, name)} is no file and no folder")
            if entry.kind == "file":
                self._compare_path(below(folder, name))


_FOLDER = ("folder", 0, 0, False)
