"""The findings of an evaluation: those that decide nothing, and all of them in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..decision.brings import Delivery, checks_behind
from ..decision.decision import Decision
from ..decision.facts import RunFacts, make_finding
from ..definition.model import Phase
from ..definition.root_config import PATH as CONFIGURATION
from ..expressions.language import Expression
from ..findings import NO_DATA, Finding, Severity, Span, finding
from ..plans.model import Task
from ..plans.schedule import dependency_problems
from ..result.values import LimitState
from ..snapshot.snapshot import RecordOrigin, Snapshot, definition_changed_text
from ..states import QuestionKind, RecordKind
from ..suggestions import did_you_mean, misspelling

# The codes of artifacts that are not as they have to be.
_LACKS = ("artifact-missing", "artifact-stale", "artifact-invalid", "artifact-unreadable")
_WHOLE_FILE = (0, 0, 0, 0)
MOST_OF_A_CODE = 500
"""So many findings of one code are told of a run; an editor shows no more of a file either."""


def advisory_findings(
    facts: RunFacts, phase: Phase | None, tasks: Sequence[Task], limits: Iterable[LimitState]
) -> Iterator[Finding]:
    """Artifacts that are there too early, dependencies of tasks, limits reached, unknown parameters.

    `phase` is the current one; `tasks` are those whose own files are part of the answer.
    """
    workflow, snapshot, config = facts.workflow, facts.snapshot, facts.snapshot.config
    if snapshot.definition_changed:
        yield make_finding("definition-changed", snapshot.place.itself, definition_changed_text(workflow))
    if snapshot.definition_upgraded:
        message = f"the run began under {workflow.name} as an earlier release had it; what was recorded stays"
        yield make_finding("definition-upgraded", snapshot.place.itself, message)
    yield from _unknown_checks(facts)
    if snapshot.state and (ignored := _ignored_updates(facts)):
        yield make_finding("updates-ignored", snapshot.state.path, ignored)
    for limit in limits:
        if limit.reached:
            path, span = _counter_place(facts, workflow.limits[limit.id].count)
            yield make_finding("iteration-limit", path, f"{limit.id}: {limit.count} of {limit.max}", span)
    if phase is not None and not phase.terminal and not phase.detour:
        yield from _phases_ahead(facts, phase)
    if snapshot.plan is not None:
        yield from _dependency_findings(snapshot, tasks)
        yield from _changed_after_approval(facts)
        prefix = f"{snapshot.folder}/" if snapshot.folder else ""
        for task, detail in zip(tasks, snapshot.details_of(tasks), strict=True):
            if detail.problems:
                yield from (finding(problem, prefix + task.file) for problem in detail.problems)
    for name in config.of(workflow.name):
        if name not in workflow.parameters:
            known = list(workflow.parameters)
            message = f"{workflow.name} has no parameter {name!r}{did_you_mean(name, known)}"
            place, data = config.places.get((workflow.name, name)), misspelling(name, known)
            yield make_finding("parameter-invalid", CONFIGURATION, message, place, data=data)


def _dependency_findings(snapshot: Snapshot, tasks: Sequence[Task]) -> list[Finding]:
    """Faults in ids and dependencies of tasks; found once for a plan and the files of its tasks."""
    plan, prefix = snapshot.plan, f"{snapshot.folder}/" if snapshot.folder else ""

    def find() -> list[Finding]:
        found = dependency_problems(plan, tasks, snapshot.details) if plan else []
        places = (prefix + t.file if problem.span and t.file else snapshot.plan_path for t, problem in found)
        return [finding(problem, path) for (_, problem), path in zip(found, places, strict=True)]

    read = plan, tasks, snapshot.details_of(tasks)
    return snapshot.reader.remember("dependencies", read, find)


def _changed_after_approval(facts: RunFacts) -> Iterator[Finding]:
    """The task files that changed in substance after a person approved the plan, each at its place."""
    for question in facts.workflow.questions.values():
        is_approval = question.kind == QuestionKind.APPROVAL and question.scope is None
        answer = facts.newest_answer(question) if is_approval else None
        if answer is not None:
            who, option = answer["actor"] or "a person", answer["option"]
            message = f"changed in substance since {who} answered {question.id}: {option}"
            for path in facts.changed_files(answer, question):
                yield make_finding("approval-stale", path, message)


def unproven_reports(facts: RunFacts, current: Phase | None) -> Iterator[Finding]:
    """What was reported as done and rests on checks that did not pass on the files as they are.

    Of the phase at hand and later ones; what lies behind is judged by what was recorded with it.
    """
    phases = facts.workflow.phases
    for phase in phases.values():
        if not phase.brings or not phase.brings.checks or not current or current.order > phase.order:
            continue
        earlier = [each.id for each in phases.values() if each.order < phase.order]
        of_stage = {"stage": facts.stage} if facts.stage else {}
        told = {"kind": RecordKind.REPORT.value, "phase": [phase.id, *earlier], **of_stage}
        newest = next(iter(facts.context.records.pick(told)[-1:]), None)
        if newest is None or newest["phase"] != phase.id or newest["outcome"] != phase.outcomes[0]:
            continue
        place, path = facts.origins[id(newest)], str(newest["path"])
        if path not in ("", place.path) and facts.snapshot.reader.read(path).exists:
            place = RecordOrigin(path)
        for name, why in checks_behind(facts, phase.brings, Delivery(newest)).items():
            if why:
                said = f"it says {phase.id} {newest['outcome']}, but the check {name} says otherwise ({why})"
                yield make_finding("report-unsupported", place.path, said, place.span)


def _unknown_checks(facts: RunFacts) -> Iterator[Finding]:
    """Names of checks, among the parameters, that the root does not declare."""
    config, workflow = facts.snapshot.config, facts.workflow
    for parameter in filter(lambda each: each.names, workflow.parameters.values()):
        for name in facts.parameter(parameter.id).value:
            if name not in config.checks:
                hint = did_you_mean(name, list(config.checks))
                said = f"{parameter.id}: no check is called {name!r}{hint}; it counts as not passed"
                place = config.places.get((workflow.name, parameter.id))
                yield make_finding("parameter-invalid", CONFIGURATION, said, place)


def _ignored_updates(facts: RunFacts) -> str:
    """The updates that the last report wanted to write and may not; "" where there are none."""
    last = next((entry for entry in reversed(facts.records) if entry["kind"] == RecordKind.REPORT), None)
    ignored = last["ignored"] if last else None
    if last is None or not isinstance(ignored, list) or not ignored:
        return ""
    by = f" by {last['actor']}" if last["actor"] else ""
    return f"the report of {last['phase']}{by} wanted what it may not write: {'; '.join(map(str, ignored))}"


def _counter_place(facts: RunFacts, count: Expression) -> tuple[str, Span | None]:
    """The place in a file that holds the count itself; else the file that stands for the run."""
    plan, state = facts.snapshot.plan, facts.snapshot.state
    path = count.source.strip().split(".")
    where, span = facts.place(path) if tuple(path) in count.paths else (None, None)
    if where and span:
        return where, span
    return facts.snapshot.plan_path if plan else state.path if state else facts.snapshot.place.itself, None


def _phases_ahead(facts: RunFacts, current: Phase) -> Iterator[Finding]:
    """Artifacts of later phases that exist: information, never a reason to skip (seed 002, row 6)."""
    phases = facts.workflow.phases.values()
    here = {name for phase in phases if phase.order <= current.order for name in phase.produces}
    for phase in phases:
        for name in phase.produces if phase.order > current.order and not phase.detour else ():
            artifact = facts.artifact(name)
            if artifact.exists and name not in here:
                said = f"{name} of phase {phase.id} exists, the run is in {current.id}"
                yield make_finding("phase-ahead", artifact.path, said)


def budget_findings(facts: RunFacts) -> Iterator[Finding]:
    """The first expression that was given up because it, or all of them together, took too much."""
    if exceeded := facts.context.budget.exceeded:
        yield make_finding(
            "budget-exceeded", facts.snapshot.place.itself, f"{exceeded}; it counts as not true"
        )


def ordered_findings(facts: RunFacts, decision: Decision, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, by path and place; those that a person's override goes without are marked.

    Of a code that has more than `MOST_OF_A_CODE` the rest is one finding at the run, which says how many.
    """
    waived = _waived_findings(facts, decision)
    order = list(Severity)
    marked = (replace(f, overridden=True) if (f.code, f.path) in waived else f for f in findings)
    unique = dict.fromkeys(marked)
    ordered = sorted(unique, key=lambda f: (f.path, f.span or _WHOLE_FILE, order.index(f.severity), f.code))
    if len(ordered) <= MOST_OF_A_CODE:
        return tuple(ordered)
    shown, left = list[Finding](), dict[str, list[Finding]]()
    counts = Counter[str]()
    for each in ordered:
        counts[each.code] += 1
        (shown if counts[each.code] <= MOST_OF_A_CODE else left.setdefault(each.code, [])).append(each)
    for several in left.values():
        worst = min(several, key=lambda f: (f.overridden, order.index(f.severity)))
        said = f"and {len(several)} more such findings in the files of this run"
        shown.append(
            replace(worst, path=facts.snapshot.place.itself, message=said, span=None, fixes=(), data=NO_DATA)
        )
    return tuple(shown)


def _waived_findings(facts: RunFacts, decision: Decision) -> frozenset[tuple[str, str]]:
    """(code, path) of what a person's override goes without: artifacts of the phases that it names."""
    override, snapshot, workflow = facts.override, facts.snapshot, facts.workflow
    if decision.undelivered or not override.waives(facts.stage):
        return frozenset()
    names = [
        name for phase in workflow.phases.values() if phase.id in override.phases for name in phase.produces
    ]
    artifacts = [facts.artifact(name) for name in names]
    waived = {(code, path) for each in artifacts for path in (each.path, *each.paths) for code in _LACKS}
    if any(workflow.artifacts[name].listed for name in names):
        # Files named by data are missed where they are named.
        waived.add((_LACKS[0], snapshot.state.path if snapshot.state else snapshot.plan_path))
    return frozenset(waived)
