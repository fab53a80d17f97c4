"""Ratchets of the state: of a value that was loosened, the state has the one before.

Nothing but a report, a person or a commit may loosen such a value.

What a value was is told by the records, which keep the values of each command, else by the commit HEAD,
else, for a limit of a run that has no journal, by the state's defaults. With none of them nothing is known.
A looser value that stands in the file does not count until HEAD has it or a person confirmed it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import getitem
from typing import Any

from ..definition.inputs import StateFile
from ..definition.model import Workflow
from ..definition.state_changes import Ratchet, fits, is_same_value, parts_of, ratchet_of
from ..findings import Problem, Span
from ..formats.json_text import clean, fold_dotted, lay_under, read_json
from ..journal.baseline import read_baseline
from ..journal.journal import Record
from ..vfs.files import decode, digest_of
from .read_log import ArtifactState, LoosenedValue, RunReader

_MOST_FINDINGS = 20

_Names = tuple[str, ...]
_Path = tuple[str | int, ...]


def state_values(declared: StateFile, data: object) -> dict[_Names, Any]:
    """The values at the paths that have a ratchet, by their names.

    A member that is no text or number is true; where the order has a rank for no value, that is None.
    """
    found: dict[_Names, Any] = {}
    for path, said in declared.ratchet.items():
        ratchet = ratchet_of(said)
        for names, value in _values(data, parts_of(path), ratchet.by):
            is_plain = type(value) in (str, int, float)
            if value is not None or ratchet.ranks_absence:
                found[names] = value if is_plain or value is None or not ratchet.members else True
    return found


def known_behind(
    declared: StateFile, values: Mapping[_Names, Any], known: Mapping[_Names, Any]
) -> dict[_Names, str]:
    """Element of a list -> the nearest one behind it that is known, by its name, where there is one."""
    nearest = _nearest_behind(values, known)
    new = ((names, name) for names, name in nearest.items() if name and names not in known)
    return {names: name for names, name in new if _is_element(declared, names)}


def merge_orders(written: Iterable[_Names], counted: Iterable[_Names]) -> list[_Names]:
    """The names of both, as the first has them; those that the second adds before what follows them there."""
    present = dict.fromkeys(written)
    ahead: dict[_Names, list[_Names]] = {}
    waiting: list[_Names] = []
    for names in counted:
        if names in present:
            ahead[names], waiting = waiting, []
        else:
            waiting.append(names)
    merged = [each for names in present for each in (*ahead.get(names, ()), names)]
    return [*merged, *waiting]


def moved_elements(
    declared: StateFile, values: Mapping[_Names, Any], known: Mapping[_Names, Any]
) -> dict[_Names, str]:
    """Known element of a list that stands elsewhere than it did -> the one behind it, the last ones first."""
    moved: dict[_Names, str] = {}
    were = _siblings(known, values)
    for parent, now in _siblings(values, known).items():
        before = were[parent]
        if now == before or not _is_element(declared, now[0]):
            continue
        pairs = zip(reversed(now), reversed(before), strict=True)
        alike = next(number for number, (one, other) in enumerate(pairs) if one != other)
        # What is behind them all stays where it is.
        following = [*reversed(now[: len(now) - alike + 1])] if alike else [*reversed(now)]
        moved |= {names: behind[-1] for behind, names in pairwise(following)}
    return moved


def _siblings(values: Mapping[_Names, Any], among: Mapping[_Names, Any]) -> dict[_Names, list[_Names]]:
    """The names before the last -> those names in order that the other values have too."""
    found: dict[_Names, list[_Names]] = {}
    for names in values:
        if names in among:
            found.setdefault(names[:-1], []).append(names)
    return found


def _is_element(declared: StateFile, names: _Names) -> bool:
    found = _ratchet_at(declared, names)
    return found is not None and found[1].members and found[0][-1] == "[]"


def ratchet_state(
    workflow: Workflow, state: ArtifactState, records: Sequence[Record], reader: RunReader
) -> ArtifactState:
    """The state with each value that was loosened as it was, and a finding at its place."""
    declared = workflow.state
    if not declared or not declared.ratchet or not state.valid:
        return state
    loosened = _loosened_values(workflow, declared, state, records, reader)
    # Of an element that is gone all is put back, unless its list may lose some.
    gone = {each.names for each in loosened if each.gone}
    loosened = [each for each in loosened if not _is_inside_lost(each, state) or _below(each.names, gone)]
    if not loosened:
        return state
    reported = _outermost(loosened)
    reader.add_findings(state.path, [_problem(each, state) for each in reported[:_MOST_FINDINGS]])
    if len(reported) > _MOST_FINDINGS:
        said = f"and {len(reported) - _MOST_FINDINGS} more values that are looser than they were"
        reader.add_finding(state.path, "state-loosened", said, Span(0, 0, 0, 1))
    data = copy.deepcopy(state.data)
    # Members first, the outer ones before the inner: what they hold is put into them.
    for each in sorted(loosened, key=lambda each: (not each.gone, len(each.names))):
        _put_back(data, each)
    return state._replace(data=data, loosened=tuple(loosened))


def loosened_values(state: ArtifactState | None) -> list[LoosenedValue]:
    """The values that are looser than they were, without those of elements that are gone."""
    return _outermost(state.loosened) if state else []


def _outermost(loosened: Sequence[LoosenedValue]) -> list[LoosenedValue]:
    """An element that is gone once, and nothing of what it held."""
    gone = {each.names for each in loosened if each.gone}
    return [each for each in loosened if (each.gone or not each.lost) and not _below(each.names, gone)]


def _is_inside_lost(loosened: LoosenedValue, state: ArtifactState) -> bool:
    """True if what holds a value is not in the file any more."""
    if not loosened.gone:
        return loosened.lost
    parts, names = loosened.parts[:-1], loosened.names[:-1]
    return _place(parts, names, state.data, loosened.ratchet.by)[2]


def restored_elements(state: ArtifactState) -> list[Any]:
    """The maps that were put back into lists, with no more than what a ratchet compares of them."""
    gone = (each for each in state.loosened if each.gone and each.parts[-1] == "[]")
    places = (_place(each.parts, each.names, state.data, each.ratchet.by) for each in gone)
    elements = (reduce(getitem, path, state.data) for _, path, is_lost in places if not is_lost)
    return [element for element in elements if isinstance(element, dict)]


def committed_digest(state: ArtifactState, reader: RunReader) -> str:
    """The digest of the state in the commit HEAD, "" where it is not there."""
    committed = reader.read_committed(state.path)
    return "" if committed is None else digest_of(committed)


# ---- what was before ----------------------------------------------------------------------------


def _loosened_values(
    workflow: Workflow,
    declared: StateFile,
    state: ArtifactState,
    records: Sequence[Record],
    reader: RunReader,
) -> list[LoosenedValue]:
    baseline, now = read_baseline(records), state_values(declared, state.data)
    if baseline.head is None:
        before = _committed_values(declared, state, reader)
        if before is None:
            before = {} if records else _default_limits(workflow, declared)
        return list(_compare(declared, state, before, now))
    found = list(_compare(declared, state, baseline.state, now))
    if not found or committed_digest(state, reader) == baseline.head:
        return found
    # HEAD was written since: what it has counts, and where the file is looser still, HEAD's holds.
    committed = _committed_values(declared, state, reader)
    if committed is None:
        return found
    before = {each.names: _looser(each, committed.get(each.names)) for each in found}
    return list(_compare(declared, state, before, now))


def _looser(loosened: LoosenedValue, committed: Any) -> Any:
    return committed if loosened.ratchet.loosens(loosened.before, committed) else loosened.before


def _compare(
    declared: StateFile, state: ArtifactState, before: Mapping[_Names, Any], now: Mapping[_Names, Any]
) -> Iterator[LoosenedValue]:
    behind: dict[_Names, str] | None = None
    last: dict[_Names, str] = {}
    for names, value in before.items():
        ahead, last[names[:-1]] = last.get(names[:-1], ""), names[-1]
        found = None if is_same_value(value, now.get(names)) else _ratchet_at(declared, names)
        if not found:
            continue
        parts, ratchet = found
        name, path, lost = _place(parts, names, state.data, ratchet.by)
        # Of an element that is gone every value is told, so that it can be put back as it was.
        is_part = lost and value is not None and not ratchet.members
        if is_part or ratchet.loosens(value, now.get(names)):
            if ratchet.members and behind is None:
                behind = _nearest_behind(before, now)
            following = behind[names] if ratchet.members and behind else ""
            neighbours = ahead, following
            yield LoosenedValue(names, name, path, value, now.get(names), parts, ratchet, lost, neighbours)


def _nearest_behind(before: Mapping[_Names, Any], now: Mapping[_Names, Any]) -> dict[_Names, str]:
    """Names -> the last of the nearest names behind them that are still there; "" for none."""
    found: dict[_Names, str] = {}
    nearest: dict[_Names, str] = {}
    for names in reversed([*before]):
        found[names] = nearest.get(names[:-1], "")
        if names in now:
            nearest[names[:-1]] = names[-1]
    return found


def _committed_values(
    declared: StateFile, state: ArtifactState, reader: RunReader
) -> dict[_Names, Any] | None:
    """The values that the commit HEAD has; None where the state is not there or cannot be read."""
    committed = reader.read_committed(state.path)
    file = decode(state.path, committed) if committed is not None else None
    if file is None or file.text is None:
        return None
    document = reader.parse_cached("json", file, read_json)
    if not isinstance(document.data, dict):
        return None
    said = fold_dotted(document.data)[0] if declared.dotted_keys else document.data
    data: Any = clean(said)
    return state_values(declared, lay_under(data, dict(declared.defaults)))


def _default_limits(workflow: Workflow, declared: StateFile) -> dict[_Names, Any]:
    """The defaults of what sets how often something may happen at most."""
    values = state_values(declared, dict(declared.defaults))
    return {
        names: value for names, value in values.items() if f"state.{'.'.join(names)}" in workflow.limiting
    }


# ---- paths --------------------------------------------------------------------------------------


def _values(value: Any, parts: _Names, by: str, names: _Names = ()) -> Iterator[tuple[_Names, Any]]:
    """The values at declared parts, each with its names; None for one that its map lacks."""
    if not parts:
        yield names, value
    elif parts[0] == "[]":
        items = value if isinstance(value, list) else ()
        for name, item in zip(_names_of(items, by), items, strict=True):
            yield from _values(item, parts[1:], by, (*names, name))
    elif isinstance(value, dict):
        for name in value if parts[0] == "*" else (parts[0],):
            yield from _values(value.get(name), parts[1:], by, (*names, name))


def _names_of(items: Sequence[Any], by: str) -> list[str]:
    """The names that tell the elements of a list apart; of several that are the same each has its number."""
    names: list[str] = []
    counts: dict[str, int] = {}
    for item in items:
        own = item.get(by) if isinstance(item, dict) else item
        name = own if isinstance(own, str) else "" if own is None else json.dumps(own, sort_keys=True)
        counts[name] = counts.get(name, 0) + 1
        names.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return names


def _below(names: _Names, gone: set[_Names]) -> bool:
    return any(names[:length] in gone for length in range(1, len(names)))


def _ratchet_at(declared: StateFile, names: _Names) -> tuple[_Names, Ratchet] | None:
    """(the declared parts that names are of, their ratchet); None where none is declared any more."""
    for path, said in declared.ratchet.items():
        if fits(parts := parts_of(path), names):
            return parts, ratchet_of(said)
    return None


def _place(parts: _Names, names: _Names, data: Any, by: str) -> tuple[str, _Path, bool]:
    """(the path for people, as "issues[I-1].severity"; that in the file; if an element on it is gone)."""
    shown, path, lost = "", list[str | int](), False
    for part, name in zip(parts, names, strict=True):
        shown += f"[{name}]" if part == "[]" else f".{name}"
        step: str | int = name
        if part == "[]":
            known = _names_of(data, by) if isinstance(data, list) else []
            step = known.index(name) if name in known else -1
            lost |= step == -1
            data = data[step] if step != -1 else None
        else:
            lost |= part == "*" and not (isinstance(data, dict) and name in data)
            data = data.get(name) if isinstance(data, dict) else None
        path += [] if lost else [step]
    return shown.removeprefix("."), tuple(path), lost


def _put_back(data: Any, loosened: LoosenedValue) -> None:
    """Set a value at its names; an element that is gone is added as far as it is known."""
    parts, ratchet, value = loosened.parts, loosened.ratchet, loosened.before
    for number, (part, name) in enumerate(zip(parts, loosened.names, strict=True)):
        is_last = number == len(parts) - 1
        if part == "[]":
            if not isinstance(data, list):
                return
            known = _names_of(data, ratchet.by)
            if name not in known and is_last and ratchet.members:
                # Of a member that is a file of its own the list in a commit has the id alone.
                is_map = value is True or any(isinstance(item, dict) for item in data)
                # The one ahead of it tells where it stood, else the next one behind it that is left.
                ahead, behind = loosened.neighbours
                at = known.index(ahead) + 1 if ahead in known else len(data)
                at = known.index(behind) if ahead not in known and behind in known else at
                data.insert(at, {ratchet.by: name} if is_map else value)
            if name not in known or is_last:
                return
            data = data[known.index(name)]
        elif not isinstance(data, dict):
            return
        elif not is_last:
            data = data.setdefault(name, [] if parts[number + 1] == "[]" else {})
        elif ratchet.members:
            data.setdefault(name, {})
        elif value is None:
            data.pop(name, None)
        else:
            data[name] = value


def _problem(loosened: LoosenedValue, state: ArtifactState) -> Problem:
    lengths = range(len(loosened.path), 0, -1)
    span = next(filter(None, (state.span(loosened.path[:length]) for length in lengths)), Span(0, 0, 0, 1))
    message = f"{loosened.change}; that counts once a person accepts or commits it"
    data: dict[str, Any] = {"question": "state"}
    data |= {} if loosened.gone else {"path": loosened.path, "value": loosened.before}
    return Problem("state-loosened", message, span, data=data)
