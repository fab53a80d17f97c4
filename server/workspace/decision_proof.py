"""The proof that a person made a recorded decision: keyed digests, SSH signatures, and the commit HEAD.

An assistant runs as the same user and could forge a decision; this makes a forgery deliberate and
visible, not impossible. A decision counts when it carries a digest made with a key that only the
decision code uses, when its very line is in HEAD, where colleagues could review it, or when somebody signed
it whom HEAD lists (`ssh_signers`). Everything that fails here (no key, no git, no repository, a time-out)
leaves the decision unverified.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ...orchestration.journal.journal import (
    CONFIRMATION,
    DECISIONS,
    PROVEN,
    Journal,
    Proofs,
    Record,
    read_journal,
)
from ...orchestration.journal.lines import JOURNAL, parse_line
from ...orchestration.journal.signatures import signed_text
from ...orchestration.states import RecordKind
from ...orchestration.vfs.files import below, digest_of
from ..disk import git
from ..disk.decision_keys import load_repository_key, make_repository_key, place_of, unusable_reason
from ..disk.disk_files import MAX_BYTES
from ..disk.safe_open import refusal
from .head_files import HeadFiles
from .roots import UsageError, path_in_root

if TYPE_CHECKING:
    from ..disk.ssh_signers import SshSigners

HeadFile = Callable[[str], bytes | None]
"""The bytes of a file of the root in the commit HEAD, None where it is not there."""
Sign = Callable[[Record], Mapping[str, str]]
"""The field of a record that proves it, with its value, as the store takes it."""
SignerOf = Callable[[Path, str], Sign]
"""Signatures for the run of a home in a root."""


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


def signer(root: Path, home: str) -> Sign:
    """The signature for a person's decisions on the run of a home; its key is made where there is none.

    To be asked for once a person has confirmed. Raises UsageError when the key cannot be used.
    """
    key = make_repository_key(root)
    if key.secret is None:
        raise UsageError(f"the decision cannot be signed: {key.reason}")
    secret, where = key.secret, journal_place(root, below(home, JOURNAL))
    return lambda entry: {"mac": sign(entry, secret, where)}


def terminal_signer(root: Path, actor: str, key: str = "") -> SignerOf:
    """The signature for decisions of a person at a terminal: by their SSH key where the commit HEAD asks for
    that, else `signer`.

    `key` is a file that they named, "" for the one that git signs with. Raises UsageError where no signature
    of theirs would count.
    """
    from ..disk import ssh_signers  # late: few repositories ask for it

    if not ssh_signers.has_ssh_decisions(HeadFiles(root).read):
        if key:
            raise UsageError("--key is for repositories whose commit HEAD has `decide: {ssh: true}`")
        return signer
    own, signers = ssh_identity(root, key)

    def signer_of(_: Path, home: str) -> Sign:
        where = journal_place(root, below(home, JOURNAL))
        return signing_errors()(ssh_signers.ssh_signer(root, where, own, actor, signers))

    return signer_of


def ssh_identity(root: Path, key: str) -> tuple[str, SshSigners]:
    """(the SSH key of a person, the signers that the commit HEAD lists), where SSH keys sign decisions.

    `key` is as of `terminal_signer`. Raises UsageError where no signature of theirs would count.
    """
    from ..disk import ssh_keygen, ssh_signers  # late: few repositories ask for it

    signers = ssh_signers.ssh_signers(root, HeadFiles(root).read)
    if signers.problem:
        raise UsageError(f"the decision cannot be signed: {signers.problem}")
    with signing_errors():
        return ssh_keygen.signing_key(root, key), signers


@contextmanager
def signing_errors() -> Iterator[None]:
    """Turn what cannot be signed into wrong use."""
    from ..disk.ssh_keygen import SigningError

    try:
        yield
    except SigningError as error:
        raise UsageError(f"the decision cannot be signed: {error}") from None


def evidence_signer(root: Path, run: str) -> Sign:
    """The signature for records of measurements alone; a decision is refused (ValueError)."""
    where = journal_place(root, below(run, JOURNAL))

    def sign_measurement(entry: Record) -> Mapping[str, str]:
        secret = load_repository_key(root).secret
        if entry["kind"] != RecordKind.VERIFIED or secret is None:
            raise ValueError("a decision is only written where a person makes it, and signed")
        return {"mac": sign(entry, secret, where)}

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


def prove_lines(
    root: Path,
    journal_path: str,
    lines: Sequence[str],
    key: bytes | None,
    committed: Callable[[Path, str], frozenset[str]] = head_lines,
    head_file: HeadFile | None = None,
) -> Proofs:
    """The proofs of those lines of `PROVEN` kinds that count: as a person's, or as measured here.

    `key` is the repository's. `committed` is asked once, and only when a decision lacks a valid signature;
    `head_file` after that, of one that has an SSH signature. Of equal lines only the first counts, and so of
    answers from another machine: a copy of an old decision is not a new one. One in which a key stands twice
    does not count: another reader might take the other one. What a person confirmed later counts too.
    """
    decisions: dict[str, int] = {}
    signatures: dict[str, Record] = {}
    answers: set[bytes] = set()
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
        elif record.get("signature") and record["kind"] in DECISIONS and _is_first(record, answers):
            signatures[bare] = record
    proven |= _confirmed_lines(decisions, [about for bare, about in confirmations.items() if bare in proven])
    if decisions.keys() - proven:
        proven |= committed(root, journal_path)
    asked = {bare: record for bare, record in signatures.items() if bare not in proven}
    refusals: Mapping[str, str] = {}
    if asked:
        from ..disk.ssh_signers import signature_refusals, ssh_signers  # late: few repositories have any

        signers = ssh_signers(root, head_file or HeadFiles(root).read)
        refusals = signature_refusals(root, where, asked, signers)
        proven |= asked.keys() - refusals.keys()
    counted = frozenset(i for bare, i in decisions.items() if bare in proven)
    return Proofs(counted, {decisions[bare]: why for bare, why in refusals.items()})


def _is_first(record: Record, answers: set[bytes]) -> bool:
    """False for a copy of one of `answers`: the signature of one from another machine does not cover where it
    stands, so it counts once. A new one is among them now."""
    if not record.get("decided"):
        return True
    try:
        text = signed_text("", "", record)
    except (ValueError, RecursionError):
        return False
    is_new = text not in answers
    answers.add(text)
    return is_new


def verified_journal(root: Path, path: str, text: str) -> Journal:
    """The journal in a text, its decisions checked with the key of its repository."""
    secret = load_repository_key(root).secret
    return read_journal(text, lambda lines: prove_lines(root, path, lines, secret))


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
