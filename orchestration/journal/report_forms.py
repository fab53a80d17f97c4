"""Forms of report files, which a workflow declares, and the fields and headings that a text has for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ..findings import Span
from ..markdown import document as markdown
from ..markdown.document import Heading, MarkdownDocument
from ..markdown.inline_text import name_of, strip_markup
from ..markdown.strikes import struck_lines

_NO_WORDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReportForm:
    """The form of a phase's report: one entry of `reports.read` (reference: format, A.7).

    `headings` maps how a heading begins to the outcome it implies ("" for none). `outcome` names the
    fields that carry the verdict, `stage` and `task` the fields naming a stage and a task, `tasks` the
    heading after which tasks are listed in brackets. `where` are fields that must have a word. `words` are
    words of fields that decide the outcome. `criteria` are columns of tables, and fields, that say whether a
    criterion is met. `outcomes` are the words allowed; without any, every word is,
    and a report without a verdict is "ok".
    """

    phase: str
    headings: Mapping[str, str] = field(default_factory=lambda: _NO_WORDS)
    outcome: tuple[str, ...] = ()
    stage: str = ""
    task: str = ""
    tasks: str = ""
    where: Mapping[str, str] = field(default_factory=lambda: _NO_WORDS)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    criteria: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that it reads."""
        return (*self.outcome, *self.where, *self.words, self.stage, self.task)


_BLANK = "<what was looked at, and what it showed>"
_ROW = "| {} | <criterion> | <met or unmet> | <file and line, or command and output> |"
_REASON = "<why it is not there>"
BLANKS = (
    _BLANK,
    _REASON,
    "<each other file>",
    "<task>",
    "<criterion>",
    "<met or unmet>",
    "<cause>",
    "<the failing tasks",
)
# Tasks that have a row of their own in a form, and characters that all such rows have at most: a form has to
# fit whole into an answer. So have the files.
_MOST_ROWS, _ROOM = 8, 800


def blank_form(form: ReportForm, stage: str, tasks: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The text of a report with blanks to fill in, about some tasks; as it is it says nothing.

    `missing` are files of which it says why they are not there.
    """
    heading = next(iter(form.headings), form.phase)
    lines = [f"# {heading}", ""]
    lines += [f"**{form.stage}**: {stage}"] if form.stage and stage else []
    lines += [f"**{key}**: {word}" for key, word in form.where.items()]
    words = " or ".join(word.upper() for word in form.outcomes)
    lines += [f"**{form.outcome[0]}**: <{words}>"] if form.outcome else []
    lines += ["", _BLANK, ""]
    names = _rows(tasks, len(_ROW), "<task>") if tasks else ["<task>"]
    if form.outcome:
        rows = [_ROW.format(name) for name in names]
        lines += ["| Task | Criterion | Status | Evidence |", "|---|---|---|---|", *rows, ""]
    elif tasks:
        lines += [*(f"- {name}: <cause>" for name in names), ""]
    if missing:
        files = _rows(missing, len(_REASON), "<each other file>")
        lines += ["Files that are not there:", "", *(f"- {name}: {_REASON}" for name in files), ""]
    if form.tasks:
        lines += [f"### {form.tasks}", "", "<the failing tasks, as [01, 02]>", ""]
    return "\n".join(lines)


def _rows(names: Sequence[str], frame: int, other: str) -> list[str]:
    """The names that have a row, each `frame` characters longer than its name, and `other` for more."""
    rows: list[str] = []
    room = _ROOM
    for name in names[:_MOST_ROWS]:
        room -= len(name) + frame
        if room < 0:
            break
        rows.append(name)
    return rows if len(rows) == len(names) else [*rows, other]


class Statement(NamedTuple):
    """A key with a value, in whichever spelling. `key` is to compare by, `span` is the value's."""

    key: str
    written: str
    value: str
    span: Span


class ReportContent(NamedTuple):
    """The text of a report as statements and headings, with the lines that are struck out."""

    document: MarkdownDocument
    statements: tuple[Statement, ...]
    headings: tuple[tuple[str, Heading], ...]
    struck: frozenset[int]

    def about(self, *keys: str) -> Iterator[Statement]:
        wanted = {name_of(key) for key in keys if key}
        return (statement for statement in self.statements if statement.key in wanted)


def read_content(text: str, forms: Sequence[ReportForm]) -> ReportContent:
    document = markdown.read(text)
    # Only the fields that a form reads are read without emphasis.
    read = [(*form.keys, *form.criteria) for form in forms]
    known = {name_of(key) for keys in read for key in keys if key} | {"iteration"}
    found = [*markdown.fields(document, known)]
    for heading in document.headings:
        line = document.lines[heading.span.line][: heading.span.end_column]
        field = markdown.plain_field(heading.span.line, line, heading.span.column, known)
        found += [field] if field else []
    found.sort(key=lambda field: field.value_span)
    statements = tuple(Statement(name_of(f.key), strip_markup(f.key), f.value, f.value_span) for f in found)
    headings = tuple((name_of(heading.text), heading) for heading in document.headings)
    return ReportContent(document, statements, headings, struck_lines(document))
