"""Roots of any size to measure on: plans of seed 004's kind with their task files."""

from __future__ import annotations

import os
from pathlib import Path

PER_STAGE = 25
REPORT = """\
# Task Complete

**Task File**: {0:02d}-task.md
**Status**: Complete

Changed src/part_{0}.py.
"""


def write_plan(root: Path, tasks: int, done: float = 0.4, feature: str = "big") -> Path:
    """A run with a plan of `tasks` tasks in stages of 25, the first `done` part of the stages finished."""
    run = root / ".orchestrator" / "tasks" / feature
    run.mkdir(parents=True)
    config = root / ".phasekeeper" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("parameters: {master-plan: {adoption: auto}}\n")
    stages = (tasks + PER_STAGE - 1) // PER_STAGE
    finished = int(stages * done)
    lines = [f"# {feature} - Master Plan", "", "**Status**: [~] In Progress", f"**Total Tasks**: {tasks}", ""]
    lines += [
        "## Progress Summary",
        "",
        "| Phase | Status | Tasks | Effort | Notes |",
        "|---|---|---|---|---|",
    ]
    for stage in range(1, stages + 1):
        count = min(PER_STAGE, tasks - (stage - 1) * PER_STAGE)
        lines.append(f"| Phase {stage}: Part {stage} | {_mark(stage, finished)} | {count} | 5h | part |")
    number = 0
    for stage in range(1, stages + 1):
        lines += ["", f"## Phase {stage}: Part {stage} (5h)", ""]
        lines += ["| Order | Task ID | File | Description | Type | Status |", "|---|---|---|---|---|---|"]
        for _ in range(min(PER_STAGE, tasks - number)):
            number += 1
            last = number % PER_STAGE == 0 or number == tasks
            file = f"{number:02d}-task.md"
            kind = "**test**" if last else "impl"
            lines.append(
                f"| {number} | {feature}-{number:02d} | `{file}` | Work {number} | {kind} "
                f"| {_mark(stage, finished)} |"
            )
            (run / file).write_text(_task(feature, number, stage))
    done_tasks = min(finished * PER_STAGE, tasks)
    lines += ["", f"**Progress**: {done_tasks}/{tasks} tasks complete ({done_tasks * 100 // tasks}%)", ""]
    (run / "MASTER_PLAN.md").write_text("\n".join(lines))
    return run


def write_report(root: Path, run: Path, number: int) -> None:
    """A report file of a task with what it brings, ten seconds after that of the task before."""
    changed, report = root / "src" / f"part_{number}.py", run / "reports" / f"{number:03}-4a.md"
    for path, text in ((changed, "x = 1\n"), (report, REPORT.format(number))):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        at = 1_750_000_000 + 10 * number
        os.utime(path, (at, at))


def _mark(stage: int, finished: int) -> str:
    return "[x]" if stage <= finished else "[ ]"


def _task(feature: str, number: int, stage: int) -> str:
    first = (stage - 1) * PER_STAGE + 1
    needs = f"{feature}-{number - 1:02d}" if number > first and number % 3 == 0 else ""
    return f"""# {number:02d}. Work {number}

## Meta
- **ID**: {feature}-{number:02d}
- **Feature**: {feature}
- **Phase**: {stage}
- **Depends On**: [{needs}]
- **Requires UX/DX Review**: false

## Objective
Do the work.

## Files to Change
| File | Action | Changes |
|---|---|---|
| `src/part_{number}.py` | modify | the work |

## Acceptance Criteria
- [ ] it works
"""
