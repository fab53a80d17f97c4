"""Artifacts: a declared file of a run, as it stands: missing, empty, unreadable, invalid, valid or stale.

Only a valid one has data for guards. Every kind is one function from text to data and problems; a new
kind is one function and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..definition.model import Artifact
from ..findings import Span
from ..formats.json_text import Document, clean, lay_under, read_json
from ..formats.patch import read_patch
from ..formats.yaml_text import read_yaml_data
from ..markdown import document as markdown
from ..plans.dialects import DIALECTS
from ..plans.model import Plan
from ..states import ArtifactStatus
from ..vfs.files import Entry, File, join
from ..vfs.glob import is_glob
from .artifact_checks import unmet
from .read_log import Held, Looked

# ---- kinds ------------------------------------------------------------------------------------


def _markdown(text: str) -> Document:
    document = markdown.read(text)
    fields = {entry.key: entry.value for entry in markdown.fields(document)}
    headings = [heading.text for heading in document.headings]
    return Document({"text": text, "fields": fields, "headings": headings}, (), True)


def _text(text: str) -> Document:
    return Document({"text": text}, (), True)


KINDS: Mapping[str, Callable[[str], Document]] = {
    "json": read_json,
    "yaml": read_yaml_data,
    "markdown": _markdown,
    "text": _text,
    "patch": read_patch,
}


# ---- reading ----------------------------------------------------------------------------------


def read_artifact(artifact: Artifact, run: str, looked: Looked) -> Held:
    """The artifact as it stands in the run's folder; what is wrong with it is told to `looked`."""
    found = _locations(artifact, run, looked)
    if artifact.kind == "files":
        return _folder(artifact, run, found, looked)
    if not found:
        return Held(artifact.id, ArtifactStatus.MISSING, join(run, artifact.paths[0]) or artifact.paths[0])
    path = found[0][0]
    file = looked.read(path)
    if len(found) > 1:
        _copies(file, [looked.read(other) for other, _ in found[1:]], looked)
    return read_file(artifact, file, looked)


def _locations(artifact: Artifact, run: str, looked: Looked) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for pattern in artifact.paths:
        path = join(run, pattern)
        if path is None:
            looked.tell(run, "artifact-missing", f"{artifact.id}: {pattern} leaves the root and is not read")
        elif is_glob(pattern):
            found += looked.glob(path)
        else:
            file = looked.read(path)
            if file.exists or file.refused:
                found.append((path, Entry(path, "file", file.size, file.mtime_ns)))
            elif file.problem:
                looked.tell_all(path, [file.problem])
    return found


def _copies(first: File, others: Sequence[File], looked: Looked) -> None:
    for other in others:
        if other.digest != first.digest:
            said = f"{first.path} is used; this copy differs from it"
            looked.tell(other.path, "duplicate-location", said, data={"used": first.path})


def _folder(artifact: Artifact, run: str, found: Sequence[tuple[str, Entry]], looked: Looked) -> Held:
    filled = [path for path, entry in found if looked.filled(path, entry)]
    state = ArtifactStatus.VALID if filled else ArtifactStatus.EMPTY if found else ArtifactStatus.MISSING
    paths = tuple(path for path, _ in found)
    where = paths[0] if paths else join(run, artifact.paths[0]) or run
    newest = max((entry.mtime_ns for _, entry in found), default=0)
    data = {"paths": list(paths)} if filled else None
    return Held(artifact.id, state, where, data, kind="files", paths=paths, mtime_ns=newest)


def read_file(artifact: Artifact, file: File, looked: Looked) -> Held:
    """The artifact held by one file."""
    held = Held(
        artifact.id, ArtifactStatus.UNREADABLE, file.path, kind=artifact.kind, text=file.text or "",
        paths=(file.path,), mtime_ns=file.mtime_ns,
    )  # fmt: skip
    if file.text is None:
        looked.tell_all(file.path, [file.problem] if file.problem else [])
        return held
    if not file.text.strip():
        return _blank(artifact, held, looked)
    if artifact.kind in DIALECTS:
        return _plan(artifact, file, held, looked)
    document = looked.once(artifact.kind, file, KINDS[artifact.kind])
    looked.tell_all(file.path, document.problems)
    if document.readable:
        return _judged(artifact, held._replace(raw=document.data), looked)
    if not document.problems:
        # YAML that is all comments.
        return _blank(artifact, held, looked)
    wrong = any(problem.code == "artifact-invalid" for problem in document.problems)
    return held._replace(state=ArtifactStatus.INVALID) if wrong else held


def _judged(artifact: Artifact, held: Held, looked: Looked) -> Held:
    """The artifact with its data, or invalid when that is not what it has to be."""
    data = clean(held.raw)
    if not isinstance(data, dict):
        looked.tell(held.path, "artifact-invalid", f"{artifact.id} must be an object", Span(0, 0, 0, 1))
        return held._replace(state=ArtifactStatus.INVALID)
    problems = unmet(artifact, data, held, looked)
    looked.tell_all(held.path, problems)
    if problems:
        return held._replace(state=ArtifactStatus.INVALID)
    return held._replace(state=ArtifactStatus.VALID, data=lay_under(data, dict(artifact.defaults)))


def _blank(artifact: Artifact, held: Held, looked: Looked) -> Held:
    """A file of nothing. An optional one is not as good as absent: it was emptied, or is yet to be filled."""
    if not artifact.optional:
        return held._replace(state=ArtifactStatus.EMPTY)
    said = f"{artifact.id} is empty; fill it or remove it"
    looked.tell(held.path, "artifact-invalid", said, Span(0, 0, 0, 0))
    return held._replace(state=ArtifactStatus.INVALID)


def _plan(artifact: Artifact, file: File, held: Held, looked: Looked) -> Held:
    dialect = DIALECTS[artifact.kind]
    plan: Plan | None = looked.once(artifact.kind, file, dialect.read)
    if plan is None:
        looked.tell(file.path, "artifact-invalid", f"holds no {dialect.lacks}", Span(0, 0, 0, 1))
        return held._replace(state=ArtifactStatus.INVALID)
    looked.tell_all(file.path, plan.problems)
    return held._replace(state=ArtifactStatus.VALID, data=plan)
