"""Words that an expression compares with or looks for, held against those that can be there at all.

Closed vocabularies are those of the definition (phases, actions, outcomes, questions, options, the words of
a parameter or of an artifact's `require`) and of the engine (kinds of records, statuses of tasks).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..definition.inputs import StateFile
from ..definition.model import DEFAULT_OUTCOMES, Workflow
from ..definition.names import UNANSWERED
from ..definition.reader import DefinitionPlace
from ..expressions.language import Expression, Template
from ..expressions.syntax import Kind, SyntaxNode, path_of, walk
from ..expressions.values import type_of
from ..findings import Severity
from ..journal.journal import KINDS, SKIPPED
from ..plans.model import MarkStatus
from ..suggestions import did_you_mean, misspelling
from .expressions import (
    OF_RECORDS,
    OF_TASKS,
    RECORD,
    TASK,
    Fault,
    Thing,
    thing_of,
    things,
    walk_scopes,
    written_expressions,
)

Things = Mapping[str, Thing | None]
_NUMBERS = ("int", "double")
# What the types of `require` are in the words of the guard language.
_REQUIRED = {"bool": ("bool",), "int": ("int",), "number": _NUMBERS, "string": ("string",)}


class Vocabulary(NamedTuple):
    """The values that are possible: `words` if they are closed, else any of the `types`. `what` names it."""

    what: str
    types: tuple[str, ...]
    words: tuple[object, ...] | None = None

    def fault(self, expression: Expression, literal: SyntaxNode) -> Fault | None:
        """The fault of a constant that the value can never be."""
        value, kind = literal.value, type_of(literal.value)
        if kind not in self.types:
            said = f"{self.what} is never {kind} but {' or '.join(self.types)}, so it is never {value!r}"
            return Fault(expression, said, Severity.WARNING, literal.at)
        if self.words is None or value in self.words:
            return None
        known = [str(word) for word in self.words if word != ""]
        said = f"{self.what} is never {value!r}{did_you_mean(str(value), known)}"
        return Fault(expression, said, Severity.WARNING, literal.at, misspelling(str(value), known))


def known_action(workflow: Workflow, name: str) -> bool:
    """True of an action's name or alias, and of one that a name with `*` stands for."""
    name = workflow.action_aliases.get(name, name)
    return name in workflow.actions or any(
        action.endswith("*") and name.startswith(action[:-1]) for action in workflow.actions
    )


def compared_words(workflow: Workflow) -> Iterator[Fault]:
    """Comparisons with a constant that the value can never be."""
    words = _Words(workflow)
    for expression in written_expressions(workflow):
        for node, names in walk_scopes(expression.tree, words.things):
            if node.kind is Kind.BINARY and node.text in ("==", "!=", "in"):
                yield from _unknown_words(words, expression, node, names)


def _unknown_words(words: _Words, expression: Expression, node: SyntaxNode, names: Things) -> Iterator[Fault]:
    left, right = node.children
    if right.kind is Kind.LITERAL or left.kind is Kind.LITERAL:
        literals, subject = ([right], left) if right.kind is Kind.LITERAL else ([left], right)
    else:
        literals, subject = _literals(right) if node.text == "in" else [], left
    vocabulary = words.of(subject, expression, names)
    if vocabulary:
        yield from filter(None, (vocabulary.fault(expression, literal) for literal in literals))


def pattern_words(workflow: Workflow) -> Iterator[Fault]:
    """Patterns of records and tasks with a word that none of them has."""
    words = _Words(workflow)
    for expression in written_expressions(workflow):
        for node in walk(expression.tree):
            of_records = node.text in OF_RECORDS and node.kind is Kind.CALL
            for position, pattern in enumerate(node.children if of_records or node.text in OF_TASKS else ()):
                if pattern.kind is Kind.MAP:
                    of_task = position == OF_TASKS.get(node.text)
                    yield from _pattern(words, expression, _entries(pattern), of_task)


def _pattern(
    words: _Words, expression: Expression, entries: Mapping[str, SyntaxNode], of_task: bool
) -> Iterator[Fault]:
    for name, value in entries.items():
        vocabulary = words.task_field(name) if of_task else words.record_field(name, entries)
        if vocabulary:
            yield from filter(None, (vocabulary.fault(expression, literal) for literal in _literals(value)))


def _entries(pattern: SyntaxNode) -> dict[str, SyntaxNode]:
    """The values of a pattern by their fields."""
    return {str(key.value): value for key, value in zip(*[iter(pattern.children)] * 2, strict=True)}


def _literals(node: SyntaxNode) -> list[SyntaxNode]:
    """The constants that an expression can give or, as a list, hold."""
    if node.kind is Kind.LITERAL:
        return [node]
    parts = {Kind.LIST: node.children, Kind.CHOICE: node.children[1:]}.get(node.kind, ())
    if node.kind is Kind.METHOD and node.text == "orValue":
        parts = node.children
    return [literal for part in parts for literal in _literals(part)]


