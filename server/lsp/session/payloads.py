"""The JSON of the messages that are Phasekeeper's own (`lsp/__init__.py` lists them)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....orchestration.definition.model import Workflow
from ....orchestration.findings import Severity
from ....orchestration.rendering.mermaid import mermaid_diagram
from ....orchestration.rendering.run_graph import run_graph
from ....orchestration.result.values import Evaluation, as_json
from ...live.boards import RootBoard, RootChange
from ..view.pages import MOST_RUNS, RunCounts, counts_of, page_of, run_around
from ..view.titles import titles_of

VERSION = 1
_SUMMARY = (
    "root", "run", "title", "workflow", "definition", "revision", "currentPhase", "inferred", "overridden",
    "status", "statusReason", "progress", "unknownMarks", "suggestion", "questions", "escalations", "limits",
)  # fmt: skip
_MOST_TITLES = 20
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "information": Severity.INFO}


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """A run as a board shows it: part of its evaluation's JSON, gates in short, findings counted."""
    # What is left out is most of the work, and a board may hold thousands of runs.
    whole = as_json(replace(evaluation, plan=None, phases=(), notes=(), gates=(), findings=()))
    counts = Counter(finding.severity for finding in evaluation.findings if not finding.overridden)
    return {name: whole[name] for name in _SUMMARY} | {
        "gates": [
            {"id": g.id, "after": g.after, "title": g.title, "status": g.status, "inForce": g.in_force}
            for g in evaluation.gates
        ],
        "findingCounts": {name: counts[severity] for name, severity in _SEVERITIES.items()},
        **_titles(evaluation),
    }


def _titles(evaluation: Evaluation) -> dict[str, Any]:
    """The titles of what a summary names by ids: the phase, the next one, what is forbidden, what
    questions are about, the first tasks at hand."""
    titles = {phase.id: phase.title for phase in evaluation.phases}
    suggestion, questions = evaluation.suggestion, evaluation.questions
    tasks = {*suggestion.tasks[:_MOST_TITLES]}
    tasks.update(task for question in questions for task in question.tasks[:_MOST_TITLES])
    phases = {str(entry.get("phase")) for question in questions for entry in question.history}
    phases.update(entry.action for entry in suggestion.forbidden)
    return {
        "phaseTitle": titles.get(evaluation.current_phase or "", ""),
        "nextTitle": titles.get(suggestion.suggested_next or "", ""),
        **titles_of(evaluation, phases, tasks),
    }


def board_json(boards: Sequence[RootBoard]) -> dict[str, Any]:
    """All roots of a connection. Their runs are generators: a board may be megabytes, written in pieces."""
    roots = [
        {"root": str(board.root), "version": board.version, "runs": map(summary, board.runs.values())}
        for board in boards
    ]
    return {"version": VERSION, "roots": roots}


def page_json(board: RootBoard, limit: int, after: str = "") -> dict[str, Any]:
    """One page of a root. Raises ValueError for what is no cursor."""
    page = page_of(board, limit, after)
    return _root_json(board, page.runs) | {"next": page.next}


def around_json(board: RootBoard, path: str) -> dict[str, Any]:
    """The run around a path of a root, in the form of a page."""
    run = run_around(board, path)
    return _root_json(board, [run] if run else [])


def _root_json(board: RootBoard, runs: Sequence[Evaluation]) -> dict[str, Any]:
    counts = counts_of(board.runs.values())
    return {
        "root": str(board.root),
        "version": board.version,
        "runs": map(summary, runs),
        "counts": counts._asdict(),
    }


def exceeds_page(change: RootChange) -> bool:
    """Whether more runs differ than a page holds."""
    return len(change.changed) + len(change.removed) > MOST_RUNS


def changed_json(change: RootChange, counts: RunCounts, anew: bool = False) -> dict[str, Any]:
    """The differences at one version of a root, and the counts of all its runs.

    With `anew` it says only that there are many, so that a client that reads pages asks for the first one.
    """
    return {
        "root": str(change.root),
        "version": change.version,
        "changed": [] if anew else map(summary, change.changed.values()),
        "removed": [] if anew else list(change.removed),
        "counts": counts._asdict(),
        "anew": anew,
    }


def merge_changes(before: RootChange, after: RootChange) -> RootChange:
    """Two changes of a root as one, at the version of the later one."""
    changed = {run: e for run, e in before.changed.items() if run not in after.removed}
    removed = (run for run in before.removed if run not in after.changed)
    return after._replace(
        changed={**changed, **after.changed},
        removed=tuple(dict.fromkeys((*removed, *after.removed))),
        findings={**before.findings, **after.findings},
    )


def graph_json(workflow: Workflow, evaluation: Evaluation) -> dict[str, Any]:
    """A run as a graph, and the same as Mermaid; `actions` are what is done inside phases and is none."""
    actions = [{"id": name, "title": action.title} for name, action in workflow.actions.items()]
    return {
        "mermaid": mermaid_diagram(workflow, evaluation),
        **run_graph(workflow, evaluation),
        "actions": actions,
    }
