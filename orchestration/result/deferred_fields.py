"""Values of which some fields are made when somebody first looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any


class DeferredFields:
    """Base of a frozen dataclass with slots: a field without a value is made when it is first asked for.

    Such a value equals one that has all its fields from the beginning, for whatever compares it asks for
    them. Two threads that ask at one moment make equal values, of which the later one stays.
    """

    __slots__ = ("_make_field",)

    _make_field: Callable[[str], Any]

    @classmethod
    def with_deferred(cls, known: dict[str, Any], make: Callable[[str], Any]) -> Any:
        """A value with the `known` fields; `make(name)` gives every other one."""
        value = object.__new__(cls)
        for name, each in known.items():
            object.__setattr__(value, name, each)
        object.__setattr__(value, "_make_field", make)
        return value

    def let_go(self, names: Iterable[str], make: Callable[[str], Any]) -> None:
        """Forget the values of fields that `make(name)` gives again as they were.

        To whoever holds the value it is the same: another thread finds a field's value, or has it made.
        """
        object.__setattr__(self, "_make_field", make)
        for name in names:
            # One that nobody has asked for has none.
            with suppress(AttributeError):
                object.__delattr__(self, name)

    def __getattr__(self, name: str) -> Any:
        # Only what has no value comes here.
        if name not in getattr(type(self), "__dataclass_fields__", ()):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        value = object.__getattribute__(self, "_make_field")(name)
        object.__setattr__(self, name, value)
        return value
