"""A workflow, or a run of it, as a Mermaid state diagram."""

from __future__ import annotations

import re

from ..definition.model import Rule, Workflow
from ..definition.phase_graph import edges
from ..result.values import Evaluation
from ..sanitize import mermaid
from ..states import PhaseStatus, RunStatus

_STYLES = (
    "classDef current fill:#2563eb,color:#ffffff,stroke:#1e3a8a",
    "classDef done fill:#15803d,color:#ffffff,stroke:#14532d",
    "classDef shut stroke:#b91c1c,stroke-width:3px",
    "classDef detour stroke-dasharray:4 3",
)


def mermaid_diagram(workflow: Workflow, evaluation: Evaluation | None = None) -> str:
    """Mermaid text: phases as states, rules as arrows.

    With an evaluation the phases that are done, the current one and those with a shut gate are marked.
    """
    lines = ["stateDiagram-v2", "    direction LR"]
    lines += [f'    state "{_label(workflow, name)}" as {_id(name)}' for name in workflow.phases]
    lines.append(f"    [*] --> {_id(next(iter(workflow.phases)))}")
    lines += _arrows(workflow)
    lines += [
        f"    {_id(p.id)} --> [*]"
        for p in workflow.phases.values()
        if p.terminal or _completes(workflow, p.id)
    ]
    lines += [f"    {style}" for style in _STYLES]
    lines += _classes(workflow, evaluation)
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    return "p_" + re.sub(r"\W", "_", name)


def _label(workflow: Workflow, name: str) -> str:
    phase = workflow.phases[name]
    return mermaid(name if phase.title == name else f"{name} {phase.title}", 60)


def _arrows(workflow: Workflow) -> list[str]:
    return [
        f"    {_id(start)} --> {_id(end)}" + (f": {mermaid(because, 60)}" if because else "")
        for start, end, because in phase_arrows(workflow)
    ]


def phase_arrows(workflow: Workflow) -> list[tuple[str, str, str]]:
    """(phase, phase, why) for each way from one phase to another, with its first rule's reason."""
    found = []
    ways = edges(workflow)
    for name, phase in workflow.phases.items():
        rules = phase.rules + workflow.otherwise
        reasons = {target: _said(rule) for rule in reversed(phase.rules) for target in _exact(rule)}
        onward = {target for rule in rules if rule.to and rule.to.source == "next" for target in ways[name]}
        leads = reasons.keys() | _next_only(workflow, name, onward) | set(phase.leads_to)
        targets = (target for target in workflow.phases if target in leads)
        found += [(name, target, reasons.get(target, "")) for target in targets]
    return found


def _next_only(workflow: Workflow, name: str, onward: set[str]) -> set[str]:
    later = [p.id for p in workflow.phases.values() if p.order > workflow.order(name) and p.id in onward]
    return set(later[:1])


def _exact(rule: Rule) -> list[str]:
    return [rule.to.source] if rule.to and len(rule.to.parts) == 1 and rule.to.source != "next" else []


def _said(rule: Rule) -> str:
    return re.sub(r"\{[^}]*\}", "…", rule.because.source) if rule.because else ""


def _completes(workflow: Workflow, name: str) -> bool:
    return any(rule.stop == RunStatus.COMPLETE for rule in workflow.phases[name].rules)


def _classes(workflow: Workflow, evaluation: Evaluation | None) -> list[str]:
    lines = [f"    class {_id(p.id)} detour" for p in workflow.phases.values() if p.detour]
    if evaluation is None:
        return lines
    for phase in evaluation.phases:
        if phase.state in (PhaseStatus.CURRENT, PhaseStatus.DONE):
            lines.append(f"    class {_id(phase.id)} {phase.state}")
    lines += [f"    class {_id(gate.after)} shut" for gate in evaluation.gates if gate.shut]
    return lines
