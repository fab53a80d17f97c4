"""How fast the machine is, so that figures of two machines can be compared."""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter

_ITEMS = [{"id": n, "name": f"item {n}", "ok": True, "v": 1.5 * n} for n in range(34)]
_DOCUMENT = json.dumps({"a": _ITEMS})
# What the machine takes for it on which the budgets were set.
REFERENCE_US = 13.5


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
