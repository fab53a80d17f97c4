"""Who acts, as git and the system say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from phasekeeper.server.disk.git import actor


def test_who_decides_is_gits_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_CONFIG_COUNT"):
        monkeypatch.delenv(name, raising=False)
    settings.write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
    assert actor(tmp_path) == "Ada <ada@example.org>"
    settings.write_text("[user]\nname = Ada\n", encoding="utf-8")
    assert actor(tmp_path) == "Ada"
    settings.write_bytes(b"[user]\nname = Ad\xe9\n")
    assert actor(tmp_path) == "Ad\ufffd"


def test_without_git_it_is_the_systems_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "grace")
    assert actor(tmp_path) == "grace"


def test_a_user_without_a_name_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("getpass.getuser", nobody)
    assert actor(tmp_path) == "unknown"
