"""Runs that were not judged lately are packed: they stand as before, and a change has them judged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.cache import read_sets
from phasekeeper.server.cache.evaluation_codec import DEFERRED
from phasekeeper.server.disk import decision_keys, file_cache, large_folders
from phasekeeper.server.live import cached_live_root
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.tools.run_names import Urgency, urgency

from tests.roots import EXAMPLES, TASKS, put, run_to_end
from tests.server.cache.test_cached_root import CHANGES, T1, T2, Starts, starts
from tests.server.live.changes import RUNS
from tests.server.live.followed_root import PackedRoot
from tests.server.live.test_live_root import DECISION, codes, decide, decided

__all__ = ["starts"]


@pytest.fixture(autouse=True)
def whole(monkeypatch) -> None:
    """No run is kept whole."""
    monkeypatch.setattr(cached_live_root, "WHOLE_RUNS", 0)


def let_go(evaluation: Evaluation) -> list[str]:
    """The fields that have no value before somebody asks for them."""
    missing: list[str] = []
    for name in DEFERRED:
        try:
            object.__getattribute__(evaluation, name)
        except AttributeError:
            missing.append(name)
    return missing


def cold(starts: Starts) -> LiveRoot:
    live = LiveRoot(starts.root, lambda: starts.now)
    run_to_end(live.scan_in_parts())
    return live


def packed(starts: Starts) -> CachedLiveRoot:
    """A root whose files were all saved some time ago."""
    starts.ticks.wait()
    live = CachedLiveRoot(starts.root, lambda: starts.now, cache=starts.folder)
    run_to_end(live.scan_in_parts())
    return live


def test_a_packed_run_gives_what_was_let_go_as_it_was(starts):
    shutil.copytree(EXAMPLES, starts.root, dirs_exist_ok=True)
    live = packed(starts)
    # `docs` is a place of runs that holds none, which is kept as such.
    assert live.cached_runs == live.runs.keys() | {"docs"} and len(live.runs) > 4
    assert all(let_go(each) == list(DEFERRED) for each in live.runs.values())
    assert live.runs == cold(starts).runs
    assert not any(map(let_go, live.runs.values()))


def test_runs_are_counted_and_ordered_without_what_was_let_go(starts):
    shutil.copytree(EXAMPLES, starts.root, dirs_exist_ok=True)
    put(starts.root / T1 / "review/plan-review.json", {"ok": False})
    live = packed(starts)
    first = cold(starts).runs
    assert {run: urgency(each) for run, each in live.runs.items()} == {
        run: urgency(each) for run, each in first.items()
    }
    assert urgency(live.runs[T1]) is Urgency.FAILING
    assert all(let_go(each) == list(DEFERRED) for each in live.runs.values())


def test_the_runs_that_were_judged_last_are_kept_whole(starts, monkeypatch):
    monkeypatch.setattr(cached_live_root, "WHOLE_RUNS", 1)
    live = packed(starts)
    assert live.cached_runs == {T1}
    put(starts.root / T1 / "review/plan-review.json", {"ok": False})
    starts.ticks.wait()
    assert live.refresh_paths([starts.root / T1])
    live.pack_idle_runs()
    assert live.cached_runs == {T2}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_has_a_packed_run_judged_and_no_other(starts, what):
    live = packed(starts)
    CHANGES[what](starts.root / T1)
    live.refresh_paths([starts.root / TASKS])
    assert live.cached_runs == {T2}
    assert live.runs == cold(starts).runs


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_a_packed_run_that_nobody_tells_is_found(starts, what):
    live = packed(starts)
    run_to_end(live.refresh_all_in_parts())
    CHANGES[what](starts.root / T1)
    run_to_end(live.refresh_all_in_parts())
    assert live.cached_runs == {T2}
    assert live.runs == cold(starts).runs


def test_of_a_packed_run_of_many_files_folders_alone_are_looked_at_where_all_was_heard(starts, monkeypatch):
    monkeypatch.setattr(large_folders, "LARGE_FOLDER", 2)
    live = packed(starts)
    assert not live.needs_all_heard(T1)
    live.look_again(T1)
    assert live.needs_all_heard(T1)
    review = starts.root / T1 / "review/plan-review.json"
    before = live.runs[T1]
    review.write_text('{"ok": false}')
    assert live.look_again(T1, heard_all=True) is None
    live.refresh_paths([review])
    assert live.runs[T1] != before
    live = packed(starts)
    live.look_again(T1)
    (starts.root / T1 / "state.json").unlink()
    live.look_again(T1, heard_all=True)
    assert live.held_runs(T1) == {T1}


def test_a_packed_run_with_a_hard_link_is_looked_at_whole(starts, monkeypatch):
    monkeypatch.setattr(large_folders, "LARGE_FOLDER", 2)
    os.link(starts.root / T1 / "review/plan-review.json", starts.root / "elsewhere")
    live = packed(starts)
    live.look_again(T1)
    assert not live.needs_all_heard(T1)
    (starts.root / "elsewhere").write_text('{"ok": false}')
    before = live.runs[T1]
    live.look_again(T1, heard_all=True)
    assert live.runs[T1] != before


def test_a_run_whose_files_were_saved_this_moment_is_packed_once_they_are_settled(starts, monkeypatch):
    live = CachedLiveRoot(starts.root, lambda: starts.now, cache=starts.folder)
    with monkeypatch.context() as patched:
        for module in (file_cache, read_sets):
            patched.setattr(module, "time_ns", lambda: (starts.root / T1).stat().st_ctime_ns)
        run_to_end(live.scan_in_parts())
    assert T2 not in live.cached_runs
    starts.save(live)
    assert live.cached_runs == {T1, T2}


def test_a_run_that_is_packed_is_written_with_what_it_saw_elsewhere(starts):
    put(starts.root / ".phasekeeper/config.yaml", "workflows: {}\n")
    starts.save(packed(starts))
    live = starts.start()
    assert live.cached_runs == {T1, T2} and not live.cache_faults


def _decided(root: Path) -> Path:
    """A run whose gate a person overrode; its journal."""
    key = decision_keys.make_repository_key(root).secret
    assert key
    record = {**DECISION, "to": "codegen", "why": "it is good enough"}
    where = decide.journal_place(root, f"{T1}/.phasekeeper/journal.jsonl")
    return decided(root, mac=decide.sign(record, key, where))


def test_a_run_with_a_persons_decision_is_packed_but_not_written(starts, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(starts.root.parent / "state"))
    _decided(starts.root)
    live = packed(starts)
    assert live.cached_runs == {T1, T2} and "decision-unverified" not in codes(live)
    starts.save(live)
    assert T1.encode() not in starts.file.read_bytes()


def test_a_packed_run_with_a_persons_decision_is_judged_when_its_key_is_gone(starts, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(starts.root.parent / "state"))
    _decided(starts.root)
    live = packed(starts)
    assert live.cached_runs == {T1, T2}
    decision_keys.key_path().unlink()
    assert live.refresh_paths()
    assert live.cached_runs == {T2} and "decision-unverified" in codes(live)


def test_what_was_read_of_packed_runs_is_forgotten(starts):
    live = packed(starts)
    live.forget_names()
    known = live._files.folders() | set(live._dependencies.keys())  # pyright: ignore[reportPrivateUsage]
    assert [key for key in known if f"{key}/".startswith(f"{T1}/")] == []


def test_a_run_whose_folder_is_gone_for_a_moment_is_not_packed():
    """Nothing in it is signed, so that whatever comes in its place would count as nothing new."""
    root = PackedRoot()
    try:
        folder, other = (root.changes.root / run for run in RUNS[:2])
        (folder / "state.json").unlink()
        root.tell([folder / "state.json"])
        shutil.rmtree(folder.parent)
        root.tell([folder.parent], grace=True)
        # That the folder above is back is seen, and its names count as before until the grace is over.
        (other / "review").mkdir(parents=True)
        root.tell([other / "review"])
        root.ask(RUNS[0])
        root.pack(0)
        (folder / "review").mkdir(parents=True)
        root.tell([folder / "review"])
        put(folder / "state.json", {"phase": "plan_review"})
        root.tell([folder / "state.json"])
        root.rest()
        root.assert_as_at_first_sight()
        assert RUNS[0] in root.live.runs
    finally:
        root.close()
