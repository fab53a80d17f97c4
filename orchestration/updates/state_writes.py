"""The changes of the state that a report asks for, cut down to what `writes` of its step permits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..decision.decision import step_of
from ..definition.model import Workflow
from ..definition.state_changes import ANY, StateChange, normal_word, normal_words, parts_of
from ..evaluation.trace import CommandRefused, EvaluationTrace
from ..expressions.queries import dig
from ..formats.json_text import clean, fold_dotted
from ..snapshot.word_lists import unknown_word_message, values_at

MOST_NOTES = 20
_MOST_NOTE = 200
_MOST_WRITERS = 4
_Path = tuple[str, ...]
_UPDATES = "stateUpdates"


class PermittedUpdates(NamedTuple):
    """The part of a report's `stateUpdates` that may be written, and why the rest may not, a line each."""

    updates: Any
    ignored: tuple[str, ...] = ()


def permitted_updates(
    trace: EvaluationTrace, step: str, updates: Any, events: Sequence[str]
) -> PermittedUpdates:
    """Cut a report's updates down to what its step may write; without any `writes` all of it is permitted.

    What is no map is left to the effect that would write it. Raises CommandRefused for a list of what is left
    that names what was not there.
    """
    workflow, state = trace.facts.workflow, trace.facts.snapshot.state
    if not workflow.limits_writes or not isinstance(updates, dict) or state is None or not state.valid:
        return PermittedUpdates(updates)
    folded = fold_dotted(updates)[0]
    folds = workflow.state is not None and bool(workflow.state.dotted_keys)
    raw = fold_dotted(state.raw)[0] if folds else state.raw
    declared = step_of(workflow, step)
    read = _reads_updates(workflow, events)
    why = "its reports do not write it" if read else "a report with this outcome writes nothing"
    steps = (*workflow.phases.values(), *workflow.actions.values()) if read else ()
    writers = [(each.id, way) for each in steps for way in each.changes]
    cut = _PermitFilter(declared.changes if declared and read else {}, raw, state.data, why, writers)
    cut.map((), folded)
    notes = [note[:_MOST_NOTE] for note in cut.notes[:MOST_NOTES]]
    more = len(cut.notes) - len(notes)
    return PermittedUpdates(cut.permitted, (*notes, *([f"and {more} more"] if more > 0 else [])))


def _reads_updates(workflow: Workflow, events: Sequence[str]) -> bool:
    """True if an effect of these events looks at the updates at all: else nothing of them is written."""
    writes = (write for event in events for write in workflow.effects.get(event, ()))
    paths = {path for write in writes for path in write.value.paths}
    own = {path[1:] for path in paths if path[0] == "report"}
    whole = {(), ("data",)}
    return any(path in whole or path[0] == _UPDATES or path[:2] == ("data", _UPDATES) for path in own)


def refuse_placeholders(trace: EvaluationTrace, step: str, data: Mapping[str, Any]) -> None:
    """Raises CommandRefused for data that still holds a text of the form to fill, as `<pass or fail>`."""
    workflow = trace.facts.workflow
    declared = step_of(workflow, step)
    example = trace.facts.context.value(declared.data).value if declared and declared.data and data else None
    forms = {text for _, text in _texts(example, ()) if text.startswith("<") and text.endswith(">")}
    for path, text in _texts(data, ()) if forms else ():
        if text in forms:
            said = f"nothing was recorded: fill in the form, {'.'.join(path)} is still {text!r}"
            raise CommandRefused(said)


