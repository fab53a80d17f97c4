"""Claims: who works on which task until when, in a log beside the journal, behind the same lock.

A claim belongs to whoever has its token, which is random; the log holds its digest, and a name opens nothing.
A token that is lost waits for the claim's end, or a person releases the task. The number of a claim's line
fences writes: it is asked again when its holder writes, so that one who slept past the end of a claim cannot
write over who took the task since. Numbers only grow, whatever the clock does; a clock that is set back makes
claims last longer and never makes two of them live.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...orchestration.journal.journal import Claim, read_claims
from ...orchestration.journal.lines import CLAIMS, CLAIMS_NAME, FOLDER, parse_lines
from ...orchestration.vfs.files import below, digest_of
from .commit import Conflict
from .folder import Folder, as_store_error, open_folder, read_file
from .lock import Clock, run_lock, timestamp, utc_now
from .log_file import LogTail, append_lines, format_line, read_tail

MAX_LOG_BYTES = 1 << 20
"""A longer log is begun anew with the claims that are alive."""
_WAITING = ("unfenced", "reconciled")
MAX_TTL_S = 7 * 24 * 3600
"""No claim outlives a week: the file is not meant for ownership."""


class FleetConflict(Conflict):
    """A task that somebody on another machine has, or had."""


def key_of(token: str) -> str:
    """The digest of a claim's token, as the log has it."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def claim(
    root: Path,
    run: str,
    task: str,
    actor: str,
    ttl_s: float,
    token: str,
    *,
    fence: int | None = None,
    clock: Clock = utc_now,
) -> Claim:
    """Claims a task for `ttl_s` seconds, for whoever has the token. Who has it may claim again, which gives a
    new number. `fence` is the claim's revision in a fleet, 0 for one that the fleet has to hear of, None
    where there is no fleet. Raises Conflict while somebody else has the task."""
    if not (task and actor and token and 0 < ttl_s <= MAX_TTL_S):
        raise ValueError(f"a claim needs a task, an actor and a time of at most {MAX_TTL_S} seconds")
    with _open_log(root, run, clock) as (folder, raw, now):
        holder = _live_claims(raw, now).get(task)
        if holder is not None and holder.key != key_of(token):
            raise Conflict(_taken_message(run, holder))
        until, key = timestamp(now + timedelta(seconds=ttl_s)), key_of(token)
        entry: dict[str, object] = {"kind": "claim", "task": task, "actor": actor, "until": until, "key": key}
        entry |= {} if fence is None else {"fence": fence}
        return Claim(task, actor, until, _append_entry(folder, raw, now, entry), key, fence or 0)


def release(root: Path, run: str, task: str, token: str | None, *, clock: Clock = utc_now) -> bool:
    """Ends a claim; False when there is none. None for a token is a person who releases whoever's it is.

    Raises Conflict when somebody else has the task.
    """
    with _open_log(root, run, clock) as (folder, raw, now):
        holder = _live_claims(raw, now).get(task)
        if holder is not None and token is not None and holder.key != key_of(token):
            raise Conflict(_taken_message(run, holder))
        if holder is not None:
            _append_entry(folder, raw, now, {"kind": "release", "task": task, "actor": holder.actor})
        return holder is not None


@contextmanager
def _open_log(root: Path, run: str, clock: Clock) -> Iterator[tuple[Folder, bytes, datetime]]:
    """(the folder of the log, its bytes, the time), under the run's lock."""
    with (
        run_lock(root, run, clock=clock),
        as_store_error(below(run, CLAIMS)),
        open_folder(root, below(run, FOLDER)) as folder,
    ):
        now = clock()
        yield folder, folder.read(CLAIMS_NAME) or b"", now


def check_claim(
    root: Path, run: str, task: str, tokens: Collection[str], seq: int | None, at: str, *, live: bool
) -> None:
    """Raises Conflict while somebody who has none of the tokens has the task at `at` (see `LockedRun.at`),
    where another claim than `seq` is alive, and, where one has to be `live`, where none is.

    Meant for the function that proposes a write, which runs under the lock.
    """
    raw = read_file(root, below(run, CLAIMS))[0] or b""
    holder = _live_claims(raw, datetime.fromisoformat(at)).get(task)
    if holder is None:
        if live:
            raise Conflict(f"the claim on {task} has ended; claim it again with `phasekeeper claim`")
        return
    if holder.key not in map(key_of, tokens) or seq not in (None, holder.seq):
        raise Conflict(_taken_message(run, holder))


