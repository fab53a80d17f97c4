"""Tests of real public files. Without the files there is nothing to collect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.cli.main import main

from tests.corpus.places import CORPUS

if CORPUS is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def corpus() -> Path:
    assert CORPUS is not None
    return CORPUS


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], list[dict[str, Any]]]:
    """The runs that `phasekeeper status` sees below a root."""

    def called(root: Path) -> list[dict[str, Any]]:
        assert main(["status", "--root", str(root)]) == 0
        capsys.readouterr()
        assert main(["status", "--json", "--root", str(root)]) == 0
        return json.loads(capsys.readouterr().out)["runs"]

    return called
