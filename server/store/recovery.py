"""Putting committed texts in their places, now or after a crash, and clearing up what was never committed.

A commit flushes its new texts to temporary files beside their targets and then adds one line to the
journal that names them. Before that line the temporary files mean nothing; after it they are the truth,
and what is left is to rename them. The first writing and the recovery of a later one do the same thing,
`finish_rename`: doing it twice changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ...orchestration.journal.lines import JOURNAL
from ...orchestration.vfs.files import below, decode, digest_of, name_in
from ..disk.repository import toplevel
from .folder import Folder, StoreError, Unreachable, Unreadable, as_store_error, open_folder, read_file
from .log_file import LogTail, WrittenFile, read_tail

_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.phasekeeper-(?P<run>[0-9a-f]{8})-(?P<seq>\d{1,12})-(?P<n>\d{1,6})\.tmp", re.S
)
_MAX_NAME_BYTES = 180


class RecoveryKind(StrEnum):
    """The ways in which a recovery or a repair changes a file."""

    FINISHED = "finished"
    """A committed text was moved into its place."""
    REMOVED = "removed"
    """A temporary file of a write that was never committed is gone."""
    CUT = "cut"
    """A torn line at the end of the journal is gone."""
    CONFLICT = "conflict"
    """Somebody else changed the target meanwhile; `saved_as` has the committed text."""
    DROPPED = "dropped"
    """Lines that cannot be read were taken out; `saved_as` has the journal as it was."""
    RELINKED = "relinked"
    """Branches of a forked journal were linked together."""
    CONFIRMED = "confirmed"
    """Decisions that were signed elsewhere count here, as a person confirmed."""
    RESTORED = "restored"
    """A broken file has a good text again; `saved_as` has what was there."""


class RecoveryAction(NamedTuple):
    """One thing that a recovery or a repair did; `saved_as` is the path of a copy that it left."""

    path: str
    kind: RecoveryKind
    saved_as: str | None = None


class PendingWrites(NamedTuple):
    """The rest of an interrupted write: `texts` are committed but not in their places yet, by path; `strays`
    are temporary files that no record names (or of a write at work this moment); `conflicts` are
    committed texts whose target somebody else changed."""

    texts: dict[str, str]
    strays: tuple[str, ...]
    conflicts: tuple[str, ...]


def run_tag(root: Path, run: str) -> str:
    """A tag by which the temporary files of a run are told from those of others, 8 hex digits.

    From the run's place in its repository: the same whichever root above it is watched, and still the same
    after the repository was moved. Without a repository, from its place on the disk.
    """
    folder = root.resolve() / run
    top = toplevel(folder)
    place = folder.relative_to(top).as_posix() if top else str(folder)
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def temporary_name(tag: str, item: WrittenFile) -> str:
    """The temporary file of what a record says it wrote, beside its target."""
    return f".{_short_name(item.path)}.phasekeeper-{tag}-{item.seq}-{item.n}.tmp"


def _short_name(path: str) -> str:
    name = name_in(path)
    return name if len(name.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES else digest_of(name)


def is_temporary(name: str) -> bool:
    """True for the name of a writer's temporary file."""
    return _TEMPORARY.fullmatch(name) is not None


def _temporary_files(folder: Folder, tail: LogTail, tag: str) -> list[tuple[str, bool, WrittenFile | None]]:
    """The writers' temporary files in a folder: (its name, whether it is this run's, what the record that
    names it says of it)."""
    fitting = [each for each in map(_TEMPORARY.fullmatch, folder.names()) if each]
    written = tail.written_files({int(each["seq"]) for each in fitting})
    named = {(item.seq, item.n, _short_name(item.path)): item for item in written}
    files: list[tuple[str, bool, WrittenFile | None]] = []
    for each in fitting:
        item = named.get((int(each["seq"]), int(each["n"]), each["name"]))
        ours = each["run"] == tag
        if item is not None and not ours:
            # With another run's tag it is what our record waits for only where the run's folder was moved.
            # Else it is the file of a write that another run, behind another lock, has at work here.
            now = _current_digest(folder, each[0]), _current_digest(folder, name_in(item.path))
            item = item if now == (item.digest, item.was) else None
        files.append((each[0], ours, item))
    return files


