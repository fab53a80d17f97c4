"""Entry points of a server process: the daemon that connectors start, and one connection standalone.

The daemon listens before it imports anything that takes long, writes what goes wrong to a file, and ends when
nobody needs it. Standalone is the same server without a socket, in the process of the connector.
"""

from __future__ import annotations

import os
import socket
import sys
import time

from ..connector.address import ServerAddress, find_address, lock_owner, try_lock, write_lock_owner
from ..connector.handshake import connect, listen
from ..connector.pump import StdinPump, drain

HANDOVER_S = 30.0
"""A server that makes way for this one may take so long to finish."""
_POLL_S = 0.02
IDLE = "PHASEKEEPER_IDLE_S"
"""Environment: seconds without a client after which a daemon ends."""


def run_daemon() -> int:
    """Run the server until it is idle or told to end; 0, also when another one runs already."""
    address = find_address()
    lock = take_server_lock(address)
    if lock is None:
        return 0
    listener, secret = listen(address)
    import asyncio

    from .process import log_to_file, on_termination

    log_to_file(redirect_output=True)
    from .hub import Hub

    async def run() -> None:
        loop = asyncio.get_running_loop()
        hub = Hub(loop, is_daemon=True)
        hub.idle_s = _idle_s(hub.idle_s)
        on_termination(loop, hub.stopping.set)
        await hub.listen(address, lock, listener, secret)

    asyncio.run(run())
    sys.stderr.flush()
    return 0


def take_server_lock(address: ServerAddress) -> int | None:
    """The lock of the one server there is; None when another one listens. Waits for one that is ending.

    Raises OSError where the lock cannot be created, TimeoutError when its owner neither listens nor ends.
    """
    until = time.monotonic() + HANDOVER_S
    while (lock := try_lock(address.lock)) is None:
        if is_listening(address):
            return None
        if time.monotonic() > until:
            raise TimeoutError(hung_server(address))
        time.sleep(_POLL_S)
    write_lock_owner(lock)
    return lock


def hung_server(address: ServerAddress) -> str:
    """The sentence that a server runs which does not listen, and how to examine it."""
    return f"a server (process {lock_owner(address) or 'unknown'}) does not answer: `phasekeeper doctor`"


def is_listening(address: ServerAddress) -> bool:
    """Whether a server accepts connections."""
    try:
        connect(address, 1.0)[0].close()
    except OSError:
        return False
    return True


def _idle_s(default: float) -> float:
    try:
        return max(float(os.environ.get(IDLE, "")), 0.05)
    except ValueError:
        return default


def run_standalone(kind: str, pump: StdinPump, stdout: int) -> int:
    """Serve one client on the standard streams in this process; the exit code."""
    import asyncio
    import logging
    import threading

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    ours, theirs = socket.socketpair()
    writing = threading.Thread(target=drain, args=(theirs, stdout), name="phasekeeper-stdout", daemon=True)
    writing.start()
    pump.connect(theirs)
    code = asyncio.run(_serve_one(kind, ours))
    writing.join()
    return code


async def _serve_one(kind: str, sock: socket.socket) -> int:
    import asyncio
    from pathlib import Path

    from .hub import Hub

    try:
        folder = Path.cwd()
    except OSError:
        folder = Path(os.path.expanduser("~"))  # noqa: PTH111
    hub = Hub(asyncio.get_running_loop())
    try:
        return await hub.serve(hub.add_client(kind, folder), sock)
    finally:
        await hub.stop()
