"""Shared options and fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.golden import CASES, cases_in

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="write what was found into the case files")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "corpus: reads real public files, where they are present")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "golden_case" in metafunc.fixturenames:
        cases = [case for path in sorted(CASES.rglob("*.txt")) for case in cases_in(path)]
        metafunc.parametrize("golden_case", cases, ids=str)


@pytest.fixture
def update_cases(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-cases"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder that is the top of a repository, so that no root above it is looked for."""
    (tmp_path / ".git").mkdir()
    return tmp_path
