"""Report files of a run, read by the forms a workflow declares (reference: format, A.7).

A verdict is a field `**KEY**: VALUE`, a heading `## KEY: VALUE` or a line `KEY: VALUE`. Its value must be
exactly one of the words allowed: an unfilled `PASS | FAIL` or a `NOT PASS` is unclear, and an unclear report
counts for nothing. What stands in fences, quotes or comments was not said; what is struck out, or denied by
the words behind it, is unclear. Of two verdicts that differ the worse counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from ..findings import Problem, Span
from ..markdown import document as markdown
from ..markdown.document import MarkdownDocument
from ..markdown.inline_text import name_of, split_remark, strip_markup
from ..markdown.tables import tables
from ..vfs.files import digest_of
from .report_forms import BLANKS, ReportContent, ReportForm, read_content
from .report_verdicts import Verdict, choose, denied_verdicts, differ, fits, verdict_of

_MESSAGE_LENGTH = 300
_SUMMARY_KEYS = ("summary", "root cause", "issue", "problem", "reason")
_STAGE = re.compile(r"(?i)(?:(?:phase|stage)[ \t]++)?\[?([\w.]*\w)")
_ROUND = re.compile(r"\[?(\d{1,9})(?!\d)")
_BRACKETS = re.compile(r"\[(?=[^\[\]\w]*+\w)([^\[\]]*+)\](?!\()")
_MANUAL = re.compile(r"\bMANUAL\b")
_MANUAL_ITEM = re.compile(
    r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[.?\][ \t]++)?+(?:\*\*)?+"
    r"(?:\[(?i:manual)\]|MANUAL\b)(?:\*\*)?+[ \t:–—-]*+(.*)"
)


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report as its file says it.

    `phases` are those of all forms that fit and agree on the outcome. `tasks_named` are file names or ids
    as written. `iteration` is 0 without an Iteration field. `message` is at most 300 characters. `span`
    is the place of the verdict. Files with the same `digest` are the same report.
    """

    phases: tuple[str, ...]
    outcome: str
    stage: str
    tasks_named: tuple[str, ...]
    iteration: int
    message: str
    manual_criteria: tuple[str, ...]
    span: Span
    fields: Mapping[str, str]
    digest: str


