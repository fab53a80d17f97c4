"""The folders of a root that may be runs, and what is said of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...orchestration.definition.root_config import Config
from ...orchestration.findings import Finding
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import (
    DefinitionSet,
    Match,
    assigned_workflow,
    candidates,
    fallback_candidates,
)
from ...orchestration.vfs.files import Files, RecordingFiles, natural, parent


class CandidateRun(NamedTuple):
    """A folder that may be a run, and what it is.

    `definitions` are the names of those whose `at:` fits it, `named` the two names that discovery returns.
    """

    definitions: tuple[str, ...]
    named: tuple[str | None, str | None] = (None, None)
    match: Match | None = None
    evaluation: Evaluation | None = None
    findings: tuple[Finding, ...] = ()

    def equals(self, other: CandidateRun) -> bool:
        """True if two looks at one folder say the same, to the last word that a quick fix needs."""
        one, two = self.match, other.match
        is_same_match = one is two or bool(
            one and two and (one.workflow.name, one.rivals) == (two.workflow.name, two.rivals)
        )
        data = [each.data for each in self.findings], [each.data for each in other.findings]
        is_same = (self.named, self.findings, self.evaluation) == (
            other.named,
            other.findings,
            other.evaluation,
        )
        return is_same_match and is_same and data[0] == data[1]

    def is_configured_otherwise(self, run: str, before: Config, after: Config) -> bool:
        """True if one configuration says other things of the folder than another."""
        if before.workflows != after.workflows and (
            assigned_workflow(run, before) != assigned_workflow(run, after)
        ):
            return True
        if before.guard.covers(run) != after.guard.covers(run):
            return True
        name = self.match.workflow.name if self.match else ""
        return bool(name) and _parameters(before, name) != _parameters(after, name)


def _parameters(config: Config, workflow: str) -> object:
    """The parameters of a workflow, and where they stand."""
    places = {place: span for place, span in config.places.items() if place[0] == workflow}
    return dict(config.of(workflow)), places


def candidates_below(
    folders: Collection[str], known: DefinitionSet, files: Files, before: Iterable[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The folders that may be runs, each with the names of the definitions by which it may; () for those of
    `before` that may be none any more. Those at or below one of the `folders`, or without any everywhere.
    """
    before = list(before)
    for folder in folders or (None,):
        definitions_by_run = candidates(known, files, folder)
        seen = before if folder is None or known.may_have_runs(folder) else [folder]
        for run in (*seen, *sorted(definitions_by_run, key=natural)):
            if folder is None or f"{run}/".startswith((f"{folder}/", f"{folder}#")):
                yield run, tuple(definitions_by_run.get(run, ()))
    if folders:
        # Whether there is something else decides about those that are runs only without.
        gone = (run for run in before if known.is_of_fallback(run))
        for run in dict.fromkeys((*gone, *fallback_candidates(known, files))):
            yield run, tuple(candidates(known, files, run).get(run, ()))


def keys_of_candidates(known: DefinitionSet, files: RecordingFiles) -> set[str]:
    """The keys by which it is known that there may be other candidates than those that were found in files.

    A name that comes or goes is told apart from the folders whose names were looked through; of a file that
    may have runs in it the text counts.
    """
    names = {key if key.endswith("/") else f"{parent(key)}/" for key in files.used}
    return names | {key for key in files.used if not key.endswith("/") and known.files_with_runs((key,))}


def differing_runs(
    touched: Iterable[str], now: Mapping[str, CandidateRun], before: Mapping[str, Evaluation]
) -> tuple[dict[str, Evaluation], list[str]]:
    """(the evaluations of touched runs that are not as before, the runs of before that are none now)."""
    changed: dict[str, Evaluation] = {}
    removed: list[str] = []
    for run in sorted(touched, key=natural):
        candidate = now.get(run)
        evaluation = candidate.evaluation if candidate else None
        if evaluation is None:
            removed += [run] if run in before else []
        elif evaluation != before.get(run):
            changed[run] = evaluation
    return changed, removed
