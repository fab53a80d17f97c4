"""Whose SSH signatures prove a decision: the signers that the commit HEAD of a repository lists.

The configuration that switches this on (`decide: {ssh: true}`) and the file of the signers count as HEAD has
them, never as they lie in the folder: who writes there names no signer. So everyone who has the commit comes
to the same answer, without a key of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.definition.root_config import read_config
from ...orchestration.journal.journal import Record
from ...orchestration.journal.signatures import (
    NAMESPACE,
    principal_of,
    read_signature,
    signed_text,
    verification_time,
)
from ...orchestration.vfs.files import digest_of
from ..lru_cache import LruCache
from . import git, ssh_keygen
from .disk_files import DiskFiles
from .repository import head_of
from .ssh_keygen import KeygenUnusable, SignatureCheck, SigningError

SIGNERS_PATH = ".phasekeeper/allowed_signers"
MAX_SIGNERS_BYTES = 1 << 18
MAX_SIGNATURES, MAX_REFUSED = 1024, 32
"""Of one journal no more signatures are verified, and after so many that do not hold no other one: each takes
a process of some milliseconds. Decisions that are committed as lines need none."""
MAX_REFUSED_OF_SIGNERS = 1024
"""Of all journals with the same signers, until HEAD lists others: a folder may hold thousands of runs."""
_REMEMBERED = 32_768
_AGAIN = "decide it again (`phasekeeper questions` lists what is open)"
_OFF = f"the commit HEAD has no `decide: {{ssh: true}}` in {CONFIG_PATH}; commit it, or {_AGAIN}"
_NOBODY = f"the commit HEAD has no {SIGNERS_PATH}; commit one with your signers' public keys, or {_AGAIN}"
_TOO_LONG = f"{SIGNERS_PATH} in the commit HEAD has more than {MAX_SIGNERS_BYTES} bytes; commit a shorter one"
_NAMELESS = (
    "the repository's first commit is not here: `git fetch --unshallow`, or name the project for good, "
    f"`fleet: {{project: ID}}` in {CONFIG_PATH}"
)
_TOO_MANY = "it is one of too many that are not committed; commit the journal, after a look at its decisions"

HeadFile = Callable[[str], bytes | None]
"""The bytes of a file of the root in the commit HEAD, None where it is not there."""


class SshSigners(NamedTuple):
    """What the SSH signatures of a root's decisions are verified by. `repository` is its id, which every
    clone knows; with a `problem` no signature counts, and that is why and what to do."""

    allowed: bytes = b""
    repository: str = ""
    problem: str = ""


# ---- what HEAD says ---------------------------------------------------------------------------


def ssh_signers(root: Path, head_file: HeadFile) -> SshSigners:
    """The signers by the commit HEAD of a root's repository."""
    is_on, project = _settings(head_file(CONFIG_PATH) or b"")
    if not is_on:
        return SshSigners(problem=_OFF)
    allowed = head_file(SIGNERS_PATH) or b""
    if not allowed.strip() or len(allowed) > MAX_SIGNERS_BYTES:
        return SshSigners(problem=_TOO_LONG if allowed.strip() else _NOBODY)
    repository = f"project {project}" if project else _first_commit(root)
    return SshSigners(allowed, repository, "" if repository else _NAMELESS)


def has_ssh_decisions(head_file: HeadFile) -> bool:
    """True if decisions on a terminal are signed with SSH keys, by the commit HEAD."""
    return _settings(head_file(CONFIG_PATH) or b"")[0]


def ssh_troubles(root: Path, head_file: HeadFile, is_wanted: bool) -> Iterator[tuple[str, str]]:
    """What keeps SSH signatures of a root from counting, with what to do; `is_wanted` by its working copy."""
    if not has_ssh_decisions(head_file):
        if is_wanted:
            yield (
                "decide: {ssh: true} counts once it is committed; it is not",
                f"commit {CONFIG_PATH}",
            )
        return
    if problem := ssh_signers(root, head_file).problem:
        yield f"no SSH signature counts in {root}: {problem}", f"commit {CONFIG_PATH} and {SIGNERS_PATH}"
    elif DiskFiles(root).read(SIGNERS_PATH).digest != digest_of(head_file(SIGNERS_PATH) or b""):
        yield f"{SIGNERS_PATH} is another one than in HEAD, which alone counts", "commit it, or put it back"
    try:
        ssh_keygen.require_keygen(root)
    except KeygenUnusable as error:
        yield str(error), "install OpenSSH"


@lru_cache(64)
def _settings(config: bytes) -> tuple[bool, str]:
    """(whether SSH signatures prove decisions, the project) by a configuration."""
    read = read_config(config.decode("utf-8", "replace")) if b"decide" in config else None
    return bool(read and read.has_ssh_decisions), read.fleet.project if read and read.fleet else ""


_first_commits: LruCache[tuple[object, ...], str] = LruCache(64)
_lock = Lock()


