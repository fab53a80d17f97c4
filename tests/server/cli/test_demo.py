"""The examples are copied in an order in which each says what it means at once."""

from __future__ import annotations

from pathlib import Path

from phasekeeper.server.cli.commands.init import copy_examples


def test_the_configuration_is_there_before_any_run_is(tmp_path, monkeypatch):
    written: list[str] = []
    write = Path.write_bytes

    def noting(path: Path, data: bytes) -> int:
        written.append(path.relative_to(tmp_path / "demo").as_posix())
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", noting)
    copy_examples(tmp_path / "demo")
    assert written[0] == ".phasekeeper/config.yaml"
    assert ".orchestrator/tasks/reading-lists/MASTER_PLAN.md" in written
