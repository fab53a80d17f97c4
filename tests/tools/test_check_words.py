"""What is read of a check: its result, its age, why, and what a person types to get on with it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from phasekeeper.orchestration.result.phrases import age_phrase
from phasekeeper.orchestration.result.values import CheckSummary, InputChange
from phasekeeper.orchestration.states import CheckResult
from phasekeeper.tools.check_words import check_command, check_words
from phasekeeper.tools.project_paths import rebase_checks

NOW = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
REASON = "src/a.py changed since it ran"


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("2026-01-02T11:59:30.000+00:00", "just now"),
        ("2026-01-02T12:00:30.000+00:00", "just now"),
        ("2026-01-02T11:57:00.000+00:00", "3 min ago"),
        ("2026-01-02T10:00:00.000+00:00", "2 h ago"),
        ("2026-01-01T11:00:00.000+00:00", "1 day ago"),
        ("2025-12-30T11:00:00.000+00:00", "3 days ago"),
        ("yesterday", "yesterday"),
        ("2026-01-02T11:57:00", "2026-01-02T11:57:00"),
    ],
)
def test_an_age_is_said_roughly_and_what_is_no_moment_as_it_stands(at, words) -> None:
    assert age_phrase(at, NOW) == words


def test_a_check_is_said_in_a_line() -> None:
    stale = CheckSummary("tests", CheckResult.STALE, REASON, "2026-01-02T11:57:00.000+00:00")
    assert check_words(stale, NOW) == f"check tests stale, measured 3 min ago: {REASON}"
    missing = CheckSummary("tests", CheckResult.MISSING, "it has not run here yet")
    assert check_words(missing, NOW) == "check tests missing: it has not run here yet"


@pytest.mark.parametrize(
    ("result", "command"),
    [
        (CheckResult.UNTRUSTED, "phasekeeper trust tests"),
        (CheckResult.STALE, "phasekeeper verify tests"),
        (CheckResult.MISSING, "phasekeeper verify tests"),
        (CheckResult.FAILED, ""),
        (CheckResult.RUNNING, ""),
        (CheckResult.PASSED, ""),
    ],
)
def test_what_a_person_types_depends_on_the_result(result, command) -> None:
    assert check_command(CheckSummary("tests", result, "")) == command


def test_a_check_of_a_project_has_its_paths_from_the_root() -> None:
    check = CheckSummary("tests", CheckResult.STALE, REASON, None, (InputChange("src/a.py"),), "config.yaml")
    [moved] = rebase_checks([check], "app")
    assert moved.phrase == "tests stale: app/src/a.py changed since it ran"
    assert moved.path == "app/config.yaml"
    assert rebase_checks([check], "") == (check,)
