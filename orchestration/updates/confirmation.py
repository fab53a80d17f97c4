"""What a person sees before a decision: from the definition and the evaluation, never from an argument.

A caller names which question and which option; the words are those of the definition. Only the reason is
the person's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..evaluation.evaluate import Steps
from ..evaluation.questions import answerable
from ..result.values import Evaluation
from .commands import Act
from .propose import Proposal


def decision_lines(steps: Steps, act: Act, proposal: Proposal) -> tuple[str, ...]:
    """The sentences, one a line, plain text that is still to be displayed safely."""
    lines = _override(steps.evaluation, act, proposal) if act.kind == "override" else _answer(steps, act)
    return (*lines, f"reason: {act.why.strip()}", _afterwards(proposal.evaluation))


def _answer(steps: Steps, act: Act) -> Iterator[str]:
    evaluation = steps.evaluation
    question = next(one for one in answerable(steps) if one.id == act.question)
    yield f"{evaluation.run}: {question.question}"
    if question.tasks:
        yield f"tasks: {', '.join(question.tasks)}"
    option = next((one for one in question.options if one.id == act.option), None)
    yield f"answer: {act.option} ({option.text})" if option else f"answer: {act.option}"


def _override(evaluation: Evaluation, act: Act, proposal: Proposal) -> Iterator[str]:
    yield f"{evaluation.run} is in {evaluation.current_phase}: {evaluation.suggestion.reason}"
    yield f"move it to {act.step}"
    made = next(entry for entry in proposal.records if entry["kind"] == "override")
    waived = made["gates"] if isinstance(made["gates"], list) else []
    for gate in (gate for gate in evaluation.gates if gate.id in waived):
        yield f"gate {gate.id} is {gate.status} and will be waived: {gate.title}"
    lacking = made["phases"] if isinstance(made["phases"], list) else []
    for phase in (phase for phase in evaluation.phases if phase.id in lacking):
        files = ", ".join(f"{one.path} is {one.state}" for one in phase.produces if one.state != "valid")
        yield f"{phase.id} will go without what it owes: {files}"


def _afterwards(evaluation: Evaluation) -> str:
    """How the run would stand then."""
    step = evaluation.suggestion
    onward = f", next {step.suggested_next}" if step.suggested_next else ""
    return f"afterwards: {evaluation.status} in {evaluation.current_phase}{onward}: {step.reason}"
