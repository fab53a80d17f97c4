"""What a report, a decision or a redo writes: edits and one record, as values. Nothing is written here.

The order is that of the design (format, A.14): every expression of an effect is evaluated on the old state
before anything changes; then the run is evaluated with the record and the changed texts; then, where a
rule leads to another phase and the state file names the phase, that path and what the rule sets follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from .artifacts import Held
from .documents import read_json
from .evaluate import Steps, look
from .evaluation import Evaluation
from .files import Entry, File, Files, decode, join
from .findings import Edit, Problem
from .fold import turns
from .guards import Context, Expression, did_you_mean
from .journal import Record, record
from .json_edits import create, merge_values, set_values
from .permission import may
from .plans import Plan
from .snapshot import Snapshot, read_run
from .ways import edges, reached
from .workflow import Workflow, Write


class Refused(Exception):
    """What was asked for is not allowed or not possible now; the text says why."""


class Act(NamedTuple):
    """What somebody reports, decides or asks for. `kind`: start, report, answer, override or redo.

    `step` is a phase or action. `data` is what a report carries; `updates` in it under `stateUpdates`.
    """

    kind: str
    step: str = ""
    outcome: str = ""
    stage: str = ""
    tasks: tuple[str, ...] = ()
    next: str = ""
    message: str = ""
    data: Mapping[str, Any] = {}
    manual_criteria: tuple[str, ...] = ()
    question: str = ""
    scope: str = ""
    option: str = ""
    why: str = ""
    actor: str = ""
    channel: str = ""


@dataclass(frozen=True)
class Proposal:
    """What would be written, and how the run would stand then. `records` begin with reports that only lay as files."""

    edits: tuple[Edit, ...]
    records: tuple[Record, ...]
    evaluation: Evaluation


def propose(steps: Steps, act: Act, now: datetime) -> Proposal:
    """What an act writes. Raises Refused when it is not its turn, or names what the workflow does not have."""
    made = _record(steps, act)
    changes = _Changes(steps, made, act, now)
    changes.apply(_events(act))
    after = _again(steps, changes, made)
    changes.follow(after)
    final = _again(steps, changes, made) if changes.followed else after
    folded = steps.sight.records[len(steps.sight.snapshot.records) :]
    return Proposal(tuple(changes.edits()), (*folded, made), final.evaluation)


# ---- the record -------------------------------------------------------------------------------


def _record(steps: Steps, act: Act) -> Record:
    return _RECORDS[act.kind](steps, act)


def _reported(steps: Steps, act: Act) -> Record:
    workflow = steps.sight.workflow
    step = _in_turn(steps, act.step)
    phase = workflow.phases.get(step)
    known = phase.outcomes if phase else ("ok", "error")
    if act.outcome not in known:
        raise Refused(f"a report of {step} says one of {', '.join(known)}, not {act.outcome!r}")
    if act.next and act.next not in workflow.phases:
        raise Refused(f"unknown phase {act.next!r}{did_you_mean(act.next, list(workflow.phases))}")
    tasks = tuple(_task(steps, name) for name in act.tasks)
    stage = act.stage or _stage(steps, tasks) or steps.sight.stage
    return record(
        kind="report", phase=step, outcome=act.outcome, stage=stage, next=act.next, message=act.message,
        task=tasks[0] if len(tasks) == 1 else "", tasks=list(tasks), iteration=_iteration(steps),
        manual_criteria=list(act.manual_criteria), actor=act.actor, channel=act.channel,
    )  # fmt: skip


def _in_turn(steps: Steps, step: str) -> str:
    """The phase or action that `step` means. Raises Refused with the gate's reason when it is not its turn."""
    workflow = steps.sight.workflow
    name = workflow.action_aliases.get(step, step)
    permission = may(steps, name)
    if permission is None:
        names = [*workflow.phases, *workflow.actions]
        raise Refused(f"{workflow.name} has no phase or action {step!r}{did_you_mean(step, names)}")
    due = turns(steps.verdict, workflow)
    if name not in due:
        why = permission.because if not permission.allowed else "it is not its turn"
        gate = f" (gate {permission.gate})" if permission.gate else ""
        raise Refused(
            f"{name} may not be reported now: {why}{gate}; it is the turn of {', '.join(due) or 'a person'}"
        )
    return name


