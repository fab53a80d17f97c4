"""Checks as lines for people: the result, its age, why, where the check is declared, and what to type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...orchestration.result.values import CheckSummary, Evaluation
from ...orchestration.states import CheckResult
from ...tools.check_words import check_command, check_words
from .finding_views import at_place
from .lines import COMMAND, Line, Part

CHECK_STYLE: Mapping[CheckResult, str] = {
    CheckResult.PASSED: "good",
    CheckResult.FAILED: "bad",
    CheckResult.UNTRUSTED: "wait",
}


def check_lines(checks: Iterable[CheckSummary], indent: str, *, commands: bool = True) -> Iterator[Line]:
    """A line for each check, and with `commands` one for what to type to get on with it."""
    for check in checks:
        at = f"  {at_place(check)}" if check.path else ""
        yield [Part(indent), Part(check_words(check), CHECK_STYLE.get(check.result, "warn")), Part(at, "dim")]
        if commands and (command := check_command(check)):
            yield [Part(f"{indent}  to go on: "), Part(command, COMMAND)]


def checks_in_force(e: Evaluation) -> list[CheckSummary]:
    """The checks of the gates in force, each once."""
    found = {check.name: check for gate in e.gates if gate.in_force for check in gate.checks}
    return [*found.values()]
