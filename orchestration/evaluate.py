"""`evaluate(workflow, snapshot) -> Evaluation`: the one function that every surface calls.

Pure: the same definition and the same files give the same answer, with or without a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .evaluation import (
    CriterionState,
    Definition,
    Evaluation,
    Forbidden,
    GateState,
    LimitState,
    NoteText,
    Option,
    PhaseState,
    Produce,
    Produced,
    Progress,
    QuestionState,
    Suggestion,
)
from .files import digest_of
from .evidence import Witness
from .findings import Finding, Problem, Severity, finding
from .fold import fold
from .guards import Outcome, did_you_mean
from .plans import Plan, Task
from .schedule import Board, Schedule, arrange, dependency_problems
from .sight import Seen, Sight
from .snapshot import DEFINITION, Snapshot
from .verdict import Override, Verdict, decide, granted, override_of
from .workflow import Phase, Question, Workflow


class Steps(NamedTuple):
    """How an answer came about: the evaluation, and everything that was looked at, in order."""

    evaluation: Evaluation
    trace: tuple[Seen, ...]
    sight: Sight
    verdict: Verdict


def evaluate(workflow: Workflow, snapshot: Snapshot) -> Evaluation:
    """All that can be said of the run. Never raises on what files hold.

    Seeds 000 (get_next_interaction), 001 (loop algorithm), 002 (suggestNextFromState), 003
    (selectNextAction) and 004 (transition conditions) are all this function over their definitions.
    """
    return look(workflow, snapshot).evaluation


def look(workflow: Workflow, snapshot: Snapshot) -> Steps:
    """Like `evaluate`, with what was looked at on the way."""
    records, report_findings = fold(snapshot)
    sight = Sight(workflow, snapshot, records)
    verdict = decide(sight)
    dressing = _Dressing(sight, verdict)
    evaluation = dressing.evaluation(report_findings)
    return Steps(evaluation, tuple(sight.trace), sight, verdict)


class _Dressing:
    """Turns a verdict into the evaluation that people and programs read."""

    def __init__(self, sight: Sight, verdict: Verdict):
        self.sight, self.verdict = sight, verdict
        self.workflow, self.snapshot = sight.workflow, sight.snapshot
        self.phase = self.workflow.phases.get(verdict.phase or "")
        self.schedule = Schedule()
        self.handed: Phase | None = None
        self.witness = Witness(sight)
        sight.next_step = verdict.act or verdict.to or ("complete" if verdict.status == "complete" else verdict.kind)

    def evaluation(self, report_findings: Sequence[Finding]) -> Evaluation:
        sight, verdict, snapshot = self.sight, self.verdict, self.snapshot
        target = self.workflow.phases.get(verdict.to or verdict.phase or "")
        self._hand_out(target)
        status, kind, reason, waiting = self._status()
        questions = self._questions()
        gates = tuple(self._with_evidence(gate) for gate in verdict.gates)
        suggestion = self._suggestion(kind, reason, waiting, target)
        limits = tuple(self._limit(name) for name in self.workflow.limits) if self.phase else ()
        phases = tuple(self._phase(phase) for phase in self.workflow.phases.values())
        board, progress, notes = self._board(), self._progress(), self._notes()
        self._general_findings()
        findings = self._ordered([*snapshot.findings, *report_findings, *sight.findings])
        return Evaluation(
            root=snapshot.root,
            run=snapshot.run,
            title=self._title(),
            workflow=self.workflow.name,
            definition=Definition(self.workflow.name, snapshot.definition),
            revision=self._revision(),
            current_phase=verdict.phase,
            raw_phase=verdict.raw,
            inferred=verdict.inferred,
            overridden=verdict.overridden,
            status=status,
            status_reason=reason,
            phases=phases,
            suggestion=suggestion,
            gates=gates,
            plan=board,
            progress=progress,
            limits=limits,
            questions=questions,
            claims=snapshot.claims,
            notes=notes,
            parameters=self._parameters(),
            findings=findings,
            reads=dict(snapshot.looked.reads),
        )

    def _revision(self) -> str:
        """16 hex digits over the definition, its parameters and everything that was read. No time is in it."""
        reads = sorted(self.snapshot.looked.reads.items())
        claims = sorted(f"{claim.task} {claim.actor} {claim.seq}" for claim in self.snapshot.claims)
        return digest_of("\n".join([self.snapshot.definition, *(f"{path}\0{state}" for path, state in reads), *claims]))

    def _title(self) -> str:
        plan = self.snapshot.plan
        if plan and plan.title:
            return plan.title
        state = self.snapshot.state
        named = state.data.get("title") or state.data.get("display_name") if state and state.valid else None
        return str(named) if isinstance(named, str) else self.snapshot.run.rsplit("/", 1)[-1] or self.workflow.title

    # ---- tasks

    def _hand_out(self, target: Phase | None) -> None:
        """What of the plan can be started in the phase at hand, and what the rest waits for."""
        plan = self.snapshot.plan
        if plan is None or target is None or target.tasks is None or self.verdict.kind in ("stop", "none"):
            return
        outcome = self.sight.context.items(target.tasks)
        self.sight.trace.append(Seen(f"phases.{target.id}.tasks", target.tasks, Outcome(None, outcome.error), "tasks"))
        items = outcome.value if isinstance(outcome.value, list) else []
        tasks = [plan.by_id[item["id"]] for item in items if isinstance(item, dict) and item.get("id") in plan.by_id]
        # What is handed out (again) is not finished, whatever was reported of it before.
        finished = frozenset(self._reported()) - {task.id for task in tasks}
        self.handed = target
        self.schedule = arrange(plan, tasks, self.snapshot.details, finished, self.snapshot.claims)

    def _reported(self) -> set[str]:
        phases = {phase.id for phase in self.workflow.phases.values() if phase.tasks is not None}
        named: set[str] = set()
        for entry in self.sight.records:
            if entry["kind"] == "report" and entry["phase"] in phases:
                named.add(str(entry["task"]))
                named.update(map(str, entry["tasks"] if isinstance(entry["tasks"], list) else ()))
        return named

    def _stuck(self) -> str:
        """Why none of the tasks that are left can start, or ""."""
        schedule, claims = self.schedule, self.snapshot.claims
        if self.handed is None or schedule.ready or not schedule.blocked or claims:
            return ""
        waits = "; ".join(f"{task} waits for {', '.join(why)}" for task, why in list(schedule.blocked.items())[:5])
        more = len(schedule.blocked) - 5
        return f"no task can start: {waits}" + (f"; and {more} more" if more > 0 else "")

    def _status(self) -> tuple[str, str, str, str | None]:
        verdict = self.verdict
        stuck = self._stuck() if verdict.kind in ("advance", "stay") and verdict.status == "active" else ""
        if stuck and verdict.to == (self.handed.id if self.handed else None):
            return "blocked", "wait", stuck, "person: the dependencies of the plan have to be mended"
        return verdict.status, verdict.kind, verdict.reason, verdict.waiting

    # ---- the suggestion

    def _suggestion(self, kind: str, reason: str, waiting: str | None, target: Phase | None) -> Suggestion:
        verdict = self.verdict
        named = kind in ("advance", "regress", "stay", "act")
        next_phase = target.id if named and target and verdict.to else None
        return Suggestion(
            kind=kind,
            suggested_next=(verdict.act if kind == "act" else next_phase),
            action=verdict.act,
            agents=self._agents(target) if named else (),
            reason=reason,
            evidence=self._evidence(),
            allowed=self._allowed(),
            forbidden=self._forbidden(),
            produce=self._produce(target) if named else (),
            tasks=self.schedule.ready if named else (),
            parallel=self.schedule.batches if named else (),
            waiting_for=waiting,
        )

    def _agents(self, target: Phase | None) -> tuple[str, ...]:
        verdict = self.verdict
        action = self.workflow.actions.get(verdict.act or "")
        if action and action.agents:
            return action.agents
        return target.agents if target else ()

    def _evidence(self) -> tuple:
        inferred = ()
        if not isinstance(self.workflow.phase, tuple) and self.phase and not self.verdict.guards:
            inferred = (self.workflow.phase,)
        return (*self.witness.of(*self.verdict.guards, *inferred), *self.verdict.extra)

    def _allowed(self) -> tuple[str, ...]:
        names = [self.verdict.to] if self.verdict.kind in ("advance", "regress", "stay") else []
        names += [self.verdict.act] if self.verdict.act else []
        for gate in self.verdict.gates:
            names += granted(gate, self.workflow)
        return tuple(dict.fromkeys(name for name in names if name))

    def _forbidden(self) -> tuple[Forbidden, ...]:
        """What gates in force forbid, and the later phases that would be a skip (seed 002, section 4)."""
        if self.phase is None or self.verdict.kind in ("stop", "none"):
            return ()
        said = [entry for gate in self.verdict.gates if gate.in_force for entry in gate.forbidden]
        named = {entry.action for entry in said} | set(self._allowed()) | {self.phase.id}
        ahead = [p for p in self.workflow.phases.values() if p.order > self.phase.order and not p.detour and p.id not in named]
        return (*said, *(Forbidden(phase.id, "phases are not skipped") for phase in ahead))

    def _produce(self, target: Phase | None) -> tuple[Produce, ...]:
        out = []
        for name in target.produces if target else ():
            artifact, held = self.workflow.artifacts[name], self.sight.held(name)
            if not held.valid and artifact.listed is None:
                out.append(Produce(held.path, artifact.schema or None, artifact.example or None))
        return tuple(out)

    # ---- parts

    def _phase(self, phase: Phase) -> PhaseState:
        produces = tuple(self._produced(name) for name in phase.produces) if self.phase else ()
        return PhaseState(phase.id, phase.title, phase.agents, phase.order, self._phase_state(phase, produces), produces, phase.checks)

    def _produced(self, name: str) -> Produced:
        held = self.sight.held(name)
        return Produced(name, held.path, held.state)

    def _phase_state(self, phase: Phase, produces: Sequence[Produced]) -> str:
        if self.phase is None:
            return "detour" if phase.detour else "ahead"
        if phase.id == self.phase.id:
            return "current"
        if phase.detour:
            return "detour"
        if phase.id in self.verdict.skipped or (phase.order < self.phase.order and phase.id in override_of(self.sight).phases):
            return "skipped"
        if phase.order < self.phase.order and phase.skip and self.sight.context.holds(phase.skip):
            return "skipped"
        if phase.order > self.phase.order or any(entry.state != "valid" for entry in produces):
            return "ahead"
        return "done"

    def _with_evidence(self, gate: GateState) -> GateState:
        if gate.status == "not-reached":
            return gate
        declared = next(g for g in self.workflow.gates if g.id == gate.id)
        pairs = zip(gate.criteria, declared.criteria, strict=True)
        criteria = tuple(CriterionState(c.text, c.met, self.witness.of(d.when)) for c, d in pairs)
        return replace(gate, criteria=criteria)

    def _limit(self, name: str) -> LimitState:
        def known(part: str) -> Any:
            return self.sight.context.known(f"limits.{name}.{part}").value

        count, most, reached = known("count"), known("max"), known("reached")
        if reached:
            message = f"{name}: {count} of {most}"
            self.sight.tell("iteration-limit", self.snapshot.plan_path if self.snapshot.plan else self._state_path(), message)
        return LimitState(name, count, most, reached)

    def _state_path(self) -> str:
        return self.snapshot.state.path if self.snapshot.state else self.snapshot.run

    def _progress(self) -> Progress | None:
        if self.workflow.progress:
            done, total = (self.sight.context.value(expression).value for expression in self.workflow.progress)
            return Progress(done, total) if isinstance(done, int) and isinstance(total, int) else None
        plan = self.snapshot.plan
        return Progress(sum(s["done"] for s in self.snapshot.parts.stages), len(plan.tasks)) if plan else None

    def _board(self) -> Board | None:
        plan = self.snapshot.plan
        if plan is None:
            return None
        skipped = self.workflow.skipped_stages
        ids = self.sight.context.value(skipped).value if skipped else []
        agents = next((phase.agents for phase in self.workflow.phases.values() if phase.tasks is not None), ())
        return Board(
            path=self.snapshot.plan_path,
            plan=plan,
            folder=self.snapshot.run,
            schedule=self.schedule,
            stage=self.sight.stage,
            phase=self.verdict.phase or "",
            agent=agents[0] if agents else None,
            reported=frozenset(self._reported()),
            skipped=frozenset(map(str, ids)) if isinstance(ids, list) else frozenset(),
            claims={claim.task: claim for claim in self.snapshot.claims},
            details=self.snapshot.details,
            known=frozenset(task.id for task in self._looked_at()),
        )

    def _looked_at(self) -> tuple[Task, ...]:
        """The tasks whose own files are part of the answer."""
        plan = self.snapshot.plan
        if plan is None:
            return ()
        at_hand = (task for stage in plan.stages if stage.id == self.sight.stage for task in stage.tasks)
        return self.snapshot.whole or tuple(at_hand)

    def _notes(self) -> tuple[NoteText, ...]:
        if self.phase is None:
            return ()
        notes = (note for note in self.workflow.notes if self.sight.holds(f"notes.{note.id}.when", note.when))
        return tuple(NoteText(note.id, note.title, self.sight.text(note.text)) for note in notes)

    def _parameters(self) -> dict[str, Any]:
        """Parameters whose value is not the default one."""
        values = {name: self.sight.context.known(f"parameters.{name}").value for name in self.workflow.parameters}
        return {name: value for name, value in values.items() if value != self.workflow.parameters[name].default}

    # ---- questions

    def _questions(self) -> tuple[QuestionState, ...]:
        asked = [self._question(self.workflow.questions[name]) for name in self.verdict.asked]
        if self.snapshot.definition_changed:
            asked.append(self._definition_question())
        if self.verdict.status == "waiting_human" and not self.verdict.asked and self.verdict.kind != "stay":
            phase = self.verdict.phase or ""
            asked.append(QuestionState(f"clarification:{phase}", "clarification", self.verdict.reason))
        return (*asked, *self._raised())

    def _question(self, question: Question) -> QuestionState:
        context = self.sight.context
        scope = str(context.value(question.scope).value or "") if question.scope else ""
        tasks = context.items(question.tasks).value if question.tasks else []
        history = context.value(question.history).value if question.history else []
        return QuestionState(
            id=f"{question.id}:{scope}" if scope else question.id,
            kind=question.kind,
            question=self.sight.text(question.ask),
            options=tuple(Option(name, text) for name, text in question.options.items()),
            tasks=tuple(_id_of(task) for task in tasks) if isinstance(tasks, list) else (),
            history=tuple(_history(entry) for entry in history if isinstance(entry, dict)) if isinstance(history, list) else (),
            since=self._since(),
        )

    def _since(self) -> str | None:
        newest = self.sight.records[-1]["at"] if self.sight.records else None
        return str(newest) if newest else None

    def _definition_question(self) -> QuestionState:
        said = f"The definition of {self.workflow.name}, or a parameter of it, changed while this run was under way."
        options = (Option("accept", "judge the run by the changed definition"),)
        self.sight.tell("definition-changed", self.snapshot.run, said)
        return QuestionState(DEFINITION, "approval", f"{said} May it judge the run?", options)

    def _raised(self) -> tuple[QuestionState, ...]:
        """Questions that an agent raised and nobody answered."""
        answered = {str(entry["question"]) for entry in self.sight.records if entry["kind"] == "answer"}
        options = (Option("continue", "go on"), Option("stop", "stop the run"))
        raised = ((f"raised:{e['seq']}", e) for e in self.sight.records if e["kind"] == "question")
        return tuple(
            QuestionState(name, "escalation", str(e["message"] or e["why"]), options, since=str(e["at"]) or None)
            for name, e in raised
            if name not in answered
        )

    # ---- findings

    def _general_findings(self) -> None:
        self._ahead()
        self._dependencies()
        known = self.workflow.parameters
        for name in self.snapshot.config.of(self.workflow.name):
            if name not in known:
                span = self.snapshot.config.places.get((self.workflow.name, name))
                message = f"{self.workflow.name} has no parameter {name!r}{did_you_mean(name, list(known))}"
                self.sight.tell("parameter-invalid", ".phasekeeper/config.yaml", message, span)

    def _ahead(self) -> None:
        """Artifacts of later phases that exist already: information, never a reason to skip (reference, seed 002, row 6)."""
        if self.phase is None or self.phase.terminal or self.phase.detour:
            return
        here = {n for p in self.workflow.phases.values() if p.order <= self.phase.order for n in p.produces}
        for phase in self.workflow.phases.values():
            for name in phase.produces if phase.order > self.phase.order and not phase.detour else ():
                held = self.sight.held(name)
                if held.exists and name not in here:
                    self.sight.tell("phase-ahead", held.path, f"{name} of phase {phase.id} exists, the run is in {self.phase.id}")

    def _dependencies(self) -> None:
        plan = self.snapshot.plan
        if plan is None:
            return
        tasks, memory = self._looked_at(), self.snapshot.memory
        if memory.get("tasks looked at") != tasks:
            memory["tasks looked at"], memory["task findings"] = tasks, _task_findings(plan, tasks, self.snapshot)
        self.sight.findings += memory["task findings"]

    def _ordered(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        over = override_of(self.sight)
        marked = [replace(f, overridden=True) if _is_overridden(f, over, self.verdict) else f for f in findings]
        order = list(Severity)
        unique = dict.fromkeys(marked)
        return tuple(sorted(unique, key=lambda f: (f.path, f.span or (0, 0, 0, 0), order.index(f.severity), f.code)))


def _task_findings(plan: Plan, tasks: Sequence[Task], snapshot: Snapshot) -> list[Finding]:
    """What is wrong with task files: their dependencies, and whatever their reader found."""

    def path(task: Task) -> str:
        return f"{snapshot.run}/{task.file}" if snapshot.run else task.file

    wrong = dependency_problems(plan, tasks, snapshot.details)
    found = [finding(p, path(task) if p.span else snapshot.plan_path) for task, p in wrong]
    return found + [finding(p, path(task)) for task in tasks for p in snapshot.details(task).problems]


def _is_overridden(found: Finding, over: Override, verdict: Verdict) -> bool:
    """Whether a person's override answers for a finding: what was missing in the phases it names."""
    codes = ("inconsistent-state", "artifact-missing", "artifact-stale", "artifact-invalid")
    return bool(over.phases) and found.code in codes and not verdict.lost


