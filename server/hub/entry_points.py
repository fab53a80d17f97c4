"""Entry points of a server process: the daemon that connectors start, and one connection standalone.

The daemon listens before it imports anything that takes long, writes what goes wrong to a file, and ends when
nobody needs it. Standalone is the same server without a socket, in the process of the connector.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable

from ..connector import address as addresses
from ..connector.address import ServerAddress, find_address
from ..connector.early_answers import EarlyAnswers
from ..connector.handshake import connect, listen
from ..connector.pump import StdinPump, drain

_HANDOVER_S = 30.0
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
    # The folder of the client that started it may be removed, or be on a disk that is taken out.
    home = os.path.expanduser("~")  # noqa: PTH111
    os.chdir(home if os.path.isdir(home) else os.path.abspath(os.sep))  # noqa: PTH100, PTH112
    import asyncio

    from .process import log_to_file, on_termination

    log_to_file(redirect_output=True)
    from .hub import Hub

    async def run() -> None:
        loop = asyncio.get_running_loop()
        hub = Hub(loop, is_daemon=True, has_cache=True)
        hub.idle_s = addresses.seconds_from(IDLE, hub.idle_s, 0.05, float("inf"))
        on_termination(loop, hub.stopping.set)
        await hub.listen(address, lock, listener, secret)

    asyncio.run(run())
    sys.stderr.flush()
    return 0


def take_server_lock(address: ServerAddress, is_cancelled: Callable[[], bool] = bool) -> int | None:
    """The lock of the one server there is; None when another one listens. Waits for one that is ending.

    None also once `is_cancelled()`. Raises OSError where the lock cannot be created, TimeoutError when its
    owner neither listens nor ends.
    """
    until = time.monotonic() + _HANDOVER_S
    while (lock := addresses.try_lock(address.lock)) is None:
        try:
            connect(address, 1.0)[0].close()
            return None
        except OSError:
            pass
        if is_cancelled():
            return None
        if time.monotonic() > until:
            raise TimeoutError(hung_server(address))
        time.sleep(_POLL_S)
    addresses.write_lock_owner(lock)
    return lock


def hung_server(address: ServerAddress) -> str:
    """The sentence that a server runs which does not listen, and how to examine it."""
    owner = addresses.lock_owner(address) or "unknown"
    return f"a server (process {owner}) does not answer: `phasekeeper doctor`"


def run_standalone(kind: str, pump: StdinPump, stdout: int) -> int:
    """Serve one client on the standard streams in this process; the exit code."""
    import asyncio
    import logging
    import threading
    from pathlib import Path

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    ours, theirs = socket.socketpair()
    if kind == "mcp":
        pump.answer_early(EarlyAnswers(), stdout)
    answered = pump.connect(theirs)
    writing = threading.Thread(
        target=drain, args=(theirs, stdout, answered), name="phasekeeper-stdout", daemon=True
    )
    writing.start()
    from .hub import Hub

    async def serve() -> int:
        hub = Hub(asyncio.get_running_loop(), has_cache=True)
        try:
            return await hub.serve(hub.add_client(kind, Path(addresses.current_folder())), ours)
        finally:
            await hub.stop()

    code = asyncio.run(serve())
    writing.join()
    return code