def _task(steps: Steps, name: str) -> str:
    from .schedule import resolve

    plan = steps.sight.snapshot.plan
    found = resolve(plan, name) if plan else None
    if found is None:
        raise Refused(
            f"{name!r} is no task of the plan{did_you_mean(name, list(plan.by_id)) if plan else ''}"
        )
    return found


def _stage(steps: Steps, tasks: Sequence[str]) -> str:
    plan = steps.sight.snapshot.plan
    return plan.by_id[tasks[0]].stage if plan and tasks else ""


def _iteration(steps: Steps) -> int:
    """The state's own iteration, which seed 001 counts passes by."""
    state = steps.sight.snapshot.state
    value = state.data.get("iteration") if state and state.valid else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _started(steps: Steps, act: Act) -> Record:
    step = _in_turn(steps, act.step)
    return record(
        kind="start",
        phase=step,
        stage=steps.sight.stage,
        iteration=_iteration(steps),
        actor=act.actor,
        channel=act.channel,
    )


def _answered(steps: Steps, act: Act) -> Record:
    question = next((q for q in steps.evaluation.questions if q.id == act.question), None)
    if question is None:
        names = [q.id for q in steps.evaluation.questions]
        raise Refused(f"the question {act.question!r} is not open{did_you_mean(act.question, names)}")
    options = [option.id for option in question.options]
    if options and act.option not in options:
        raise Refused(f"{act.question} has no option {act.option!r}; its options are {', '.join(options)}")
    if not act.why.strip():
        raise Refused("a decision needs a reason")
    name, _, scope = act.question.partition(":")
    declared = steps.sight.workflow.questions.get(name)
    if declared is None:
        name, scope = act.question, ""
    about = steps.sight.substance(declared.about) if declared and declared.about else ""
    if name == "definition":
        about = steps.sight.snapshot.definition
    return record(
        kind="answer", question=name, scope=scope, option=act.option, why=act.why, about=about,
        stage=steps.sight.stage, actor=act.actor, channel=act.channel,
    )  # fmt: skip


def _overridden(steps: Steps, act: Act) -> Record:
    workflow, current = steps.sight.workflow, steps.verdict.phase
    if current is None:
        raise Refused(f"nothing can be overridden: {steps.evaluation.status_reason}")
    if act.step not in workflow.phases:
        raise Refused(f"unknown phase {act.step!r}{did_you_mean(act.step, list(workflow.phases))}")
    if not act.why.strip():
        raise Refused("an override needs a reason")
    if act.step not in reached(edges(workflow), {current}):
        raise Refused(f"no rule leads from {current} to {act.step}, not even by way of others")
    order = workflow.order(act.step)
    gates = [gate.id for gate in steps.evaluation.gates if gate.shut and workflow.order(gate.after) < order]
    phases = [
        phase.id
        for phase in steps.evaluation.phases
        if phase.order < order and any(entry.state != "valid" for entry in phase.produces)
    ]
    return record(
        kind="override", phase=current, next=act.step, stage=steps.sight.stage, gates=gates, phases=phases,
        why=act.why, actor=act.actor, channel=act.channel,
    )  # fmt: skip


def _redone(steps: Steps, act: Act) -> Record:
    workflow, current = steps.sight.workflow, steps.verdict.phase
    if act.step not in workflow.phases:
        raise Refused(f"unknown phase {act.step!r}{did_you_mean(act.step, list(workflow.phases))}")
    if "redo" not in workflow.effects and f"{act.step}.redo" not in workflow.effects:
        raise Refused(f"{workflow.name} has no way to do a phase again by a command; its files decide")
    if current is not None and workflow.order(act.step) > workflow.order(current):
        raise Refused(f"{act.step} is ahead of {current}; what was not done cannot be done again")
    return record(
        kind="transition",
        phase=current or "",
        next=act.step,
        why=act.why,
        actor=act.actor,
        channel=act.channel,
    )


