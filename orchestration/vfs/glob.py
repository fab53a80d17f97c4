"""Glob patterns over `Files`: walking what fits, and matching single paths.

`*`, `?` and `[..]` stand for characters of one name, hidden names (with a dot in front) only for a pattern
with a dot in front. `**` is any number of folders and goes through no link. A walk holds every position of
the pattern that the names so far may have reached, as a nondeterministic automaton does, so that many `**`
cost no more than one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache

from .files import Entry, Files, below, natural


def is_glob(path: str) -> bool:
    return "*" in path or "?" in path or "[" in path


# `**` goes no deeper below the root; a tree that deep is a mistake, and an endless one has no end.
MOST_DEEP = 24


def glob(files: Files, pattern: str) -> Iterator[tuple[str, Entry]]:
    """(path, entry) of all that fits, each once; those of a folder in natural order, then what is below it.

    `*`, `?` and `[..]` stand for characters of one name, hidden names (with a dot in front) only for a
    pattern with a dot in front. `**` is any number of folders, at most 24 deep and through no link.
    """
    parts = _parts(pattern)
    lead = next((number for number, part in enumerate(parts[:-1]) if is_glob(part)), len(parts) - 1)
    folder = "/".join(parts[:lead])
    if parts and _is_folder(files, parts[:lead]):
        yield from _walk(files, folder, _open({lead}, parts), parts, lead)


def _is_folder(files: Files, names: Sequence[str]) -> bool:
    """Whether there is a folder below the root at the end of these names; each is looked up alone."""
    at = ""
    for name in names:
        at = below(at, name)
        entry = files.entry(at)
        if entry is None or entry.kind != "folder":
            return False
    return len(names) <= MOST_DEEP


def _parts(pattern: str) -> tuple[str, ...]:
    out: list[str] = []
    for part in pattern.split("/"):
        if part and not (part == "**" and out[-1:] == ["**"]):
            out.append(part)
    return (*out, "*") if out[-1:] == ["**"] else tuple(out)


def _open(positions: Iterable[int], parts: tuple[str, ...]) -> frozenset[int]:
    """The positions in a pattern, and those behind a `**` that may stand for no folder at all."""
    found = set(positions)
    return frozenset(found | {p + 1 for p in found if p < len(parts) and parts[p] == "**"})


def _step(name: str, through: bool, positions: Iterable[int], parts: tuple[str, ...]) -> frozenset[int]:
    """Where in the pattern one stands behind a name; all at once, so that many `**` cost no more than one."""
    found = set()
    for p in positions:
        if p < len(parts) and parts[p] == "**":
            found |= {p} if through else set()
        elif p < len(parts) and _segment(parts[p])(name):
            found.add(p + 1)
    return _open(found, parts)


@cache
def _segment(pattern: str) -> Callable[[str], object]:
    """Whether a name fits one segment of a pattern, in linear time; `[^a]` is `[!a]`."""
    if not is_glob(pattern):
        return pattern.__eq__
    return re.compile(translate(pattern.replace("[^", "[!"))).match


def _walk(
    files: Files, folder: str, positions: frozenset[int], parts: tuple[str, ...], depth: int
) -> Iterator[tuple[str, Entry]]:
    deeper = []
    for name, entry, following in _fitting(_names(files, folder, positions, parts), positions, parts):
        path = below(folder, name)
        if len(parts) in following:
            yield path, entry
        onward = _onward(entry, following, parts, depth)
        if onward:
            deeper.append((path, onward))
    for path, onward in deeper:
        yield from _walk(files, path, onward, parts, depth + 1)


def glob_at(files: Files, pattern: str, path: str) -> Iterator[tuple[str, Entry]]:
    """What `glob` finds at a path or below it, without a look at anything else."""
    parts = _parts(pattern)
    positions, folder = _open({0}, parts), ""
    names = path.split("/")
    for depth, name in enumerate(names):
        folder = below(folder, name)
        entry = files.entry(folder)
        fitting = _fitting({name: entry}, positions, parts) if entry else []
        if not entry or not fitting:
            return
        if depth == len(names) - 1 and len(parts) in fitting[0][2]:
            yield path, entry
        positions = _onward(entry, fitting[0][2], parts, depth)
        if not positions:
            return
    yield from _walk(files, path, positions, parts, len(names))


def _onward(entry: Entry, following: frozenset[int], parts: tuple[str, ...], depth: int) -> frozenset[int]:
    """Where in the pattern one stands in the folder itself; nowhere, when it leads no further."""
    return following - {len(parts)} if entry.kind == "folder" and depth < MOST_DEEP else frozenset()


def _names(
    files: Files, folder: str, positions: frozenset[int], parts: tuple[str, ...]
) -> Mapping[str, Entry]:
    """The names of a folder that can matter; a name that is known beforehand is looked up alone."""
    wanted = {parts[p] for p in positions}
    if any(is_glob(part) for part in wanted):
        return files.list(folder)
    found = {name: files.entry(below(folder, name)) for name in wanted}
    return {name: entry for name, entry in found.items() if entry}


def _fitting(
    names: Mapping[str, Entry], positions: frozenset[int], parts: tuple[str, ...]
) -> list[tuple[str, Entry, frozenset[int]]]:
    """The names that lead on in the pattern, and where each leads to."""
    shown = {p for p in positions if parts[p].startswith((".", "**")) or not is_glob(parts[p])}
    found = []
    for name, entry in names.items():
        through = entry.kind == "folder" and not entry.link
        following = _step(name, through, shown if name.startswith(".") else positions, parts)
        if following:
            found.append((name, entry, following))
    return sorted(found, key=lambda item: natural(item[0]))


def fits(pattern: str, path: str) -> bool:
    """Whether a path fits a glob pattern; as in `glob`, but hidden names fit too, and depth has no bound."""
    parts = _parts(pattern)
    return len(parts) in _after(path, parts)


def leads_to(folder: str, pattern: str) -> bool:
    """Whether paths that fit a glob pattern may lie below a folder."""
    parts = _parts(pattern)
    return bool(_after(folder, parts) - {len(parts)})


def _after(path: str, parts: tuple[str, ...]) -> frozenset[int]:
    positions = _open({0}, parts)
    for name in path.split("/") if path else ():
        positions = _step(name, True, positions, parts)
    return positions
