"""A short haul of clients that write and are killed; `make soak ARGS="haul --minutes 120"` has a long one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.scenario import mount_namespace
from tests.roots import needs, not_run
from tests.server.servers import BOUND_S
from tests.soak.faults import TOOLS, possible
from tests.soak.haul import WARM_ROUNDS, growth, hauls
from tests.soak.model import Answer
from tests.soak.world import Sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are killed and looked at in /proc")


def test_what_is_acknowledged_stands_once_whichever_client_or_server_is_killed():
    with hauls(seed=1, writes=20, server_rounds=1) as haul:
        haul.round()
        haul.round()
        assert haul.failures() == []
        assert haul.world.kills > 1 and haul.history.answers[Answer.ACKNOWLEDGED] >= 40


def test_what_was_acknowledged_before_and_during_each_fault_stands_once_after_it():
    for tool in TOOLS.values():
        needs(tool)
    with hauls(seed=1, writes=0) as haul:
        haul.faults.calls_at_once = 5
        for fault in possible(has_disks=False):
            haul.round(fault)
            assert haul.failures() == [], fault
        refused = haul.history.answers[Answer.REFUSED]
        assert refused >= 2, "the files could not grow"


def test_what_was_acknowledged_on_a_disk_that_fills_stands_once():
    if not mount_namespace():
        not_run("a system that lets a namespace mount")
    # The program mounts its disks where nobody else sees them.
    words = (
        sys.executable,
        "-m",
        "tests.soak",
        "haul",
        "--rounds",
        "1",
        "--writes",
        "0",
        "--fault",
        "full disk",
    )
    top = Path(__file__).parents[2]
    done = subprocess.run(words, cwd=top, capture_output=True, text=True, timeout=5 * BOUND_S, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing is wrong"), done
    assert "full disk, refused" in done.stdout, "the disk was full"


def test_a_server_that_needs_more_and_more_is_noticed_once_it_is_warm():
    cold, warm = Sample(1, 50 << 20, 8), Sample(1, 100 << 20, 14)
    flat = [cold] * (WARM_ROUNDS - 1) + [warm] * 5
    another = Sample(2, 300 << 20, 100)
    assert growth([*flat, another]) == []
    [descriptors] = growth([*flat, warm._replace(descriptors=30)])
    [memory] = growth([*flat, warm._replace(memory=140 << 20)])
    assert (descriptors, memory) == (
        "descriptors of 1: 14, then 30",
        f"memory of 1: {100 << 20}, then {140 << 20}",
    )
