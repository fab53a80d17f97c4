"""Glob patterns over `Files`: walking what fits, and matching single paths.

`*`, `?` and `[..]` stand for characters of one name, hidden names (with a dot in front) only for a pattern
with a dot in front. `**` is any number of folders and goes through no link. A walk holds every position of
the pattern that the names so far may have reached, as a nondeterministic automaton does, so that many `**`
cost no more than one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import cache
from itertools import islice

from .files import Entry, Files, below, natural


def is_glob(path: str) -> bool:
    return "*" in path or "?" in path or "[" in path


# `**` goes no deeper below the root; a tree that deep is a mistake, and an endless one has no end.
MOST_DEEP = 24
MOST_FOLDERS = 50_000
"""The most folders that a walk looks into; through links there may be more ways than folders."""
# A folder that is a link counts for so many more: the system follows all links of a way each time.
_COST_OF_LINK = 20


class TooManyFolders(Exception):  # noqa: N818 - the tree is at fault, not the program
    """A walk that would look into more than `MOST_FOLDERS`; what it found so far is not all."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"{pattern} leads into more than {MOST_FOLDERS} folders")


def glob(
    files: Files, pattern: str, at: str | None = None, name: str | None = None
) -> Iterator[tuple[str, Entry]]:
    """(path, entry) of all that fits, each once; those of a folder in natural order, then what is below it.

    `*`, `?` and `[..]` stand for characters of one name, hidden names (with a dot in front) only for a
    pattern with a dot in front. `**` is any number of folders, at most 24 deep and through no link. With
    `at`, only what fits at that path or below it, without a look at anything else; with `name`, only what has
    that last name, which is looked up and not searched for. Raises TooManyFolders.
    """
    parts = _parts(pattern)
    if name is not None and parts:
        parts = _with_last_name(name, parts)
    if parts:
        way = [] if at is None else at.split("/")
        left = iter(range(MOST_FOLDERS))
        for found in _walk(files, "", _open({0}, parts), parts, way, 0, left):
            if found is None:
                raise TooManyFolders(pattern)
            yield found


def _with_last_name(name: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The pattern of what fits `parts` and has that last name; () when nothing can."""
    last = parts[-1]
    is_hidden = name.startswith(".") and is_glob(last) and not last.startswith(".")
    if is_hidden or not name or not _segment(last)(name):
        return ()
    return (*parts[:-1], re.sub(r"([*?\[])", r"[\1]", name))


def _parts(pattern: str) -> tuple[str, ...]:
    """The names of a pattern; `**` twice in a row is one, and `*` follows one at the end."""
    names = [name for name in pattern.split("/") if name]
    pairs = zip(["", *names], names, strict=False)
    parts = tuple(name for above, name in pairs if (above, name) != ("**", "**"))
    return (*parts, "*") if parts[-1:] == ("**",) else parts


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
    """A test of names by one segment of a pattern, in linear time; `[^a]` is `[!a]`."""
    if not is_glob(pattern):
        return pattern.__eq__
    return re.compile(translate(pattern.replace("[^", "[!"))).match


def _walk(
    files: Files,
    folder: str,
    positions: frozenset[int],
    parts: tuple[str, ...],
    way: Sequence[str],
    depth: int,
    left: Iterator[int],
    is_link: bool = False,
) -> Iterator[tuple[str, Entry] | None]:
    """Walk what fits in a folder and below it; `way` has the names that must lead there, from the root on.

    `left` has an element for each folder that may still be looked into; None instead of another one.
    """
    if next(islice(left, _COST_OF_LINK if is_link else 0, None), None) is None:
        yield None
        return
    # A name that is known beforehand is looked up alone.
    only, wanted = way[depth : depth + 1], {parts[p] for p in positions}
    if only or not any(map(is_glob, wanted)):
        names = {name: entry for name in only or wanted if (entry := files.entry(below(folder, name)))}
    else:
        names = files.list(folder)
    unhidden = {p for p in positions if parts[p].startswith((".", "**")) or not is_glob(parts[p])}
    fitting: dict[str, frozenset[int]] = {}
    for name, entry in names.items():
        through = entry.kind == "folder" and not entry.link
        following = _step(name, through, unhidden if name.startswith(".") else positions, parts)
        if following:
            fitting[name] = following
    deeper = []
    for name in sorted(fitting, key=natural):
        entry, path, onward = names[name], below(folder, name), fitting[name] - {len(parts)}
        if len(parts) in fitting[name] and depth + 1 >= len(way):
            yield path, entry
        if onward and entry.kind == "folder" and depth < MOST_DEEP:
            deeper.append((path, onward, entry.link))
    for path, onward, link in deeper:
        yield from _walk(files, path, onward, parts, way, depth + 1, left, link)


def fits(pattern: str, path: str) -> bool:
    """Match a path with a glob pattern; as in `glob`, but hidden names fit too, and depth has no bound."""
    parts = _parts(pattern)
    return len(parts) in _after(path, parts)


def leads_to(folder: str, pattern: str) -> bool:
    """Tell of a folder that paths which fit a glob pattern may lie below it."""
    parts = _parts(pattern)
    return bool(_after(folder, parts) - {len(parts)})


def concerns(pattern: str, written: str) -> bool:
    """Tell of what is written, moved or deleted that a path which fits a glob pattern may be among it.

    `written` is a path; with a slash at its end it is a folder with all below it, with `*` all that fits it.
    """
    is_folder, path = written.endswith("/"), written.rstrip("/")
    if not is_glob(path):
        return fits(pattern, path) or (is_folder and leads_to(path, pattern))
    names = pattern.split("/")
    above = ["/".join(names[:count]) for count in range(1, len(names))] if is_folder else []
    return not is_glob(pattern) and any(fits(path, each) for each in (pattern, *above))


def _after(path: str, parts: tuple[str, ...]) -> frozenset[int]:
    positions = _open({0}, parts)
    for name in path.split("/") if path else ():
        positions = _step(name, True, positions, parts)
    return positions


class PathMatcher:
    """A test of many paths by some patterns, as `fits`: where a folder leads to is found once.

    Cost: the folders times the patterns, then one step a path and pattern.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_parts(pattern) for pattern in patterns]
        self._folders: dict[str, list[tuple[tuple[str, ...], frozenset[int]]]] = {}

    def fits(self, path: str) -> bool:
        """True if a path fits one of the patterns."""
        folder, _, name = path.rpartition("/")
        ways = self._folders.get(folder)
        if ways is None:
            after = ((parts, _after(folder, parts)) for parts in self._patterns)
            ways = self._folders[folder] = [(parts, found) for parts, found in after if found]
        return any(len(parts) in _step(name, True, found, parts) for parts, found in ways)
