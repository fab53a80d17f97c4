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


def read_artifact(declared: Artifact, run: str, reader: RunReader) -> ArtifactState:
    """The artifact as it stands in the run's folder; what is wrong with it is told to `reader`."""
    found = _locations(declared, run, reader)
    if declared.kind == FILES:
        return _folder(declared, run, found, reader)
    if not found:
        where = join(run, declared.paths[0]) or declared.paths[0]
        return ArtifactState(declared.id, ArtifactStatus.MISSING, where)
    path = found[0][0]
    file = reader.read(path)
    if len(found) > 1:
        _copies(file, [reader.read(other) for other, _ in found[1:]], reader)
    return read_file(declared, file, reader)


def _locations(declared: Artifact, run: str, reader: RunReader) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for pattern in declared.paths:
        path = join(run, pattern)
        if path is None:
            said = f"{declared.id}: {pattern} leaves the root and is not read"
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
    declared: Artifact, run: str, found: Sequence[tuple[str, Entry]], reader: RunReader
) -> ArtifactState:
    filled = [path for path, entry in found if reader.is_filled(path, entry)]
    state = ArtifactStatus.VALID if filled else ArtifactStatus.EMPTY if found else ArtifactStatus.MISSING
    paths = tuple(path for path, _ in found)
    where = paths[0] if paths else join(run, declared.paths[0]) or run
    newest = max((entry.mtime_ns for _, entry in found), default=0)
    data = {"paths": list(paths)} if filled else None
    return ArtifactState(declared.id, state, where, data, kind=FILES, paths=paths, mtime_ns=newest)


def read_file(declared: Artifact, file: File, reader: RunReader) -> ArtifactState:
    """The artifact held by one file."""
    artifact = ArtifactState(
        declared.id, ArtifactStatus.UNREADABLE, file.path, kind=declared.kind, text=file.text or "",
        paths=(file.path,), mtime_ns=file.mtime_ns,
    )  # fmt: skip
    if file.text is None:
        reader.add_findings(file.path, [file.problem] if file.problem else [])
        return artifact
    if not file.text.strip():
        return _blank(declared, artifact, reader)
    if declared.kind in DIALECTS:
        return _plan(declared, file, artifact, reader)
    read = KINDS[declared.kind].read
    assert read
    document = reader.parse_cached(declared.kind, file, read)
    reader.add_findings(file.path, document.problems)
    if document.readable:
        return _judged(declared, artifact._replace(raw=document.data), reader)
    if not document.problems:
        # YAML that is all comments.
        return _blank(declared, artifact, reader)
    wrong = any(problem.code == "artifact-invalid" for problem in document.problems)
    return artifact._replace(state=ArtifactStatus.INVALID) if wrong else artifact


def _judged(declared: Artifact, artifact: ArtifactState, reader: RunReader) -> ArtifactState:
    """The artifact with its data, or invalid when that is not what it has to be."""
    data = clean(artifact.raw)
    if not isinstance(data, dict):
        said = f"{declared.id} must be an object"
        reader.add_finding(artifact.path, "artifact-invalid", said, Span(0, 0, 0, 1))
        return artifact._replace(state=ArtifactStatus.INVALID)
    problems = content_problems(declared, data, artifact, reader)
    reader.add_findings(artifact.path, problems)
    if problems:
        return artifact._replace(state=ArtifactStatus.INVALID)
    return artifact._replace(state=ArtifactStatus.VALID, data=lay_under(data, dict(declared.defaults)))


def _blank(declared: Artifact, artifact: ArtifactState, reader: RunReader) -> ArtifactState:
    """A file of nothing. An optional one is not as good as absent: it was emptied, or is yet to be filled."""
    if not declared.optional:
        return artifact._replace(state=ArtifactStatus.EMPTY)
    said = f"{declared.id} is empty; fill it or remove it"
    reader.add_finding(artifact.path, "artifact-invalid", said, Span(0, 0, 0, 0))
    return artifact._replace(state=ArtifactStatus.INVALID)


def _plan(declared: Artifact, file: File, artifact: ArtifactState, reader: RunReader) -> ArtifactState:
    dialect = DIALECTS[declared.kind]
    plan: Plan | None = reader.parse_cached(declared.kind, file, dialect.read)
    if plan is None:
        reader.add_finding(file.path, "artifact-invalid", f"holds no {dialect.lacks}", Span(0, 0, 0, 1))
        return artifact._replace(state=ArtifactStatus.INVALID)
    reader.add_findings(file.path, plan.problems)
    return artifact._replace(state=ArtifactStatus.VALID, data=plan)
