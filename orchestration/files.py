"""The one seam between the engine and a file system: what the engine may ask of files.

Paths are POSIX and relative to the root; "" is the root itself. An implementation answers the same
question with the same answer for as long as it lives (it is a frozen view), never raises on what it
finds, and never leads outside the root. `server/files.py` reads a disk, `MemoryFiles` a dict.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import NamedTuple, Protocol

from .findings import Problem


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
    whole = posixpath.normpath(path.lstrip("/") if path.startswith("/") else posixpath.join(run, path))
    if whole == ".." or whole.startswith("../"):
        return None
    return "" if whole == "." else whole


def is_glob(path: str) -> bool:
    return any(character in path for character in "*?[")


@cache
def _segment(pattern: str) -> re.Pattern[str]:
    """One path segment as a regular expression: *, ? and [..] as in a shell, never across "/"."""
    out = []
    i = 0
    while i < len(pattern):
        character = pattern[i]
        close = pattern.find("]", i + 2) if character == "[" else -1
        if character == "*":
            out.append("[^/]*")
        elif character == "?":
            out.append("[^/]")
        elif close > 0:
            body = pattern[i + 1 : close].replace("\\", "\\\\")
            out.append("[" + ("^" + body[1:] if body[0] in "!^" else body) + "]")
            i = close
        else:
            out.append(re.escape(character))
        i += 1
    return re.compile("".join(out) + r"\Z")


def glob(files: Files, pattern: str) -> Iterator[tuple[str, Entry]]:
    """(path, entry) of everything that fits, in natural order of names; `**` is any number of folders.

    At most 24 folders deep; `**` does not go through links.
    """
    parts = [part for part in pattern.split("/") if part]
    if parts:
        yield from _glob(files, "", parts, 0)


def _glob(files: Files, folder: str, parts: list[str], depth: int) -> Iterator[tuple[str, Entry]]:
    head, rest = parts[0], parts[1:]
    if depth > 24:
        return
    if head == "**":
        yield from _glob(files, folder, rest or ["*"], depth)
    for name, entry in _matches(files, folder, head):
        path = f"{folder}/{name}" if folder else name
        if head == "**":
            if entry.kind == "folder" and not entry.link:
                yield from _glob(files, path, parts, depth + 1)
        elif not rest:
            yield path, entry
        elif entry.kind == "folder":
            yield from _glob(files, path, rest, depth + 1)


def _matches(files: Files, folder: str, head: str) -> list[tuple[str, Entry]]:
    names = files.list(folder)
    if head == "**":
        return sorted(names.items(), key=lambda item: natural(item[0]))
    if not is_glob(head):
        return [(head, names[head])] if head in names else []
    fits = _segment(head).match
    hidden = head.startswith(".")
    found = [(name, entry) for name, entry in names.items() if fits(name) and (hidden or name[0] != ".")]
    return sorted(found, key=lambda item: natural(item[0]))


def fits(pattern: str, path: str) -> bool:
    """Whether a path fits a glob pattern; the same rules as `glob`, without looking at any folder."""
    return _fits([p for p in pattern.split("/") if p], path.split("/"))


def _fits(parts: list[str], names: list[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(parts[1:] or ["*"], names[i:]) for i in range(len(names) + 1))
    return bool(names) and _segment(parts[0]).match(names[0]) is not None and _fits(parts[1:], names[1:])


def leads_to(folder: str, pattern: str) -> bool:
    """Whether paths that fit a glob pattern may lie below a folder."""
    parts = [part for part in pattern.split("/") if part][:-1]
    names = folder.split("/") if folder else []
    if "**" in parts:
        # What `**` stands for has any depth, so only what precedes it must fit.
        parts = parts[: parts.index("**")]
        names = names[: len(parts)]
    return len(names) <= len(parts) and _fits(parts[: len(names)], names)


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
                name, _, below = path[len(prefix) :].partition("/")
                size = len(text.encode() if isinstance(text, str) else text)
                names[name] = (
                    Entry(name, "folder") if below else Entry(name, "file", size, self.mtimes.get(path, 0))
                )
        return names


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
