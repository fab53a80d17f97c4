"""A root that is a real git repository, set up by `init`, with branches that are merged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.roots import needs

CONFIG = "parameters: {master-plan: {adoption: auto}}\n"


class Repository(Drive):
    """Plans in it are adopted by themselves; what is written is committed by `commit` alone."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        super().__init__(tmp_path, monkeypatch)
        (self.root / ".git").rmdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.do("init", "--yes")
        self.write(".phasekeeper/config.yaml", CONFIG)

    def git(self, *words: str, code: int = 0) -> str:
        words = (needs("git"), *words)
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == code, done
        return done.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=work")

    def merged(self, name: str, code: int = 0) -> None:
        self.git("merge", "--quiet", "--no-edit", name, code=code)
