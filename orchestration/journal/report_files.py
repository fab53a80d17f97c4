"""Report files of a run, read by the forms a workflow declares (reference: format, A.7).

A verdict is a field `**KEY**: VALUE`, a heading `## KEY: VALUE` or a line `KEY: VALUE`. Its value must be
exactly one of the words allowed: an unfilled `PASS | FAIL`, a `NOT PASS` or two verdicts that differ are
unclear, and an unclear report counts for nothing. What stands in fences, quotes or comments was not said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ..findings import Problem, Span
from ..markdown import document as markdown
from ..markdown.document import Heading, MarkdownDocument
from ..markdown.inline_text import name_of, split_remark, strip_markup, word_of
from ..markdown.tables import tables
from ..vfs.files import digest_of

_NO_WORDS: Mapping[str, str] = MappingProxyType({})
_MESSAGE_LENGTH = 300
_SUMMARY_KEYS = ("summary", "root cause", "issue", "problem", "reason")
_WORD = re.compile(r"[a-z0-9_]+")
_STAGE = re.compile(r"(?i)(?:(?:phase|stage)[ \t]++)?\[?([\w.]*\w)")
_ROUND = re.compile(r"\[?(\d{1,9})(?!\d)")
_BRACKETS = re.compile(r"\[([^\[\]]*\w[^\[\]]*)\](?!\()")
_MANUAL = re.compile(r"\bMANUAL\b")
_MANUAL_ITEM = re.compile(
    r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[.?\][ \t]++)?+(?:\*\*)?+"
    r"(?:\[(?i:manual)\]|MANUAL\b)(?:\*\*)?+[ \t:–—-]*+(.*)"
)


@dataclass(frozen=True, slots=True)
class ReportForm:
    """The form of a phase's report: one entry of `reports.read` (reference: format, A.7).

    `headings` maps how a heading begins to the outcome it implies ("" for none). `outcome` names the
    fields that carry the verdict, `stage` and `task` the fields naming a stage and a task, `tasks` the
    heading after which tasks are listed in brackets. `where` are fields that must have a word. `words` are
    words of fields that decide the outcome. `outcomes` are the words allowed; without any, every word is,
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
    outcomes: tuple[str, ...] = ()


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


def read_report(text: str, forms: Sequence[ReportForm]) -> tuple[ReportFile | None, tuple[Problem, ...]]:
    """The report in a text; else None and why, with the place. Never raises.

    `report-unknown`: no form fits. `report-unclear`: the verdict or the stage is not certain.
    """
    said = _read(text, forms)
    fitting = [form for form in forms if _fits(form, forms, said)]
    if not fitting:
        return None, (Problem("report-unknown", "no phase of the workflow has a report like this"),)
    chosen = _choose([_verdict(form, said) for form in fitting])
    if isinstance(chosen, Problem):
        return None, (chosen,)
    stage = _stage(chosen, said)
    if isinstance(stage, Problem):
        return None, (stage,)
    return _report(chosen, stage, said), ()


_BLANK = "<what was looked at, and what it showed>"
_ROW = "| <task> | <criterion> | <met or unmet> | <file and line, or command and output> |"


def blank_form(form: ReportForm, stage: str) -> str:
    """The text of a report with blanks to fill in; as it is it says nothing."""
    heading = next(iter(form.headings), form.phase)
    lines = [f"# {heading}", ""]
    lines += [f"**{form.stage}**: {stage}"] if form.stage and stage else []
    lines += [f"**{key}**: {word}" for key, word in form.where.items()]
    words = " or ".join(word.upper() for word in form.outcomes)
    lines += [f"**{form.outcome[0]}**: <{words}>"] if form.outcome else []
    lines += ["", _BLANK, ""]
    if form.outcome:
        lines += ["| Task | Criterion | Status | Evidence |", "|---|---|---|---|", _ROW, ""]
    if form.tasks:
        lines += [f"### {form.tasks}", "", "<the failing tasks, as [01, 02]>", ""]
    return "\n".join(lines)


