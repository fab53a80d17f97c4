"""Suggestions for misspelt words: the nearest known ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

# So many known words are still read at a glance.
MOST_LISTED = 20
# Comparing takes the product of the lengths; nobody mistypes more, or picks one out of more.
_LONGEST, _MOST_COMPARED = 100, 1_000


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?" for the nearest known words, or the known ones when they are few, or ""."""
    listed = f"; known: {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""
    return suggestion_text(nearest(word, known)) or listed


def suggestion_text(close: Sequence[str]) -> str:
    """ "; did you mean 'x' or 'y'?", or "" for nothing."""
    return "; did you mean " + " or ".join(map(repr, close)) + "?" if close else ""


def nearest(word: str, known: Sequence[str]) -> list[str]:
    """The known words that are near to a misspelt one, the nearest first, at most two."""
    # Imported late: only a mistake needs it.
    import difflib

    if len(word) > _LONGEST:
        return []
    near = [each for each in islice(known, _MOST_COMPARED) if len(each) <= _LONGEST]
    return difflib.get_close_matches(word, near, n=2, cutoff=0.6)


def misspelling(word: str, known: Sequence[str]) -> Mapping[str, Any]:
    """The `data` of a finding about an unknown word: `word`, and the `suggestions` that `nearest` has."""
    return {"word": word, "suggestions": nearest(word, known)}
