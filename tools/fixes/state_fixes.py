"""Fixes of a run's own state file: the phase and the status that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...orchestration.definition.model import Workflow
from ...orchestration.expressions.language import Expression
from ...orchestration.formats.json_edits import set_values
from ...orchestration.formats.json_text import locate_json, read_json
from ...orchestration.lint.expressions import expressions
from ...orchestration.suggestions import nearest
from .fix import FixContext, QuickFix

# The words that a definition compares the status with, as it writes them.
_STATUS_IN = re.compile(r"\bstate\.status in \[([^\]]*)\]")


def set_known_phase(ctx: FixContext) -> Iterator[QuickFix]:
    """The phases that a recorded one may be: the nearest, else those of the workflow in their order."""
    workflow, evaluation = ctx.workflow, ctx.evaluation
    if workflow is None or evaluation is None:
        return
    close = nearest(evaluation.raw_phase or "", [*workflow.phases, *workflow.aliases])
    for name in dict.fromkeys([*close, *workflow.phases]):
        yield from _set_phase(ctx, name, f"Set the phase to {name}", name in close[:1])


def fix_inconsistent_state(ctx: FixContext) -> Iterator[QuickFix]:
    """A status that contradicts the rest, or a phase that is ahead of what earlier phases delivered.

    Where no `redo` command has a phase done again, the state file says which phase it is.
    """
    yield from set_status(ctx)
    if ctx.workflow is None or "redo" in ctx.workflow.effects:
        return
    for phase, said in ctx.finding.data.get("phases", {}).items():
        yield from _set_phase(ctx, phase, f"{said[:1].upper()}{said[1:]}: set the phase")


def set_status(ctx: FixContext) -> Iterator[QuickFix]:
    """A status that is no known word, or says complete too early: the words that it may be.

    `complete` claims the end and shows nothing, so it is offered only where it was misspelt.
    """
    workflow, data = ctx.workflow, read_json(ctx.text).data
    if workflow is None or workflow.state is None or not isinstance(data, dict):
        return
    usual = workflow.state.defaults.get("status")
    # The words that the definition's guards know as a status, in its order; none where it has no list.
    lists = (_STATUS_IN.search(expression.source) for expression in expressions(workflow))
    words = next((re.findall(r"\w+", match[1]) for match in lists if match), [])
    status = str(data.get("status", usual))
    if status not in words:
        close = nearest(status, words)
        words = dict.fromkeys([*close, *(word for word in words if word != "complete")])
        best = (close or [usual])[0]
    elif status == "complete" and "state.status" in ctx.finding.data.get("reads", ()):
        words, best = [usual] if isinstance(usual, str) else [], usual
    else:
        return
    for word in words:
        text = set_values(ctx.text, [(("status",), word)])
        yield QuickFix(f"Set the status to {word}", (ctx.edit(text),), preferred=word == best)


def _set_phase(ctx: FixContext, name: str, title: str, preferred: bool = False) -> Iterator[QuickFix]:
    """The fix that names a phase in the state file; none where no single value of it does."""
    path = phase_path(ctx.workflow) if ctx.workflow else None
    if path and isinstance(read_json(ctx.text).data, dict) and locate_json(ctx.text, path):
        yield QuickFix(title, (ctx.edit(set_values(ctx.text, [(path, name)])),), preferred=preferred)


def phase_path(workflow: Workflow) -> tuple[str, ...] | None:
    """The path of the value in the state file that names the phase; None where it is inferred."""
    if not isinstance(workflow.phase, Expression) or len(workflow.phase.reads) != 1:
        return None
    group, *path = workflow.phase.reads[0].path
    return tuple(path) if group == "state" and path else None
