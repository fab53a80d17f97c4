"""Mending what a merge, an editor or a bad disk did to a run: only when a person asks, and nothing is lost.

Kept lines are never touched, not even to link them anew: decisions are signed with the line they follow.
A `relink` record says instead which branches belong to the journal: its `about` has the digests of their
last lines, separated by commas. What is taken out or replaced is copied aside before.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...orchestration.findings import Edit
from ...orchestration.journal.branches import RecordLine, branch_ends, branch_to, from_start
from ...orchestration.journal.journal import Record, read_journal, record_lines
from ...orchestration.journal.lines import FOLDER, JOURNAL, JOURNAL_NAME
from ...orchestration.vfs.files import below, digest_of
from .commit import LockedRun, Writes, commit, recover_run
from .folder import Folder, as_store_error, open_folder, read_file
from .lock import Clock, run_lock, timestamp, utc_now
from .log_file import BrokenLog, format_line, read_tail
from .recovery import RecoveryAction, RecoveryKind


class JournalBranch(NamedTuple):
    """A branch of a forked journal that does not count yet: the digest of its last line, and its records."""

    head: str
    records: tuple[Mapping[str, object], ...]


class Damage(NamedTuple):
    """The damage that only a person decides about: branches to be linked, and lines that are none."""

    branches: tuple[JournalBranch, ...] = ()
    unreadable: int = 0


class RepairConsent(NamedTuple):
    """A person's consent: the heads to be linked (None: all there are), and who agreed by which way."""

    heads: Collection[str] | None = None
    actor: str = ""
    channel: str = ""


EVERYTHING = RepairConsent()
_SHOWN_RECORDS = 10


_SHOWN_FIELDS = ("kind", "phase", "stage", "question", "option", "outcome", "next", "actor", "message", "why")


def repair(
    root: Path,
    run: str,
    *,
    drop_bad_lines: bool = False,
    restore: Mapping[str, str] | None = None,
    agreed: RepairConsent = EVERYTHING,
    clock: Clock = utc_now,
) -> tuple[RecoveryAction, ...]:
    """Finishes interrupted writes, removes what they left anywhere below the run, links the branches of a
    forked journal together, and puts `restore` (root-relative path -> good text) in the place of broken
    files, each copied to NAME.corrupt-DIGEST before.

    Lines that cannot be read are only taken out with `drop_bad_lines`, after the whole journal was copied
    to journal.jsonl.corrupt-DIGEST; without it they raise Broken. A front end has a person agree to that and
    to the linking first: what did not count begins to count. What comes back says what was done: also
    `dropped`, `relinked`, `restored`. Doing it again changes nothing.
    """
    top = root.resolve()
    folders = (Path(folder) for folder, _, _ in os.walk(top / run) if folder != str(top))
    with run_lock(root, run, clock=clock):
        dropped = _drop_bad_lines(root, run, drop_bad_lines, agreed, clock)
        _, cleared = recover_run(root, run, [folder.relative_to(top).as_posix() for folder in folders])
    edits, restored = _restore_edits(root, restore or {})
    done = commit(root, run, lambda held: _relink_and_restore(held, edits, agreed), clock=clock)
    linked = RecoveryAction(below(run, JOURNAL), RecoveryKind.RELINKED)
    relinked = [linked for record in done.records if record.get("about")]
    return (*dropped, *cleared, *done.recovery, *relinked, *restored)


def find_damage(root: Path, run: str) -> Damage:
    """The damage that a person has to agree to mend before `repair` does. Nothing is locked or changed."""
    journal = below(run, JOURNAL)
    raw = read_file(root, journal)[0] or b""
    try:
        tail = read_tail(raw, journal)
    except BrokenLog:
        return Damage(unreadable=max(1, len(record_lines(raw)[1])))
    known, placed = _records(raw[: tail.size]), set[str]()
    for head in (tail.head, *tail.merged):
        branch_to(head, known, placed)
    heads = _other_heads(known, (tail.head, *tail.merged))
    branches = ((head, branch_to(head, known, placed)) for head in heads)
    return Damage(tuple(JournalBranch(head, tuple(e.record for e in lines)) for head, lines in branches))