class PendingReport(NamedTuple):
    """A report file that no journal record holds yet."""

    path: str
    mtime_ns: int
    report: ReportFile

    @property
    def written(self) -> str:
        """When the file was written last, ISO 8601 in UTC; "" for a time that no calendar has."""
        try:
            return datetime.fromtimestamp(self.mtime_ns // 10**9, UTC).isoformat()
        except (OverflowError, ValueError, OSError):
            return ""


def read_report(text: str, forms: Sequence[ReportForm]) -> tuple[ReportFile | None, tuple[Problem, ...]]:
    """The report in a text; else None and why, with the place. Never raises.

    `report-unknown`: no form fits. `report-unclear`: the verdict or the stage is not certain. A report that
    contradicts itself says the worse, with `artifact-contradictory` at both places; where none is worse
    it says nothing.
    """
    said = read_content(text, forms)
    fitting = [form for form in forms if fits(form, forms, said)]
    if not fitting:
        return None, (Problem("report-unknown", "no phase of the workflow has a report like this"),)
    chosen = denied_verdicts(fitting, said) or choose([verdict_of(form, said) for form in fitting])
    if isinstance(chosen, tuple):
        return None, chosen
    stage = _stage(chosen, said)
    if isinstance(stage, Problem):
        return None, (stage,)
    return _report(chosen, stage, said), chosen[0].conflicts


def is_filled_in(text: str, report: ReportFile) -> bool:
    """True if a report says in a sentence what was looked at, and no blank of a form is left in its text."""
    return bool(report.message) and not any(blank in text for blank in BLANKS)


# --- the rest of a report


def _stage(chosen: Sequence[Verdict], said: ReportContent) -> str | Problem:
    """The stage a report is about, "" when it names none: "1" of "1 (Tasks 01-02)" and of "Phase 1"."""
    named = said.about(*(verdict.form.stage for verdict in chosen))
    matches = ((_STAGE.match(strip_markup(statement.value)), statement.span) for statement in named)
    found = [(match[1], span) for match, span in matches if match]
    if len({stage.lower() for stage, _ in found}) > 1:
        return differ([(f"stage {stage}", span) for stage, span in found])
    return found[0][0] if found else ""


def _report(chosen: Sequence[Verdict], stage: str, said: ReportContent) -> ReportFile:
    outcome = chosen[0].clear[0][0] if chosen[0].clear else "ok"
    tasks = _tasks([verdict.form for verdict in chosen], said)
    rounds = (_ROUND.match(strip_markup(statement.value)) for statement in said.about("iteration"))
    iteration = next((int(match[1]) for match in rounds if match), 0)
    manual = tuple(_manual_criteria(said.document))
    fields: dict[str, str] = {}
    for statement in said.statements:
        fields.setdefault(statement.written, strip_markup(statement.value))
    # All statements count to a report's identity, also a second one with the same key.
    stated = [(statement.key, strip_markup(statement.value)) for statement in said.statements]
    identity = json.dumps([outcome, stage, tasks, iteration, manual, stated])
    return ReportFile(
        phases=tuple(verdict.form.phase for verdict in chosen),
        outcome=outcome,
        stage=stage,
        tasks_named=tasks,
        iteration=iteration,
        message=_message(said)[:_MESSAGE_LENGTH],
        manual_criteria=manual,
        span=chosen[0].span,
        fields=MappingProxyType(fields),
        digest=digest_of(identity),
    )


def _tasks(forms: Sequence[ReportForm], said: ReportContent) -> tuple[str, ...]:
    """The tasks in the task fields, then those in the first brackets below the headings that list tasks."""
    texts = [split_remark(statement.value)[0] for statement in said.about(*(form.task for form in forms))]
    starts = tuple({name_of(form.tasks) for form in forms if form.tasks})
    for name, heading in said.headings:
        if starts and name.startswith(starts):
            lines = markdown.unquoted_lines(said.document, heading.start, heading.end)
            found = (_BRACKETS.search(line) for _, line in lines)
            texts += [match[1] for match in found if match][:1]
    names = (
        strip_markup(name).strip("[] ").rpartition("/")[2]
        for text in texts
        for name in re.split("[,;]", text)
    )
    return tuple(dict.fromkeys(name for name in names if name))


def _message(said: ReportContent) -> str:
    """One line of what happened: a summary field, else a section of that name, else the first paragraph."""
    for key in _SUMMARY_KEYS:
        for statement in said.about(key):
            if strip_markup(statement.value):
                return strip_markup(statement.value)
    stated = {statement.span.line for statement in said.statements}
    sections = [
        (h.start, h.end) for key in _SUMMARY_KEYS for name, h in said.headings if name.startswith(key)
    ]
    paragraphs = (_paragraph(said.document, stated, *lines) for lines in (*sections, (0, None)))
    return next((paragraph for paragraph in paragraphs if paragraph), "")


def _paragraph(document: MarkdownDocument, stated: Set[int], start: int, end: int | None) -> str:
    """The first lines of prose between two lines, joined; neither fields, nor table rows, nor rules."""
    words: list[str] = []
    last = -1
    for number, line in markdown.unquoted_lines(document, start, end):
        is_prose = number not in stated and line.lstrip()[0] != "|" and line.strip("-*_= \t")
        if words and (number != last + 1 or not is_prose or len(words) > _MESSAGE_LENGTH):
            break
        if is_prose:
            words.append(line.strip()[:_MESSAGE_LENGTH])
            last = number
    return strip_markup(" ".join(words))


def _manual_criteria(document: MarkdownDocument) -> Iterator[str]:
    """The criteria marked MANUAL: a table row with a cell that says so, a list item that begins so."""
    for table in tables(document):
        titles = [name_of(cell.text) for cell in table.header]
        column = next((i for i, title in enumerate(titles) if title.startswith("criteri")), -1)
        for row in table.rows:
            cells = [strip_markup(cell.text) for cell in row.cells()] if "manual" in row.text.lower() else []
            others = [c for c in cells if not (_MANUAL.search(c) or name_of(c) == "manual")]
            if len(others) < len(cells):
                named = cells[column] if -1 < column < len(cells) else ""
                yield named or next((cell for cell in others if cell), row.text.strip())
    for _, line in markdown.unquoted_lines(document):
        match = _MANUAL_ITEM.match(line)
        if match is not None:
            yield strip_markup(match[1]) or strip_markup(line)
