"""Static checks of a definition (format, A.16): what compiles and is still wrong, or likely to be.

Each check is a function from a Workflow to (place, message, severity). Errors refuse the definition,
warnings are shown by `phasekeeper workflow lint` and in the editor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from .definition import Text
from .expression_tree import Tree, walk
from .findings import CODES, Finding, Problem, Severity, Span, finding
from .guards import Expression, Template, did_you_mean
from .journal import FIELDS
from .plans import dialects
from .workflow import Phase, Rule, Workflow

MOST_EXPRESSIONS = 500
_TASK_FIELDS = (
    "id", "number", "title", "stage", "done", "status", "file", "type",
    "depends_on", "parallel_with", "files", "requires_ux_dx_review",
)  # fmt: skip
_RECORD_FUNCTIONS = ("records", "count", "newest", "records_since", "count_since")
_TASK_FUNCTIONS = ("tasks", "unreported", "unreported_since")
# Outcomes that stop a run; a way forward that only denies one of them opens on everything unheard of.
_EVENTS = ("start", "override", "answer", "redo", "skip", "stop", "always")


class Fault(NamedTuple):
    """Something a check found: at an expression (with an offset in it) or at a span."""

    at: Expression | Span | None
    message: str
    severity: Severity = Severity.ERROR
    offset: int = 0


Check = Callable[[Workflow], Iterator[Fault]]


def check(workflow: Workflow) -> list[Finding]:
    """Every fault of the definition, in the order of its file."""
    found = [_finding(workflow, fault) for one in CHECKS for fault in one(workflow)]
    return sorted(dict.fromkeys(found), key=lambda f: (f.path, f.span or Span(0, 0, 0, 0), f.message))


def _finding(workflow: Workflow, fault: Fault) -> Finding:
    path, span = workflow.source.path, fault.at if isinstance(fault.at, Span) else None
    if isinstance(fault.at, Expression):
        text = workflow.places.get(id(fault.at))
        if text is not None:
            path, span = text.branch.source.path, _span(text, fault.at, fault.offset)
    return finding(Problem("workflow-invalid", fault.message, span, fault.severity), path)


def _span(text: Text, expression: Expression, offset: int) -> Span:
    # An expression may be a part of a template; it begins where its source stands in the text.
    start = max(str(text).find(expression.source), 0)
    return text.span(start + offset, max(len(expression.source) - offset, 1))


# ---- expressions ------------------------------------------------------------------------------


def _expressions(workflow: Workflow) -> Iterator[Expression]:
    """Every expression of the definition that guards use; those of effects have their own names."""
    for source in (workflow.phase,):
        if isinstance(source, Expression):
            yield source
        else:
            for rule in source:
                yield from filter(None, [rule.when, *_parts(rule.phase), *_parts(rule.because)])
    yield from workflow.values.values()
    for _, rule in workflow.all_rules():
        yield from filter(None, [rule.when, *_parts(rule.because), *_parts(rule.to), *_parts(rule.act), *rule.set.values()])
    for phase in workflow.phases.values():
        yield from filter(None, [phase.tasks, phase.attested, phase.skip, *_parts(phase.skip_because)])
    for gate in workflow.gates:
        yield from filter(None, [gate.when, gate.judged, *(c.when for c in gate.criteria)])
        for template in [*gate.allowed, *(part for pair in gate.forbidden for part in pair)]:
            yield from _parts(template)
    for limit in workflow.limits.values():
        yield from (limit.count, limit.max)
    for question in workflow.questions.values():
        yield from filter(None, [question.scope, question.tasks, question.history, *_parts(question.ask)])
    for note in workflow.notes:
        yield from filter(None, [note.when, *_parts(note.text)])
    for action in workflow.actions.values():
        yield from filter(None, [action.when])
    yield from filter(None, [a.listed for a in workflow.artifacts.values()])
    yield from filter(None, [workflow.report_stage, workflow.skipped_stages, *(workflow.progress or ())])


def _parts(template: Template | None) -> list[Expression]:
    return [part for part in template.parts if isinstance(part, Expression)] if template else []


def _too_many(workflow: Workflow) -> Iterator[Fault]:
    count = sum(1 for _ in _expressions(workflow))
    if count > MOST_EXPRESSIONS:
        yield Fault(None, f"has {count} expressions, at most {MOST_EXPRESSIONS} are allowed")


def _null_tests(workflow: Workflow) -> Iterator[Fault]:
    for expression in _expressions(workflow):
        for node in walk(expression.tree):
            compared = node.kind == "call" and node.text in ("_==_", "_!=_")
            if compared and any(_is_null(child) for child in node.children):
                said = "null is absent before guards see it: use has(x), or x == [] and the like"
                yield Fault(expression, said, Severity.ERROR, node.offset)


def _is_null(node: Tree) -> bool:
    return node.kind == "constant" and node.value is None


def _has_tests(workflow: Workflow) -> Iterator[Fault]:
    groups = ("valid", "exists", "parameters", "limits", "answers")
    for expression in _expressions(workflow):
        for node in walk(expression.tree):
            inside = node.children[0] if node.kind == "select" and node.value is True else None
            if inside and inside.kind == "name" and inside.text in groups:
                yield Fault(expression, f"has({inside.text}.{node.text}) is always true; use {inside.text}.{node.text}", Severity.ERROR, node.offset)


def _filtered_sizes(workflow: Workflow) -> Iterator[Fault]:
    for expression in _expressions(workflow):
        for node in walk(expression.tree):
            if node.kind == "call" and node.text in ("_==_", "_>_", "_!=_") and _is_zero(node.children[1]) and _is_filtered(node.children[0]):
                said = "counting a filter looks at every item twice: write x.exists(..), !x.exists(..) or x.filter(..) == []"
                yield Fault(expression, said, Severity.WARNING, node.offset)


def _is_zero(node: Tree) -> bool:
    return node.kind == "constant" and node.value == 0 and not isinstance(node.value, bool)


def _is_filtered(node: Tree) -> bool:
    sized = node.kind == "call" and node.text == "size" and len(node.children) == 1
    return sized and node.children[0].kind == "loop"


def _patterns(workflow: Workflow) -> Iterator[Fault]:
    for expression in _expressions(workflow):
        for node in walk(expression.tree):
            if node.kind == "call" and node.text in _RECORD_FUNCTIONS:
                for pattern in node.children:
                    yield from _record_pattern(expression, pattern)
            if node.kind == "call" and node.text in _TASK_FUNCTIONS:
                yield from _task_patterns(expression, node)


def _record_pattern(expression: Expression, pattern: Tree) -> Iterator[Fault]:
    keys = _keys(pattern)
    for key in keys:
        if key not in FIELDS:
            yield Fault(expression, f"records have no field {key!r}{did_you_mean(key, FIELDS)}", Severity.ERROR, pattern.offset)
    if "phase" in keys and not keys & {"kind", "outcome"}:
        said = "also matches starts and answers: a pattern that means a result says 'kind': 'report'"
        yield Fault(expression, said, Severity.WARNING, pattern.offset)


def _task_patterns(expression: Expression, node: Tree) -> Iterator[Fault]:
    """tasks(T), unreported(T, R) and unreported_since(R, T, R)."""
    at = 1 if node.text == "unreported_since" else 0
    for place, pattern in enumerate(node.children):
        if place != at:
            yield from _record_pattern(expression, pattern)
            continue
        for key in _keys(pattern) - set(_TASK_FIELDS):
            yield Fault(expression, f"tasks have no field {key!r}{did_you_mean(key, _TASK_FIELDS)}", Severity.ERROR, pattern.offset)


def _keys(pattern: Tree) -> set[str]:
    maps = [node for node in walk(pattern) if node.kind == "map"] if pattern.kind in ("map", "call") else []
    return {str(key.value) for node in maps for key in node.children[::2] if isinstance(key.value, str)}


def _denials(workflow: Workflow) -> Iterator[Fault]:
    """Ways forward that only say what must not be."""
    for phase, rule in workflow.all_rules():
        forward = phase and rule.when and _leads_forward(workflow, workflow.phases[phase], rule)
        if forward and rule.when and _only_denies(rule.when.tree):
            said = "this way forward only denies a word, so anything unheard of opens it: write what must hold"
            yield Fault(rule.when, said, Severity.ERROR)
    for gate in workflow.gates:
        for criterion in gate.criteria:
            if _only_denies(criterion.when.tree) and not _denies_value(workflow, criterion.when.tree):
                said = "this criterion only denies a word, so anything unheard of meets it: write what must hold"
                yield Fault(criterion.when, said, Severity.ERROR)


def _leads_forward(workflow: Workflow, phase: Phase, rule: Rule) -> bool:
    if rule.stop == "complete":
        return True
    target = _constant(rule.to)
    if target == "next":
        return True
    return target in workflow.phases and workflow.order(target) > phase.order and not workflow.phases[target].detour


def _constant(template: Template | None) -> str:
    return template.source if template and len(template.parts) == 1 else ""


def _only_denies(tree: Tree) -> bool:
    """Whether an expression is made of `x != 'word'` alone, by && or ||."""
    if tree.kind != "call":
        return False
    if tree.text in ("_&&_", "_||_"):
        return all(_only_denies(child) for child in tree.children)
    if tree.text == "!_":
        inner = tree.children[0]
        return inner.kind == "call" and inner.text in ("_==_", "@in") and _words(inner.children[1])
    return tree.text == "_!=_" and _words(tree.children[1])


def _words(tree: Tree) -> bool:
    if tree.kind == "list":
        return bool(tree.children) and all(_words(child) for child in tree.children)
    return tree.kind == "constant" and isinstance(tree.value, str) and tree.value != ""


def _denies_value(workflow: Workflow, tree: Tree) -> bool:
    """`!value`, where the value is a named fact: what it means is said where it is defined."""
    return tree.text == "!_" and tree.children[0].kind == "name" and tree.children[0].text in workflow.values


def _too_early(workflow: Workflow) -> Iterator[Fault]:
    """`phase` and `report` in what tells the phase: they are not known yet."""
    sources = [workflow.phase] if isinstance(workflow.phase, Expression) else [p for rule in workflow.phase for p in (rule.when, *_parts(rule.phase)) if p]
    for expression in sources:
        early = _reaches(workflow, expression, {"phase", "report", "next_step"})
        if early:
            yield Fault(expression, f"uses {early!r}, which is known only once the phase is")


def _reaches(workflow: Workflow, expression: Expression, names: set[str]) -> str:
    waiting, seen = [expression], set()
    while waiting:
        current = waiting.pop()
        for read in current.reads:
            head = read.path[0]
            if head in names:
                return head
            for inner in _definitions(workflow, read.path):
                if id(inner) not in seen:
                    seen.add(id(inner))
                    waiting.append(inner)
    return ""


def _definitions(workflow: Workflow, path: tuple[str, ...]) -> list[Expression]:
    if path[0] in workflow.values:
        return [workflow.values[path[0]]]
    if path[0] == "limits" and len(path) > 1 and path[1] in workflow.limits:
        limit = workflow.limits[path[1]]
        return [limit.count, limit.max]
    if path[0] == "answers" and len(path) > 1 and path[1] in workflow.questions:
        scope = workflow.questions[path[1]].scope
        return [scope] if scope else []
    return []


# ---- the machine ------------------------------------------------------------------------------


def _hidden_rules(workflow: Workflow) -> Iterator[Fault]:
    for rules in (workflow.before, *(phase.rules for phase in workflow.phases.values()), workflow.otherwise):
        always = next((i for i, rule in enumerate(rules) if rule.when is None and not _only_warns(rule)), len(rules))
        for rule in rules[always + 1 :]:
            yield Fault(rule.span, f"{rule.where} is never tried: a rule before it has no `when` and always fits")


def _only_warns(rule: Rule) -> bool:
    return not (rule.to or rule.act or rule.wait or rule.stop or rule.ask)


def _targets(workflow: Workflow) -> Iterator[Fault]:
    for _, rule in workflow.all_rules():
        target, action = _constant(rule.to), _constant(rule.act)
        if target and target != "next" and target not in workflow.phases:
            yield Fault(rule.span, f"unknown phase {target!r}{did_you_mean(target, list(workflow.phases))}")
        if action and not _known_action(workflow, action):
            yield Fault(rule.span, f"unknown action {action!r}{did_you_mean(action, list(workflow.actions))}")
        if rule.warn and rule.warn not in CODES and not all(part.isalnum() for part in rule.warn.split("-")):
            yield Fault(rule.span, f"{rule.warn!r} is no code: small letters and digits with hyphens")


def _known_action(workflow: Workflow, name: str) -> bool:
    name = workflow.action_aliases.get(name, name)
    return name in workflow.actions or any(a.endswith("*") and name.startswith(a[:-1]) for a in workflow.actions)


def _unread_options(workflow: Workflow) -> Iterator[Fault]:
    """An option that no guard reads and no effect writes would be an answer that changes nothing."""
    constants = {node.value for e in _expressions(workflow) for node in walk(e.tree) if node.kind == "constant"}
    for question in workflow.questions.values():
        for option in question.options:
            event = f"answer.{question.id}.{option}"
            if option not in constants and event not in workflow.effects and f"answer.{question.id}" not in workflow.effects:
                said = f"option {option!r} of {question.id} is read by no guard and has no effect {event!r}"
                yield Fault(workflow.spans.get(f"questions.{question.id}.{option}"), said)


def _effects(workflow: Workflow) -> Iterator[Fault]:
    known = {*_EVENTS, *(word for phase in workflow.phases.values() for word in phase.outcomes), "warning"}
    for event in workflow.effects:
        if event.startswith("answer."):
            _, question, *option = event.split(".")
            asked = workflow.questions.get(question)
            if asked is None or (option and option[0] not in asked.options):
                yield Fault(workflow.spans.get(f"effects.{event}"), f"effect {event!r} is of no question or option")
            continue
        step, _, word = event.rpartition(".")
        if word not in known or (step and step not in workflow.phases and not _known_action(workflow, step)):
            yield Fault(workflow.spans.get(f"effects.{event}"), f"effect {event!r} is of no event, phase or action")


def edges(workflow: Workflow) -> dict[str, set[str]]:
    """phase -> the phases its rules may lead to; a template leads to any phase it may stand for."""
    out: dict[str, set[str]] = {name: set() for name in workflow.phases}
    for name in out:
        for rule in workflow.rules_of(name):
            out[name] |= set(_leads(workflow, name, rule))
    return out


def _leads(workflow: Workflow, phase: str, rule: Rule) -> list[str]:
    if rule.to is None:
        return []
    target = _constant(rule.to)
    if target == "next":
        order = [p for p in workflow.phases.values() if p.order > workflow.order(phase) and not p.detour]
        stops = next((i for i, p in enumerate(order) if p.skip is None), len(order) - 1)
        return [p.id for p in order[: stops + 1]]
    return [target] if target else list(workflow.phases)


def _reachable(workflow: Workflow) -> Iterator[Fault]:
    """Phases nobody can get to, and those without a way out. Where the files tell the phase, any may be met."""
    ways = edges(workflow)
    first = next(iter(workflow.phases))
    seen, waiting = {first}, [first]
    while waiting:
        for target in ways[waiting.pop()] - seen:
            if target in workflow.phases:
                seen.add(target)
                waiting.append(target)
    named = _named_phases(workflow)
    for phase in workflow.phases.values():
        acts = any(rule.act or rule.stop or rule.ask or rule.wait for rule in workflow.rules_of(phase.id))
        if phase.id not in seen | named and not phase.follow_up and not _by_state(workflow):
            yield Fault(phase.span, f"no rule leads to phase {phase.id!r}", Severity.WARNING)
        if not ways[phase.id] and not acts and not phase.terminal and not _leaves_by_evidence(workflow, phase):
            yield Fault(phase.span, f"phase {phase.id!r} has no way out and is not terminal")


def _by_state(workflow: Workflow) -> bool:
    """Whether the state file itself names the phase, as seed 003's does: then actions move it."""
    return isinstance(workflow.phase, Expression) and bool(workflow.actions)


