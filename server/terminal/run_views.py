"""Evaluations as lines for people. All file text goes through `sanitize`; here nothing is decided."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

from ...orchestration.findings import Evidence, Severity
from ...orchestration.result.held_tasks import HeldTask, without_held_tasks
from ...orchestration.result.phrases import in_sentence, status_phrase
from ...orchestration.result.values import Evaluation, GateState, QuestionState, Suggestion
from ...orchestration.sanitize import plain, value_text
from ...orchestration.states import RunStatus
from ...tools.assistant.answer import members_left_out, shrunk
from ...tools.commands import WHY, command_line
from ...tools.run_names import awaits_person
from .caller import stdout
from .finding_views import at_place, check_lines, checks_in_force
from .lines import (
    COMMAND,
    VERBATIM,
    Line,
    Part,
    console,
    is_terminal,
    list_names,
    more,
    name,
    path,
    print_lines,
    styled_text,
    waits,
)

if TYPE_CHECKING:
    from ...orchestration.rendering.explanation import ExplanationEntry

STATUS_STYLE: Mapping[str, str] = {
    "active": "good",
    "waiting": "phase",
    "waiting_human": "wait",
    "blocked": "bad",
    "complete": "good",
    "failed": "bad",
    "exited": "dim",
    "invalid": "bad",
}
_GATE_STYLE: Mapping[str, str] = {
    "passed": "good",
    "failed": "bad",
    "open": "warn",
    "waived": "warn",
    "not-reached": "dim",
}
# What rests on less is to be seen.
_BASIS_STYLE: Mapping[str, str] = {"measured": "dim", "decided": "dim", "recorded": "dim"}
# Below this many columns a table of runs is all line breaks, and paragraphs read better.
_TABLE_WIDTH = 120
# Characters of an example: of a file's, of a report's data in a line, and of that data at all.
_EXAMPLE_SHOWN, _DATA_IN_LINE, _DATA_SHOWN = 200, 200, 8_000
_REPORTS_SHOWN, _BATCHES = 3, 4


def _next(e: Evaluation) -> list[Part]:
    phrase = in_sentence(plain(e.suggestion.phrase, 200))
    return [Part("  next: "), Part(phrase, "run"), Part(f": {plain(e.suggestion.reason, 300)}")]


def _head(e: Evaluation) -> Iterator[Line]:
    """Which run, how it stands, and where: the phase with its title, and as the file spells it."""
    progress = f"  {e.progress_phrase}" if e.progress else ""
    status = Part(status_phrase(e.status), STATUS_STYLE[e.status])
    yield [Part(path(e.run) or ".", "run"), Part("  "), status, Part(progress, "dim")]
    titled = "" if e.title == e.run.rsplit("/", 1)[-1] else f": {plain(e.title)}"
    yield [Part(f"  {name(e.workflow)}{titled}", "dim")]
    phase, raw = e.current_phase, e.raw_phase
    title = next((each.title for each in e.phases if each.id == phase), phase)
    about = [name(title)] if title and title != phase else []
    about += [f"written {name(raw)}"] if raw not in (None, phase) else []
    current = Part("unknown", "bad") if phase is None else Part(name(phase), "phase")
    yield [Part("  phase: "), current, Part(f" ({', '.join(about)})" if about else "", "dim")]


# ---- status -----------------------------------------------------------------------------------


def print_status(evaluations: Sequence[Evaluation], *, oneline: bool = False) -> None:
    """Every run: a table on a wide terminal, else a paragraph each, and how many stand how; or one line."""
    if oneline:
        print_lines(map(_line, evaluations), cut=True)
        return
    stream = stdout()
    wide = is_terminal(stream) and console(stream).width >= _TABLE_WIDTH
    if wide and len(evaluations) > 1:
        _table(evaluations, stream)
    else:
        print_lines(paragraphs([*_head(e), _next(e), *_points(e)] for e in evaluations))
    if len(evaluations) > 1:
        print_lines([*([] if wide else [[]]), list(_summary(evaluations))])


def _line(e: Evaluation) -> Line:
    """A run in a line: its name, how it stands, and the next step."""
    progress = f" {e.progress.done}/{e.progress.total}" if e.progress and e.progress.total else ""
    phase = Part(f" {name(e.current_phase or 'unknown')}{progress}", "phase")
    stands = [Part("  "), Part(status_phrase(e.status), STATUS_STYLE[e.status]), phase]
    return [Part(path(e.run) or ".", "run"), *stands, Part("  "), *_next(e)[1:]]


def paragraphs(blocks: Iterable[Iterable[Line]]) -> Iterator[Line]:
    """The lines of all blocks, with an empty line between two blocks."""
    for place, block in enumerate(blocks):
        yield from [[]] if place else []
        yield from block


def _summary(evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    yield Part(f"{len(evaluations)} runs", "dim")
    counts = Counter(e.status.value for e in evaluations)
    for status_id, style in STATUS_STYLE.items():
        if (count := counts[status_id]) and status_id != "waiting_human":
            words = waits(count, "job") if status_id == "waiting" else f"{count} {status_id}"
            yield Part(f", {words}", style if style == "bad" else "dim")
    if waiting := sum(map(awaits_person, evaluations)):
        yield Part(f", {waits(waiting, 'person')}", "wait")


def _table(evaluations: Sequence[Evaluation], stream: IO[str]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for title, ratio in (("Run", 5), ("Stands", 4), ("Next", 7)):
        table.add_column(title, ratio=ratio, overflow="fold")
    for e in evaluations:
        run, about, phase = map(_strip_indent, _head(e))
        doing = [_next(e)[1:], *map(_strip_indent, _points(e)), []]
        cells = ([run[:1], about], [run[2:], phase[1:]], doing)
        table.add_row(*(Text("\n").join(map(styled_text, lines)) for lines in cells))
    console(stream).print(table)


def _strip_indent(line: Line) -> list[Part]:
    return [Part(line[0].text.lstrip(), line[0].style), *line[1:]]


def _points(e: Evaluation) -> Iterator[Line]:
    """All that must not be overlooked: tasks to do, shut gates, questions, errors."""
    yield from _tasks(e.suggestion)
    for gate in e.gates:
        if gate.shut:
            unmet = "; ".join(plain(c.text) for c in gate.criteria if c.met is not True)
            status = Part(f"{name(gate.id)} {gate.status}", _GATE_STYLE[gate.status])
            yield [
                Part("  gate "),
                status,
                Part(_gate_title(gate) + (f"; not met: {unmet}" if unmet else "")),
            ]
    yield from map(_question, e.questions)
    yield from _errors(e)


def _tasks(suggestion: Suggestion) -> Iterator[Line]:
    if suggestion.tasks:
        yield [Part("  tasks: "), Part(list_names(suggestion.tasks))]


def _held_lines(held: Collection[HeldTask], *, has_free: bool) -> Iterator[Line]:
    if held and not has_free:
        yield [Part("  no task is free: wait, or work on another run", "wait")]
    for each in held:
        yield [Part("  not free: "), Part(plain(f"{each.task} is {each.phrase}", 400))]


def _gate_title(gate: GateState) -> str:
    return "" if gate.title == gate.id else f" ({plain(gate.title)})"


def _question(question: QuestionState, since: str = "", limit: int = 300) -> Line:
    text = f" ({question.kind}{since}): {plain(question.question, limit)}"
    return [Part("  asks "), Part(plain(question.id, 80), "wait"), Part(text)]


def _errors(e: Evaluation) -> Iterator[Line]:
    for found in e.findings:
        if found.severity is Severity.ERROR and not found.overridden:
            yield [Part("  "), Part("error", "bad"), Part(f" {at_place(found)}: {plain(found.message, 300)}")]
            for fix in found.fixes:
                yield [Part(f"    fix: {plain(fix.title)}{':' if fix.command else ''}", "dim")]
                if fix.command:
                    yield [Part("      "), Part(path(shlex.join(("phasekeeper", *fix.command))), COMMAND)]


# ---- one run ----------------------------------------------------------------------------------


def _person_or_job(e: Evaluation, waiting_for: str) -> Line:
    """Who is awaited, where the run stands still for it; else what a person may look at besides."""
    kind, _, what = waiting_for.partition(": ")
    if kind == "person" and not awaits_person(e) and e.status is not RunStatus.WAITING:
        return [Part("  a person may look at it besides: "), Part(plain(what, 300))]
    return [Part("  waiting for "), Part(plain(waiting_for, 300), "wait")]


def next_step_lines(
    e: Evaluation, where: Sequence[str] = (), held: Collection[HeldTask] = ()
) -> Iterator[Line]:
    """The next step of one run: what, why, on what evidence, how it is reported, and what is not allowed now.

    `where` are the words that a command about the run needs besides (`selection.root_option`), `held` are
    tasks that others have on their machines.
    """
    suggestion = without_held_tasks(e, held).suggestion
    yield from _head(e)
    yield _next(e)
    yield from _evidence(suggestion.evidence, "    ")
    if suggestion.agents:
        yield [Part(f"  who: {list_names(suggestion.agents)}")]
    if suggestion.waiting_for and not suggestion.waiting_for.endswith(suggestion.reason):
        yield _person_or_job(e, suggestion.waiting_for)
    for produce in suggestion.produce:
        schema = f" (schema {path(produce.schema)})" if produce.schema else ""
        # The form of the file: in the same line where it fits, else below it.
        example = (produce.example or "").strip("\n")
        fits = len(example) <= _EXAMPLE_SHOWN and "\n" not in example
        like = (
            f", like {plain(example, _EXAMPLE_SHOWN)}"
            if example and fits
            else ", like this:"
            if example
            else ""
        )
        how = "revise" if produce.revise else "produce"
        yield [Part(f"  {how}: {path(produce.path)}{schema}"), Part(like, "dim")]
        if example and not fits:
            yield from _verbatim(example)
    yield from _tasks(suggestion)
    yield from _held_lines(held, has_free=bool(suggestion.tasks))
    batches = suggestion.parallel
    if any(len(batch) > 1 for batch in batches):
        together = (" + ".join(map(name, batch[:8])) + more(len(batch) - 8) for batch in batches[:_BATCHES])
        order = ", then ".join(together)
        yield [Part(f"  at the same time: {order}{more(len(batches) - _BATCHES, ' batches')}")]
    yield from _report_hint(e, where)
    yield from _grounds(e)
    yield from check_lines(checks_in_force(e), "  ")
    for limit in e.limits:
        if limit.count:
            count = Part(f"{name(limit.id)}: {limit.count} of {limit.max}", "bad" if limit.reached else "")
            yield [Part("  limit "), count]
    yield from _forbidden_lines(
        "  not now: ", ((entry.action, entry.because) for entry in suggestion.forbidden)
    )
    for question in e.questions:
        yield _question(question)
        yield from _answer_hint(e, question, where)
    for note in e.notes:
        yield [Part(f"  {plain(note.title)}", "dim")]
        yield from ([Part(f"    {plain(line, 400)}")] for line in note.text.splitlines())
    yield from _errors(e)


def _grounds(e: Evaluation) -> Iterator[Line]:
    """The grounds of the gates that let the run go on now; of all gates and phases where it is complete."""
    is_over = e.status == "complete"
    for gate in e.gates:
        if gate.status in ("passed", "waived") and (gate.in_force or is_over):
            said = f"  gate {name(gate.id)} {gate.status}, {plain(gate.rests_on)}"
            yield [Part(said, _BASIS_STYLE.get(gate.basis or "", "warn"))]
    ended = [phase for phase in e.phases if is_over and phase.basis]
    for (basis, words), same in groupby(ended, key=lambda phase: (phase.basis, phase.rests_on)):
        phases = list_names([phase.id for phase in same], 12)
        yield [Part(f"  done: {phases}, {plain(words)}", _BASIS_STYLE.get(basis or "", "warn"))]


def _forbidden_lines(before: str, entries: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Forbidden actions, those with the same reason together."""
    for because, same in groupby(entries, key=lambda entry: entry[1]):
        actions = ["anything else" if action == "*" else action for action, _ in same]
        yield [Part(f"{before}{list_names(actions, 12)} ({plain(because)})", "dim")]


