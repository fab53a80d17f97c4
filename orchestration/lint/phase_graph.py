"""Where a workflow's rules lead: its phases as a graph, and what is wrong with it as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from ..definition.model import Workflow
from ..definition.phase_edges import edges, targets_of
from ..expressions.language import Expression
from ..expressions.syntax import Kind, walk
from ..findings import Severity
from ..graphs import reachable
from .expressions import Fault, behind, constant


def _all_ways(workflow: Workflow) -> dict[str, set[str]]:
    """The edges, and where new files lead without a rule."""
    return {name: targets | set(workflow.phases[name].leads_to) for name, targets in edges(workflow).items()}


# ---- checks -----------------------------------------------------------------------------------


def unreachable(workflow: Workflow) -> Iterator[Fault]:
    """Phases nobody can get to. Where the state file names the phase and actions move it, any may be met."""
    if isinstance(workflow.phase, Expression) and workflow.actions:
        return
    starts = {next(iter(workflow.phases))}
    if not isinstance(workflow.phase, Expression):
        # The phases that evidence can name; a computed name may be any phase's.
        named = {constant(way.phase) for way in workflow.phase}
        starts |= workflow.phases.keys() if "" in named else named & workflow.phases.keys()
    met = reachable(_all_ways(workflow), starts)
    for phase in workflow.phases.values():
        if phase.id not in met and not phase.follow_up:
            yield Fault(phase.place, f"no rule leads to phase {phase.id!r}", Severity.WARNING)


def dead_ends(workflow: Workflow) -> Iterator[Fault]:
    """Phases without a way out. Where the phase is told from evidence, new evidence is the way out."""
    if not isinstance(workflow.phase, Expression):
        return
    for name, targets in edges(workflow).items():
        phase = workflow.phases[name]
        acts = any(rule.act or rule.stop or rule.ask or rule.wait for rule in workflow.rules_of(name))
        if not targets and not acts and not phase.terminal and not phase.leads_to:
            yield Fault(phase.place, f"phase {name!r} has no way out and is not terminal")


def endless(workflow: Workflow) -> Iterator[Fault]:
    """Ways back of a circle on which neither a limit, nor a person, nor a question bounds any step."""
    ways = {name: _unbounded_phases(workflow, name) for name in workflow.phases}
    for name, targets in ways.items():
        for target in sorted(targets, key=workflow.order):
            if workflow.order(target) < workflow.order(name) and name in reachable(ways, {target}):
                said = f"{name} leads back to {target} without a limit, a person or a question on the way"
                yield Fault(workflow.phases[name].place, said, Severity.WARNING)
    for phase, rule in workflow.all_rules():
        if phase and rule.when is None and constant(rule.to) == phase and phase in ways[phase]:
            said = f"{phase} leads to itself whatever happens, without a limit, a person or a question"
            yield Fault(rule.place, said, Severity.WARNING)


def _unbounded_phases(workflow: Workflow, name: str) -> set[str]:
    """The phases that follow one by rules before which none asks a person or reads a limit.

    Such a rule bounds those behind it, which are tried only when it does not fit.
    """
    phase, found = workflow.phases[name], set[str]()
    if phase.terminal or "person" in phase.agents:
        return found
    for rule in workflow.rules_of(name):
        limited = any(read.path[0] == "limits" for one in behind(workflow, rule.when) for read in one.reads)
        if limited or rule.ask or rule.wait == "person":
            return found
        found.update(targets_of(workflow, name, rule))
    return found | set(phase.leads_to)


def denials(workflow: Workflow) -> Iterator[Fault]:
    """Ways forward that only say what must not be (002: fail closed)."""
    guards: list[tuple[Expression, str]] = []
    for phase, rule in workflow.all_rules():
        target = workflow.phases.get(constant(rule.to))
        further = phase and target and target.order > workflow.order(phase) and not target.detour
        completes = rule.stop == "complete" or constant(rule.to) == "next"
        if rule.when and phase and (further or completes):
            guards.append((rule.when, "this way forward only denies a word, so anything unheard of opens it"))
    for criterion in (one for gate in workflow.gates.values() for one in gate.criteria):
        guards.append((criterion.when, "this criterion only denies a word, so anything unheard of meets it"))
    for guard, said in guards:
        if _only_denies(guard):
            yield Fault(guard, f"{said}: write what must hold")


def _only_denies(guard: Expression) -> bool:
    """True of a guard that is made of `x != 'word'` and `!(x in ['word'])` alone, by && or ||."""
    waiting = [guard.tree]
    for node in waiting:
        denied, signs = node, ("!=",)
        if node.kind is Kind.UNARY and node.text == "!":
            denied, signs = node.children[0], ("==", "in")
        if node.kind is Kind.LOGIC:
            waiting += node.children
            continue
        if denied.kind is not Kind.BINARY or denied.text not in signs:
            return False
        parts = list(walk(denied.children[1]))
        words = [part.value for part in parts if part.kind is Kind.LITERAL]
        if not words or any(part.kind not in (Kind.LIST, Kind.LITERAL) for part in parts):
            return False
        if not all(isinstance(word, str) and word for word in words):
            return False
    return True
