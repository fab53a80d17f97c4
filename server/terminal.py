"""What people read: coloured tables on a terminal, plain lines in a pipe. All file text goes through `display`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

from ..orchestration.display import plain, shown
from ..orchestration.evaluation import Evaluation, GateState, QuestionState, Suggestion
from ..orchestration.explain import Looked
from ..orchestration.findings import Evidence, Severity
from ..tools.runs import awaits_person


class Part(NamedTuple):
    """A piece of a line and its style, a name of `STYLES` or ""."""

    text: str
    style: str = ""


Line = Sequence[Part]

STYLES = {
    "run": "bold",
    "phase": "cyan",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "wait": "bold magenta",
    "dim": "dim",
}
_STATUS_STYLE = {
    "active": "good",
    "waiting": "phase",
    "waiting_human": "wait",
    "blocked": "bad",
    "complete": "good",
    "failed": "bad",
    "exited": "dim",
    "invalid": "bad",
}
STATUS_WORDS = {"waiting_human": "waits for a person", "waiting": "waits for a job"}
_GATE_STYLE = {"passed": "good", "failed": "bad", "open": "warn", "waived": "warn", "not-reached": "dim"}
_SEVERITY_STYLE = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: "phase", Severity.HINT: "dim"}


def is_terminal(stream: IO[str]) -> bool:
    return stream.isatty()


def emit(lines: Iterable[Line], stream: IO[str] | None = None) -> None:
    """Print lines; with colours when the stream is a terminal."""
    stream = stream or sys.stdout
    if not is_terminal(stream):
        for line in lines:
            stream.write(_encodable("".join(part.text for part in line), stream).rstrip() + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for line in lines:
        text = Text()
        for part in line:
            text.append(part.text, STYLES.get(part.style, ""))
        console.print(text, soft_wrap=True)


def _encodable(text: str, stream: IO[str]) -> str:
    """The text with what the stream's encoding lacks replaced, so that an old pipe is no crash."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding, "replace")


def status_word(status: str) -> str:
    return STATUS_WORDS.get(status, status)


def phase_name(evaluation: Evaluation) -> str:
    """The current phase with its title, and how the file spells it where that differs."""
    phase = next((p for p in evaluation.phases if p.id == evaluation.current_phase), None)
    if phase is None:
        return "unknown" if evaluation.raw_phase is None else f"unknown ({plain(evaluation.raw_phase, 40)})"
    title = "" if phase.title == phase.id else f" {plain(phase.title, 60)}"
    raw = evaluation.raw_phase
    written = f" (written {plain(raw, 40)})" if raw not in (None, phase.id) else ""
    return f"{phase.id}{title}{written}"


def next_words(suggestion: Suggestion) -> str:
    """The suggestion in three words: what kind of step, and to what."""
    target = plain(suggestion.suggested_next or "", 60)
    verbs = {
        "advance": f"go on to {target}",
        "regress": f"go back to {target}",
        "stay": f"do {target}",
        "act": f"do {target}",
        "wait": "wait",
        "escalate": "a person decides",
        "stop": "nothing: it is over",
        "none": "nothing can be said",
    }
    words = verbs[suggestion.kind]
    action = suggestion.action
    return f"{plain(action, 60)}, then {words}" if action and suggestion.kind != "act" else words


def progress_words(evaluation: Evaluation) -> str:
    progress = evaluation.progress
    return f"{progress.done}/{progress.total}" if progress else ""


# ---- status -----------------------------------------------------------------------------------


def status(evaluations: Sequence[Evaluation], stream: IO[str] | None = None) -> None:
    """Every run: a table and its notable points on a terminal, a paragraph each in a pipe."""
    stream = stream or sys.stdout
    if is_terminal(stream) and len(evaluations) > 1:
        _status_table(evaluations, stream)
        emit(_notable(evaluations), stream)
        return
    for place, evaluation in enumerate(evaluations):
        emit([*([[]] if place else []), *_paragraph(evaluation)], stream)


