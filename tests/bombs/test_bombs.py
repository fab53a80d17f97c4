"""Workspaces that ask for too much get a finding or a sentence, in bounded memory and without a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bombs.bombs import BOMBS, FINDINGS
from tests.faults.scenario import in_memory
from tests.server.servers import answer, frame, homes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited and measured as Linux does"
)

MOST_RESIDENT_KB = 1 << 20
ADDRESS_SPACE = 3 << 30
"""Bytes: what maps more is refused it, so that a fault ends its process and not the machine."""
CPU_S = 60
"""A process that takes longer is ended by the system, however busy the machine is."""
MOST_PRINTED = 1 << 20
LONG_CPU_S = 2
"""What took longer is looked at by one command only: the other would do the same work again."""


class Ended(NamedTuple):
    code: int
    output: str
    resident_kb: int
    cpu_s: float


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """An empty repository, in memory where that can be: some bombs are large."""
    path = Path(tempfile.mkdtemp(dir=in_memory(tmp_path))).resolve()
    (path / ".git").mkdir()
    yield path
    # Python's own removal recurses, and folders are too deep for that.
    subprocess.run(["rm", "-rf", path], check=True)


def limit() -> None:
    """Limits of the process that calls it."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


def run(command: str, root: Path, home: Path) -> Ended:
    """One command of the real command line over a root, under the limits."""
    places = ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
    env = {**os.environ, **dict.fromkeys(places, str(home)), "COLUMNS": "200"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "phasekeeper", command, str(root)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=root, env=env, preexec_fn=limit,
        )  # fmt: skip
        # Its own usage: that of all children would be the largest of any test before.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Ended(
            process.returncode, output.read().decode(), usage.ru_maxrss, usage.ru_utime + usage.ru_stime
        )


def test_every_bomb_has_an_expectation() -> None:
    assert FINDINGS.keys() == BOMBS.keys()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_answered_in_bounded_memory(name: str, root: Path, tmp_path: Path) -> None:
    BOMBS[name](root)
    # One of the other two each: they look at less.
    for command in ("check", ("status", "next")[len(name) % 2]):
        ended = run(command, root, tmp_path)
        said = ended.output[:2_000]
        assert ended.code in (0, 1, 2, 3), f"{command} ended with {ended.code}: {said}"
        assert "Traceback" not in ended.output
        assert ended.resident_kb <= MOST_RESIDENT_KB
        assert 0 < len(ended.output) <= MOST_PRINTED
        if command == "check":
            assert re.search(FINDINGS[name], ended.output), said
        if ended.cpu_s > LONG_CPU_S:
            break


SERVED = (
    "every-run-uses-its-budget", "plans-just-within-bounds", "runs-of-many-values", "many-large-definitions",
    "a-journal-of-200-megabytes", "circles-of-links", "lists-that-multiply",
)  # fmt: skip


def test_a_server_with_bombs_answers_for_another_root_in_bounded_memory(root: Path) -> None:
    healthy = root / "healthy"
    (healthy / ".git").mkdir(parents=True)
    (healthy / ".ai-tools-chain/tasks/T1").mkdir(parents=True)
    (healthy / ".ai-tools-chain/tasks/T1/state.json").write_text('{"phase": "planning"}')
    for name in SERVED:
        (root / name / ".git").mkdir(parents=True)
        BOMBS[name](root / name)
    with homes(240) as home:
        server = home.start("lsp", "--standalone")
        folders = [{"uri": (root / name).as_uri(), "name": name} for name in (*SERVED, "healthy")]
        params = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": {}}
        server.stdin.write(frame(id=1, method="initialize", params=params))
        server.stdin.write(frame(method="initialized", params={}))
        server.stdin.flush()
        assert "result" in answer(server.stdout, 1)
        states: dict[str, list[dict[str, str]]] = {}
        number = 1
        # A request waits for the roots that are being opened, some seconds at most.
        while "healthy" not in states:
            number += 1
            server.stdin.write(frame(id=number, method="phasekeeper/board", params={}))
            server.stdin.flush()
            board = answer(server.stdout, number)["result"]
            states = {Path(each["root"]).name: each["runs"] for each in board["roots"]}
        assert [each["currentPhase"] for each in states["healthy"]] == ["planning"]
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert int(re.findall(r"VmHWM:\s+([0-9]+) kB", status)[0]) <= MOST_RESIDENT_KB
        assert server.poll() is None
