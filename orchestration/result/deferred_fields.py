"""Values of which some fields are made when somebody first looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

NO_PROPERTIES: Mapping[str, Any] = MappingProxyType({})


class DeferredFields:
    """Base of a frozen dataclass with slots: a field without a value is made when it is first asked for.

    Such a value equals one that has all its fields from the beginning, for whatever compares it asks for
    them. Two threads that ask at one moment make equal values, of which the later one stays.
    """

    __slots__ = ("_deferred", "_make_field", "_properties")

    _deferred: Iterable[str]
    _make_field: Callable[[str], Any]
    _properties: Mapping[str, Any]

    @classmethod
    def with_deferred(
        cls,
        known: dict[str, Any],
        deferred: Iterable[str],
        make: Callable[[str], Any],
        properties: Mapping[str, Any] = NO_PROPERTIES,
    ) -> Any:
        """A value with the `known` fields; `make(name)` gives each of the others, which are `deferred`.

        `properties` are those that rest on deferred fields, for who asks for them of very many values.
        """
        value = object.__new__(cls)
        own = {"_deferred": deferred, "_make_field": make, "_properties": properties}
        for name, each in {**known, **own}.items():
            object.__setattr__(value, name, each)
        return value

    def defer(
        self,
        deferred: Iterable[str],
        make: Callable[[str], Any],
        properties: Mapping[str, Any] = NO_PROPERTIES,
    ) -> None:
        """Let fields go that `make(name)` gives again as they were; `properties` as in `with_deferred`.

        To whoever holds the value it is the same: another thread finds a field's value, or has it made.
        """
        object.__setattr__(self, "_properties", properties)
        object.__setattr__(self, "_make_field", make)
        object.__setattr__(self, "_deferred", deferred)
        self.let_go()

    def let_go(self) -> None:
        """Let go what was made of deferred fields, if there are any: they are made again."""
        for name in getattr(self, "_deferred", ()):
            # One that nobody has asked for has no value.
            with suppress(AttributeError):
                object.__delattr__(self, name)

    def known_property(self, name: str) -> Any:
        """A property that was given beside deferred fields; None where none was."""
        return getattr(self, "_properties", NO_PROPERTIES).get(name)

    def __getattr__(self, name: str) -> Any:
        # Only what has no value comes here.
        if name not in getattr(type(self), "__dataclass_fields__", ()):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        value = object.__getattribute__(self, "_make_field")(name)
        object.__setattr__(self, name, value)
        return value
