"""The line at which an input changed since a check ran: told where git has what the check saw."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evidence.check_state import changed_text
from phasekeeper.orchestration.result.values import CheckSummary, InputChange
from phasekeeper.server.checks.changed_lines import ChangedLines

from tests.roots import put
from tests.server.checks.conftest import CheckedRoot

BEFORE = "ONE = 1\nTWO = 2\nTHREE = 3\n"


def summary(checked: CheckedRoot) -> CheckSummary:
    state = checked.state()
    [found] = ChangedLines(checked.path).checks(
        [
            CheckSummary(
                "c",
                state.result,
                state.reason,
                state.measured_at,
                tuple(map(InputChange, state.changed)),
            )
        ]
    )
    return found


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ("ONE = 1\nTWO = 4\nTHREE = 3\n", 2),
        ("ONE = 1\nTWO = 2\nTHREE = 3\nFOUR = 4\n", 4),
        ("ONE = 1\n", 2),
        ("\nONE = 1\nTWO = 2\nTHREE = 3\n", 1),
    ],
)
def test_the_first_other_line_is_named(checked: CheckedRoot, after: str, line: int) -> None:
    put(checked.path / "src/app.py", BEFORE)
    checked.script("print('fine')")
    checked.commit()
    checked.verify()
    put(checked.path / "src/app.py", after)
    assert summary(checked).reason == f"src/app.py:{line} changed since it ran"


def test_what_was_only_staged_is_known_too(checked: CheckedRoot) -> None:
    checked.script("print('fine')")
    checked.commit()
    put(checked.path / "src/app.py", BEFORE)
    checked.git("add", "--all")
    checked.verify()
    put(checked.path / "src/app.py", BEFORE.replace("3", "4"))
    assert summary(checked).reason == "src/app.py:3 changed since it ran"


def test_no_line_is_named_where_git_has_other_bytes_or_the_file_is_gone(checked: CheckedRoot) -> None:
    checked.script("print('fine')")
    checked.commit()
    put(checked.path / "src/app.py", BEFORE)
    checked.verify()
    put(checked.path / "src/app.py", BEFORE.replace("3", "4"))
    assert summary(checked).reason == changed_text(["src/app.py"])
    (checked.path / "src/app.py").unlink()
    assert summary(checked).changed == (InputChange("src/app.py"),)