def _id_of(task: object) -> str:
    return str(task["id"]) if isinstance(task, dict) else str(task)


def _history(entry: dict) -> dict[str, Any]:
    kept = ("at", "phase", "stage", "iteration", "outcome", "message", "path", "tasks")
    return {name: entry[name] for name in kept if entry.get(name)}


# ---- questions about single steps


class Permission(NamedTuple):
    """Whether a step may be done now, and why."""

    step: str
    allowed: bool
    because: str
    gate: str | None = None


def may(steps: Steps, step: str) -> Permission | None:
    """Whether a phase or action may be done now (format, A.15, `check_action`); None when it is unknown."""
    workflow, evaluation, sight = steps.sight.workflow, steps.evaluation, steps.sight
    name = workflow.action_aliases.get(step, step)
    action = next((a for a in workflow.actions.values() if a.id == name or (a.id.endswith("*") and name.startswith(a.id[:-1]))), None)
    if name not in workflow.phases and action is None:
        return None
    if evaluation.status in ("invalid", "complete", "failed", "exited"):
        return Permission(name, False, f"the run is {evaluation.status}: {evaluation.status_reason}")
    forbidden = _forbidding(evaluation, name)
    if forbidden:
        return forbidden
    if evaluation.suggestion.kind == "escalate":
        return Permission(name, False, f"a person decides first: {evaluation.suggestion.reason}")
    if action is not None and name not in workflow.phases:
        met = sight.context.holds(action.when)
        return Permission(name, met, "its precondition holds" if met else f"the precondition of {action.id} does not hold")
    suggestion = evaluation.suggestion
    if name in (evaluation.current_phase, suggestion.suggested_next, *suggestion.allowed):
        why = suggestion.reason if name == suggestion.suggested_next else "it is the current phase" if name == evaluation.current_phase else "a gate in force allows it"
        return Permission(name, True, why)
    return Permission(name, False, "phases are not skipped")


def _forbidding(evaluation: Evaluation, name: str) -> Permission | None:
    for gate in evaluation.gates:
        if not gate.in_force:
            continue
        named = {entry.action: entry.because for entry in gate.forbidden}
        if name in named:
            return Permission(name, False, named[name], gate.id)
        if "*" in named and name not in gate.allowed and name not in (evaluation.current_phase, evaluation.suggestion.suggested_next):
            return Permission(name, False, named["*"], gate.id)
    return None


def completed(evaluation: Evaluation) -> bool:
    """Whether the run is complete; unknown, unreadable or missing evidence is never complete."""
    return evaluation.status == "complete"

