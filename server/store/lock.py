"""The lock of a run: who holds it is the only one who writes there."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...orchestration.journal.lines import FOLDER, HOLDER_NAME, HOMES, LOCK_NAME
from ...orchestration.vfs.files import below, parent
from ..disk.safe_open import refusal
from .folder import StoreError, as_store_error, open_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK, HOLDER = LOCK_NAME, HOLDER_NAME
"""The note of who has the lock, for those who wait in vain, and where it writes, for clearing up."""
LOCK_TIMEOUT_S = 10.0
TOLD_AFTER_S = 1.0
"""Whoever waits longer for a lock is told for whom, where `on_lock_wait` says how."""
_POLL_S = 0.01
_MAX_NOTE_BYTES = 1 << 20
_MOST_TRIES = 100

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """ISO 8601 in UTC to the millisecond; such texts sort like the moments they name."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


class LockWait(NamedTuple):
    """A wait for the lock of a run that goes on: who has it, how long it took, how long it will at most."""

    run: str
    holder: str
    waited_s: float
    left_s: float
    until: datetime


on_lock_wait: ContextVar[Callable[[LockWait], None] | None] = ContextVar("on_lock_wait", default=None)
"""Called once in a wait of more than `TOLD_AFTER_S`, for a person who sits before it."""


@contextmanager
def run_lock(
    root: Path, run: str, *, clock: Clock = utc_now, timeout_s: float = LOCK_TIMEOUT_S, create: bool = False
) -> Iterator[None]:
    """Nobody else writes this run meanwhile, in any process of this machine.

    The lock is taken by polling: who waits longest need not be the next. `on_lock_wait` hears of a long wait.
    Raises StoreError when the run's home is no folder (`create` makes it, and one apart from the run is made
    when it is first needed), cannot be written, or stays locked for
    `timeout_s`; the text then says who has the lock.
    """
    import filelock  # late: those who only read need none

    place = below(run, FOLDER)
    if run and (reason := refusal(run)):
        raise StoreError(f"{run!r}: {reason}")
    with as_store_error(place):
        if not (create or run.startswith(f"{HOMES}/") or (root / run).is_dir()):
            raise StoreError(f"there is no folder {run or '.'} to write in")
        path = _lock_path(root, place)
    lock = filelock.FileLock(path, poll_interval=_POLL_S)
    tell = on_lock_wait.get()
    silent_s = min(timeout_s, TOLD_AFTER_S) if tell else timeout_s
    with as_store_error(f"{place}/{LOCK}"):
        try:
            try:
                _acquire(lock, silent_s)
            except filelock.Timeout:
                if tell is None or silent_s >= timeout_s:
                    raise
                left_s = timeout_s - silent_s
                tell(
                    LockWait(
                        run, _holder_name(root, run), silent_s, left_s, clock() + timedelta(seconds=left_s)
                    )
                )
                _acquire(lock, left_s)
        except filelock.Timeout as error:
            after = f"after {timeout_s:g} s nothing was changed. Run it again"
            raise StoreError(
                f"{run or '.'} is being written by {_holder_name(root, run)}; {after}"
            ) from error
    try:
        note_holder(root, run, clock)
        yield
    finally:
        _clear_unused(root, place)
        # What was recorded stays so. The system lets go of the lock when the process ends.
        with suppress(OSError):
            lock.release()


def _lock_path(root: Path, place: str) -> Path:
    """The path of the lock, in a folder that is made where it is missing; others may be removing it."""
    for create in (False, *[True] * _MOST_TRIES):
        with suppress(FileNotFoundError), open_folder(root, place, create=create) as folder:
            return folder.full / LOCK
    raise StoreError(f"{place} is removed each time it is made")


def _acquire(lock: BaseFileLock, timeout_s: float) -> None:
    """Take the lock; its folder is made again where one who wrote nothing removed it meanwhile."""
    until = time.monotonic() + timeout_s
    while True:
        try:
            # Not where the run is gone, too.
            Path(lock.lock_file).parent.mkdir(exist_ok=True)
            lock.acquire(timeout=max(0.0, until - time.monotonic()))
            return
        except (FileNotFoundError, FileExistsError):
            if time.monotonic() > until or not Path(lock.lock_file).parent.parent.is_dir():
                raise


def _clear_unused(root: Path, place: str) -> None:
    """Remove a lock that nothing was ever written under, and its folder, for one who has it.

    What an earlier writer began is still named beside it, and found by that. Whoever waits for it meanwhile
    sees that its file has no name any more, and makes a new one. Windows removes no file that is open.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError, StoreError), open_folder(root, place) as folder:
        if set(folder.names()) <= {LOCK, HOLDER} and not holder_of(root, parent(place)).folders:
            folder.remove(HOLDER)
            folder.remove(LOCK)
            folder.full.rmdir()


def _holder_name(root: Path, run: str) -> str:
    """The last one who had the lock, in words that can be shown."""
    return "".join(c for c in holder_of(root, run).who if c.isprintable())[:200] or "another process"


class Holder(NamedTuple):
    """The last one who had the lock, and the folders that this one or an earlier one began to write in."""

    who: str = ""
    folders: tuple[str, ...] = ()


def holder_of(root: Path, run: str) -> Holder:
    """The note beside the lock; empty when it cannot be read. It is never relied on."""
    with (
        suppress(OSError, StoreError, ValueError, RecursionError),
        open_folder(root, below(run, FOLDER)) as folder,
    ):
        note = json.loads(folder.read(HOLDER, _MAX_NOTE_BYTES) or b"{}")
        if isinstance(note, dict) and isinstance(note.get("folders"), list):
            return Holder(str(note.get("who")), tuple(map(str, note["folders"])))
    return Holder()


def note_holder(root: Path, run: str, clock: Clock, folders: Sequence[str] | None = None) -> None:
    """Notes who has the lock, and `folders` about to be written in; without them the earlier ones stay.

    It is not flushed: after a power loss a temporary file may stay behind until `repair` looks everywhere.
    """
    kept = holder_of(root, run).folders if folders is None else folders
    who = f"process {os.getpid()} on {socket.gethostname()} since {timestamp(clock())}"
    note = json.dumps({"who": who, "folders": list(kept)}).encode("ascii")
    with suppress(OSError, StoreError), open_folder(root, below(run, FOLDER)) as folder:
        folder.put(HOLDER, f".{HOLDER}.new", note, flush=False)
