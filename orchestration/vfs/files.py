"""The one seam between the engine and a file system: what the engine may ask of files.

Paths are POSIX and relative to the root; "" is the root itself. An implementation answers the same
question with the same answer for as long as it lives (it is a frozen view), never raises on what it
finds, and never leads outside the root. `server/disk/disk_files.py` reads a disk, `MemoryFiles` a dict.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from hashlib import sha256
from typing import NamedTuple, Protocol

from ..findings import Problem


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was read. `text` is None unless it could be decoded; then `problem` says why.

    `digest` is 16 hex digits of SHA-256 over the bytes ("" when the file is missing).
    `mtime_ns` orders report files; it is no part of the revision.
    """

    path: str
    exists: bool = False
    text: str | None = None
    digest: str = ""
    size: int = 0
    mtime_ns: int = 0
    problem: Problem | None = None

    @property
    def refused(self) -> bool:
        """Whether something is there that is not read, as a pipe or a link out of the root: never absent."""
        return self.problem is not None and self.problem.code == "artifact-unreadable"


class Entry(NamedTuple):
    """One name in a folder. `kind` is "file", "folder" or "other" (a socket, a link out of the root).

    `link` says that the name is a link; `**` does not go through one.
    """

    name: str
    kind: str
    size: int = 0
    mtime_ns: int = 0
    link: bool = False


class Files(Protocol):
    """A frozen view of one root.

    `unlisted` has the folders seen so far that exist but could not be listed, and why; an empty listing
    alone would hide that.
    """

    @property
    def unlisted(self) -> Mapping[str, Problem]: ...

    def read(self, path: str) -> File:
        """The file at `path`; it does not exist if it is missing, a folder, or out of the root."""
        ...

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The names in a folder, empty when there is none."""
        ...

    def entry(self, path: str) -> Entry | None:
        """One name as the listing of its folder has it; None when it is not there."""
        ...


class Noted:
    """Files, and what of them was asked for: `used` has the paths that were read or looked up by name, and
    the folders whose names were looked through, with "/" behind them. `unlisted` has folders asked for here.

    Whatever else changes in the root, the answers given here stay the same.
    """

    def __init__(self, below: Files) -> None:
        self.below = below
        self.used: set[str] = set()
        self.unlisted: dict[str, Problem] = {}

    def read(self, path: str) -> File:
        file = self.below.read(path)
        self.used.add(file.path)
        return file

    def list(self, folder: str) -> Mapping[str, Entry]:
        self.used.add(f"{folder}/")
        names = self.below.list(folder)
        if folder in self.below.unlisted:
            self.unlisted[folder] = self.below.unlisted[folder]
        return names

    def entry(self, path: str) -> Entry | None:
        self.used.add(path)
        entry = self.below.entry(path)
        folder = parent(path)
        return self.list(folder).get(name_in(path)) if folder in self.below.unlisted else entry


def parent(path: str) -> str:
    """The folder that a path lies in."""
    return path.rpartition("/")[0]


def name_in(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]


def below(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


def digest_of(data: bytes | str) -> str:
    """16 hex digits of SHA-256; text is taken as UTF-8."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return sha256(raw).hexdigest()[:16]


def join(run: str, path: str) -> str | None:
    """`path` as the definition writes it (from the run, or from the root when it starts with "/").

    None when it leaves the root.
    """
    if "\0" in path or "\\" in path:
        return None
    # Nearly every path is written plainly, and normalising each takes a tenth of an evaluation.
    if path[:1] not in ("", "/") and path[-1] not in "/." and "./" not in path and "//" not in path:
        return f"{run}/{path}" if run else path
    whole = posixpath.normpath(path.lstrip("/") if path.startswith("/") else posixpath.join(run, path))
    if whole == ".." or whole.startswith("../"):
        return None
    return "" if whole == "." else whole


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


_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key under which `task-9` comes before `task-10`."""
    parts = (part for part in _DIGITS.split(name) if part)
    # An isdigit() test would let superscripts through, which int() refuses.
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


@dataclass
class MemoryFiles:
    """A root held in a dict of path -> text or bytes, with optional mtimes; for tests and previews."""

    texts: Mapping[str, str | bytes]
    mtimes: Mapping[str, int] = field(default_factory=dict)
    unlisted: Mapping[str, Problem] = field(default_factory=dict)

    def read(self, path: str) -> File:
        if path not in self.texts:
            return File(path)
        raw = self.texts[path]
        return decode(path, raw.encode() if isinstance(raw, str) else raw, self.mtimes.get(path, 0))

    def list(self, folder: str) -> Mapping[str, Entry]:
        names: dict[str, Entry] = {}
        prefix = f"{folder}/" if folder else ""
        for path, text in self.texts.items():
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition("/")
                size = len(text.encode() if isinstance(text, str) else text)
                names[name] = (
                    Entry(name, "folder") if deeper else Entry(name, "file", size, self.mtimes.get(path, 0))
                )
        return names

    def entry(self, path: str) -> Entry | None:
        return self.list(parent(path)).get(name_in(path))


def decode(path: str, raw: bytes, mtime_ns: int = 0) -> File:
    """The File for bytes read from `path`: UTF-8, a byte order mark dropped; anything else is unreadable."""
    digest = digest_of(raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        problem = Problem(
            "artifact-unreadable",
            f"not UTF-8: byte 0x{raw[error.start]:02x} in line {before.count(chr(10)) + 1}",
        )
        return File(path, True, None, digest, len(raw), mtime_ns, problem)
    return File(path, True, text, digest, len(raw), mtime_ns)
