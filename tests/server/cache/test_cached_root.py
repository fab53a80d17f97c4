"""A server that begins again judges what changed since, and stands as one without a cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from phasekeeper.server.cache import cache_file, private_files, read_sets
from phasekeeper.server.cache.cache_file import CacheFault
from phasekeeper.server.cache.file_systems import is_trusted
from phasekeeper.server.disk import file_cache
from phasekeeper.server.live import cached_live_root
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.cached_runs import CachedRuns
from phasekeeper.server.live.live_root import LiveRoot

from tests.roots import EXAMPLES, TASKS, put, run_to_end, task
from tests.server.live.ticks import Ticks

T1, T2 = f"{TASKS}/T1", f"{TASKS}/T2"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Starts:
    """Starts of servers over one root, with one cache."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root, self.now = folder / "caches/evaluations", root, NOW
        self.ticks = Ticks(folder / "ticks")

    def start(self) -> CachedLiveRoot:
        live = CachedLiveRoot(self.root, lambda: self.now, cache=self.folder)
        run_to_end(live.scan_in_parts())
        cold = LiveRoot(self.root, lambda: self.now)
        run_to_end(cold.scan_in_parts())
        assert (live.runs, live.findings) == (cold.runs, cold.findings)
        return live

    def save(self, live: CachedLiveRoot) -> None:
        self.ticks.wait()
        for _ in live.save_in_parts():
            pass

    @property
    def file(self) -> Path:
        [path] = self.folder.iterdir()
        return path


@pytest.fixture
def starts(tmp_path, monkeypatch) -> Starts:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    made = Starts(tmp_path, root)
    for module in (file_cache, read_sets):
        monkeypatch.setattr(module, "SETTLED_NS", 0)
        monkeypatch.setattr(module, "time_ns", made.ticks.now_ns)
    monkeypatch.setattr(cached_live_root, "SAMPLE_RUNS", 0)
    task(root, "T1")
    task(root, "T2")
    return made


def saved(starts: Starts) -> None:
    starts.save(starts.start())


def test_what_did_not_change_is_not_judged_again(starts):
    saved(starts)
    live = starts.start()
    assert live.cached_runs == {T1, T2}
    assert not live.has_unsaved_runs and not live.cache_faults


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file": lambda run: put(run / "review/plan-review.json", {"ok": False}),
    "one of the same length and time": lambda run: _same_length(run / "review/plan-review.json"),
    "a file that was absent": lambda run: put(run / "planning/plan.md", "# Plan\n"),
    "one in a folder that was absent": lambda run: put(run / "accept/decision.json", {"ok": True}),
    "a name": lambda run: (run / "review/plan-review.json").rename(run / "review/code-review.json"),
    "a link in the place of a folder": lambda run: _link(run / "review"),
    "a link in the place of the run": lambda run: _link(run),
    "a folder in the place of a file": lambda run: _folder(run / "state.json"),
    "permissions": lambda run: (run / "state.json").chmod(0o640),
}