class _Words:
    """The vocabularies of a workflow's names and fields."""

    def __init__(self, workflow: Workflow):
        self.workflow = workflow
        self.steps = (*workflow.phases, *workflow.actions, *workflow.action_aliases)
        # The phase whose rule an expression is the guard of: there `report` is one of that phase.
        self.phase_of = {id(rule.when): phase for phase, rule in workflow.all_rules() if phase and rule.when}
        self.things: Things = things(workflow)
        self.names: dict[str, Vocabulary | None] = {
            "phase": _words("phase", workflow.phases),
            "next_step": _words("next_step", self.steps),
            "step": None if self._open_actions() else _words("step", self.steps),
        }
        for name, value in workflow.values.items():
            # They stand in the order in which they use each other.
            given = self.of(value.tree, value, self.things)
            self.names[name] = given and given._replace(what=name)

    def _open_actions(self) -> bool:
        return any(action.endswith("*") for action in self.workflow.actions)

    def _clarifications(self) -> list[str]:
        """The questions that a wait for a person is by itself, one for each phase."""
        waits = {phase for phase, rule in self.workflow.all_rules() if rule.wait == "person" and not rule.ask}
        phases = waits if all(waits) else self.workflow.phases
        return [f"clarification:{phase}" for phase in phases]

    def of(self, node: SyntaxNode, expression: Expression, names: Things) -> Vocabulary | None:
        """The vocabulary of what an expression gives, None if that cannot be told."""
        if node.kind is Kind.LITERAL:
            return Vocabulary("it", (type_of(node.value),), (node.value,))
        if node.kind is Kind.CHOICE:
            return _either([self.of(child, expression, names) for child in node.children[1:]])
        if node.kind is Kind.LIST and node.children:
            return _either([self.of(child, expression, names) for child in node.children])
        if node.kind is Kind.NAME:
            return self.names.get(node.text)
        if node.kind is Kind.FIELD and not node.value:
            return self._field(node, expression, names)
        return None

    def _field(self, node: SyntaxNode, expression: Expression, names: Things) -> Vocabulary | None:
        path, of = path_of(node), node.children[0]
        if path and path[0] in ("parameters", "answers", "state", *self.workflow.artifacts):
            return self._datum(path)
        thing = thing_of(of, names)
        if thing == TASK:
            return self.task_field(node.text)
        if thing != RECORD:
            return None
        phase = self.phase_of.get(id(expression)) if path[:1] == ("report",) else None
        entries = _entries(of.children[0]) if of.kind is Kind.CALL and of.children[0].kind is Kind.MAP else {}
        field = self.record_field(node.text, entries, [phase] if phase else None)
        return field and field._replace(words=("", *(field.words or ())))

    def _datum(self, path: tuple[str, ...]) -> Vocabulary | None:
        """The vocabulary of a parameter, an answer, or a field of the state or an artifact."""
        head, name, *_ = (*path, "")
        workflow = self.workflow
        if head == "parameters" and name in workflow.parameters and workflow.parameters[name].one_of:
            words = workflow.parameters[name].one_of or []
            return Vocabulary(".".join(path), tuple(dict.fromkeys(map(type_of, words))), tuple(words))
        if head == "answers" and name in workflow.questions and workflow.questions[name].options:
            return _words(".".join(path), (*workflow.questions[name].options, *UNANSWERED))
        if head == "state":
            value: Any = workflow.state.defaults if workflow.state else {}
            for key in path[1:]:
                value = value.get(key) if isinstance(value, Mapping) else None
            kind = type_of(value) if isinstance(value, (bool, int, float, str)) else ""
            types = _NUMBERS if kind in _NUMBERS else (kind,)
            return Vocabulary(".".join(path), types) if kind else None
        needed = workflow.artifacts[head].require if head in workflow.artifacts else ()
        want = next((want for paths, want in needed if ".".join(path[1:]) in paths), None)
        if isinstance(want, tuple):
            return _words(".".join(path), want)
        return Vocabulary(".".join(path), _REQUIRED[want]) if want in _REQUIRED else None

    def task_field(self, name: str) -> Vocabulary | None:
        return _words("a task's status", tuple(MarkStatus)) if name == "status" else None

    def record_field(
        self, name: str, entries: Mapping[str, SyntaxNode], phases: Collection[str] | None = None
    ) -> Vocabulary | None:
        """The vocabulary of a record's field, among the records that the rest of a pattern leaves."""
        questions = self.workflow.questions
        match name:
            case "kind":
                return _words("the kind of a record", tuple(KINDS))
            case "phase" if not self._open_actions():
                return _words("the phase of a record", self.steps)
            case "next":
                return _words("the phase that a record leads to", tuple(self.workflow.phases))
            case "question":
                asked = (*questions, *self._clarifications())
                return _words("the question of a record", asked) if questions else None
            case "option":
                asked = self._constants(entries, "question") or list(questions)
                of = [questions[question] for question in asked if question in questions]
                free = not of or any(not question.options for question in of)
                options = tuple(option for question in of for option in question.options)
                return None if free else _words("the option of such a record", options)
            case "outcome" if set(self._constants(entries, "kind") or ["report"]) <= {"report", "start"}:
                words = self._outcomes(phases or self._constants(entries, "phase") or self.steps)
                return _words("the outcome of such a record", words)
        return None

    def _constants(self, entries: Mapping[str, SyntaxNode], name: str) -> list[str]:
        """The constants that a pattern has for a field, none if others may be there."""
        node = entries.get(name)
        plain = node and (node.kind is Kind.LITERAL or all(c.kind is Kind.LITERAL for c in node.children))
        return [str(literal.value) for literal in _literals(node)] if node and plain else []

    def _outcomes(self, steps: Collection[str]) -> tuple[str, ...]:
        phases = self.workflow.phases
        each = [phases[step].outcomes if step in phases else DEFAULT_OUTCOMES for step in steps]
        return (*dict.fromkeys(word for words in each for word in words), SKIPPED)


