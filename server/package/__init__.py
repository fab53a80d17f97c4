"""Phasekeeper: where each piece of work stands in its workflow, recomputed from files alone.

    import phasekeeper

    workflow = phasekeeper.load_workflow("artifact-pipeline")
    print(phasekeeper.steps(workflow))
    snapshot = phasekeeper.read_run("examples/.ai-tools-chain/tasks/late-fees")
    evaluation = phasekeeper.evaluate(snapshot)
    print(evaluation.suggestion.reason, phasekeeper.is_complete(evaluation))

The engine is imported when one of these names is first used, not by `import phasekeeper`.
"""

from __future__ import annotations

# Connectors come by here, and need no more than this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import (
        Evaluation,
        InvalidWorkflow,
        Snapshot,
        UnknownWorkflow,
        UsageError,
        Workflow,
        evaluate,
        is_complete,
        load_workflow,
        read_run,
        steps,
    )

__all__ = [
    "Evaluation",
    "InvalidWorkflow",
    "Snapshot",
    "UnknownWorkflow",
    "UsageError",
    "Workflow",
    "evaluate",
    "is_complete",
    "load_workflow",
    "read_run",
    "steps",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
