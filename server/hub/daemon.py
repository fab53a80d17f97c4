"""The server that a connector starts: it listens before it imports anything that takes long, writes what goes
wrong to a file, and ends when it is not needed."""

from __future__ import annotations

import os
import sys
import time

from ..connector import address as places
from ..connector.address import Address, Listening

HANDOVER_S = 30.0
"""A server that makes way for this one may take so long to finish."""
_POLL_S = 0.02
IDLE = "PHASEKEEPER_IDLE_S"
"""Environment: seconds without a client after which a server that nobody asked for ends."""


def background() -> int:
    """Run the server until it is idle or told to end; 0, also when another one runs already."""
    address = places.find()
    lock = only_one(address)
    if lock is None:
        return 0
    listening = places.listen(address)
    from .log_file import to_file

    to_file(streams=True)
    return _run(address, lock, listening)


def only_one(address: Address) -> int | None:
    """The lock of the one server there is; None when another one listens. Waits for one that is ending.

    Raises OSError where the lock cannot be made, TimeoutError when its holder neither listens nor ends.
    """
    until = time.monotonic() + HANDOVER_S
    while (lock := places.try_lock(address.lock)) is None:
        if listens(address):
            return None
        if time.monotonic() > until:
            raise TimeoutError(stuck(address))
        time.sleep(_POLL_S)
    places.sign(lock)
    return lock


def stuck(address: Address) -> str:
    """That a server runs which does not listen, and what mends it."""
    return f"a server (process {places.holder(address) or 'unknown'}) does not answer: `phasekeeper doctor`"


def listens(address: Address) -> bool:
    """Whether a server accepts connections."""
    try:
        places.connect(address, 1.0).socket.close()
    except OSError:
        return False
    return True


def _run(address: Address, lock: int, listening: Listening) -> int:
    import asyncio

    from .hub import Hub
    from .signals import on_end

    async def run() -> None:
        loop = asyncio.get_running_loop()
        hub = Hub(loop, background=True, **_idle())
        on_end(loop, hub.stopping.set)
        await hub.listen(address, lock, listening)

    asyncio.run(run())
    sys.stderr.flush()
    return 0


def _idle() -> dict[str, float]:
    try:
        return {"idle_s": max(float(os.environ.get(IDLE, "")), 0.05)}
    except ValueError:
        return {}
