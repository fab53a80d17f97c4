"""A disk that is full or read-only, and missing rights: said in a sentence, and nothing is half done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.commands import ACKNOWLEDGED, Result
from tests.faults.scenario import in_memory, mount_namespace
from tests.roots import needs

DISKS = Path(__file__).with_name("disks.py")
LIMIT_S = 120
SAID = {
    "full": "the disk is full; free some space",
    "readonly": "is read-only",
    "rights": "permission denied",
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="file systems are mounted in a namespace")


@pytest.fixture
def namespace() -> list[str]:
    """What runs a program where it may mount; where the system forbids that, the test cannot be run."""
    needs("unshare")
    return mount_namespace() or pytest.skip("not run: needs a system that lets a namespace mount")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


@pytest.mark.parametrize("fault", SAID)
def test_what_cannot_be_written_is_said_and_works_once_it_can(
    place: Path, namespace: list[str], fault: str
) -> None:
    if fault == "rights" and os.geteuid() != 0:
        pytest.skip("not run: needs root, who can become somebody else")
    command = [*namespace, sys.executable, "-I", str(DISKS), str(place), fault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    struck, free = (json.loads(line) for line in done.stdout.splitlines())
    for words, result, changed in struck:
        code, _, err = Result(*result)
        last = err.strip().splitlines()[-1]
        assert (code, changed) == (1, False), (words, result)
        assert re.search(rf"(^|to confirm: )phasekeeper: .*{SAID[fault]}", last), (words, last)
    assert [Result(*result).code in ACKNOWLEDGED for _, result, _ in free] == [True] * len(free), free
