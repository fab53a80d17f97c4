"""What an effect writes into a state file: nothing that guards do not see gets lost on the way.

Guards see the state cleaned: null is absent, a key with dots is a path. A value computed from that and
written back as it is would drop the nulls, and be hidden behind a key with dots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..expressions.queries import dig
from ..formats.json_edits import create, merge_values, set_values
from ..formats.json_text import clean, fold_dotted, read_json


def with_value(text: str, path: str, value: object, folds: bool) -> str:
    """The state's text with the value at a dotted path set. Raises ValueError as `set_values` does.

    `folds` says that the state is read with its dotted keys as paths.
    """
    filed = as_filed(value, dig(_object(text, folds), path))
    return _changed(text, folds, lambda old: set_values(old, [(tuple(path.split(".")), filed)]))


def with_updates(text: str, updates: Mapping[str, Any], folds: bool) -> str:
    """The state's text with `updates` merged in; a key with dots in them is a path (seed 003's stateUpdates).

    Raises ValueError as `merge_values` does.
    """
    filed = as_filed(fold_dotted(dict(updates))[0], _object(text, folds))
    return _changed(text, folds, lambda old: merge_values(old, filed))


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


def _changed(text: str, folds: bool, change: Callable[[str], str]) -> str:
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