_RECORDS = {
    "report": _reported,
    "start": _started,
    "answer": _answered,
    "override": _overridden,
    "redo": _redone,
}


# ---- the changes ------------------------------------------------------------------------------


def _events(act: Act) -> tuple[str, ...]:
    """The names under which effects of an act are declared, the general ones first."""
    if act.kind == "report":
        return "always", act.outcome, f"{act.step}.{act.outcome}"
    if act.kind == "answer":
        name = act.question.partition(":")[0]
        return "always", f"answer.{name}", f"answer.{name}.{act.option}"
    return "always", act.kind, f"{act.step}.{act.kind}"


class _Changes:
    """The texts that an act changes, each from what it was when the run was looked at."""

    def __init__(self, steps: Steps, made: Record, act: Act, now: datetime):
        self.steps, self.snapshot = steps, steps.sight.snapshot
        self.workflow: Workflow = steps.sight.workflow
        self.texts: dict[str, str] = {}
        self.followed = False
        given = {
            "data": dict(act.data),
            "stateUpdates": act.data.get("stateUpdates", {}),
            "message": act.message,
        }
        self.report = {**made, **given, "seq": len(steps.sight.records) + 1}
        self.step, self.now = act.step, now

    def edits(self) -> Iterator[Edit]:
        for path, text in self.texts.items():
            before = self.snapshot.looked.files.read(path)
            yield Edit(path, before.digest if before.exists else None, text)

    def apply(self, events: Sequence[str]) -> None:
        writes = [write for event in events for write in self.workflow.effects.get(event, ())]
        context = self._context(self.workflow.effects_language, self.steps)
        values = [(write, self._path(context, write), self._value(context, write.value)) for write in writes]
        for write, path, value in values:
            self._write(write.kind, path, value)

    def follow(self, after: Steps) -> None:
        """What the winning rule sets, and the phase that it leads to."""
        rule, verdict = after.verdict.rule, after.verdict
        if rule is None or verdict.kind not in ("advance", "regress", "stop"):
            return
        context = self._context(self.workflow.language, after)
        values = {path: self._value(context, expression) for path, expression in rule.set.items()}
        stated = self._stated_phase()
        if verdict.to is not None and verdict.to != verdict.phase and stated:
            values[stated] = verdict.to
        for path, value in values.items():
            self._write("set", path, value)
        if verdict.kind == "stop":
            self.apply(("stop", f"{verdict.phase}.stop"))
        self.followed = bool(values) or verdict.kind == "stop"

    def _stated_phase(self) -> str:
        """The path in the state file that names the phase, where one does (seeds 001 and 002)."""
        source = self.workflow.phase
        if self.workflow.state is None or not isinstance(source, Expression):
            return ""
        path = source.source.strip()
        named = path.startswith("state.") and path[6:].replace(".", "").replace("_", "").isalnum()
        return path[6:] if named and not self.workflow.actions else ""

    def _context(self, language: Any, steps: Steps) -> Context:
        sight = steps.sight
        variables = {**sight.context.variables, "step": self.step, "now": self.now}

        def known(name: str) -> object:
            return self.report if name == "report" and language.edits else sight.fact(name)

        return Context(language, variables, known, sight.context.records, sight.context.tasks)

    def _path(self, context: Context, write: Write) -> str:
        path = context.text(write.path)
        if path is None:
            raise Refused(f"the place {write.path.source!r} that an effect writes to cannot be told")
        return path

    def _value(self, context: Context, expression: Expression) -> Any:
        outcome = context.value(expression)
        if outcome.error is not None:
            raise Refused(f"the effect {expression.source!r} has no value: {outcome.error}")
        return _ordered(outcome.value, expression.source)

    def _write(self, kind: str, path: str, value: Any) -> None:
        if kind != "set":
            self._file(kind, path, value)
        elif path in self.workflow.artifacts:
            self._plan(path, value)
        elif path == "*":
            self._state(lambda text: merge_values(text, value or {}))
        else:
            self._state(lambda text: set_values(text, [(tuple(path.split(".")), value)]))

    def _state(self, change: Any) -> None:
        state: Held | None = self.snapshot.state
        if state is None or not state.valid:
            raise Refused("the run has no state file that could be changed")
        self.texts[state.path] = change(self.texts.get(state.path, state.text))

    def _file(self, kind: str, path: str, value: Any) -> None:
        whole = join(self.snapshot.run, path)
        if whole is None:
            raise Refused(f"{path} leaves the root and is not written")
        before = self.snapshot.looked.files.read(whole)
        text = value if isinstance(value, str) else create(value)
        old = self.texts.get(whole, before.text or "")
        if kind == "append":
            line = value if isinstance(value, str) else _line(value)
            self.texts[whole] = old + ("" if not old or old.endswith("\n") else "\n") + line + "\n"
        elif kind == "create" and before.exists and not _same(before.text, text):
            raise Refused(f"{whole} exists with other content; it is not overwritten")
        elif not before.exists or before.text != text:
            self.texts[whole] = text

    def _plan(self, name: str, value: Any) -> None:
        held = self.snapshot.artifacts[name]
        if not isinstance(held.data, Plan):
            raise Refused(f"{name} is {held.state}; it cannot be changed")
        if not value:
            return
        text = self.texts.get(held.path, held.text)
        try:
            from .plans import master_plan_edits

            edit = getattr(master_plan_edits, str(value["edit"]))
            self.texts[held.path] = edit(text, *value["with"])
        except ValueError as error:
            raise Refused(str(error)) from None


