"""Whether another process has ended: a handle where the system gives one, else its number.

A pipe ends only when the last process that holds it does, so its end tells late, or never, that a client is
gone. Each function returns a probe, which says True from the end on and never waits; or None where the system
does not tell. Connectors import this: nothing that costs a millisecond may be imported before it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import select
    from collections.abc import Callable
    from typing import Any


def parent_end_probe() -> Callable[[], bool] | None:
    """Of the process that started this one, to be called at once.

    None when there is none that can be known: it has ended already, or is outside of this container.
    """
    parent = os.getppid()
    if sys.platform == "win32":
        # There a process keeps the number of its parent for ever.
        return process_end_probe(parent)
    # Whoever ends leaves its children to the first process, or to one that asked for them.
    return (lambda: os.getppid() != parent) if parent > 1 else None


def process_end_probe(pid: int) -> Callable[[], bool] | None:
    """Of a process that somebody names. None when there is no such process here.

    The number may be one of another container or machine, where it says nothing: None, unless a process of
    this number happens to run here.
    """
    if pid <= 1:
        return None
    try:
        if sys.platform == "win32":
            return _windows_probe(pid)
        if hasattr(os, "pidfd_open"):
            return _pidfd_probe(pid)
        return _number_probe(pid)
    except (OSError, OverflowError):
        return None


def _windows_probe(pid: int) -> Callable[[], bool]:
    import _winapi

    windows: Any = _winapi
    synchronize, signaled = 0x100000, 0
    handle = windows.OpenProcess(synchronize, False, pid)
    return lambda: windows.WaitForSingleObject(handle, 0) == signaled


def _pidfd_probe(pid: int) -> Callable[[], bool]:
    """A number that is used again is another process, and one that nobody waited for has ended."""
    import errno
    import select

    try:
        descriptor = os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.EINVAL):
            raise
        # An old kernel, or one that forbids it here.
        return _number_probe(pid)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return _Closing(poll, descriptor)


class _Closing:
    """A probe with a descriptor, which goes with it."""

    def __init__(self, poll: select.poll, descriptor: int) -> None:
        self._poll, self._descriptor = poll, descriptor

    def __call__(self) -> bool:
        return bool(self._poll.poll(0))

    def __del__(self) -> None:
        os.close(self._descriptor)


def _number_probe(pid: int) -> Callable[[], bool]:
    def has_ended() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    if has_ended():
        raise ProcessLookupError(pid)
    return has_ended
