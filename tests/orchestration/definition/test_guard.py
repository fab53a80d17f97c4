"""Which runs a root guards, by its configuration; how that is written into it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.root_config import Guard, read_config, with_guard


@pytest.mark.parametrize(
    ("text", "guard", "said"),
    [
        ("guard: {runs: ['tasks/*'], fail: closed}", Guard(("tasks/*",), True), []),
        ("guard: {runs: [tasks/a]}", Guard(("tasks/a",)), []),
        ("guard:", Guard(), []),
        ("guard: {}", Guard(("**",)), ["guard needs runs: a list of patterns, as ['**']"]),
        ("guard: on", Guard(("**",)), ["guard must be a map"]),
        ("guard: {runs: []}", Guard(("**",)), ["guard needs runs: a list of patterns, as ['**']"]),
        ("guard: {runs: [[a]]}", Guard(("**",)), ["a pattern of runs must be a text"]),
        ("guard: {runs: [a], fail: shut}", Guard(("a",), True), ["fail must be open or closed"]),
        ("guard: {run: [a]}", Guard(("**",)), [
            "unknown key 'run' of guard; did you mean 'runs'?",
            "guard needs runs: a list of patterns, as ['**']",
        ]),
    ],
)  # fmt: skip
def test_a_guard_that_is_written_wrongly_guards_every_run(text: str, guard: Guard, said: list[str]) -> None:
    config = read_config(text)
    assert (config.guard, [found.message for found in config.findings]) == (guard, said)


def test_of_two_guards_the_stricter_counts() -> None:
    both = Guard(("a",)).with_other(Guard(("b", "a"), True))
    assert both == Guard(("a", "b"), True)
    assert [both.covers(run) for run in ("a", "b", "c", "a/b")] == [True, True, False, False]
    assert all(Guard(("**",)).covers(run) for run in ("", "a", "a/b"))


OTHERS = "# Ours.\nparameters: {a: {b: 1}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Only a comment.",
        OTHERS,
        f"{OTHERS}guard: {{runs: [a]}}  # why\nprojects: [p]\n",
        f"guard:\n  runs:\n    - a\n    # b\n    - c\n  fail: closed\n{OTHERS}",
        f"guard:\n{OTHERS}",
        f"guard: {{\n  runs: [a]\n}}\n{OTHERS}",
        "guard:\n  runs: [a]",
    ],
)
def test_a_guard_is_written_into_a_configuration_and_all_else_stays(text: str) -> None:
    guard = Guard(("tasks/*", 'a "b"'), True)
    written = with_guard(text, guard)
    assert read_config(written).guard == guard
    assert read_config(written).findings == ()
    assert (OTHERS in written) == (OTHERS in text)
    taken = with_guard(written, Guard())
    assert read_config(taken).guard == Guard()
    assert (read_config(taken).parameters, read_config(taken).projects) == (
        read_config(text).parameters,
        read_config(text).projects,
    )
