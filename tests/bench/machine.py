"""How fast the machine is, so that figures of two can be compared, and what a process takes of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter

_ITEMS = [{"id": n, "name": f"item {n}", "ok": True, "v": 1.5 * n} for n in range(34)]
_DOCUMENT = json.dumps({"a": _ITEMS})
REFERENCE_US = 13.5
"""What `json.loads` of it takes on the machine on which the budgets were set."""
_TICKS = os.sysconf("SC_CLK_TCK")


def machine() -> str:
    """The interpreter, the load, and what `json.loads` of one document takes beside the reference machine."""
    spent = []
    for _ in range(300):
        start = perf_counter()
        json.loads(_DOCUMENT)
        spent.append(perf_counter() - start)
    least = min(spent) * 1e6
    return (
        f"python {sys.version.split()[0]}, load average {os.getloadavg()[0]:.1f}, "
        f"json.loads of {len(_DOCUMENT):,} bytes {least:.1f} us "
        f"({least / REFERENCE_US:.1f} times the {REFERENCE_US} us of the machine the budgets are for)"
    )


def resident_mib(pid: int | str = "self") -> float:
    """Memory of a process (RSS); 0 where the system does not say."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def cpu_ms(pid: int, *, with_children: bool = False) -> float:
    """Time of the processor that a process has taken, maybe with that of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) / _TICKS * 1000


def threads_ms(pid: int) -> float:
    """Time of the processor that the threads of a process have taken; finer than its own clock.

    What threads took that have ended is not in it.
    """
    told = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(text.split()[0]) for text in told) / 1e6
