"""Findings as lines, and what they come to: `check`, `workflow lint`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ...orchestration.findings import Finding, Severity
from ...orchestration.sanitize import plain
from ...tools.check import Checked
from .lines import Line, Part
from .run_views import at_place, more, name, path, waits

_SHUT_SHOWN = 5
_SEVERITY_STYLE = {
    Severity.ERROR: "bad",
    Severity.WARNING: "warn",
    Severity.INFO: "phase",
    Severity.HINT: "dim",
}


def finding_lines(findings: Iterable[Finding], seen: Callable[[str], str], hints: bool) -> Iterator[Line]:
    """`path:line:column: severity code: message`, a line each; `seen` gives the path as a person sees it."""
    for found in findings:
        if found.severity is Severity.HINT and not hints:
            continue
        over = " (overridden)" if found.overridden else ""
        style = "dim" if over else _SEVERITY_STYLE[found.severity]
        yield [
            Part(f"{at_place(replace(found, path=seen(found.path)))}: "),
            Part(f"{found.severity}{over}", style),
            Part(f" {name(found.code)}: {plain(found.message, 400)}"),
        ]


def check_summary(checked: Checked) -> Iterator[Part]:
    """How many runs, errors, warnings, failed gates and awaited persons there are."""
    yield Part(_counted(checked.runs, "run"), "dim")
    for severity in (Severity.ERROR, Severity.WARNING):
        if count := checked.count(severity):
            yield Part(f", {_counted(count, severity)}", _SEVERITY_STYLE[severity])
    if checked.shut:
        gates_shut = [f"{name(each.gate)} of {path(each.run)}" for each in checked.shut[:_SHUT_SHOWN]]
        said = f", failed gates: {', '.join(gates_shut)}{more(len(checked.shut) - _SHUT_SHOWN)}"
        yield Part(said, "bad")
    if waiting := checked.waiting:
        runs = ", ".join(path(each.run) or "." for each in waiting[:_SHUT_SHOWN])
        said = f", {waits(len(waiting), 'person')}: {runs}{more(len(waiting) - _SHUT_SHOWN)}"
        yield Part(said, "wait")
        yield Part("; `phasekeeper questions` shows what is asked", "dim")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
