"""The lock of a run: who holds it is the only one who writes there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import filelock

from .files import refusal
from .store_folder import StoreError, opened, told

FOLDER = ".phasekeeper"
JOURNAL = "journal.jsonl"
CLAIMS = "claims.jsonl"
LOCK = "lock"
HOLDER = "lock.holder"
"""Who has the lock, for the message of those who wait for it in vain."""
LOCK_TIMEOUT_S = 10.0
_POLL_S = 0.005

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def stamp(at: datetime) -> str:
    """ISO 8601 in UTC to the millisecond; such texts sort like the moments they name."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def folder_of(run: str) -> str:
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
    lock = filelock.FileLock(_lock_path(root, run, create), timeout=timeout_s, poll_interval=_POLL_S)
    try:
        with told(f"{folder_of(run)}/{LOCK}"):
            lock.acquire()
    except filelock.Timeout as error:
        raise StoreError(_waited(root, run, timeout_s)) from error
    try:
        _sign_in(root, run, clock)
        yield
    finally:
        lock.release()


def _lock_path(root: Path, run: str, create: bool) -> Path:
    place = folder_of(run)
    if run and (reason := refusal(run)):
        raise StoreError(f"{run!r}: {reason}")
    with told(place):
        if not create and not (root / run).is_dir():
            raise StoreError(f"there is no folder {run or '.'} to write in")
        try:
            with opened(root, place) as folder:
                return folder.full / LOCK
        except FileNotFoundError:
            with opened(root, place, create=True) as folder:
                return folder.full / LOCK


def _sign_in(root: Path, run: str, clock: Clock) -> None:
    said = f"process {os.getpid()} on {socket.gethostname()} since {stamp(clock())}"
    # Only a message depends on it.
    with suppress(OSError, StoreError), opened(root, folder_of(run)) as folder:
        descriptor = folder.open(HOLDER, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(descriptor, said.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def _waited(root: Path, run: str, timeout_s: float) -> str:
    who = ""
    with suppress(OSError, StoreError), opened(root, folder_of(run)) as folder:
        who = (folder.read(HOLDER, 400) or b"").decode("utf-8", "replace")
    who = "".join(c for c in who if c.isprintable()) or "another process"
    return f"{run or '.'} is being written by {who}; after {timeout_s:g} s nothing was changed. Run it again"
