"""Reads a story of BMAD, in the forms of versions 4 and 6 and of 6.12's specs: its status and its boxes.

`Status: review` below the title, `**Status:** Done`, a section `## Status` and `status:` of front matter all
say where it stands. Every box is a part of the story: those below its tasks, criteria and reviews have to be
ticked before it is done; others, in notes and in what a reviewer leaves to the developer, hold nothing up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...findings import Problem, Span
from ...markdown.document import FRONT, TEXT, MarkdownDocument
from ..checklist.grammar import ChecklistGrammar, ChecklistRow
from ..checklist.reader import read_rows
from ..model import MarkStatus
from .story_status import StoryStatus, status_of

GRAMMAR = ChecklistGrammar(
    tool="BMAD",
    marks={"~": MarkStatus.IN_PROGRESS},
    written={MarkStatus.TODO: " ", MarkStatus.DONE: "x"},
    # Numbers start anew below each heading of a story: a box is named by its words.
    task_id=re.compile(r"(?!)()"),
    stage_id=re.compile(r"(?!)()"),
    sight=lambda line, status: "",
    details=lambda listed, rows: {},
    problems=lambda listed, rows: (),
)
_REQUIRED = re.compile(
    r"(?i)\btasks?\b|subtask|acceptance|criteria|definition of done|follow-?ups?\b|action items?"
    r"|senior developer review|\bexecution\b"
)
_STATUS_LINE = re.compile(
    r"[ \t]*+(?:[-*][ \t]++)?(?P<mark>\*\*|__)?status[ \t]*+(?:(?P=mark))?"
    r"[ \t]*+:[ \t]*+(?:(?P=mark))?[ \t]*+"
    r"(?P<value>\S.*)",
    re.I,
)
_BARE_STATUS = re.compile(r"[ \t]*+(?:[-*][ \t]++)?(?P<value>\S.*)")
_STATUS_HEADING = re.compile(r"(?i)(?:story[ \t]+)?status[ \t]*:?")
_TITLE = re.compile(r"(?i)(?:story|epic)[ \t]+[\w.-]+[ \t]*[:–—-]?[ \t]*")
_PLACEHOLDER = re.compile(r"\{\{?(?:role|action|benefit|capability|epic_num|story_num|story_title)\}\}?")
"""Names of the templates of stories; a story about templates has braces of its own."""
_TEXT_SECTIONS = re.compile(r"(?i)story\b|acceptance|tasks?\b|intent")
"""Sections that whoever creates a story fills in; what is recorded of the work comes later."""


class WrittenStatus(NamedTuple):
    """A status as it is written, and where; `is_front` in the front matter."""

    text: str
    span: Span
    is_front: bool = False

    @property
    def status(self) -> StoryStatus:
        return status_of(self.text)


class StoryBox(NamedTuple):
    """A box of a story. `whole` is the id of the box that it is a part of by indentation, "" for none."""

    id: str
    title: str
    status: MarkStatus
    place: Span
    mark: Span
    is_required: bool
    whole: str = ""

    @property
    def is_open(self) -> bool:
        return self.status not in (MarkStatus.DONE, MarkStatus.CANCELLED)


class StoryFile(NamedTuple):
    """A story's file. `statuses` are all that it says, the one that counts first; `boxes` are in order."""

    title: str
    place: Span
    statuses: tuple[WrittenStatus, ...]
    boxes: tuple[StoryBox, ...]
    placeholders: tuple[tuple[str, Span], ...]
    problems: tuple[Problem, ...]

    @property
    def statement(self) -> WrittenStatus | None:
        return self.statuses[0] if self.statuses else None


