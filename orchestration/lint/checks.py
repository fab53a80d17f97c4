"""Static checks of a definition (format, A.16): what compiles and is still wrong, or likely to be.

Each check is a function from a Workflow to faults. Errors refuse the definition; warnings are shown by
`phasekeeper workflow lint` and in the editor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ..definition.compiler import compile_definition
from ..definition.model import Rule, Workflow
from ..definition.reader import DefinitionPlace, Extend, InvalidWorkflow, Source, load_definition
from ..expressions.language import Expression
from ..expressions.syntax import Kind, walk
from ..findings import CODES, Finding, Problem, Severity, Span, finding
from ..formats.json_text import read_json
from ..plans.dialects import DIALECTS
from ..suggestions import did_you_mean, misspelling
from . import phase_graph as ways
from .contradictions import contradictions
from .expressions import FIELD_CHECKS, Fault, behind, constant, expressions
from .vocabularies import compared_words, known_action, pattern_words, phase_words, unasked_questions

Check = Callable[[Workflow], Iterator[Fault]]

# Events of effects that are no outcome of a report.
EVENTS = ("start", "override", "answer", "redo", "skip", "stop", "always")
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def parse_workflow(text: str, path: str = "workflow.yaml", extend: Extend = lambda name: None) -> Workflow:
    """The workflow that a definition's text describes, compiled and checked.

    `extend` gives the source of another definition by its name. Raises InvalidWorkflow with all errors, each
    at its line and column. Warnings are left to `check`.
    """
    workflow = compile_definition(*load_definition(Source(path, text), extend))
    errors = [found for found in check(workflow) if found.severity is Severity.ERROR]
    if errors:
        raise InvalidWorkflow(errors)
    return workflow


def check(workflow: Workflow) -> list[Finding]:
    """Every fault of the definition, in the order of its files."""
    findings: list[Finding] = []
    for fault in (fault for one in CHECKS for fault in one(workflow)):
        place = fault.at
        if isinstance(place, Expression):
            _, text, offset = workflow.places[id(place)]
            length = max(len(place.source) - fault.offset, 1)
            place = DefinitionPlace(text.node.source, text.span(offset + fault.offset, length))
        problem = Problem("workflow-invalid", fault.message, place.span, fault.severity, fault.data)
        findings.append(finding(problem, place.source.path))
    return sorted(dict.fromkeys(findings), key=lambda f: (f.path, f.span or Span(0, 0, 0, 0), f.message))


# ---- rules, names, options --------------------------------------------------------------------


def _too_early(workflow: Workflow) -> Iterator[Fault]:
    """`phase` and `report` in what tells the phase: they are not known yet."""
    if isinstance(workflow.phase, tuple):
        starts = [part for way in workflow.phase for part in (way.when, *way.phase.expressions)]
    else:
        starts = [workflow.phase]
    for start in filter(None, starts):
        read = {name.path[0] for one in behind(workflow, start) for name in one.reads}
        for early in sorted(read & {"phase", "report", "next_step"}):
            yield Fault(start, f"uses {early!r}, which is known only once the phase is")


def _hidden_rules(workflow: Workflow) -> Iterator[Fault]:
    for rules in (workflow.before, *(phase.rules for phase in workflow.phases.values()), workflow.otherwise):
        always: Rule | None = None
        for rule in rules:
            if always:
                said = f"{rule.where} is never tried: {always.where} has no `when` and always fits"
                yield Fault(rule.place, said)
            # A rule that only warns decides nothing: the rules behind it are tried.
            elif rule.when is None and (rule.to or rule.act or rule.wait or rule.stop or rule.ask):
                always = rule


def _unguarded_advances(workflow: Workflow) -> Iterator[Fault]:
    """A way forward without a guard, behind guarded ones: a guard that cannot be told falls through to it."""
    for phase in workflow.phases.values():
        guarded = False
        for rule in phase.rules:
            target = constant(rule.to)
            forward = target in workflow.phases and workflow.order(target) > phase.order
            if guarded and rule.when is None and (forward or rule.stop == "complete"):
                said = "leads forward also when the guards before it could not be told: give it a `when`"
                yield Fault(rule.place, f"{rule.where} {said}", Severity.WARNING)
            guarded = guarded or rule.when is not None


def _marker_reads(workflow: Workflow) -> Iterator[Fault]:
    """Where runs are found only the state file is known."""
    for test in workflow.runs.marker.tests:
        where = test.where
        for path, offset in where.reads if where else ():
            if where and path[0] != "state":
                yield Fault(where, f"a marker knows `state` only, not {'.'.join(path)!r}", offset=offset)


def _targets(workflow: Workflow) -> Iterator[Fault]:
    for _, rule in workflow.all_rules():
        target, action = constant(rule.to), constant(rule.act)
        if target and target != "next" and target not in workflow.phases:
            yield _unknown(rule.place, f"unknown phase {target!r}", target, workflow.phases)
        if action and not known_action(workflow, action):
            yield _unknown(rule.place, f"unknown action {action!r}", action, workflow.actions)
        if rule.warn and rule.warn not in CODES and not _CODE.fullmatch(rule.warn):
            yield Fault(rule.place, f"{rule.warn!r} is no code: small letters and digits with hyphens")


def _unknown(place: DefinitionPlace, said: str, word: str, known: Iterable[str]) -> Fault:
    """The fault of a word that is not known, with the known ones that are near."""
    known = list(known)
    return Fault(place, said + did_you_mean(word, known), data=misspelling(word, known))


def _gate_names(workflow: Workflow) -> Iterator[Fault]:
    """A misspelt name in `forbidden` would forbid nothing."""
    for gate in workflow.gates.values():
        for template in (*gate.allowed, *(what for what, _ in gate.forbidden)):
            name = constant(template)
            # A gate may forbid to call the run complete (seed 004, gate 4).
            fits = name in ("*", "complete") or name in workflow.phases or known_action(workflow, name)
            if name and not fits:
                said = f"gate {gate.id}: unknown phase or action {name!r}"
                known = (*workflow.phases, *workflow.actions)
                yield _unknown(workflow.keys[f"gates.{gate.id}"], said, name, known)


def _unread_options(workflow: Workflow) -> Iterator[Fault]:
    """An option that no guard reads and no effect writes would be an answer that changes nothing."""
    # The texts in each expression, and the questions whose answers it reads.
    words = [
        {node.value for node in walk(expression.tree) if node.kind is Kind.LITERAL}
        | {path[1] for path in expression.paths if path[0] == "answers" and path[1:]}
        for expression in expressions(workflow)
    ]
    for question in workflow.questions.values():
        read = {word for some in words if question.id in some for word in some}
        for option in question.options:
            event = f"answer.{question.id}.{option}"
            effect = event in workflow.effects or f"answer.{question.id}" in workflow.effects
            if option not in read and not effect:
                said = f"option {option!r} of {question.id} is read by no guard and has no effect {event!r}"
                yield Fault(workflow.keys[f"questions.{question.id}.{option}"], said)


def _report_words(workflow: Workflow) -> Iterator[Fault]:
    """Outcomes that a report form gives must be outcomes of its phase."""
    for form in workflow.reports.read.values():
        given = [*form.headings.values(), *(word for words in form.words.values() for word in words.values())]
        for word in dict.fromkeys(given):
            if word and word not in form.outcomes:
                said = f"{word!r} is no outcome of phase {form.phase}"
                yield _unknown(workflow.keys[f"reports.{form.phase}"], said, word, form.outcomes)


def _effects(workflow: Workflow) -> Iterator[Fault]:
    known = {*EVENTS, *(word for phase in workflow.phases.values() for word in phase.outcomes)}
    for event in workflow.effects:
        step, _, word = event.rpartition(".")
        if event.startswith("answer."):
            question, _, option = event.removeprefix("answer.").partition(".")
            asked = workflow.questions.get(question)
            fits, what = asked and (not option or option in asked.options), "question or option"
        else:
            is_step = not step or step in workflow.phases or known_action(workflow, step)
            fits, what = word in known and is_step, "event, phase or action"
        if not fits:
            yield Fault(workflow.keys[f"effects.{event}"], f"effect {event!r} is of no {what}")


def _written_paths(workflow: Workflow) -> Iterator[Fault]:
    """A misspelt path of `writes` would permit nothing; and a path changes in one way."""
    known = _known_state(workflow)
    for step in (*workflow.phases.values(), *workflow.actions.values()):
        place = workflow.keys[f"{'phases' if step.id in workflow.phases else 'actions'}.{step.id}"]
        for path, how in step.changes.items():
            if path[0] not in known:
                said = f"writes of {step.id}: the state's defaults have no {path[0]!r}"
                yield _unknown(place, said, path[0], known)
            ways = [name for name in ("set", "increment") if getattr(how, name)]
            of_lists = [name for name in ("append", "remove", "update") if getattr(how, name)]
            if len(ways) + bool(of_lists) != 1:
                said = f"writes of {step.id}: {'.'.join(path)} is set, goes up, or changes by its elements"
                yield Fault(place, f"{said}; it says {' and '.join(ways + of_lists) or 'none of these'}")


def _known_state(workflow: Workflow) -> Iterable[str]:
    """The keys that the state's defaults and the first file of a new run have."""
    if workflow.state is None:
        return ()
    first = read_json(workflow.new.files.get(workflow.state.file, "") if workflow.new else "").data
    return {**(first if isinstance(first, dict) else {}), **workflow.state.defaults}


