"""Moves the clock of a Python process that imports this first, by the seconds in a file that may change.

libfaketime cannot do this to a server: by it a wait for a lock with a time limit never ends, or ends at once.
The monotonic clock and the kernel's times of files stay as they are, as where a real clock is set.
"""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

OFFSET = "PHASEKEEPER_SOAK_CLOCK"
"""Environment: the path of the file."""
_time, _time_ns, _datetime = time.time, time.time_ns, datetime.datetime


def _offset_s() -> int:
    # Nothing more is imported: each process of the program begins with this.
    with open(os.environ[OFFSET]) as file:  # noqa: PTH123
        return int(file.read())


class _OfAnyDatetime(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _datetime)


class _MovedDatetime(_datetime, metaclass=_OfAnyDatetime):
    """What stands for `datetime` in modules that are imported after this one."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _datetime.fromtimestamp(time.time(), tz)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> dict[str, str]:
        return {"type": "datetime"}


if OFFSET in os.environ:
    time.time = lambda: _time() + _offset_s()
    time.time_ns = lambda: _time_ns() + _offset_s() * 1_000_000_000
    datetime.datetime = _MovedDatetime  # type: ignore[misc]
