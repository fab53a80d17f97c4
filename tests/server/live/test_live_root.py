"""A root kept current: what changes is told, what does not is not."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from phasekeeper.server.disk import decision_keys, file_cache, safe_open
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.store.lock import run_lock
from phasekeeper.server.workspace import decision_proof as decide
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, loop, needs, plan, put, run_to_end, task

T1 = f"{TASKS}/T1"
OWN = """\
workflow: own
runs: {at: [work/*], marker: {file: RUN.md}}
phase: [{is: do}]
phases:
  do: {outcomes: [ok], rules: [{when: "report.outcome == 'ok'", to: over}]}
  over: {terminal: complete}
"""


def scanned(root: Path) -> LiveRoot:
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    return live


def test_the_first_look_tells_all_runs_and_counts_them(root):
    task(root, "T1")
    task(root, "T2")
    heard: list[tuple[int, int]] = []
    change = run_to_end(LiveRoot(root).scan_in_parts(lambda done, total: heard.append((done, total))))
    assert change
    assert list(change.changed) == [T1, f"{TASKS}/T2"]
    assert heard[-1] == (2, 2)


def test_a_touch_of_what_did_not_change_tells_nothing(root):
    folder = task(root, "T1")
    live = scanned(root)
    assert live.refresh_paths([folder / "state.json"]) is None
    assert run_to_end(live.refresh_all_in_parts()) is None


@pytest.mark.parametrize("closed", ["", ".phasekeeper", ".phasekeeper/workflows", TASKS])
def test_a_folder_that_cannot_be_listed_is_told_whatever_was_looked_for_in_it(root, monkeypatch, closed):
    task(root, "T1")
    put(root / ".phasekeeper/workflows/own.yaml", OWN)
    put(root / "work/one/RUN.md", "# One\n")
    live = scanned(root)
    assert list(live.runs) == [T1, "work/one"]
    listed = safe_open.list_folder

    def list_folder(of: str, folder: str):
        if folder == closed:
            raise OSError(errno.EMFILE, "Too many open files")
        return listed(of, folder)

    with monkeypatch.context() as patched:
        patched.setattr(safe_open, "list_folder", list_folder)
        run_to_end(live.refresh_all_in_parts())
        told = {found.code: found.message for found in live.findings.get(closed, ())}
        assert told.get("artifact-unreadable") == "too many open files"
    run_to_end(live.refresh_all_in_parts())
    assert list(live.runs) == [T1, "work/one"] and closed not in live.findings


@pytest.mark.parametrize("comes_back", [".ai-tools-chain", TASKS])
def test_a_folder_that_came_again_before_it_was_missed_is_watched(root, comes_back):
    task(root, "T1")
    live = scanned(root)
    shutil.rmtree(root / comes_back)
    # Only what is in it is known to be gone, while the disk already says that there is no such folder.
    live.refresh_paths([root / T1 / "planning", root / T1 / "review"])
    assert (root / TASKS) not in live.watched_folders()
    task(root, "T1", ok=False)
    live.refresh_paths([root / comes_back])
    assert live.watched_folders()[root / TASKS] is True


def test_only_what_differs_is_told(root):
    task(root, "T1")
    task(root, "T2")
    live = scanned(root)
    path = put(root / T1 / "review/plan-review.json", {"ok": False})
    change = live.refresh_paths([path])

    assert change
    assert list(change.changed) == [T1]
    assert change.version == live.version == 2
    assert live.runs[T1].suggestion.kind == "regress"


def test_a_run_that_goes_takes_its_findings_with_it(root):
    folder = task(root, "T1")
    path = put(folder / "review/plan-review.json", "no json")
    live = scanned(root)
    assert f"{T1}/review/plan-review.json" in live.findings
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rmdir()
    change = live.refresh_paths([path, folder])

    assert change
    assert change.removed == (T1,)
    assert change.findings[f"{T1}/review/plan-review.json"] == ()
    assert live.findings == {}


def codes(root: LiveRoot, run: str = T1) -> list[str]:
    return [found.code for found in root.runs[run].findings]


def test_a_claim_ends_without_any_file_that_changed(root):
    folder = plan(root, "p", 3)
    now = datetime(2030, 1, 1, tzinfo=UTC)
    until = (now + timedelta(seconds=5)).isoformat(timespec="milliseconds")
    claim = {"seq": 1, "kind": "claim", "task": "p-1", "actor": "ann", "until": until}
    put(folder / ".phasekeeper/claims.jsonl", json.dumps(claim) + "\n")
    clock = [now]
    current = LiveRoot(root, lambda: clock[0])
    run_to_end(current.scan_in_parts())
    assert [each.actor for each in current.runs[".orchestrator/tasks/p"].claims] == ["ann"]
    assert current.wait_ms() == 5000
    assert current.refresh_paths() is None

    clock[0] = now + timedelta(seconds=5, milliseconds=1)
    assert current.wait_ms() == 0
    assert current.refresh_paths()
    assert current.runs[".orchestrator/tasks/p"].claims == ()
    assert current.wait_ms() == float("inf")

    # Where the clock is set back the claim has not ended yet.
    clock[0] = now
    assert current.refresh_paths()
    assert [each.actor for each in current.runs[".orchestrator/tasks/p"].claims] == ["ann"]
    assert current.wait_ms() == 5000
    assert current.refresh_paths() is None


DECISION = {"seq": 1, "at": "2030-01-01T00:00:00.000+00:00", "kind": "override", "from": "plan_review"}


def decided(root: Path, **more: str) -> Path:
    folder = task(root, "T1", ok=False)
    record = {**DECISION, "to": "codegen", "why": "it is good enough", **more}
    return put(folder / ".phasekeeper/journal.jsonl", json.dumps(record) + "\n")


def test_a_decision_counts_once_it_is_in_the_commit_head(root, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    git = [needs("git"), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (root / ".git").rmdir()
    subprocess.run([*git, "init", "-q"], cwd=root, check=True)
    decided(root)
    current = scanned(root)
    assert "decision-unverified" in codes(current)
    head = root / ".git/HEAD"
    assert any(head.is_relative_to(folder) for folder in current.watched_folders())

    subprocess.run([*git, "add", "--all"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "decided"], cwd=root, check=True)
    assert current.refresh_paths([head])
    assert "decision-unverified" not in codes(current)


def test_a_commit_concerns_the_runs_whose_files_it_changed(root):
    git = [needs("git"), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (root / ".git").rmdir()
    head = root / ".git/HEAD"

    def commit() -> None:
        for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "--allow-empty", "-m", "all"]):
            subprocess.run([*git, *words], cwd=root, check=True)

    loop(root)
    commit()
    current = scanned(root)
    assert any(head.is_relative_to(folder) for folder in current.watched_folders())
    lowered = [{"id": "WQ-1", "priority": "S2", "title": "broken", "status": "pending"}]
    state = loop(root, workQueue=lowered) / "loop.state.json"
    assert current.refresh_paths([state])
    assert "state-loosened" in codes(current, ".claude/state")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "nothing"], cwd=root, check=True)
    assert current.refresh_paths([head]) is None
    commit()
    assert current.refresh_paths([head])
    assert "state-loosened" not in codes(current, ".claude/state")


def test_a_decision_ceases_to_count_when_its_key_is_gone(root, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    key = decision_keys.make_repository_key(root).secret
    assert key
    record = {**DECISION, "to": "codegen", "why": "it is good enough"}
    where = decide.journal_place(root, f"{T1}/.phasekeeper/journal.jsonl")
    decided(root, mac=decide.sign(record, key, where))
    current = scanned(root)
    assert "decision-unverified" not in codes(current)
    assert decision_keys.key_path().parent in current.watched_folders()

    decision_keys.key_path().unlink()
    assert current.refresh_paths()
    assert "decision-unverified" in codes(current)


def test_a_broken_file_whose_saving_was_told_is_shown_at_once(root):
    folder = task(root, "T1")
    current = scanned(root)
    assert current.refresh_paths([put(folder / "state.json", "")])
    assert current.runs[T1].status == "invalid"


def test_unsaved_texts_are_judged_with_the_runs_that_look_at_them(root):
    task(root, "T1")
    task(root, "T2")
    current = scanned(root)
    before = current.runs
    review = f"{T1}/review/plan-review.json"
    found = current.evaluate_unsaved({review: '{"ok": false}'})
    assert list(found) == [T1]
    assert found[T1].suggestion.kind == "regress"
    assert found[T1].revision.endswith("+unsaved")
    assert current.evaluate_unsaved({"README.md": "x"}) == {}
    assert current.evaluate_unsaved({review: (root / review).read_text()}) == {}
    assert current.refresh_paths() is None
    assert current.runs is before


def test_a_file_that_is_open_as_it_is_on_disk_is_not_unsaved(root):
    """Also one that no run reads, in a folder whose names matter."""
    task(root, "T1")
    notes, text = f"{T1}/code/files/notes.txt", "long enough to be listed and not read. " * 4
    put(root / notes, text)
    current = scanned(root)
    assert notes not in current.runs[T1].reads
    assert current.evaluate_unsaved({notes: text}) == {}
    assert list(current.evaluate_unsaved({notes: ""})) == [T1]
    current.refresh_paths([put(root / notes, "")])
    assert current.evaluate_unsaved({notes: ""}) == {}


def test_what_is_wrong_with_a_definition_is_told_at_its_place_and_hides_no_other_run(root):
    task(root, "T1")
    path = put(root / ".phasekeeper/workflows/mine.yaml", "workflow: mine\nruns: {at: [own/*]}\nphasez: 1\n")
    current = scanned(root)
    assert list(current.runs) == [T1]
    [*found] = current.findings[".phasekeeper/workflows/mine.yaml"]
    assert any("phasez" in each.message for each in found)
    path.unlink()
    change = current.refresh_paths([path])
    assert change
    assert change.findings == {".phasekeeper/workflows/mine.yaml": ()}


def test_what_is_saved_before_the_first_look_leaves_all_runs_to_it_and_its_progress(root):
    for name in ("T1", "T2"):
        task(root, name)
    current = LiveRoot(root)
    current.read_definitions()
    path = put(root / ".phasekeeper/workflows/mine.yaml", "workflow: mine\nruns: {at: [own/*]}\nphasez: 1\n")
    assert current.refresh_paths([path]) is None
    heard = []
    change = run_to_end(current.scan_in_parts(lambda done, total: heard.append((done, total))))
    assert heard == [(1, 2), (2, 2)]
    assert change
    assert [*change.changed] == [T1, f"{T1[:-1]}2"]
    assert path.relative_to(root).as_posix() in change.findings


def test_texts_that_were_let_go_are_read_again(root, monkeypatch):
    monkeypatch.setattr(file_cache, "TEXT_BYTES", 0)
    folder = task(root, "T1")
    current = scanned(root)
    put(folder / "planning/planning.ai.json", {"id": "other"})
    assert current.refresh_paths([put(folder / "review/plan-review.json", {"ok": False})])
    workspace = Workspace(root)
    assert current.runs[T1] == workspace.evaluate(workspace.matches[0])


def test_what_is_asked_of_a_run_is_answered_of_the_files_as_they_were_last_looked_at(root):
    """A file that is being written is half there, and so is what a look of one's own would make of it."""
    folder = task(root, "T1")
    current = scanned(root)
    put(folder / "review/plan-review.json", "")

    steps = current.query(T1, lambda steps: steps)
    assert steps.evaluation == current.runs[T1]
    assert steps.facts.artifact("plan_review").valid


def test_nothing_can_be_asked_of_what_is_no_run(root):
    task(root, "T1")
    current = scanned(root)
    with pytest.raises(UsageError):
        current.query("nowhere", lambda steps: steps)


def test_watched_are_the_folders_that_runs_are_in_and_the_names_above_them(root):
    task(root, "T1")
    watched = scanned(root).watched_folders()
    assert watched[root / TASKS] is True
    assert watched[root / ".ai-tools-chain"] is False
    assert watched[root] is False
    assert watched[root.parent] is False
    assert root / T1 not in watched


def test_of_a_root_that_is_gone_the_nearest_folder_above_is_watched(tmp_path):
    current = scanned(tmp_path / "gone/root")
    assert tmp_path in current.watched_folders()
    assert current.runs == {}


def test_nothing_is_kept_of_runs_that_are_gone(root):
    current = scanned(root)
    known = len(current._files._seen), len(current._files._listings)
    for name in ("T1", "T2"):
        folder = task(root, name)
        current.refresh_paths([folder])
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()
        current.refresh_paths([folder])
    run_to_end(current.refresh_all_in_parts())
    assert len(current._files._seen) == known[0]
    assert len(current._files._listings) <= known[1] + 2


def test_a_lock_that_is_taken_changes_nothing(root, monkeypatch):
    folder = task(root, "T1")
    current = scanned(root)
    evaluated: list[str] = []
    monkeypatch.setattr(LiveRoot, "_evaluate", lambda self, run: evaluated.append(run))
    with run_lock(root, T1):
        assert current.refresh_paths([folder / ".phasekeeper", *(folder / ".phasekeeper").iterdir()]) is None
    assert evaluated == []


def test_only_the_run_that_looked_at_a_file_is_evaluated(root, monkeypatch):
    for number in range(5):
        task(root, f"T{number}")
    current = scanned(root)
    evaluated: list[str] = []
    real = LiveRoot._evaluate

    def noted(self: LiveRoot, run: str) -> None:
        evaluated.append(run)
        real(self, run)

    monkeypatch.setattr(LiveRoot, "_evaluate", noted)
    current.refresh_paths([put(root / TASKS / "T3/review/plan-review.json", {"ok": False})])
    current.refresh_paths([put(root / "src/unrelated.py", "x = 1")])
    task(root, "T5")
    current.refresh_paths([root / TASKS / "T5"])
    assert evaluated == [f"{TASKS}/T3", f"{TASKS}/T5"]