def _same_length(path: Path) -> None:
    before = path.stat()
    path.write_text(path.read_text().replace("true", "null"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _link(path: Path) -> None:
    moved = path.parents[3] / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("what", CHANGES)
def test_a_run_that_changed_meanwhile_is_judged_and_no_other(starts, what):
    saved(starts)
    CHANGES[what](starts.root / T1)
    assert starts.start().cached_runs == {T2}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_is_told_later_has_its_run_judged(starts, what):
    saved(starts)
    live = starts.start()
    CHANGES[what](starts.root / T1)
    live.refresh_paths([starts.root / TASKS])
    assert live.cached_runs == {T2}
    cold = LiveRoot(starts.root, lambda: starts.now)
    run_to_end(cold.scan_in_parts())
    assert live.runs == cold.runs


def test_a_change_that_nobody_tells_is_found(starts):
    saved(starts)
    live = starts.start()
    put(starts.root / T1 / "review/plan-review.json", {"ok": False})
    assert run_to_end(live.refresh_all_in_parts())
    assert live.cached_runs == {T2}


def test_a_question_about_a_run_has_it_looked_at_again(starts):
    saved(starts)
    live = starts.start()
    put(starts.root / T1 / "review/plan-review.json", {"ok": False})
    assert live.look_again(T1)
    before = live.runs[T2]
    assert live.query(T2, lambda trace: trace.evaluation) == before
    assert live.cached_runs == set()


def test_unsaved_text_is_laid_over_a_run_that_was_not_judged(starts):
    saved(starts)
    live = starts.start()
    unsaved = live.evaluate_unsaved({f"{T1}/review/plan-review.json": '{"ok": false}'})
    assert list(unsaved) == [T1] and unsaved[T1] != live.runs[T1]


def test_runs_that_came_and_went_meanwhile_are_seen(starts):
    saved(starts)
    task(starts.root, "T3")
    shutil.rmtree(starts.root / T1)
    live = starts.start()
    assert (list(live.runs), live.cached_runs) == ([T2, f"{TASKS}/T3"], {T2})


def test_what_was_saved_this_moment_is_not_vouched_for(starts, monkeypatch):
    live = starts.start()
    starts.ticks.wait()
    path = put(starts.root / T1 / "state.json", {"phase": "done"})
    for module in (file_cache, read_sets):
        monkeypatch.setattr(module, "time_ns", lambda: path.stat().st_ctime_ns)
    live.refresh_paths([starts.root / T1])
    for _ in live.save_in_parts():
        pass
    # A save in the same tick of the clock would have the same times.
    assert live.has_unsaved_runs
    assert starts.start().cached_runs <= {T2}


def test_an_end_of_a_claim_has_its_run_judged(starts):
    shutil.copytree(EXAMPLES, starts.root, dirs_exist_ok=True)
    until = (NOW + timedelta(seconds=60)).isoformat(timespec="milliseconds")
    run = ".orchestrator/tasks/reading-lists"
    claim = f'{{"seq": 1, "kind": "claim", "task": "reading-lists-03", "actor": "a", "until": "{until}"}}\n'
    put(starts.root / run / ".phasekeeper/claims.jsonl", claim)
    saved(starts)
    live = starts.start()
    assert run in live.cached_runs and live.runs[run].claims
    starts.now += timedelta(seconds=61)
    live.refresh_paths()
    assert not live.runs[run].claims
    assert run not in starts.start().cached_runs


def test_another_configuration_and_another_definition_are_another_cache(starts):
    saved(starts)
    put(starts.root / ".phasekeeper/config.yaml", "parameters: {artifact-pipeline: {nothing: 1}}\n")
    live = starts.start()
    assert (live.cached_runs, live.cache_faults) == (set(), {CacheFault.OUTDATED: 1})


@pytest.fixture
def commit(starts) -> Callable[[str], object]:
    """Commits what lies at a path of the root."""
    shutil.rmtree(starts.root / ".git")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "init", "-q"], cwd=starts.root, check=True)

    def commit(path: str) -> None:
        subprocess.run([*git, "add", path], cwd=starts.root, check=True)
        subprocess.run([*git, "commit", "-qm", "x"], cwd=starts.root, check=True)

    return commit


def test_a_commit_meanwhile_concerns_the_runs_whose_files_it_changed(starts, commit):
    commit(f"{T1}/review")
    saved(starts)
    commit(f"{T2}/state.json")
    assert starts.start().cached_runs == {T1}


def test_a_commit_after_the_start_concerns_the_runs_whose_files_it_changed(starts, commit):
    commit(f"{T1}/review")
    saved(starts)
    live = starts.start()
    assert live.cached_runs == {T1, T2}
    commit(f"{T1}/state.json")
    live.refresh_paths()
    assert live.cached_runs == {T2}


