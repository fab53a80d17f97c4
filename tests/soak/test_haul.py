"""A short haul of clients that write and are killed; `make soak ARGS="haul --minutes 120"` has a long one."""

from __future__ import annotations

import sys

import pytest

from tests.soak.faults import possible
from tests.soak.haul import hauls
from tests.soak.model import Answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are killed and looked at in /proc")


def test_what_is_acknowledged_stands_once_whichever_client_or_server_is_killed():
    with hauls(seed=1, writes=20, server_rounds=1) as haul:
        haul.round()
        haul.round()
        assert haul.failures() == []
        assert haul.world.kills > 1 and haul.history.answers[Answer.ACKNOWLEDGED] >= 40


def test_what_was_acknowledged_before_and_during_each_fault_stands_once_after_it():
    with hauls(seed=1, writes=0) as haul:
        haul.faults.calls_at_once = 5
        for fault in possible():
            haul.round(fault)
            assert haul.failures() == [], fault
        refused = haul.history.answers[Answer.REFUSED]
        assert refused >= 2, "the disk was full"
