"""Claims: who works on which task until when, in a log beside the journal, behind the same lock.

The number of a claim's line is its fencing token. It is asked again when its holder writes, so that one
who slept past the end of a claim cannot write over who took the task since. Numbers only grow, whatever
the clock does; a clock that is set back makes claims last longer and never makes two of them live.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from ...orchestration.journal.journal import Claim, read_claims
from ...orchestration.journal.lines import CLAIMS, CLAIMS_NAME, FOLDER
from ...orchestration.vfs.files import below, digest_of
from .commit import Conflict
from .folder import Folder, as_store_error, open_folder, read_file
from .lock import Clock, run_lock, timestamp, utc_now
from .log_file import LogTail, append_lines, format_line, read_tail

MAX_LOG_BYTES = 1 << 20
"""A longer log is begun anew with the claims that are alive."""
MAX_TTL_S = 7 * 24 * 3600
"""No claim outlives a week: the file is not meant for ownership."""


def claim(root: Path, run: str, task: str, actor: str, ttl_s: float, *, clock: Clock = utc_now) -> Claim:
    """Claims a task for `ttl_s` seconds; the answer's `seq` is the token. An actor may claim again, which
    gives a new token and ends the old one. Raises Conflict while somebody else has it."""
    if not (task and actor and 0 < ttl_s <= MAX_TTL_S):
        raise ValueError(f"a claim needs a task, an actor and a time of at most {MAX_TTL_S} seconds")
    with _own_log(root, run, task, actor, clock) as (folder, raw, now, _):
        until = timestamp(now + timedelta(seconds=ttl_s))
        entry = {"kind": "claim", "task": task, "actor": actor, "until": until}
        return Claim(task, actor, until, _append_entry(folder, raw, now, entry))


def release(root: Path, run: str, task: str, actor: str, *, clock: Clock = utc_now) -> bool:
    """Ends an actor's claim; False when there is none. Raises Conflict when somebody else has the task."""
    with _own_log(root, run, task, actor, clock) as (folder, raw, now, holder):
        if holder is not None:
            _append_entry(folder, raw, now, {"kind": "release", "task": task, "actor": actor})
        return holder is not None


@contextmanager
def _own_log(
    root: Path, run: str, task: str, actor: str, clock: Clock
) -> Iterator[tuple[Folder, bytes, datetime, Claim | None]]:
    """(the folder of the log, its bytes, the time, the actor's claim on the task), under the run's lock.

    Raises Conflict while somebody else has the task.
    """
    with (
        run_lock(root, run, clock=clock),
        as_store_error(below(run, CLAIMS)),
        open_folder(root, below(run, FOLDER)) as folder,
    ):
        now, raw = clock(), folder.read(CLAIMS_NAME) or b""
        holder = _live_claims(raw, now).get(task)
        if holder is not None and holder.actor != actor:
            raise Conflict(_taken_message(holder))
        yield folder, raw, now, holder


def check_token(root: Path, run: str, task: str, actor: str, token: int, at: str) -> None:
    """Raises Conflict unless `token` is the live claim of `actor` on `task` at `at` (see `Held.at`).

    Meant for the function that proposes a write, which runs under the lock.
    """
    raw = read_file(root, below(run, CLAIMS))[0] or b""
    holder = _live_claims(raw, datetime.fromisoformat(at)).get(task)
    if holder is None:
        raise Conflict(f"the claim on {task} has ended; claim it again with `phasekeeper claim`")
    if (holder.actor, holder.seq) != (actor, token):
        raise Conflict(_taken_message(holder))


def _live_claims(raw: bytes, now: datetime) -> dict[str, Claim]:
    return {each.task: each for each in read_claims(raw, timestamp(now))}


def _taken_message(holder: Claim) -> str:
    return f"{holder.task} is claimed by {holder.actor} until {holder.until}; take another task, or wait"


def _append_entry(folder: Folder, raw: bytes, now: datetime, entry: Mapping[str, object]) -> int:
    """Appends a line and gives its number."""
    tail = read_tail(raw, folder.below(CLAIMS_NAME), chained=False)
    if tail.size > MAX_LOG_BYTES:
        # Only what is alive stays, and the number of the last line: tokens are never given twice.
        live = [
            {"seq": each.seq, "kind": "claim", "task": each.task, "actor": each.actor, "until": each.until}
            for each in _live_claims(raw, now).values()
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
