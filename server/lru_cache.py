"""A cache that keeps the values that were used last, up to a limit of their sizes together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Values by key; the one not used for longest goes first. One counts 1 unless `size` says more."""

    def __init__(self, limit: int, size: Callable[[V], int] = lambda _: 1) -> None:
        self._limit, self._size_of = limit, size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._size = 0

    def get(self, key: K) -> V | None:
        """The value, which counts as used now; None where there is none."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def __iter__(self) -> Iterator[K]:
        """The keys, that of the value not used for longest first."""
        return iter(self._values)

    def keep(self, key: K, value: V) -> None:
        """Keep a value in place of the one before. One that is larger than the limit goes at once."""
        self.drop(key)
        self._values[key] = value
        self._size += self._size_of(value)
        while self._size > self._limit:
            self.drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        """Forget a value, if there is one."""
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))
