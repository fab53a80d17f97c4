"""Whether a text is still JSON after some lines of it changed, told from those lines alone.

No string of JSON holds a line end, so each line of valid JSON begins between two tokens. What a parser does
with some lines follows from what it expects before them and from the container that they stand in, as long as
they leave that open. Two groups of lines that do the same from each such beginning can stand for each other.
"""

from __future__ import annotations

import json

from .json_lists import common_length

MOST_CHANGED = 2_000
"""Characters. More of them are no quicker to look at in each of the places where they may stand."""
_IN_OBJECT = (("{", '{"a"', '{"a":', '{"a":0', '{"a":0,'), ("}", ',"a":0}', '"a":0}', ":0}", "0}"))
_IN_LIST = (("[", "[0", "[0,"), ("]", ",0]", "0]"))
"""What may stand before the lines, one text for each state of a parser, and behind them, to tell the states
apart: no two of them go on with the same of these."""
_AROUND = [(left, right) for lefts, rights in (_IN_OBJECT, _IN_LIST) for left in lefts for right in rights]


def stays_json(text: str, before: str) -> bool:
    """True if a text is JSON for sure, where `before` is JSON. False says nothing. Cost: a comparison."""
    lines = _changed_lines(text, before)
    if lines is None:
        return False
    ways = _ways_through(lines[0])
    return bool(ways) and _ways_through(lines[1]) == ways


def _changed_lines(text: str, before: str) -> tuple[str, str] | None:
    """The lines that differ, of the text before and of this one; None where those are no whole lines inside
    of both, or too many."""
    same = common_length(before, 0, text, 0)
    start = before.rfind("\n", 0, same) + 1
    most = min(len(before), len(text)) - start
    behind = _common_end(before, text, most)
    end = before.find("\n", len(before) - behind) + 1
    if not start or not end:
        return None
    old, new = before[start:end], text[start : end + len(text) - len(before)]
    return (old, new) if len(old) + len(new) <= MOST_CHANGED else None


def _common_end(one: str, other: str, most: int) -> int:
    """The number of characters that two texts have in common at their ends, at most so many."""
    least, there = 0, len(one) - len(other)
    while least < most:
        size = (least + most + 1) // 2
        start = len(one) - size
        if one[start : len(one) - least] == other[start - there : len(other) - least]:
            least = size
        else:
            most = size - 1
    return least


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
