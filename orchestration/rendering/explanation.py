"""Why a run stands where it stands: each rule and criterion looked at, in order, with the values seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..decision.facts import Seen, Sight, short
from ..definition.model import Rule
from ..evaluation.evaluate import Steps
from ..evaluation.evidence import Witness
from ..expressions.context import Expression
from ..findings import Evidence
from ..result.values import evidence_json


@dataclass(frozen=True, slots=True)
class Looked:
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


def explain(steps: Steps) -> tuple[Looked, ...]:
    """What was looked at, in the order of evaluation, each place once."""
    rule, sight = steps.verdict.rule, steps.sight
    witness = Witness(sight)
    ways = _ways(sight)
    out: dict[str, Looked] = {}
    for seen in steps.trace:
        if seen.where not in out:
            about = seen.about or ways.get(seen.where, "")
            out[seen.where] = _looked(witness, seen, about, rule is not None and seen.where == rule.where)
    if rule is not None and rule.where not in out:
        about = f"{ways[rule.where]} (always fits)"
        out[rule.where] = Looked(rule.where, "", True, None, about, (), (), True)
    return tuple(out.values())


def _looked(witness: Witness, seen: Seen, about: str, decided: bool) -> Looked:
    expression = seen.expression
    evidence = witness.of(expression) if expression else ()
    named = _named(witness.sight, expression, evidence) if expression else ()
    source = " ".join(expression.source.split()) if expression else ""
    value = seen.outcome.value
    shown = value if isinstance(value, (bool, int, float, str)) or value is None else None
    return Looked(seen.where, source, shown, seen.outcome.error, about, named, evidence, decided)


def _named(sight: Sight, expression: Expression, told: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The values of the workflow's own names in an expression that the evidence does not tell."""
    said = {expression.source, *(entry.expression for entry in told)}
    out: list[Evidence] = []
    for path in expression.paths:
        name = ".".join(path)
        if name in said or sight.context.fact_in(path) not in sight.workflow.values:
            continue
        outcome = sight.context.seen(path)
        if outcome.error is None:
            out.append(Evidence(name, short(outcome.value), None, None))
    return tuple(dict.fromkeys(out))


def _ways(sight: Sight) -> dict[str, str]:
    """What each rule of the present phase leads to, and why; what each rule of the phase itself names."""
    rules = sight.workflow.rules_of(sight.phase) if sight.phase else ()
    out = {rule.where: _way(sight, rule) for rule in rules}
    if not isinstance(sight.workflow.phase, Expression):
        out |= {each.where: f"is {sight.text(each.phase)}" for each in sight.workflow.phase}
    return out


def _way(sight: Sight, rule: Rule) -> str:
    target = sight.text(rule.to)
    words = [
        f"do {sight.text(rule.act)}" if rule.act else "",
        f"to {'the next phase' if target == 'next' else target}" if rule.to else "",
        f"wait for a {rule.wait}" if rule.wait else "",
        f"end as {rule.stop}" if rule.stop else "",
        f"ask {rule.ask}" if rule.ask else "",
        f"warn of {rule.warn}" if rule.warn else "",
    ]
    because = sight.text(rule.because)
    return ", ".join(filter(None, words)) + (f": {because}" if because else "")


def as_json(steps: Steps) -> dict[str, Any]:
    """The explanation as data."""
    evaluation = steps.evaluation
    return {
        "run": evaluation.run,
        "workflow": evaluation.workflow,
        "revision": evaluation.revision,
        "currentPhase": evaluation.current_phase,
        "status": evaluation.status,
        "reason": evaluation.suggestion.reason,
        "looked": [_entry(looked) for looked in explain(steps)],
    }


def _entry(looked: Looked) -> Mapping[str, Any]:
    return {
        "where": looked.where,
        "expression": looked.expression,
        "result": looked.result,
        "error": looked.error,
        "about": looked.about,
        "decided": looked.decided,
        "named": {entry.expression: entry.value for entry in looked.named},
        "evidence": [evidence_json(entry) for entry in looked.evidence],
    }
