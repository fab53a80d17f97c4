"""What a record was about: the files that a report's phase made and judged, and those of a question.

Their digests stand in the record, so that history shows what was judged, and a verdict of a phase goes
stale by them and not by the times of files, which a clone or a checkout changes (format, A.6, `of`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ..decision.facts import RunFacts
from ..definition.model import Artifact
from ..snapshot.staleness import digests
from ..states import ArtifactStatus


def files_of_report(facts: RunFacts, step: str) -> list[dict[str, str]]:
    """[{path, digest}] of what a report of the step is about: what its phase produces, and what that judges.

    A verdict that is stale is left out unless it was saved after all that it judges: a report alone makes
    no new verdict of an old one.
    """
    phase = facts.workflow.phases.get(step)
    produced = [facts.workflow.artifacts[name] for name in phase.produces] if phase else []
    about = (artifact for artifact in produced if not _outdated(facts, artifact))
    return _named(facts, [name for artifact in about for name in (artifact.id, *artifact.of)])


def files_of_question(facts: RunFacts, name: str) -> list[dict[str, str]]:
    """[{path, digest}] of what an answer is about."""
    question = facts.workflow.questions.get(name)
    return _named(facts, question.about if question else ())


def _named(facts: RunFacts, names: Iterable[str]) -> list[dict[str, str]]:
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        artifact, snapshot = facts.workflow.artifacts[name], facts.snapshot
        found |= digests(facts.artifact(name), artifact, snapshot.run, snapshot.reader)
    return [{"path": path, "digest": digest} for path, digest in found.items()]


def _outdated(facts: RunFacts, artifact: Artifact) -> bool:
    """Whether a verdict is stale and was not made again since what it judges changed."""
    held = facts.artifact(artifact.id)
    judged = [facts.artifact(name) for name in artifact.of]
    return held.state == ArtifactStatus.STALE and any(
        held.mtime_ns <= one.mtime_ns for one in judged if one.exists
    )
