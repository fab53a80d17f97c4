"""The transaction of a run: every change, by whichever front end, goes through `commit`.

Under the run's lock: finish or clear what an earlier writer left, look at the journal's end, ask the
caller's pure function for records and edits, refuse if a file is not the one an edit was computed on,
flush the new texts to temporary files beside their targets, add the records to the journal and flush
that: the commit point. Then rename, flush the folders, let go of the lock (design, section 6).

A crash before the commit point leaves everything as it was, one after it is finished by whoever comes
next. Reading needs no recovery to be right: `recovery.pending_writes` says which committed texts are not in
their places yet, and a reader lays them over the disk like unsaved text of an editor.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ...orchestration.findings import Edit
from ...orchestration.journal.journal import EMPTY_RECORD, PROVEN, Record, record_fault
from ...orchestration.journal.lines import CLAIMS_NAME, FOLDER, JOURNAL, JOURNAL_NAME
from ...orchestration.journal.signatures import PROOF_FIELDS
from ...orchestration.states import RecordKind
from ...orchestration.vfs.files import below, digest_of, parent
from ..disk.safe_open import refusal
from .folder import Folder, StoreError, as_store_error, close, describe_os_error, open_folder, read_file
from .lock import HOLDER, LOCK, LOCK_TIMEOUT_S, Clock, holder_of, note_holder, run_lock, timestamp, utc_now
from .log_file import LogTail, UnknownOutcome, WrittenFile, append_lines, format_line, read_tail
from .recovery import RecoveryAction, RecoveryKind, finish_rename, recover, run_tag, temporary_name

_STAMPED = ("seq", "at", "prev", "files", "more", *PROOF_FIELDS)
# How often a proposal may turn out to touch further runs before it is given up.
_MOST_TRIES = 5

Sign = Callable[[Record], Mapping[str, str]]
"""The fields that prove a record (`PROOF_FIELDS`), from the record as its line will have it."""


class Conflict(StoreError):  # noqa: N818 - said to people as it is
    """A file is not the one an edit was computed on. Nothing was written; look again and repeat."""


class LockedRun(NamedTuple):
    """The view of a writer that has the lock. `seq` and `at` are what its first record will get; `recovery`
    is what an earlier writer left and is in order now. `merged` are the last lines of branches that count
    beside `head`: a record before its first one links them.
    """

    root: Path
    run: str
    head: str
    seq: int
    at: str
    recovery: tuple[RecoveryAction, ...] = ()
    merged: Sequence[str] = ()


class Writes(NamedTuple):
    """The records and edits of one commit, computed by a pure function from what it read under the lock.

    The store stamps `seq`, `at`, `prev` and a decision's proof, and names the written files in the last
    record. A record's own `files` (path and digest of what was seen) stay.
    """

    records: Sequence[Record] = ()
    edits: Sequence[Edit] = ()


class UnfinishedWrite(NamedTuple):
    """A file that is recorded but not in its place yet, and why; the next write of the run finishes it."""

    path: str
    why: str


class Commit(NamedTuple):
    """The records of a commit as they stand in the journal; `head` is the digest of its last line.

    It is recorded for good. `recovery` has what an earlier writer left, and conflicts: files that somebody
    else saved in the last moment, which were left alone.
    """

    records: tuple[Record, ...]
    head: str
    recovery: tuple[RecoveryAction, ...] = ()
    unfinished: tuple[UnfinishedWrite, ...] = ()


class _FileWrite(NamedTuple):
    """A file about to be written, by way of a `temporary` file beside it. `raw` is None when it has its new
    content already."""

    file: WrittenFile
    temporary: str
    raw: bytes | None
    mode: int | None


_ByFolder = Mapping[str, Sequence[_FileWrite]]


def commit(
    root: Path,
    run: str,
    propose: Callable[[LockedRun], Writes],
    *,
    clock: Clock = utc_now,
    sign: Sign | None = None,
    timeout_s: float = LOCK_TIMEOUT_S,
    create: bool = False,
    home_of: Callable[[str], str | None] = lambda folder: None,
) -> Commit:
    """Record and write what `propose` answers, all or nothing; on return it survives a power loss.

    `run` is the run's home. `propose` is called under the lock and reads what it needs afresh. An edit of a
    file in another run (a folder of which `home_of` tells the home), or in none, needs that run's lock or the
    root's too: then all locks are taken anew, in the order of their paths, and `propose` is asked again.
    `sign` gives the proof of a decision from its record; without it decisions are not accepted. Writes
    without records change nothing.

    Raises Conflict, other StoreErrors, what `propose` raises, and ValueError or TypeError for a record that
    no journal can hold; in all these cases nothing was recorded, except for UnknownOutcome.
    """
    others: set[str] = set()
    for _ in range(_MOST_TRIES):
        with ExitStack() as locks:
            # Always in the order of their paths, so that no two writers wait for each other.
            for each in sorted({run, *others}):
                is_new = create and each == run
                locks.enter_context(run_lock(root, each, clock=clock, timeout_s=timeout_s, create=is_new))
            recovery = [action for other in sorted(others) for action in recover_run(root, other)[1]]
            tail, actions = recover_run(root, run)
            at = timestamp(clock())
            seq = tail.seq + 1 + bool(tail.merged)
            locked = LockedRun(root, run, tail.head, seq, at, (*recovery, *actions), tail.merged)
            writes = propose(locked)
            more = {_guarding_run(edit.path, run, home_of) for edit in writes.edits} - {run, *others}
            if not more:
                return _commit_locked(locked, tail, writes, clock, sign)
        others |= more
    raise StoreError(f"{run or '.'} leads to other runs with each look; nothing was written. Run it again")


def _guarding_run(path: str, run: str, home_of: Callable[[str], str | None]) -> str:
    """The home whose lock guards a file: of the innermost run that it lies in, "" (the root) for none."""
    folder = path
    while folder := parent(folder):
        home = folder if folder == run else home_of(folder)
        if home is not None:
            return home
    return ""


def recover_run(root: Path, run: str, also: Iterable[str] = ()) -> tuple[LogTail, tuple[RecoveryAction, ...]]:
    """Finish or clear what an earlier writer left, for one who has the lock: (the journal's tail,
    what was done). Looked at are the folders that the journal and the lock's note name, and `also`.
    """
    also = (*also, *holder_of(root, run).folders)
    place = below(run, FOLDER)
    with as_store_error(place), open_folder(root, place) as folder:
        tail = read_tail(folder.read(JOURNAL_NAME) or b"", folder.below(JOURNAL_NAME))
        actions = recover(root, run, tail, lambda: _flush(folder), also)
        if tail.torn:
            _flush(folder, tail.size)
            actions += (RecoveryAction(folder.below(JOURNAL_NAME), RecoveryKind.CUT),)
        return tail._replace(torn=False), actions


def _flush(folder: Folder, size: int | None = None) -> None:
    """Flush the journal to the disk, cut off at `size` if that is given."""
    descriptor = folder.open(JOURNAL_NAME, os.O_RDWR)
    try:
        if size is not None:
            os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    finally:
        close(descriptor)


def _commit_locked(
    locked: LockedRun, tail: LogTail, writes: Writes, clock: Clock, sign: Sign | None
) -> Commit:
    """The commit itself; see the module's head for its order."""
    if not writes.records:
        if writes.edits:
            raise ValueError("edits without a record that names them could not be recovered")
        return Commit((), tail.head, locked.recovery)
    root = locked.root
    files = _check_edits(locked, writes)
    links = _links(locked.merged)
    first = locked._replace(seq=locked.seq - len(links))
    records = _stamp_records((*links, *writes.records), first, files, sign)
    lines = [format_line(record) for record in records]
    work: dict[str, list[_FileWrite]] = {}
    for write in files:
        if write.raw is not None:
            work.setdefault(parent(write.file.path), []).append(write)
    undo = True
    try:
        if work:
            note_holder(root, locked.run, clock, list(work))
        _write_temporaries(root, work)
        for write in chain.from_iterable(work.values()):
            _check_again(root, write.file)
        # From here on the journal alone says whether this was committed, whatever interrupts us.
        undo = False
        place = below(locked.run, FOLDER)
        as_said = as_store_error(below(locked.run, JOURNAL))
        with as_said, open_folder(root, place, create=not tail.size) as folder:
            append_lines(folder, JOURNAL_NAME, tail, lines)
    except StoreError as error:
        undo = not isinstance(error, UnknownOutcome)
        raise
    finally:
        if undo:
            _remove_temporaries(root, work)
    conflicts, unfinished = _rename_all(root, work)
    head = digest_of(lines[-1])
    return Commit(tuple(records[len(links) :]), head, locked.recovery + conflicts, unfinished)