def written_folders(run: str, tail: LogTail) -> list[str]:
    """The folders that a journal's writes went to, the run's own first."""
    return [run, *sorted(tail.folders() - {run})]


def finish_rename(folder: Folder, temporary: str, item: WrittenFile) -> RecoveryAction | None:
    """Puts one committed text in its place. None when it is there already.

    The caller flushes the folder. Raises OSError or StoreError when that cannot be; it is still to be done.
    """
    name = name_in(item.path)
    now = _current_digest(folder, name)
    text = folder.read(temporary)
    if now == item.digest:
        folder.remove(temporary)
        return None
    if text is None:
        raise StoreError(f"{folder.below(temporary)}, which held the new text of {name}, was taken away")
    if digest_of(text) == item.digest and now == item.was:
        folder.replace(temporary, name)
        return RecoveryAction(folder.below(name), RecoveryKind.FINISHED)
    kept = f"{_short_name(name)}.phasekeeper-conflict"
    if _current_digest(folder, kept) not in ("", digest_of(text)):
        kept = f"{kept}-{digest_of(text)}"
    folder.replace(temporary, kept)
    return RecoveryAction(folder.below(name), RecoveryKind.CONFLICT, folder.below(kept))


def _current_digest(folder: Folder, name: str) -> str | None:
    """The digest of what is there; "" for nothing, None for what cannot be a file of ours.

    Raises Unreadable for what may be one.
    """
    try:
        raw = folder.read(name)
    except Unreadable:
        raise
    except StoreError:
        return None
    return "" if raw is None else digest_of(raw)


def recover(
    root: Path, run: str, tail: LogTail, flush: Callable[[], None], also: Iterable[str] = ()
) -> tuple[RecoveryAction, ...]:
    """Finishes what was committed and removes what was not. The run is locked.

    Looked at are the run's folder, those that its records wrote in, and `also`.

    `flush` puts the journal on the disk; it is called before anything is finished, because whoever wrote
    the record may have died before doing so. Raises StoreError when a committed text cannot be put in its
    place; nothing may be written before that.
    """
    mended: list[RecoveryAction] = []
    tag = run_tag(root, run)
    for path in dict.fromkeys((*written_folders(run, tail), *also)):
        # A folder that was there when a record was written may be gone, or be a link now.
        with (
            as_store_error(path or "."),
            suppress(FileNotFoundError, Unreachable),
            open_folder(root, path) as folder,
        ):
            before = len(mended)
            for name, ours, item in _temporary_files(folder, tail, tag):
                if item is not None:
                    flush()
                    done = finish_rename(folder, name, item)
                    mended += [done] if done else []
                elif ours:
                    folder.remove(name)
                    mended.append(RecoveryAction(folder.below(name), RecoveryKind.REMOVED))
            if len(mended) > before:
                folder.sync()
    return tuple(mended)


def pending_writes(root: Path, run: str) -> PendingWrites:
    """The rest that an interrupted writer left in a run; nothing is locked or changed.

    `texts` laid over the disk is what a reader has to judge. What cannot be looked at is left out.
    """
    texts: dict[str, str] = {}
    strays: list[str] = []
    conflicts: list[str] = []
    tail = LogTail()
    with suppress(StoreError):
        tail = read_tail(read_file(root, below(run, JOURNAL))[0] or b"", below(run, JOURNAL))
    for path in written_folders(run, tail):
        with suppress(OSError, StoreError), open_folder(root, path) as folder:
            for name, ours, item in _temporary_files(folder, tail, run_tag(root, run)):
                if item is None:
                    strays += [folder.below(name)] if ours else []
                    continue
                target = name_in(item.path)
                now, raw, place = _current_digest(folder, target), folder.read(name), folder.below(target)
                if raw is None or now == item.digest:
                    continue
                is_whole = digest_of(raw) == item.digest and now == item.was
                text = decode(place, raw).text if is_whole else None
                if text is None:
                    conflicts.append(place)
                else:
                    texts[place] = text
    return PendingWrites(texts, tuple(strays), tuple(conflicts))
