"""Why a run stands where it stands: each rule and criterion looked at, in order, with the values seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .evaluate import Steps
from .evaluation import evidence_json
from .evidence import Witness
from .findings import Evidence
from .sight import Seen


@dataclass(frozen=True, slots=True)
class Looked:
    """One thing that was looked at. `result`: yes, no, error (its text in `error`) or a value.

    `decided` marks the rule that won.
    """

    where: str
    expression: str
    result: Any
    error: str | None
    about: str
    evidence: tuple[Evidence, ...]
    decided: bool


def explain(steps: Steps) -> tuple[Looked, ...]:
    """What was looked at, in the order of evaluation, each place once."""
    rule = steps.verdict.rule
    witness = Witness(steps.sight)
    out: dict[str, Looked] = {}
    for seen in steps.trace:
        if seen.where not in out:
            out[seen.where] = _looked(witness, seen, rule is not None and seen.where == rule.where)
    if rule is not None and rule.where not in out:
        out[rule.where] = Looked(rule.where, "", True, None, "always fits", (), True)
    return tuple(out.values())


def _looked(witness: Witness, seen: Seen, decided: bool) -> Looked:
    expression = seen.expression
    evidence = witness.of(expression) if expression else ()
    source = " ".join(expression.source.split()) if expression else ""
    value = seen.outcome.value
    shown = value if isinstance(value, (bool, int, float, str)) or value is None else None
    return Looked(seen.where, source, shown, seen.outcome.error, seen.about, evidence, decided)


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
        "evidence": [evidence_json(entry) for entry in looked.evidence],
    }
