"""On Windows and macOS, as far as Python's modules tell: all is imported, and commands read and write."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.roots import EXAMPLES
from tests.server.servers import BOUND_S
from tests.systems.simulation import LINUX_ALONE, module_names

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="the simulation takes away what POSIX systems have"
)

ROOT = Path(__file__).parents[2]
REPORT = ("report", "late-fees", "codegen", "error", "--summary", "no time", "--cold")
COMMANDS = (
    ("status", "--cold"),
    REPORT,
    ("claim", "reading-lists", "reading-lists-03", "--as", "codex", "--cold"),
    ("claim", "reading-lists", "reading-lists-03", "--as", "gemini", "--cold"),
    ("next", "late-fees", "--json", "--cold"),
    ("check", "--cold"),
    ("repair", "late-fees"),
    ("history", "late-fees", "--cold"),
)
_MOMENTS = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+|token [0-9a-f]{32}|\b[0-9a-f]{16}\b")
"""What differs from one run of a command to the next: times, tokens, and digests over records with times."""


@pytest.fixture(scope="module", params=["win32", "darwin"])
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the simulation of a system printed."""
    folder = tmp_path_factory.mktemp(request.param)
    roots = [folder / name / "library" for name in ("here", "there")]
    for root in roots:
        without = shutil.ignore_patterns("conventions", "__pycache__", "*.py")
        shutil.copytree(EXAMPLES, root, ignore=without)
        (root / ".git").mkdir()
    names = ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA")
    env = {**os.environ, **dict.fromkeys(names, str(folder)), "PYTHONPATH": str(ROOT), "LOGNAME": "ada"}
    words = [sys.executable, "-m", "tests.systems.simulation", request.param, *map(str, roots)]
    done = subprocess.run(
        words,
        input=json.dumps(COMMANDS),
        env=env,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    for name in ("expected", "answers"):
        text = json.dumps(answer[name]).replace("/there/", "/here/")
        answer[name] = json.loads(_MOMENTS.sub("-", text))
    return answer


def test_every_module_is_imported(said: dict[str, Any]) -> None:
    assert said["faults"] == []
    assert said["modules"] == sum(1 for _ in module_names()) - len(LINUX_ALONE) > 350


def test_commands_read_and_write_as_they_do_here(said: dict[str, Any]) -> None:
    for words, expected, answer in zip(COMMANDS, said["expected"], said["answers"], strict=True):
        assert answer == expected, words
    codes = [code for code, _ in said["answers"]]
    assert codes == [0, 0, 0, 1, 0, 3, 0, 0]
