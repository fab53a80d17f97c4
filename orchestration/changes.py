"""The texts that effects change, each from what it was when the run was looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from .acts import Refused
from .documents import read_json
from .evaluate import Steps
from .files import File, join
from .findings import Edit
from .guards import Context, Expression, Template
from .json_edits import create
from .members import new_members
from .plans import Plan, master_plan_edits
from .snapshot import Snapshot
from .state_edits import with_updates, with_value
from .verdict import Verdict
from .workflow import Workflow, Write


class Changes:
    """New texts by path. `report` is what effects see under that name: the record at hand, and its data."""

    def __init__(self, snapshot: Snapshot, report: Mapping[str, Any], step: str, now: datetime):
        self.snapshot, self.workflow = snapshot, snapshot.workflow
        self.report, self.step, self.now = report, step, now
        self.texts: dict[str, str] = {}

    def edits(self) -> tuple[Edit, ...]:
        """What is to be written, in the order of the first change; what stays as it was is left out."""
        found = ((self._before(path), text) for path, text in self.texts.items())
        return tuple(
            Edit(file.path, file.digest if file.exists else None, text)
            for file, text in found
            if file.text != text
        )

    # ---- from definitions

    def apply(self, events: Sequence[str], steps: Steps) -> None:
        """The effects of events. All expressions are evaluated on `steps` before anything changes (A.14)."""
        writes = [write for event in events for write in self.workflow.effects.get(event, ())]
        context = self._context(steps)
        values = [(write, _path(context, write.path), _value(context, write.value)) for write in writes]
        for write, path, value in values:
            self._write(write, path, value)

    def follow(self, steps: Steps) -> None:
        """What the winning rule sets, the phase it leads to where the state names it, effects of an end."""
        verdict = steps.verdict
        if verdict.rule is None or verdict.kind == "none":
            return
        context = self._context(steps)
        values: dict[str, Any] = {path: _value(context, value) for path, value in verdict.rule.set.items()}
        stated = _stated_phase(self.workflow)
        if stated and _moves(verdict):
            values[stated] = verdict.to
        for path, value in values.items():
            self._set(path, value)
        if verdict.status == "complete":
            self.apply(("stop", f"{verdict.phase}.stop"), steps)

    def _context(self, steps: Steps) -> Context:
        sight, language = steps.sight, self.workflow.effects_language

        def known(name: str) -> object:
            if name == "report":
                return self.report
            value = sight.fact(name)
            # A set of tasks is a handle that only the context which made it can open.
            return context.keep(sight.context.members(name)) if language.is_set(name) else value

        variables = {**sight.context.variables, "step": self.step, "now": self.now}
        context = Context(language, variables, known, sight.context.records, sight.context.tasks)
        return context

    # ---- into texts

    def _write(self, write: Write, path: str, value: Any) -> None:
        if write.kind == "include":
            self._include(path, value)
        elif write.kind != "set":
            self._file(write.kind, path, value)
        elif path in self.workflow.artifacts:
            self._plan(path, value)
        else:
            self._set(path, value)

    def _set(self, path: str, value: Any) -> None:
        state = self.snapshot.state
        if state is None or not state.valid:
            raise Refused("the run has no state file that could be changed")
        folds = self.workflow.state is not None and self.workflow.state.fold_dotted
        self._change(state.path, lambda: _state(self.texts.get(state.path, state.text), path, value, folds))

    def _include(self, name: str, value: Any) -> None:
        """Members of a list whose elements are files; those that are there already are left as they are."""
        members = new_members(self.snapshot, name, value)
        self.texts |= members.files
        if members.listed:
            self._set(name, members.listed)

    def _plan(self, name: str, value: Any) -> None:
        """The edit of a plan that an effect came to; an empty map is none."""
        if not value:
            return
        held = self.snapshot.artifacts[name]
        if not isinstance(held.data, Plan):
            raise Refused(f"{held.path} is {held.state}; it cannot be changed")
        edit = getattr(master_plan_edits, value["edit"])
        self._change(held.path, lambda: edit(self.texts.get(held.path, held.text), *value["with"]))

    def _file(self, kind: str, path: str, value: Any) -> None:
        whole = join(self.snapshot.run, path)
        if not whole or whole == self.snapshot.run:
            raise Refused(f"{path!r} is no file below the root and is not written")
        before = self._before(whole)
        if before.exists and before.text is None and kind != "replace":
            raise Refused(f"{whole} exists and cannot be read; it is not overwritten")
        self._change(whole, lambda: _FILES[kind](self.texts.get(whole, before.text), value, whole))

    def _change(self, path: str, change: Callable[[], str]) -> None:
        try:
            self.texts[path] = change()
        except ValueError as error:
            raise Refused(f"{path} cannot be changed: {error}") from None

    def _before(self, path: str) -> File:
        return self.snapshot.looked.files.read(path)


def _moves(verdict: Verdict) -> bool:
    return verdict.kind in ("advance", "regress") and verdict.to is not None


def _stated_phase(workflow: Workflow) -> str:
    """The path in the state file that names the phase, where one does (seeds 001 and 002).

    Where actions lead from phase to phase it is theirs to write (seed 003).
    """
    source = workflow.phase
    if workflow.state is None or workflow.actions or not isinstance(source, Expression):
        return ""
    first, _, path = source.source.strip().partition(".")
    return path if first == "state" and path.replace(".", "").replace("_", "").isalnum() else ""


def _state(text: str, path: str, value: Any, folds: bool) -> str:
    """The state's text with a value at a dotted path or, for "*", a map merged in."""
    if path != "*":
        return with_value(text, path.split("."), value, folds)
    if not isinstance(value, dict):
        raise ValueError("what is merged in must be a map")
    return with_updates(text, value, folds)