# ---- what a fleet has to hear of --------------------------------------------------------------


class UnfencedWork(NamedTuple):
    """What was done to a task while its fleet could not be asked: a `claim` that is alive, or a report with
    its `outcome`. `actor` did it."""

    task: str
    actor: str
    claim: Claim | None = None
    outcome: str = ""


def note_unfenced(root: Path, run: str, task: str, actor: str, outcome: str) -> None:
    """Notes a report that the fleet has to hear of."""
    with _open_log(root, run, utc_now) as (folder, raw, now):
        entry = {"kind": "unfenced", "task": task, "actor": actor, "outcome": outcome}
        _append_entry(folder, raw, now, entry)


def note_reconciled(root: Path, run: str, task: str) -> None:
    """Notes that the fleet has heard of a task, or that a person was asked about it."""
    with _open_log(root, run, utc_now) as (folder, raw, now):
        _append_entry(folder, raw, now, {"kind": "reconciled", "task": task})


def read_unfenced(root: Path, run: str) -> tuple[UnfencedWork, ...]:
    """What the fleet has to hear of, of each task its report before its claim.

    Costs a stat where nobody ever claimed anything, as in most runs.
    """
    log = below(run, CLAIMS)
    if not os.path.lexists(os.path.join(root, log)):  # noqa: PTH118 - a Path for each of 10,000 runs is slow
        return ()
    raw = read_file(root, log)[0] or b""
    live, waiting = _live_claims(raw, utc_now()), dict[str, UnfencedWork]()
    for entry in (line.written or {} for line in parse_lines(raw)):
        kind, task, actor = entry.get("kind"), str(entry.get("task", "")), str(entry.get("actor", ""))
        is_report = task in waiting and bool(waiting[task].outcome)
        if kind == "unfenced":
            waiting[task] = UnfencedWork(task, actor, live.get(task), str(entry.get("outcome", "")))
        elif kind == "claim" and entry.get("fence") == 0 and task in live and not is_report:
            waiting[task] = UnfencedWork(task, actor, live[task])
        elif kind == "reconciled" or (kind in ("claim", "release") and not is_report):
            waiting.pop(task, None)
    return tuple(waiting.values())


def _live_claims(raw: bytes, now: datetime) -> dict[str, Claim]:
    return {each.task: each for each in read_claims(raw, timestamp(now))}


def _taken_message(run: str, holder: Claim) -> str:
    until = f"{holder.task} is claimed by {holder.actor} until {holder.until}"
    release = shlex.join(["phasekeeper", "release", run or ".", holder.task])
    return (
        f"{until}, for whoever has the claim's token (in the answer to the claim); take another task, wait, "
        f"or have a person give it back: `{release}`"
    )


def _append_entry(folder: Folder, raw: bytes, now: datetime, entry: Mapping[str, object]) -> int:
    """Appends a line and gives its number."""
    tail = read_tail(raw, folder.below(CLAIMS_NAME), chained=False)
    if tail.size > MAX_LOG_BYTES:
        # Only what is alive stays, and the number of the last line: tokens are never given twice.
        live = [
            {"seq": each.seq, "kind": "claim", **each._asdict()} for each in _live_claims(raw, now).values()
        ]
        # And what a fleet has to hear of.
        live += [
            entry
            for entry in (line.written or {} for line in parse_lines(raw))
            if entry.get("kind") in _WAITING
        ]
        lines = [format_line(each) for each in (*live, {"seq": tail.seq, "kind": "release", "task": ""})]
        text = "".join(line + "\n" for line in lines).encode("ascii")
        folder.put(CLAIMS_NAME, f".{CLAIMS_NAME}.new", text)
        folder.sync()
        tail = LogTail(digest_of(lines[-1]), tail.seq, len(text))
    seq = tail.seq + 1
    line = format_line({"seq": seq, "at": timestamp(now), **entry, "prev": tail.head})
    append_lines(folder, CLAIMS_NAME, tail, [line])
    return seq
