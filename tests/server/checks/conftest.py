"""A repository with checks, whose definitions a person allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.orchestration.evidence.attestation import Attestation
from phasekeeper.orchestration.evidence.check_state import CheckState
from phasekeeper.orchestration.evidence.checks import Check
from phasekeeper.server.checks.present import PresentCheck, PresentChecks
from phasekeeper.server.checks.verification import CheckOutcome, Verification

from tests.roots import needs, put

PLACES = (".orchestrator/tasks/*", "tasks/*", ".claude/state")


class CheckedRoot:
    """A repository, and what a person and the command `verify` do in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: Sequence[str] = PLACES
        self.git("init", "-q")
        put(path / ".gitignore", ".phasekeeper/evidence/\nbuild/\n")
        put(path / "src/app.py", "ONE = 1\n")

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run([needs("git"), *who, *words], cwd=self.path, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "-qm", "all")

    def declare(self, text: str) -> None:
        put(self.path / PATH, text)

    @property
    def checks(self) -> Mapping[str, Check]:
        config = read_config((self.path / PATH).read_text(encoding="utf-8"))
        assert config.findings == ()
        return config.checks

    def look(self, name: str = "c") -> PresentCheck:
        return PresentChecks(self.path).look(self.checks, self.places, name)

    def state(self, name: str = "c") -> CheckState:
        return self.look(name).state

    def last(self, name: str = "c") -> Attestation:
        last = self.look(name).last
        assert last
        return last

    def trust(self, *names: str, at: str = "2026-01-01T00:00:00.000+00:00") -> None:
        looks = PresentChecks(self.path)
        for name in names or self.checks:
            looks.trust.allow(looks.look(self.checks, self.places, name).definition, "Ada", at)

    def verification(self) -> Verification:
        return Verification(self.path, self.checks, self.places)

    def verify(self, *names: str, again: bool = False) -> list[CheckOutcome]:
        return self.verification().verify(names or self.checks, again=again)

    def script(self, code: str, name: str = "c", more: str = "") -> None:
        """Declare a check that runs Python code, and have it allowed."""
        put(self.path / f"checks/{name}.py", code)
        run = f'["{sys.executable}", "-I", checks/{name}.py]'
        self.declare(f"checks:\n  {name}: {{run: {run}{more}}}\n")
        self.trust(name)


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckedRoot:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    return CheckedRoot(tmp_path / "work")


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    """True while a process of this number is there and has not ended."""

    def look(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        stat = Path(f"/proc/{pid}/stat")
        return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] in "ZX")

    return look
