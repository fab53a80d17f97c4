"""The port to what machines share: a key-value bucket with compare-and-set, of six calls.

A bucket holds small values by key. Each write gets a revision; revisions of a bucket only grow, whatever any
clock says, so that one is a fencing token: who writes under an older one is refused. Only a write decides.
What `get` says may be old by the time it is read, and after a fail-over it may come from a server that does
not lead any more; it is for showing, and for the revision that the next write is tried with.

`memory_bucket` has it for one process, `nats_bucket` for many machines; `tests/server/fleet/test_bucket.py`
holds both to the same.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

MAX_VALUE_BYTES = 8192
"""A longer value is refused by who writes it and by the server."""
MAX_KEY_LENGTH = 200
HISTORY = 16
"""The values of a key that are kept, the newest among them."""
_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\Z")


class FleetUnreachable(Exception):  # noqa: N818 - said to people as it is
    """The bucket cannot be asked: no network, no server, or no majority of servers. What was to be written
    may have been, which the next read tells."""


class KeyValue(NamedTuple):
    """The value of a key at a revision. An empty value says that the key is free."""

    key: str
    value: bytes
    revision: int


class Bucket(Protocol):
    """The six calls. Each raises FleetUnreachable, and ValueError for a key or a value that cannot be one.

    The writing ones return the new revision, or None: another value stands there, or stood there a moment
    ago; read again. An empty value frees a key, which is then as one that was never written.
    """

    async def get(self, key: str) -> KeyValue | None:
        """The newest value of a key; None where it is free."""
        ...

    async def create(self, key: str, value: bytes) -> int | None:
        """Write to a key that is free."""
        ...

    async def compare_and_set(self, key: str, value: bytes, revision: int) -> int | None:
        """Write to a key whose newest revision is `revision`."""
        ...

    def watch(self, prefix: str = "") -> AsyncGenerator[KeyValue | None, None]:
        """The newest value of each key below the tokens of `prefix`, None once they are all there, and then
        every change in order, for as long as it is read and the bucket can be reached.

        What was written while a server was lost comes afterwards. The end of a lease is not told.
        """
        ...

    async def history(self, key: str) -> tuple[KeyValue, ...]:
        """The last `HISTORY` values of a key, the oldest first; a lease begins it anew."""
        ...

    async def lease(self, key: str, value: bytes, ttl_s: int, revision: int = 0) -> int | None:
        """`create`, or with a revision `compare_and_set`, of a value that frees its key after `ttl_s` whole
        seconds by the bucket's own clock, unless it is written anew before."""
        ...


def require_key(key: str, value: bytes = b"") -> None:
    """Raises ValueError unless key and value may be written."""
    if not _KEY.match(key) or len(key) > MAX_KEY_LENGTH:
        raise ValueError(f"{key[:MAX_KEY_LENGTH]!r} is no key: tokens of A-Z a-z 0-9 _ - with dots between")
    if len(value) > MAX_VALUE_BYTES:
        raise ValueError(f"the value of {key} has {len(value)} bytes; {MAX_VALUE_BYTES} are the most")


def require_lease(value: bytes, ttl_s: int) -> None:
    """Raises ValueError unless a value may be leased for a time."""
    if not value or ttl_s < 1:
        raise ValueError("a lease has a value, and lasts a second at least")