def _status_table(evaluations: Sequence[Evaluation], stream: IO[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for name, ratio in (("Run", 3), ("Phase", 2), ("Status", None), ("Done", None), ("Next", 4)):
        table.add_column(name, ratio=ratio, overflow="fold", no_wrap=ratio is None)
    for e in evaluations:
        table.add_row(
            Text.assemble((plain(e.run, 200), "bold"), "\n", (plain(e.workflow), "dim")),
            Text(phase_name(e), "cyan"),
            Text(status_word(e.status), STYLES[_STATUS_STYLE[e.status]]),
            progress_words(e),
            Text.assemble((next_words(e.suggestion), "bold"), ": ", plain(e.suggestion.reason, 300)),
        )
    Console(file=stream, highlight=False, markup=False, emoji=False).print(table)


def _notable(evaluations: Sequence[Evaluation]) -> Iterator[Line]:
    """Shut gates, questions and errors of all runs, below the table."""
    for e in evaluations:
        points = [*_open_gates(e), *_asked(e), *_errors(e)]
        if points:
            yield [Part(plain(e.run, 200), "run")]
            yield from points
    waiting = sum(awaits_person(e) for e in evaluations)
    yield [Part(f"{len(evaluations)} runs", "dim"), Part(f", {waiting} wait for a person" if waiting else "", "wait")]


def _paragraph(e: Evaluation) -> Iterator[Line]:
    progress = progress_words(e)
    yield [
        Part(plain(e.run, 200), "run"),
        Part(f"  {plain(e.workflow)}  ", "dim"),
        Part(phase_name(e), "phase"),
        Part("  "),
        Part(status_word(e.status), _STATUS_STYLE[e.status]),
        Part(f"  {progress}" if progress else ""),
    ]
    if e.title and e.title != e.run.rsplit("/", 1)[-1]:
        yield [Part(f"  {plain(e.title)}", "dim")]
    yield [Part("  next: "), Part(next_words(e.suggestion), "run"), Part(f": {plain(e.suggestion.reason, 300)}")]
    yield from _work(e)
    yield from _open_gates(e)
    yield from _asked(e)
    yield from _errors(e)


def _work(e: Evaluation) -> Iterator[Line]:
    suggestion = e.suggestion
    if suggestion.tasks:
        yield [Part(f"  tasks: {_listed(suggestion.tasks)}")]


def _listed(names: Sequence[str], most: int = 8) -> str:
    few = ", ".join(plain(name, 60) for name in names[:most])
    return few + (f" and {len(names) - most} more" if len(names) > most else "")


def _open_gates(e: Evaluation) -> Iterator[Line]:
    for gate in e.gates:
        if gate.status in ("failed", "open"):
            unmet = "; ".join(plain(c.text) for c in gate.criteria if c.met is not True)
            name = f"{plain(gate.id, 40)} ({plain(gate.title, 60)})" if gate.title != gate.id else plain(gate.id, 40)
            yield [Part("  gate "), Part(f"{name} {gate.status}", _GATE_STYLE[gate.status]), Part(f": {unmet}" if unmet else "")]


def _asked(e: Evaluation) -> Iterator[Line]:
    for question in e.questions:
        yield [Part("  asks "), Part(plain(question.id, 80), "wait"), Part(f" ({question.kind}): {plain(question.question, 300)}")]


def _errors(e: Evaluation) -> Iterator[Line]:
    for found in e.findings:
        if found.severity is Severity.ERROR and not found.overridden:
            at = f":{found.span.line + 1}:{found.span.column + 1}" if found.span else ""
            yield [Part("  "), Part("error", "bad"), Part(f" {plain(found.path)}{at}: {plain(found.message, 300)}")]
            for fix in found.fixes:
                yield [Part(f"    fix: {plain(fix.title)}", "dim")]


# ---- one run ----------------------------------------------------------------------------------


def next_step(e: Evaluation) -> Iterator[Line]:
    """The next step of one run: what, why, on what evidence, and what is not allowed now."""
    suggestion = e.suggestion
    yield [Part(plain(e.run, 200), "run"), Part(f"  {phase_name(e)}  ", "phase"), Part(status_word(e.status), _STATUS_STYLE[e.status])]
    yield [Part("  next: "), Part(next_words(suggestion), "run"), Part(f": {plain(suggestion.reason, 300)}")]
    yield from _evidence(suggestion.evidence)
    if suggestion.agents:
        yield [Part(f"  who: {_listed(suggestion.agents)}")]
    if suggestion.waiting_for:
        yield [Part("  waiting for "), Part(plain(suggestion.waiting_for, 300), "wait")]
    for produce in suggestion.produce:
        yield [Part(f"  produce: {plain(produce.path)}" + (f" (schema {plain(produce.schema)})" if produce.schema else ""))]
    yield from _work(e)
    if len(suggestion.parallel) > 1 or any(len(batch) > 1 for batch in suggestion.parallel):
        batches = " then ".join("[" + _listed(batch, 4) + "]" for batch in suggestion.parallel[:4])
        more = len(suggestion.parallel) - 4
        yield [Part(f"  in parallel: {batches}" + (f" and {more} more batches" if more > 0 else ""))]
    for limit in e.limits:
        if limit.count:
            style = "bad" if limit.reached else ""
            yield [Part("  limit "), Part(f"{plain(limit.id, 40)}: {limit.count} of {limit.max}", style)]
    for entry in suggestion.forbidden[:12]:
        yield [Part(f"  not now: {plain(entry.action, 60)}", "dim"), Part(f" ({plain(entry.because)})", "dim")]
    yield from _asked(e)
    for note in e.notes:
        yield [Part(f"  {plain(note.title)}", "dim")]
        yield from ([Part(f"    {plain(line)}")] for line in note.text.splitlines())
    yield from _errors(e)


def _evidence(evidence: Sequence[Evidence], indent: str = "    ") -> Iterator[Line]:
    for entry in evidence:
        at = ""
        if entry.path:
            at = f"  {plain(entry.path)}" + (f":{entry.span.line + 1}:{entry.span.column + 1}" if entry.span else "")
        yield [Part(f"{indent}{plain(entry.expression)} = {shown(entry.value)}"), Part(at, "dim")]


def gates(e: Evaluation) -> Iterator[Line]:
    yield [Part(plain(e.run, 200), "run"), Part(f"  {phase_name(e)}", "phase")]
    if not e.gates:
        yield [Part("  this workflow has no gates" if e.status != "invalid" else f"  {plain(e.status_reason)}", "dim")]
    for gate in e.gates:
        yield from _gate(gate)


def _gate(gate: GateState) -> Iterator[Line]:
    title = "" if gate.title == gate.id else f"  {plain(gate.title)}"
    force = "  in force" if gate.in_force else ""
    yield [Part(f"  {plain(gate.id, 40)}  "), Part(gate.status, _GATE_STYLE[gate.status]), Part(f"{title}  after {plain(gate.after, 40)}{force}")]
    if gate.status == "not-reached":
        return
    for criterion in gate.criteria:
        mark = {True: ("met", "good"), False: ("not met", "bad"), None: ("no evidence", "warn")}[criterion.met]
        yield [Part("    "), Part(mark[0], mark[1]), Part(f": {plain(criterion.text)}")]
        yield from _evidence(criterion.evidence, "      ")
    if gate.in_force and gate.allowed:
        yield [Part(f"    allowed: {_listed(gate.allowed)}")]
    for entry in gate.forbidden:
        yield [Part(f"    forbidden: {plain(entry.action, 60)} ({plain(entry.because)})", "dim")]


def questions(e: Evaluation, asked: Sequence[QuestionState]) -> Iterator[Line]:
    yield [Part(plain(e.run, 200), "run"), Part(f"  {phase_name(e)}", "phase")]
    if not asked:
        yield [Part("  nothing is asked", "dim")]
    for question in asked:
        since = f" since {plain(question.since)}" if question.since else ""
        yield [Part("  "), Part(plain(question.id, 80), "wait"), Part(f" ({question.kind}{since}): {plain(question.question, 300)}")]
        if question.tasks:
            yield [Part(f"    tasks: {_listed(question.tasks)}")]
        for option in question.options:
            yield [Part(f"    {plain(option.id, 40)}", "run"), Part(f": {plain(option.text)}")]
        for entry in question.history:
            said = ", ".join(f"{key} {shown(value)}" for key, value in entry.items() if key != "at")
            yield [Part(f"    before: {plain(said, 300)}", "dim")]


def explanation(e: Evaluation, looked: Sequence[Looked]) -> Iterator[Line]:
    yield [Part(plain(e.run, 200), "run"), Part(f"  {phase_name(e)}  ", "phase"), Part(status_word(e.status), _STATUS_STYLE[e.status])]
    yield [Part("  next: "), Part(next_words(e.suggestion), "run"), Part(f": {plain(e.suggestion.reason, 300)}")]
    for entry in looked:
        if entry.error is not None:
            result = ("no value", "warn")
        elif isinstance(entry.result, bool):
            result = ("true", "good") if entry.result else ("false", "dim")
        else:
            result = (shown(entry.result) if entry.result is not None else "", "phase")
        mark = "→ " if entry.decided else "  "
        yield [
            Part(mark, "run"),
            Part(f"{entry.where}  ", "run" if entry.decided else ""),
            Part(*result),
            Part(f"  {plain(entry.about)}" if entry.about else "", "dim"),
        ]
        if entry.expression:
            yield [Part(f"      {plain(entry.expression, 400)}", "dim")]
        if entry.error is not None:
            yield [Part(f"      {plain(entry.error, 300)}", "warn")]
        yield from _evidence(entry.evidence, "        ")


def finding_lines(lines: Sequence[str]) -> Iterator[Line]:
    """Lines of `check` with their severity coloured."""
    for line in lines:
        for severity, style in _SEVERITY_STYLE.items():
            before, word, after = line.partition(f" {severity} ")
            if word:
                yield [Part(before + " "), Part(str(severity), style), Part(" " + after)]
                break
        else:
            yield [Part(line)]
