"""What was done without the fleet is told by the server at the next contact, with no act of anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.fleet import connection
from phasekeeper.server.hub import fleet_reconciler
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.store.claims import FleetConflict

from tests.server.fleet.machines import Machines
from tests.server.hub.test_fleet_answers import until
from tests.server.workspace.test_fleet_claims import RUN, Clones

_LOOK_S = 0.02


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clones]:
    monkeypatch.setattr(fleet_reconciler, "_AGAIN_S", _LOOK_S)
    monkeypatch.setattr(connection, "_AGAIN_S", _LOOK_S)
    machines = Machines(tmp_path / "machines", "ann", "bob")
    yield Clones(machines, tmp_path)
    machines.stop()


def serve_bob(clones: Clones, then: Callable[[], Any]) -> None:
    """Run bob's server without the fleet, then with it, until that is so."""

    async def scene() -> None:
        with clones.machines.on("bob"):
            hub = Hub(asyncio.get_running_loop())
            await hub.engine.open(clones.root("bob"))
            await hub._fleet.wait_for_memberships()
        await asyncio.to_thread(clones.machines.start)
        with clones.machines.on("bob"):
            await until(then)
        await hub.stop()

    asyncio.run(scene())


def is_reconciled(clones: Clones, *tasks: str) -> bool:
    lines = clones.lines("bob", "claims.jsonl")
    return {each["task"] for each in lines if each["kind"] == "reconciled"} == {*tasks}


def test_claims_and_reports_of_meanwhile_are_known_to_others(clones: Clones) -> None:
    clones.machines.stop()
    clones.report("bob", "f-01", clones.claim("bob", "f-01"))
    clones.claim("bob", "f-02")
    serve_bob(clones, lambda: is_reconciled(clones, "f-01", "f-02"))
    with pytest.raises(FleetConflict, match="f-01 was reported ok by bob on bob"):
        clones.claim("ann", "f-01")
    with pytest.raises(FleetConflict, match="f-02 is claimed by bob"):
        clones.claim("ann", "f-02")
    assert clones.questions("bob") == []


def test_a_task_that_another_machine_took_meanwhile_is_put_to_a_person(clones: Clones) -> None:
    clones.machines.stop()
    clones.claim("bob", "f-01")
    clones.machines.start()
    clones.claim("ann", "f-01")
    clones.machines.stop()
    serve_bob(clones, lambda: clones.questions("bob"))
    (asked,) = clones.questions("bob")
    assert "f-01 is claimed by bob here while the fleet was out of reach" in asked
    assert "meanwhile f-01 is claimed by ann on ann" in asked


def test_what_is_noted_after_a_run_has_changed_is_seen(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write gives the fleet up seconds after its record was seen; the note then changes no run."""
    monkeypatch.setattr(fleet_reconciler, "_NOTED_S", _LOOK_S)
    looks = list[str]()

    def look(root: Path, home: str) -> bool:
        looks.append(home)
        return False

    monkeypatch.setattr(fleet_reconciler, "has_unfenced_work", look)
    clones.machines.stop()
    serve_bob(clones, lambda: looks == [RUN, RUN])
