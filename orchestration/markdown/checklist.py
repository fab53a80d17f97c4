"""Checklists of Markdown: every line that looks like a task, whatever wrote it, with its mark and its places.

People and assistants write boxes in more ways than CommonMark's extension knows. Whoever counts only what it
recognises calls work complete that is not; so a line that looks like a task is an item here, and `form` says
how it was written. Which marks mean what, and which words are ids, is for the reader of each convention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ..findings import Span
from .document import INDENTED, LAZY, TEXT, MarkdownDocument, read


class ItemForm(StrEnum):
    """How the mark of an item is written."""

    BOX = "box"
    """`- [x] text`, as GFM has it."""
    LOOSE = "loose"
    """A box that GFM reads as words: without a bullet or blanks around it, escaped, or with a word in it."""
    SYMBOL = "symbol"
    """A character that stands for a box, `- ☑ text`."""
    CELL = "cell"
    """A cell of a table, `| T001 | text | [x] |`."""


class ChecklistItem(NamedTuple):
    """One line with a mark.

    `mark` is what the box holds without blanks, small letters, "" for nothing; `box` the range of the box or
    character. `text` is the words behind it (of a table's row the first two other cells), from `column` on to
    `end`. `optional` says that a star stands right behind the box. `heading` is the index in the document of
    the heading that it is below, -1 for none.
    """

    line: int
    form: ItemForm
    mark: str
    box: Span
    text: str
    column: int
    end: int
    heading: int = -1
    optional: bool = False

    @property
    def span(self) -> Span:
        """The range of the words, that of the box where there are none."""
        return Span(self.line, self.column, self.line, self.end) if self.text else self.box


class Checklist(NamedTuple):
    document: MarkdownDocument
    items: tuple[ChecklistItem, ...]


DONE_MARKS = frozenset(("x", "✅", "☑", "✔", "✓", "done", "complete", "completed", "finished"))
CANCELLED_MARKS = frozenset(("n/a", "na", "skip", "skipped", "cancelled", "canceled", "dropped"))
"""Marks that mean this wherever they stand: nothing is left to do of such an item."""
SYMBOLS = "☐☑☒✅✔✓✗✘❌⬜🔲⏳🔄🚧"
"""Characters that people write in the place of a box."""
BOXES = "☐☑☒"
"""Those that mean nothing else, wherever they stand."""
_OPEN_WORDS = frozenset(("todo", "to-do", "open", "wip", "doing", "in-progress", "blocked", "deferred"))
_STATUS_WORDS = DONE_MARKS | CANCELLED_MARKS | _OPEN_WORDS
_MARKERS = r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?P<tight>[-*+]|\d{1,9}[.)])?+"
_BOX = re.compile(_MARKERS + r"(?P<escape>\\?)\[(?P<mark>[^\[\]]{0,24})\](?P<star>(?:\*(?!\*))?+)")
_SYMBOL = re.compile(_MARKERS + rf"(?P<mark>[{SYMBOLS}])\ufe0f?[ \t]*+")
_HAS_SYMBOL = re.compile(f"[{SYMBOLS}]")
_CELL_MARK = re.compile(rf"(?:\[(?P<box>[^\[\]]{{0,3}})\]|(?P<symbol>[{SYMBOLS}]))\ufe0f?")
_CELL_ID = re.compile(r"(?:\*\*|`)?(?:[A-Za-z]{1,3}-?)?\d+(?:\.\d+)*[a-z]?(?:\*\*|`)?")


def read_checklist(text: str) -> Checklist:
    """The items of a text in order; never raises.

    Nothing in fences, comments, block quotes and front matter is one. A fence or comment that never ends
    hides nothing. A bracket with more in it than one character (unless that is a word of status, as
    `[done]`), `[P]`, and one right before `(` or `[` are labels and links, not boxes.
    """
    document = read(text, rescue=True)
    return Checklist(document, tuple(checklist_items(document)))


def checklist_items(document: MarkdownDocument) -> Iterator[ChecklistItem]:
    """The items of a document, one after the other; see `read_checklist`."""
    heading, headings = -1, document.headings
    for number, line in enumerate(document.lines):
        while heading + 1 < len(headings) and headings[heading + 1].span.line <= number:
            heading += 1
        if ("[" in line or _HAS_SYMBOL.search(line)) and (item := item_at(document, number, heading)):
            yield item


def item_at(document: MarkdownDocument, number: int, heading: int) -> ChecklistItem | None:
    """The item in a line below a heading, by its index; None where that is no item."""
    line = document.lines[number]
    if document.kinds[number] not in (TEXT, INDENTED, LAZY):
        return None
    item = _box_item(number, line) if "[" in line else None
    item = item or _symbol_item(number, line) or _cell_item(number, line)
    return item._replace(heading=heading) if item else None


def _box_item(number: int, line: str) -> ChecklistItem | None:
    match = _BOX.match(line)
    if match is None:
        return None
    raw, follows = match["mark"], line[match.end() : match.end() + 1]
    mark = _normal(raw)
    is_word = len(mark) > 1
    if (is_word and mark not in _STATUS_WORDS) or raw.strip() == "P":
        return None
    # `[x](address)` and `[x][name]` are links; with a blank in it, `[ ][P]` is a box.
    if follows and follows in "([:" and not (raw and not raw.strip()):
        return None
    is_bare = match.start("escape") == len(line) - len(line.lstrip(" \t"))
    if is_bare and (mark not in ("", "x", *SYMBOLS) or not follows or follows not in " \t"):
        return None
    box = Span(number, match.end("escape"), number, match.end("mark") + 1)
    is_loose = bool(is_bare or is_word or match["tight"] or match["escape"] or not raw or mark in {*SYMBOLS})
    is_close = bool(follows) and follows not in " \t" and not match["star"]
    is_gfm = not (is_loose or is_close) and raw.lower() in (" ", mark)
    form = ItemForm.BOX if is_gfm else ItemForm.LOOSE
    return _item(number, line, form, mark, box, match.end(), bool(match["star"]))


def _normal(raw: str) -> str:
    return "-".join(raw.replace("\ufe0f", "").lower().split())


def _symbol_item(number: int, line: str) -> ChecklistItem | None:
    match = _SYMBOL.match(line)
    if match is None or line.lstrip(" \t")[:1] == "|":
        return None
    if match.start("mark") == len(line) - len(line.lstrip(" \t")) and match["mark"] not in BOXES:
        # A sentence that begins with an emoji is no item of a list.
        return None
    box = Span(number, match.start("mark"), number, match.end("mark"))
    return _item(number, line, ItemForm.SYMBOL, match["mark"], box, match.end(), False)


def _item(
    number: int, line: str, form: ItemForm, mark: str, box: Span, start: int, optional: bool
) -> ChecklistItem:
    text = line[start:].strip()
    column = start + len(line[start:]) - len(line[start:].lstrip())
    return ChecklistItem(number, form, mark, box, text, column, column + len(text), optional=optional)


def _cell_item(number: int, line: str) -> ChecklistItem | None:
    """The task of a table's row: its first cell is an id, and another one is a mark and nothing else."""
    if line.lstrip(" \t")[:1] != "|":
        return None
    cells: list[tuple[int, str]] = []
    start = line.index("|") + 1
    for part in line[start:].split("|"):
        bare = part.strip()
        cells.append((start + part.index(bare) if bare else start, bare))
        start += len(part) + 1
    if not _CELL_ID.fullmatch(cells[0][1]):
        return None
    for column, cell in cells[1:]:
        if mark := _CELL_MARK.fullmatch(cell):
            box = Span(number, column, number, column + len(mark[0].rstrip("\ufe0f")))
            words = [each for each in cells[1:] if each[0] != column and each[1]][:1]
            text = " ".join(each[1] for each in (cells[0], *words))
            end = cells[0][0] + len(cells[0][1])
            value = _normal(mark["box"]) if mark["symbol"] is None else mark["symbol"]
            return ChecklistItem(number, ItemForm.CELL, value, box, text, cells[0][0], end)
    return None