def is_filled_in(text: str, report: ReportFile) -> bool:
    """True if a report says in a sentence what was looked at, and no blank of a form is left in its text."""
    blanks = _BLANK, _ROW, "<the failing tasks"
    return bool(report.message) and not any(blank in text for blank in blanks)


# --- what the text says


class _Statement(NamedTuple):
    """A key with a value, in whichever spelling. `key` is to compare by, `span` is the value's."""

    key: str
    written: str
    value: str
    span: Span


class _Said(NamedTuple):
    document: MarkdownDocument
    statements: tuple[_Statement, ...]
    headings: tuple[tuple[str, Heading], ...]

    def about(self, *keys: str) -> Iterator[_Statement]:
        wanted = {name_of(key) for key in keys if key}
        return (statement for statement in self.statements if statement.key in wanted)


def _read(text: str, forms: Sequence[ReportForm]) -> _Said:
    document = markdown.read(text)
    # Only the fields that a form reads are read without emphasis.
    read = [(*form.outcome, *form.where, *form.words, form.stage, form.task) for form in forms]
    known = {name_of(key) for keys in read for key in keys if key} | {"iteration"}
    found = [*markdown.fields(document, known)]
    for heading in document.headings:
        line = document.lines[heading.span.line][: heading.span.end_column]
        field = markdown.plain_field(heading.span.line, line, heading.span.column, known)
        found += [field] if field else []
    found.sort(key=lambda field: field.value_span)
    statements = tuple(_Statement(name_of(f.key), strip_markup(f.key), f.value, f.value_span) for f in found)
    return _Said(document, statements, tuple((name_of(h.text), h) for h in document.headings))


def _fits(form: ReportForm, forms: Sequence[ReportForm], said: _Said) -> bool:
    for key, word in form.where.items():
        if word_of(word) not in (word_of(split_remark(s.value)[0]) for s in said.about(key)):
            return False
    if any(_begins(form, name) is not None for name, _ in said.headings):
        return True
    shared = {name_of(key) for other in forms if other is not form for key in other.outcome}
    return any(statement.key not in shared for statement in said.about(*form.outcome))


def _begins(form: ReportForm, name: str) -> str | None:
    """The outcome implied by a heading that begins as the form says; None when it does not."""
    return next((word for start, word in form.headings.items() if name.startswith(name_of(start))), None)


# --- the verdict


class _Verdict(NamedTuple):
    """The verdict of one form on a text: the words that are certain and the values that are not."""

    form: ReportForm
    clear: tuple[tuple[str, Span], ...]
    unclear: tuple[_Statement, ...]
    span: Span

    @property
    def certain(self) -> bool:
        return not self.unclear and len({word for word, _ in self.clear}) == 1


def _verdict(form: ReportForm, said: _Said) -> _Verdict:
    clear: list[tuple[str, Span]] = []
    unclear: list[_Statement] = []
    for statement in said.about(*form.outcome):
        if word := _outcome(form, statement.value):
            clear.append((word, statement.span))
        else:
            unclear.append(statement)
    place: Span | None = None
    for name, heading in said.headings:
        implied = _begins(form, name)
        if implied is None:
            continue
        place = place or heading.span
        if implied:
            clear.append((implied, heading.span))
        # After its colon a heading may say a verdict too; "Failure Analysis: stage 2" is none.
        value = heading.text.partition(":")[2].strip()
        if word := _outcome(form, value) if value and form.outcomes else "":
            clear.append((word, heading.span))
        elif value and _mentions(value, map(word_of, form.outcomes)):
            unclear.append(_Statement("", "", value, heading.span))
    decided, undecided = _decided(form, said)
    if decided:
        clear, unclear = decided, []
    place = next((span for _, span in clear), place) or unclear[0].span
    return _Verdict(form, tuple(clear), (*unclear, *undecided), place)


