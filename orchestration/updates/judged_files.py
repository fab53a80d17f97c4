"""Digests of the files that a record is about.

They stand in the record, so that history shows what was judged, and a verdict of a phase goes stale by them
and not by the times of files, which a clone or a checkout changes (format, A.6, `of`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..decision.facts import RunFacts
from ..snapshot.snapshot import WHOLE_PLAN
from ..snapshot.staleness import digests, substances
from ..states import ArtifactStatus
from ..vfs.files import join


def files_of_report(facts: RunFacts, step: str) -> list[dict[str, str]]:
    """[{path, digest}] of what a report of the step is about: what its phase produces, and what that judges.

    A verdict that is stale is left out unless it was saved after all that it judges: a report alone makes
    no new verdict of an old one.
    """
    phase = facts.workflow.phases.get(step)
    names: list[str] = []
    for name in phase.produces if phase else ():
        artifact, judged = facts.artifact(name), facts.workflow.artifacts[name].of
        others = (facts.artifact(other) for other in judged)
        is_newest = all(artifact.mtime_ns > other.mtime_ns for other in others if other.exists)
        if artifact.state is not ArtifactStatus.STALE or is_newest:
            names += [name, *judged]
    revised = facts.context.items(phase.revises).value if phase and phase.revises else None
    ids = {str(task["id"]) for task in revised or () if isinstance(task, dict)}
    return files_of_artifacts(facts, names) + _approved_files(facts, ids)


def files_of_artifacts(facts: RunFacts, names: Iterable[str]) -> list[dict[str, str]]:
    """[{path, digest}] of the files of some artifacts, each once."""
    by_path: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if name in facts.workflow.task_lists:
            continue
        declared, snapshot = facts.workflow.artifacts[name], facts.snapshot
        by_path |= digests(facts.artifact(name), declared, snapshot.place, snapshot.reader)
    return [{"path": path, "digest": digest} for path, digest in by_path.items()]


def files_of_answer(facts: RunFacts, names: Iterable[str]) -> list[dict[str, str]]:
    """[{path, digest}] of what an answer is about; of task files all but ticked boxes."""
    names = list(names)
    of_tasks = _approved_files(facts) if facts.workflow.task_lists.intersection(names) else []
    return files_of_artifacts(facts, names) + of_tasks


def _approved_files(facts: RunFacts, ids: Container[str] | None = None) -> list[dict[str, str]]:
    """[{path, digest}] of the plan's task files, or of those of some tasks; of a large plan the first."""
    snapshot = facts.snapshot
    tasks = snapshot.plan.tasks if snapshot.plan else ()
    named = {join(snapshot.folder, task.file) for task in tasks if ids is None or task.id in ids}
    paths = [path for path in snapshot.task_paths[:WHOLE_PLAN] if path in named]
    return [{"path": path, "digest": digest} for path, digest in substances(paths, snapshot.reader).items()]
