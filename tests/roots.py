"""Small roots on disk for the tests of the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
TASKS = ".ai-tools-chain/tasks"
CHECKED = """\
workflow: build
runs: {at: [runs/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
phase: state.phase
phases:
  code: {rules: [{when: "checks.tests.result == 'passed'", to: ship, because: built}]}
  ship: {terminal: complete}
gates:
  tested: {after: code, criteria: [{text: the tests pass, when: "checks.tests.result == 'passed'"}]}
  named: {after: code, criteria: [{text: it has a phase, when: state.phase != ''}]}
"""
"""A workflow of the name build, with a gate that rests on the check tests."""
T = TypeVar("T")


def needs(tool: str) -> str:
    """The path of a system tool. Without it the test is not run, which fails where all have to run."""
    found = shutil.which(tool)
    return found if found else not_run(tool)


def not_run(tool: str) -> NoReturn:
    said = f"not run: needs {tool}"
    if os.environ.get("REQUIRE_ALL"):
        pytest.fail(said)
    pytest.skip(said)


def run_to_end(parts: Generator[Any, Any, T]) -> T:
    """What a generator returns that does its work in parts."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            return end.value


def put(path: Path, content: str | dict[str, Any]) -> Path:
    """Write a text or JSON file, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def task(root: Path, name: str, ok: bool = True, **state: Any) -> Path:
    """A task of the artifact pipeline with a reviewed plan: it goes on to the code, or back to the plan."""
    folder = root / TASKS / name
    put(folder / "state.json", {"phase": "plan_review", **state})
    put(folder / "planning/planning.ai.json", {"id": name})
    put(folder / "review/plan-review.json", {"ok": ok})
    return folder


def loop(root: Path, **state: Any) -> Path:
    """A loop of ten phases; it awaits a person, unless its queue is given."""
    queue = [{"id": "WQ-1", "priority": "S0", "title": "broken", "status": "pending"}]
    start = {"version": "2.0", "phase": "plan", "status": "running", "iteration": 1, "gates": {}}
    put(root / ".claude/state/loop.state.json", {**start, "workQueue": queue, **state})
    return root / ".claude/state"


def choosing(root: Path, options: Mapping[str, str], asked: str = "Which one?") -> Path:
    """A run of a workflow of its own, which asks one question with these options."""
    rules = [{"when": f"answers.which == '{option}'", "stop": "complete"} for option in options]
    own = {
        "workflow": "choosing",
        "runs": {"at": ["own/*"], "marker": {"file": "state.json", "has": ["phase"]}},
        "state": {"file": "state.json"},
        "phase": "state.phase",
        "phases": {"pick": {"rules": [*rules, {"when": "answers.which == 'none'", "ask": "which"}]}},
        "questions": {"which": {"kind": "approval", "ask": asked, "options": dict(options)}},
    }
    put(root / ".phasekeeper/workflows/choosing.yaml", json.dumps(own))
    put(root / ".phasekeeper/config.yaml", "workflows: {own/*: choosing}\n")
    put(root / "own/T1/state.json", {"phase": "pick"})
    return root / "own/T1"


def plan(root: Path, name: str, tasks: int, done: int = 0) -> Path:
    """A plan with a task file for each task, fifty tasks a stage, adopted by configuration."""
    folder = root / ".orchestrator/tasks" / name
    lines = [f"# {name}", ""]
    for n in range(1, tasks + 1):
        if n % 50 == 1:
            lines += ["", f"## Phase {n // 50 + 1}: Part {n // 50 + 1}", "", *_HEAD]
        mark = "x" if n <= done else " "
        lines.append(f"| {n} | {name}-{n} | `{n:05}-step.md` | Step {n} | impl | [{mark}] |")
        put(folder / f"{n:05}-step.md", f"# {n}. Step\n")
    put(folder / "MASTER_PLAN.md", "\n".join(lines) + "\n")
    put(root / ".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\n")
    return folder


_HEAD = ("| Order | Task ID | File | Description | Type | Status |", "|---|---|---|---|---|---|")


def ssh_keys(folder: Path, *names: str) -> Path:
    """The folder, with an SSH key of each name."""
    for name in names:
        words = [needs("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    return folder
