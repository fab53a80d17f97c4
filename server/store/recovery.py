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
from pathlib import Path
from typing import NamedTuple

from ...orchestration.vfs.files import decode, digest_of
from ..disk.repository import toplevel
from .folder import Folder, StoreError, Unreachable, opened, sentence, told
from .log_file import Tail, Written

_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.phasekeeper-(?P<run>[0-9a-f]{8})-(?P<seq>\d{1,12})-(?P<n>\d{1,6})\.tmp", re.S
)
_LONG = 180


class Mended(NamedTuple):
    """What a recovery did to a file: `did` is finished, removed (never committed), cut (a torn line) or
    conflict (somebody else wrote meanwhile; `kept` is where the committed text lies now)."""

    path: str
    did: str
    kept: str | None = None


class Pending(NamedTuple):
    """What an interrupted write left: `texts` are committed but not in their places yet, by path; `strays`
    are temporary files that no record names (or of a write at work this moment); `conflicts` are
    committed texts whose target somebody else changed."""

    texts: dict[str, str]
    strays: tuple[str, ...]
    conflicts: tuple[str, ...]


def tag_of(root: Path, run: str) -> str:
    """What tells the temporary files of one run from those of others in the same folder, 8 hex digits.

    From the run's place in its repository: the same whichever root above it is watched, and still the same
    after the repository was moved. Without a repository, from its place on the disk.
    """
    folder = root.resolve() / run
    top = toplevel(folder)
    place = folder.relative_to(top).as_posix() if top else str(folder)
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def temporary_name(tag: str, item: Written) -> str:
    """The temporary file of what a record says it wrote, beside its target."""
    return f".{_short(item.path)}.phasekeeper-{tag}-{item.seq}-{item.n}.tmp"


def _short(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if len(name.encode("utf-8", "surrogatepass")) <= _LONG else digest_of(name)


def is_temporary(name: str) -> bool:
    """Whether a name is that of a writer's temporary file."""
    return _TEMPORARY.fullmatch(name) is not None


class _Found(NamedTuple):
    """A temporary file and the record that names it, if there is one."""

    name: str
    ours: bool
    item: Written | None


def _found(folder: Folder, tail: Tail, tag: str) -> list[_Found]:
    fitting = [each for each in map(_TEMPORARY.fullmatch, folder.names()) if each]
    written = tail.written({int(each["seq"]) for each in fitting})
    named = {(item.seq, item.n, _short(item.path)): item for item in written}
    found: list[_Found] = []
    for each in fitting:
        item = named.get((int(each["seq"]), int(each["n"]), each["name"]))
        ours = each["run"] == tag
        known = item is not None and (ours or _fits(folder, each[0], item))
        found.append(_Found(each[0], ours, item if known else None))
    return found


def _fits(folder: Folder, temporary: str, item: Written) -> bool:
    """Whether a file with another run's tag is what our record waits for: the run's folder was moved.

    Else it is the file of a write that another run, behind another lock, has at work here.
    """
    return (_digest(folder, temporary), _digest(folder, _target(item))) == (item.digest, item.was)


def _target(item: Written) -> str:
    return item.path.rpartition("/")[2]


def folders_of(run: str, tail: Tail) -> list[str]:
    """The folders that a journal's writes went to, the run's own first."""
    return [run, *sorted(tail.folders() - {run})]


def settle(folder: Folder, temporary: str, item: Written) -> Mended | None:
    """Puts one committed text in its place. None when it is there already.

    The caller flushes the folder. Raises OSError or StoreError when that cannot be; it is still to be done.
    """
    name = _target(item)
    now = _digest(folder, name)
    text = folder.read(temporary)
    if now == item.digest:
        folder.remove(temporary)
        return None
    if text is None:
        raise StoreError(f"{folder.below(temporary)}, which held the new text of {name}, was taken away")
    if digest_of(text) == item.digest and now == item.was:
        folder.replace(temporary, name)
        return Mended(folder.below(name), "finished")
    kept = _conflict_name(folder, name, text)
    folder.replace(temporary, kept)
    return Mended(folder.below(name), "conflict", folder.below(kept))


def _digest(folder: Folder, name: str) -> str | None:
    """The digest of what is there; "" for nothing, None for what cannot be a file of ours."""
    try:
        raw = folder.read(name)
    except StoreError:
        return None
    return "" if raw is None else digest_of(raw)


def _conflict_name(folder: Folder, name: str, text: bytes) -> str:
    plain = f"{_short(name)}.phasekeeper-conflict"
    there = _digest(folder, plain)
    return plain if there in ("", digest_of(text)) else f"{plain}-{digest_of(text)}"


def recover(
    root: Path, run: str, tail: Tail, flush: Callable[[], None], also: Iterable[str] = ()
) -> tuple[Mended, ...]:
    """Finishes what was committed and removes what was not. The run is locked.

    Looked at are the run's folder, those that its records wrote in, and `also`.

    `flush` puts the journal on the disk; it is called before anything is finished, because whoever wrote
    the record may have died before doing so. Raises StoreError when a committed text cannot be put in its
    place; nothing may be written before that.
    """
    mended: list[Mended] = []
    for path in dict.fromkeys((*folders_of(run, tail), *also)):
        # A folder that was there when a record was written may be gone, or be a link now.
        with told(path or "."), suppress(FileNotFoundError, Unreachable), opened(root, path) as folder:
            mended += _recover(folder, tail, tag_of(root, run), flush)
    return tuple(mended)


def _recover(folder: Folder, tail: Tail, tag: str, flush: Callable[[], None]) -> list[Mended]:
    mended: list[Mended] = []
    for found in _found(folder, tail, tag):
        if found.item is not None:
            flush()
            done = settle(folder, found.name, found.item)
            mended += [done] if done else []
        elif found.ours:
            folder.remove(found.name)
            mended.append(Mended(folder.below(found.name), "removed"))
    if mended:
        folder.sync()
    return mended


def pending_of(root: Path, run: str, tail: Tail) -> Pending:
    """What recovery would do, without doing it. What cannot be looked at is left out."""
    texts: dict[str, str] = {}
    strays: list[str] = []
    conflicts: list[str] = []
    for path in folders_of(run, tail):
        with suppress(OSError, StoreError), opened(root, path) as folder:
            for found in _found(folder, tail, tag_of(root, run)):
                if found.item is None:
                    strays += [folder.below(found.name)] if found.ours else []
                else:
                    _sort(folder, found.name, found.item, texts, conflicts)
    return Pending(texts, tuple(strays), tuple(conflicts))


def _sort(folder: Folder, temporary: str, item: Written, texts: dict[str, str], conflicts: list[str]) -> None:
    now, path = _digest(folder, _target(item)), folder.below(_target(item))
    raw = folder.read(temporary)
    if raw is None or now == item.digest:
        return
    text = decode(path, raw).text if digest_of(raw) == item.digest and now == item.was else None
    if text is None:
        conflicts.append(path)
    else:
        texts[path] = text


def why_not(path: str, error: OSError | StoreError) -> str:
    """Why a committed text is not in its place yet."""
    said = sentence(path, error) if isinstance(error, OSError) else str(error)
    return f"recorded, but {said}; the next write of this run finishes it"
