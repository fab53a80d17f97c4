"""How much memory a process keeps that runs for days."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

LARGE = 1 << 20
_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


def give_back_large() -> bool:
    """Have blocks of a mebibyte and more go back to the system when they are let go of; whether that is so.

    glibc does so at first, but each one that goes has it keep all up to that size from then on: once a board
    of 10,000 runs was written, the process stayed 60 MiB larger. Other C libraries need not be told.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).mallopt(_THRESHOLD, LARGE))
    return False
