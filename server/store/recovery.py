"""Putting committed texts in their places, now or after a crash, and clearing up what was never committed.

A commit flushes its new texts to temporary files beside their targets and then adds one line to the
journal that names them. Before that line the temporary files mean nothing; after it they are the truth,
and what is left is to rename them. The first writing and the recovery of a later one do the same thing,
`settle`: doing it twice changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ...orchestration.vfs.files import decode, digest_of
from ..disk.repository import toplevel
from .folder import Folder, StoreError, Unreachable, as_store_error, describe_os_error, open_folder
from .log_file import LogTail, WrittenFile

_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.phasekeeper-(?P<run>[0-9a-f]{8})-(?P<seq>\d{1,12})-(?P<n>\d{1,6})\.tmp", re.S
)
_MAX_NAME_BYTES = 180


class RecoveryKind(StrEnum):
    """What a recovery or a repair did to a file."""

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
    RESTORED = "restored"
    """A broken file has a good text again; `saved_as` has what was there."""


class RecoveryAction(NamedTuple):
    """One thing that a recovery or a repair did; `saved_as` is the path of a copy that it left."""

    path: str
    kind: RecoveryKind
    saved_as: str | None = None


class PendingWrites(NamedTuple):
    """What an interrupted write left: `texts` are committed but not in their places yet, by path; `strays`
    are temporary files that no record names (or of a write at work this moment); `conflicts` are
    committed texts whose target somebody else changed."""

    texts: dict[str, str]
    strays: tuple[str, ...]
    conflicts: tuple[str, ...]


def run_tag(root: Path, run: str) -> str:
    """What tells the temporary files of one run from those of others in the same folder, 8 hex digits.

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
    name = path.rpartition("/")[2]
    return name if len(name.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES else digest_of(name)


def is_temporary(name: str) -> bool:
    """Whether a name is that of a writer's temporary file."""
    return _TEMPORARY.fullmatch(name) is not None


class _TemporaryFile(NamedTuple):
    """A temporary file and the record that names it, if there is one."""

    name: str
    ours: bool
    item: WrittenFile | None


def _temporary_files(folder: Folder, tail: LogTail, tag: str) -> list[_TemporaryFile]:
    fitting = [each for each in map(_TEMPORARY.fullmatch, folder.names()) if each]
    written = tail.written({int(each["seq"]) for each in fitting})
    named = {(item.seq, item.n, _short_name(item.path)): item for item in written}
    found: list[_TemporaryFile] = []
    for each in fitting:
        item = named.get((int(each["seq"]), int(each["n"]), each["name"]))
        ours = each["run"] == tag
        known = item is not None and (ours or _is_moved_run(folder, each[0], item))
        found.append(_TemporaryFile(each[0], ours, item if known else None))
    return found


def _is_moved_run(folder: Folder, temporary: str, item: WrittenFile) -> bool:
    """Whether a file with another run's tag is what our record waits for: the run's folder was moved.

    Else it is the file of a write that another run, behind another lock, has at work here.
    """
    return (_current_digest(folder, temporary), _current_digest(folder, _target_name(item))) == (
        item.digest,
        item.was,
    )


def _target_name(item: WrittenFile) -> str:
    return item.path.rpartition("/")[2]


def written_folders(run: str, tail: LogTail) -> list[str]:
    """The folders that a journal's writes went to, the run's own first."""
    return [run, *sorted(tail.folders() - {run})]


def finish_rename(folder: Folder, temporary: str, item: WrittenFile) -> RecoveryAction | None:
    """Puts one committed text in its place. None when it is there already.

    The caller flushes the folder. Raises OSError or StoreError when that cannot be; it is still to be done.
    """
    name = _target_name(item)
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
    kept = _conflict_name(folder, name, text)
    folder.replace(temporary, kept)
    return RecoveryAction(folder.below(name), RecoveryKind.CONFLICT, folder.below(kept))


def _current_digest(folder: Folder, name: str) -> str | None:
    """The digest of what is there; "" for nothing, None for what cannot be a file of ours."""
    try:
        raw = folder.read(name)
    except StoreError:
        return None
    return "" if raw is None else digest_of(raw)


def _conflict_name(folder: Folder, name: str, text: bytes) -> str:
    plain = f"{_short_name(name)}.phasekeeper-conflict"
    there = _current_digest(folder, plain)
    return plain if there in ("", digest_of(text)) else f"{plain}-{digest_of(text)}"


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
    for path in dict.fromkeys((*written_folders(run, tail), *also)):
        # A folder that was there when a record was written may be gone, or be a link now.
        with (
            as_store_error(path or "."),
            suppress(FileNotFoundError, Unreachable),
            open_folder(root, path) as folder,
        ):
            mended += _recover(folder, tail, run_tag(root, run), flush)
    return tuple(mended)


def _recover(folder: Folder, tail: LogTail, tag: str, flush: Callable[[], None]) -> list[RecoveryAction]:
    mended: list[RecoveryAction] = []
    for found in _temporary_files(folder, tail, tag):
        if found.item is not None:
            flush()
            done = finish_rename(folder, found.name, found.item)
            mended += [done] if done else []
        elif found.ours:
            folder.remove(found.name)
            mended.append(RecoveryAction(folder.below(found.name), RecoveryKind.REMOVED))
    if mended:
        folder.sync()
    return mended


def find_pending(root: Path, run: str, tail: LogTail) -> PendingWrites:
    """What recovery would do, without doing it. What cannot be looked at is left out."""
    texts: dict[str, str] = {}
    strays: list[str] = []
    conflicts: list[str] = []
    for path in written_folders(run, tail):
        with suppress(OSError, StoreError), open_folder(root, path) as folder:
            for found in _temporary_files(folder, tail, run_tag(root, run)):
                if found.item is None:
                    strays += [folder.below(found.name)] if found.ours else []
                else:
                    _classify(folder, found.name, found.item, texts, conflicts)
    return PendingWrites(texts, tuple(strays), tuple(conflicts))


def _classify(
    folder: Folder, temporary: str, item: WrittenFile, texts: dict[str, str], conflicts: list[str]
) -> None:
    now, path = _current_digest(folder, _target_name(item)), folder.below(_target_name(item))
    raw = folder.read(temporary)
    if raw is None or now == item.digest:
        return
    text = decode(path, raw).text if digest_of(raw) == item.digest and now == item.was else None
    if text is None:
        conflicts.append(path)
    else:
        texts[path] = text


def unfinished_reason(path: str, error: OSError | StoreError) -> str:
    """Why a committed text is not in its place yet."""
    said = describe_os_error(path, error) if isinstance(error, OSError) else str(error)
    return f"recorded, but {said}; the next write of this run finishes it"
