"""The links that lead to the paths of a root that were asked for, and the names by which they are known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from ...orchestration.vfs.files import parent
from .path_index import PathIndex
from .safe_open import links_on


class LinkIndex:
    """Which paths lead through which places by links. Places are added to `tree` as known paths.

    What it says of folders is asked of the disk once, until `look_anew`. It belongs to one thread.
    """

    def __init__(self, root: str, tree: PathIndex) -> None:
        self._root, self._tree = root, tree
        self.ways = 0
        """Counts up when links lead other ways than before."""
        self._places: dict[str, frozenset[str]] = {}
        """The places that the way of a path leads through by links; no path without any."""
        self._paths: dict[str, set[str]] = {}
        """The other way round: the paths that lead through a place."""
        self._plain: dict[str, bool] = {}
        """Folders, and whether no link leads to them."""
        self._missing: dict[str, bool] = {}
        """Folders, and whether they are surely not there."""

    def __contains__(self, path: object) -> bool:
        """True for a path that leads through a link."""
        return path in self._places

    def look_anew(self) -> None:
        """Ask the disk again from now on."""
        self._plain, self._missing = {}, {}

    def places(self) -> frozenset[str]:
        """The places that links lead to or through."""
        return frozenset(self._paths)

    def paths_through(self, place: str) -> tuple[str, ...]:
        """The paths that lead through a place by links."""
        return tuple(self._paths.get(place, ()))

    def with_aliases(self, hints: Iterable[str]) -> Iterator[str]:
        """The hints, and the paths by which what they are about is known through links."""
        for hint in hints:
            yield hint
            place = hint
            while self._paths and place:
                for path in self.paths_through(place):
                    yield path + hint[len(place) :]
                place = parent(place)

    # ---- which way a path leads

    def note(self, path: str) -> None:
        """Note the places that the way of a path leads through now."""
        is_direct = self.is_plain(parent(path)) and not os.path.islink(self._full(path))  # noqa: PTH114
        self._set_places(path, frozenset() if is_direct else links_on(self._root, path))

    def drop(self, path: str) -> None:
        """Nobody asks for the path any more, or nothing is there."""
        self._set_places(path, frozenset())

    def _set_places(self, path: str, now: frozenset[str]) -> None:
        before = self._places.get(path, frozenset())
        self.ways += now != before
        for place in before - now:
            self._paths[place].discard(path)
            if not self._paths[place]:
                del self._paths[place]
            self._tree.remove(place)
        for place in now - before:
            self._paths.setdefault(place, set()).add(path)
            self._tree.add(place)
        if now:
            self._places[path] = now
        else:
            self._places.pop(path, None)

    # ---- what the disk says

    def is_plain(self, folder: str) -> bool:
        """True if no link leads to a folder."""
        if folder not in self._plain:
            is_above_plain = self._plain.get(parent(folder))
            full = self._full(folder)
            is_link = os.path.islink(full) if is_above_plain else links_on(self._root, folder)  # noqa: PTH114
            self._plain[folder] = not is_link
        return self._plain[folder]

    def is_absent(self, path: str) -> bool:
        """True if there is surely no such file; most are not there, and would be looked for from the root."""
        folder = parent(path)
        if folder not in self._missing:
            self._missing[folder] = self.is_plain(folder) and self._is_missing(folder)
        return self._missing[folder] or (self.is_plain(folder) and self._is_missing(path))

    def _is_missing(self, path: str) -> bool:
        try:
            os.lstat(self._full(path))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False  # What cannot be looked at may be there.
        return False

    def _full(self, path: str) -> str:
        return f"{self._root}{os.sep}{path.replace('/', os.sep)}" if path else self._root
