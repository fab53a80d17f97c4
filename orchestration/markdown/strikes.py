"""Strike-through of a Markdown document: the lines whose words somebody took back."""

from __future__ import annotations

import re

from .document import BULLET, HEADING, LAZY, TEXT, MarkdownDocument

_CODE_SPAN = re.compile(r"`[^`]*`")
# The `[~]` of a status mark strikes nothing.
_MARK = re.compile(r"~~+|(?<![\[~])~(?![\]~])|<(/?)(?:del|s|strike)\b[^<>]*>", re.I)


def struck_lines(document: MarkdownDocument) -> frozenset[int]:
    """The lines that hold struck-out words, or `~~` that strike none: those could be meant either way.

    `~` and `~~` strike within a block, `<del>`, `<s>` and `<strike>` to their ends, over any blocks.
    """
    if not any("~" in line or "<" in line for line in document.lines):
        return frozenset()
    struck: set[int] = set()
    opened: dict[int, int] = {}
    tags = 0
    for number, line in enumerate(document.lines):
        kind = document.kinds[number]
        if not line.strip() or kind == HEADING or line.lstrip()[0] == "|" or BULLET.match(line):
            opened.clear()
        if kind not in (TEXT, HEADING, LAZY):
            continue
        struck.update([number] if tags else ())
        for match in _MARK.finditer(_CODE_SPAN.sub("``", line)) if "~" in line or "<" in line else ():
            if match[1] is not None:
                struck.add(number)
                tags = max(tags - 1, 0) if match[1] else tags + 1
                continue
            length = min(len(match[0]), 2)
            struck.update([number] if length > 1 else ())
            first = opened.pop(length, None)
            if first is None:
                opened[length] = number
            elif length > 1 or match.string[match.start() - 1 : match.start()].strip():
                struck.update(range(first, number + 1))
            else:
                opened[length] = first
    return frozenset(struck)
