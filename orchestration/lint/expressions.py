"""What static checks find, and the expressions of a definition that they look through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..definition.model import Gate, Question, Rule, Workflow
from ..definition.reader import DefinitionPlace
from ..expressions.language import Expression, Template
from ..findings import NO_DATA, Severity


class Fault(NamedTuple):
    """Something a check found: at an expression (and an offset in it), or at a place."""

    at: Expression | DefinitionPlace
    message: str
    severity: Severity = Severity.ERROR
    offset: int = 0
    data: Mapping[str, Any] = NO_DATA


def expressions(workflow: Workflow) -> Iterator[Expression]:
    """Every expression of guards and templates; those of effects and of `set` have names of their own."""
    if isinstance(workflow.phase, Expression):
        yield workflow.phase
    else:
        for way in workflow.phase:
            yield from _all(way.when, way.phase, way.because)
    yield from workflow.values.values()
    for _, rule in workflow.all_rules():
        yield from _of_rule(rule)
    for phase in workflow.phases.values():
        yield from _all(phase.tasks, phase.attested, phase.skip, phase.skip_because)
    for gate in workflow.gates:
        yield from _of_gate(gate)
    for question in workflow.questions.values():
        yield from _of_question(question)
    for note in workflow.notes:
        yield from _all(note.when, note.text)
    yield from _all(*(part for limit in workflow.limits.values() for part in (limit.count, limit.max)))
    yield from _all(*(action.when for action in workflow.actions.values()))
    yield from _all(*(artifact.listed for artifact in workflow.artifacts.values()))
    yield from _all(*(parameter.source for parameter in workflow.parameters.values()))
    yield from _all(workflow.report_stage, workflow.skipped_stages, *(workflow.progress or ()))


def _of_rule(rule: Rule) -> Iterator[Expression]:
    yield from _all(rule.when, rule.because, rule.to, rule.act)


def _of_gate(gate: Gate) -> Iterator[Expression]:
    yield from _all(gate.when, gate.judged, *(criterion.when for criterion in gate.criteria))
    yield from _all(*gate.allowed, *(part for pair in gate.forbidden for part in pair))


def _of_question(question: Question) -> Iterator[Expression]:
    yield from _all(question.scope, question.tasks, question.history, question.ask)


def _all(*parts: Expression | Template | None) -> Iterator[Expression]:
    for part in parts:
        if isinstance(part, Template):
            yield from part.expressions
        elif part is not None:
            yield part


def constant(template: Template | None) -> str:
    """The text of a template without any expression, else ""."""
    return template.source if template and not template.expressions else ""


def behind(workflow: Workflow, *starts: Expression | None) -> Iterator[Expression]:
    """The expressions, and all that the facts in them are computed from, each once."""
    waiting = [start for start in starts if start is not None]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            for read in current.reads:
                waiting += _definitions(workflow, read.path)


def _definitions(workflow: Workflow, path: tuple[str, ...]) -> list[Expression]:
    head, name = path[0], path[1] if len(path) > 1 else ""
    if head in workflow.values:
        return [workflow.values[head]]
    if head == "limits" and name in workflow.limits:
        return [workflow.limits[name].count, workflow.limits[name].max]
    scope = workflow.questions[name].scope if head == "answers" and name in workflow.questions else None
    return [scope] if scope else []
