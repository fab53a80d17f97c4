"""The phases of a workflow as a graph: where its rules may lead."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Rule, Workflow


def edges(workflow: Workflow) -> dict[str, set[str]]:
    """phase -> the phases its rules may lead to; a template leads to any phase it may stand for."""
    return {
        name: {target for rule in workflow.rules_of(name) for target in _leads(workflow, name, rule)}
        for name in workflow.phases
    }


def _leads(workflow: Workflow, phase: str, rule: Rule) -> Iterable[str]:
    if rule.to is None:
        return ()
    if rule.to.expressions:
        return workflow.phases
    if rule.to.source != "next":
        return {rule.to.source} & workflow.phases.keys()
    later = [p for p in workflow.phases.values() if p.order > workflow.order(phase) and not p.detour]
    stops = next((i for i, p in enumerate(later) if p.skip is None), len(later))
    return [p.id for p in later[: stops + 1]]
