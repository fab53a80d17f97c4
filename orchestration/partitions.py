"""Long sequences in partitions; a later one takes over those whose elements are the same objects.

What was computed of a partition stands for it as long as it lives: a list of 10,000 of which one element
differs costs what one partition costs. A comparison of identities tells, so it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, TypeVar

SIZE = 128
"""Elements of a partition that is cut anew; one that grew is cut when it has more than twice as many."""
_P = TypeVar("_P", bound=Sequence[Any])


def partition(items: Sequence[Any], before: Sequence[_P], make: Callable[[Sequence[Any]], _P]) -> list[_P]:
    """The partitions of some items, in order; those of `before` where they hold the same objects.

    Of as many items as before each stands where it stood, else those in front and at the end are looked for.
    """
    shift = len(items) - sum(map(len, before))
    front: list[_P] = []
    at = 0
    for number, part in enumerate(before):
        same = is_same(items[at : at + len(part)], part)
        if not same and shift:
            break
        front.append(before[number] if same else make(items[at : at + len(part)]))
        at += len(part)
    end, back = len(items), list[_P]()
    for part in reversed(before[len(front) :]):
        if end - len(part) < at or not is_same(items[end - len(part) : end], part):
            break
        back.append(part)
        end -= len(part)
    size = 2 * SIZE if end - at <= 2 * SIZE else SIZE
    between = [make(items[start : min(start + size, end)]) for start in range(at, end, size)]
    return [*front, *between, *reversed(back)]


def is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """True if two sequences hold the same objects."""
    return len(one) == len(other) and all(map(is_, one, other))
