"""The memory of the server: what it holds, how much it may hold, and giving back what is not needed."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

MEMORY_MB = 768
"""Above so much resident memory caches are dropped, and then roots refused."""
VARIABLE = "PHASEKEEPER_MEMORY_MB"
"""The variable that sets another limit."""
MEMORY_CHECK_S = 0.05
"""So often it is asked what is held while a root is scanned."""
YOUNG_OBJECTS = 10_000
"""So many new objects are made before they are looked at for garbage: a run makes hundreds that stay."""
_FREEZE_AT = 5
"""Of the ten collections of younger objects after which Python looks at all there are."""
_MEBIBYTE = 1 << 20
_STATM = Path("/proc/self/statm")

T = TypeVar("T")


def limit_bytes() -> int:
    """The most that may be resident; `MEMORY_MB` unless the variable holds a positive whole number."""
    said = os.environ.get(VARIABLE, "")
    return (int(said) if said.isdecimal() and int(said) else MEMORY_MB) * _MEBIBYTE


def resident_bytes() -> int:
    """What is resident now; the most that ever was where the system tells no more, 0 where not even that."""
    with suppress(OSError, ValueError, IndexError):
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


def memory_exceeded(drop_caches: Iterable[Callable[[], None]]) -> str:
    """Why nothing more can be held, once all that can be read again was dropped; "" mostly."""
    if resident_bytes() <= limit_bytes():
        return ""
    for drop in drop_caches:
        drop()
    release_memory()
    held = resident_bytes()
    if held <= limit_bytes():
        return ""
    return (
        f"the server holds {held >> 20} MB, and at most {limit_bytes() >> 20} are allowed ({VARIABLE}); "
        "close other folders, or `phasekeeper serve --stop` ends the server"
    )


def collect_seldom() -> None:
    """Have a process that holds much look for garbage seldom; of cycles little is made meanwhile."""
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def freezing_parts(parts: Generator[None, None, T]) -> Generator[None, None, T]:
    """Do work in parts that makes much that stays, which is then not traversed for garbage time and again.

    What is young is still collected, so that next to no garbage is frozen with it.
    """
    while True:
        try:
            next(parts)
        except StopIteration as end:
            return end.value
        if gc.get_count()[2] >= _FREEZE_AT:
            gc.freeze()
        yield


def freeze_garbage() -> None:
    """Have what exists now not traversed for garbage time and again, until `gc.unfreeze`."""
    gc.collect()
    gc.freeze()


def release_memory() -> None:
    """Collect garbage, also what was frozen, and have the C library give back what is free."""
    gc.unfreeze()
    gc.collect()
    if trim := _trim():
        trim(0)


@cache
def _trim() -> Any:
    """`malloc_trim` of the GNU C library, None elsewhere."""
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