def read_story(text: str) -> StoryFile:
    """What a story's file says; never raises."""
    read = read_rows(text, GRAMMAR)
    document = read.listed.document
    title = next((each for each in document.headings if each.level == 1), None)
    words = title.text[match.end() if (match := _TITLE.match(title.text)) else 0 :] if title else ""
    boxes = tuple(_boxes(document, read.rows))
    return StoryFile(
        title=words or (title.text if title else ""),
        place=title.span if title else Span(0, 0, 0, len(document.lines[0])),
        statuses=tuple(_statuses(document)),
        boxes=boxes,
        placeholders=tuple(_placeholders(document)),
        problems=(*read.problems(GRAMMAR), *_open_wholes(boxes)),
    )


def _statuses(document: MarkdownDocument) -> Iterator[WrittenStatus]:
    """What stands above the first section, or in the front matter; then sections that are called so."""
    heads = document.headings
    first = next((each.span.line for each in heads if each.level > 1), len(document.lines))
    for number in range(first):
        kind, line = document.kinds[number], document.lines[number]
        match = _STATUS_LINE.fullmatch(line) if kind in (TEXT, FRONT) else None
        if match:
            yield _statement_at(number, match, kind == FRONT)
            break
    for heading in heads:
        if heading.level > 1 and _STATUS_HEADING.fullmatch(heading.text):
            body = range(heading.start, heading.end)
            filled = next((n for n in body if document.lines[n].strip()), -1)
            match = _BARE_STATUS.fullmatch(document.lines[filled]) if filled >= 0 else None
            if match:
                yield _statement_at(filled, match, False)


def _statement_at(line: int, match: re.Match[str], is_front: bool) -> WrittenStatus:
    value, start = match["value"].rstrip(), match.start("value")
    if is_front:
        value = re.sub(r"(?<![ \t])[ \t]++#.*", "", value)
    if value[:1] in "'\"" and value[-1:] == value[:1] and len(value) > 1:
        value, start = value[1:-1], start + 1
    return WrittenStatus(value, Span(line, start, line, start + len(value)), is_front)


def _boxes(document: MarkdownDocument, rows: Sequence[ChecklistRow]) -> Iterator[StoryBox]:
    required = [row for row in rows if _is_required(document, row.item.heading)]
    # Where a file has no such section, whatever it lists is the work.
    wanted = {row.id for row in required or rows}
    above: list[tuple[int, str]] = []
    heading = -1
    for row in rows:
        column = row.item.box.column
        if row.item.heading != heading:
            above, heading = [], row.item.heading
        while above and above[-1][0] >= column:
            above.pop()
        yield StoryBox(
            row.id, row.words or row.id, row.status, row.place, row.item.box,
            row.id in wanted and not row.item.optional, above[-1][1] if above else "",
        )  # fmt: skip
        above.append((column, row.id))


def _is_required(document: MarkdownDocument, index: int) -> bool:
    """True if a heading, or one that it is below, is that of tasks, criteria or a review's demands."""
    level = 7
    while index >= 0:
        heading = document.headings[index]
        if 1 < heading.level < level:
            level = heading.level
            if _REQUIRED.search(heading.text):
                return True
        index -= 1
    return False


def _open_wholes(boxes: Sequence[StoryBox]) -> Iterator[Problem]:
    left: dict[str, list[StoryBox]] = {}
    for box in boxes:
        if box.whole and box.is_open:
            left.setdefault(box.whole, []).append(box)
    for box in boxes:
        if box.status is MarkStatus.DONE and box.id in left:
            count = len(left[box.id])
            message = f"it is ticked, but {left[box.id][0].title!r}"
            message += f" and {count - 1} more below it are open" if count > 1 else " below it is open"
            yield Problem("status-drift", message, box.mark)


def _placeholders(document: MarkdownDocument) -> Iterator[tuple[str, Span]]:
    """Places of the template that are still to be filled in."""
    for heading in document.headings:
        if heading.level != 2 or not _TEXT_SECTIONS.match(heading.text):
            continue
        for number in range(heading.start, heading.end):
            if document.kinds[number] == TEXT:
                for match in _PLACEHOLDER.finditer(document.lines[number]):
                    yield match[0], Span(number, match.start(), number, match.end())
