"""Commands of a user who has a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.cli import parser

from tests.server.cli.served import Served
from tests.server.servers import Home


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    made = Served(home)
    yield made
    made.end()


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> Callable[[Home, Path], None]:
    """Makes this process one of the home's user, in a folder."""

    def become(home: Home, folder: Path) -> None:
        for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, home.env[name])
        monkeypatch.chdir(folder)

    return become


@pytest.fixture
def asked(run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Runs a command that must not look itself: (exit code, stdout, stderr)."""

    def refuse(words: Sequence[str]) -> Any:
        raise AssertionError(f"{words} looked itself")

    def called(*words: str) -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            patched.setattr(parser, "parse", refuse)
            return run(*words)

    return called
