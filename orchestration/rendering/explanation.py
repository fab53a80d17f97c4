"""Why a run stands where it stands: each rule and criterion looked at, in order, with the values seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..decision.facts import RunFacts, TraceEntry
from ..definition.model import Rule
from ..evaluation.evidence import EvidenceCollector
from ..evaluation.trace import EvaluationTrace
from ..expressions.language import Expression
from ..findings import Evidence
from ..result.phrases import value_summary
from ..result.values import evidence_json


@dataclass(frozen=True, slots=True)
class ExplanationEntry:
    """One thing that was looked at. `result`: yes, no, error (its text in `error`) or a value.

    `about` says of a rule what it leads to, of a criterion its text. `named` are the values of the names in
    the expression, `evidence` what those were computed from. `decided` marks the rule that won.
    """

    where: str
    expression: str
    result: Any
    error: str | None
    about: str
    named: tuple[Evidence, ...]
    evidence: tuple[Evidence, ...]
    decided: bool


def explain(trace: EvaluationTrace) -> tuple[ExplanationEntry, ...]:
    """What was looked at, in the order of evaluation, each place once."""
    rule, facts = trace.decision.rule, trace.facts
    witness = EvidenceCollector(facts)
    ways = _ways(facts)
    out: dict[str, ExplanationEntry] = {}
    for seen in trace.entries:
        if seen.where not in out:
            about = seen.about or ways.get(seen.where, "")
            out[seen.where] = _looked(witness, seen, about, rule is not None and seen.where == rule.where)
    if rule is not None and rule.where not in out:
        about = f"{ways[rule.where]} (always fits)"
        out[rule.where] = ExplanationEntry(rule.where, "", True, None, about, (), (), True)
    return tuple(out.values())


def _looked(witness: EvidenceCollector, seen: TraceEntry, about: str, decided: bool) -> ExplanationEntry:
    expression = seen.expression
    evidence = witness.of(expression) if expression else ()
    named = _named(witness.facts, expression, evidence) if expression else ()
    source = " ".join(expression.source.split()) if expression else ""
    value = seen.outcome.value
    shown = value if isinstance(value, (bool, int, float, str)) or value is None else None
    return ExplanationEntry(seen.where, source, shown, seen.outcome.error, about, named, evidence, decided)


def _named(facts: RunFacts, expression: Expression, told: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The values of the workflow's own names in an expression that the evidence does not tell."""
    said = {expression.source, *(entry.expression for entry in told)}
    out: list[Evidence] = []
    for path in expression.paths:
        name = ".".join(path)
        if name in said or facts.context.fact_in(path) not in facts.workflow.values:
            continue
        outcome = facts.context.seen(path)
        if outcome.error is None:
            out.append(Evidence(name, value_summary(outcome.value), None, None))
    return tuple(dict.fromkeys(out))


def _ways(facts: RunFacts) -> dict[str, str]:
    """What each rule of the present phase leads to, and why; what each rule of the phase itself names."""
    rules = facts.workflow.rules_of(facts.phase) if facts.phase else ()
    out = {rule.where: _way(facts, rule) for rule in rules}
    if not isinstance(facts.workflow.phase, Expression):
        out |= {each.where: f"is {facts.text(each.phase)}" for each in facts.workflow.phase}
    return out


def _way(facts: RunFacts, rule: Rule) -> str:
    target = facts.text(rule.to)
    words = [
        f"do {facts.text(rule.act)}" if rule.act else "",
        f"to {'the next phase' if target == 'next' else target}" if rule.to else "",
        f"wait for a {rule.wait}" if rule.wait else "",
        f"end as {rule.stop}" if rule.stop else "",
        f"ask {rule.ask}" if rule.ask else "",
        f"warn of {rule.warn}" if rule.warn else "",
    ]
    because = facts.text(rule.because)
    return ", ".join(filter(None, words)) + (f": {because}" if because else "")


def as_json(trace: EvaluationTrace) -> dict[str, Any]:
    """The explanation as data."""
    evaluation = trace.evaluation
    return {
        "run": evaluation.run,
        "workflow": evaluation.workflow,
        "revision": evaluation.revision,
        "currentPhase": evaluation.current_phase,
        "status": evaluation.status,
        "reason": evaluation.suggestion.reason,
        "looked": [_entry(reader) for reader in explain(trace)],
    }


def _entry(reader: ExplanationEntry) -> Mapping[str, Any]:
    return {
        "where": reader.where,
        "expression": reader.expression,
        "result": reader.result,
        "error": reader.error,
        "about": reader.about,
        "decided": reader.decided,
        "named": {entry.expression: entry.value for entry in reader.named},
        "evidence": [evidence_json(entry) for entry in reader.evidence],
    }
