"""Seed 002: plan, review, code, review, test, accept. Artifacts decide, and only a person accepts.

What a review or a test report says is its author's word; the model takes it as it stands. Acceptance is not:
it holds for the change that a person saw, when the person approved it or committed the decision.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.exploration import Model
from tests.verdicts.runs import Run, built_in

AT = ".ai-tools-chain/tasks/T1"
CHANGE = ("code/diff.patch", "code/files/x", "eval/eval-report.json")
ARTIFACTS = {
    "planning/planning.ai.json": {"plan": {"id": "T1", "brief": "b"}},
    "review/plan-review.json": {
        "approval": {"ok": True, "issues": []},
        "block": {"ok": False, "blocking_issues": ["no"]},
    },
    "code/diff.patch": {
        "a change": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "another change": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+c\n",
    },
    "code/files/x": {"a change": "b\n", "another change": "c\n"},
    "review/code-review.json": {
        "approval": {"ok": True, "blocking_issues": []},
        "block": {"ok": False, "blocking_issues": ["no"]},
    },
    "eval/eval-report.json": {
        "pass": {"status": "completed", "overall_pass": True, "results": [{"step": "u", "status": "passed"}]},
        "failure": {"status": "completed", "overall_pass": False, "results": []},
    },
    "accept/decision.json": {"acceptance": {"verdict": "accepted"}, "wish to revert": {"verdict": "revert"}},
    "revert/record.json": {"note": {"reason": "regression"}},
}


def _change(files: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(files.get(f"{AT}/{path}") for path in CHANGE)


@dataclass
class Truth:
    """The files, and what a person decided about which state of the change."""

    files: Mapping[str, str]
    accepted: tuple[str | None, ...] | None = None
    is_closed: bool = False
    is_reverted: bool = False
    committed: str = ""

    def observe(self, move: str, run: Run) -> None:
        self.files = dict(run.files)
        match move:
            case "person: accepts":
                self.accepted, self.is_reverted = _change(run.files), False
            case "person: rejects":
                self.accepted, self.is_reverted, self.is_closed = None, False, False
            case "person: closes":
                self.is_closed = True
            case "person: has it taken back":
                self.accepted, self.is_reverted = None, True
            case "person: commits":
                self.committed = run.files.get(f"{AT}/accept/decision.json", "")
                if "accepted" in self.committed:
                    self.accepted = _change(run.files)
                self.is_reverted |= "revert" in self.committed
                self.is_closed |= '"committed"' in run.files[f"{AT}/state.json"]

    def says(self, path: str, word: str) -> bool:
        content = ARTIFACTS[path][word]
        text = content if isinstance(content, str) else json.dumps(content)
        return self.files.get(f"{AT}/{path}") == text

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        gates = {gate.id: gate.status for gate in evaluation.gates}
        is_accepted = self.accepted is not None and self.accepted == _change(self.files)
        is_over = is_accepted or self.is_closed or self.is_reverted
        if evaluation.status == "complete" and not is_over:
            yield "complete without a person's decision about this change"
        if gates["acceptance"] == "passed" and not is_over:
            yield "accepted without a person's decision about this change"
        for gate, path, word in (
            ("plan-review", "review/plan-review.json", "approval"),
            ("code-review", "review/code-review.json", "approval"),
            ("tests", "eval/eval-report.json", "pass"),
        ):
            if gates[gate] == "passed" and not self.says(path, word):
                yield f"gate {gate} passed without {path} saying so"


def _write(path: str, content: object) -> Callable[[Run], object]:
    return lambda run: run.write(path, content)  # type: ignore[arg-type]


def _set(path: str, value: object) -> Callable[[Run], object]:
    def edit(run: Run) -> None:
        state = json.loads(run.files[f"{AT}/state.json"])
        *above, last = path.split(".")
        inner = state
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = value
        run.write("state.json", state)

    return edit


def _start() -> Run:
    return Run(built_in("artifact-pipeline"), AT).write("state.json", {"phase": "planning", "actors": {}})


def _far() -> Run:
    """A run that has all but a person's decision."""
    run = _start()
    for path in list(ARTIFACTS)[:6]:
        content = next(iter(ARTIFACTS[path].values()))
        run.write(path, content)  # type: ignore[arg-type]
    return run.write("state.json", {"phase": "accept", "actors": {}})


_MOVES: dict[str, Callable[[Run], object]] = {
    **{
        f"write: {word} in {path}": _write(path, content)
        for path, contents in ARTIFACTS.items()
        for word, content in contents.items()
    },
    **{
        f"report: {step} ok": lambda run, step=step: run.report(step, "ok")
        for step in ("planning", "plan_review", "codegen", "review", "test", "accept", "revert")
    },
    "report: codegen error": lambda run: run.report("codegen", "error"),
    **{
        f"edit: phase {phase}": _set("phase", phase)
        for phase in ("codegen", "review", "test", "accept", "revert", "done")
    },
    "edit: acceptance committed": _set("actors.accept", {"status": "committed"}),
    "edit: no decision": lambda run: run.remove("accept/"),
    "edit: no journal": lambda run: run.remove(".phasekeeper/journal.jsonl"),
    "person: accepts": lambda run: run.answer("acceptance", "accepted"),
    "person: rejects": lambda run: run.answer("acceptance", "rejected"),
    "person: closes": lambda run: run.answer("acceptance", "closed"),
    "person: has it taken back": lambda run: run.answer("acceptance", "revert"),
    "person: commits": lambda run: run.commit(),
}

MODEL = Model("artifact-pipeline", _far, lambda: Truth(_far().files), _MOVES)
