"""The number of steps that judging data by a JSON Schema takes, counted without taking them.

A few references that each stand twice in the next one double the work with every level, and so does a schema
that uses itself twice. Here each pair of a part of the schema and a part of the data is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Keywords whose schemas judge the same data as the schema they stand in.
_SAME = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "$recursiveRef")
_SAME_BY_NAME = ("dependentSchemas", "dependencies")
# Keywords whose schemas judge the values of a map, or the items of a list.
_VALUES = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_NAMES = ("$id", "id", "$anchor", "$dynamicAnchor")


class TooManyStepsError(Exception):
    """Judging the data would take more steps than are allowed."""


def steps(schema: Any, data: Any, most: int) -> int:
    """The number of times that parts of the schema meet parts of the data; never less than it really is.

    Raises TooManyStepsError for more than `most`; the time it takes does not grow beyond that number either.
    """
    return _Steps(schema, most).count(schema, data)


class _Steps:
    def __init__(self, schema: Any, most: int):
        self.schema, self.most = schema, most
        self.named = dict(_named_parts(schema))
        # By the identities of a part of the schema and of the data: both live as long as this does.
        self.counted: dict[tuple[int, int], int] = {}

    def count(self, schema: Any, data: Any) -> int:
        if not isinstance(schema, dict):
            return 1
        pair = id(schema), id(data)
        if pair not in self.counted:
            # A schema that leads back to itself with the same data is not applied again.
            self.counted[pair] = 0
            found = 1
            for part, value in self._applicable_parts(schema, data):
                found += self.count(part, value)
                if found > self.most or len(self.counted) > self.most:
                    raise TooManyStepsError
            self.counted[pair] = found
        return self.counted[pair]

    def _applicable_parts(self, schema: Mapping[str, Any], data: Any) -> Iterator[tuple[Any, Any]]:
        for key in _SAME:
            for part in _as_list(schema.get(key, ())):
                yield (self._target(part) if isinstance(part, str) else part), data
        for key in _SAME_BY_NAME:
            yield from ((part, data) for part in _by_name(schema.get(key)).values())
        if isinstance(data, dict):
            declared = _by_name(schema.get("properties"))
            yield from ((declared[name], value) for name, value in data.items() if name in declared)
            patterns = _by_name(schema.get("patternProperties")).values()
            others = [*patterns, *(schema.get(key) for key in _VALUES)]
            parts = [part for part in others if isinstance(part, dict)]
            yield from ((part, value) for value in data.values() for part in parts)
        if isinstance(data, list):
            parts = [part for key in _ITEMS for part in _as_list(schema.get(key, ()))]
            yield from ((part, item) for item in data for part in parts)

    def _target(self, reference: str) -> Any:
        """The target of a reference, None outside of the schema."""
        base, hash_sign, inside = reference.partition("#")
        start = self.named.get(base, self.schema) if base else self.schema
        if not hash_sign or not inside:
            return start
        if not inside.startswith("/"):
            return self.named.get(inside)
        for word in inside.split("/")[1:]:
            key = word.replace("~1", "/").replace("~0", "~")
            if isinstance(start, list) and key.isdigit() and int(key) < len(start):
                start = start[int(key)]
            else:
                start = start.get(key) if isinstance(start, dict) else None
        return start


def _named_parts(schema: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a schema that have names of their own."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from ((part[key], part) for key in _NAMES if isinstance(part.get(key), str))
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()


def _as_list(part: Any) -> list[Any] | tuple[Any, ...]:
    return part if isinstance(part, (list, tuple)) else [part]


def _by_name(part: Any) -> Mapping[str, Any]:
    return part if isinstance(part, dict) else {}