def refuse_unknown_words(trace: EvaluationTrace, updates: Any) -> None:
    """Raises CommandRefused for updates that put a word where `words` of the state declare others, be it at a
    place that the step may not write. A word that stands there already may be told again."""
    workflow, state = trace.facts.workflow, trace.facts.snapshot.state
    if workflow.state is None or state is None or not isinstance(updates, dict):
        return
    folded = fold_dotted(updates)[0]
    for declared, known in workflow.state.words.items():
        parts, words = parts_of(declared), normal_words(known)
        old = [value for _, value in values_at(state.data, parts)]
        for path, value in values_at(folded, parts):
            if isinstance(value, str) and normal_word(value) not in words and value not in old:
                wrong = unknown_word_message(path, value, known)
                raise CommandRefused(f"nothing was recorded: in stateUpdates {wrong}")


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    """(path, text) of every text in the data."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, (*path, str(name)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, str(index)))


@dataclass
class _PermitFilter:
    """The updates that are permitted so far, over the state as its file has it and as guards see it."""

    permits: Mapping[_Path, StateChange]
    raw: Any
    seen: Any
    otherwise: str
    writers: Sequence[tuple[str, _Path]] = ()
    """The steps whose reports write a path."""
    permitted: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def map(self, path: _Path, updates: Mapping[str, Any]) -> None:
        """Judge each key of a map by the nearest path that is permitted."""
        for name, value in updates.items():
            self.value((*path, name), value)

    def value(self, path: _Path, value: Any) -> None:
        """Judge a value: a map by what is permitted below it, everything else by the path itself."""
        deeper = any(len(way) > len(path) and _fits(way, path) for way in self.permits)
        if isinstance(value, dict) and value and deeper:
            self.map(path, value)
        elif value is None or not self.is_unchanged(path, clean(value)):
            self.change(path, value)

    def is_unchanged(self, path: _Path, value: Any) -> bool:
        """True if guards see the value and the file says no other, as it does where that was loosened."""
        filed = clean(dig(self.raw, ".".join(path)))
        return value == dig(self.seen, ".".join(path)) and filed in (None, value)

    def change(self, path: _Path, value: Any) -> None:
        how = self._how(path)
        if how is None:
            found = [step for step, way in self.writers if _fits(way, path)]
            steps = ", ".join(dict.fromkeys(found[:_MOST_WRITERS]))
            self.note(path, f"{self.otherwise}; those of {steps} do" if steps else self.otherwise)
        elif how.set:
            self.set(path, value, how.set)
        elif how.increment:
            before = dig(self.seen, ".".join(path))
            is_next = type(value) is int and type(before) is int and value == before + 1
            self.keep(path, value) if is_next else self.note(path, f"it is {before}, and goes up by one")
        else:
            self.list(path, value, how)

    def _how(self, path: _Path) -> StateChange | None:
        """The change permitted at a path: of the path itself, or any value of the nearest map around it."""
        for length in range(len(path), 0, -1):
            for way, how in self.permits.items():
                if len(way) == length and _fits(way, path) and (length == len(path) or ANY in how.set):
                    return how
        return None

    def set(self, path: _Path, value: Any, words: Sequence[str]) -> None:
        if _is_word(value, words):
            self.keep(path, value)
        else:
            self.note(path, f"it is set to one of {', '.join(words)}")

    def list(self, path: _Path, value: Any, how: StateChange) -> None:
        """Judge a list element by element: those of before stay but for what is permitted."""
        raw, seen = dig(self.raw, ".".join(path)), dig(self.seen, ".".join(path))
        before = raw if isinstance(raw, list) else seen or []
        if not isinstance(value, list) or not isinstance(before, list):
            if isinstance(before, list):
                raise CommandRefused(f"nothing was recorded: {'.'.join(path)} is a list, and stays one")
            self.note(path, "it is no list")
            return
        old, new = _by_key(before, how.by), _by_key(_whole_elements(value, before, how.by), how.by)
        if how.remove and old.keys() - new.keys() and (strange := new.keys() - old.keys()) and not how.append:
            self.refuse_names(path, [_name(new[key], how.by) for key in new if key in strange], old, how.by)
        order = [key for key in new if key in old]
        if order != [key for key in old if key in new]:
            self.note(path, "its elements stay in their order, whatever else it says of them")
        merged: list[Any] = []
        for index, (key, item) in enumerate(old.items()):
            if key in new:
                merged.append(self.element((*path, _name(item, how.by)), item, new[key], how))
            elif not (how.remove == ANY or (how.remove == "first" and index == 0)):
                merged.append(item)
                # What is not mentioned is not meant to go, but for where some may, or none is left.
                if how.remove or not new:
                    only = "only the first is taken out" if how.remove else "its elements stay"
                    self.note((*path, _name(item, how.by)), only)
        of_maps = bool(before) and all(isinstance(item, dict) for item in before)
        for item in (item for key, item in new.items() if key not in old):
            if of_maps and not isinstance(item, dict):
                self.note((*path, _name(item, how.by)), f"no element has this {how.by}")
            elif fault := _append_fault(item, how):
                self.note((*path, _name(item, how.by)), fault)
            else:
                merged.append(item)
        if merged != before:
            self.keep(path, merged)

    def refuse_names(
        self, path: _Path, strange: Sequence[str], old: Mapping[tuple[str, int], Any], by: str
    ) -> None:
        """Raises CommandRefused: what is left was named wrongly, and so would be taken for gone."""
        what, known = ".".join(path), ", ".join(_name(item, by)[:60] for item in old.values())
        said = f"{what} names {', '.join(name[:60] for name in strange)}, which it does not have"
        raise CommandRefused(f"nothing was recorded: {said}; it has {known}, and lists those that are left")

    def element(self, path: _Path, item: Any, wanted: Any, how: StateChange) -> Any:
        """An element of a list with the fields changed that may change."""
        if not isinstance(item, dict) or not isinstance(wanted, dict):
            return item
        changed = dict(item)
        for name, value in wanted.items():
            if clean(value) == clean(item.get(name)):
                continue
            words = how.update.get(name, ())
            if _is_word(value, words):
                changed[name] = value
            else:
                why = f"it is set to one of {', '.join(words)}" if words else "it stays as it is"
                self.note((*path, name), why)
        return changed

    def keep(self, path: _Path, value: Any) -> None:
        below = self.permitted
        for name in path[:-1]:
            below = below.setdefault(name, {})
        below[path[-1]] = value

    def note(self, path: _Path, why: str) -> None:
        self.notes.append(f"{'.'.join(part[:60] for part in path)}: {why}")


def _fits(way: _Path, path: _Path) -> bool:
    """True if a way and a path are the same as far as both go; a * is any key."""
    return all(one in ("*", other) for one, other in zip(way, path, strict=False))


def _is_word(value: Any, words: Sequence[str]) -> bool:
    """True if a value, or each element of a list, is one of the words; what is no text by its JSON."""
    if ANY in words:
        return True
    if isinstance(value, list):
        return all(not isinstance(item, (list, dict)) and _is_word(item, words) for item in value)
    return (value if isinstance(value, str) else json.dumps(value)) in words


def _by_key(items: Sequence[Any], by: str) -> dict[tuple[str, int], Any]:
    """The elements of a list by what tells them apart; of several that are the same, each by its number."""
    counts: Counter[str] = Counter()
    keyed: dict[tuple[str, int], Any] = {}
    for item in items:
        own = item.get(by) if isinstance(item, dict) else None
        key = json.dumps(clean(item) if own is None else {by: own}, sort_keys=True)
        counts[key] += 1
        keyed[key, counts[key]] = item
    return keyed


def _whole_elements(items: Sequence[Any], before: Sequence[Any], by: str) -> list[Any]:
    """The elements of a list, those of before whole that are named by nothing but what tells them apart."""
    maps = (item for item in before if isinstance(item, dict))
    known = {item[by]: item for item in maps if isinstance(item.get(by), str)}
    return [known.get(item, item) if isinstance(item, str) else item for item in items]


def _name(item: Any, by: str) -> str:
    """The name of an element in a note."""
    own = item.get(by) if isinstance(item, dict) else item
    return own if isinstance(own, str) else json.dumps(item if own is None else own)


def _append_fault(item: Any, how: StateChange) -> str:
    """Why an element cannot be added; "" where it can."""
    if how.append is None:
        return "no element is added"
    fields = {} if isinstance(how.append, str) else how.append
    for name, words in fields.items():
        if not isinstance(item, dict) or (name in item and not _is_word(item[name], words)):
            return f"an element is added with {name} {' or '.join(words)}"
    return ""
