"""What ends a server: Ctrl-C, and being told to by the system."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable


def on_end(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """Call `end` on the loop when the process is asked to end, instead of ending it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:
            # Windows: no loop hears signals there; Ctrl-C and Ctrl-Break reach the main thread.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))
