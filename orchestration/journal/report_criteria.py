"""Tasks that the text of a report speaks of, and whether it says of each if a criterion is met.

A row of a table says it of the tasks in its first cell, or in the column of tasks; where the table has none,
of those in the heading above it. So does a line that begins with a task: "- 03: met". The words are those of
`report_verdicts` (seed 004, 4b: the acceptance table of the quality gate).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..markdown import document as markdown
from ..markdown.inline_text import name_of, strip_markup
from ..markdown.tables import Table, tables
from .report_forms import ReportForm
from .report_verdicts import is_met

_LINE = re.compile(
    r"[ \t]*+(?:[-*+]|\d{1,9}[.)])?+[ \t]*+(?:\[.\][ \t]++)?+(?:Task[ \t]++)?+"
    r"([\w.`/-]+?)(?:[ \t]*+:|[ \t]++[–—-])[ \t]++(.+)",
    re.I,
)
_NAME = re.compile(r"(?<![\w./-])[\w./-]*\w")
# Words of a text that are looked up as the name of a task.
MOST_NAMES = 5000


def judged_names(text: str, forms: Sequence[ReportForm]) -> Iterator[str]:
    """The names of tasks, as written, of which a text says that a criterion is met or is not."""
    document = markdown.read(text)
    columns = {name_of(name) for form in forms for name in form.criteria}
    headings, number = document.headings, 0
    for table in tables(document):
        while number < len(headings) and headings[number].span.line < table.span.line:
            number += 1
        above = strip_markup(headings[number - 1].text) if number else ""
        yield from _names_in_table(table, columns, above)
    for _, line in markdown.unquoted_lines(document):
        match = _LINE.match(strip_markup(line)) if line.lstrip()[:1] != "|" else None
        if match and is_met(re.split("[,;(]", match[2])[0].strip(" .")) is not None:
            yield match[1].strip("`")


def _names_in_table(table: Table, columns: set[str], heading: str) -> Iterator[str]:
    titles = [name_of(cell.text) for cell in table.header]
    verdicts = [index for index, title in enumerate(titles) if title in columns]
    own = next((index for index, title in enumerate(titles) if title.startswith("task")), None)
    named_above = _NAME.findall(heading)
    for row in table.rows if verdicts else ():
        cells = [strip_markup(cell.text) for cell in row.cells()]
        if any(index < len(cells) and is_met(cells[index]) is not None for index in verdicts):
            here = cells[own or 0] if (own or 0) < len(cells) else ""
            yield from (here, *re.split("[,;]", here), *_NAME.findall(here))
            yield from named_above if own is None else ()


def names_mentioned(text: str) -> list[str]:
    """The words of a text that may be names of tasks, each once."""
    lines = (line for _, line in markdown.unquoted_lines(markdown.read(text)))
    words = dict.fromkeys(word for line in lines for word in _NAME.findall(strip_markup(line)))
    return [*words][:MOST_NAMES]