# ---- what is to be written, and whether it may be -----------------------------------------------


def _check_edits(locked: LockedRun, writes: Writes) -> list[_FileWrite]:
    """The files that the edits write, as the last record will name them.

    Raises Conflict when a file is not the one that its edit was computed on.
    """
    if len({edit.path for edit in writes.edits}) != len(writes.edits):
        raise ValueError("two edits of one file")
    seq = locked.seq + len(writes.records) - 1
    tag = run_tag(locked.root, locked.run) if writes.edits else ""
    files: list[_FileWrite] = []
    for n, edit in enumerate(writes.edits, len(_own_files(writes.records[-1]))):
        if reason := _protection(edit.path):
            raise StoreError(f"{edit.path} is not written: {reason}")
        now, mode = read_file(locked.root, edit.path)
        text = edit.text.encode("utf-8")
        # A byte order mark is no part of the text; a file that has one keeps it.
        raw = BOM_UTF8 + text if now is not None and now.startswith(BOM_UTF8) else text
        if mode is not None and not mode & 0o222:
            raise StoreError(f"{edit.path} is marked read-only; `chmod u+w` it if it is to be changed")
        was = "" if now is None else digest_of(now)
        if was != (edit.digest or "") and not (edit.digest is None and now == raw):
            raise Conflict(_conflict_message(edit.path, edit.digest, now))
        file = WrittenFile(seq, n, edit.path, digest_of(raw), was)
        files.append(_FileWrite(file, temporary_name(tag, file), None if now == raw else raw, mode))
    return files


