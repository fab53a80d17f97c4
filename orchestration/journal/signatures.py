"""SSH signatures of decisions, as values: the text that is signed, and the signature as its record has it.

The signature is what `ssh-keygen -Y sign` makes (OpenSSH, PROTOCOL.sshsig): a blob that names the public key,
the namespace and the algorithms. A record has it as base64 in one line. Reading one proves nothing.

An answer or an override of another machine (its record has `decided`) is signed there, before its line is
written: its signature covers what was decided and what it is about. Of an answer it leaves the line's place
in the chain out; an override stands directly behind the last line that its person knew.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from textwrap import wrap
from typing import NamedTuple

NAMESPACE = "phasekeeper"
"""What a signature is for: one made for git, or to log in somewhere, is none of a decision."""
MAX_SIGNATURE = 8192
"""Characters of a signature in a record; one by an RSA key of 16,384 bits has 5,600."""
PROOF_FIELDS = ("mac", "signature")
"""The fields of a record that prove it; a digest covers all of the record but itself."""
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_MAGIC, _VERSION = b"SSHSIG", 1
_HASHES = (b"sha256", b"sha512")
_LINE = 70
_ANSWER_FIELDS = ("option", "why", "actor", "decided", "after")
_ADDRESS = re.compile(r"<([^<>\s]+)>\Z")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,6})?(?:Z|\+00:00)\Z", re.ASCII)


class SshSignature(NamedTuple):
    """A signature as it describes itself: the public key's blob, and what it was made for."""

    key: bytes
    namespace: str

    @property
    def fingerprint(self) -> str:
        """The key as `ssh-keygen -l` names it."""
        return "SHA256:" + b64encode(sha256(self.key).digest()).decode().rstrip("=")


def signed_text(repository: str, where: str, record: Mapping[str, object]) -> bytes:
    """The text that a signature of a record covers: the repository's id, the journal's place in it, and the
    record as its line has it, `prev` included. Raises ValueError when the record is no JSON (a NaN)."""
    kind = record.get("kind")
    if record.get("decided") and kind in ("answer", "override"):
        return decision_text(str(kind), repository, where, covered_elsewhere(record))
    covered = {name: value for name, value in record.items() if name != "signature"}
    return _as_text("phasekeeper decision v1", repository, where, covered)


def decision_text(kind: str, repository: str, where: str, covered: Mapping[str, object]) -> bytes:
    """The text that is signed on another machine for a decision of a kind, which proves none of another one;
    `covered` is as of `covered_elsewhere`."""
    return _as_text(f"phasekeeper {kind} v1", repository, where, covered)


def _as_text(*parts: object) -> bytes:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def covered_elsewhere(record: Mapping[str, object]) -> Mapping[str, object]:
    """What the signature of a decision from another machine covers of its record."""
    return covered_by_override(record) if record.get("kind") == "override" else covered_by_answer(record)


def covered_by_override(record: Mapping[str, object]) -> Mapping[str, object]:
    """Who went where, when, why, behind which line of the journal, and a digest of what is waived by it."""
    names = {"option": "next", "after": "prev", "why": "why", "actor": "actor", "decided": "decided"}
    covered = {name: record.get(field, "") for name, field in names.items()}
    return {**covered, "subject": subject_of_override(record)}


def subject_of_override(record: Mapping[str, object]) -> str:
    """The digest (SHA-256, hex) of what an override waives, and of where the run is then."""
    seen = sorted([str(each["path"]), str(each["digest"])] for each in _objects(record, "files"))
    place = [record.get(name) or "" for name in ("phase", "stage", "iteration")]
    waived = [sorted(map(str, _items(record, name))) for name in ("gates", "phases", "tasks")]
    return sha256(_as_text("phasekeeper override subject v1", *place, *waived, seen)).hexdigest()


def covered_by_answer(record: Mapping[str, object]) -> Mapping[str, object]:
    """What the signature of an answer from another machine covers of its record: who decided what, when, why,
    behind which line of the journal, the question and the options in the words that were read, and a digest
    of what it is about. The chain's own fields are left out: whoever signs does not know them."""
    scope = record.get("scope")
    return {
        "question": f"{record.get('question')}:{scope}" if scope else record.get("question"),
        "asked": one_line(str(record.get("asked", ""))),
        "options": [f"{each['id']} {one_line(str(each['text']))}" for each in _objects(record, "options")],
        "subject": subject_of(record),
        **{name: record.get(name, "") for name in _ANSWER_FIELDS},
    }


def subject_of(record: Mapping[str, object]) -> str:
    """The digest (SHA-256, hex) of what an answer holds for: its substance, and stages and files of then."""
    files = (each for each in _objects(record, "files") if "was" not in each)
    seen = sorted([str(each["path"]), str(each["digest"])] for each in files)
    about = [record.get("about", ""), record.get("stages", []), seen]
    return sha256(_as_text("phasekeeper subject v1", *about)).hexdigest()


def one_line(text: str) -> str:
    """A text as people read it on any machine: printable, in one line, with single spaces."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _objects(record: Mapping[str, object], name: str) -> Sequence[Mapping[str, object]]:
    """The items of a field that are objects with all that is read of them; others count as empty texts."""
    items = _items(record, name)
    empty = {"id": "", "text": "", "path": "", "digest": ""}
    return [{**empty, **(item if isinstance(item, dict) else {"id": str(item)})} for item in items]


def _items(record: Mapping[str, object], name: str) -> Sequence[object]:
    listed = record.get(name)
    return listed if isinstance(listed, list) else []


def read_signature(text: object) -> SshSignature | None:
    """The signature in a field of a record; None for what is none."""
    if not isinstance(text, str) or len(text) > MAX_SIGNATURE:
        return None
    try:
        blob = b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        return None
    if blob[:6] != _MAGIC or int.from_bytes(blob[6:10]) != _VERSION:
        return None
    parts, rest = list[bytes](), blob[10:]
    while len(rest) >= 4:
        end = 4 + int.from_bytes(rest[:4])
        parts, rest = [*parts, rest[4:end]], rest[end:] if end <= len(rest) else b"?"
    if rest or len(parts) != 5 or parts[3] not in _HASHES:
        return None
    return SshSignature(parts[0], parts[1].decode("utf-8", "replace"))


def armor(signature: str) -> str:
    """The signature of a record as `ssh-keygen` reads it."""
    return "\n".join((_BEGIN, *wrap(signature, _LINE), _END, ""))


def strip_armor(text: str) -> str:
    """What `ssh-keygen` wrote, as a record has it; "" where that is no signature."""
    body, end, _ = text.partition(_BEGIN)[2].partition(_END)
    joined = "".join(body.split())
    return joined if end and read_signature(joined) else ""


def principal_of(actor: str) -> str:
    """The name under which allowed signers list whoever a record names: the address, else all of it."""
    found = _ADDRESS.search(actor)
    return found[1] if found else actor


def verification_time(at: object) -> str:
    """The time of a record (ISO 8601, UTC) as `ssh-keygen` takes it: YYYYMMDDHHMMSS; "" for what is none.

    A key has to be valid when the decision was made, as with commits that git verifies: no clock is asked.
    """
    found = _TIME.match(at) if isinstance(at, str) else None
    return "".join(found.groups()) if found else ""
