"""Carries out the `effects` of a definition: new texts of files, from their texts when the run was read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ..decision.decision import Decision
from ..definition.model import Workflow, Write
from ..evaluation.trace import CommandRefused, EvaluationTrace
from ..expressions.context import Context
from ..expressions.language import Expression, Template
from ..expressions.queries import dig
from ..findings import Edit
from ..formats.json_edits import create, merge_values, set_values
from ..formats.json_text import clean, fold_dotted, read_json
from ..plans.dialects import DIALECTS
from ..plans.model import FileParts, Plan
from ..snapshot.read_log import ArtifactState
from ..snapshot.snapshot import Snapshot
from ..snapshot.state_file import included_path
from ..snapshot.state_ratchets import restored_elements
from ..states import RunStatus, SuggestionKind
from ..vfs.files import File, join


class Cause(NamedTuple):
    """The occasion of effects: the record at hand with its data (`report` in expressions), the
    phase or action that it is of, and the events whose effects these are."""

    report: Mapping[str, Any]
    step: str
    events: tuple[str, ...]


class EffectRunner:
    """New texts by path, made one cause after the other."""

    def __init__(self, snapshot: Snapshot, now: datetime):
        self.snapshot, self.workflow, self.now = snapshot, snapshot.workflow, now
        self.texts: dict[str, str] = {}
        # Guards see them. Written to the file they would be elements of which most is missing.
        self._unwritten = restored_elements(snapshot.state) if snapshot.state else []

    def edits(self) -> tuple[Edit, ...]:
        """Edits of the changed files, in the order of the first change; what stays as it was is left out."""
        files = ((self._before(path), text) for path, text in self.texts.items())
        changed = ((file, text) for file, text in files if file.text != text)
        return tuple(Edit(file.path, file.digest if file.exists else None, text) for file, text in changed)

    def create(self, path: str, text: str) -> None:
        """A new file at a path from the root."""
        self._file("create", f"/{path}", text)

    # ---- from definitions

    def apply(self, cause: Cause, trace: EvaluationTrace) -> None:
        """The effects of a cause. All expressions are evaluated on `trace` before anything changes (A.14)."""
        context = self._context(cause, trace)
        values: list[tuple[Write, str, Any]] = []
        for event in cause.events:
            for write in self.workflow.effects.get(event, ()):
                path = _path(context, write.path, event)
                what = f"what {event} writes to {path or 'a file'}"
                values.append((write, path, _value(context, write.value, what, self._unwritten)))
        for write, path, value in values:
            if write.kind == "include":
                # Members that are there already are left as they are.
                members = new_members(self.snapshot, path, value)
                self.texts |= members.files
                if members.listed:
                    self._set(path, members.listed)
            elif write.kind != "set":
                self._file(write.kind, path, value)
            elif path in self.workflow.artifacts:
                self._plan(path, value)
            else:
                self._set(path, value)

    def follow(self, cause: Cause, trace: EvaluationTrace) -> None:
        """Write what the winning rule sets, the phase it leads to if the state names one; then the end."""
        decision = trace.decision
        if decision.rule is None or decision.kind == SuggestionKind.NONE:
            return
        context = self._context(cause, trace)
        values: dict[str, Any] = {
            path: _value(context, value, f"what {decision.rule.where} sets at {path}", self._unwritten)
            for path, value in decision.rule.set.items()
        }
        stated = stated_phase(self.workflow)
        if stated and moves_on(decision):
            values[stated] = decision.to
        for path, value in values.items():
            self._set(path, value)
        if decision.status == RunStatus.COMPLETE:
            self.apply(cause._replace(events=("stop", f"{decision.phase}.stop")), trace)

    def _context(self, cause: Cause, trace: EvaluationTrace) -> Context:
        facts, language = trace.facts, self.workflow.effects_language

        def fact(name: str) -> object:
            return cause.report if name == "report" else facts.context.fact(name).value_or_raise()

        variables = {**facts.context.variables, "step": cause.step, "now": self.now}
        return Context(language, variables, fact, facts.context.records, facts.context.tasks)

    # ---- into texts

    def _set(self, path: str, value: Any) -> None:
        """A value at a dotted path of the state or, for "*", a map merged in."""
        state = self.snapshot.state
        if state is None or not state.valid:
            raise CommandRefused("the run has no state file that could be changed")
        folds = self.workflow.state is not None and bool(self.workflow.state.dotted_keys)
        text = self.texts.get(state.path, state.text)
        if path != "*":
            self._change(state.path, lambda: with_value(text, path, value, folds))
        elif isinstance(value, dict):
            self._change(state.path, lambda: with_updates(text, value, folds))
        else:
            raise CommandRefused(f"{state.path} cannot be changed: what is merged in must be a map")

    def _plan(self, name: str, value: Any) -> None:
        """The edit of a plan that an effect came to; an empty map is none."""
        if not value:
            return
        artifact = self.snapshot.artifacts[name]
        if not isinstance(artifact.data, Plan):
            raise CommandRefused(f"{artifact.path} is {artifact.state}; it cannot be changed")
        dialect = DIALECTS[artifact.kind].for_unit(self.snapshot.place.unit)
        if dialect.parts:
            self._plan_of_files(dialect.parts, artifact, value["edit"], value["with"])
            return
        edit, arguments, before = value["edit"], value["with"], self.texts.get(artifact.path, artifact.text)
        self._change(artifact.path, lambda: dialect.edit(edit, before, arguments))
        for file, text in dialect.files_of_edit(edit, before, arguments).items():
            path = join(self.snapshot.folder, file) or ""
            if not self._before(path).exists:
                self._file("create", file, text)

    def _plan_of_files(
        self, parts: FileParts, artifact: ArtifactState, edit: str, arguments: Sequence[Any]
    ) -> None:
        paths = {self.snapshot.place.name(path): path for path in artifact.paths}
        texts = {name: self.texts.get(path, self._before(path).text or "") for name, path in paths.items()}
        try:
            edited = parts.edit(edit, texts, arguments)
        except ValueError as error:
            raise CommandRefused(f"{artifact.path} cannot be changed: {error}") from None
        self.texts |= {paths[name]: text for name, text in edited.items()}

    def _file(self, kind: str, path: str, value: Any) -> None:
        whole = self.snapshot.place.join(path)
        if not whole or whole == self.snapshot.folder:
            raise CommandRefused(f"{path!r} is no file below the root and is not written")
        before = self._before(whole)
        if before.exists and before.text is None and kind != "replace":
            raise CommandRefused(f"{whole} exists and cannot be read; it is not overwritten")
        self._change(whole, lambda: _written_text(kind, self.texts.get(whole, before.text), value, whole))

    def _change(self, path: str, change: Callable[[], str]) -> None:
        try:
            self.texts[path] = change()
        except ValueError as error:
            raise CommandRefused(f"{path} cannot be changed: {error}") from None

    def _before(self, path: str) -> File:
        return self.snapshot.reader.files.read(path)


def moves_on(decision: Decision) -> bool:
    """True if the run goes on to another phase."""
    return decision.kind.leads_elsewhere and decision.to is not None


def stated_phase(workflow: Workflow) -> str:
    """The path in the state file that names the phase, where one does (seeds 001 and 002).

    Where actions lead from phase to phase it is theirs to write (seed 003).
    """
    source = workflow.phase
    if workflow.state is None or workflow.actions or not isinstance(source, Expression):
        return ""
    first, _, path = source.source.strip().partition(".")
    return path if first == "state" and path.replace(".", "").replace("_", "").isalnum() else ""


# ---- the state file ---------------------------------------------------------------------------
#
# Guards see the state cleaned: null is absent, a key with dots is a path. A value computed from that and
# written back as it is would drop the nulls, and be hidden behind a key with dots. So nothing that guards
# do not see gets lost on the way.


def with_value(text: str, path: str, value: object, folds: bool) -> str:
    """The state's text with the value at a dotted path set. Raises ValueError as `set_values` does.

    `folds` says that the state is read with its dotted keys as paths.
    """
    filed = as_filed(value, dig(_object(text, folds), path))
    return _apply_change(text, folds, lambda old: set_values(old, [(tuple(path.split(".")), filed)]))


def with_updates(text: str, updates: Mapping[str, Any], folds: bool) -> str:
    """The state's text with `updates` merged in; a key with dots in them is a path (seed 003's stateUpdates).

    Raises ValueError as `merge_values` does.
    """
    filed = as_filed(fold_dotted(dict(updates))[0], _object(text, folds))
    return _apply_change(text, folds, lambda old: merge_values(old, filed))


def as_filed(value: Any, raw: object) -> Any:
    """The value, with each part that is still the one in the file as the file has it, nulls and all.

    Members of lists are recognised wherever they stand now.
    """
    if isinstance(raw, (dict, list)) and value == clean(raw):
        return raw
    if isinstance(value, dict) and isinstance(raw, dict):
        return {name: as_filed(item, raw.get(name)) for name, item in value.items()}
    if isinstance(value, list) and isinstance(raw, list):
        known = {_key(clean(item)): item for item in raw if isinstance(item, (dict, list))}
        return [known.get(_key(item), item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _apply_change(text: str, folds: bool, change: Callable[[str], str]) -> str:
    """The text changed. A key with dots that is there wins over its path, so it says the same afterwards."""
    after = change(text)
    dotted = fold_dotted(_object(text, False))[1] if folds else ()
    if not dotted:
        return after
    wanted = _object(change(create(_object(text, True))), False)
    return set_values(after, [((name,), dig(wanted, name)) for name in dotted])


def _object(text: str, folded: bool) -> dict[str, Any]:
    """The state file's object; it was read before, so it is one."""
    data = read_json(text).data
    assert isinstance(data, dict)
    return fold_dotted(data)[0] if folded else data