def _outcome(form: ReportForm, value: str) -> str:
    """The outcome a value names, "" when it is not exactly one.

    A remark may follow, unless it holds another of the words: "PASS (or FAIL)" decides nothing.
    """
    said, remark = split_remark(value)
    word = word_of(said)
    allowed = {word_of(outcome): outcome for outcome in form.outcomes}
    if not allowed:
        return word if _WORD.fullmatch(word) else ""
    others = allowed.keys() - {word}
    return "" if _mentions(remark, others) else allowed.get(word, "")


def _mentions(text: str, words: Iterable[str]) -> bool:
    return not set(words).isdisjoint(re.findall(r"\w+", text.lower()))


def _decided(form: ReportForm, said: _Said) -> tuple[list[tuple[str, Span]], list[_Statement]]:
    """The outcomes that words of other fields decide ("Impact: blocking"), and values that are no word."""
    decided: list[tuple[str, Span]] = []
    undecided: list[_Statement] = []
    for key, meanings in form.words.items():
        outcomes = {word_of(word): outcome for word, outcome in meanings.items()}
        for statement in said.about(key):
            word = word_of(split_remark(statement.value)[0])
            if word in outcomes:
                decided.append((outcomes[word], statement.span))
            elif not _WORD.fullmatch(word):
                undecided.append(statement)
    return decided, undecided


def _choose(verdicts: Sequence[_Verdict]) -> list[_Verdict] | Problem:
    """The verdicts that count: all certain ones if they agree, else those of forms that need no verdict.

    A value that is unclear to one form may be clear to another that shares the field; then it is clear.
    """
    certain = [verdict for verdict in verdicts if verdict.certain]
    read = {span for verdict in certain for _, span in verdict.clear}
    for verdict in verdicts:
        if verdict not in certain and (verdict.clear or not read.issuperset(s.span for s in verdict.unclear)):
            return _unclear(verdict)
    words = [verdict.clear[0] for verdict in certain]
    if len({word for word, _ in words}) > 1:
        return _differ(words)
    if certain:
        return certain
    implied = [
        verdict
        for verdict in verdicts
        if not verdict.form.outcomes or (not verdict.form.outcome and "ok" in verdict.form.outcomes)
    ]
    return implied or _unclear(verdicts[0])


def _unclear(verdict: _Verdict) -> Problem:
    allowed = ", ".join(verdict.form.outcomes) or "one word"
    if verdict.unclear:
        statement = verdict.unclear[0]
        message = f"`{statement.value}` is no verdict; expected one of: {allowed}"
        return Problem("report-unclear", message, statement.span, data={"expected": verdict.form.outcomes})
    if verdict.clear:
        return _differ(verdict.clear)
    names = " or ".join(f"`{key}`" for key in verdict.form.outcome) or "the heading"
    message = f"no verdict in {names}; expected one of: {allowed}"
    field = next(iter(verdict.form.outcome), "")
    data = {"field": field, "expected": verdict.form.outcomes}
    return Problem("report-unclear", message, verdict.span, data=data)


def _differ(words: Sequence[tuple[str, Span]]) -> Problem:
    first, place = words[0]
    other, there = next((word, span) for word, span in words if word != first)
    message = f"{first} in line {place.line + 1}, but {other} in line {there.line + 1}"
    return Problem("report-unclear", message, there)


# --- the rest of a report


def _stage(chosen: Sequence[_Verdict], said: _Said) -> str | Problem:
    """The stage a report is about, "" when it names none: "1" of "1 (Tasks 01-02)" and of "Phase 1"."""
    named = said.about(*(verdict.form.stage for verdict in chosen))
    matches = ((_STAGE.match(strip_markup(statement.value)), statement.span) for statement in named)
    found = [(match[1], span) for match, span in matches if match]
    if len({stage.lower() for stage, _ in found}) > 1:
        return _differ([(f"stage {stage}", span) for stage, span in found])
    return found[0][0] if found else ""


def _report(chosen: Sequence[_Verdict], stage: str, said: _Said) -> ReportFile:
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


def _tasks(forms: Sequence[ReportForm], said: _Said) -> tuple[str, ...]:
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


def _message(said: _Said) -> str:
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
