"""The one seam between the engine and a file system: what the engine may ask of files.

Paths are POSIX and relative to the root; "" is the root itself. An implementation answers the same
question with the same answer for as long as it lives (it is a frozen view), never raises on what it
finds, and never leads outside the root. `server/disk/disk_files.py` reads a disk, `overlay.py` has texts
in memory.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, Protocol

from ..findings import Problem
from .xml_encoding import decode_xml

MEBIBYTE = 1 << 20
MAX_BYTES = 8 * MEBIBYTE
"""Text of larger files is not read."""
MOST_VALUES = 250_000
"""JSON that may hold more values is not read: it would be a second's work each time."""
MOST_MARKDOWN, MOST_MARKDOWN_LINES = 2 * MEBIBYTE, 25_000
"""Markdown of more characters or lines is not read; a plan of 10,000 tasks has half of either."""
MOST_RECORDS = 50_000
"""A journal of more lines is not read."""


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
        """True if something is there that is not read, as a pipe or a link out of the root: never absent."""
        return self.problem is not None and self.problem.code == "artifact-unreadable"

    @property
    def why_missing(self) -> str:
        """Why it does not count where a file is needed, as the end of a sentence."""
        return f"cannot be read: {self.problem.message}" if self.problem else "does not exist or is empty"


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

    `unlisted_folders` has those seen so far that exist but could not be listed, and why; an empty listing
    alone would hide that.
    """

    @property
    def unlisted_folders(self) -> Mapping[str, Problem]: ...

    def read(self, path: str) -> File:
        """The file at `path`; it does not exist if it is missing, a folder, or out of the root."""
        ...

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The names in a folder, empty when there is none."""
        ...

    def entry(self, path: str) -> Entry | None:
        """One name as the listing of its folder has it; None when it is not there."""
        ...


class RecordingFiles:
    """Files that record their read set: whatever else changes in the root, the answers given stay the same.

    `used` has the paths that were read or looked up by name, and with "/" behind them the folders that were
    listed. `unlisted_folders` has only folders asked for here.
    """

    def __init__(self, below: Files) -> None:
        self.below = below
        self.used: set[str] = set()
        self.unlisted_folders: dict[str, Problem] = {}

    def read(self, path: str) -> File:
        file = self.below.read(path)
        self.used.add(file.path)
        return file

    def list(self, folder: str) -> Mapping[str, Entry]:
        self.used.add(f"{folder}/")
        names = self.below.list(folder)
        if folder in self.below.unlisted_folders:
            self.unlisted_folders[folder] = self.below.unlisted_folders[folder]
        return names

    def entry(self, path: str) -> Entry | None:
        self.used.add(path)
        entry = self.below.entry(path)
        folder = parent(path)
        return self.list(folder).get(name_in(path)) if folder in self.below.unlisted_folders else entry


def parent(path: str) -> str:
    """The folder that a path lies in."""
    return path.rpartition("/")[0]


def name_in(path: str) -> str:
    """The last name of a path."""
    return path.rpartition("/")[2]


def below(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


def is_below_root(path: str) -> bool:
    """True if a root-relative path names something below the root and is written without detours."""
    return "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/"))


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


_DIGITS = re.compile(r"(\d+)")
_MOST_DIGITS = 100
"""Longer ones are no number that anybody counts with."""


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key under which `task-9` comes before `task-10`."""
    return tuple(map(_natural_part, filter(None, _DIGITS.split(name))))


def _natural_part(part: str) -> tuple[int, int | str]:
    # An isdigit() test would let superscripts through, which int() refuses, as it does thousands of digits.
    return (0, int(part)) if part.isdecimal() and len(part) <= _MOST_DIGITS else (1, part)


def decode(path: str, raw: bytes, mtime_ns: int = 0) -> File:
    """The File for bytes read from `path`: UTF-8, a byte order mark dropped. XML is as its declaration says.

    Anything else, and more than `MAX_BYTES`, is a File without text whose problem says why.
    """
    digest = digest_of(raw)
    if len(raw) > MAX_BYTES:
        return too_large(path, len(raw), digest, mtime_ns)
    try:
        text = decode_xml(raw) if path.endswith(".xml") else raw.decode("utf-8-sig")
    except LookupError as error:
        problem = Problem("artifact-unreadable", f"its encoding {error.args[0]} is not known")
        return File(path, True, None, digest, len(raw), mtime_ns, problem)
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        message = f"not UTF-8: byte 0x{raw[error.start]:02x} in line {before.count(chr(10)) + 1}"
        return File(path, True, None, digest, len(raw), mtime_ns, Problem("artifact-unreadable", message))
    if why := excess(text, _FORMS.get(path.rpartition(".")[2], "")):
        return File(path, True, None, digest, len(raw), mtime_ns, Problem("artifact-unreadable", why))
    return File(path, True, text, digest, len(raw), mtime_ns)


_FORMS = {"md": "markdown", "json": "json", "jsonl": "journal"}


def excess(text: str, form: str) -> str:
    """Why a text of a form (markdown, json or journal) would take too long to be parsed; "" for most texts.

    Costs a count of a few characters. Of JSON the commas in texts count, too.
    """
    if form == "json" and len(text) > MOST_VALUES and (count := text.count(",")) > MOST_VALUES:
        return f"it may hold {count} values; at most {MOST_VALUES} are read"
    if form == "markdown" and len(text) > MOST_MARKDOWN:
        return f"it has {len(text)} characters; of Markdown at most {MOST_MARKDOWN} are read"
    most = {"markdown": MOST_MARKDOWN_LINES, "journal": MOST_RECORDS}.get(form, len(text))
    if len(text) > most and (count := text.count("\n")) > most:
        return f"it has {count} lines; at most {most} are read"
    return ""


def too_large(path: str, size: int, digest: str, mtime_ns: int) -> File:
    """The File for one of more than `MAX_BYTES`, whose text is not read."""
    message = f"the file is {math.ceil(size / MEBIBYTE)} MB; at most {MAX_BYTES // MEBIBYTE} MB are read"
    return File(path, True, None, digest, size, mtime_ns, Problem("artifact-unreadable", message))
