"""Seed 003: a table of priorities picks actions until the quality gate passes or nothing is left to do.

The state file is the tuning's own, and the model takes its word for what was done; it does not take what
loosens. An issue, its severity, a verdict of the quality gate and a counter are as a report left them that
may write them, until a person or a commit says otherwise. What ends the tuning is the gate, the limit of its
iterations, a person, or that nothing severe is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.exploration import Model
from tests.verdicts.models.json_state import JOURNAL, records_of, setting, state_of
from tests.verdicts.runs import Run, built_in

FILE = "state.json"
AT = ".workflow/.scratchpad/skill-tuning-x"
GATES, SEVERITIES = ("fail", "review", "pass"), ("critical", "high", "medium", "low", "none")
WORST = ("high", "critical")


@dataclass
class Truth:
    """What was known of the tuning at its last record, and what a person decided."""

    state: Mapping[str, Any]
    issues: dict[str, str] = field(default_factory=dict)
    gate: str = "fail"
    verified: int = 0
    limit: int = 0
    errors: int = 0
    most_errors: int = 3
    is_ended_by_person: bool = False
    seen: int = 0

    def observe(self, move: str, run: Run) -> None:
        before, self.state = self.state, state_of(run, FILE)
        records = records_of(run)
        if move == "edit: no journal":
            # What the commit has is remembered.
            self.seen = 0
            self.believe(state_of(run, FILE, head=True))
        elif move in ("person: commits", "person: accepts the state"):
            self.believe(self.state)
        if len(records) > self.seen:
            self.issues, self.gate, self.errors = self._known(before)
            self._learn(before, len(records) > self.seen + 1)
            for record in records[self.seen :]:
                self._take(record)
            self.seen = len(records)

    def believe(self, state: Mapping[str, Any]) -> None:
        """Take a state as it stands, since a person has it in the commit."""
        self.issues = {issue["id"]: issue["severity"] for issue in state["issues"]}
        self.gate, self.errors = state["quality_gate"], state["error_count"]
        self.verified, self.limit = state["iteration_count"], state["max_iterations"]
        self.most_errors = state["max_errors"]

    def _known(self, state: Mapping[str, Any]) -> tuple[dict[str, str], str, int]:
        """Issues, gate and errors as they count beside a state: what it loosens is as it was before."""
        # Of a word that nobody knows, but a person accepted, nothing can be told: anything may follow.
        issues = dict(self.issues)
        for issue in state["issues"]:
            known, said = issues.get(issue["id"]), issue["severity"]
            if said not in SEVERITIES and known in SEVERITIES:
                # It holds the tuning up while it stands there, and is nothing once it is gone.
                continue
            issues[issue["id"]] = min(known, said, key=_rank) if known in SEVERITIES else said
        is_looser = self.gate in GATES and _place(state["quality_gate"]) not in range(_place(self.gate) + 1)
        gate = self.gate if is_looser else state["quality_gate"]
        return issues, gate, max(self.errors, state["error_count"])

    def _learn(self, before: Mapping[str, Any], is_series: bool) -> None:
        """Take what a command itself changed in the file."""
        old, new = before, self.state
        known = {issue["id"] for issue in new["issues"]}
        for issue in old["issues"]:
            if issue["id"] not in known:
                self.issues.pop(issue["id"], None)
        if is_series:
            # What was found on the way and fixed on the way stands neither before nor after.
            applied = new["applied_fixes"]
            passed = {each["fix_id"] for each in applied if each.get("verification_result") == "pass"}
            fixed = [fix["issue_ids"] for fix in new["proposed_fixes"] if fix["id"] in passed]
            for name in {each for names in fixed for each in names} - known:
                self.issues.pop(name, None)
        for issue in new["issues"]:
            if issue not in old["issues"]:
                self.issues[issue["id"]] = issue["severity"]
        # Of several actions in a row the last one's verdict counts, though it may be as it was.
        if old["quality_gate"] != new["quality_gate"] or is_series:
            self.gate = new["quality_gate"]

    def _take(self, record: Mapping[str, Any]) -> None:
        match record.get("kind"), record.get("phase"), record.get("outcome"):
            case "report", "action-verify", "ok":
                self.verified += 1
            case "report", _, "error":
                self.errors += 1
            case "answer", _, _ if record.get("option") in ("stop", "complete"):
                self.is_ended_by_person = True
            case "report", _, "exit":
                self.is_ended_by_person = True
            case _:
                pass

    def _open(self) -> str:
        """Why the tuning cannot be over; "" where it can."""
        issues, gate, _ = self._known(self.state)
        if gate == "pass" or self.verified >= self.limit or self.is_ended_by_person:
            return ""
        stated = {issue["id"]: issue["severity"] for issue in self.state["issues"]}
        both = (*issues.items(), *((name, said) for name, said in stated.items() if said not in SEVERITIES))
        severe = [name for name, severity in both if _rank(severity) <= _rank("high")]
        return f"issue {severe[0]} is severe and the quality gate did not pass" if severe else ""

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        gates = {gate.id: gate.status for gate in evaluation.gates}
        _, gate, errors = self._known(self.state)
        if gates.get("quality") == "passed" and gate != "pass":
            yield "gate quality passed without a report that says so"
        if evaluation.status == "complete" and (why := self._open()):
            yield f"complete although {why}"
        action = evaluation.suggestion.action
        if errors >= self.most_errors and action not in (None, "action-abort"):
            yield "the tuning goes on after too many errors"


def _rank(severity: str) -> int:
    """The place of a severity, the worst first; a word that nobody knows is the worst."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else 0