def _evidence(evidence: Sequence[Evidence], indent: str) -> Iterator[Line]:
    for entry in evidence:
        at = f"  {at_place(entry)}" if entry.path else ""
        yield [Part(f"{indent}{plain(entry.expression)} = {value_text(entry.value)}"), Part(at, "dim")]


# ---- the commands that come next ---------------------------------------------------------------


def _report_hint(e: Evaluation, where: Sequence[str]) -> Iterator[Line]:
    """The command that reports the suggested step, with its outcomes; nothing where there is none."""
    if not e.suggestion.reports:
        return
    first, *others_in_turn = e.suggestion.reports[:_REPORTS_SHOWN]
    best, *others = first.outcomes
    # Which of the tasks are done only whoever did them knows.
    call = command_line(e, ("report", first.step, best), where)
    call += " --task ID" if e.suggestion.tasks else ""
    call += " --report FILE" if first.form else ""
    call += " --data FILE" if first.data else ""
    if first.instructions:
        yield [Part(f"  how: {plain(first.instructions, 1_000)}", "dim")]
    yield [Part("  report: "), Part(call, COMMAND)]
    if others:
        yield [
            Part(f"    in place of {plain(best, 40)}: {', '.join(plain(word, 40) for word in others)}", "dim")
        ]
    if others_in_turn:
        yield [Part(f"    also in turn: {', '.join(plain(each.step, 60) for each in others_in_turn)}", "dim")]
    for needed in first.brings:
        met = _MET_BEFORE[needed.met]
        yield [Part(f"    {plain(best, 40)} needs that {plain(needed.phrase, 600)}"), met]
    if first.data:
        yield from _data_example(first.data)
    if first.list_changes:
        yield [Part(f"    of its lists: {plain(first.list_changes, 600)}", "dim")]
    if first.form:
        yield [Part("    the FILE of --report (- for standard input) is this, filled in:", "dim")]
        yield from _verbatim(first.form)


