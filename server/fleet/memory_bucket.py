"""The bucket of one process: a table behind one event loop, whose writes are atomic since none awaits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from time import monotonic
from typing import NamedTuple

from .bucket import HISTORY, KeyValue, require_key, require_lease


class _Row(NamedTuple):
    """The values of a key, the newest last, and when the newest ends; None where it stays."""

    entries: tuple[KeyValue, ...]
    ends: float | None


class MemoryBucket:
    """A `Bucket` that ends with its process. `clock` is in seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._revision = 0
        self._watchers: set[asyncio.Queue[KeyValue]] = set()

    async def get(self, key: str) -> KeyValue | None:
        require_key(key)
        entry = self._newest(key)
        return entry if entry and entry.value else None

    async def create(self, key: str, value: bytes) -> int | None:
        return self._write(key, value, None)

    async def compare_and_set(self, key: str, value: bytes, revision: int) -> int | None:
        return self._write(key, value, revision)

    async def lease(self, key: str, value: bytes, ttl_s: int, revision: int = 0) -> int | None:
        require_lease(value, ttl_s)
        return self._write(key, value, revision or None, ttl_s)

    async def history(self, key: str) -> tuple[KeyValue, ...]:
        require_key(key)
        return self._rows[key].entries if self._newest(key) else ()

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyValue | None, None]:
        changes: asyncio.Queue[KeyValue] = asyncio.Queue()
        self._watchers.add(changes)
        try:
            newest = [entry for key in self._rows if (entry := self._newest(key))]
            for entry in sorted(newest, key=lambda entry: entry.revision):
                if _is_below(entry.key, prefix):
                    yield entry
            yield None
            while True:
                entry = await changes.get()
                if _is_below(entry.key, prefix):
                    yield entry
        finally:
            self._watchers.discard(changes)

    def _newest(self, key: str) -> KeyValue | None:
        row = self._rows.get(key)
        if row and row.ends is not None and row.ends <= self._clock():
            row = self._rows.pop(key) and None
        return row.entries[-1] if row else None

    def _write(self, key: str, value: bytes, revision: int | None, ttl_s: int | None = None) -> int | None:
        """Write where the newest revision is `revision`; without one, where the key is free."""
        require_key(key, value)
        newest = self._newest(key)
        is_expected = newest.revision == revision if newest and revision is not None else not revision
        if not is_expected or (revision is None and newest and newest.value):
            return None
        self._revision += 1
        entry = KeyValue(key, value, self._revision)
        before = self._rows[key].entries if newest and ttl_s is None else ()
        ends = None if ttl_s is None else self._clock() + ttl_s
        self._rows[key] = _Row((*before, entry)[-HISTORY:], ends)
        for changes in self._watchers:
            changes.put_nowait(entry)
        return self._revision


def _is_below(key: str, prefix: str) -> bool:
    return not prefix or key.startswith(f"{prefix}.")
