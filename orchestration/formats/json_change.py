"""Whether a text is still JSON after some lines of it changed, told from those lines alone.

No string of JSON holds a line end, so each line of valid JSON begins between two tokens. What a parser does
with some lines follows from what it expects before them and from the container that they stand in, as long as
they leave that open. Two groups of lines that do the same from each such beginning can stand for each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .json_lists import common_length

MOST_CHANGED = 2_000
"""Characters. More of them are no quicker to look at in each of the places where they may stand."""
MOST_GROUPS = 8
"""Groups of lines that differ; each is looked at by itself."""
_MOST_LINES = 12
_ALIKE = 64
"""Characters that two texts have in common behind lines that differ, where they are compared again."""
_IN_OBJECT = (("{", '{"a"', '{"a":', '{"a":0', '{"a":0,'), ("}", ',"a":0}', '"a":0}', ":0}", "0}"))
_IN_LIST = (("[", "[0", "[0,"), ("]", ",0]", "0]"))
"""What may stand before the lines, one text for each state of a parser, and behind them, to tell the states
apart: no two of them go on with the same of these."""
_AROUND = [(left, right) for lefts, rights in (_IN_OBJECT, _IN_LIST) for left in lefts for right in rights]


def stays_json(text: str, before: str) -> bool:
    """True if a text is JSON for sure, where `before` is JSON. False says nothing. Cost: a comparison."""
    groups = _changed_lines(text, before)
    return groups is not None and all(_are_alike(old, new) for old, new in groups)


def _are_alike(old: str, new: str) -> bool:
    """True if some lines can stand for others: of several groups one is put in after the other."""
    ways = _ways_through(old)
    return bool(ways) and _ways_through(new) == ways


def _changed_lines(text: str, before: str) -> list[tuple[str, str]] | None:
    """The groups of lines that differ, each of the text before and of this one; None where those are no whole
    lines inside of both, or too many."""
    found: list[tuple[str, str]] = []
    old, new, size = 0, 0, 0
    while True:
        same = common_length(before, old, text, new)
        if old + same == len(before) and new + same == len(text):
            return found
        old_start, new_start = before.rfind("\n", 0, old + same) + 1, text.rfind("\n", 0, new + same) + 1
        ends = _ends_of_change(before, old_start, text, new_start)
        if not old_start or ends is None or len(found) == MOST_GROUPS:
            return None
        old, new = ends
        found.append((before[old_start:old], text[new_start:new]))
        if (size := size + len(found[-1][0]) + len(found[-1][1])) > MOST_CHANGED:
            return None


def _ends_of_change(before: str, old: int, text: str, new: int) -> tuple[int, int] | None:
    """The offsets behind the fewest lines, from two that differ on, behind which the texts go on alike."""
    old_ends, new_ends = [*_line_starts(before, old)], [*_line_starts(text, new)]
    pairs = [(i, j) for i in range(len(old_ends)) for j in range(len(new_ends))]
    for i, j in sorted(pairs[1:], key=sum):
        one, other = old_ends[i], new_ends[j]
        if before[one : one + _ALIKE] == text[other : other + _ALIKE]:
            return one, other
    return None


def _line_starts(text: str, at: int) -> Iterator[int]:
    """The beginnings of some lines, from that of a line on."""
    for _ in range(_MOST_LINES):
        yield at
        if not (at := text.find("\n", at) + 1):
            return


def _ways_through(lines: str) -> frozenset[tuple[str, str]]:
    """What may stand before some lines, with what may then stand behind them. None if they close a bracket
    that they do not open, or the other way round: then nothing is valid."""
    return frozenset(pair for pair in _AROUND if _is_json(f"{pair[0]}{lines}{pair[1]}"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
