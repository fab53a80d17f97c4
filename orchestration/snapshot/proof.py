"""The proof that a person made a decision which stands in a file: a signed record of its bytes, or HEAD.

A tool that writes such a file goes on working: the file is never rewritten, it only does not count before a
person signed it. The engine is told which records a person signed and what HEAD holds; it knows no keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..definition.inputs import Artifact, StateFile
from ..expressions.queries import dig
from ..findings import Span
from ..formats.json_text import read_json
from ..journal.journal import DECISIONS, Record
from ..states import ArtifactStatus
from ..vfs.files import digest_of
from .read_log import ArtifactState, RunReader

UNPROVEN = (
    "no proof that a person decided this, so it does not count; a person signs it as it is, or commits it"
)


class SignedFile(NamedTuple):
    """A file as a person's newest decision about it left it, and as it was before."""

    digest: str
    was: str


def with_proof(
    states: Mapping[str, ArtifactState],
    artifacts: Mapping[str, Artifact],
    records: Sequence[Record],
    reader: RunReader,
) -> dict[str, ArtifactState]:
    """The artifacts, with those `proposed` that are a person's decision without proof that one made it."""
    out = dict(states)
    for name, state in states.items():
        if not (artifacts[name].decided_by and state.valid):
            continue
        unproven = [path for path in state.paths if not is_decided(path, records, reader)]
        for path in unproven:
            reader.add_finding(path, "decision-unverified", UNPROVEN, Span(0, 0, 0, 1))
        if unproven:
            out[name] = state._replace(state=ArtifactStatus.PROPOSED, data=None)
    return out


def proven_state(declared: StateFile, state: ArtifactState, reader: RunReader) -> ArtifactState:
    """The state without words that only a person sets and the commit HEAD does not have at the same place.

    No record proves them: what a decision writes into the file keeps whatever an assistant wrote before.
    """
    for path, words in declared.decided.items() if state.valid else ():
        word = dig(state.data, path)
        if word not in words or word == _committed_word(state.path, path, reader):
            continue
        keys = path.split(".")
        message = f"{path} is {word}, with no proof that a person decided this, so it does not count"
        place = state.span(keys) or Span(0, 0, 0, 1)
        reader.add_finding(state.path, "decision-unverified", message, place)
        state = state._replace(data=_without(state.data, keys))
    return state


def _committed_word(path: str, key: str, reader: RunReader) -> object:
    committed = reader.read_committed(path)
    return dig(read_json((committed or b"").decode("utf-8", "replace")).data, key)


def _without(data: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A map without what stands at a path in it."""
    first, *rest = keys
    return {
        name: _without(value, rest) if name == first else value
        for name, value in data.items()
        if rest or name != first
    }


def is_decided(path: str, records: Sequence[Record], reader: RunReader) -> bool:
    """Search the newest signed record that names the file, then HEAD, for the file's bytes as they are.

    What HEAD holds does not count where that record replaced it: the decision is newer than the commit.
    """
    digest, signed = reader.read(path).digest, next(_signed_files(path, records), SignedFile("", ""))
    if digest == signed.digest:
        return True
    return digest != signed.was and is_committed(path, reader)


def is_committed(path: str, reader: RunReader) -> bool:
    """True if the commit HEAD holds the file's bytes as they are."""
    committed = reader.read_committed(path)
    return committed is not None and digest_of(committed) == reader.read(path).digest


def is_changed(path: str, left: str | None, reader: RunReader) -> bool:
    """True if a file is neither as the records left it, by its digest, nor as HEAD has it; not where neither
    tells of it."""
    digest = reader.read(path).digest
    if digest == left or is_committed(path, reader):
        return False
    return left is not None or reader.read_committed(path) is not None


def _signed_files(path: str, records: Sequence[Record]) -> Iterator[SignedFile]:
    for entry in reversed(records):
        files: Any = entry["files"] if entry["kind"] in DECISIONS else ()
        named = [item for item in files if isinstance(item, dict) and item.get("path") == path]
        if named:
            yield SignedFile(str(named[-1].get("digest", "")), str(named[-1].get("was", "")))
