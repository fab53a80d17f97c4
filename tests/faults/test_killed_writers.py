"""Writers of one run are killed at random while others write: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from phasekeeper.orchestration.journal.journal import read_journal
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.store.recovery import pending_writes
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.faults.scenario import in_memory
from tests.faults.writers import RUN, prepare

WRITERS = Path(__file__).with_name("writers.py")
AT_ONCE, KILLED, LAST = 8, 32, 10
LIMIT_S = 300


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed by signals")
def test_what_is_acknowledged_stands_once_whoever_is_killed_meanwhile(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        root = Path(folder).resolve()
        prepare(root)
        command = [sys.executable, "-I", str(WRITERS), str(root), *map(str, (AT_ONCE, KILLED, LAST))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, done.stderr
        acknowledged: list[str] = json.loads(done.stdout.splitlines()[-1])
        # The next one finishes what the last ones left; the lock is free.
        apply_command(Workspace(root), RUN, Command("report", "do", "ok", message="after", actor="ann"))
        journal = read_journal((root / RUN / ".phasekeeper/journal.jsonl").read_text())
        assert (journal.problems, journal.forked) == ((), False)
        assert [each["seq"] for each in journal.records] == list(range(1, len(journal.records) + 1))
        messages = [str(each["message"]) for each in journal.records]
        assert len(set(messages)) == len(messages)
        assert set(acknowledged) <= set(messages)
        # A writer that was killed between its record and its word left one record more.
        assert len(messages) - len(acknowledged) - 2 <= KILLED
        assert (root / RUN / "log.txt").read_text().splitlines() == messages
        assert pending_writes(root, RUN) == ({}, (), ())
        assert len(acknowledged) >= KILLED + AT_ONCE * LAST