# ---- whole files ------------------------------------------------------------------------------


def _created(before: str | None, value: Any, path: str) -> str:
    """A file that is there with the same content is kept as it is, so that a repetition changes nothing."""
    text = _text(value)
    if before is None:
        return text
    if before != text and not _same(before, text):
        raise Refused(f"{path} exists with other content; it is not overwritten")
    return before


def _same(before: str, text: str) -> bool:
    old, new = read_json(before), read_json(text)
    return old.readable and new.readable and old.data == new.data


def _appended(before: str | None, value: Any, path: str) -> str:
    old = before or ""
    line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    return f"{old}{'' if not old or old.endswith(chr(10)) else chr(10)}{line}\n"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else create(value)


_FILES: Mapping[str, Callable[[str | None, Any, str], str]] = {
    "create": _created,
    "append": _appended,
    "replace": lambda before, value, path: _text(value),
}


# ---- values -----------------------------------------------------------------------------------


def _path(context: Context, template: Template) -> str:
    for part in template.parts:
        outcome = None if isinstance(part, str) else context.value(part)
        if outcome and outcome.error is not None:
            raise Refused(f"the place {template.source!r} of an effect cannot be told: {outcome.error}")
    return context.text(template) or ""


def _value(context: Context, expression: Expression) -> Any:
    outcome = context.value(expression)
    if outcome.error is not None:
        raise Refused(f"the effect {expression.source!r} has no value: {outcome.error}")
    return _plain(outcome.value, expression.source)


def _plain(value: Any, source: str) -> Any:
    """A value as JSON has it, keys in the order in which the expression names them; maps of CEL have none."""
    if isinstance(value, list):
        return [_plain(item, source) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(value[key], source) for key in _in_order(value, source)}
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise Refused(f"the effect {source!r} gives {value}, which JSON does not have")


def _in_order(value: Mapping[Any, Any], source: str) -> Iterator[Any]:
    quoted = source.replace('"', "'")
    places = {key: quoted.find(f"'{key}'") for key in value}
    yield from sorted(value, key=lambda key: (places[key] < 0, places[key], str(key)))