def _ordered(value: Any, source: str) -> Any:
    """A value of CEL with the keys of its maps in the order in which the expression names them; CEL has none."""
    if isinstance(value, list):
        return [_ordered(item, source) for item in value]
    if not isinstance(value, dict):
        return value
    places = {key: source.find(f"'{key}'") for key in value}
    names = sorted(value, key=lambda key: (places[key] < 0, places[key], key))
    return {key: _ordered(value[key], source) for key in names}


def _line(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def _same(old: str | None, new: str) -> bool:
    return old is not None and (old == new or read_json(old).data == read_json(new).data is not None)


# ---- looking again ----------------------------------------------------------------------------


@dataclass
class Overlay:
    """Files with some texts changed, as they would be."""

    below: Files
    texts: Mapping[str, str]
    unlisted: Mapping[str, Problem] = field(default_factory=dict)

    def read(self, path: str) -> File:
        text = self.texts.get(path)
        if text is None:
            return self.below.read(path)
        # Newer than all there is: what is written last was made last.
        return decode(path, text.encode("utf-8"), 2**62)

    def list(self, folder: str) -> Mapping[str, Entry]:
        names = dict(self.below.list(folder))
        for path, text in self.texts.items():
            inside = path[len(folder) + 1 :] if folder else path
            if folder and not path.startswith(f"{folder}/"):
                continue
            name, _, deeper = inside.partition("/")
            if deeper:
                names.setdefault(name, Entry(name, "folder"))
            else:
                names[name] = Entry(name, "file", len(text.encode("utf-8")), 2**62)
        return names


def _again(steps: Steps, changes: _Changes, made: Record) -> Steps:
    """The run as it would stand with the record and the changed texts."""
    old: Snapshot = steps.sight.snapshot
    files = Overlay(old.looked.files, dict(changes.texts))
    fresh = read_run(old.workflow, files, old.run, root=old.root, config=old.config, claims=old.claims)
    records = (*steps.sight.records, made)
    snapshot = replace(fresh, records=records, journal=old.journal, places=old.places, pending=(), memory={})
    return look(old.workflow, snapshot)