def _named_phases(workflow: Workflow) -> set[str]:
    if isinstance(workflow.phase, Expression):
        return set()
    named = {_constant(rule.phase) for rule in workflow.phase}
    # A computed name may be any phase's.
    return set(workflow.phases) if "" in named else named


def _leaves_by_evidence(workflow: Workflow, phase: Phase) -> bool:
    """Where the phase is told from evidence, new evidence is the way out."""
    return not isinstance(workflow.phase, Expression) or phase.detour


def _endless(workflow: Workflow) -> Iterator[Fault]:
    """Ways back that neither a limit, nor a person, nor a question bounds."""
    bounded = _bounded(workflow)
    ways = edges(workflow)
    for name in workflow.phases:
        back = {t for t in ways[name] if t in workflow.phases and workflow.order(t) < workflow.order(name)}
        for target in sorted(back, key=workflow.order):
            circle = _between(ways, target, name)
            if circle and not circle & bounded and not workflow.limits:
                said = f"{name} leads back to {target} without a limit, a person or a question on the way"
                yield Fault(workflow.phases[name].span, said, Severity.WARNING)


def _bounded(workflow: Workflow) -> set[str]:
    def asks(rules: tuple[Rule, ...]) -> bool:
        return any(rule.ask or rule.wait == "person" for rule in rules)

    return {p.id for p in workflow.phases.values() if "person" in p.agents or asks(workflow.rules_of(p.id))}


def _between(ways: Mapping[str, set[str]], start: str, end: str) -> set[str]:
    """The phases that can be met on the way from `start` to `end`, both included; empty if there is no way."""
    seen, waiting = {start}, [start]
    while waiting:
        for target in ways.get(waiting.pop(), set()) - seen:
            seen.add(target)
            waiting.append(target)
    return seen if end in seen else set()


def _plans(workflow: Workflow) -> Iterator[Fault]:
    plans = [a for a in workflow.artifacts.values() if a.kind in dialects()]
    if len(plans) > 1:
        yield Fault(workflow.spans.get(f"artifacts.{plans[1].id}"), f"a workflow has one plan at most, this has {', '.join(a.id for a in plans)}")
    if not plans and any(phase.tasks for phase in workflow.phases.values()):
        yield Fault(None, "a phase hands out tasks, but no artifact is a plan")


CHECKS: tuple[Check, ...] = (
    _too_many,
    _null_tests,
    _has_tests,
    _filtered_sizes,
    _patterns,
    _denials,
    _too_early,
    _hidden_rules,
    _targets,
    _unread_options,
    _effects,
    _reachable,
    _endless,
    _plans,
)
