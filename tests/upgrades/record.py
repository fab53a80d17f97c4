"""`python -m tests.upgrades.record`: this version and the roots that it leaves, for the tests of later ones.

To be run on the commit of a release: each walkthrough of the command line is the work of a person and an
assistant on a root, and what lies there at its end is written to `released_VERSION/`, a file a walkthrough;
beside them lies the code of the program.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from phasekeeper.server.version import VERSION

from tests.cli_walkthroughs.driver import Drive
from tests.upgrades.released_program import PROGRAM
from tests.upgrades.released_roots import root_as_data

FOLDER = Path(__file__).parent / f"released_{VERSION.replace('.', '_')}"
_NAME_CHARACTERS = 25
_PACKAGES = ("orchestration", "server", "tools", "examples")


class Recorder:
    """A plugin of pytest that writes down each root before it is taken away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Function) -> Iterator[None]:
        drive = item.funcargs.get("drive")
        if isinstance(drive, Drive) and drive.records_anywhere():
            self._write(item.name, drive)
        yield

    def _write(self, test: str, drive: Drive) -> None:
        runs = json.loads(drive.run("status", "--json", "--cold").out)["runs"]
        data = root_as_data(drive.root, drive.root.parent / "user-state", {run["run"]: run for run in runs})
        stem = re.sub(r"\W+", "_", test.removeprefix("test_"))[:_NAME_CHARACTERS].strip("_")
        taken = sum(name.startswith(stem) for name in self.names)
        self.names.append(f"{stem}{taken or ''}")
        path = self.folder / f"{self.names[-1]}.json"
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def keep_program(folder: Path, commit: str = "HEAD") -> None:
    """Write the code of a commit into a folder, as it is installed: its packages and the examples."""
    root = Path(__file__).parents[2]
    words = ["git", "-C", str(root), "archive", "--format=tar", commit, *_PACKAGES]
    archive = subprocess.run(words, capture_output=True, check=True).stdout
    (folder / PROGRAM).write_bytes(lzma.compress(archive, preset=9 | lzma.PRESET_EXTREME))


def main(words: list[str]) -> int:
    """Walk through everything, or what `words` say to pytest, and record it; pytest's exit code."""
    FOLDER.mkdir(exist_ok=True)
    keep_program(FOLDER)
    recorder = Recorder(FOLDER)
    code = pytest.main(["-q", *(words or ["tests/cli_walkthroughs"])], plugins=[recorder])
    print(f"{len(recorder.names)} roots are in {FOLDER}")
    return int(code)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
