"""What a version leaves can be written down, and laid out again as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.upgrades.released_roots import restore, root_as_data, standing_of


def test_a_root_is_laid_out_again_as_it_was_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Drive(tmp_path, monkeypatch)
    run = drive.start("artifact-pipeline", "T1")
    drive.write("picture.bin", b"\xff\x00")
    evaluation = drive.evaluation(run)
    data = root_as_data(drive.root, tmp_path / "user-state", {run: evaluation})

    again = tmp_path / "again"
    restore(again, data["files"])
    restored = {
        path.relative_to(again).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in again.rglob("*")
        if path.is_file()
    }
    assert restored == {
        name: (raw, (drive.root / name).stat().st_mtime_ns) for name, raw in drive.files().items()
    }
    assert data["runs"] == {run: standing_of(evaluation)} and drive.records_anywhere()
