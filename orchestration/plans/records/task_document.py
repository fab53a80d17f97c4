"""A Markdown document of one task: its front matter, read line by line as people write it, and its criteria.

What YAML would refuse is read all the same: a title with a colon and a blank in it, an apostrophe in single
quotes, a front matter that never ends. `faults` say what a reader of YAML stumbles over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...findings import Span
from ...markdown.block_outline import split_lines
from ...markdown.checklist import CANCELLED_MARKS, DONE_MARKS, read_checklist

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+|$)(.*)")
_ITEM = re.compile(r"[ \t]*+-[ \t]++(.*)")
_FENCE = re.compile(r"---[ \t]*")
_COMMENT = re.compile(r"[ \t]#.*")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*")
_CRITERIA = re.compile(r"(?i)acceptance[ \t]+criteria|definition[ \t]+of[ \t]+done")


class FrontMatterValue(NamedTuple):
    """A key of a front matter. `values` are those of a list, or the one; `span` is that of its text, `places`
    are those of the items of a list with a line each."""

    values: tuple[str, ...]
    span: Span
    is_list: bool = False
    places: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        return " ".join(self.values)


class FrontMatterFault(NamedTuple):
    """What a reader of YAML stumbles over, and the text in its place that says the same; "" for none."""

    said: str
    span: Span
    proper: str = ""


class TaskDocument(NamedTuple):
    """What a document says. `open_criteria` of `criteria` are not ticked. Its front matter ends at the line
    `end`, 0 where it has none."""

    entries: Mapping[str, FrontMatterValue]
    faults: tuple[FrontMatterFault, ...]
    criteria: int
    open_criteria: int
    end: int

    def text(self, key: str) -> str:
        return self.entries[key].text if key in self.entries else ""

    def values(self, key: str) -> tuple[str, ...]:
        return tuple(filter(None, self.entries[key].values)) if key in self.entries else ()

    def places(self, key: str) -> Mapping[str, Span]:
        """The items of a list with a line each, and where they stand."""
        entry = self.entries.get(key)
        return dict(zip(self.values(key), entry.places, strict=False)) if entry else {}

    def span(self, key: str) -> Span | None:
        return self.entries[key].span if key in self.entries else None


def read_document(text: str) -> TaskDocument:
    """What a document says; never raises."""
    lines = split_lines(text.removeprefix("\ufeff"))
    faults: list[FrontMatterFault] = []
    if not lines or not _FENCE.fullmatch(lines[0]):
        criteria = _criteria(text)
        return TaskDocument({}, (), *criteria, 0)
    end = next((n for n in range(1, len(lines)) if _FENCE.fullmatch(lines[n])), 0)
    if not end:
        end = next(
            (n for n in range(1, len(lines)) if not lines[n].strip() or lines[n][:1] == "#"), len(lines)
        )
        faults.append(FrontMatterFault("its front matter never ends", Span(0, 0, 0, len(lines[0]))))
    entries = _entries(lines[:end], faults)
    return TaskDocument(entries, tuple(faults), *_criteria(text), end)


def read_mapping(text: str) -> TaskDocument:
    """What a configuration says that is a mapping of words and lists as front matters are."""
    return TaskDocument(_entries(["", *split_lines(text.removeprefix("\ufeff"))], []), (), 0, 0, 0)


def _entries(lines: list[str], faults: list[FrontMatterFault]) -> dict[str, FrontMatterValue]:
    found: dict[str, FrontMatterValue] = {}
    key = ""
    for number, line in enumerate(lines[1:], 1):
        if match := _KEY.match(line):
            key, raw = match[1], match[2]
            start = match.start(2)
            value = _COMMENT.sub("", raw).rstrip() if raw[:1] not in "'\"" else raw.rstrip()
            span = Span(number, start, number, start + len(value))
            faults += (FrontMatterFault(said, span, _quote_scalar(value)) for said in _faults(key, value))
            is_list = value[:1] == "["
            values = (
                tuple(_inline(value)) if is_list else (() if _BLOCK.fullmatch(value) else (_plain(value),))
            )
            found[key] = FrontMatterValue(values, span, is_list or not value)
        elif key and (item := _ITEM.fullmatch(line)):
            before = found[key]
            values = (*(each for each in before.values if each), _plain(item[1].rstrip()))
            place = Span(number, item.start(1), number, item.start(1) + len(item[1].rstrip()))
            found[key] = before._replace(values=values, is_list=True, places=(*before.places, place))
        elif key and line[:1] in (" ", "\t"):
            # The text goes on.
            found[key] = found[key]._replace(
                values=(*found[key].values[:-1], " ".join((*found[key].values[-1:], line.strip())))
            )
    return found


def _inline(value: str) -> Iterator[str]:
    for part in value.strip("[]").split(","):
        if plain := _plain(part.strip()):
            yield plain


def _quote_scalar(value: str) -> str:
    """A value as YAML takes it that was to be read as it stands; one in quotes is quoted anew."""
    bare = value[1:-1] if len(value) >= 2 and value[0] == value[-1] == "'" else value
    return "'" + bare.replace("''", "'").replace("'", "''") + "'"


def _plain(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1].replace('\\"', '"')
    return value


def _faults(key: str, value: str) -> Iterator[str]:
    """What a reader of YAML stumbles over in a value."""
    first = value[:1]
    if first == "'" and value[1:-1].replace("''", "").count("'"):
        yield f"{key} is in single quotes and has an apostrophe in it"
    elif first and first not in "'\"[{|>" and (": " in value or value.endswith(":")):
        yield f"{key} has a colon in it and no quotes around it"
    elif first and (first in "`%&*" or (first == "@" and key not in ("assignee", "reporter"))):
        yield f"{key} begins with {first} and has no quotes around it"


def _criteria(text: str) -> tuple[int, int]:
    """(the number of criteria below the headings for them, how many are not ticked)."""
    listed = read_checklist(text)
    heads = listed.document.headings
    marks = [
        item.mark
        for item in listed.items
        if item.heading >= 0
        and _CRITERIA.search(heads[item.heading].text)
        and item.mark not in CANCELLED_MARKS
    ]
    return len(marks), sum(mark not in DONE_MARKS for mark in marks)