def _place(gate: str) -> int:
    return GATES.index(gate) if gate in GATES else -1


def _do(run: Run) -> None:
    """Carry the suggested action out, as its form says: issues are found, fixes are applied and verified."""
    state, action = state_of(run, FILE), str(run.evaluation.suggestion.action)
    updates: dict[str, Any] = {}
    if action == "action-init":
        about = {"target_skill": {"name": "s", "path": "p"}, "user_issue_description": "It forgets."}
        updates = {**about, "focus_areas": ["context", "memory"]}
    elif action == "action-analyze-requirements":
        updates = {"requirement_analysis": {"status": "completed", "coverage": {"status": "satisfied"}}}
    elif action == "action-diagnose-context" and not state["issues"]:
        found = {"id": "CTX-1", "severity": "high", "description": "x"}
        updates = {"diagnosis": {"context": {"status": "completed"}}, "issues": [found]}
    elif action.startswith("action-diagnose-"):
        kind = action.removeprefix("action-diagnose-")
        updates = {"diagnosis": {kind: {"status": "completed"}}, "issues": state["issues"]}
    elif action == "action-generate-report":
        updates = {"quality_gate": "review", "quality_score": 70}
    elif action == "action-propose-fixes":
        number = len(state["applied_fixes"]) + 1
        updates = {
            "proposed_fixes": [{"id": f"FIX-{number}", "issue_ids": ["CTX-1"]}],
            "pending_fixes": [*state["pending_fixes"], f"FIX-{number}"],
        }
    elif action == "action-apply-fix":
        fix, *left = state["pending_fixes"] or ["FIX-1"]
        applied = {"fix_id": fix, "verification_result": "pending"}
        updates = {"applied_fixes": [*state["applied_fixes"], applied], "pending_fixes": left}
    elif action == "action-verify":
        updates = _verdict(run, "pass", "pass", [])
    _deliver(run, action)
    run.report(action, "ok", data={"stateUpdates": updates, "files": ["skill.md"]})


def _deliver(run: Run, action: str) -> None:
    """Write the file that an action leaves."""
    kind = action.removeprefix("action-diagnose-")
    path = DELIVERED.get(action, f"diagnosis/{kind}-diagnosis.json" if kind != action else "")
    if path:
        run.write(path, f"Looked at all of it at {run.now:%H:%M}.\n")


def _verdict(run: Run, fix: str, gate: str, issues: list[Any]) -> dict[str, Any]:
    state = state_of(run, FILE)
    applied = [{**each, "verification_result": fix} for each in state["applied_fixes"]]
    return {
        "applied_fixes": applied, "issues": issues, "quality_gate": gate,
        "iteration_count": state["iteration_count"] + 1,
    }  # fmt: skip


def _do_all(run: Run, until: str = "") -> None:
    for _ in range(20):
        suggested = run.evaluation.suggestion
        if suggested.kind != "act" or suggested.action == until:
            return
        _do(run)


LIES: Mapping[str, Any] = {
    "status": "completed",
    "quality_gate": "pass",
    "max_iterations": 0,
    "iteration_count": 9,
    "error_count": -5,
    "max_errors": 99,
    "issues": [],
    "pending_fixes": [],
    "applied_fixes": [],
    "completed_actions": ["action-complete", "action-generate-report"],
    "diagnosis": {"context": {"status": "completed"}, "memory": {"status": "completed"}},
}
DELIVERED = {
    "action-analyze-requirements": "requirement-analysis.md",
    "action-gemini-analysis": "diagnosis/gemini-analysis-root_cause.md",
    "action-generate-report": "tuning-report.md",
    "action-propose-fixes": "fixes/fix-proposals.json",
    "action-apply-fix": "/skill.md",
    "action-verify": "fixes/applied-fixes.json",
    "action-complete": "tuning-summary.md",
}
ACTIONS = (
    "action-init", "action-analyze-requirements", "action-gemini-analysis", "action-diagnose-context",
    "action-diagnose-memory", "action-generate-report", "action-propose-fixes", "action-apply-fix",
    "action-verify", "action-complete", "action-abort",
)  # fmt: skip


