"""The one writer: every change of a run, by whichever front end, goes through `committed`.

Under the run's lock: finish or clear what an earlier writer left, look at the journal's end, ask the
caller's pure function for records and edits, refuse if a file is not the one an edit was computed on,
flush the new texts to temporary files beside their targets, add the records to the journal and flush
that: the commit point. Then rename, flush the folders, let go of the lock (design, section 6).

A crash before the commit point leaves everything as it was, one after it is finished by whoever comes
next. Reading needs no recovery to be right: `pending` says which committed texts are not in their places
yet, and a reader lays them over the disk like unsaved text of an editor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...orchestration.findings import Edit
from ...orchestration.journal.journal import DECISIONS, EMPTY_RECORD, Record
from ...orchestration.vfs.files import digest_of
from ..disk.safe_open import refusal
from .folder import Folder, StoreError, close, opened, told
from .lock import (
    CLAIMS,
    FOLDER,
    HOLDER,
    JOURNAL,
    LOCK,
    LOCK_TIMEOUT_S,
    Clock,
    folder_of,
    holder_of,
    run_locks,
    sign_in,
    stamp,
    utc_now,
)
from .log_file import Tail, Unknown, Written, append, check_record, line_of, tail_of
from .recovery import Mended, Pending, pending_of, recover, settle, tag_of, temporary_name, why_not

_STAMPED = ("seq", "at", "prev", "mac", "files", "more")
# How often a proposal may turn out to touch further runs before it is given up.
_MOST_TRIES = 5

Sign = Callable[[Record], str]


class Conflict(StoreError):  # noqa: N818 - said to people as it is
    """A file is not the one an edit was computed on. Nothing was written; look again and repeat."""


class Held(NamedTuple):
    """What the writer sees once it has the lock. `seq` and `at` are what the first record will get;
    `mended` is what was left over from an earlier writer and is in order now."""

    root: Path
    run: str
    head: str
    seq: int
    at: str
    mended: tuple[Mended, ...] = ()


class Proposal(NamedTuple):
    """What to record and to write, computed by a pure function from what it read under the lock.

    The store stamps `seq`, `at`, `prev` and a decision's `mac`, and names the written files in the last
    record. A record's own `files` (path and digest of what was seen) stay.
    """

    records: Sequence[Record] = ()
    edits: Sequence[Edit] = ()


class Unfinished(NamedTuple):
    """A file that is recorded but not in its place yet, and why; the next write finishes it."""

    path: str
    why: str


class Committed(NamedTuple):
    """What was recorded, as it stands in the journal; `head` is the digest of its last line.

    It is recorded for good. `mended` has what an earlier writer left, and conflicts: files that somebody
    else saved in the last moment, which were left alone.
    """

    records: tuple[Record, ...]
    head: str
    mended: tuple[Mended, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


class _Write(NamedTuple):
    """A file about to be written. `raw` is None when it has its new content already."""

    path: str
    raw: bytes | None
    mode: int | None
    was: str
    digest: str


def committed(
    root: Path,
    run: str,
    propose: Callable[[Held], Proposal],
    *,
    clock: Clock = utc_now,
    sign: Sign | None = None,
    timeout_s: float = LOCK_TIMEOUT_S,
    create: bool = False,
    is_run: Callable[[str], bool] = lambda folder: False,
) -> Committed:
    """Records and writes what `propose` answers, all or nothing; on return it survives a power loss.

    `propose` is called under the lock and reads what it needs afresh. An edit of a file in another run (a
    folder of which `is_run` says so), or in none, needs that run's lock or the root's too: then all locks are
    taken anew, in the order of their paths, and `propose` is asked again. `sign` gives the `mac` of a
    decision from its record; without it decisions are not accepted. A proposal without records changes
    nothing. Raises Conflict, other StoreErrors, what `propose` raises, and ValueError or TypeError for a
    record that no journal can hold; in all these cases nothing was recorded, except for Unknown.
    """
    others: set[str] = set()
    for _ in range(_MOST_TRIES):
        with run_locks(root, run, others, clock=clock, timeout_s=timeout_s, create=create):
            left = [recovered(root, other)[1] for other in sorted(others)]
            tail, mended = recovered(root, run)
            mended = (*(each for one in left for each in one), *mended)
            held = Held(root, run, tail.head, tail.seq + 1, stamp(clock()), mended)
            proposal = propose(held)
            more = {_owner(edit.path, run, is_run) for edit in proposal.edits} - {run, *others}
            if not more:
                return _all_or_nothing(held, tail, proposal, clock, sign)
        others |= more
    raise StoreError(f"{run or '.'} leads to other runs with each look; nothing was written. Run it again")


def _owner(path: str, run: str, is_run: Callable[[str], bool]) -> str:
    """The run whose lock guards a file: the innermost that it lies in, "" (the root) for none."""
    folder = path
    while folder := folder.rpartition("/")[0]:
        if folder == run or is_run(folder):
            return folder
    return ""


def _all_or_nothing(held: Held, tail: Tail, proposal: Proposal, clock: Clock, sign: Sign | None) -> Committed:
    if not proposal.records:
        if proposal.edits:
            raise ValueError("edits without a record that names them could not be recovered")
        return Committed((), tail.head, held.mended)
    writes = [_write(held.root, edit) for edit in _distinct(proposal.edits)]
    records = _stamped(proposal.records, held, writes, sign)
    return _commit(held, tail, records, writes, clock)


def pending(root: Path, run: str) -> Pending:
    """What an interrupted writer left in a run; nothing is locked or changed.

    `texts` laid over the disk is what a reader has to judge.
    """
    with suppress(OSError, StoreError), opened(root, folder_of(run)) as folder:
        raw = folder.read(JOURNAL)
        return pending_of(root, run, tail_of(raw or b"", folder.below(JOURNAL)))
    return Pending({}, (), ())


def recovered(root: Path, run: str, also: Iterable[str] = ()) -> tuple[Tail, tuple[Mended, ...]]:
    """Finishes or clears what an earlier writer left, for one who has the lock."""
    also = (*also, *holder_of(root, run).folders)
    with told(folder_of(run)), opened(root, folder_of(run)) as folder:
        tail = tail_of(folder.read(JOURNAL) or b"", folder.below(JOURNAL))
        mended = recover(root, run, tail, lambda: _flush(folder), also)
        if not tail.torn:
            return tail, mended
        _flush(folder, tail.size)
        return tail._replace(torn=False), (*mended, Mended(folder.below(JOURNAL), "cut"))


def _flush(folder: Folder, size: int | None = None) -> None:
    """Puts the journal on the disk, cut off at `size` if that is given."""
    descriptor = folder.open(JOURNAL, os.O_RDWR)
    try:
        if size is not None:
            os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    finally:
        close(descriptor)


def _distinct(edits: Sequence[Edit]) -> Sequence[Edit]:
    if len({edit.path for edit in edits}) != len(edits):
        raise ValueError("two edits of one file")
    return edits


def _write(root: Path, edit: Edit) -> _Write:
    """What an edit comes to. Raises Conflict when the file is not the one it was computed on."""
    if reason := _protected(edit.path):
        raise StoreError(f"{edit.path} is not written: {reason}")
    now, mode = _now(root, edit.path)
    text = edit.text.encode("utf-8")
    # A byte order mark is no part of the text; a file that has one keeps it.
    raw = b"\xef\xbb\xbf" + text if now is not None and now.startswith(b"\xef\xbb\xbf") else text
    if mode is not None and not mode & 0o222:
        raise StoreError(f"{edit.path} is marked read-only; `chmod u+w` it if it is to be changed")
    was = "" if now is None else digest_of(now)
    if was != (edit.digest or "") and not (edit.digest is None and now == raw):
        raise Conflict(_conflict(edit, now))
    return _Write(edit.path, None if now == raw else raw, mode, was, digest_of(raw))


def _protected(path: str) -> str | None:
    parts = path.lower().split("/")
    if ".git" in parts:
        return "git's own files are not for workflows"
    if FOLDER in parts and parts[-1] in (JOURNAL, CLAIMS, LOCK, HOLDER):
        return "it is kept by the store itself"
    return refusal(path)


def _now(root: Path, path: str) -> tuple[bytes | None, int | None]:
    folder_path, _, name = path.rpartition("/")
    with told(path):
        try:
            with opened(root, folder_path) as folder:
                raw, status = folder.read(name), folder.status(name)
                return raw, status.st_mode & 0o777 if status else None
        except FileNotFoundError:
            return None, None


def _conflict(edit: Edit, now: bytes | None) -> str:
    if edit.digest is None:
        what = "exists already with other content"
    elif now is None:
        what = "was removed after it had been read"
    else:
        what = "was changed by somebody else after it had been read"
    return f"{edit.path} {what}; nothing was written. Look with `phasekeeper status` and run it again"


def _stamped(
    records: Sequence[Record], held: Held, writes: Sequence[_Write], sign: Sign | None
) -> list[Record]:
    prev, stamped = held.head, list[Record]()
    for n, given in enumerate(records):
        check_record(given)
        left = len(records) - 1 - n
        entry: Record = {"seq": held.seq + n, "at": held.at}
        entry |= {
            k: v for k, v in given.items() if k not in _STAMPED and v not in (None, EMPTY_RECORD.get(k))
        }
        files = [*_list(given.get("files"))]
        files += [] if left else [{"path": w.path, "digest": w.digest, "was": w.was} for w in writes]
        entry |= ({"files": files} if files else {}) | ({"more": left} if left else {})
        entry |= {"prev": prev} if prev else {}
        if entry["kind"] in DECISIONS:
            if sign is None:
                raise ValueError("a decision is only written where a person makes it, and signed")
            entry["mac"] = sign(entry)
        stamped.append(entry)
        prev = digest_of(line_of(entry))
    return stamped


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _items(records: Sequence[Record], writes: Sequence[_Write]) -> list[Written]:
    """What the last record says was written, in the order of `writes`."""
    last = records[-1]
    first = len(_list(last.get("files"))) - len(writes)
    seq = last["seq"]
    assert isinstance(seq, int)
    return [Written(seq, first + n, w.path, w.digest, w.was) for n, w in enumerate(writes)]


def _commit(
    held: Held, tail: Tail, records: list[Record], writes: Sequence[_Write], clock: Clock
) -> Committed:
    tag = tag_of(held.root, held.run)
    work = [
        (item, temporary_name(tag, item), write)
        for item, write in zip(_items(records, writes), writes, strict=True)
        if write.raw is not None
    ]
    lines = [line_of(entry) for entry in records]
    undo = True
    try:
        if work:
            sign_in(held.root, held.run, clock, list(_by_folder(work)))
        _prepare(held.root, work)
        for _, _, write in work:
            _check_again(held.root, write)
        # From here on the journal alone says whether this was committed, whatever interrupts us.
        undo = False
        _record(held, tail, lines)
    except Unknown:
        raise
    except StoreError:
        undo = True
        raise
    finally:
        if undo:
            _discard(held.root, work)
    mended, unfinished = _place(held.root, work)
    return Committed(tuple(records), digest_of(lines[-1]), held.mended + mended, unfinished)


_Work = Sequence[tuple[Written, str, _Write]]


def _by_folder(work: _Work) -> dict[str, list[tuple[Written, str, _Write]]]:
    folders: dict[str, list[tuple[Written, str, _Write]]] = {}
    for each in work:
        folders.setdefault(each[0].path.rpartition("/")[0], []).append(each)
    return folders


def _prepare(root: Path, work: _Work) -> None:
    """Flushes every new text, and its temporary name, to the disk."""
    for path, each in _by_folder(work).items():
        is_new = any(not item.was for item, _, _ in each)
        with told(path or "."), opened(root, path, create=is_new) as folder:
            for item, temporary, write in each:
                with told(item.path):
                    folder.write(temporary, write.raw or b"", write.mode)
            # A record must not be on the disk while the name of what it names is not.
            folder.sync()


def _check_again(root: Path, write: _Write) -> None:
    now, _ = _now(root, write.path)
    if write.was != ("" if now is None else digest_of(now)):
        raise Conflict(_conflict(Edit(write.path, write.was or None, ""), now))


def _record(held: Held, tail: Tail, lines: Sequence[str]) -> None:
    place = folder_of(held.run)
    with told(f"{place}/{JOURNAL}"), opened(held.root, place, create=not tail.size) as folder:
        append(folder, JOURNAL, tail, lines)


def _discard(root: Path, work: _Work) -> None:
    for path, each in _by_folder(work).items():
        # The next writer removes what cannot be removed now.
        with suppress(OSError, StoreError), opened(root, path) as folder:
            for _, temporary, _ in each:
                folder.remove(temporary)


def _place(root: Path, work: _Work) -> tuple[tuple[Mended, ...], tuple[Unfinished, ...]]:
    """Renames what was recorded. A refusal is told and not raised: the record stands."""
    conflicts: list[Mended] = []
    unfinished: list[Unfinished] = []
    for path, each in _by_folder(work).items():
        at = path
        try:
            with opened(root, path) as folder:
                for item, temporary, _ in each:
                    at = item.path
                    done = settle(folder, temporary, item)
                    conflicts += [done] if done and done.did == "conflict" else []
                folder.sync()
        except (OSError, StoreError) as error:
            unfinished.append(Unfinished(at, why_not(at, error)))
    return tuple(conflicts), tuple(unfinished)
