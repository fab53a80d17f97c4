"""The lock of a run: who holds it is the only one who writes there."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ...orchestration.journal.lines import FOLDER
from ..disk.safe_open import refusal
from .folder import StoreError, as_store_error, open_folder

LOCK = "lock"
HOLDER = "lock.holder"
"""Who has the lock, for those who wait in vain, and where it writes, for those who clear up after it."""
LOCK_TIMEOUT_S = 10.0
_POLL_S = 0.01
_MAX_NOTE_BYTES = 1 << 20

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def timestamp(at: datetime) -> str:
    """ISO 8601 in UTC to the millisecond; such texts sort like the moments they name."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def store_folder(run: str) -> str:
    """Where the journal, the claims and the lock of a run lie, from the root."""
    return f"{run}/{FOLDER}" if run else FOLDER


@contextmanager
def run_lock(
    root: Path, run: str, *, clock: Clock = utc_now, timeout_s: float = LOCK_TIMEOUT_S, create: bool = False
) -> Iterator[None]:
    """Nobody else writes this run meanwhile, in any process of this machine.

    Raises StoreError when the run is no folder (`create` makes it), cannot be written, or stays locked for
    `timeout_s`; the text then says who has the lock.
    """
    import filelock  # late: those who only read need none

    lock = filelock.FileLock(_lock_path(root, run, create), timeout=timeout_s, poll_interval=_POLL_S)
    with as_store_error(f"{store_folder(run)}/{LOCK}"):
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise StoreError(_timeout_message(root, run, timeout_s)) from error
    try:
        note_holder(root, run, clock)
        yield
    finally:
        # What was recorded stays so. The system lets go of the lock when the process ends.
        with suppress(OSError):
            lock.release()


@contextmanager
def run_locks(
    root: Path,
    run: str,
    others: Iterable[str],
    *,
    clock: Clock = utc_now,
    timeout_s: float = LOCK_TIMEOUT_S,
    create: bool = False,
) -> Iterator[None]:
    """The locks of a run and of others, always in the order of their paths, so that no two writers wait for
    each other. `create` is for the run itself."""
    with ExitStack() as held:
        for each in sorted({run, *others}):
            made = create and each == run
            held.enter_context(run_lock(root, each, clock=clock, timeout_s=timeout_s, create=made))
        yield


def _lock_path(root: Path, run: str, create: bool) -> Path:
    place = store_folder(run)
    if run and (reason := refusal(run)):
        raise StoreError(f"{run!r}: {reason}")
    with as_store_error(place):
        if not create and not (root / run).is_dir():
            raise StoreError(f"there is no folder {run or '.'} to write in")
        try:
            with open_folder(root, place) as folder:
                return folder.full / LOCK
        except FileNotFoundError:
            with open_folder(root, place, create=True) as folder:
                return folder.full / LOCK


class Holder(NamedTuple):
    """Who has the lock, or had it last, and the folders that this one or an earlier one began to write in."""

    who: str = ""
    folders: tuple[str, ...] = ()


def holder_of(root: Path, run: str) -> Holder:
    """What the note beside the lock says; empty when it cannot be read. It is never relied on."""
    with (
        suppress(OSError, StoreError, ValueError, RecursionError),
        open_folder(root, store_folder(run)) as folder,
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
    with suppress(OSError, StoreError), open_folder(root, store_folder(run)) as folder:
        folder.put(HOLDER, f".{HOLDER}.new", note, flush=False)


def _timeout_message(root: Path, run: str, timeout_s: float) -> str:
    who = "".join(c for c in holder_of(root, run).who if c.isprintable())[:200] or "another process"
    return f"{run or '.'} is being written by {who}; after {timeout_s:g} s nothing was changed. Run it again"
