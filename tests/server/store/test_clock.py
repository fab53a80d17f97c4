"""The clock of a machine is set back and forth between commands: order is that of the numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.cli_walkthroughs.driver import Drive, Result
from tests.roots import needs
from tests.server.store.test_merged_journals import PLAN

T1 = ".ai-tools-chain/tasks/T1"
M1 = ".orchestrator/tasks/M1"


class Clocked(Drive):
    """Commands that see another time than it is."""

    def at(self, offset: str, *words: str) -> Result:
        """A command with the clock set off, as "-5h"."""
        command = [needs("faketime"), "-f", offset, sys.executable, "-m", "phasekeeper", *words]
        done = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def clocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clocked:
    needs("faketime")
    return Clocked(tmp_path, monkeypatch)


def test_records_are_in_the_order_of_their_numbers_whatever_the_clock_says(clocked: Clocked) -> None:
    clocked.start("artifact-pipeline", "T1")
    clocked.write(f"{T1}/planning/planning.ai.json", {"id": "T1"})
    for offset in ("-5h", "+3h", "-400d", "+0"):
        assert clocked.at(offset, "redo", "T1", "planning").code == 0
    records = clocked.records(T1)
    assert [each["seq"] for each in records] == [1, 2, 3, 4, 5]
    moments = [datetime.fromisoformat(each["at"]) for each in records]
    assert sorted(moments) != moments and moments[3] < moments[0] - timedelta(days=390)
    assert clocked.json(f"{T1}/state.json")["actors"]["planning"]["round"] == 4
    shown = [int(number) for number in re.findall(r'"seq": (\d+)', clocked.do("history", "T1", "--json").out)]
    assert shown in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])


def test_how_a_run_stands_does_not_depend_on_the_time(clocked: Clocked) -> None:
    clocked.start("artifact-pipeline", "T1")
    clocked.write(f"{T1}/planning/planning.ai.json", {"id": "T1"})
    clocked.at("-5h", "report", "T1", "planning", "ok")
    answers = {clocked.at(offset, "next", "--json", "--run", "T1").out for offset in ("-9h", "+0", "+9000d")}
    assert len(answers) == 1 and "plan_review" in answers.pop()


def test_a_claim_that_ended_stays_with_who_took_it_since_though_the_clock_goes_back(clocked: Clocked) -> None:
    clocked.write(".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\n")
    clocked.write(f"{M1}/MASTER_PLAN.md", PLAN)
    for name in ("01-first.md", "02-tests.md"):
        clocked.write(f"{M1}/{name}", f"# {name}\n")
    hers = clocked.at("-2h", "claim", "M1", "f-02", "--as", "ada", "--ttl", "3600").out.split()[-1]
    his = clocked.at("+0", "claim", "M1", "f-02", "--as", "bob", "--ttl", "3600").out.split()[-1]
    # By this clock Ada's claim were alive; Bob has it all the same, and her token counts for nothing.
    refused = clocked.at("-90m", "claim", "M1", "f-02", "--as", "ada", "--ttl", "3600", "--token", hers)
    assert refused.code == 1 and "claimed by bob" in refused.err
    clocked.write("src/second.py", "DONE = 1\n")
    report = (
        "report",
        "M1",
        "4a",
        "complete",
        "--task",
        "f-02",
        "--summary",
        "Changed src/second.py",
        "--as",
        "ada",
    )
    for offset in ("-90m", "+0"):
        assert clocked.at(offset, *report, "--token", hers).code == 1
        assert clocked.at(offset, *report).code == 1
    assert not (clocked.root / M1 / ".phasekeeper/journal.jsonl").exists()
    assert clocked.at("-90m", *report[:-1], "bob", "--token", his).code == 0
