"""Runs that are kept as rows: of the cache on disk, or packed because they were not judged lately.

Of such a run the file cache knows nothing but what lies outside of its folder. A hint that may be about it
has its read set verified again by stat; where that differs it is judged, and from then on kept current as
every run.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from ...orchestration.snapshot.discovery import DefinitionSet, Match
from ...orchestration.vfs.files import digest_of, parent
from ..cache.cache_file import (
    CacheFault,
    CacheHeader,
    CacheRefused,
    CacheRow,
    RowSlice,
    file_parts,
    parse_row,
    read_file,
    row_line,
    row_places,
)
from ..cache.engine_digest import engine_digest
from ..cache.evaluation_codec import defer, pack, unpack
from ..cache.file_systems import is_trusted
from ..cache.private_files import file_name, note_use, remove_unused, write_private
from ..cache.read_sets import (
    NotSettled,
    NotVouchedFor,
    ReadSetSigner,
    folders_among,
    has_hard_links,
    is_above,
    is_plain_folder,
    is_unchanged,
    outside_keys,
)
from ..cache.value_codec import NotEncodable, decode_parsed, encode
from ..disk.file_cache import FileCache
from ..disk.large_folders import is_large
from ..workspace.candidate_runs import CandidateRun
from .dependencies import HEAD_FILE

RowSign = Sequence[object]
"""The name and the sign of what stands there, as a row has them."""
_UNPACKED_BADLY = (ValueError, TypeError, IndexError, KeyError, AttributeError, zlib.error)


class HeadContents(Protocol):
    """What is needed here of `ExternalInputs`."""

    def head_digest(self) -> str: ...

    def head_blob(self, path: str) -> str: ...

    def has_head_files(self, blobs: Mapping[str, str]) -> bool: ...

    def restore_head_file(self, path: str, blob: str) -> None: ...


class RestoredRun(NamedTuple):
    """A run as the cache has it, the keys that it depends on besides its own folder, and when it is due."""

    run: str
    candidate: CandidateRun
    keys: list[str]
    until: str


class PackedRow(NamedTuple):
    """A row in memory; where it is not `storable` its run rests on proofs, which are made at each start."""

    line: bytes
    packed: bytes
    storable: bool


class CachedRuns:
    """The cache of one root, and which of its runs stand as its rows have them. Used by one thread.

    `faults` counts by reason how often the cache was not used.
    """

    def __init__(self, folder: Path | None, files: FileCache, external: HeadContents) -> None:
        """`folder` holds the caches of all roots; without one nothing is ever cached."""
        self.faults: Counter[CacheFault] = Counter()
        self.has_changes = True
        """Some run may stand otherwise than the file has it."""
        self._files, self._external = files, external
        self._path = folder / file_name(digest_of(files.root)) if folder else None
        self._rows: dict[str, PackedRow] = {}
        """The runs that stand as their rows have them."""
        self._large: dict[str, list[RowSign]] = {}
        """Of runs of many files, none of which has hard links, the signs of their folders alone."""
        self._above: set[str] = set()
        """The folders above those runs."""
        self._written: set[str] = set()
        """The runs whose rows in the file are those of their last evaluation."""
        self._judged: set[str] = set()
        """The runs that were judged since the file was last begun."""

    def __contains__(self, run: object) -> bool:
        return run in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    # ---- at the start

    def restore(
        self, candidates: Mapping[str, CandidateRun], known: DefinitionSet, key: str, now: str
    ) -> Iterator[RestoredRun | None]:
        """The candidates that stand as in the file; None for one that does not, so that all are counted."""
        try:
            header, content = self._read(key, now)
        except FileNotFoundError:
            return
        except CacheRefused as refused:
            self.faults[refused.fault] += 1
            return
        if self._path:
            note_use(self._path)
        is_plain: dict[str, bool] = {}
        has_head = header.head == self._external.head_digest()
        marks: dict[str, str] = {}
        try:
            for place in row_places(content):
                row = place.row
                candidate = candidates.get(row.run)
                if candidate is None or list(candidate.definitions) != row.definitions:
                    yield None
                    continue
                is_current = (
                    not (row.until and row.until <= now)
                    and self._is_plain(parent(row.run), is_plain)
                    and is_unchanged(f"{self._files.root}/{row.run}", row.signs)
                    and (has_head or self._external.has_head_files(row.head))
                    and all(self._mark(each, marks) == mark for each, mark in row.outside.items())
                )
                yield self._restored_run(content, place, known) if is_current else None
        except CacheRefused as refused:
            self.faults[refused.fault] += 1
        self.has_changes = self._written != candidates.keys()

    @cached_property
    def is_trusted(self) -> bool:
        """True if stat can vouch for what lies in the root."""
        return is_trusted(self._files.root)

    def _read(self, key: str, now: str) -> tuple[CacheHeader, memoryview]:
        if self._path is None or not self.is_trusted:
            raise FileNotFoundError
        return read_file(self._path, self._files.root, _whole_key(key), now)

    def _is_plain(self, folder: str, known: dict[str, bool]) -> bool:
        if folder not in known:
            known[folder] = is_plain_folder(self._files.root, folder)
        return known[folder]

    def _restored_run(self, content: memoryview, place: RowSlice, known: DefinitionSet) -> RestoredRun | None:
        row, match, evaluation = place.row, None, None
        line, packed = bytes(content[place.start : place.packed]), bytes(content[place.packed : place.end])
        try:
            if row.workflow is None:
                findings = decode_parsed(row.shown)
            else:
                workflow = known.workflow(row.workflow)
                if workflow is None:
                    return None
                match = Match(row.run, workflow, tuple(row.rivals))
                evaluation = unpack(self._files.root, row.shown, packed)
                findings = evaluation.findings
        except _UNPACKED_BADLY:
            self.faults[CacheFault.DAMAGED] += 1
            return None
        first, second = row.named
        candidate = CandidateRun(tuple(row.definitions), (first, second), match, evaluation, findings)
        for path, blob in row.head.items():
            self._external.restore_head_file(path, blob)
        self._keep(row.run, PackedRow(line, packed, True))
        self._written.add(row.run)
        keys = [*row.outside, *(HEAD_FILE + path for path in row.head)]
        return RestoredRun(row.run, candidate, keys, row.until)

    def _keep(self, run: str, row: PackedRow) -> None:
        self._rows[run] = row
        self._large.pop(run, None)
        folder = parent(run)
        while folder and folder not in self._above:
            self._above.add(folder)
            folder = parent(folder)

    def _mark(self, key: str, marks: dict[str, str]) -> str:
        """What tells one state from another of what lies outside of a run, by a look of the file cache."""
        if key not in marks:
            folder = key[:-1] if key.endswith("/") else parent(key)
            if key.endswith("/"):
                said: object = list(self._files.list(folder).values())
            else:
                said = replace(self._files.read(key), text=None), self._files.entry(key)
            marks[key] = digest_of(repr((said, self._files.unlisted_folders.get(folder))))
        return marks[key]

    # ---- later

    def pack(self, run: str, candidate: CandidateRun, keys: Collection[str]) -> list[str]:
        """Keep a run that was judged as a row. Returns the keys that it depends on besides its own folder.

        The fields of its evaluation that boards do not show are let go, and made of the row when somebody
        asks for them. Raises NotVouchedFor, NotEncodable.
        """
        if not self.is_trusted:
            raise NotVouchedFor(f"the file system of {self._files.root} keeps its times elsewhere")
        outside = outside_keys(run, keys)
        row = self._row(run, candidate, keys, dict.fromkeys(outside, ""))
        self._keep(run, row)
        if candidate.evaluation:
            defer(candidate.evaluation, row.packed)
        return outside

    def drop(self, run: str) -> None:
        """The run is judged, or is none any more."""
        self._rows.pop(run, None)
        self._large.pop(run, None)
        self._written.discard(run)
        self._judged.add(run)
        self.has_changes = True
        if not self._rows:
            self._above = set()

    def confirm(self, run: str, had_changes: bool) -> None:
        """A run that was judged stands as the file has it; that had changes before."""
        self._written.add(run)
        self.has_changes = had_changes

    def throw_away(self) -> list[str]:
        """The cache has said what is not so: it is removed. Returns the runs that stood as in it."""
        self.faults[CacheFault.DIFFERENT] += 1
        runs, self._written = list(self._rows), set()
        if self._path:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        return runs

    def changed_runs(self, hints: Iterable[str]) -> list[str]:
        """The runs that stand as in the cache and differ from it now, of those that hints may be about.

        A hint is a path from the root: what is at it, below it, or in the folders that hold it.
        """
        concerned: dict[str, None] = {}
        for hint in hints if self._rows else ():
            if not hint or hint in self._above:
                concerned.update(dict.fromkeys(run for run in self._rows if not hint or is_above(hint, run)))
            concerned.update(dict.fromkeys(self.holding(hint)))
        return self.differing_runs(concerned)

    def differing_runs(self, runs: Iterable[str], heard_all: bool = False) -> list[str]:
        """Those of some runs that stand as in the cache and differ from it now.

        With `heard_all`, where hints were given for all that was written in place, only the folders of a run
        of many files are looked at.
        """
        is_plain: dict[str, bool] = {}
        return [run for run in runs if run in self._rows and not self._is_unchanged(run, is_plain, heard_all)]

    def _is_unchanged(self, run: str, is_plain: dict[str, bool], heard_all: bool) -> bool:
        full = f"{self._files.root}/{run}"
        if not self._is_plain(parent(run), is_plain):
            return False
        if heard_all and run in self._large:
            return is_unchanged(full, self._large[run])
        signs = parse_row(self._rows[run].line).signs
        if not is_unchanged(full, signs):
            return False
        if is_large(len(signs)) and run not in self._large and not has_hard_links(full, signs):
            self._large[run] = folders_among(signs)
        return True

    def is_large(self, run: str) -> bool:
        """True for a run at whose many files `differing_runs` need not look where all was heard."""
        return run in self._large

    def holding(self, path: str) -> list[str]:
        """The runs that stand as their rows have them and in whose folder a path lies."""
        way: list[str] = []
        while path and self._rows:
            way += [path] if path in self._rows else []
            path = parent(path)
        return way

    # ---- writing

    def unsettled_files(self, keys: Iterable[str]) -> list[str]:
        """The files among some keys that were read so soon after their save that no sign tells it."""
        files = self._files
        return [key for key in keys if (file := files.file(key)) and file.exists and files.sign(key) is None]

    def save_in_parts(
        self,
        candidates: Mapping[str, CandidateRun],
        is_ready: Callable[[str], bool],
        keys_of: Callable[[str], Collection[str]],
        key: Callable[[], str],
        now: str,
    ) -> Iterator[None]:
        """Write what stands now, a step each run; the file is the old one until the end.

        Left out are runs that are not ready, and those that stat could not vouch for. Raises OSError.
        """
        if self._path is None or not self.is_trusted:
            self.has_changes = False
            return
        self._judged, self.has_changes = set(), False
        header = CacheHeader(self._files.root, _whole_key(key()), now, self._external.head_digest())
        known = self._rows_in_file(key(), now)
        rows: dict[str, None] = {}
        marks: dict[str, str] = {}

        def make_rows() -> Iterator[bytes | memoryview]:
            for run in list(candidates):
                candidate = candidates.get(run)
                if candidate is None or run in self._judged or not is_ready(run):
                    self.has_changes = True
                    continue
                try:
                    row = known.get(run) or self._row_in_memory(run, candidate, keys_of(run), marks)
                except (NotVouchedFor, NotEncodable) as error:
                    self.has_changes |= isinstance(error, NotSettled)
                    yield b""
                    continue
                rows[run] = None
                yield row

        for _ in write_private(self._path, file_parts(header, make_rows())):
            yield
            if header.key != _whole_key(key()) or header.head != self._external.head_digest():
                self.has_changes = True
                return
        self._written = rows.keys() - self._judged
        remove_unused(self._path.parent)

    def _rows_in_file(self, key: str, now: str) -> dict[str, memoryview]:
        """The rows of the file that are those of the last evaluations."""
        rows: dict[str, memoryview] = {}
        with suppress(CacheRefused, OSError):
            content = self._read(key, now)[1]
            for place in row_places(content):
                if place.row.run in self._written:
                    rows[place.row.run] = content[place.start : place.end]
        return rows

    def _row_in_memory(
        self, run: str, candidate: CandidateRun, keys: Collection[str], marks: dict[str, str]
    ) -> bytes:
        """The row of a run for the file. Raises NotVouchedFor, NotEncodable."""
        row = self._rows.get(run) or self._row(run, candidate, keys, marks)
        if not row.storable:
            raise NotVouchedFor(f"{run} depends on proofs")
        if run not in self._rows:
            return row.line + row.packed
        # It was packed without a look at what lies outside, by whose changes it would have been judged.
        parsed = parse_row(row.line)
        outside = {key: self._mark(key, marks) for key in parsed.outside}
        return json.dumps(parsed._replace(outside=outside)).encode("ascii") + b"\n" + row.packed

    def _row(
        self, run: str, candidate: CandidateRun, keys: Collection[str], marks: dict[str, str]
    ) -> PackedRow:
        """The row of a run that was judged. Raises NotVouchedFor, NotEncodable."""
        if not run or not is_plain_folder(self._files.root, parent(run)):
            raise NotVouchedFor(f"links lead to {run}")
        head, outside, storable = dict[str, str](), dict[str, str](), True
        for each in outside_keys(run, keys):
            if each.startswith(HEAD_FILE):
                path = each.removeprefix(HEAD_FILE)
                head[path] = self._external.head_blob(path)
            elif each.startswith("\0"):
                storable = False
            else:
                outside[each] = self._mark(each, marks)
        signs = ReadSetSigner(self._files, run).signs(keys)
        evaluation, match = candidate.evaluation, candidate.match
        shown, packed = pack(evaluation) if evaluation else (encode(candidate.findings), b"")
        until = min((claim.until for claim in evaluation.claims), default="") if evaluation else ""
        row = CacheRow(
            run,
            match.workflow.name if match else None,
            list(match.rivals) if match else [],
            list(candidate.definitions),
            list(candidate.named),
            None,
            [list(each) for each in signs],
            outside,
            head,
            until,
            len(packed),
        )
        return PackedRow(row_line(row, shown), packed, storable)


def _whole_key(key: str) -> str:
    return f"{engine_digest()} {key}"
