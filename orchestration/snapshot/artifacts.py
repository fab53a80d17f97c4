"""Artifacts: a declared file of a run, as it stands: missing, empty, unreadable, invalid, valid or stale.

Only a valid one has data for guards. How a file is read is told by its kind (`definition/artifact_kinds.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..definition.artifact_kinds import FILES, KINDS
from ..definition.model import Artifact
from ..findings import Span
from ..formats.json_text import clean, lay_under
from ..plans.dialects import DIALECTS
from ..plans.model import Plan
from ..states import ArtifactStatus
from ..vfs.files import Entry, File, join
from ..vfs.glob import is_glob
from .artifact_checks import content_problems
from .read_log import ArtifactState, RunReader


def read_artifact(artifact: Artifact, run: str, reader: RunReader) -> ArtifactState:
    """The artifact as it stands in the run's folder; what is wrong with it is told to `reader`."""
    found = _locations(artifact, run, reader)
    if artifact.kind == FILES:
        return _folder(artifact, run, found, reader)
    if not found:
        where = join(run, artifact.paths[0]) or artifact.paths[0]
        return ArtifactState(artifact.id, ArtifactStatus.MISSING, where)
    path = found[0][0]
    file = reader.read(path)
    if len(found) > 1:
        _copies(file, [reader.read(other) for other, _ in found[1:]], reader)
    return read_file(artifact, file, reader)


def _locations(artifact: Artifact, run: str, reader: RunReader) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for pattern in artifact.paths:
        path = join(run, pattern)
        if path is None:
            said = f"{artifact.id}: {pattern} leaves the root and is not read"
            reader.add_finding(run, "artifact-missing", said)
        elif is_glob(pattern):
            found += reader.glob(path)
        else:
            file = reader.read(path)
            if file.exists or file.refused:
                found.append((path, Entry(path, "file", file.size, file.mtime_ns)))
            elif file.problem:
                reader.add_findings(path, [file.problem])
    return found


def _copies(first: File, others: Sequence[File], reader: RunReader) -> None:
    for other in others:
        if other.digest != first.digest:
            said = f"{first.path} is used; this copy differs from it"
            reader.add_finding(other.path, "duplicate-location", said, data={"used": first.path})


def _folder(
    artifact: Artifact, run: str, found: Sequence[tuple[str, Entry]], reader: RunReader
) -> ArtifactState:
    filled = [path for path, entry in found if reader.is_filled(path, entry)]
    state = ArtifactStatus.VALID if filled else ArtifactStatus.EMPTY if found else ArtifactStatus.MISSING
    paths = tuple(path for path, _ in found)
    where = paths[0] if paths else join(run, artifact.paths[0]) or run
    newest = max((entry.mtime_ns for _, entry in found), default=0)
    data = {"paths": list(paths)} if filled else None
    return ArtifactState(artifact.id, state, where, data, kind=FILES, paths=paths, mtime_ns=newest)


def read_file(artifact: Artifact, file: File, reader: RunReader) -> ArtifactState:
    """The artifact held by one file."""
    held = ArtifactState(
        artifact.id, ArtifactStatus.UNREADABLE, file.path, kind=artifact.kind, text=file.text or "",
        paths=(file.path,), mtime_ns=file.mtime_ns,
    )  # fmt: skip
    if file.text is None:
        reader.add_findings(file.path, [file.problem] if file.problem else [])
        return held
    if not file.text.strip():
        return _blank(artifact, held, reader)
    if artifact.kind in DIALECTS:
        return _plan(artifact, file, held, reader)
    read = KINDS[artifact.kind].read
    assert read
    document = reader.parse_cached(artifact.kind, file, read)
    reader.add_findings(file.path, document.problems)
    if document.readable:
        return _judged(artifact, held._replace(raw=document.data), reader)
    if not document.problems:
        # YAML that is all comments.
        return _blank(artifact, held, reader)
    wrong = any(problem.code == "artifact-invalid" for problem in document.problems)
    return held._replace(state=ArtifactStatus.INVALID) if wrong else held


def _judged(artifact: Artifact, held: ArtifactState, reader: RunReader) -> ArtifactState:
    """The artifact with its data, or invalid when that is not what it has to be."""
    data = clean(held.raw)
    if not isinstance(data, dict):
        said = f"{artifact.id} must be an object"
        reader.add_finding(held.path, "artifact-invalid", said, Span(0, 0, 0, 1))
        return held._replace(state=ArtifactStatus.INVALID)
    problems = content_problems(artifact, data, held, reader)
    reader.add_findings(held.path, problems)
    if problems:
        return held._replace(state=ArtifactStatus.INVALID)
    return held._replace(state=ArtifactStatus.VALID, data=lay_under(data, dict(artifact.defaults)))


def _blank(artifact: Artifact, held: ArtifactState, reader: RunReader) -> ArtifactState:
    """A file of nothing. An optional one is not as good as absent: it was emptied, or is yet to be filled."""
    if not artifact.optional:
        return held._replace(state=ArtifactStatus.EMPTY)
    said = f"{artifact.id} is empty; fill it or remove it"
    reader.add_finding(held.path, "artifact-invalid", said, Span(0, 0, 0, 0))
    return held._replace(state=ArtifactStatus.INVALID)


def _plan(artifact: Artifact, file: File, held: ArtifactState, reader: RunReader) -> ArtifactState:
    dialect = DIALECTS[artifact.kind]
    plan: Plan | None = reader.parse_cached(artifact.kind, file, dialect.read)
    if plan is None:
        reader.add_finding(file.path, "artifact-invalid", f"holds no {dialect.lacks}", Span(0, 0, 0, 1))
        return held._replace(state=ArtifactStatus.INVALID)
    reader.add_findings(file.path, plan.problems)
    return held._replace(state=ArtifactStatus.VALID, data=plan)
