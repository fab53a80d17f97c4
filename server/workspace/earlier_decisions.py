"""Decisions that this user signed elsewhere: before signatures named their repository, or in another place.

A moved folder and a copied one look the same, so that a person tells: `earlier_decisions` are what was
signed, and a `confirmation` says that it counts here. What this user's keys never signed is not among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...orchestration.journal.journal import CONFIRMATION, Record
from ...orchestration.journal.lines import JOURNAL, parse_lines
from ...orchestration.vfs.files import below
from ..disk.decision_keys import load_key, load_repository_key, repository_keys
from ..disk.disk_files import DiskFiles
from .decision_proof import is_signed, journal_place, verified_journal


class EarlierDecision(NamedTuple):
    """A decision line that does not count here: its digest, its record, and where it was signed."""

    digest: str
    record: Mapping[str, object]
    signed: str


def earlier_decisions(root: Path, home: str) -> tuple[EarlierDecision, ...]:
    """The decisions of a run that lack proof here and that this user signed, in the order of the journal."""
    path = below(home, JOURNAL)
    log = DiskFiles(root).read(path).text or ""
    problems = verified_journal(root, path, log).problems
    unproven = {each.span.line for each in problems if each.code == "decision-unverified" and each.span}
    lines = [line for line in parse_lines(log) if line.number in unproven and not line.repeated]
    if not lines:
        return ()
    signed_at = _signatures(root, journal_place(root, path))
    found = ((line, signed_at(line.written or {})) for line in lines)
    return tuple(EarlierDecision(line.digest, line.data or {}, at) for line, at in found if at)


def _signatures(root: Path, where: str) -> Callable[[Mapping[str, object]], str]:
    """A function that says where a record was signed; "" where this user did not."""
    user, here = load_key().secret or b"", load_repository_key(root).secret
    others = [each for each in repository_keys() if each.secret != here]

    def signed_at(record: Mapping[str, object]) -> str:
        for other in others:
            if is_signed(record, other.secret, where):
                still = ", which is still there" if other.place.exists() else ", which is gone"
                return f"in {other.place}{still}"
        return "by an earlier version" if user and is_signed(record, user, where) else ""

    return signed_at


def earlier_lines(found: Sequence[EarlierDecision]) -> Iterator[str]:
    """The text to read before agreeing: every decision that begins to count. It is text of files."""
    if found:
        yield f"decisions that were signed elsewhere ({len(found)}) begin to count in this repository:"
    for decision in found:
        entry = {name: str(value) for name, value in decision.record.items()}
        scope = f":{entry['scope']}" if entry.get("scope") else ""
        what = f"{entry.get('question', '')}{scope}: {entry.get('option', '')}"
        if entry.get("kind") == "override":
            what = f"override to {entry.get('next', '')}"
        who = f"by {entry.get('actor', '') or 'somebody'} at {entry.get('at', '')}, signed {decision.signed}"
        yield f"  {what} ({entry.get('why', '')}), {who}"
        if entry.get("asked"):
            yield f"    asked: {entry['asked']}"


def confirmation(found: Sequence[EarlierDecision], actor: str, channel: str) -> Record:
    """The record, still to be signed, that a person has these decisions count here."""
    return {
        "kind": "answer", "question": CONFIRMATION, "option": "confirm", "actor": actor, "channel": channel,
        "about": ",".join(each.digest for each in found), "why": "earlier decisions were confirmed",
    }  # fmt: skip
