"""The work that an override passes over: tasks that are still handed out, and failures that were out of turn.

Its record names them (design, section 6): a definition counts such tasks as no longer to be done, and the
failures as seen by the person who decided.
"""

from __future__ import annotations

from ..decision.task_turns import TaskTurns
from ..evaluation.trace import EvaluationTrace
from ..journal.branches import FAILURES

MOST_TASKS = 2000
"""Tasks that one override passes over by name; of more it passes over none."""


def tasks_passed_over(trace: EvaluationTrace, order: int) -> list[str]:
    """The ids of the tasks that phases before one of that order still hand out."""
    turns, phases = TaskTurns(trace.facts), trace.facts.workflow.phases.values()
    tasks = dict.fromkeys(t for phase in phases if phase.order < order for t in turns.tasks_of(phase))
    return [*tasks] if len(tasks) <= MOST_TASKS else []


def failures_passed_over(trace: EvaluationTrace, order: int) -> list[dict[str, str]]:
    """[{path, digest}] of report files that fail a phase before one of that order, out of turn."""
    workflow, snapshot = trace.facts.workflow, trace.facts.snapshot
    late = {found.path for found in trace.evaluation.findings if found.code == "report-out-of-turn"}
    failures = [each for each in snapshot.pending if each.path in late and each.report.outcome in FAILURES]
    paths = [each.path for each in failures if min(map(workflow.order, each.report.phases)) < order]
    return [{"path": path, "digest": snapshot.reader.read(path).digest} for path in paths]
