"""Seed 001: ten phases in order; two passes in a row with all gates passed and an empty queue complete it.

The state file is the loop's own: what it says of gates and items is its author's word, and the model takes
it. It does not take what loosens: a failure, an item, a gate or a severity that is gone or less in an edit is
still there until a report that may say so, a person or a commit says otherwise. Passes are counted by the
evaluations that were reported, each with its gates run in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.exploration import Model
from tests.verdicts.models.json_state import JOURNAL, records_of, setting, state_of
from tests.verdicts.runs import CONFIG, Run, built_in

FILE = "loop.state.json"
AT = ".claude/state"
SETTINGS = ".claude/config.json"
ORDER = (
    "classify",
    "contextualize",
    "assess",
    "plan",
    "execute",
    "verify",
    "quality",
    "checkpoint",
    "evaluate",
)
CLOSED, GOOD = ("done", "cancelled"), ("passed", "skipped")


@dataclass
class Truth:
    """What the loop had to do at its last record, and the passes that it really made by then."""

    items: dict[str, dict[str, Any]]
    gates: dict[str, dict[str, Any]]
    passes: int = 0
    required: int = 2
    is_run: bool = False
    has_failed: bool = False
    resolved: str = ""
    is_moved: bool = False
    seen: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)

    def observe(self, move: str, run: Run) -> None:
        before, self.state = self.state, state_of(run, FILE)
        records = records_of(run)
        if move == "edit: no journal":
            # What the commit has is remembered. Of a failure nothing but the loop's own history tells.
            self.seen, self.has_failed = 0, False
            self._believe(state_of(run, FILE, head=True))
        elif move in ("person: commits", "person: accepts the state"):
            self._believe(self.state)
            # What is configured counts, once a person has seen it.
            configured = run.files.get(SETTINGS, "") + run.files.get(CONFIG, "")
            self.required = 1 if "1" in configured else 2
        if len(records) > self.seen:
            self.items, self.gates, self.passes = self._known(before)
            self._learn(before)
            for record in records[self.seen :]:
                self._take(record)
            self.seen = len(records)

    def _is_failed(self) -> bool:
        """True if a report or the loop's own history tells of a failure in this pass."""
        entries = (each for each in self.state["history"] if each.get("iteration") == self.state["iteration"])
        return self.has_failed or any(each.get("result") == "error" for each in entries)

    def _believe(self, state: Mapping[str, Any]) -> None:
        """Take a state as it stands, since a person has it in the commit."""
        self.items = {item["id"]: dict(item) for item in state["workQueue"]}
        self.gates = {name: dict(gate) for name, gate in state["gates"].items()}
        self.passes = state["consecutivePasses"]

    def _known(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Items, gates and passes as they count beside a state: what it loosens is as it was before."""
        items, gates = dict(self.items), dict(self.gates)
        for item in state["workQueue"]:
            known: dict[str, Any] = items.get(item["id"]) or item
            is_looser = item["status"] in _looser(known["status"], "cancelled")
            status = known["status"] if is_looser else item["status"]
            items[item["id"]] = {"priority": min(known["priority"], item["priority"]), "status": status}
        for name, gate in state["gates"].items():
            known: dict[str, Any] = gates.get(name) or gate
            # A word that nobody knows passes nothing while it stands there, and is nothing once it is gone.
            is_looser = gate["status"] in ("green", *_looser(known["status"], "skipped"))
            gates[name] = {**known, "status": known["status"] if is_looser else gate["status"]}
        return items, gates, min(self.passes, state["consecutivePasses"])

    def _learn(self, before: Mapping[str, Any]) -> None:
        """Take what a command itself changed in the file."""
        old = {item["id"]: item for item in before["workQueue"]}
        for item in self.state["workQueue"]:
            if item != old.get(item["id"]):
                self.items.setdefault(item["id"], dict(item))["status"] = item["status"]
        for name, gate in self.state["gates"].items():
            if gate != before["gates"].get(name):
                self.gates.setdefault(name, dict(gate))["status"] = gate["status"]

    def _take(self, record: Mapping[str, Any]) -> None:
        match record.get("kind"), record.get("phase"), record.get("outcome"):
            case "report", "evaluate", "ok":
                self.passes = self.passes + 1 if self._holds() else 0
                self.is_run = self.has_failed = self.is_moved = False
                self.resolved = ""
            case "report", _, "error":
                self.has_failed = True
            case "report", "quality", _:
                self.is_run = True
            case "report", "execute" | "verify" | "recover", _:
                self.is_run = False
            case "override", _, _:
                self.is_moved = True
            case "answer", _, _ if record.get("option") == "resolve":
                self.resolved = str(record["scope"])
            case _:
                pass

    def _unmet(self) -> Iterable[str]:
        """What is left to do by what is known, or by what the file says."""
        items, gates, _ = self._known(self.state)
        yield from self._left(items, gates)
        yield from self._left({item["id"]: item for item in self.state["workQueue"]}, self.state["gates"])

    def _left(self, queue: Mapping[str, Any], gates: Mapping[str, Any]) -> Iterable[str]:
        yield from (f"item {name} is open" for name, each in queue.items() if each["status"] not in CLOSED)
        yield from (f"gate {name} has not passed" for name, gate in gates.items() if _is_open(gate))
        if not (gates or self.gates):
            yield "there is no gate"

    def _holds(self) -> bool:
        """Whether the pass at hand counts: a word that nobody knows takes nothing from a gate that passed in
        it, and holds the loop back from its end while it stands there."""
        items, gates, _ = self._known(self.state)
        nothing_to_run = all(gate["status"] == "skipped" for gate in gates.values())
        is_run = self.is_run or self.is_moved or nothing_to_run
        return not [*self._left(items, gates)] and not self._is_failed() and is_run

    def _severe(self) -> list[str]:
        items = self._known(self.state)[0].items()
        return sorted(n for n, item in items if item["priority"] == "S0" and item["status"] not in CLOSED)

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        gates = {gate.id: gate.status for gate in evaluation.gates}
        unmet = [*self._unmet()]
        if evaluation.status == "complete":
            if unmet:
                yield f"complete although {unmet[0]}"
            if self.passes < self.required:
                yield "complete without enough passes in a row"
        if gates.get("iteration") == "passed" and unmet:
            yield f"gate iteration passed although {unmet[0]}"
        if gates.get("iteration") == "passed" and self._is_failed():
            yield "gate iteration passed although a phase failed in this pass"
        is_resolved = all(name in self.resolved for name in self._severe())
        if self._severe() and not is_resolved and evaluation.status == "active":
            yield "the loop goes on although something severe is open"


def _looser(status: str, loosest: str) -> tuple[str, ...]:
    """The words that an edit may not put in the place of a status; of an unknown one nothing can be told."""
    if status not in (
        "pending",
        "in-progress",
        "running",
        "passed",
        "done",
        "failed",
        "skipped",
        "cancelled",
    ):
        return ()
    if status == "failed":
        return ("pending", "in-progress", "running", "passed", "done", loosest)
    return () if status == loosest else (loosest,)


def _is_open(gate: Mapping[str, Any]) -> bool:
    return gate["status"] not in GOOD and gate.get("blocking", True)


def _walk(run: Run, until: str) -> None:
    """Report the phases that are in turn, up to one."""
    for _ in ORDER:
        phase = run.evaluation.suggestion.suggested_next
        if phase in (until, None):
            return
        _do(run, phase)
        if phase == until:
            return


def _do(run: Run, phase: str) -> None:
    """Report a phase with honest work: all items done, all gates run and passed."""
    state = state_of(run, FILE)
    data: dict[str, Any] = {}
    if phase == "execute":
        run.write(f"/src/{state['iteration']}.py", f"# {run.now}\n")
        items = [{**item, "status": "done"} for item in state["workQueue"]]
        data = {"files": [f"src/{state['iteration']}.py"], "stateUpdates": {"workQueue": items}}
    if phase == "quality":
        run.write(f"/{AT}/gates/pass-{state['iteration']}.md", f"All gates were run at {run.now}.\n")
        data = {"stateUpdates": {"gates": {name: {"status": "passed"} for name in state["gates"]}}}
    run.report(phase, "ok", data=data)


def _pass(run: Run) -> None:
    _walk(run, "evaluate")
    run.report("evaluate", "ok")


LIES: dict[str, Any] = {
    "status": "complete",
    "consecutivePasses": 9,
    "iteration": 9,
    "workQueue": [],
    "gates": {},
    "skip": {phase: {"skip": True, "reason": "done"} for phase in ORDER[:-1]},
    "history": [],
}


def _lie(phase: str, updates: Mapping[str, Any], **more: Any) -> Callable[[Run], object]:
    return lambda run: run.report(phase, "ok", data={"stateUpdates": updates}, **more)


def _queue(**fields: Any) -> Callable[[Any], list[dict[str, Any]]]:
    return lambda queue: [{**item, **fields} for item in queue]


def _gates(**fields: Any) -> Callable[[Any], dict[str, dict[str, Any]]]:
    return lambda gates: {name: {**gate, **fields} for name, gate in gates.items()}


def _update(phase: str, key: str, change: Callable[[Any], Any]) -> Callable[[Run], object]:
    return lambda run: _lie(phase, {key: change(state_of(run, FILE)[key])})(run)


SEVERE = {"id": "WQ-9", "title": "x", "priority": "S0", "status": "pending"}


def _start() -> Run:
    items = [{"id": "WQ-1", "title": "x", "priority": "S2", "status": "pending"}]
    gates = {"lint": {"status": "pending"}, "tests": {"status": "pending"}}
    state = {"version": "2.0", "sessionId": "s", "iteration": 1, "phase": "classify", "status": "running"}
    more = {"workQueue": items, "gates": gates, "history": [], "consecutivePasses": 0}
    return Run(built_in("phase-loop"), AT).write(FILE, {**state, **more}).commit()


def _truth() -> Truth:
    truth = Truth({}, {}, state=state_of(_start(), FILE))
    truth._believe(truth.state)
    return truth


def _restore(run: Run) -> None:
    run.write(FILE, _start().files[f"{AT}/{FILE}"])


_MOVES: dict[str, Callable[[Run], object]] = {
    "honest: a whole pass": _pass,
    **{
        f"honest: up to {phase}": lambda run, p=phase: _walk(run, p)
        for phase in ("execute", "quality", "evaluate")
    },
    "honest: execute": lambda run: _do(run, "execute"),
    "honest: quality": lambda run: _do(run, "quality"),
    **{
        f"report: {phase} ok": lambda run, p=phase: run.report(p, "ok", data={})
        for phase in (*ORDER, "recover")
    },
    "report: execute error": lambda run: run.report("execute", "error"),
    "report: quality error": lambda run: run.report("quality", "error"),
    "report: evaluate error": lambda run: run.report("evaluate", "error"),
    "report: quality fails": _update("quality", "gates", _gates(status="failed")),
    "report: execute fails": _update("execute", "workQueue", _queue(status="failed")),
    "report: a severe item": _update("assess", "workQueue", lambda queue: [*queue, SEVERE]),
    "report: classify, on to evaluate": _lie("classify", {}, next="evaluate"),
    "report: checkpoint, back to plan": _lie("checkpoint", {}, next="plan"),
    **{
        f"lie: {phase}": _lie(phase, LIES) for phase in ("classify", "plan", "execute", "quality", "evaluate")
    },
    "lie: items cancelled": _update("execute", "workQueue", _queue(status="cancelled")),
    "lie: items minor": _update("execute", "workQueue", _queue(priority="S3")),
    "lie: gates skipped": _update("quality", "gates", _gates(status="skipped")),
    "lie: gates that do not block": _update("quality", "gates", _gates(blocking=False, status="failed")),
    "edit: complete": setting(FILE, status="complete"),
    "edit: two passes": setting(FILE, consecutivePasses=2),
    "edit: another iteration": setting(FILE, iteration=lambda number: number + 1),
    "edit: phase evaluate": setting(FILE, phase="evaluate"),
    "edit: phase classify": setting(FILE, phase="classify"),
    "edit: no items": setting(FILE, workQueue=[]),
    "edit: items done": setting(FILE, workQueue=_queue(status="done")),
    "edit: items cancelled": setting(FILE, workQueue=_queue(status="cancelled")),
    "edit: items minor": setting(FILE, workQueue=_queue(priority="S3")),
    "edit: no gates": setting(FILE, gates={}),
    "edit: gates passed": setting(FILE, gates=_gates(status="passed")),
    "edit: gates green": setting(FILE, gates=_gates(status="green")),
    "edit: gates skipped": setting(FILE, gates=_gates(status="skipped")),
    "edit: gates that do not block": setting(FILE, gates=_gates(blocking=False)),
    "edit: no history": setting(FILE, history=[]),
    "edit: phases skipped": setting(FILE, skip=LIES["skip"]),
    "edit: one pass is enough": lambda run: run.write(
        f"/{SETTINGS}", {"loop": {"consecutivePassesRequired": 1}}
    ),
    "edit: one pass, configured": lambda run: run.write(
        f"/{CONFIG}", "parameters: {phase-loop: {passes_required: 1}}\n"
    ),
    "edit: no journal": lambda run: run.remove(JOURNAL),
    "edit: as it began": _restore,
    "person: lets it be resolved": lambda run: run.answer(_severe_question(run), "resolve"),
    "person: retries": lambda run: run.answer(_asked(run, "failed_items"), "retry"),
    "person: moves on to evaluate": lambda run: run.override("evaluate"),
    "person: accepts the state": lambda run: run.answer("state", "accept"),
    "person: commits": lambda run: run.commit(),
}


def _asked(run: Run, name: str) -> str:
    return next((q.id for q in run.evaluation.questions if q.id.startswith(name)), name)


def _severe_question(run: Run) -> str:
    return _asked(run, "severe")


MODEL = Model("phase-loop", _start, _truth, _MOVES)