def _first_commit(root: Path) -> str:
    """The id of a repository that names no project: its first commit, along first parents; "" in a clone that
    does not have it, or on any doubt. git is asked again where HEAD has moved."""
    key = (os.fspath(root), head_of(root).state)
    with _lock:
        known = _first_commits.get(key)
    if known is None and git.answer(root, "rev-parse", "--is-shallow-repository").strip() == b"false":
        found = git.answer(root, "rev-list", "--first-parent", "--max-parents=0", "HEAD").split()
        known = f"commit {found[0].decode('ascii', 'replace')}" if len(found) == 1 else ""
        with _lock:
            _first_commits.keep(key, known)
    return known or ""


# ---- verifying --------------------------------------------------------------------------------

_refusals: LruCache[bytes, str] = LruCache(_REMEMBERED)
"""What became of a signature, by the digest of all that it was verified by: a save starts no process."""
_refused: LruCache[SshSigners, int] = LruCache(64)
"""How many signatures did not hold, by the signers that they were verified by."""


def signature_refusals(
    root: Path, where: str, records: Mapping[str, Record], signers: SshSigners
) -> Mapping[str, str]:
    """Of records in the order of their lines, by any key: why the signature of one proves nothing, with what
    to do. Those that are missing are proven. `where` is their journal's place in the repository."""
    refusals: dict[str, str] = {}
    left, may_fail = MAX_SIGNATURES, MAX_REFUSED
    for key, record in records.items():
        why = signers.problem or (_TOO_MANY if not (left and may_fail) else "")
        if not why:
            left -= 1
            try:
                why = _refusal(root, where, record, signers)
            except KeygenUnusable as error:
                # Whoever cannot verify this one cannot verify the others.
                why, signers = str(error), signers._replace(problem=str(error))
            may_fail -= bool(why)
        if why:
            refusals[key] = f"its SSH signature proves nothing, so this decision does not count: {why}"
    return refusals


def _refusal(root: Path, where: str, record: Record, signers: SshSigners) -> str:
    try:
        text = signed_text(signers.repository, where, record)
    except (ValueError, RecursionError):
        return f"{ssh_keygen.CHANGED}; {_AGAIN}"
    # What was signed on another machine was decided then.
    signed = SignedText(record.get("signature"), record.get("decided") or record.get("at"), text)
    return _text_refusal(root, signed, str(record.get("actor", "")), signers)


class SignedText(NamedTuple):
    """A text with its signature, and the time when the key had to be valid (ISO 8601, UTC), as they came."""

    signature: object
    at: object
    text: bytes


def _text_refusal(
    root: Path, signed: SignedText, actor: str, signers: SshSigners, *, counts: bool = True
) -> str:
    """Why a signature does not hold; "" where it does. With `counts` it is one of those of which only so many
    may not hold. Raises KeygenUnusable."""
    signature, at = read_signature(signed.signature), verification_time(signed.at)
    if signature is None or not at:
        return f"it cannot be read; {_AGAIN}"
    if signature.namespace != NAMESPACE:
        return f"it was made for another purpose than {NAMESPACE}; {_AGAIN}"
    principal = principal_of(actor)
    asked = SignatureCheck(signers.allowed, principal, at, str(signed.signature), signed.text)
    known = sha256(repr(asked).encode()).digest()
    with _lock:
        why = _refusals.get(known)
        refused = _refused.get(signers) or 0
    if why is None:
        if counts and refused >= MAX_REFUSED_OF_SIGNERS:
            return _TOO_MANY
        why = ssh_keygen.refusal(ssh_keygen.require_keygen(root), asked)
        with _lock:
            _refusals.keep(known, why)
            _refused.keep(signers, refused + bool(why and counts))
    if not why:
        return ""
    mend = "" if why == ssh_keygen.CHANGED else f"have {SIGNERS_PATH} list it and commit that, or "
    return f"{why} (key {signature.fingerprint}, signer {principal}); {mend}{_AGAIN}"


def remote_refusal(root: Path, signed: SignedText, actor: str, signers: SshSigners) -> str:
    """Why a signature that came from another machine proves nothing; "" where it does. Who asks bounds how
    many are asked about: they are none of the journals'."""
    if signers.problem:
        return signers.problem
    try:
        return _text_refusal(root, signed, actor, signers, counts=False)
    except KeygenUnusable as error:
        return str(error)


# ---- signing ----------------------------------------------------------------------------------


def ssh_signer(
    root: Path, where: str, key: str, actor: str, signers: SshSigners
) -> Callable[[Record], Mapping[str, str]]:
    """The signature for a person's decisions in a journal, by a key of `ssh_keygen.signing_key`.

    It raises SigningError for a signature that would not count, and where nothing can be signed.
    """

    def sign_decision(entry: Record) -> Mapping[str, str]:
        text = signed_text(signers.repository, where, entry)
        return {"signature": sign_text(root, key, str(entry["at"]), text, actor, signers)}

    return sign_decision


def sign_text(root: Path, key: str, at: str, text: bytes, actor: str, signers: SshSigners) -> str:
    """A signature over a text by a key of `ssh_keygen.signing_key`, verified as everyone will.

    Raises SigningError for one that would not count, and where nothing can be signed.
    """
    signature = ssh_keygen.sign(root, key, text)
    try:
        why = _text_refusal(root, SignedText(signature, at, text), actor, signers)
    except KeygenUnusable as error:
        why = str(error)
    if why:
        raise SigningError(f"a signature by {key} would not count for {actor}: {why}")
    return signature
