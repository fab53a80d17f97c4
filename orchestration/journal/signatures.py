"""SSH signatures of decisions, as values: the text that is signed, and the signature as its record has it.

The signature is what `ssh-keygen -Y sign` makes (OpenSSH, PROTOCOL.sshsig): a blob that names the public key,
the namespace and the algorithms. A record has it as base64 in one line. Reading one proves nothing.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from textwrap import wrap
from typing import NamedTuple

NAMESPACE = "phasekeeper"
"""What a signature is for: one made for git, or to log in somewhere, is none of a decision."""
MAX_SIGNATURE = 8192
"""Characters of a signature in a record; one by an RSA key of 16,384 bits has 5,600."""
PROOF_FIELDS = ("mac", "signature")
"""The fields of a record that prove it; each covers all of the record but itself."""
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_MAGIC, _VERSION = b"SSHSIG", 1
_HASHES = (b"sha256", b"sha512")
_LINE = 70
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
    covered = {name: value for name, value in record.items() if name != "signature"}
    text = ["phasekeeper decision v1", repository, where, covered]
    return json.dumps(text, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


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
