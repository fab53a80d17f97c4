"""Tasks that others have are taken out of what is handed out, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from phasekeeper.orchestration.result.held_tasks import HeldTask, without_held_tasks
from phasekeeper.server.terminal.run_views import next_step_lines
from phasekeeper.server.workspace.workspace import Workspace

from tests.server.workspace.test_apply import planned_root


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (HeldTask("t", "claimed", "ann", "m", "12:00"), "held by ann on machine m until 12:00"),
        (HeldTask("t", "reporting"), "held by somebody on machine unknown, who is reporting it"),
        (
            HeldTask("t", "reported", "ann", "m", outcome="ok"),
            "reported ok by ann on machine m, whose files are not here yet (`git pull`)",
        ),
        (
            HeldTask("t", "unreadable"),
            "held: what the fleet says of it cannot be read; a person can free it (`phasekeeper release`)",
        ),
    ],
)
def test_it_is_said_who_has_a_task_and_how_far_they_are(held: HeldTask, said: str) -> None:
    assert held.phrase == said


def test_only_the_suggestion_loses_the_tasks_that_others_have(tmp_path: Path) -> None:
    workspace = Workspace(planned_root(tmp_path))
    match = workspace.match("work/one")
    assert match
    whole = workspace.evaluate(match)
    assert whole.suggestion.tasks == ("f-01", "f-02")
    assert without_held_tasks(whole, ()) is whole
    free = without_held_tasks(whole, [HeldTask("f-01", "claimed", "ann", "m", "12:00")])
    assert free.suggestion.tasks == ("f-02",)
    assert "f-01" not in [task for batch in free.suggestion.parallel for task in batch]
    assert (free.progress, free.status, free.revision) == (whole.progress, whole.status, whole.revision)
    assert free.plan == whole.plan
    none = without_held_tasks(whole, [HeldTask(task, "claimed") for task in whole.suggestion.tasks])
    assert (none.suggestion.tasks, none.suggestion.parallel) == ((), ())


def test_what_others_have_is_shown_so_that_it_cannot_be_mistaken(tmp_path: Path) -> None:
    workspace = Workspace(planned_root(tmp_path))
    match = workspace.match("work/one")
    assert match
    held = HeldTask("f-01", "claimed", "ann\x1b[31m", "m", "12:00")
    lines = [
        "".join(part.text for part in line) for line in next_step_lines(workspace.evaluate(match), (), [held])
    ]
    assert "  tasks: f-02" in lines
    (line,) = [line for line in lines if "not free" in line]
    assert line.startswith("  not free: f-01 is held by ann") and "\x1b" not in line
