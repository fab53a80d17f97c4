"""The proof that a person made a recorded decision: keyed digests, and what is in the commit HEAD.

An assistant runs as the same user and could forge a decision; this makes a forgery deliberate and
visible, not impossible. A decision counts when it carries a digest made with a key that only the
decision code uses, or when its very line is in HEAD, where colleagues could review it. Everything that
fails here (no key, no git, no repository, a time-out) leaves the decision unverified.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import platformdirs

from ...orchestration.journal.journal import DECISIONS
from ...orchestration.journal.lines import parse_line
from ..disk.disk_files import MAX_BYTES
from ..disk.repository import toplevel
from ..disk.safe_open import refusal
from . import git
from .roots import path_in_root

KEY_BYTES = 32
"""A shorter key is refused; bytes past 1,024 are not a key of ours."""
_MAX_KEY_BYTES = 1024


class DecisionKey(NamedTuple):
    """The key, or None and the reason why there is none to be trusted."""

    secret: bytes | None
    reason: str | None = None


def key_path() -> Path:
    """Where the key lies: `phasekeeper/decision.key` in the user's folder for application state."""
    return platformdirs.user_state_path("phasekeeper", appauthor=False) / "decision.key"


def load_key() -> DecisionKey:
    """The key, unless it is missing, too short, not this user's, or open to others."""
    path = key_path()
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            reason = _distrust_reason(os.fstat(file.fileno()))
            secret = b"" if reason else file.read(_MAX_KEY_BYTES + 1)
    except FileNotFoundError:
        return DecisionKey(None, f"there is no key at {path}")
    except OSError as error:
        reason, secret = f"cannot be read: {(error.strerror or 'unknown error').lower()}", b""
    if not reason and not KEY_BYTES <= len(secret) <= _MAX_KEY_BYTES:
        reason = "has the wrong size"
    return DecisionKey(None, f"the key at {path} {reason}") if reason else DecisionKey(secret)


def make_key() -> DecisionKey:
    """The key, made when there is none: 32 random bytes in a file that only this user can read."""
    key = load_key()
    path = key_path()
    if key.secret is not None or path.exists():
        return key
    try:
        _create_key(path)
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        return DecisionKey(None, f"the key at {path} cannot be made: {why}")
    return load_key()


def _create_key(path: Path) -> None:
    """A new key. It gets its name once it is whole: of several made at one moment the first one stays, and
    nobody sees half of it."""
    new = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(whole, path)
    finally:
        whole.unlink()
    # A key that a power loss takes away takes the proof of every decision with it.
    for folder in (path.parent, *(each.parent for each in new)) if os.name == "posix" else ():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _distrust_reason(status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if os.name != "posix":
        return None
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read or written by others (chmod 600 it)" if status.st_mode & 0o077 else None


def journal_place(root: Path, journal_path: str) -> str:
    """The part of a signature that says where a record belongs: its journal, from the git toplevel.

    From the toplevel and not from the root, so that a decision stays valid whichever folder of one
    repository is watched; without a repository, from the root.
    """
    resolved = root.resolve()
    top = toplevel(resolved)
    return (path_in_root(top, resolved / journal_path) if top else None) or journal_path


def sign(record: Mapping[str, object], key: bytes, where: str) -> str:
    """Hex HMAC-SHA256 over `where` (see `place`) and the record without its `mac`, `prev` included.

    So neither a changed record counts, nor one copied to another run or behind another line. It is the
    record as its line has it, before a reader fills empty fields in.
    Raises ValueError when the record is no JSON (a NaN).
    """
    signed = {name: value for name, value in record.items() if name != "mac"}
    text = json.dumps([where, signed], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hmac.new(key, text.encode("ascii"), sha256).hexdigest()


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
    """The indexes of those decision lines of a journal that count as a person's.

    `committed` is asked once, and only when a decision lacks a valid signature. Of equal lines only the
    first counts: a copy of an old decision is not a new one. One in which a key stands twice does not count:
    another reader might take the other one.
    """
    decisions: dict[str, int] = {}
    signed: set[str] = set()
    where = journal_place(root, journal_path)
    for i, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        parsed = parse_line(bare)
        record = parsed.written or {}
        if record.get("kind") not in DECISIONS or parsed.repeated or bare in decisions:
            continue
        decisions[bare] = i
        if key is not None and _is_signed(record, key, where):
            signed.add(bare)
    proven = committed(root, journal_path) if decisions.keys() - signed else frozenset[str]()
    return frozenset(i for bare, i in decisions.items() if bare in signed or bare in proven)


def _is_signed(record: Mapping[str, object], key: bytes, where: str) -> bool:
    mac = record.get("mac")
    if not isinstance(mac, str):
        return False
    try:
        expected = sign(record, key, where)
    except (ValueError, RecursionError):
        return False
    return hmac.compare_digest(mac.encode("utf-8", "surrogatepass"), expected.encode())