def _data_example(wanted: Mapping[str, Any]) -> Iterator[Line]:
    """The example of a report's data, in a line where it fits; what of it is too much is named."""
    data = shrunk(wanted, _DATA_SHOWN)
    in_line = json.dumps(data, ensure_ascii=False)
    said = "    the FILE of --data (- for standard input) is JSON as this, with what is true"
    if len(in_line) <= _DATA_IN_LINE:
        yield [Part(f"{said}: {in_line}", "dim")]
    else:
        yield [Part(f"{said}:", "dim")]
        yield from _verbatim(json.dumps(data, ensure_ascii=False, indent=2))
    if left_out := [*members_left_out(wanted, data)]:
        yield [Part(f"    and as well, like what is shown: {list_names(left_out, 200)}", "dim")]


def _verbatim(text: str) -> Iterator[Line]:
    """Lines to copy, as they are: from the first column, with an empty line before and behind."""
    yield []
    yield from ([Part(plain(line, 2_000), VERBATIM)] for line in text.rstrip("\n").split("\n"))
    yield []


# Whether what a report needs is there before it is made.
_MET_BEFORE = {True: Part(" (so it is)", "good"), False: Part(" (not so yet)", "warn"), None: Part("")}


def _answer_hint(e: Evaluation, question: QuestionState, where: Sequence[str]) -> Iterator[Line]:
    """The command by which a person answers a question."""
    answer = "OPTION" if question.options else "ANSWER"
    call = command_line(e, ("answer", question.id, answer), where) + WHY
    options = ", ".join(plain(option.id, 40) for option in question.options)
    yield [Part("    decide: "), Part(call, COMMAND)]
    yield [Part(f"      OPTION is {options}" if options else "      ANSWER is your answer in words", "dim")]


