"""Files that more than one run writes, and a repository that moves: whose lock, and what recovery does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from phasekeeper.orchestration.findings import Edit
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.store import commit as store_commit
from phasekeeper.server.store.commit import LockedRun, Writes, commit
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.store.lock import run_lock

RUNS = ("tasks/A", "tasks/B")
SHARED = "shared/log.txt"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for run in RUNS:
        (root / run).mkdir(parents=True)
    (root / ".git").mkdir()
    return root


def own_home(folder: str) -> str | None:
    return folder if folder in RUNS else None


def appending(path: str, line: str) -> Callable[[LockedRun], Writes]:
    """A proposal that adds a line to a file as it is when it is asked."""

    def propose(held: LockedRun) -> Writes:
        file = DiskFiles(held.root).read(path)
        edit = Edit(path, file.digest if file.exists else None, f"{file.text or ''}{line}\n")
        return Writes([{"kind": "report", "outcome": "ok"}], [edit])

    return propose


def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose locks are taken from now on, in order."""
    order: list[str] = []
    lock = store_commit.run_lock

    def noted(root: Path, run: str, **options: object):
        order.append(run)
        return lock(root, run, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(store_commit, "run_lock", noted)
    return order


def test_runs_that_write_one_file_lose_no_line_of_each_other(root: Path) -> None:
    def many(run: str) -> None:
        for number in range(25):
            done = commit(root, run, appending(SHARED, f"{run} {number}"), home_of=own_home)
            assert (done.recovery, done.unfinished) == ((), ())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(many, RUNS))
    lines = (root / SHARED).read_text().splitlines()
    assert sorted(lines) == sorted(f"{run} {number}" for run in RUNS for number in range(25))
    assert sorted(path.name for path in (root / "shared").iterdir()) == ["log.txt"]


def test_a_file_in_another_run_is_written_under_that_runs_lock_too_in_path_order(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = taken(monkeypatch)
    commit(root, "tasks/B", appending("tasks/A/notes.txt", "from B"), home_of=own_home)
    assert order == ["tasks/B", "tasks/A", "tasks/B"]
    order.clear()
    commit(root, "tasks/B", appending("tasks/B/notes.txt", "own"), home_of=own_home)
    assert order == ["tasks/B"]


def test_a_file_of_no_run_is_guarded_by_the_root(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = taken(monkeypatch)
    commit(root, "tasks/A", appending(SHARED, "x"), home_of=own_home)
    assert order == ["tasks/A", "", "tasks/A"]


def test_a_run_whose_neighbour_is_being_written_waits_and_says_for_whom(root: Path) -> None:
    with run_lock(root, "tasks/A"), pytest.raises(StoreError, match="tasks/A is being written by process"):
        commit(root, "tasks/B", appending("tasks/A/notes.txt", "x"), home_of=own_home, timeout_s=0.05)
    assert not (root / "tasks/A/notes.txt").exists()
    assert not (root / "tasks/B/.phasekeeper/journal.jsonl").exists()


def test_what_the_other_run_left_unfinished_is_finished_before_its_file_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("phasekeeper.server.store.commit._rename_all", lambda _root, _work: ((), ()))
        commit(root, "tasks/A", appending("tasks/A/notes.txt", "from A"), home_of=own_home)
    assert not (root / "tasks/A/notes.txt").exists()
    done = commit(root, "tasks/B", appending("tasks/A/notes.txt", "from B"), home_of=own_home)
    assert (root / "tasks/A/notes.txt").read_text() == "from A\nfrom B\n"
    assert [mended.kind for mended in done.recovery] == ["finished"]


def test_a_proposal_that_leads_on_and_on_is_given_up(root: Path) -> None:
    names = [f"tasks/run{number}" for number in range(20)]
    for name in names:
        (root / name).mkdir()
    looks: list[str] = []

    def propose(held: LockedRun) -> Writes:
        looks.append(held.run)
        return appending(f"{names[len(looks)]}/x.txt", "x")(held)

    with pytest.raises(StoreError, match="leads to other runs with each look"):
        commit(root, "tasks/A", propose, home_of=lambda folder: folder if folder in (*RUNS, *names) else None)
    assert not list(root.rglob("x.txt"))


# ---- a repository that moves ------------------------------------------------------------------


def _interrupted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit whose text did not get to its place."""
    with monkeypatch.context() as patch:
        patch.setattr("phasekeeper.server.store.commit._rename_all", lambda _root, _work: ((), ()))
        commit(root, "tasks/A", appending(SHARED, "recorded"), home_of=own_home)


def test_a_write_is_finished_after_the_repository_was_moved(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupted(root, monkeypatch)
    moved = root.rename(root.parent / "elsewhere")
    done = commit(moved, "tasks/A", lambda _held: Writes())
    assert [mended.kind for mended in done.recovery] == ["finished"]
    assert (moved / SHARED).read_text() == "recorded\n"


def test_a_conflict_is_told_and_kept_after_the_repository_was_moved(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupted(root, monkeypatch)
    moved = root.rename(root.parent / "elsewhere")
    (moved / SHARED).write_text("somebody else's\n")
    [mended] = commit(moved, "tasks/A", lambda _held: Writes()).recovery
    assert (mended.kind, (moved / SHARED).read_text()) == ("conflict", "somebody else's\n")
    assert mended.saved_as and (moved / mended.saved_as).read_text() == "recorded\n"


def test_what_was_never_committed_is_removed_after_the_repository_was_moved(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        """The end of the process."""

    def dies(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr("phasekeeper.server.store.commit._check_again", dies)
        patch.setattr("phasekeeper.server.store.commit._remove_temporaries", lambda _root, _work: None)
        commit(root, "tasks/A", appending(SHARED, "never"), home_of=own_home)
    [stray] = [path for path in (root / "shared").iterdir() if path.suffix == ".tmp"]
    moved = root.rename(root.parent / "elsewhere")
    done = commit(moved, "tasks/A", lambda _held: Writes())
    assert [mended.kind for mended in done.recovery] == ["removed"]
    assert not (moved / "shared" / stray.name).exists()
