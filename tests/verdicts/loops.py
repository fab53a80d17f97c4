"""Loops and tunings in memory, begun as a command begins them."""

from __future__ import annotations

import json
from typing import Any

from tests.verdicts.runs import CONFIG, Run, built_in

LOOP = ".claude/state"
TUNING = ".workflow/.scratchpad/skill-tuning-t"


def loop(phase: str = "classify", *, config: str = "", **state: Any) -> Run:
    """A phase loop in its first pass, in a root with this configuration."""
    run = Run(built_in("phase-loop"), LOOP)
    start = {"seq": 1, "kind": "start", "workflow": "phase-loop", "at": run.now.isoformat()}
    made = {
        "version": "2.0", "iteration": 1, "phase": phase, "status": "running", "consecutivePasses": 0,
        "workQueue": [], "gates": {}, "history": [],
    }  # fmt: skip
    run.write(".phasekeeper/journal.jsonl", f"{json.dumps(start)}\n")
    if config:
        run.write(f"/{CONFIG}", config)
    return run.write("loop.state.json", {**made, **state})


def tuned(*, config: str = "", **state: Any) -> Run:
    """A tuning in its first iteration whose requirements are analysed."""
    made = {"status": "running", "target_skill": {"name": "s"}, "diagnosis": {}, "focus_areas": ["context"]}
    done = {"completed_actions": ["action-init", "action-analyze-requirements"]}
    run = Run(built_in("skill-tuning"), TUNING)
    if config:
        run.write(f"/{CONFIG}", config)
    return run.write("state.json", {**made, **done, **state})
