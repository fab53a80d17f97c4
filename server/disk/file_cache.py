"""A root's files as they were last seen: each read once, and again only where something may have changed.

Unlike `DiskFiles` this view is not of one moment. It is brought up to date by `refresh` with paths that may
have changed, or by `rescan` without any, and then says in `changed` which answers are no longer those it
gave before. A key of `changed` is a path (its text, or what its folder says of it), or a folder with "/"
behind it (its names). With `has_grace` what may be half saved counts as before, and is in `saves`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from time import time_ns
from typing import NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.vfs.files import Entry, File, below, name_in, parent
from ..lru_cache import LruCache
from .disk_files import ABSENT, MEBIBYTE, StatKey, entry_at, file_at, listing_at, stat_key, vanished_file
from .large_folders import LargeFolders, folder_sign
from .link_index import LinkIndex
from .partial_saves import GRACE_MS, PartialSaves, is_gone, is_overwritten, is_passing, monotonic_ms
from .path_index import PathIndex
from .safe_open import RefusedError, folder_kind, may_link, refusal, unlinked_entry

SETTLED_NS = 2_000_000_000
"""A file saved this short before it was read may be saved again without its times showing it."""
TEXT_BYTES = 4 * MEBIBYTE
"""So much text is kept; a file that was not looked at for long is read again when it is needed."""
_PART = _MANY = 64
"""So much is looked at between two pauses; a folder of which more names may have changed is listed anew."""


class _CachedFile(NamedTuple):
    """A file without its text. With no `sign` it has to be read to know whether it is still the same."""

    file: File
    sign: StatKey | None
    inode: int = 0


class FileCache:
    """The files of a root that were asked for. It belongs to one thread."""

    def __init__(self, root: Path, now_ms: Callable[[], float] = monotonic_ms) -> None:
        self.root = os.path.realpath(root)
        self.saves = PartialSaves(now_ms)
        self.has_grace = False
        self.unlisted_folders: dict[str, Problem] = {}
        self.changed: set[str] = set()
        self.moved: set[str] = set()
        """Folders that came, went, or became links or ceased to be."""
        self._seen: dict[str, _CachedFile] = {}
        self._unsettled: set[str] = set()
        """The files without a sign."""
        self._listings: dict[str, dict[str, Entry]] = {}
        self._texts = LruCache[str, File](TEXT_BYTES, lambda file: file.size)
        self._tree = PathIndex()
        self.links = LinkIndex(self.root, self._tree)
        self.large_folders = LargeFolders(self.root)
        self._waiting: list[str] = []

    # ---- what evaluations ask

    def read(self, path: str) -> File:
        """The file as it was last seen; see `DiskFiles.read`."""
        seen, hold = self._seen.get(path), self.saves.holds.get(path)
        if hold and hold.before:
            return hold.answer
        if seen and not (seen.file.exists and seen.file.problem is None):
            return seen.file
        # A text that was let go is read again, and what is there now counts.
        return self._texts.get(path) or self._read(path)

    def list(self, folder: str) -> Mapping[str, Entry]:
        """The names in a folder, sorted; see `DiskFiles.list`."""
        return self._listings[folder] if folder in self._listings else self._list(folder)

    def entry(self, path: str) -> Entry | None:
        """One name as the listing of its folder has it."""
        return self.list(parent(path)).get(name_in(path))

    # ---- bringing it up to date

    def refresh(self, hints: Collection[str]) -> None:
        """Look again at paths that may have changed, and at all below them."""
        self.links.look_anew()
        if not self.has_grace:
            for path in list(self.saves.holds):
                if any(f"{path}/".startswith(f"{hint}/") or not hint for hint in hints):
                    self._drop_hold(path)
        by_folder: dict[str, set[str]] = {}
        for hint in self.links.with_aliases(hints):
            place = self._outermost(hint)
            self._waiting.append(place)
            by_folder.setdefault(parent(place), set()).add(name_in(place))
        for folder, names in by_folder.items():
            if folder in self._listings and (len(names) > _MANY or folder in self.unlisted_folders):
                self._list(folder)
            else:
                self._look_for(folder, names)
        self._catch_up()

    def refresh_right_in(self, folders: Iterable[str]) -> None:
        """Look again at the names of folders, at the files right in them, and below folders that are gone."""
        self.links.look_anew()
        for folder in self.links.with_aliases(folders):
            if folder in self._listings:
                self._list(folder)
            for path in self._tree.below(folder):
                if path in self._seen:
                    self._read(path)
                elif not os.path.isdir(self._full(path)):  # noqa: PTH112
                    self._waiting.append(path)
        self._catch_up()

    def recheck(self, keys: Collection[str], heard_all: bool = False) -> None:
        """Look again at what these keys are about, as far as times and sizes do not say that it is the same.

        Costs a stat a file and a listing a folder; files saved within `SETTLED_NS` are read again. With
        `heard_all`, where hints were given for all that was written in place, a large folder costs one stat,
        with all files in it.
        """
        self.links.look_anew()
        for key in set(keys) - self._vouched_keys(keys) if heard_all else keys:
            if key.endswith("/"):
                if key[:-1] in self._listings:
                    self._list(key[:-1])
            elif key not in self._seen:
                if not self._is_as_listed(key):
                    self._look_for(parent(key), (name_in(key),))
            elif self._may_differ(key):
                self._read(key)
        self._catch_up()

    def end_holds(self, paths: Iterable[str]) -> None:
        """Take in what is there now of files that were held."""
        had_grace, self.has_grace = self.has_grace, False
        self.links.look_anew()
        for path in paths:
            self.saves.drop(path)
            self.changed.add(path)
            self._look_for(parent(path), (name_in(path),))
            self._waiting.append(path)
        self._catch_up()
        self.has_grace = had_grace

    def rescanning(self) -> Iterator[None]:
        """Look again at everything, as far as times and sizes do not say that it is the same; in parts."""
        for number, folder in enumerate(list(self._listings)):
            if folder in self._listings:
                self._list(folder)
            if number % _PART == 0:
                self.links.look_anew()
                yield
        for number, path in enumerate(list(self._seen)):
            # What was forgotten meanwhile is not to come back.
            if path in self._seen and self._may_differ(path):
                self._read(path)
            if number % _PART == 0:
                self.links.look_anew()
                yield
        self._catch_up()

    def _may_differ(self, path: str) -> bool:
        sign = self._seen[path].sign
        if path in self.links or sign is None:
            return True
        if sign == ABSENT:
            # A link that leads to nothing is not absent.
            return os.path.lexists(self._full(path))
        return sign != stat_key(self._full(path))

    def _vouched_keys(self, keys: Iterable[str]) -> Set[str]:
        """What is known of the large folders that a stat finds with the names that they had."""
        vouched = set[str]()
        for folder in self.large_folders.among(keys) if not self.saves.holds else ():
            if self.large_folders.has_same_names(folder, self._full(folder)):
                vouched.update((f"{folder}/", *self._tree.below(folder)))
        return vouched - self._unsettled

    def _is_as_listed(self, path: str) -> bool:
        """True if a stat shows what the folder of a path says of it; nothing is opened for that."""
        known = self._listings.get(parent(path))
        if known is None or self.saves.holds or refusal(path) or not self.links.is_plain(parent(path)):
            return False
        try:
            return known.get(name_in(path)) == unlinked_entry(self._full(path))
        except (OSError, ValueError, RefusedError):
            return False

    def take(self) -> tuple[set[str], set[str]]:
        """(the keys of what changed since the last time, the folders that came or went)."""
        news = self.changed, self.moved
        self.changed, self.moved = set(), set()
        self.links.look_anew()
        return news

    def forget(self, paths: Iterable[str]) -> None:
        """Keep nothing more of the files at these paths; nobody asks for them any more."""
        for path in paths:
            if self._seen.pop(path, None) is not None:
                self._unsettled.discard(path)
                self._texts.drop(path)
                self._drop(path)

    def forget_names(self, needed: Container[str]) -> None:
        """Keep no names of folders but the `needed` ones and those in which something is known."""
        for folder in [each for each in self._listings if each not in needed]:
            if not self._tree.below(folder):
                names = self._listings.pop(folder)
                self.unlisted_folders.pop(folder, None)
                self.large_folders.drop(folder)
                for name, entry in names.items():
                    if may_link(entry):
                        self._drop(below(folder, name))
                self._drop(folder)

    def take_folders(self) -> list[str]:
        """The folders in which something is known since the last time, whether they are there or not."""
        folders, self._tree.appeared = self._tree.appeared, []
        return folders

    def folders(self) -> set[str]:
        """All folders in which something is known."""
        return self._tree.folders() | self._listings.keys()

    def file(self, path: str) -> File | None:
        """A file that was read, maybe without its text; None where nothing is known."""
        return self._seen[path].file if path in self._seen else None

    def sign(self, path: str) -> StatKey | None:
        """The sign of a file as it was read; None where a later save might not differ by it."""
        return self._seen[path].sign if path in self._seen else None

    def listing(self, folder: str) -> Mapping[str, Entry] | None:
        """The names of a folder that was listed; None where that is not known."""
        return self._listings.get(folder)

    def text(self, path: str) -> str | None:
        """The text of a file when it was read; None where that is not at hand."""
        return file.text if (file := self._texts.get(path)) else None

    def _drop(self, path: str) -> None:
        self._tree.remove(path)
        if path not in self._seen and path not in self._listings:
            self.links.drop(path)

    # ---- which paths a hint is about

    def _outermost(self, hint: str) -> str:
        """The hint, or the outermost place on its way that was not known as a folder until now."""
        folder = ""
        for name in hint.split("/")[:-1]:
            folder = below(folder, name)
            if not self._may_be_folder(folder):
                return folder
        return hint

    def _may_be_folder(self, path: str) -> bool:
        """False if it was seen lately that no folder is there; True also where nobody has looked."""
        names = self._listings.get(parent(path))
        if names is None:
            # Of what stands there only files are known, and what was looked for as one.
            return path not in self._seen
        entry = names.get(name_in(path))
        return entry is not None and entry.kind == "folder"

    def _look_for(self, folder: str, names: Iterable[str]) -> None:
        """Bring single names of a folder up to date. Whoever looks through its listing keeps what he has."""
        known = self._listings.get(folder)
        if known is None:
            return
        found = {name: entry_at(self.root, folder, name) for name in names if name}
        entries = {name: self._as_it_counts(folder, name, known.get(name), found[name]) for name in found}
        differing = {name: entry for name, entry in entries.items() if entry != known.get(name)}
        self._note_ways(folder, entries)
        if not differing:
            return
        names = known | differing
        order = sorted(names) if differing.keys() - known.keys() else names
        self._listings[folder] = {name: entry for name in order if (entry := names[name])}
        for name, entry in differing.items():
            self._differs(folder, name, known.get(name), entry)

    def _catch_up(self) -> None:
        """Look again at all that waits, and at what waits because of that."""
        done: set[str] = set()
        while self._waiting:
            path = self._waiting.pop()
            if path in done:
                continue
            done.add(path)
            if path in self.links:
                self._look_for(parent(path), (name_in(path),))
            if path in self._listings:
                self._list(path)
            if path in self._seen:
                self._read(path)
            self._waiting += self.links.paths_through(path)
            self._waiting += self._tree.below(path)

    # ---- looking

    def _full(self, path: str) -> str:
        return f"{self.root}{os.sep}{path.replace('/', os.sep)}" if path else self.root

    def _read(self, path: str) -> File:
        gone = not refusal(path) and self.links.is_absent(path)
        if gone and not (path in self._seen or path in self.saves.holds or self._is_listed_file(path)):
            return self._note_absent(path)
        # Asked before the file is read: what is saved meanwhile has another sign.
        sign = ABSENT if gone else stat_key(self._full(path))
        file = File(path) if gone else file_at(self.root, path)
        if not (file.exists or file.problem) and self._is_listed_file(path):
            # Its folder was looked at before, and is looked at again.
            self._look_for(parent(path), (name_in(path),))
            file = vanished_file(path) if self._is_listed_file(path) else file
        if self._hold_if_partial(path, file, sign):
            return self.read(path)
        bare = replace(file, text=None) if file.text is not None else file
        before = self._seen.get(path)
        is_signed = not file.problem and max(sign.mtime_ns, sign.ctime_ns) + SETTLED_NS < time_ns()
        self._seen[path] = _CachedFile(bare, sign if is_signed else None, sign.inode)
        (self._unsettled.discard if is_signed else self._unsettled.add)(path)
        if file.text is None:
            self._texts.drop(path)
        else:
            self._texts.keep(path, file)
        (self.links.drop if gone else self.links.note)(path)
        if before is None:
            self._tree.add(path)
        elif before.file != bare:
            self.changed.add(path)
        return file

    def _note_absent(self, path: str) -> File:
        """Note that there is no such file, of which nothing was known: most that are asked for."""
        self._seen[path] = _CachedFile(file := File(path), ABSENT, ABSENT.inode)
        self._tree.add(path)
        return file

    def _hold_if_partial(self, path: str, now: File, sign: StatKey) -> bool:
        """Hold a file back if it may be half saved. True if it counts as before meanwhile.

        One that was not read before is only noted, if it was saved this moment.
        """
        hold = self.saves.holds.get(path)
        if hold and hold.is_gone and is_gone(now) and self._listed_entry(path):
            return hold.before is not None  # Its folder names it until the grace is over.
        before = hold.before if hold else self._last_read(path)
        is_fresh = before or hold or abs(time_ns() - sign.ctime_ns) < GRACE_MS * 1_000_000
        seen = self._seen.get(path)
        in_place = seen is not None and seen.inode == sign.inode != 0
        is_half = in_place and before is not None and is_overwritten(before, now)
        is_half = is_half or self.saves.is_partial(before or File(path), now)
        if self.has_grace and is_fresh and is_half:
            return self.saves.hold(path, before, now) and before is not None
        self._drop_hold(path)
        return False

    def _drop_hold(self, path: str) -> None:
        """A path is not held any more: who waited for it looks at it again."""
        if self.saves.drop(path):
            self.changed.add(path)

    def _last_read(self, path: str) -> File | None:
        """A file as it was last read, with its text if that is at hand."""
        return self._texts.get(path) or self.file(path)

    def _listed_entry(self, path: str) -> Entry | None:
        return self._listings.get(parent(path), {}).get(name_in(path))

    def _is_listed_file(self, path: str) -> bool:
        entry = self._listed_entry(path)
        return entry is not None and entry.kind == "file"

    def _list(self, folder: str) -> Mapping[str, Entry]:
        sign, settled_ns = folder_sign(self._full(folder)), time_ns() - SETTLED_NS
        listing = listing_at(self.root, folder)
        now, problem, _ = listing
        before = self._listings.get(folder)
        if before is not None and not problem:
            now = self._keep_gone_names(folder, before, now)
        self._listings[folder] = now
        was_unlisted = self.unlisted_folders.pop(folder, None)
        if problem:
            self.unlisted_folders[folder] = problem
        self.links.note(folder)
        self.large_folders.note(folder, None if folder in self.links else sign, listing, settled_ns)
        if before is None:
            self._tree.add(folder)
            self._tree.appeared.append(folder)
            for name, entry in now.items():
                self._note_link(below(folder, name), entry)
            return now
        if problem != was_unlisted:
            self.changed.add(f"{folder}/")
        self._note_ways(folder, now)
        for name in before.keys() | now.keys() if before != now else ():
            if before.get(name) != now.get(name):
                self._differs(folder, name, before.get(name), now.get(name))
        return now

    def _keep_gone_names(
        self, folder: str, before: Mapping[str, Entry], now: dict[str, Entry]
    ) -> dict[str, Entry]:
        """The names in a folder, sorted, with those that are gone and held."""
        for name in now if self.saves.holds else ():
            self._as_it_counts(folder, name, before.get(name), now[name])
        gone = [name for name in before if name not in now]
        held = ((name, self._as_it_counts(folder, name, before[name], None)) for name in gone)
        names = now | {name: entry for name, entry in held if entry}
        return {name: names[name] for name in sorted(names)} if gone else now

    def _as_it_counts(self, folder: str, name: str, before: Entry | None, now: Entry | None) -> Entry | None:
        """What a folder says of a name: of one that is gone what it said before, while that is held."""
        path = below(folder, name)
        if now is None and before and self.has_grace:
            matters = path in self._seen or not is_passing(folder, before)
            if matters and self.saves.hold(path, self._last_read(path), File(path)):
                return before
        elif path not in self._seen:
            self._drop_hold(path)
        return now

    def _differs(self, folder: str, name: str, before: Entry | None, now: Entry | None) -> None:
        path = below(folder, name)
        self.changed |= {path, f"{folder}/"}
        self._waiting.append(path)
        if may_link(before):
            self._drop(path)
        self._note_link(path, now)
        if folder_kind(before) != folder_kind(now):
            self.moved.add(path)

    def _note_ways(self, folder: str, names: Mapping[str, Entry | None]) -> None:
        """Note the ways of links in a folder: one that looks as before may lead elsewhere."""
        for name, entry in names.items():
            if may_link(entry):
                self.links.note(below(folder, name))

    def _note_link(self, path: str, entry: Entry | None) -> None:
        """Note the way of a link: what a folder says of it is what stands where it leads."""
        if may_link(entry):
            self._tree.add(path)
            self.links.note(path)