def _included_lists(workflow: Workflow) -> Iterator[Fault]:
    """New members can be made only for lists that the state reads from files."""
    known = list(workflow.state.include) if workflow.state else []
    for event, writes in workflow.effects.items():
        for name in (write.path.source for write in writes if write.kind == "include"):
            if name not in known:
                said = f"effect {event!r}: {name!r} is no list that `include` of the state reads from files"
                yield Fault(workflow.keys[f"effects.{event}"], said + did_you_mean(name, known))


def _plans(workflow: Workflow) -> Iterator[Fault]:
    plans = [artifact.id for artifact in workflow.artifacts.values() if artifact.kind in DIALECTS]
    if len(plans) > 1:
        said = f"a workflow has one plan at most, this has {', '.join(plans)}"
        yield Fault(workflow.keys[f"artifacts.{plans[1]}"], said)
    for phase in workflow.phases.values():
        if phase.tasks and not plans:
            yield Fault(phase.place, f"phase {phase.id} hands out tasks, but no artifact is a plan")


def _filed_texts(workflow: Workflow) -> Iterator[Fault]:
    """A text that a report must bring has a form, and a name of its own among the reports."""
    files = workflow.reports.files
    for step in (*workflow.phases.values(), *workflow.actions.values()):
        if step.brings is None or not step.brings.report:
            continue
        group = "phases" if step.id in workflow.phases else "actions"
        place = workflow.keys[f"{group}.{step.id}"]
        if step.id not in workflow.reports.read:
            said = f"{step.id} brings a report, but `reports.read` has no form of it"
            yield Fault(place, f"{said}: only a phase has one" if group == "actions" else said)
        elif files[0].count("*") != 1 or "*" not in files[0].rpartition("/")[2]:
            said = f"{step.id} brings a report: the first of `reports.files` needs one * in its last part, "
            yield Fault(place, said + "which stands for the name of the file that is made")


def _deciders(workflow: Workflow) -> Iterator[Fault]:
    """Artifacts that are a person's decision and that no question asks about, and the other way round."""
    asked = {name: question.id for question in workflow.questions.values() for name in question.decides}
    for name, artifact in workflow.artifacts.items():
        if artifact.decided_by and name not in asked:
            said = f"nobody is asked about {name}: no question `decides` it, so only a commit makes it count"
            yield Fault(workflow.keys[f"artifacts.{name}"], said, Severity.WARNING)
        if name in asked and not artifact.decided_by:
            said = f"question {asked[name]} decides {name}, which is no decision: it has no `decided_by`"
            yield Fault(workflow.keys[f"questions.{asked[name]}"], said)


CHECKS: tuple[Check, ...] = (
    *FIELD_CHECKS,
    ways.denials,
    _too_early,
    _hidden_rules,
    _unguarded_advances,
    _marker_reads,
    _targets,
    _gate_names,
    _unread_options,
    _report_words,
    _effects,
    _included_lists,
    _written_paths,
    ways.unreachable,
    ways.dead_ends,
    ways.endless,
    _plans,
    _filed_texts,
    _deciders,
    contradictions,
    compared_words,
    pattern_words,
    phase_words,
    unasked_questions,
)