def damage(how: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(how(path.read_bytes()))


def _signed(raw: bytes) -> bytes:
    return raw + sha256(raw).digest()


FAULTS: dict[str, tuple[Callable[[Path], object], CacheFault]] = {
    "empty": (damage(lambda raw: b""), CacheFault.DAMAGED),
    "cut": (damage(lambda raw: raw[:-1]), CacheFault.DAMAGED),
    "cut short": (damage(lambda raw: raw[:30]), CacheFault.DAMAGED),
    "one bit": (damage(lambda raw: raw[:99] + bytes([raw[99] ^ 1]) + raw[100:]), CacheFault.DAMAGED),
    "another form": (damage(lambda raw: raw.replace(b"ions 1\n", b"ions 2\n", 1)), CacheFault.OUTDATED),
    "of no form": (damage(lambda raw: _signed(raw[:40] + b"\n")), CacheFault.DAMAGED),
    "rows of no form": (
        damage(lambda raw: _signed(raw[: raw.index(b"\n", 30) + 1] + b"[]\n")),
        CacheFault.DAMAGED,
    ),
    "writable by others": (lambda path: path.chmod(0o602), CacheFault.UNTRUSTED),
    "in a folder of others": (lambda path: path.parent.chmod(0o777), CacheFault.UNTRUSTED),
    "a link": (lambda path: _link_file(path), CacheFault.UNREADABLE),
    "a folder": (lambda path: _folder(path), CacheFault.UNREADABLE),
}


def _link_file(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


@pytest.mark.parametrize("what", FAULTS)
def test_a_file_that_is_not_to_be_trusted_is_ignored_and_counted(starts, what):
    saved(starts)
    spoil, fault = FAULTS[what]
    spoil(starts.file)
    live = starts.start()
    assert (live.cached_runs, live.cache_faults) == (set(), {fault: 1})


def test_a_file_of_another_root_is_not_taken(starts, tmp_path):
    saved(starts)
    (tmp_path / "other").mkdir()
    other = Starts(tmp_path / "other", starts.root.rename(tmp_path / "moved"))
    other.folder, other.ticks = starts.folder, starts.ticks
    name = CachedRuns(starts.folder, file_cache.FileCache(other.root), None)._path  # pyright: ignore
    starts.file.rename(name)
    live = other.start()
    assert (live.cached_runs, live.cache_faults) == (set(), {CacheFault.OUTDATED: 1})


def test_a_clock_that_was_set_back_makes_the_file_one_of_a_later_time(starts):
    saved(starts)
    starts.now -= timedelta(seconds=1)
    assert starts.start().cache_faults == {CacheFault.OUTDATED: 1}


def test_one_run_that_stands_otherwise_has_the_file_thrown_away(starts, monkeypatch):
    saved(starts)
    raw = starts.file.read_bytes()[:-32]
    assert raw.count(b'"plan_review"')
    starts.file.write_bytes(_signed(raw.replace(b'"plan_review"', b'"code_review"')))
    monkeypatch.setattr(cached_live_root, "SAMPLE_RUNS", 1)
    live = starts.start()
    assert (live.cached_runs, live.cache_faults) == (set(), {CacheFault.DIFFERENT: 1})
    assert list(starts.folder.iterdir()) == []


def test_runs_that_are_judged_as_a_sample_stay_saved(starts, monkeypatch):
    saved(starts)
    monkeypatch.setattr(cached_live_root, "SAMPLE_RUNS", 1)
    live = starts.start()
    assert (len(live.cached_runs), live.has_unsaved_runs) == (1, False)


def test_a_later_save_takes_over_the_rows_that_hold(starts):
    saved(starts)
    live = starts.start()
    put(starts.root / T1 / "review/plan-review.json", {"ok": False})
    live.refresh_paths([starts.root / T1])
    starts.save(live)
    assert starts.start().cached_runs == {T1, T2}


def test_a_save_that_is_given_up_leaves_the_file_as_it_was(starts):
    saved(starts)
    before, live = starts.file.read_bytes(), starts.start()
    parts = live.save_in_parts()
    next(parts)
    del parts
    assert starts.file.read_bytes() == before


def test_a_file_has_a_size_that_it_does_not_pass(starts, monkeypatch):
    for number in range(20):
        task(starts.root, f"X{number}")
    monkeypatch.setattr(cache_file, "MOST_BYTES", 20_000)
    saved(starts)
    assert starts.file.stat().st_size <= 20_000
    assert 0 < len(starts.start().cached_runs) < 22


def test_files_that_nobody_uses_are_removed_and_the_longest_unused_where_there_are_too_many(
    starts, monkeypatch
):
    starts.folder.mkdir(mode=0o700, parents=True)
    old, newer = starts.folder / "a.evaluations", starts.folder / "b.evaluations"
    left = starts.folder / ".c.evaluations.123"
    for path, age_s in ((old, private_files.UNUSED_S + 60), (newer, 3600.0), (left, 7200.0)):
        path.write_bytes(b"x" * 100)
        at = path.stat().st_mtime - age_s
        os.utime(path, (at, at))
    private_files.remove_unused(starts.folder)
    assert list(starts.folder.iterdir()) == [newer]
    monkeypatch.setattr(private_files, "MOST_BYTES_IN_ALL", 50)
    private_files.remove_unused(starts.folder)
    assert list(starts.folder.iterdir()) == []


def test_file_systems_whose_times_are_kept_elsewhere_are_not_trusted():
    mounts = (
        "1 0 8:1 / / rw - ext4 /dev/a rw\n"
        "2 1 0:5 / /home rw shared:1 - nfs4 server:/home rw\n"
        "3 2 8:2 / /home/me/fast\\040disk rw - xfs /dev/b rw\n"
        "4 1 0:6 / /work/usb rw - vfat /dev/c rw\n"
    )
    places = ("/", "/home/me", "/home/me/fast disk/root", "/homes", "/work", "/work/root", "/work/usb")
    assert [is_trusted(place, mounts) for place in places] == [False, False, True, True, False, True, False]
    assert not is_trusted("/work", "")
