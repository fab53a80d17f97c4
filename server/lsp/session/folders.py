"""Which folders an editor has open, the roots that were opened for them, and how it spells their files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from ...live.boards import Progress
from ...live.engine import Engine
from ..view.documents import path_of


class Folders:
    """The folders of one editor, by URI, and those of documents that lie in none of them."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[Path, tuple[Path, ...]]] = {}
        self._loose: dict[Path, tuple[Path, ...]] = {}

    def add(self, uri: str) -> Path | None:
        """A folder that the editor opens; None for one that is known, or is no folder of a disk."""
        path = path_of(uri)
        if path is None or uri in self._given:
            return None
        self._given[uri] = (path, ())
        return path

    def around(self, root: Path, projects: tuple[Path, ...]) -> list[str | Path]:
        """The folders, by URI or as loose ones, that were opened when a root had other projects."""
        given = ((uri, roots) for uri, (_, roots) in self._given.items())
        known: Iterator[tuple[str | Path, tuple[Path, ...]]] = chain(given, self._loose.items())
        return [key for key, roots in known if roots[:1] == (root,) and roots[1:] != projects]

    def opened(self, key: str | Path, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        """Note what a folder was opened to; what is to be closed now: the roots before, or these where the
        editor has closed it meanwhile."""
        if isinstance(key, Path) and key in self._loose:
            before, self._loose[key] = self._loose[key], roots
            return before
        if isinstance(key, str) and key in self._given:
            path, before = self._given[key]
            self._given[key] = (path, roots)
            return before
        return roots

    def path(self, key: str | Path) -> Path | None:
        """The path of a folder by URI or of a loose one; None where it was closed meanwhile."""
        return key if isinstance(key, Path) else self._given.get(key, (None, ()))[0]

    def drop(self, uri: str) -> tuple[Path, ...]:
        """The roots of a folder that the editor closes."""
        return self._given.pop(uri, (None, ()))[1]

    def add_loose(self, path: Path) -> Path | None:
        """The folder of a document that lies in none of the editor's; None where it is known."""
        around = any(path.is_relative_to(folder) for folder, _ in self._given.values())
        if around or path.parent in self._loose:
            return None
        self._loose[path.parent] = ()
        return path.parent

    def drop_loose(self, documents: Iterable[Path]) -> tuple[Path, ...]:
        """The roots that were opened for documents of which none is among the open ones any more."""
        paths = tuple(documents)
        idle = [
            folder
            for folder, roots in self._loose.items()
            if not any(path.is_relative_to(each) for path in paths for each in (folder, *roots))
        ]
        return tuple(root for folder in idle for root in self._loose.pop(folder))

    def roots(self) -> Iterator[Path]:
        """Every root as often as it was opened."""
        for _, roots in self._given.values():
            yield from roots
        for roots in self._loose.values():
            yield from roots

    def uri_of(self, path: Path) -> str:
        """The URI of a file, as the editor spells the folder that it lies in."""
        for uri, (folder, _) in self._given.items():
            if path.is_relative_to(folder):
                rest = path.relative_to(folder).as_posix()
                return uri if rest == "." else f"{uri.rstrip('/')}/{quote(os.fsencode(rest))}"
        return path.as_uri()


async def open_roots(engine: Engine, path: Path, progress: Progress) -> tuple[Path, ...]:
    """`engine.open`. Where nobody waits for it any more, what it opens is closed again."""
    opening = asyncio.ensure_future(engine.open(path, progress))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(lambda done: _let_go(engine, done))
        raise


def _let_go(engine: Engine, opened: asyncio.Future[tuple[Path, ...]]) -> None:
    if not opened.cancelled() and opened.exception() is None:
        for root in opened.result():
            engine.close(root)
