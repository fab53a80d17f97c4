"""The ways between phases that the rules of a definition give."""

from __future__ import annotations

from collections.abc import Collection

from .model import Rule, Workflow


def edges(workflow: Workflow) -> dict[str, set[str]]:
    """phase -> the phases its rules may lead to."""
    return {
        name: {target for rule in workflow.rules_of(name) for target in targets_of(workflow, name, rule)}
        for name in workflow.phases
    }


def targets_of(workflow: Workflow, phase: str, rule: Rule) -> Collection[str]:
    """The phases that a rule may lead to from a phase; a template leads to any phase it may stand for."""
    if rule.to is None:
        return ()
    if rule.to.expressions:
        return {phase} if rule.to.source == "{phase}" else workflow.phases
    if rule.to.source != "next":
        return {rule.to.source} & workflow.phases.keys()
    later = [p for p in workflow.phases.values() if p.order > workflow.order(phase) and not p.detour]
    stops = next((i for i, p in enumerate(later) if p.skip is None), len(later))
    return [p.id for p in later[: stops + 1]]
