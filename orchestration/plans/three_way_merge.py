"""A three-way merge of a plan, line by line: marks of different rows do not contradict each other.

A merge of git takes lines that stand beside each other for one change, as ticks of neighbouring rows do. Here
each line is merged alone, and what repeats the rows (tallies, progress) is told anew from them.
"""

from __future__ import annotations

from collections.abc import Callable

from .dialects import DIALECTS

SyncSummaries = Callable[[str], str]


def merge_plans(base: str, ours: str, theirs: str) -> str | None:
    """The plan with the changes of both sides; None where they contradict each other, or where lines were
    added or taken out, which git merges."""
    before, left, right = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    if not len(before) == len(left) == len(right):
        return None
    merged = [
        (there if here == was else here, here if there == was else there)
        for was, here, there in zip(before, left, right, strict=True)
    ]
    # Where both sides changed a line, each one's is taken once.
    one, other = ("".join(lines) for lines in zip(*merged, strict=True)) if merged else ("", "")
    sync = next((each for each in _summaries() if _keeps(each, ours) and _keeps(each, theirs)), None)
    if sync:
        one, other = sync(one), sync(other)
    return one if one == other else None


def _summaries() -> list[SyncSummaries]:
    return [dialect.sync_summaries for dialect in DIALECTS.values() if dialect.sync_summaries]


def _keeps(sync: SyncSummaries, text: str) -> bool:
    """True if the text is a plan in which all that repeats its rows says what they say."""
    try:
        return sync(text) == text
    except ValueError:
        return False
