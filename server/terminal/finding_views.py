"""Findings as lines: for `check` and `workflow lint`, and for errors on stderr; checks with what to type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...orchestration.findings import Evidence, Finding, Severity
from ...orchestration.result.values import CheckSummary, Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.states import CheckResult
from ...tools.check_words import check_command, check_words
from .caller import current_folder
from .lines import COMMAND, Line, Part, count_noun, more, name, path, waits

if TYPE_CHECKING:
    from ...tools.check import BuildVerdict

_GATES_SHOWN = 5
_ERRORS_SHOWN = 20
_SEVERITY_STYLE = {
    Severity.ERROR: "bad",
    Severity.WARNING: "warn",
    Severity.INFO: "phase",
    Severity.HINT: "dim",
}
_CHECK_STYLE: Mapping[CheckResult, str] = {
    CheckResult.PASSED: "good",
    CheckResult.FAILED: "bad",
    CheckResult.UNTRUSTED: "wait",
}


def at_place(found: Finding | Evidence | CheckSummary) -> str:
    """`path:line:column`, one-based."""
    at = f":{found.span.line + 1}:{found.span.column + 1}" if found.span else ""
    return path(found.path or "") + at


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


def check_summary(checked: BuildVerdict) -> Iterator[Part]:
    """The numbers of runs, errors, warnings, failed and weak gates, awaited persons and stuck runs."""
    yield Part(count_noun(checked.runs, "run"), "dim")
    for severity in (Severity.ERROR, Severity.WARNING):
        if count := checked.count(severity):
            yield Part(f", {count_noun(count, severity)}", _SEVERITY_STYLE[severity])
    if failed := checked.failed_gates:
        gates = ", ".join(f"{name(each.gate)} of {path(each.run)}" for each in failed[:_GATES_SHOWN])
        yield Part(f", failed gates: {gates}{more(len(failed) - _GATES_SHOWN)}", "bad")
    if weak := checked.weak_gates:
        gates = ", ".join(f"{name(each.gate)} of {path(each.run)}" for each in weak[:_GATES_SHOWN])
        yield Part(f", passed on too little: {gates}{more(len(weak) - _GATES_SHOWN)}", "bad")
    if waiting := checked.waiting:
        runs = ", ".join(path(each.run) or "." for each in waiting[:_GATES_SHOWN])
        count = waits(len(waiting), "person")
        yield Part(f", {count}: {runs}{more(len(waiting) - _GATES_SHOWN)}", "wait")
        yield Part("; `phasekeeper questions` shows what is asked", "dim")
    if stuck := checked.stuck:
        runs = ", ".join(path(each.run) or "." for each in stuck[:_GATES_SHOWN])
        yield Part(f", cannot go on: {runs}{more(len(stuck) - _GATES_SHOWN)}", "bad")
        yield Part("; `phasekeeper next` says why", "dim")


def error_lines(findings: Sequence[Finding], root: Path) -> list[str]:
    """`path:line:column: message`, a line each, ready to be printed; no more than can be read."""
    lines = [one_line_of(found, lambda path: from_here(root, path)) for found in findings[:_ERRORS_SHOWN]]
    left = len(findings) - _ERRORS_SHOWN
    return [*lines, f"and {left} more"] if left > 0 else lines


def one_line_of(found: Finding, seen: Callable[[str], str]) -> str:
    """`path:line:column: message`, ready to be printed."""
    return f"{at_place(replace(found, path=seen(found.path)))}: {plain(found.message, 400)}"


def from_here(root: Path, path: str) -> str:
    """A path from `root` as it is seen from the current folder."""
    whole = root / path
    try:
        return Path(os.path.relpath(whole, current_folder())).as_posix()
    except (ValueError, OSError):
        # Another drive, or a current folder that is gone.
        return whole.as_posix()


def check_lines(checks: Iterable[CheckSummary], indent: str, *, commands: bool = True) -> Iterator[Line]:
    """A line for each check, and with `commands` one for what to type to get on with it."""
    for check in checks:
        at = f"  {at_place(check)}" if check.path else ""
        yield [
            Part(indent),
            Part(check_words(check), _CHECK_STYLE.get(check.result, "warn")),
            Part(at, "dim"),
        ]
        if commands and (command := check_command(check)):
            yield [Part(f"{indent}  to go on: "), Part(command, COMMAND)]


def checks_in_force(e: Evaluation) -> list[CheckSummary]:
    """The checks of the gates in force, each once."""
    found = {check.name: check for gate in e.gates if gate.in_force for check in gate.checks}
    return [*found.values()]
