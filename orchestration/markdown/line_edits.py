"""Changes of a text by lines, as plans give places; what is not named keeps its bytes, line ends and all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..findings import Span

_LINE_END = re.compile(r"(\r\n|\r|\n)")


class Replacement(NamedTuple):
    """New text for a span within one line."""

    span: Span
    text: str


class Insertion(NamedTuple):
    """Lines to stand above a line, or below all of them."""

    line: int
    lines: list[str]


def apply_edits(text: str, replacements: Sequence[Replacement], insertions: Sequence[Insertion] = ()) -> str:
    """The text with all of them made; their places are those of the text as it is given.

    Lines are counted as `document.read` counts them. New lines end like the first line does.
    """
    bare = text.removeprefix("\ufeff")
    parts = _LINE_END.split(bare)
    lines, ends = parts[::2], [*parts[1::2], ""]
    usual = ends[0] or "\n"
    for span, new in sorted(replacements, reverse=True):
        line = lines[span.line]
        lines[span.line] = f"{line[: span.column]}{new}{line[span.end_column :]}"
    for number, added in sorted(insertions, reverse=True):
        # What comes last goes above the empty line that a final line end makes.
        number -= number == len(lines) and not lines[-1]
        # The last line has no end: below it, the end comes first.
        at = min(number, len(ends) - 1)
        ends[at:at] = [usual] * len(added)
        lines[number:number] = added
    joined = "".join(line + end for line, end in zip(lines, ends, strict=True))
    return text[: len(text) - len(bare)] + joined
