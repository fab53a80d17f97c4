"""The proof that a person made a recorded decision: keyed digests, and what is in the commit HEAD.

An assistant runs as the same user and could forge a decision; this makes a forgery deliberate and
visible, not impossible. A decision counts when it carries a digest made with a key that only the
decision code uses, or when its very line is in HEAD, where colleagues could review it. Everything that
fails here (no key, no git, no repository, a time-out) leaves the decision unverified.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from ...orchestration.journal.journal import CONFIRMATION, PROVEN, Journal, Record, read_journal
from ...orchestration.journal.lines import JOURNAL, parse_line
from ...orchestration.states import RecordKind
from ...orchestration.vfs.files import below, digest_of
from ..disk import git
from ..disk.decision_keys import load_repository_key, make_repository_key, place_of, unusable_reason
from ..disk.disk_files import MAX_BYTES
from ..disk.safe_open import refusal
from .roots import UsageError, path_in_root


def journal_place(root: Path, journal_path: str) -> str:
    """The part of a signature that says where a record belongs: its journal, from the repository's place."""
    return path_in_root(place_of(root), root.resolve() / journal_path) or journal_path


def sign(record: Mapping[str, object], key: bytes, where: str) -> str:
    """Hex HMAC-SHA256 over `where` (see `place`) and the record without its `mac`, `prev` included.

    With the key of its repository neither a changed record counts, nor one copied to another repository or
    run, or behind another line. It is the record as its line has it, before a reader fills empty fields in.
    Raises ValueError when the record is no JSON (a NaN).
    """
    signed = {name: value for name, value in record.items() if name != "mac"}
    text = json.dumps([where, signed], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hmac.new(key, text.encode("ascii"), sha256).hexdigest()


def require_usable_key(root: Path) -> None:
    """Raises UsageError when a decision could not be signed. Makes no key: nobody has decided yet."""
    if reason := unusable_reason(root):
        raise UsageError(f"the decision cannot be signed: {reason}")


def signer(root: Path, home: str) -> Callable[[Record], str]:
    """The signature for a person's decisions on the run of a home; its key is made where there is none.

    To be asked for once a person has confirmed. Raises UsageError when the key cannot be used.
    """
    key = make_repository_key(root)
    if key.secret is None:
        raise UsageError(f"the decision cannot be signed: {key.reason}")
    secret, where = key.secret, journal_place(root, below(home, JOURNAL))
    return lambda entry: sign(entry, secret, where)


def evidence_signer(root: Path, run: str) -> Callable[[Record], str]:
    """The signature for records of measurements alone; a decision is refused (ValueError)."""
    where = journal_place(root, below(run, JOURNAL))

    def sign_measurement(entry: Record) -> str:
        secret = load_repository_key(root).secret
        if entry["kind"] != RecordKind.VERIFIED or secret is None:
            raise ValueError("a decision is only written where a person makes it, and signed")
        return sign(entry, secret, where)

    return sign_measurement


def head_file(root: Path, path: str) -> bytes | None:
    """A file below the root as the commit HEAD of the root's repository has it; None on any doubt."""
    if refusal(path):
        return None
    blob = f"HEAD:./{path}"
    size = git.answer(root, "cat-file", "-s", blob)
    if not size.strip().isdigit() or int(size) > MAX_BYTES:
        return None
    content = git.answer(root, "cat-file", "blob", blob)
    return content if len(content) == int(size) else None


def head_lines(root: Path, journal_path: str) -> frozenset[str]:
    """The lines of the journal as the commit HEAD of the root's repository has it; none on any doubt."""
    content = head_file(root, journal_path)
    if content is None:
        return frozenset()
    return frozenset(line.rstrip("\r\n") for line in content.decode("utf-8", "replace").split("\n"))


def verified_lines(
    root: Path,
    journal_path: str,
    lines: Sequence[str],
    key: bytes | None,
    committed: Callable[[Path, str], frozenset[str]] = head_lines,
) -> frozenset[int]:
    """The indexes of those lines of `PROVEN` kinds that count: as a person's, or as measured here.

    `key` is the repository's. `committed` is asked once, and only when a decision lacks a valid signature. Of
    equal lines only the first counts: a copy of an old decision is not a new one. One in which a key stands
    twice does not count: another reader might take the other one. What a person confirmed later counts too.
    """
    decisions: dict[str, int] = {}
    confirmations: dict[str, str] = {}
    proven: set[str] = set()
    where = journal_place(root, journal_path)
    for i, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        parsed = parse_line(bare)
        record = parsed.written or {}
        if record.get("kind") not in PROVEN or parsed.repeated or bare in decisions:
            continue
        decisions[bare] = i
        if record.get("question") == CONFIRMATION:
            confirmations[bare] = str(record.get("about"))
        if key is not None and is_signed(record, key, where):
            proven.add(bare)
    proven |= _confirmed_lines(decisions, [about for bare, about in confirmations.items() if bare in proven])
    if decisions.keys() - proven:
        proven |= committed(root, journal_path)
    return frozenset(i for bare, i in decisions.items() if bare in proven)


def verified_journal(root: Path, path: str, text: str) -> Journal:
    """The journal in a text, its decisions checked with the key of its repository."""
    secret = load_repository_key(root).secret
    return read_journal(text, lambda lines: verified_lines(root, path, lines, secret))


def _confirmed_lines(decisions: Iterable[str], confirmations: Sequence[str]) -> set[str]:
    """The decision lines whose digests stand in confirmations."""
    digests = {digest for about in confirmations for digest in about.split(",")}
    return {bare for bare in decisions if digest_of(bare) in digests} if digests else set()


def is_signed(record: Mapping[str, object], key: bytes, where: str) -> bool:
    """True if a record, as its line has it, carries the signature of that key for that journal."""
    mac = record.get("mac")
    if not isinstance(mac, str):
        return False
    try:
        expected = sign(record, key, where)
    except (ValueError, RecursionError):
        return False
    return hmac.compare_digest(mac.encode("utf-8", "surrogatepass"), expected.encode())