def consent_lines(found: Damage, drop_bad_lines: bool = False) -> Iterator[str]:
    """The text to read before agreeing: which records begin to count, and which lines are taken out.

    It is text of files, still to be displayed safely.
    """
    for branch in found.branches:
        count = f"{len(branch.records)} record{'s' if len(branch.records) > 1 else ''}"
        yield f"a branch of {count} was merged in; linked to the others it counts:"
        for entry in branch.records[:_SHOWN_RECORDS]:
            yield "  " + " ".join(str(entry[name]) for name in _SHOWN_FIELDS if entry.get(name))
        if len(branch.records) > _SHOWN_RECORDS:
            yield f"  and {len(branch.records) - _SHOWN_RECORDS} more"
    if drop_bad_lines and found.unreadable:
        yield f"lines that cannot be read ({found.unreadable}) are taken out, whatever they said; the whole"
        yield "journal is copied before, and the records behind them count again"


def _relink_and_restore(held: LockedRun, edits: tuple[Edit, ...], agreed: RepairConsent) -> Writes:
    known = _records(read_file(held.root, below(held.run, JOURNAL))[0] or b"")
    others = _other_heads(known, (held.head, *held.merged))
    heads = [head for head in others if agreed.heads is None or head in agreed.heads]
    by: Record = {"kind": "relink", "actor": agreed.actor, "channel": agreed.channel}
    records: list[Record] = []
    if heads:
        records.append({**by, "about": ",".join(heads), "message": "branches linked together"})
    if edits:
        records.append({**by, "message": "files restored", "why": ", ".join(e.path for e in edits)})
    return Writes(records, edits)


def _records(log: bytes) -> dict[str, RecordLine]:
    """The records of a journal by their digests, in the order of the file."""
    return {line.digest: line for line in record_lines(log)[0]}


def _other_heads(known: Mapping[str, RecordLine], counted: Container[str]) -> list[str]:
    """The last lines of branches that do not count yet, and that no record links."""
    relinks = [line.record for line in known.values() if line.record["kind"] == "relink"]
    linked = {digest for entry in relinks for digest in str(entry["about"]).split(",")}
    return [digest for digest in branch_ends(known) if digest not in counted and digest not in linked]


def _restore_edits(root: Path, restore: Mapping[str, str]) -> tuple[tuple[Edit, ...], list[RecoveryAction]]:
    edits: list[Edit] = []
    mended: list[RecoveryAction] = []
    for path, text in restore.items():
        folder_path, _, name = path.rpartition("/")
        with as_store_error(path), open_folder(root, folder_path) as folder:
            raw = folder.read(name)
            if raw is not None and raw == text.encode():
                continue
            kept = None if raw is None else _copy_aside(folder, name, raw)
        edits.append(Edit(path, None if raw is None else digest_of(raw), text))
        mended.append(RecoveryAction(path, RecoveryKind.RESTORED, kept))
    return tuple(edits), mended


def _copy_aside(folder: Folder, name: str, raw: bytes) -> str:
    kept = f"{name}.corrupt-{digest_of(raw)}"
    if folder.status(kept) is None:
        folder.put(kept, f".{kept}.new", raw)
        folder.sync()
    return folder.below(kept)


def _drop_bad_lines(
    root: Path, run: str, wanted: bool, agreed: RepairConsent, clock: Clock
) -> list[RecoveryAction]:
    with as_store_error(below(run, FOLDER)), open_folder(root, below(run, FOLDER)) as folder:
        raw = folder.read(JOURNAL_NAME) or b""
        try:
            read_tail(raw, folder.below(JOURNAL_NAME))
        except BrokenLog:
            if not wanted:
                raise
        else:
            return []
        kept = _copy_aside(folder, JOURNAL_NAME, raw)
        good = _without_bad_lines(raw, timestamp(clock()), agreed)
        folder.put(JOURNAL_NAME, f".{JOURNAL_NAME}.new", good)
        folder.sync()
        return [RecoveryAction(folder.below(JOURNAL_NAME), RecoveryKind.DROPPED, kept)]


def _without_bad_lines(log: bytes, at: str, agreed: RepairConsent) -> bytes:
    """The records of a broken journal, untouched, and one that links those which lost what they followed."""
    known = _records(log)
    whole = "".join(f"{line.text}\n" for line in known.values())
    linked = {line.digest for line in from_start(known.values())}
    lost = {digest: line for digest, line in known.items() if digest not in linked}
    if not lost:
        return whole.encode()
    head = read_journal("\n".join(known[digest].text for digest in known if digest in linked)).head
    seq = max(int(str(line.record["seq"])) for line in known.values())
    entry: Record = {"seq": seq + 1, "at": at, "kind": "relink", "about": ",".join(branch_ends(lost))}
    entry |= {"message": "lines that could not be read were taken out"}
    entry |= {"actor": agreed.actor, "channel": agreed.channel} if agreed.actor else {}
    entry |= {"prev": head} if head else {}
    return f"{whole}{format_line(entry)}\n".encode()
