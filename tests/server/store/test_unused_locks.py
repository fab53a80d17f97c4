"""A lock under which nothing was ever written leaves nothing behind, and is nobody's but one's meanwhile."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from phasekeeper.server.store.claims import claim
from phasekeeper.server.store.commit import Writes, commit
from phasekeeper.server.store.lock import HOLDER, run_lock

from tests.cli_walkthroughs.driver import Drive
from tests.faults.scenario import change

RUN = "tasks/T1"
PLACE = f"{RUN}/.phasekeeper"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")


@pytest.fixture
def run(root: Path) -> Path:
    (root / RUN).mkdir(parents=True)
    return root / RUN


def test_a_refused_report_on_a_run_that_was_never_written_to_leaves_nothing(tmp_path, monkeypatch):
    drive = Drive(tmp_path, monkeypatch)
    place = ".ai-tools-chain/tasks/T1"
    drive.write(f"{place}/state.json", {"phase": "planning"})
    before = sorted(drive.root.rglob("*"))
    assert "not be reported now" in drive.refused("report", "T1", "review", "ok")
    assert sorted(drive.root.rglob("*")) == before


def test_what_proposes_nothing_leaves_nothing(root, run):
    commit(root, RUN, lambda _: Writes())
    assert list(run.iterdir()) == []


def test_the_folder_of_a_run_that_has_a_journal_or_claims_stays(root, run):
    """With the note on the last holder; filelock before 4 removes the lock's own file itself."""
    claim(root, RUN, "t", "ann", 60, "token")
    assert (root / PLACE / HOLDER).exists()
    (root / PLACE / "claims.jsonl").unlink()
    (run / "state.json").write_text('{"v": 0}')
    commit(root, RUN, change(root, 1))
    with run_lock(root, RUN):
        pass
    assert (root / PLACE / HOLDER).exists()


def test_what_else_lies_in_the_folder_keeps_it(root, run):
    (root / PLACE).mkdir()
    (root / PLACE / "mine").touch()
    with run_lock(root, RUN):
        pass
    assert (root / PLACE / "mine").exists()


def test_nobody_has_the_lock_twice_while_its_file_comes_and_goes(root, run):
    inside, most = 0, list[int]()
    mutex = threading.Lock()

    def write_nothing(_: int) -> None:
        nonlocal inside
        with run_lock(root, RUN, timeout_s=60):
            with mutex:
                inside += 1
                most.append(inside)
            with mutex:
                inside -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write_nothing, range(200)))
    assert max(most) == 1 and len(most) == 200
    assert not (root / PLACE).exists()
