"""Runs in the folder of another tool: their records lie apart, and there only what is reported changes."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.server.cli.main import main
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.history import history_of
from phasekeeper.server.workspace.repair import NOTHING_AGREED, prepare_repair, repair_run
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put

RUN = "specs/001-login"
HOME = ".phasekeeper/runs/spec-kit/specs/001-login"
TASKS = "# Tasks\r\n\r\n## Phase 1: Setup\r\n\r\n- [ ] T001 [P] a\r\n- [ ] T002 [P] b\r\n\r\n- [P] legend\r\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    for name, text in (("spec.md", "# Login\n"), ("plan.md", "# Plan\n")):
        put(root / RUN / name, text)
    (root / RUN / "tasks.md").write_bytes(TASKS.encode())
    return root


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def done(*tasks: str) -> Command:
    return Command("report", "implement", "complete", tasks=tasks)


def test_a_report_changes_the_boxes_of_its_tasks_and_nothing_else_in_the_feature(root: Path) -> None:
    before = files(root)
    apply.apply_command(Workspace(root), RUN, done("T002"))
    after = files(root)
    assert after.pop(f"{RUN}/tasks.md") == TASKS.replace("[ ] T002", "[X] T002").encode()
    ours = {path for path in after.keys() - before.keys() if path.startswith(f"{HOME}/.phasekeeper/")}
    assert after.keys() - before.keys() == ours
    assert f"{HOME}/.phasekeeper/journal.jsonl" in ours
    assert {path: raw for path, raw in after.items() if path not in ours} == {
        path: raw for path, raw in before.items() if path != f"{RUN}/tasks.md"
    }


def test_what_was_recorded_is_read_from_there(root: Path) -> None:
    apply.apply_command(Workspace(root), RUN, done("T001"))
    workspace = Workspace(root)
    match = workspace.match(RUN)
    assert match is not None
    history = history_of(workspace, match)
    assert history.path == f"{HOME}/.phasekeeper/journal.jsonl"
    assert [(record["kind"], record["tasks"]) for record in history.journal.records] == [("report", ["T001"])]
    assert workspace.evaluate(match).home == HOME


def test_a_report_that_names_no_task_is_refused(root: Path) -> None:
    with pytest.raises(CommandRefused, match="the tasks that are done are named"):
        apply.apply_command(Workspace(root), RUN, done())


def test_claims_and_their_end_lie_there_too(root: Path) -> None:
    claimed, token = apply.claim(Workspace(root), RUN, "T001", "ann", 60)
    assert (claimed.task, claimed.actor) == ("T001", "ann")
    assert (root / HOME / ".phasekeeper/claims.jsonl").exists()
    with pytest.raises(apply.StoreError, match="claimed by ann"):
        apply.apply_command(Workspace(root), RUN, done("T001"))
    assert apply.release(Workspace(root), RUN, "T001", token) == ("T001", True)
    apply.apply_command(Workspace(root), RUN, done("T001"))
    assert not (root / RUN / ".phasekeeper").exists()


def test_two_writers_at_once_lose_no_tick(root: Path) -> None:
    text = "".join(f"- [ ] T{number:03} [P] a\n" for number in range(1, 41))
    put(root / RUN / "tasks.md", text)

    def write(first: int) -> None:
        for number in range(first, 41, 2):
            apply.apply_command(Workspace(root), RUN, done(f"T{number:03}"))

    writers = [Thread(target=write, args=(first,)) for first in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (root / RUN / "tasks.md").read_text() == text.replace("[ ]", "[X]")
    lines = (root / HOME / ".phasekeeper/journal.jsonl").read_text().splitlines()
    assert len(lines) == 40


def test_a_torn_journal_is_mended_where_it_lies(root: Path) -> None:
    apply.apply_command(Workspace(root), RUN, done("T001"))
    journal = root / HOME / ".phasekeeper/journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"seq": 2, "kind": "rep')
    assert prepare_repair(Workspace(root), RUN).lines == ()
    actions = repair_run(Workspace(root), RUN, NOTHING_AGREED, "", "")
    assert [(each.path, each.kind.value) for each in actions] == [
        (f"{HOME}/.phasekeeper/journal.jsonl", "cut")
    ]
    assert journal.read_bytes() == whole


def test_a_server_shows_what_was_written_there(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "001-login", "implement", "complete", "--task", "T001", "--root", str(root)]) == 0
    capsys.readouterr()
    assert main(["history", "001-login", "--root", str(root)]) == 0
    assert "report implement T001" in capsys.readouterr().out
