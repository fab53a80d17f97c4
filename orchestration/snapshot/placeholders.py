"""Placeholders of a document: texts of its template that stand where something is still to be said."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Problem, Span
from ..markdown.document import CODE, FRONT, HIDDEN, HTML, QUOTE, read
from ..markdown.strikes import struck_lines

MOST_PLACEHOLDERS = 200
"""So many of one document are told."""
_NOT_SAID = frozenset((CODE, FRONT, HIDDEN, HTML, QUOTE))
_LONGEST_SHOWN = 80


def placeholders(text: str, wanted: Sequence[str]) -> list[Problem]:
    """A problem for each place where one of the texts stands; none in fences, quotes, comments and strikes.

    A text that ends in the middle of a bracket stands for all up to its end.
    """
    if not any(each in text for each in wanted):
        return []
    document = read(text, rescue=True)
    struck, found = struck_lines(document), list[Problem]()
    for number, line in enumerate(document.lines):
        if document.kinds[number] in _NOT_SAID or number in struck:
            continue
        for each in wanted:
            column = line.find(each)
            while column >= 0 and len(found) < MOST_PLACEHOLDERS:
                end = column + len(each)
                if each.startswith("[") and "]" not in each:
                    end = line.find("]", end) + 1 or len(line)
                said = line[column:end]
                shown = said if len(said) <= _LONGEST_SHOWN else f"{said[:_LONGEST_SHOWN]}…"
                message = f"{shown} is still to be said"
                found.append(Problem("placeholder-left", message, Span(number, column, number, end)))
                column = line.find(each, end)
    return found
