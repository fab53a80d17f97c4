"""A workflow, or a run of it, as a Mermaid state diagram."""

from __future__ import annotations

import re

from ..definition.model import Phase, Rule, Workflow
from ..definition.phase_edges import edges
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
    phases, arrows = workflow.phases.values(), phase_arrows(workflow)
    ends = [p.id for p in phases if p.terminal or any(r.stop == RunStatus.COMPLETE for r in p.rules)]
    marks = [(phase.id, "detour") for phase in phases if phase.detour]
    if evaluation is not None:
        marked = (PhaseStatus.CURRENT, PhaseStatus.DONE)
        marks += [(phase.id, phase.state) for phase in evaluation.phases if phase.state in marked]
        marks += [(gate.after, "shut") for gate in evaluation.gates if gate.shut]
    lines = [
        "direction LR",
        *(f'state "{_label(phase)}" as {_id(phase.id)}' for phase in phases),
        f"[*] --> {_id(next(iter(workflow.phases)))}",
        *(f"{_id(a)} --> {_id(b)}" + (f": {mermaid(why, 60)}" if why else "") for a, b, why in arrows),
        *(f"{_id(name)} --> [*]" for name in ends),
        *_STYLES,
        *(f"class {_id(name)} {mark}" for name, mark in marks),
    ]
    return "stateDiagram-v2\n" + "".join(f"    {line}\n" for line in lines)


def _id(name: str) -> str:
    return "p_" + re.sub(r"\W", "_", name)


def _label(phase: Phase) -> str:
    return mermaid(phase.id if phase.title == phase.id else f"{phase.id} {phase.title}", 60)


def phase_arrows(workflow: Workflow) -> list[tuple[str, str, str]]:
    """(phase, phase, why) for each way from one phase to another, with its first rule's reason."""
    arrows: list[tuple[str, str, str]] = []
    ways = edges(workflow)
    for name, phase in workflow.phases.items():
        rules = phase.rules + workflow.otherwise
        reasons = {target: rule.because for rule in reversed(phase.rules) for target in _exact(rule)}
        onward = {target for rule in rules if rule.to and rule.to.source == "next" for target in ways[name]}
        later = [p.id for p in workflow.phases.values() if p.order > phase.order and p.id in onward]
        leads = {*reasons, *later[:1], *phase.leads_to}
        for target in (target for target in workflow.phases if target in leads):
            because = reasons.get(target)
            text = _without_values(because.source) if because else ""
            arrows.append((name, target, text))
    return arrows


# "stage {stage.id}" is any stage; other values, known in a run alone, are named by what they are read from.
_NUMBERED, _NAMED, _COMPUTED = (
    re.compile(r) for r in (r"\b(\w+) \{\1\.id\}", r"\{([\w.]+)\}", r"\{[^{}]*\}")
)


def _without_values(template: str) -> str:
    """A reason as it reads before its values are known: "a person lets the stage be tried again"."""
    text = _NAMED.sub(
        lambda match: f"({match[1].replace('_', ' ').replace('.', ' ')})", _NUMBERED.sub(r"the \1", template)
    )
    text = re.sub(r"(?<=\w)\(", " (", _COMPUTED.sub("(…)", text))
    # Of a reason that is one value all that could be said is its name in the definition.
    return "" if re.fullmatch(r"\([^()]*\)", text) else text


def _exact(rule: Rule) -> list[str]:
    return [rule.to.source] if rule.to and len(rule.to.parts) == 1 and rule.to.source != "next" else []
