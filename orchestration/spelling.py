"""What a misspelt word was probably meant to be."""

from __future__ import annotations

from collections.abc import Sequence

# So many known words are still read at a glance.
MOST_LISTED = 12


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """ "; did you mean 'x'?" for the nearest known words, or the known ones when they are few, or ""."""
    # Imported late: only a mistake needs it.
    import difflib

    close = difflib.get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(name) for name in close) + "?"
    return f"; known: {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""
