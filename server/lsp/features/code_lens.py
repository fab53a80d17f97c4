"""What stands above lines of a run's files: where the run is, what is next, who is asked."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.findings import Span
from ....orchestration.plans.model import Stage
from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ...terminal.run_views import next_words, status_word
from ..view.document_context import Scene

SHOW, DECIDE = "phasekeeper.show", "phasekeeper.decide"
_REASON = 120
_TASKS_SHOWN = 6


def lenses(scene: Scene) -> list[lsp.CodeLens]:
    """The lenses of a document of a run: its head on the first line, and one above each stage of a plan."""
    evaluation = scene.evaluation
    if evaluation is None:
        return []
    head = [_lens(scene, Span(0, 0, 0, 0), title, *command) for title, command in _head(evaluation)]
    plan = scene.plan()
    return head + [_stage(scene, evaluation, stage) for stage in (plan.stages if plan else ())]


def _head(e: Evaluation) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    """(title, (command, argument)) of what is said of the whole run."""
    here = {"root": e.root, "run": e.run}
    done = f", {e.progress.done} of {e.progress.total} done" if e.progress else ""
    yield f"{plain(e.current_phase or 'unknown phase', 60)}: {status_word(e.status)}{done}", (SHOW, here)
    yield f"next: {next_words(e.suggestion)} ({plain(e.suggestion.reason, _REASON)})", (SHOW, here)
    for gate in e.gates:
        if gate.in_force and gate.status == "failed":
            unmet = "; ".join(plain(c.text, 80) for c in gate.criteria if c.met is False)
            yield f"gate {plain(gate.id, 40)} is shut: {unmet}", (SHOW, here)
    for question in e.questions:
        said = plain(question.question, _REASON)
        yield f"{question.kind}: {said}", (DECIDE, {**here, "question": question.id})


def _stage(scene: Scene, evaluation: Evaluation, stage: Stage) -> lsp.CodeLens:
    ready = [task.number or task.id for task in stage.tasks if task.id in evaluation.suggestion.tasks]
    shown = ", ".join(plain(name, 40) for name in ready[:_TASKS_SHOWN])
    more = f" and {len(ready) - _TASKS_SHOWN} more" if len(ready) > _TASKS_SHOWN else ""
    work = f"; work on {shown}{more}" if ready else ""
    title = f"{stage.done} of {stage.total} done{work}"
    return _lens(scene, stage.span, title, SHOW, {"root": evaluation.root, "run": evaluation.run})


def _lens(scene: Scene, span: Span, title: str, command: str, argument: dict[str, str]) -> lsp.CodeLens:
    return lsp.CodeLens(scene.document.text.range(span), lsp.Command(title, command, arguments=[argument]))
