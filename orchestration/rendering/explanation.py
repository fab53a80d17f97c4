"""Explanation of where a run stands: each rule and criterion looked at, in order, with the values seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..decision.facts import RunFacts
from ..evaluation.check_summaries import CheckCollector
from ..evaluation.evidence import EvidenceCollector
from ..evaluation.trace import EvaluationTrace
from ..expressions.language import Expression
from ..findings import Evidence
from ..result.phrases import value_summary
from ..result.values import CheckSummary, Evaluation
from ..result.values import as_json as as_data
from ..states import Basis


@dataclass(frozen=True, slots=True)
class ExplanationEntry:
    """One thing that was looked at. `result`: yes, no, error (its text in `error`) or a value.

    `about` says of a rule what it leads to, of a criterion its text. `named` are the values of the names in
    the expression, `evidence` what those were computed from. `decided` marks the rule that won. `basis` is
    what a criterion rests on. `checks` are those that the expression reads.
    """

    where: str
    expression: str
    result: Any
    error: str | None
    about: str
    decided: bool
    named: tuple[Evidence, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    basis: Basis | None = None
    checks: tuple[CheckSummary, ...] = ()


def explain(trace: EvaluationTrace) -> tuple[ExplanationEntry, ...]:
    """All places looked at, in the order of evaluation, each once."""
    rule, facts = trace.decision.rule, trace.facts
    collector, ways = EvidenceCollector(facts), _ways(facts)
    gates = facts.workflow.gates.values()
    checks = {gate.id: CheckCollector(facts.facts_of_phase(gate.after)) for gate in gates}
    checks[""] = CheckCollector(facts)
    bases = {
        f"gates.{gate.id}.criteria[{number}]": criterion.basis
        for gate in trace.evaluation.gates
        for number, criterion in enumerate(gate.criteria)
    }
    entries: dict[str, ExplanationEntry] = {}
    for seen in trace.entries:
        if seen.where in entries:
            continue
        expression, value = seen.expression, seen.outcome.value
        evidence = collector.of(expression)
        entries[seen.where] = ExplanationEntry(
            where=seen.where,
            expression=" ".join(expression.source.split()) if expression else "",
            result=value if isinstance(value, (bool, int, float, str)) else None,
            error=seen.outcome.error,
            about=seen.about or ways.get(seen.where, ""),
            decided=rule is not None and seen.where == rule.where,
            named=_named_values(facts, expression, evidence) if expression else (),
            evidence=evidence,
            basis=bases.get(seen.where),
            checks=checks[_gate_of(seen.where)].of(expression),
        )
    if rule is not None and rule.where not in entries:
        about = f"{ways[rule.where]} (always fits)"
        entries[rule.where] = ExplanationEntry(rule.where, "", True, None, about, True)
    return tuple(entries.values())


def _gate_of(where: str) -> str:
    """The gate that a place is of, "" where it is of none."""
    group, _, rest = where.partition(".")
    return rest.rpartition(".")[0] if group == "gates" else ""


def _named_values(
    facts: RunFacts, expression: Expression, evidence: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    """The values of the workflow's own names in an expression that the evidence does not tell."""
    covered = {expression.source, *(entry.expression for entry in evidence)}
    out: list[Evidence] = []
    for path in expression.paths:
        name = ".".join(path)
        if name in covered or facts.context.fact_in(path) not in facts.workflow.values:
            continue
        outcome = facts.context.read_path(path)
        if outcome.error is None:
            out.append(Evidence(name, value_summary(outcome.value), None, None))
    return tuple(dict.fromkeys(out))


def _ways(facts: RunFacts) -> dict[str, str]:
    """The way that each rule of the present phase leads, and why; the phase that each rule of it names."""
    ways: dict[str, str] = {}
    for rule in facts.workflow.rules_of(facts.phase) if facts.phase else ():
        target, because = facts.text(rule.to), facts.text(rule.because)
        words = [
            f"do {facts.text(rule.act)}" if rule.act else "",
            f"to {'the next phase' if target == 'next' else target}" if rule.to else "",
            f"wait for a {rule.wait}" if rule.wait else "",
            f"end as {rule.stop}" if rule.stop else "",
            f"ask {rule.ask}" if rule.ask else "",
            f"warn of {rule.warn}" if rule.warn else "",
        ]
        ways[rule.where] = ", ".join(filter(None, words)) + (f": {because}" if because else "")
    if not isinstance(facts.workflow.phase, Expression):
        ways |= {each.where: f"is {facts.text(each.phase)}" for each in facts.workflow.phase}
    return ways


def as_json(evaluation: Evaluation, entries: Iterable[ExplanationEntry]) -> dict[str, Any]:
    """The explanation of an evaluation as data."""
    return {
        "run": evaluation.run,
        "workflow": evaluation.workflow,
        "revision": evaluation.revision,
        "currentPhase": evaluation.current_phase,
        "status": evaluation.status,
        "reason": evaluation.suggestion.reason,
        "looked": [
            as_data(entry) | {"named": {each.expression: each.value for each in entry.named}}
            for entry in entries
        ],
    }
