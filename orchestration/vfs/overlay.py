"""Files held in memory, alone or laid over other files: tests, unsaved editor texts, proposed changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..findings import Problem
from .files import Entry, File, Files, below, decode, is_below_root, name_in, parent

UNSAVED_MTIME_NS = 2**63 - 1
"""Unsaved text is judged as if it were saved this moment, so it is newer than everything on disk."""
PROPOSED_MTIME_NS = 2**62
"""Time of proposed texts: newer than all that was saved, and older than what an editor still holds."""


@dataclass
class MemoryFiles:
    """A root held in a dict of path -> text or bytes, with optional mtimes."""

    texts: Mapping[str, str | bytes]
    mtimes: Mapping[str, int] = field(default_factory=dict)
    unlisted_folders: Mapping[str, Problem] = field(default_factory=dict)

    def read(self, path: str) -> File:
        if path not in self.texts:
            return File(path)
        return decode(path, _raw(self.texts[path]), self.mtimes.get(path, 0))

    def list(self, folder: str) -> Mapping[str, Entry]:
        names: dict[str, Entry] = {}
        prefix = f"{folder}/" if folder else ""
        for path, text in self.texts.items():
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition("/")
                names[name] = (
                    Entry(name, "folder")
                    if deeper
                    else Entry(name, "file", len(_raw(text)), self.mtimes.get(path, 0))
                )
        return names

    def entry(self, path: str) -> Entry | None:
        return self.list(parent(path)).get(name_in(path))


class OverlayFiles:
    """`under` with some texts over it, by root-relative path; paths that leave the root are ignored.

    A text equal to the file under it is that file, with its own time of modification.
    """

    def __init__(self, under: Files, texts: Mapping[str, str], mtime_ns: int = UNSAVED_MTIME_NS) -> None:
        inside = {path: _raw(text) for path, text in texts.items() if is_below_root(path)}
        self.under = under
        self.over = MemoryFiles(inside, dict.fromkeys(inside, mtime_ns))

    @property
    def unlisted_folders(self) -> Mapping[str, Problem]:
        return self.under.unlisted_folders

    def read(self, path: str) -> File:
        file, changed = self.under.read(path), self.over.read(path)
        return changed if changed.exists and changed.digest != file.digest else file

    def list(self, folder: str) -> Mapping[str, Entry]:
        over, under = self.over.list(folder), self.under.list(folder)
        if not over:
            return under
        names = {**under, **{name: self._entry(folder, entry) for name, entry in over.items()}}
        return {name: names[name] for name in sorted(names)}

    def entry(self, path: str) -> Entry | None:
        over = self.over.entry(path)
        return self._entry(parent(path), over) if over else self.under.entry(path)

    def _entry(self, folder: str, over: Entry) -> Entry:
        if over.kind == "folder":
            return over
        file = self.read(below(folder, over.name))
        return over._replace(size=file.size, mtime_ns=file.mtime_ns)


def _raw(text: str | bytes) -> bytes:
    # Editors may hand over half a surrogate pair; `decode` then reports it.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
