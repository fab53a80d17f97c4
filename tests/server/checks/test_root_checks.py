"""Checks in a root that is maintained: a save of an input reopens the gate, undoing it shuts it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.root_config import PATH
from phasekeeper.orchestration.states import GateStatus, RunStatus
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.checks import root_checks
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put, run_to_end
from tests.server.checks.conftest import CheckedRoot

WORKFLOW = """\
workflow: build
runs: {at: [runs/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
phase: state.phase
phases:
  code: {rules: [{when: "report.outcome == 'ok'", to: ship, because: built}]}
  ship: {rules: [{when: "report.outcome == 'ok'", stop: complete, because: shipped}]}
gates:
  tested: {after: code, criteria: [{text: the tests pass, when: "checks.c.result == 'passed'"}]}
  shipped: {after: ship, criteria: [{text: the tests pass, when: "checks.c.result == 'passed'"}]}
"""
RUN = "runs/a"


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckedRoot:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    made = CheckedRoot(tmp_path / "work")
    put(made.path / ".phasekeeper/workflows/build.yaml", WORKFLOW)
    put(made.path / RUN / "state.json", {"phase": "code"})
    made.places = Workspace(made.path).run_places
    made.script("")
    return made


@pytest.fixture
def live(checked: CheckedRoot) -> LiveRoot:
    made = LiveRoot(checked.path)
    run_to_end(made.scan_in_parts())
    return made


def status(live: LiveRoot, gate: str = "tested") -> str:
    return next(each for each in live.runs[RUN].gates if each.id == gate).status


def save(live: LiveRoot, path: str, text: str) -> None:
    put(live.root / path, text)
    live.refresh_paths([live.root / path])
    assert_as_cold(live)


def assert_as_cold(live: LiveRoot) -> None:
    """What was maintained is what a look from the start finds."""
    workspace = Workspace(live.root)
    [match] = workspace.matches
    assert live.runs[RUN] == workspace.evaluate(match)
    told = [each for found in live.findings.values() for each in found if each.code.startswith("check-")]
    assert told == [each for each in workspace.check_findings() if each.code.startswith("check-")]


def verify(checked: CheckedRoot, live: LiveRoot) -> None:
    checked.verify(again=True)
    live.refresh_paths([live.root / ".phasekeeper/evidence/c.json"])
    assert_as_cold(live)


def test_a_result_opens_the_gate_a_save_shuts_it_and_undoing_the_save_opens_it(
    checked: CheckedRoot, live: LiveRoot
) -> None:
    assert status(live) == GateStatus.OPEN
    verify(checked, live)
    assert status(live) == GateStatus.PASSED
    save(live, "src/app.py", "ONE = 2\n")
    assert status(live) == GateStatus.OPEN
    [found] = live.findings[PATH]
    assert found.message == "c: src/app.py changed since it ran; `phasekeeper verify` runs it"
    save(live, "src/app.py", "ONE = 1\n")
    assert status(live) == GateStatus.PASSED
    assert PATH not in live.findings


def test_files_that_come_and_go_matter_and_those_that_git_ignores_do_not(
    checked: CheckedRoot, live: LiveRoot
) -> None:
    verify(checked, live)
    save(live, "build/out.o", "x")
    assert status(live) == GateStatus.PASSED
    put(live.root / "src/deep/new.py", "x")
    live.refresh_paths([live.root / "src/deep"])
    assert_as_cold(live)
    assert status(live) == GateStatus.OPEN
    (live.root / "src/deep/new.py").unlink()
    live.refresh_paths([live.root / "src/deep/new.py"])
    assert_as_cold(live)
    assert status(live) == GateStatus.PASSED
    (live.root / "src/app.py").unlink()
    live.refresh_paths([live.root / "src/app.py"])
    assert_as_cold(live)
    assert status(live) == GateStatus.OPEN
    save(live, "src/app.py", "ONE = 1\n")
    assert status(live) == GateStatus.PASSED
    save(live, ".gitignore", "src/\n.phasekeeper/evidence/\n")
    assert status(live) == GateStatus.OPEN


def test_a_tick_in_the_run_makes_no_check_stale(checked: CheckedRoot, live: LiveRoot) -> None:
    verify(checked, live)
    save(live, f"{RUN}/state.json", json.dumps({"phase": "code", "note": 1}))
    assert status(live) == GateStatus.PASSED


def test_what_is_run_changes_and_nothing_counts_before_a_person_allowed_it(
    checked: CheckedRoot, live: LiveRoot
) -> None:
    verify(checked, live)
    save(live, "checks/c.py", "#\n")
    assert status(live) == GateStatus.OPEN
    assert [each.code for each in live.findings[PATH]] == ["check-untrusted"]
    checked.trust()
    live.refresh_paths([])
    assert_as_cold(live)
    assert [each.code for each in live.findings[PATH]] == ["check-stale"]
    verify(checked, live)
    assert status(live) == GateStatus.PASSED


def test_checks_come_and_go_with_the_configuration(checked: CheckedRoot, live: LiveRoot) -> None:
    verify(checked, live)
    text = (live.root / PATH).read_text()
    save(live, PATH, "projects: []\n")
    assert status(live) == GateStatus.OPEN
    assert PATH not in live.findings
    save(live, PATH, text)
    assert status(live) == GateStatus.PASSED


def test_one_saved_file_is_all_that_is_read(checked: CheckedRoot, live: LiveRoot) -> None:
    for number in range(50):
        put(live.root / f"src/m{number}.py", "x")
    live.refresh_paths([live.root / "src"])
    verify(checked, live)
    save(live, "src/m1.py", "settled")
    for _ in range(3):
        # What was saved this moment is read until its times are old.
        run_to_end(live.refresh_all_in_parts())
    table = live.checks._table
    before = table.reads
    put(live.root / "src/m2.py", "y")
    live.refresh_paths([live.root / "src/m2.py"])
    assert 1 <= table.reads - before <= 55
    assert status(live) == GateStatus.OPEN


def test_folders_of_inputs_are_watched_and_no_other(checked: CheckedRoot, live: LiveRoot) -> None:
    put(live.root / "build/deep/out.o", "x")
    folders = {
        path.relative_to(live.root).as_posix()
        for path in live.watched_folders()
        if path.is_relative_to(live.root)
    }
    assert {".", "src", "checks", ".phasekeeper"} <= folders
    assert not any(each.startswith("build") for each in folders)


def test_inputs_in_too_many_folders_are_looked_at_when_somebody_asks(
    checked: CheckedRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_checks, "MOST_FOLDERS", 1)
    checked.verify()
    live = LiveRoot(checked.path)
    run_to_end(live.scan_in_parts())
    assert "inputs-unwatched" in [each.code for each in live.findings[PATH]]
    assert not any(path.name == "src" for path in live.watched_folders())
    assert status(live) == GateStatus.PASSED
    put(live.root / "src/app.py", "ONE = 2\n")
    live.look_again(RUN)
    assert status(live) == GateStatus.OPEN


def test_a_report_records_what_was_measured_and_later_edits_reopen_nothing(
    checked: CheckedRoot, live: LiveRoot
) -> None:
    verify(checked, live)
    apply_command(Workspace(live.root), RUN, Command(kind="report", step="code", outcome="ok"))
    lines = (live.root / RUN / ".phasekeeper/journal.jsonl").read_text().splitlines()
    verified, report = (json.loads(line) for line in lines)
    assert (verified["kind"], verified["check"], verified["outcome"]) == ("verified", "c", "passed")
    assert (verified["about"], bool(verified["mac"])) == (checked.look().state.subject, True)
    assert (report["kind"], report["phase"]) == ("report", "code")
    put(live.root / "src/app.py", "ONE = 2\n")
    live.refresh_paths([live.root])
    assert_as_cold(live)
    assert live.runs[RUN].current_phase == "ship"
    assert (status(live), status(live, "shipped")) == (GateStatus.PASSED, GateStatus.OPEN)
    verify(checked, live)
    done = apply_command(Workspace(live.root), RUN, Command(kind="report", step="ship", outcome="ok"))
    assert done.evaluation.status == RunStatus.COMPLETE
    put(live.root / "src/app.py", "ONE = 3\n")
    live.refresh_paths([live.root])
    assert_as_cold(live)
    assert live.runs[RUN].status == RunStatus.COMPLETE


def test_a_record_by_hand_is_no_measurement_until_it_is_committed(
    checked: CheckedRoot, live: LiveRoot
) -> None:
    verify(checked, live)
    apply_command(Workspace(live.root), RUN, Command(kind="report", step="code", outcome="ok"))
    path = live.root / RUN / ".phasekeeper/journal.jsonl"
    first, second = path.read_text().splitlines()
    entry = json.loads(first)
    del entry["mac"]
    forged = json.dumps(entry)
    after = json.dumps({**json.loads(second), "prev": digest_of(forged)})
    path.write_text(f"{forged}\n{after}\n")
    put(live.root / "src/app.py", "ONE = 2\n")
    live.refresh_paths([live.root])
    assert_as_cold(live)
    assert status(live) != GateStatus.PASSED
    assert "evidence-unverified" in [each.code for each in live.runs[RUN].findings]
    checked.commit()
    live.refresh_paths([])
    assert_as_cold(live)
    assert status(live) == GateStatus.PASSED