def _words(what: str, words: Collection[str]) -> Vocabulary:
    return Vocabulary(what, ("string",), tuple(map(str, words)))


def _either(parts: list[Vocabulary | None]) -> Vocabulary | None:
    """The vocabulary of what is one of several things."""
    known = [part for part in parts if part]
    if len(known) < len(parts):
        return None
    types = tuple(dict.fromkeys(kind for part in known for kind in part.types))
    closed = [part.words for part in known if part.words is not None]
    words = tuple(dict.fromkeys(word for some in closed for word in some))
    return Vocabulary("it", types, words if len(closed) == len(known) else None)


# ---- phases that do not exist -----------------------------------------------------------------


def phase_words(workflow: Workflow) -> Iterator[Fault]:
    """Phases that new files, defaults, inference and effects name, and that the workflow does not have."""
    path = _phase_path(workflow)
    if path and workflow.state:
        yield from _initial(workflow, workflow.state, path.split("."))
    for expression, node in _phase_expressions(workflow, path):
        for literal in _literals(node):
            fault = _no_phase(workflow, expression, literal.value, literal.at)
            if fault:
                yield fault
    for way in workflow.phase if isinstance(workflow.phase, tuple) else ():
        fault = None if way.phase.expressions else _no_phase(workflow, way.place, way.phase.source)
        if fault:
            yield fault


def _phase_path(workflow: Workflow) -> str:
    """The path in the state file at which the phase stands, "" where it is told otherwise."""
    if not isinstance(workflow.phase, Expression):
        return ""
    tree = workflow.phase.tree
    # `state.phase` and `state.?phase.orValue('draft')` both.
    path = path_of(tree.children[0] if tree.text == "orValue" else tree)
    return ".".join(path[1:]) if path[:1] == ("state",) else ""


def _initial(workflow: Workflow, state: StateFile, path: list[str]) -> Iterator[Fault]:
    texts = workflow.new.files if workflow.new else {}
    try:
        first = json.loads(texts.get(state.file, "{}"))
    except ValueError:
        first = {}
    for data, key in ((state.defaults, "state.defaults"), (first, f"new.{state.file}")):
        value: Any = data
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        fault = None if value is None else _no_phase(workflow, workflow.keys[key], value)
        if fault:
            yield fault


def _phase_expressions(workflow: Workflow, path: str) -> Iterator[tuple[Expression, SyntaxNode]]:
    """The expressions that give a phase: what tells it, and what effects write in its place."""
    templates: tuple[Template, ...] = ()
    if isinstance(workflow.phase, Expression):
        yield workflow.phase, workflow.phase.tree
    else:
        templates = tuple(way.phase for way in workflow.phase)
    writes = [write for writes in workflow.effects.values() for write in writes]
    written = [write.value for write in writes if path and write.path.source == path]
    written += [value for _, rule in workflow.all_rules() for at, value in rule.set.items() if path == at]
    written += [
        part for one in templates if [*filter(None, one.parts)] == one.expressions for part in one.expressions
    ]
    for expression in written:
        named = path_of(expression.tree)
        value = workflow.values.get(named[0]) if len(named) == 1 else None
        yield (value, value.tree) if value else (expression, expression.tree)


def _no_phase(
    workflow: Workflow, at: Expression | DefinitionPlace, name: object, offset: int = 0
) -> Fault | None:
    """The fault of a word that is no phase and no other spelling of one."""
    if workflow.phase_spelt(str(name)) in workflow.phases:
        return None
    known = [*workflow.phases, *workflow.aliases]
    said = f"unknown phase {name!r}{did_you_mean(str(name), known)}"
    return Fault(at, said, offset=offset, data=misspelling(str(name), known))


# ---- questions --------------------------------------------------------------------------------


def unasked_questions(workflow: Workflow) -> Iterator[Fault]:
    """Questions that no rule opens and that nobody may answer unasked: nobody ever decides them."""
    asked = {rule.ask for _, rule in workflow.all_rules()}
    for question, declared in workflow.questions.items():
        if question not in asked and declared.offered is None:
            said = f"no rule asks question {question!r}"
            yield Fault(workflow.keys[f"questions.{question}"], said, Severity.WARNING)
