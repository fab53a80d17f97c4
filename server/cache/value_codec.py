"""Values of an evaluation as JSON that gives equal values back, of the same types.

A scalar stands for itself; all else is an array that begins with a number: of a container its kind, of a
class its place in `CLASSES`. Only these classes are ever made of what a file says. The numbers hold for one
state of the code, whose digest every cache carries.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from types import MappingProxyType, ModuleType
from typing import Any

from ...orchestration import findings, states
from ...orchestration.journal.journal import Claim
from ...orchestration.plans import model, schedule
from ...orchestration.result import values

MOST_LEVELS = 60
"""Values that lie deeper are not kept: to read them must not depend on who asks."""


class NotEncodable(Exception):  # noqa: N818 - nothing went wrong: the value is not kept
    """A value is of a type, or as deep, that it cannot be kept."""


def _classes(module: ModuleType) -> list[type]:
    found = (each for _, each in inspect.getmembers(module, inspect.isclass))
    own = [each for each in found if each.__module__ == module.__name__]
    return [each for each in own if is_dataclass(each) or issubclass(each, (tuple, StrEnum))]


_TUPLE, _LIST, _DICT, _PROXY, _FROZEN_SET = range(5)
CLASSES: tuple[type, ...] = (
    *(tuple, list, dict, MappingProxyType, frozenset),
    *(each for module in (findings, states, model, schedule, values) for each in _classes(module)),
    Claim,
)
_NUMBERS = {each: number for number, each in enumerate(CLASSES)}
_SCALARS = frozenset((str, int, bool, float, type(None)))


_LEFT_OUT = {(model.Plan, "memory")}
"""Fields that are no part of their value."""


def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if (kind, each.name) not in _LEFT_OUT)


_FIELDS = {each: _field_names(each) for each in CLASSES if is_dataclass(each)}
# A reader of two names and more gives a tuple.
_READERS = {kind: attrgetter(*names) for kind, names in _FIELDS.items() if len(names) > 1}


def encode(value: object) -> str:
    """A line of ASCII. Raises NotEncodable."""
    try:
        return json.dumps(_encode(value, 0), separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise NotEncodable(str(error)) from error


def _encode(value: Any, level: int) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    number = _NUMBERS.get(kind)
    if number is None or level > MOST_LEVELS:
        raise NotEncodable(f"{kind.__name__} at level {level}")
    level += 1
    if read := _READERS.get(kind):
        return [number, *_encode_each(read(value), level)]
    if names := _FIELDS.get(kind):
        return [number, *_encode_each([getattr(value, name) for name in names], level)]
    if issubclass(kind, StrEnum):
        return [number, value.value]
    if kind is dict or kind is MappingProxyType:
        return [number, *_encode_each(chain.from_iterable(value.items()), level)]
    if kind is frozenset:
        # In one order, so that equal values have equal texts.
        return [number, *sorted(_encode_each(value, level), key=repr)]
    return [number, *_encode_each(value, level)]


def _encode_each(values: Iterable[Any], level: int) -> list[Any]:
    # Most of them are scalars, and a call costs more than they do.
    return [each if type(each) in _SCALARS else _encode(each, level) for each in values]


def decode(text: str | bytes) -> Any:
    """The value of a text that `encode` made."""
    return decode_parsed(json.loads(text))


def decode_parsed(data: Any) -> Any:
    """The value of such a text that was read as JSON."""
    if type(data) is not list:
        return data
    return _MAKERS[data[0]]([decode_parsed(each) if type(each) is list else each for each in data[1:]])


def _maker(kind: type) -> Callable[[list[Any]], Any]:
    if names := _FIELDS.get(kind):
        if names == tuple(each.name for each in fields(kind)):
            return lambda items: kind(*items)
        return lambda items: kind(**dict(zip(names, items, strict=True)))
    if issubclass(kind, StrEnum):
        return lambda items: kind(items[0])
    if hasattr(kind, "_make"):
        return kind._make  # pyright: ignore[reportAttributeAccessIssue]
    if kind is dict:
        return _dict_of
    if kind is MappingProxyType:
        return lambda items: MappingProxyType(_dict_of(items))
    return kind


def _dict_of(items: list[Any]) -> Mapping[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


_MAKERS = tuple(map(_maker, CLASSES))
