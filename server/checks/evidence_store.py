"""The evidence of a root: `.phasekeeper/evidence/NAME.json`, with the log and the manifest beside it.

Written whole, and never through links. The attestation comes last: what it names is there then.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...orchestration.evidence.attestation import Attestation, AttestationError, envelope, read_envelope
from ...orchestration.journal.lines import FOLDER
from ..store.folder import StoreError, as_store_error, open_folder, read_file

EVIDENCE = f"{FOLDER}/evidence"
_MOST_BYTES = 64 << 20


class KeptResult(NamedTuple):
    """The last result of a check, or why there is none that counts."""

    attestation: Attestation | None
    why: str = ""


def attestation_path(check: str) -> str:
    return f"{EVIDENCE}/{check}.json"


def log_path(check: str) -> str:
    return f"{EVIDENCE}/{check}.log"


def manifest_path(check: str) -> str:
    """The list of inputs, as `sha256sum -c` reads it."""
    return f"{EVIDENCE}/{check}.inputs"


def parse_result(check: str, root: str, text: str | None, secret: bytes | None) -> KeptResult:
    """The result in the text of a check's file. `root` is the root's place in its repository."""
    if text is None:
        return KeptResult(None)
    try:
        attestation = read_envelope(text, secret)
    except AttestationError as problem:
        return KeptResult(None, f"{attestation_path(check)} {problem}")
    if (attestation.check, attestation.root) != (check, root):
        of = f"{attestation.root}:{attestation.check}"
        return KeptResult(None, f"{attestation_path(check)} is about another check, {of}")
    return KeptResult(attestation)


def read_manifest(root: Path, check: str) -> bytes:
    """The inputs of the last result, as a manifest; b"" where there is none."""
    with suppress(StoreError):
        return read_file(root, manifest_path(check))[0] or b""
    return b""


def write_log(root: Path, check: str, log: bytes) -> None:
    _put(root, log_path(check), log)


def write_result(root: Path, attestation: Attestation, manifest: bytes, secret: bytes) -> None:
    """Keep a result. Raises StoreError."""
    _put(root, manifest_path(attestation.check), manifest)
    _put(root, attestation_path(attestation.check), envelope(attestation, secret).encode("ascii"))


def _put(root: Path, path: str, content: bytes) -> None:
    folder_path, _, name = path.rpartition("/")
    with as_store_error(path), open_folder(root, folder_path, create=True) as folder:
        folder.put(name, f".{name}.new", content)
        folder.sync()
