"""Which checks a person allowed to run: exact definitions, kept in the user's folder for application state.

A definition is the declared check with the digests of the files that say what is run. A change of any of them
asks again. Nothing in a workspace can trust itself: what is kept lies outside of it, and is signed with the
key of its repository, so that what is copied from elsewhere allows nothing here.
"""

from __future__ import annotations

import difflib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...orchestration.evidence.checks import Check
from ...orchestration.vfs.files import digest_of
from ..disk.decision_keys import (
    create_private,
    load_repository_key,
    make_repository_key,
    place_of,
    read_private,
    repository_path,
)
from ..disk.disk_files import DiskFiles
from .input_table import InputTable
from .inputs import definition_files

_MOST_BYTES = 8 << 20
_MOST_TEXT = 32 * 1024
"""Characters of a definition file that are kept, so that a change can be shown."""
_MOST_LINES = 200
WORKSPACE_CODE = (
    "What these files call in turn is code of the workspace, and may change without this question."
)


class TrustError(Exception):
    """Why nothing can be trusted here, as a sentence."""


@dataclass(frozen=True)
class CheckDefinition:
    """A check as it would run: `digest` names it with its `files`, path → digest of the bytes.

    `texts` are the beginnings of those files.
    """

    check: Check
    digest: str
    files: Mapping[str, str]
    texts: Mapping[str, str]


def define(check: Check, table: InputTable) -> CheckDefinition:
    """The definition of a check as it is on the disk now."""
    files = definition_files(check, table)
    view = DiskFiles(table.root)
    texts = {path: (view.read(path).text or "")[:_MOST_TEXT] for path in files}
    return CheckDefinition(check, check.digest(files.items()), files, texts)


class TrustStore:
    """The definitions that this user allowed in the repository of a root. Read when made."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()
        place = place_of(self.root)
        self._within = self.root.relative_to(place).as_posix() if self.root != place else ""
        self.path = repository_path(self.root).with_suffix(".checks")
        self._entries = self._read()

    def allows(self, definition: str, check: str) -> bool:
        """True if a person allowed exactly this definition of a check."""
        entry = self._entries.get(self._name(check))
        return entry is not None and entry.get("digest") == definition

    def allowed_at(self, check: str) -> str:
        """When a person allowed it last, "" for never."""
        return str(self._entries.get(self._name(check), {}).get("at", ""))

    def is_known(self, check: str) -> bool:
        """True if a person allowed some definition of a check before."""
        return self._name(check) in self._entries

    def allow(self, definition: CheckDefinition, actor: str, at: str) -> None:
        """Keep that a person allowed this. Raises TrustError where it cannot be kept."""
        key = make_repository_key(self.root)
        if key.secret is None:
            raise TrustError(f"nothing can be trusted: {key.reason}")
        entry = {
            "digest": definition.digest,
            "run": list(definition.check.run),
            "files": dict(definition.files),
            "texts": dict(definition.texts),
            "described": list(_description_lines(definition.check)),
            "actor": actor,
            "at": at,
        }
        # Another command may have added to it meanwhile.
        entries = {**self._read(), self._name(definition.check.name): entry}
        _replace(self.path, _signed_text(entries, key.secret))
        self._entries = entries

    def difference(self, definition: CheckDefinition) -> Iterator[str]:
        """The lines of what a person has to read: all of a new definition, of a known one what changed."""
        entry = self._entries.get(self._name(definition.check.name))
        described = list(_description_lines(definition.check))
        if entry is None:
            yield from described
            for path, text in definition.texts.items():
                yield f"{path}: {text.count(chr(10)) + 1} lines, sha256 {definition.files[path][:16]}"
            return
        yield f"{definition.check.name} changed since {entry.get('actor')} allowed it at {entry.get('at')}:"
        yield from _changes("the check", entry.get("described", []), described)
        before: Any = entry.get("texts", {})
        known: Any = entry.get("files", {})
        for path in sorted({*known, *definition.files}):
            if known.get(path) == definition.files.get(path):
                continue
            lines = str(before.get(path, "")).splitlines(), definition.texts.get(path, "").splitlines()
            changes = list(_changes(path, *lines))
            yield from changes or [f"{path} changed behind its first {_MOST_TEXT} characters"]

    def _name(self, check: str) -> str:
        return f"{self._within}:{check}"

    def _read(self) -> dict[str, dict[str, Any]]:
        """The entries, none where the file is missing, another user's, or not signed with the key."""
        secret, kept = load_repository_key(self.root).secret, read_private(self.path, _MOST_BYTES)
        if secret is None or not kept.secret:
            return {}
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            data = json.loads(kept.secret)
            if hmac.compare_digest(_mac(data["checks"], secret), str(data["mac"])):
                return dict(data["checks"])
        return {}


def _description_lines(check: Check) -> Iterator[str]:
    """A check in lines that a person reads."""
    yield f"runs: {json.dumps(list(check.run), ensure_ascii=False)}"
    yield f"inputs: {', '.join(check.inputs) or 'every file that git knows'}"
    yield f"reports: {', '.join(f'{kind} {path}' for kind, path in check.reports.items()) or 'none'}"
    yield f"ends after: {check.timeout_s} s"
    if check.definition:
        yield f"definition: {', '.join(check.definition)}"


def _changes(what: str, before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    diff = list(difflib.unified_diff(before, now, what, what, lineterm="", n=1))
    yield from diff[:_MOST_LINES]
    if len(diff) > _MOST_LINES:
        yield f"... and {len(diff) - _MOST_LINES} more lines of {what}"


def _mac(entries: Mapping[str, Any], secret: bytes) -> str:
    text = json.dumps(entries, sort_keys=True)
    key = hmac.digest(secret, b"phasekeeper trusted checks v1", "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _signed_text(entries: Mapping[str, Any], secret: bytes) -> bytes:
    return json.dumps({"checks": entries, "mac": _mac(entries, secret)}, sort_keys=True).encode("ascii")


def _replace(path: Path, content: bytes) -> None:
    """The file with this content, whole. Raises TrustError."""
    new = path.with_name(f".{path.name}.{digest_of(os.urandom(16))}")
    try:
        create_private(new, content)
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise TrustError(
            f"it cannot be kept at {path}: {(error.strerror or 'unknown error').lower()}"
        ) from None
