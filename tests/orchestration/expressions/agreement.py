"""Whether plain expressions are told as CEL tells them."""

from __future__ import annotations

from phasekeeper.orchestration.expressions.context import Context, Expression, Outcome


def by_cel(context: Context, expression: Expression) -> Outcome:
    """What CEL makes of an expression, whether it is plain or not."""
    return expression.run(context._activation, context)


def disagreements(context: Context) -> list[tuple[str, Outcome, Outcome]]:
    """(source, what was told, what CEL tells) of the expressions that were looked at and differ.

    Handles of sets of tasks are numbered as they are made, so that only what they stand for can be equal;
    texts are compared in any order.
    """
    told = [(expression, outcome) for expression, outcome, _ in list(context._seen.values())]
    pairs = [(each, outcome, by_cel(context, each)) for each, outcome in told]
    return [
        (each.source, outcome, cel)
        for each, outcome, cel in pairs
        if each.is_set != each.compiled.is_set or _told(context, outcome) != _told(context, cel)
    ]


def _told(context: Context, outcome: Outcome) -> object:
    value = outcome.value
    if isinstance(value, dict) and list(value) == ["set"]:
        return context._sets[value["set"]]
    # Keys of a map come in any order from CEL.
    is_text = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return Outcome(sorted(value)) if is_text else outcome