def _protection(path: str) -> str | None:
    """Why a path is not written by workflows; None when it may be."""
    parts = path.lower().split("/")
    if ".git" in parts:
        return "git's own files are not for workflows"
    if FOLDER in parts and parts[-1] in (JOURNAL_NAME, CLAIMS_NAME, LOCK, HOLDER):
        return "it is kept by the store itself"
    return refusal(path)


def _check_again(root: Path, file: WrittenFile) -> None:
    """Raises Conflict when a file was changed since its edit was checked."""
    now, _ = read_file(root, file.path)
    if file.was != ("" if now is None else digest_of(now)):
        raise Conflict(_conflict_message(file.path, file.was or None, now))


def _conflict_message(path: str, expected: str | None, now: bytes | None) -> str:
    if expected is None:
        what = "exists already with other content"
    elif now is None:
        what = "was removed after it had been read"
    else:
        what = "was changed by somebody else after it had been read"
    return f"{path} {what}; nothing was written. Look with `phasekeeper status` and run it again"


def _stamp_records(
    records: Sequence[Record], locked: LockedRun, files: Sequence[_FileWrite], sign: Sign | None
) -> list[Record]:
    """The records as their lines will have them: numbered, dated, chained, and decisions signed."""
    prev, stamped = locked.head, list[Record]()
    for n, proposed in enumerate(records):
        # Such a line must not get into a journal: it could not be taken out again.
        if fault := record_fault(proposed):
            raise ValueError(f"no record: {fault}")
        following = len(records) - 1 - n
        entry: Record = {"seq": locked.seq + n, "at": locked.at}
        entry |= {
            key: value
            for key, value in proposed.items()
            if key not in _STAMPED and value not in (None, EMPTY_RECORD.get(key))
        }
        named: list[object] = [*_own_files(proposed)]
        if not following:
            named += [{"path": f.path, "digest": f.digest, "was": f.was} for f, *_ in files]
        entry |= ({"files": named} if named else {}) | ({"more": following} if following else {})
        entry |= {"prev": prev} if prev else {}
        if entry["kind"] in PROVEN:
            if sign is None:
                raise ValueError("a decision is only written where a person makes it, and signed")
            entry |= sign(entry)
        stamped.append(entry)
        prev = digest_of(format_line(entry))
    return stamped


def _links(merged: Sequence[str]) -> Sequence[Record]:
    """The record that makes branches, which count already, a part of the chain."""
    said = "branches that contradict nothing, merged"
    return [{"kind": RecordKind.RELINK.value, "about": ",".join(merged), "message": said}] if merged else ()


def _own_files(proposed: Record) -> list[object]:
    files = proposed.get("files")
    return files if isinstance(files, list) else []


# ---- temporary files and their way into place ---------------------------------------------------


def _write_temporaries(root: Path, work: _ByFolder) -> None:
    """Flush every new text, and its temporary name, to the disk."""
    for path, writes in work.items():
        is_new = any(not write.file.was for write in writes)
        with as_store_error(path or "."), open_folder(root, path, create=is_new) as folder:
            for write in writes:
                with as_store_error(write.file.path):
                    folder.write(write.temporary, write.raw or b"", write.mode)
            # A record must not be on the disk while the name of what it names is not.
            folder.sync()


def _remove_temporaries(root: Path, work: _ByFolder) -> None:
    for path, writes in work.items():
        # The next writer removes what cannot be removed now.
        with suppress(OSError, StoreError), open_folder(root, path) as folder:
            for write in writes:
                folder.remove(write.temporary)


def _rename_all(
    root: Path, work: _ByFolder
) -> tuple[tuple[RecoveryAction, ...], tuple[UnfinishedWrite, ...]]:
    """Rename what was recorded: (conflicts, what is not in its place). Never raises: the record stands."""
    conflicts: list[RecoveryAction] = []
    unfinished: list[UnfinishedWrite] = []
    for path, writes in work.items():
        at = path
        try:
            with open_folder(root, path) as folder:
                for write in writes:
                    at = write.file.path
                    action = finish_rename(folder, write.temporary, write.file)
                    conflicts += [action] if action and action.kind is RecoveryKind.CONFLICT else []
                folder.sync()
        except (OSError, StoreError) as error:
            said = describe_os_error(at, error) if isinstance(error, OSError) else str(error)
            why = f"recorded, but {said}; the next write of this run finishes it"
            unfinished.append(UnfinishedWrite(at, why))
    return tuple(conflicts), tuple(unfinished)
