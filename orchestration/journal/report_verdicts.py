"""Verdicts of report files: the one outcome that a text is certain of, by a form; else why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..findings import Problem, Span
from ..markdown.inline_text import name_of, split_remark, strip_markup, word_of
from ..markdown.tables import tables
from .branches import FAILURES
from .report_forms import ReportContent, ReportForm, Statement

_WORD = re.compile(r"[a-z0-9_]+")
# Words behind a heading or a verdict that take it back, and signs beside a verdict that say the opposite.
_DENIAL = re.compile(
    r"[\W_]*(?:not \w+|no|none|nope|nothing|n/a|tbd|todo|pending|false)[\W_]*$|[ \t]*\?", re.I
)
_NEGATION = re.compile(r"[\W_]*(?:not|never|no longer)\b", re.I)
_CROSSES = re.compile("[❌✗✘✖⛔🚫🔴👎]")
_SIGNS = re.compile("[✅✓✔☑🟢👍⚠]")
_MET = frozenset({
    "met", "pass", "passed", "ok", "yes", "true", "done", "complete", "completed", "satisfied", "verified",
})  # fmt: skip
_UNMET = frozenset({
    "unmet", "not_met", "fail", "failed", "failing", "no", "false", "missing", "partial", "partially_met",
    "incomplete", "open", "blocked", "error",
})  # fmt: skip
# What is left to a person or another phase.
_ELSEWHERE = frozenset({"manual", "skipped", "deferred", "n/a", "na", "not_applicable"})
_CRITERION = "criterion"


def fits(form: ReportForm, forms: Sequence[ReportForm], said: ReportContent) -> bool:
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


def denied_verdicts(forms: Sequence[ReportForm], said: ReportContent) -> tuple[Problem, ...]:
    """The first place that a form reads and that is struck out or denied: nobody knows what it says."""
    for form in forms:
        spans = [statement.span for statement in said.about(*form.keys)]
        for name, heading in said.headings:
            start = next((name_of(each) for each in form.headings if name.startswith(name_of(each))), None)
            if start is not None and _DENIAL.match(name, len(start)):
                message = f"`{heading.text}` takes itself back; write what holds"
                return (Problem("report-unclear", message, heading.span),)
            spans += [heading.span] if start is not None else []
            if form.tasks and name.startswith(name_of(form.tasks)):
                lines = range(heading.start, heading.end)
                spans += [Span(n, 0, n, len(said.document.lines[n])) for n in lines]
        for span in spans:
            if span.line in said.struck:
                line = said.document.lines[span.line].strip()
                message = f"`{line[:80]}` is struck out; remove it, and write what holds without a strike"
                return (Problem("report-unclear", message, span),)
    return ()


class Verdict(NamedTuple):
    """The verdict of one form on a text: the words that are certain and the values that are not."""

    form: ReportForm
    clear: tuple[tuple[str, Span], ...]
    unclear: tuple[Statement, ...]
    span: Span
    conflicts: tuple[Problem, ...] = ()

    @property
    def certain(self) -> bool:
        return not self.unclear and len({word for word, _ in self.clear}) == 1


def verdict_of(form: ReportForm, said: ReportContent) -> Verdict:
    clear: list[tuple[str, Span]] = []
    unclear: list[Statement] = []
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
            unclear.append(Statement("", "", value, heading.span))
    decided, undecided = _decided_outcomes(form, said)
    if decided:
        clear, unclear = decided, []
    place = next((span for _, span in clear), place) or unclear[0].span
    verdict = Verdict(form, tuple(clear), (*unclear, *undecided), place)
    return verdict if verdict.unclear or not clear else _worse(verdict, said)


def _worse(verdict: Verdict, said: ReportContent) -> Verdict:
    """The verdict as the worse of what the text says; where that differs, with a problem at both places.

    A word of failure is worse than others, and each of them than the first of the outcomes, which says that
    the work is done. A criterion that is not met says the second of them.
    """
    form, clear, unclear = verdict.form, list(verdict.clear), list[Statement]()
    done, *others = form.outcomes or ("",)
    if others and {word for word, _ in clear} == {done}:
        for statement, met in _criteria(form, said):
            if met is None:
                unclear.append(statement)
            elif not met:
                clear.append((others[0], statement.span))
    words = list(dict.fromkeys(word for word, _ in clear))
    if len(words) == 1 or unclear:
        return verdict._replace(unclear=tuple(unclear))
    not_done = [word for word in words if word != done]
    failed = [outcome for outcome in form.outcomes if outcome in words and outcome in FAILURES]
    worst = failed[-1] if failed else not_done[0] if len(not_done) == 1 else ""
    counts = f"{worst} counts" if worst else "it says nothing"
    pair = clear[0], next(each for each in clear if each[0] != clear[0][0])
    conflicts = tuple(
        Problem(
            "artifact-contradictory",
            f"the report says {word} here and {other} in line {there.line + 1}; {counts}",
            span,
        )
        for (word, span), (other, there) in (pair, pair[::-1])
    )
    certain = tuple(each for each in clear if not worst or each[0] == worst)
    return verdict._replace(clear=certain, span=certain[0][1], conflicts=conflicts)


def _criteria(form: ReportForm, said: ReportContent) -> Iterator[tuple[Statement, bool | None]]:
    """The fields and cells of criteria, with whether they are met; None for a cell without a known word."""
    for statement in said.about(*form.criteria):
        if is_met(statement.value) is False:
            yield statement, False
    wanted = {name_of(name) for name in form.criteria}
    for table in tables(said.document) if wanted else ():
        columns = [index for title, index in table.columns.items() if title in wanted]
        for parts in (row.parts() for row in table.rows if columns):
            for cell in filter(None, map(parts.cell, columns)):
                yield Statement(_CRITERION, "", cell.text, cell.span), is_met(cell.text)


def is_met(value: str) -> bool | None:
    """True for a criterion that is met or judged elsewhere, by its status; None where that is not certain."""
    text = strip_markup(value).replace("\ufe0f", "")
    word = word_of(split_remark(text)[0])
    if word in _UNMET or _CROSSES.search(text):
        return False
    is_known = word in _MET or word in _ELSEWHERE or _SIGNS.search(text)
    return True if is_known and "~~" not in value else None


def _outcome(form: ReportForm, value: str) -> str:
    """The outcome a value names, "" when it is not exactly one.

    A remark may follow, unless it holds another of the words or denies this one: "PASS (or FAIL)" and
    "PASS (not yet)" decide nothing. Nor does a word of success with a cross beside it.
    """
    said, remark = split_remark(value)
    word = word_of(said)
    is_denied = _DENIAL.match(remark) or _NEGATION.match(remark)
    if is_denied or (word not in FAILURES and _CROSSES.search(value)):
        return ""
    allowed = {word_of(outcome): outcome for outcome in form.outcomes}
    if not allowed:
        return word if _WORD.fullmatch(word) else ""
    others = allowed.keys() - {word}
    return "" if _mentions(remark, others) else allowed.get(word, "")


def _mentions(text: str, words: Iterable[str]) -> bool:
    return not set(words).isdisjoint(re.findall(r"\w+", text.lower()))


def _decided_outcomes(
    form: ReportForm, said: ReportContent
) -> tuple[list[tuple[str, Span]], list[Statement]]:
    """The outcomes that words of other fields decide ("Impact: blocking"), and values that are no word."""
    decided: list[tuple[str, Span]] = []
    undecided: list[Statement] = []
    for key, meanings in form.words.items():
        outcomes = {word_of(word): outcome for word, outcome in meanings.items()}
        for statement in said.about(key):
            word = word_of(split_remark(statement.value)[0])
            if word in outcomes:
                decided.append((outcomes[word], statement.span))
            elif not _WORD.fullmatch(word):
                undecided.append(statement)
    return decided, undecided


def choose(verdicts: Sequence[Verdict]) -> list[Verdict] | tuple[Problem, ...]:
    """The verdicts that count: all certain ones if they agree, else those of forms that need no verdict.

    Or the problems for which none counts.
    A value that is unclear to one form may be clear to another that shares the field; then it is clear.
    """
    certain = [verdict for verdict in verdicts if verdict.certain]
    read = {span for verdict in certain for _, span in verdict.clear}
    for verdict in verdicts:
        if verdict not in certain and (verdict.clear or not read.issuperset(s.span for s in verdict.unclear)):
            return verdict.conflicts or (_unclear(verdict),)
    words = [verdict.clear[0] for verdict in certain]
    if len({word for word, _ in words}) > 1:
        return (differ(words),)
    if certain:
        return certain
    implied = [
        verdict
        for verdict in verdicts
        if not verdict.form.outcomes or (not verdict.form.outcome and "ok" in verdict.form.outcomes)
    ]
    return implied or (_unclear(verdicts[0]),)


def _unclear(verdict: Verdict) -> Problem:
    allowed = ", ".join(verdict.form.outcomes) or "one word"
    if verdict.unclear:
        statement = verdict.unclear[0]
        message = f"`{statement.value}` is no verdict; expected one of: {allowed}"
        if statement.key == _CRITERION:
            message = f"`{statement.value}` says neither met nor unmet"
            return Problem("report-unclear", message, statement.span)
        return Problem("report-unclear", message, statement.span, data={"expected": verdict.form.outcomes})
    names = " or ".join(f"`{key}`" for key in verdict.form.outcome) or "the heading"
    message = f"no verdict in {names}; expected one of: {allowed}"
    field = next(iter(verdict.form.outcome), "")
    data = {"field": field, "expected": verdict.form.outcomes}
    return Problem("report-unclear", message, verdict.span, data=data)


def differ(words: Sequence[tuple[str, Span]]) -> Problem:
    first, place = words[0]
    other, there = next((word, span) for word, span in words if word != first)
    message = f"{first} in line {place.line + 1}, but {other} in line {there.line + 1}"
    return Problem("report-unclear", message, there)
