"""Headings that say, or whose line of status says, that all below them is done while a box there is open."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ...findings import Problem, Span
from ...markdown.checklist import Checklist
from ...markdown.document import TEXT, Heading, MarkdownDocument
from .grammar import ChecklistRow

_COMPLETE = re.compile(
    r"(?i)✅|[(\[](?:complete|completed|done|finished)[)\]]|[-–—:][ \t]*(?:complete|completed|done)[ \t*]*$"
)
_STATUS_LINE = re.compile(
    r"(?i)[ \t]*+(?:[-*][ \t]++)?\**+status\**+[ \t]*+:[ \t]*+\**+[ \t]*+(?:✅[ \t]*+)?"
    r"(complete|completed|done|finished)\b[ \t]*+[*.!]*+[ \t]*+"
)


def headings_ahead(listed: Checklist, rows: Sequence[ChecklistRow]) -> Iterator[Problem]:
    """The headings that say so, each with what is open below it; optional tasks may be left."""
    document = listed.document
    left = [row for row in rows if not row.done and not row.item.optional]
    lines = [row.item.line for row in left]
    for number, heading in enumerate(document.headings) if left else ():
        below = left[bisect_left(lines, heading.start) : bisect_left(lines, heading.end)]
        if not below:
            continue
        more = f" and {len(below) - 1} more" if len(below) > 1 else ""
        what = f"complete, but {below[0].id}{more} below it is open"
        if _COMPLETE.search(heading.text):
            yield _of_heading(document, heading, f"the heading says that it is {what}")
        if line := _status_line(document, number):
            data = {"replacements": (("Say that it is in progress", "in_progress"),)}
            yield Problem("status-drift", f"the status says that it is {what}", line, data=data)


def _of_heading(document: MarkdownDocument, heading: Heading, message: str) -> Problem:
    span = heading.span
    open_line = _COMPLETE.sub("", document.lines[span.line][span.column : span.end_column]).rstrip()
    # A heading that stands above a line has more than its own.
    data = {"replacements": (("Do not say that it is complete", open_line),)} if open_line else {}
    return Problem("status-drift", message, span, data=data)


def _status_line(document: MarkdownDocument, number: int) -> Span | None:
    """The word in the lines of a heading's own that says so."""
    heading, following = document.headings[number], document.headings[number + 1 : number + 2]
    end = min(heading.end, *(each.span.line for each in following), len(document.lines))
    for line in range(heading.start, end):
        text = document.lines[line]
        # A list has many lines, and each is looked at after each save.
        may_say = "tatus" in text or "TATUS" in text
        if may_say and document.kinds[line] == TEXT and (found := _STATUS_LINE.fullmatch(text)):
            return Span(line, found.start(1), line, found.end(1))
    return None
