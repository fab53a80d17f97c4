"""Artifacts whose files are named by data (`listed`): which of the named files are there."""

from __future__ import annotations

from collections.abc import Sequence

from ..definition.model import Artifact
from ..expressions.context import Context
from ..expressions.language import Expression
from ..expressions.values import MOST_ITEMS
from ..findings import Problem, Span
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import Snapshot
from ..states import ArtifactStatus
from ..vfs.files import join

# A file that names more missing files than this gets one finding for the rest.
MOST_FINDINGS = 50

Problems = list[tuple[str, Problem]]


def listed_artifact(
    artifact: Artifact, listed: Expression, snapshot: Snapshot, context: Context
) -> tuple[Problems, ArtifactState]:
    """([(path, problem)], the artifact as it stands): valid when some files are named and all are there."""
    plan = snapshot.workflow.plan
    if plan and listed.source.strip() == f"{plan.id}.files":
        return _task_files(artifact, snapshot)
    run, missing = snapshot.run, ArtifactState(artifact.id, ArtifactStatus.MISSING, snapshot.run)
    outcome = context.value(listed)
    if outcome.error is not None or not isinstance(outcome.value, list):
        return [], missing
    names = [str(name) for name in outcome.value]
    if len(names) > MOST_ITEMS:
        message = f"{artifact.id} names {len(names)} files, at most {MOST_ITEMS}"
        return [(run, Problem("artifact-invalid", message))], missing._replace(state=ArtifactStatus.INVALID)
    pairs = [(name, join(run, name)) for name in names]
    lost = [(name, path) for name, path in pairs if path is None or not _is_filled(snapshot, path)]
    problems: Problems = []
    for name, path in lost[:MOST_FINDINGS]:
        where, span = _place_of(name, snapshot)
        why = "leaves the root and is not read" if path is None else "does not exist or is empty"
        message = f"{artifact.id}: {name.lstrip('/')} {why}"
        problems.append((where, Problem("artifact-missing", message, span)))
    paths = tuple(path for _, path in pairs if path)
    absent = tuple(path for _, path in lost[:MOST_FINDINGS] if path)
    return problems, _state(artifact, paths[0] if paths else run, bool(names) and not lost, paths, absent)


def _task_files(artifact: Artifact, snapshot: Snapshot) -> tuple[Problems, ArtifactState]:
    """The files that the plan's tasks name; one listing a folder answers for all in it."""
    plan, run, facts = snapshot.plan, snapshot.run, snapshot.plan_facts
    if plan is None:
        return [], ArtifactState(artifact.id, ArtifactStatus.MISSING, run)
    lacking = snapshot.reader.missing_files(run, facts.names, artifact.id)
    without = [task for task in plan.tasks if task.file in lacking] if lacking else []
    problems: Problems = []
    for task in without[:MOST_FINDINGS]:
        message = (
            f"{task.id}: {task.file} does not exist or is empty" if task.file else f"{task.id} names no file"
        )
        problem = Problem("artifact-missing", message, task.file_span or task.span)
        problems.append((snapshot.plan_path, problem))
    if len(without) > MOST_FINDINGS:
        message = f"and {len(without) - MOST_FINDINGS} more task files do not exist"
        problems.append((snapshot.plan_path, Problem("artifact-missing", message)))
    prefix = f"{run}/" if run else ""
    absent = tuple(prefix + task.file for task in without[:MOST_FINDINGS] if task.file)
    is_valid = bool(facts.files) and not lacking
    return problems, _state(artifact, snapshot.plan_path, is_valid, snapshot.task_paths, absent)


def _state(
    artifact: Artifact, path: str, is_valid: bool, paths: tuple[str, ...], absent: tuple[str, ...]
) -> ArtifactState:
    status = ArtifactStatus.VALID if is_valid else ArtifactStatus.MISSING
    return ArtifactState(artifact.id, status, path, paths=paths, kind="files", missing=absent)


def _is_filled(snapshot: Snapshot, path: str) -> bool:
    file = snapshot.reader.read(path)
    return file.exists and file.size > 0 and (file.text is None or bool(file.text.strip()))


def _place_of(name: str, snapshot: Snapshot) -> tuple[str, Span | None]:
    """Where the state file names a file that is missing."""
    state = snapshot.state
    if state is None:
        return snapshot.run, None
    path = _find(state.raw, (name, name.lstrip("/")))
    return state.path, state.span(path) if path else Span(0, 0, 0, 1)


def _find(data: object, words: Sequence[str]) -> tuple[str | int, ...] | None:
    """The path of the first text in JSON data that is one of `words`."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str) and value in words:
            return path
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]
    return None
