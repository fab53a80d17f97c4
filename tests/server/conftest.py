"""A root with one task, and the command line in this process."""

from __future__ import annotations

import pytest
from phasekeeper.server.cli.main import main

from tests.roots import task
from tests.server.servers import homes


@pytest.fixture
def here(root, monkeypatch):
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    task(root, "T1")
    return root


@pytest.fixture
def run(capsys):
    """Runs a command: (exit code, stdout, stderr)."""

    def called(*words: object) -> tuple[int, str, str]:
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        return code, *capsys.readouterr()

    return called


@pytest.fixture
def home():
    with homes() as made:
        yield made


@pytest.fixture
def work(home):
    """A root with one task, which a server of this home serves."""
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    return root