# ---- gates, questions, explanation -------------------------------------------------------------


_MET = {True: Part("met", "good"), False: Part("not met", "bad"), None: Part("no evidence", "warn")}


def gate_lines(e: Evaluation) -> Iterator[Line]:
    """Every gate of one run, with its criteria and their evidence."""
    yield from _head(e)
    if not e.gates:
        why = plain(e.status_reason) if e.status == "invalid" else "this workflow has no gates"
        yield [Part(f"  {why}", "dim")]
    for gate in e.gates:
        where = f", after {name(gate.after)}" + (", in force" if gate.in_force else "")
        status = Part(gate.status, _GATE_STYLE[gate.status])
        yield [Part(f"  gate {name(gate.id)}  "), status, Part(f"{_gate_title(gate)}{where}", "dim")]
        if gate.status == "not-reached":
            continue
        if gate.rests_on:
            style = _BASIS_STYLE.get(gate.basis or "", "warn")
            yield [Part(f"    {gate.status}, {plain(gate.rests_on)}", style)]
        for criterion in gate.criteria:
            basis = Part(f" ({criterion.basis})" if criterion.basis else "", "dim")
            yield [Part("    "), _MET[criterion.met], Part(f": {plain(criterion.text)}"), basis]
            yield from _evidence(criterion.evidence, "      ")
        yield from check_lines(gate.checks, "    ")
        if now := [action for action in gate.allowed if action in e.suggestion.allowed]:
            yield [Part(f"    allowed: {list_names(now)}")]
        if later := [action for action in gate.allowed if action not in e.suggestion.allowed]:
            yield [Part(f"    allowed once it passes: {list_names(later)}", "dim")]
        yield from _forbidden_lines(
            "    forbidden: ", ((entry.action, entry.because) for entry in gate.forbidden)
        )


