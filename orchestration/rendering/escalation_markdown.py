"""Escalations as Markdown: the form of seed 004 ("Escalation Format"), which those of all workflows share.

All that files say goes through `sanitize.markdown`, so it can be put into an issue or a chat as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ..journal.branches import FAILURES
from ..result.values import Evaluation, LimitState, QuestionState
from ..sanitize import markdown

LIMIT = 400
"""Characters of one text from a file."""
SHOWN = 20
"""Failures shown, the newest; how many there were before them is told."""

_Entry = Mapping[str, Any]


class Failure(NamedTuple):
    """One line of the history: what failed, what was tried against it, and what came of that.

    `result` is the outcome of the next check, or of this one where none followed.
    """

    iteration: int
    failure: str
    fix: str
    result: str


def escalations_markdown(evaluation: Evaluation) -> str:
    """Every open escalation of a run, one below the other; "" when there is none."""
    texts = (escalation_markdown(evaluation, question) for question in evaluation.escalations)
    return "\n".join(texts)


def escalation_markdown(evaluation: Evaluation, question: QuestionState) -> str:
    """One escalation: where, which tasks, which iteration, the failures, their root cause, the options."""
    # The phases in which failures are analysed (seed 004: FAILURE_ANALYSIS).
    analyses = frozenset(phase.id for phase in evaluation.phases if "analysis" in phase.title.casefold())
    limit = _limit(evaluation.limits, question)
    reached = " (maximum reached)" if limit and limit.reached else ""
    reports = [entry for entry in question.history if str(entry.get("phase", "")) in analyses]
    unknown = f"No failure analysis is recorded. {markdown(evaluation.status_reason, LIMIT)}"
    lines = [
        "## Escalation Required",
        "",
        f"**Run**: {markdown(evaluation.run, LIMIT)}",
        f"**Phase**: {_phase(evaluation, question)}",
        f"**Tasks**: {', '.join(markdown(task) for task in question.tasks) or 'none named'}",
        *([f"**Iteration**: {limit.count}/{limit.max}{reached}"] if limit else []),
        f"**Question**: {markdown(question.id)}: {markdown(question.question, LIMIT)}",
        "",
        "### Failure History",
        *_history(failures(question.history, analyses)),
        "",
        "### Root Cause Analysis",
        markdown(_report_words(reports[-1]), LIMIT) if reports else unknown,
        "",
        "### Options",
        *(
            f"{number}. **{markdown(option.id)}**: {markdown(option.text, LIMIT)}"
            for number, option in enumerate(question.options, 1)
        ),
        "",
        "**User decision required to proceed.**",
    ]
    return "\n".join(lines) + "\n"


def _phase(evaluation: Evaluation, question: QuestionState) -> str:
    """The stage of the plan that is asked about, else the workflow's phase."""
    scope = question.id.partition(":")[2]
    stages = evaluation.plan.stages if evaluation.plan else ()
    stage = next((stage for stage in stages if stage.id == scope), None)
    current = evaluation.current_phase or "unknown"
    if stage is not None:
        return f"{markdown(stage.id)} ({markdown(stage.title)}), in {markdown(current)}"
    title = next((phase.title for phase in evaluation.phases if phase.id == current), "")
    return f"{markdown(current)} ({markdown(title)})" if title else markdown(current)


def _limit(limits: Sequence[LimitState], question: QuestionState) -> LimitState | None:
    """The limit of the question's name, else the only one that is reached."""
    counted = [limit for limit in limits if limit.count is not None and limit.max is not None]
    name = question.id.partition(":")[0]
    same = [limit for limit in counted if limit.id == name]
    candidates = same or [limit for limit in counted if limit.reached]
    return candidates[0] if len(candidates) == 1 else None


def failures(history: Sequence[_Entry], analyses: frozenset[str]) -> tuple[Failure, ...]:
    """The failures in a question's history, oldest first.

    What is checked is the phase that failed first; what others than the `analyses` report between two
    checks is the fix.
    """
    judged = next((entry.get("phase") for entry in history if _is_failure(entry)), None)
    checks = [number for number, entry in enumerate(history) if entry.get("phase") == judged]
    entries: list[Failure] = []
    for at, following in zip_longest(checks, checks[1:]):
        entry = history[at]
        if _is_failure(entry):
            result = entry if following is None else history[following]
            between = history[at + 1 : following]
            fixes = [_report_words(each) for each in between if str(each.get("phase", "")) not in analyses]
            number = entry.get("iteration")
            iteration = number if type(number) is int else len(entries) + 1
            tried = fixes[-1] if fixes else "none"
            entries.append(
                Failure(iteration, _report_words(entry), tried, str(result.get("outcome", "")).upper())
            )
    return tuple(entries)


def _is_failure(entry: _Entry) -> bool:
    return entry.get("outcome") in FAILURES


def _report_words(entry: _Entry) -> str:
    """The words of a report; without a sentence, which tasks or which file it is about."""
    tasks = entry.get("tasks")
    named = ", ".join(map(str, tasks)) if isinstance(tasks, list) else ""
    return str(entry.get("message") or named or entry.get("path") or "not described")


def _history(entries: Sequence[Failure]) -> Iterator[str]:
    if not entries:
        yield "No failure is recorded for this question."
        return
    if len(entries) > SHOWN:
        yield from (f"{len(entries) - SHOWN} earlier failures are in the run's history.", "")
    yield "| Iteration | Failure | Fix Attempted | Result |"
    yield "|-----------|---------|---------------|--------|"
    for each in entries[-SHOWN:]:
        cells = (markdown(each.failure, LIMIT), markdown(each.fix, LIMIT), markdown(each.result))
        yield f"| {each.iteration} | {' | '.join(cells)} |"