# ---- members of a list ------------------------------------------------------------------------
#
# The elements of a list of the state may be files (`state.include`): child sessions of seed 000. A member
# that is there is found again, so a repetition changes nothing: its file stays as it is, its id listed once.


class NewMembers(NamedTuple):
    """The files to make (path to text), and the whole list as it has to be then."""

    files: Mapping[str, str]
    listed: list[Any]


def new_members(snapshot: Snapshot, name: str, members: Any) -> NewMembers:
    """Add `members`, objects with an `id` each, to the list `name` of the state.

    Raises CommandRefused for what can be no member, and for a file that belongs to another member.
    """
    includes = snapshot.workflow.state.include if snapshot.workflow.state else {}
    listed = snapshot.state.raw.get(name) or [] if snapshot.state and snapshot.state.valid else None
    if name not in includes or not isinstance(listed, list):
        raise CommandRefused(f"{name} is no list of the state whose members are files")
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise CommandRefused(f"new members of {name} must be a list of objects")
    files: dict[str, str] = {}
    new: list[str] = []
    known = {_id(item) for item in listed}
    for member in members:
        path = included_path(includes[name].at, snapshot.folder, _id(member))
        if path is None:
            said = f"{_id(member)!r} is no id of a member of {name}: it has to be usable in a path"
            raise CommandRefused(said)
        there = snapshot.reader.files.read(path)
        if not there.exists:
            files.setdefault(path, create(member))
        elif _of_another(there, member):
            raise CommandRefused(f"{path} exists already and belongs to another")
        if _id(member) not in known:
            known.add(_id(member))
            new.append(_id(member))
    return NewMembers(files, [*listed, *new])


