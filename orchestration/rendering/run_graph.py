"""A run as a graph: phases with their states, the ways between them, gates with their criteria."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..definition.model import Workflow
from ..result.values import Evaluation, as_json
from .mermaid import phase_arrows


def run_graph(workflow: Workflow, evaluation: Evaluation) -> dict[str, Any]:
    """The JSON of the graph: `phases` in their order, `edges` {from, to, because}, `gates`."""
    whole = as_json(replace(evaluation, plan=None, notes=()))
    outcomes = {phase.id: list(phase.outcomes) for phase in workflow.phases.values()}
    return {
        "phases": [
            {"id": p.id, "title": p.title, "state": p.state, "outcomes": outcomes[p.id]}
            for p in evaluation.phases
        ],
        "edges": [
            {"from": start, "to": end, "because": because} for start, end, because in phase_arrows(workflow)
        ],
        "gates": whole["gates"],
    }
