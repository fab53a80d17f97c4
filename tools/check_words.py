"""The words in which a person or an assistant reads how a check stands, with the age of its result."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from ..orchestration.result.phrases import age_phrase
from ..orchestration.result.values import CheckSummary, Evaluation
from ..orchestration.sanitize import plain
from ..orchestration.states import CheckResult

_COMMANDS = {CheckResult.UNTRUSTED: "trust", CheckResult.STALE: "verify", CheckResult.MISSING: "verify"}


def check_words(check: CheckSummary, now: datetime | None = None) -> str:
    """A check in a line: "check tests stale, measured 3 min ago: src/a.py:3 changed since it ran"."""
    age = ""
    if check.measured_at:
        age = f", measured {age_phrase(check.measured_at, now or datetime.now(UTC))}"
    return f"check {plain(check.name, 60)} {check.result}{plain(age, 60)}: {plain(check.reason, 400)}"


def declared_checks(e: Evaluation, gate: str = "") -> list[str]:
    """The checks of a gate that can be run, without one those of the gates in force; each once."""
    chosen = [each for each in e.gates if (each.id == gate if gate else each.in_force)]
    return [*dict.fromkeys(check.name for each in chosen for check in each.checks if check.span)]


def check_command(check: CheckSummary) -> str:
    """What a person types to get on with a check: to have it run or allow it; "" where neither helps."""
    word = _COMMANDS.get(check.result)
    return shlex.join(("phasekeeper", word, check.name)) if word else ""
