"""Mending what a merge, an editor or a bad disk did to a run: only when a person asks, and nothing is lost.

Kept lines are never touched, not even to link them anew: decisions are signed with the line they follow.
A `relink` record says instead which branches belong to the journal: its `about` has the digests of their
last lines, separated by commas. What is taken out or replaced is copied aside before.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...orchestration.findings import Edit
from ...orchestration.journal.journal import Record, read_journal
from ...orchestration.journal.lines import JOURNAL_NAME, parse_lines
from ...orchestration.vfs.files import digest_of
from .commit import LockedRun, Writes, commit, recover_run
from .folder import Folder, as_store_error, open_folder
from .lock import Clock, run_lock, store_folder, timestamp, utc_now
from .log_file import BrokenLog, format_line, is_record, read_tail
from .recovery import RecoveryAction, RecoveryKind


class JournalBranch(NamedTuple):
    """A branch of a forked journal that does not count yet: the digest of its last line, and its records."""

    head: str
    records: tuple[Mapping[str, object], ...]


class Damage(NamedTuple):
    """What only a person decides about a journal: branches to be linked, and lines that are none."""

    branches: tuple[JournalBranch, ...] = ()
    unreadable: int = 0


class RepairConsent(NamedTuple):
    """What a person agreed to: the heads to be linked (None: all there are), and who agreed by which way."""

    heads: Collection[str] | None = None
    actor: str = ""
    channel: str = ""


EVERYTHING = RepairConsent()
_SHOWN_RECORDS = 10


class _Record(NamedTuple):
    """A line that is a record, and the digest of the line that it follows."""

    text: str
    digest: str
    prev: str
    entry: Mapping[str, object]


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
    with run_lock(root, run, clock=clock):
        dropped = _drop_bad_lines(root, run, drop_bad_lines, agreed, clock)
        _, cleared = recover_run(root, run, _folders_below(root, run))
    edits, restored = _restore_edits(root, restore or {})
    done = commit(root, run, lambda held: _relink_and_restore(held, edits, agreed), clock=clock)
    relinked = [
        RecoveryAction(f"{store_folder(run)}/{JOURNAL_NAME}", RecoveryKind.RELINKED)
        for r in done.records
        if r.get("about")
    ]
    return (*dropped, *cleared, *done.recovery, *relinked, *restored)


def _folders_below(root: Path, run: str) -> list[str]:
    top = root.resolve()
    return [
        Path(folder).relative_to(top).as_posix() for folder, _, _ in os.walk(top / run) if folder != str(top)
    ]


def find_damage(root: Path, run: str) -> Damage:
    """What a person has to agree to before `repair` does it. Nothing is locked or changed."""
    with as_store_error(store_folder(run)):
        try:
            with open_folder(root, store_folder(run)) as folder:
                raw = folder.read(JOURNAL_NAME) or b""
        except FileNotFoundError:
            return Damage()
    try:
        tail = read_tail(raw, f"{store_folder(run)}/{JOURNAL_NAME}")
    except BrokenLog:
        return Damage(unreadable=max(1, len(_lines(raw.decode("utf-8-sig", "replace"))[1])))
    lines, _ = _lines(raw[: tail.size].decode("utf-8-sig", "replace"))
    return Damage(tuple(_branches(lines, tail.head)))


def consent_lines(found: Damage, drop_bad_lines: bool = False) -> Iterator[str]:
    """What a person reads before agreeing: which records begin to count, and which lines are taken out.

    It is text of files, still to be displayed safely.
    """
    for branch in found.branches:
        count = f"{len(branch.records)} record{'s' if len(branch.records) > 1 else ''}"
        yield f"a branch of {count} was merged in; linked to the others it counts:"
        yield from (f"  {_record_words(entry)}" for entry in branch.records[:_SHOWN_RECORDS])
        if len(branch.records) > _SHOWN_RECORDS:
            yield f"  and {len(branch.records) - _SHOWN_RECORDS} more"
    if drop_bad_lines and found.unreadable:
        yield f"lines that cannot be read ({found.unreadable}) are taken out, whatever they said; the whole"
        yield "journal is copied before, and the records behind them count again"


def _record_words(entry: Mapping[str, object]) -> str:
    """A record in a line: what it is, of what, and what came of it."""
    names = ("kind", "phase", "stage", "question", "option", "outcome", "next", "actor", "message", "why")
    return " ".join(str(entry[name]) for name in names if entry.get(name))


def _branches(lines: Sequence[_Record], head: str) -> Iterator[JournalBranch]:
    known = {line.digest: line for line in lines}
    placed = set(_ancestors(head, known, frozenset()))
    for other in _other_heads(lines, head):
        found = _ancestors(other, known, placed)
        placed |= set(found)
        yield JournalBranch(other, tuple(known[digest].entry for digest in reversed(found)))


def _ancestors(digest: str, known: Mapping[str, _Record], until: Collection[str]) -> list[str]:
    """The lines from one back to the first, or to one that is known already; the newest first."""
    found: list[str] = []
    while digest in known and digest not in until:
        found.append(digest)
        digest = known[digest].prev
    return found


def _relink_and_restore(held: LockedRun, edits: tuple[Edit, ...], agreed: RepairConsent) -> Writes:
    lines, _ = _lines(_read(held.root, held.run))
    heads = [h for h in _other_heads(lines, held.head) if agreed.heads is None or h in agreed.heads]
    by: Record = {"kind": "relink", "actor": agreed.actor, "channel": agreed.channel}
    records: list[Record] = []
    if heads:
        records.append({**by, "about": ",".join(heads), "message": "branches linked together"})
    if edits:
        records.append({**by, "message": "files restored", "why": ", ".join(e.path for e in edits)})
    return Writes(records, edits)


def _read(root: Path, run: str) -> str:
    with as_store_error(store_folder(run)), open_folder(root, store_folder(run)) as folder:
        raw = folder.read(JOURNAL_NAME) or b""
        return raw[: read_tail(raw, folder.below(JOURNAL_NAME)).size].decode("utf-8-sig", "replace")


def _lines(text: str) -> tuple[list[_Record], list[int]]:
    """(the records, each once, in the order of the file; the numbers of lines that are none)."""
    records: dict[str, _Record] = {}
    bad: list[int] = []
    for line in parse_lines(text.encode("utf-8", "replace")):
        if line.data is not None and is_record(line.data):
            digest = line.digest
            prev = str(line.data.get("prev") or "")
            records.setdefault(digest, _Record(line.raw.decode(), digest, prev, line.data))
        else:
            bad.append(line.number)
    return list(records.values()), bad


def _other_heads(lines: Sequence[_Record], head: str) -> list[str]:
    """The last lines of branches that neither end in `head` nor were linked to it before."""
    linked = {
        digest
        for line in lines
        for digest in str(line.entry.get("about") or "").split(",")
        if _is_relink(line)
    }
    return [digest for digest in _branch_ends(lines) if digest != head and digest not in linked]


def _is_relink(line: _Record) -> bool:
    return line.entry.get("kind") == "relink"


def _branch_ends(lines: Sequence[_Record]) -> list[str]:
    followed = {line.prev for line in lines}
    return [line.digest for line in lines if line.digest not in followed]


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
    with as_store_error(store_folder(run)), open_folder(root, store_folder(run)) as folder:
        raw = folder.read(JOURNAL_NAME) or b""
        try:
            read_tail(raw, folder.below(JOURNAL_NAME))
        except BrokenLog:
            if not wanted:
                raise
        else:
            return []
        kept = _copy_aside(folder, JOURNAL_NAME, raw)
        text = _without_bad_lines(raw.decode("utf-8-sig", "replace"), timestamp(clock()), agreed)
        folder.put(JOURNAL_NAME, f".{JOURNAL_NAME}.new", text.encode("utf-8"))
        folder.sync()
        return [RecoveryAction(folder.below(JOURNAL_NAME), RecoveryKind.DROPPED, kept)]


def _without_bad_lines(text: str, at: str, agreed: RepairConsent) -> str:
    """The records of a broken journal, untouched, and one that links those which lost what they followed."""
    lines, _ = _lines(text)
    reached = _reachable(lines)
    rest = [line for line in lines if line.digest not in reached]
    whole = "".join(line.text + "\n" for line in lines)
    if not rest:
        return whole
    head = read_journal("".join(line.text + "\n" for line in lines if line.digest in reached)).head
    seq = max((int(str(line.entry.get("seq") or 0)) for line in lines), default=0)
    entry: Record = {"seq": seq + 1, "at": at, "kind": "relink", "about": ",".join(_branch_ends(rest))}
    entry |= {"message": "lines that could not be read were taken out"}
    entry |= {"actor": agreed.actor, "channel": agreed.channel} if agreed.actor else {}
    entry |= {"prev": head} if head else {}
    return whole + format_line(entry) + "\n"


def _reachable(lines: Sequence[_Record]) -> set[str]:
    """The lines that follow, over any number of others, a first line."""
    after: dict[str, list[str]] = {}
    for line in lines:
        after.setdefault(line.prev, []).append(line.digest)
    reached: set[str] = set()
    waiting = list(after.get("", ()))
    while waiting:
        digest = waiting.pop()
        reached.add(digest)
        waiting += after.get(digest, ())
    return reached
