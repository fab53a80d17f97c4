"""What a fleet is for: two servers and two assistants work one plan to its end, no task is done twice."""

from __future__ import annotations

from pathlib import Path

from tests.server.fleet.scene import TASKS, play


def test_two_machines_work_one_plan_to_its_end_though_the_leader_is_killed(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    machines = play(tmp_path, lambda who, what: told.append((who, what)))
    try:
        for machine in machines:
            assert machine.status("--oneline").startswith("work/books  complete")
            reported = [entry["tasks"] for entry in machine.journal() if entry["kind"] == "report"]
            assert sorted(task for tasks in reported for task in tasks) == TASKS
        ann, bob = machines
        assert sorted(ann.done + bob.done) == TASKS
        assert {(ann.root / f"{task}.txt").read_text() for task in TASKS} == {
            f"shelf of {task} by {machine.name}\n" for machine in machines for task in machine.done
        }
        (fault,) = [number for number, (who, _) in enumerate(told) if who == "(fault)"]
        claims = [number for number, (_, what) in enumerate(told) if what.startswith("has claimed")]
        assert claims[0] < fault < claims[-1]
        board = told[-1][1]
        assert "ann: complete" in board and "bob: complete" in board and "differ" not in board
    finally:
        for machine in machines:
            machine.home.end()
