"""What it costs to tell whether a check is fresh: 10,000 inputs, beside `git status` in the same run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from unittest import mock

from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.server.checks.input_table import InputTable
from phasekeeper.server.checks.present import PresentChecks
from phasekeeper.server.checks.verification import Verification
from phasekeeper.server.live.live_root import LiveRoot

FILES, A_FOLDER = 10_000, 100
ROUNDS = 7


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of some calls, by the wall: the disk and git are a part of it."""
    times: list[float] = []
    for _ in range(rounds):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return median(times) * 1000


def repository(root: Path) -> None:
    """A repository of 10,000 source files with one check of all of them."""
    for number in range(FILES):
        path = root / f"src/part{number // A_FOLDER:03}/module{number % A_FOLDER:03}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 40)
    config = root / PATH
    config.parent.mkdir()
    config.write_text("checks: {tests: {run: ['true']}}\n")
    (root / ".gitignore").write_text(".phasekeeper/evidence/\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *who, *words], cwd=root, check=True)


def freshness(root: Path) -> None:
    """Print what each look costs."""
    checks = read_config((root / PATH).read_text()).checks
    # Files that were written this moment are read twice.
    sleep(0.1)
    looks = PresentChecks(root)
    looks.trust.allow(looks.look(checks, (), "tests").definition, "bench", "2026-01-01")
    Verification(root, checks, ()).verify(["tests"])

    def look(table: InputTable) -> None:
        table.forget_files()
        assert PresentChecks(root, table).look(checks, (), "tests").state.is_fresh

    table = InputTable(root)
    look(table)
    live = LiveRoot(root)
    for _ in live.scan_in_parts():
        pass
    files = iter(sorted((root / "src/part007").iterdir()))

    def save() -> None:
        path = next(files)
        path.write_text(path.read_text() + "MORE = 1\n")
        live.refresh_paths([path])

    def status() -> None:
        subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True)

    print(f"\nfreshness of a check over {FILES:,} inputs, by the wall")
    for what, value, budget in (
        ("git status", milliseconds(status), ""),
        (
            "without anything known: all contents are read",
            milliseconds(lambda: look(InputTable(root))),
            "1500",
        ),
        ("all statuses looked at, git asked for names", milliseconds(lambda: look(table)), ""),
        ("watched, nothing changed", milliseconds(lambda: live.look_again()), "60"),
        ("watched, one file saved, to its findings", milliseconds(save), "5"),
    ):
        print(f"{what:<62} {value:9.3f} ms  {f'budget {budget}' if budget else ''}")


def main() -> None:
    """Measure in a folder that goes away."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "work"
        root.mkdir()
        with mock.patch.dict(os.environ, {"XDG_STATE_HOME": f"{place}/state"}):
            repository(root)
            freshness(root)


if __name__ == "__main__":
    main()