def question_lines(
    e: Evaluation, questions: Sequence[QuestionState], where: Sequence[str] = (), *, hints: bool = True
) -> Iterator[Line]:
    """Questions to a person about one run, with the options and what happened before; with `hints` also how
    to answer."""
    yield from _head(e)
    if not questions:
        yield [Part("  nothing is asked", "dim")]
    for question in questions:
        yield _question(question, f" since {plain(question.since)}" if question.since else "", 400)
        if question.tasks:
            yield [Part(f"    tasks: {list_names(question.tasks)}")]
        for option in question.options:
            yield [Part(f"    {name(option.id)}", "run"), Part(f": {plain(option.text)}")]
        for entry in question.history:
            what = ", ".join(f"{key} {value_text(value)}" for key, value in entry.items() if key != "at")
            yield [Part(f"    before: {plain(what, 300)}", "dim")]
        if hints:
            yield from _answer_hint(e, question, where)


def explanation_lines(e: Evaluation, entries: Sequence[ExplanationEntry]) -> Iterator[Line]:
    """Everything that was looked at in one run, in order; the rule that decided is marked."""
    yield from _head(e)
    yield _next(e)
    for entry in entries:
        style = "run" if entry.decided else ""
        rests = f" ({entry.basis})" if entry.basis else ""
        about = Part(f"  {plain(entry.about)}{rests}" if entry.about else "", "dim")
        mark = Part("  > " if entry.decided else "    ", "run")
        if entry.error is not None:
            result = Part("no value", "warn")
        elif isinstance(entry.result, bool):
            result = Part("true", "good") if entry.result else Part("false", "dim")
        else:
            result = Part("" if entry.result is None else value_text(entry.result), "phase")
        yield [mark, Part(plain(entry.where), style), Part("  "), result, about]
        if entry.expression:
            yield [Part(f"        {plain(entry.expression, 400)}", "dim")]
        if entry.error is not None:
            yield [Part(f"        {plain(entry.error, 300)}", "warn")]
        yield from _evidence(entry.named, "        ")
        yield from _evidence(entry.evidence, "          ")
        yield from check_lines(entry.checks, "        ", commands=False)