def _report(action: str, outcome: str, updates: Mapping[str, Any] | None = None) -> Callable[[Run], object]:
    data = {} if updates is None else {"stateUpdates": updates}
    return lambda run: run.report(action, outcome, data=data)


def _start() -> Run:
    state: dict[str, Any] = {
        "status": "pending", "target_skill": {}, "diagnosis": {}, "completed_actions": [], "focus_areas": [],
        "issues": [], "proposed_fixes": [], "pending_fixes": [], "applied_fixes": [], "quality_gate": "fail",
        "iteration_count": 0, "max_iterations": 5, "error_count": 0, "max_errors": 3, "action_history": [],
    }  # fmt: skip
    return Run(built_in("skill-tuning"), AT).write(FILE, state)


def _far() -> Run:
    """A run whose context has a severe issue, before its report."""
    run = _start()
    _do_all(run, until="action-generate-report")
    return run.commit()


def _truth() -> Truth:
    run = _far()
    truth = Truth(state_of(run, FILE), seen=len(records_of(run)))
    truth.believe(truth.state)
    return truth


def _verify(fix: str, gate: str) -> Callable[[Run], object]:
    def report(run: Run) -> None:
        run.report(
            "action-verify",
            "ok",
            data={"stateUpdates": _verdict(run, fix, gate, state_of(run, FILE)["issues"])},
        )

    return report


def _severity(word: str) -> Callable[[Any], Any]:
    return lambda issues: [{**issue, "severity": word} for issue in issues]


_MOVES: dict[str, Callable[[Run], object]] = {
    "honest: the next action": _do,
    "honest: up to verify": lambda run: _do_all(run, "action-verify"),
    "honest: up to the end": lambda run: _do_all(run, "action-complete"),
    **{f"report: {action} ok": _report(action, "ok") for action in ACTIONS},
    **{f"report: {action} error": _report(action, "error") for action in ACTIONS[3:9]},
    **{f"lie: {action}": _report(action, "ok", LIES) for action in ACTIONS},
    "edit: all files of actions": lambda run: [_deliver(run, action) for action in ACTIONS],
    "report: the gate passes": _report("action-generate-report", "ok", {"quality_gate": "pass"}),
    "report: the gate is green": _report("action-generate-report", "ok", {"quality_gate": "green"}),
    "report: fixes failed": _verify("fail", "fail"),
    "report: fixes were green": _verify("green", "green"),
    "report: the user exits": lambda run: run.report("running", "exit"),
    "edit: completed": setting(FILE, status="completed"),
    "edit: running": setting(FILE, status="running"),
    "edit: action-complete done": setting(FILE, completed_actions=lambda done: [*done, "action-complete"]),
    "edit: report done": setting(FILE, completed_actions=lambda done: [*done, "action-generate-report"]),
    "edit: nothing done": setting(FILE, completed_actions=[]),
    "edit: the gate passes": setting(FILE, quality_gate="pass"),
    "edit: the gate is green": setting(FILE, quality_gate="green"),
    "edit: no iterations": setting(FILE, max_iterations=0),
    "edit: many iterations": setting(FILE, iteration_count=9),
    "edit: no errors": setting(FILE, error_count=0),
    "edit: more errors": setting(FILE, max_errors=99),
    "edit: no issues": setting(FILE, issues=[]),
    "edit: minor issues": setting(FILE, issues=_severity("low")),
    "edit: issues of a word that nobody knows": setting(FILE, issues=_severity("tiny")),
    "edit: no pending fixes": setting(FILE, pending_fixes=[]),
    "edit: no applied fixes": setting(FILE, applied_fixes=[]),
    "edit: fixes verified": setting(
        FILE, applied_fixes=lambda fixes: [{**fix, "verification_result": "pass"} for fix in fixes]
    ),
    "edit: all diagnosed": setting(FILE, diagnosis=LIES["diagnosis"]),
    "edit: no journal": lambda run: run.remove(JOURNAL),
    "edit: as it began": lambda run: run.write(FILE, _start().files[f"{AT}/{FILE}"]),
    "person: goes on": lambda run: run.answer(_asked(run), "again"),
    "person: leaves it": lambda run: run.answer(_asked(run), "complete"),
    "person: accepts the state": lambda run: run.answer("state", "accept"),
    "person: commits": lambda run: run.commit(),
}


def _asked(run: Run) -> str:
    return next((q.id for q in run.evaluation.questions if q.id.startswith("no_progress")), "no_progress")


MODEL = Model("skill-tuning", _far, _truth, _MOVES)