def _id(item: Any) -> str:
    return str(item.get("id", "") if isinstance(item, dict) else item)


def _of_another(there: File, member: Mapping[str, Any]) -> bool:
    """True if a file says that it is, or belongs to, another: its `id` or an id it refers to differs."""
    data = read_json(there.text or "").data
    return isinstance(data, dict) and any(
        str(data[key]) != str(value)
        for key, value in member.items()
        if (key == "id" or key.endswith("_id")) and data.get(key) is not None
    )


# ---- whole files ------------------------------------------------------------------------------


def _written_text(kind: str, before: str | None, value: Any, path: str) -> str:
    """The text of a file that an effect creates, replaces or appends a line to."""
    if kind == "append":
        line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
        end = "" if not before or before.endswith("\n") else "\n"
        return f"{before or ''}{end}{line}\n"
    text = value if isinstance(value, str) else create(value)
    if kind == "replace" or before is None or before == text:
        return text
    # A file that is there with the same content is kept as it is, so that a repetition changes nothing.
    old, new = read_json(before), read_json(text)
    if not (old.readable and new.readable and old.data == new.data):
        raise CommandRefused(f"{path} exists with other content; it is not overwritten")
    return before


# ---- values -----------------------------------------------------------------------------------


def _path(context: Context, template: Template, event: str) -> str:
    for part in template.parts:
        outcome = None if isinstance(part, str) else context.value(part)
        if outcome and outcome.error is not None:
            where = f"the place {template.source!r} that {event} writes to"
            raise CommandRefused(f"{where} cannot be told: {outcome.error}")
    return context.text(template) or ""


def _value(context: Context, expression: Expression, what: str, unwritten: Sequence[Any]) -> Any:
    """A value of an expression as JSON has it, without the elements of lists that are `unwritten` ones.

    Raises CommandRefused for what JSON has not.
    """
    outcome = context.value(expression)
    if outcome.error is not None:
        raise CommandRefused(f"{what} has no value: {outcome.error}")
    left_out = set(map(id, unwritten))

    def as_json(value: Any) -> Any:
        if isinstance(value, list):
            return [as_json(item) for item in value if id(item) not in left_out]
        if isinstance(value, dict):
            return {key: as_json(item) for key, item in value.items()}
        if isinstance(value, datetime):
            return value.isoformat()
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        raise CommandRefused(f"{what} is {value}, which JSON does not have")

    return as_json(outcome.value)
