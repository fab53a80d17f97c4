"""What an assistant is handed out where another machine has some of the tasks: a real server between both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.workspace import apply, fleet_claims
from phasekeeper.server.workspace.workspace import Workspace

from tests.server.fleet.machines import PROJECT, Machines
from tests.server.mcp.rig import async_test, call, rig, text
from tests.server.workspace.test_apply import planned_root

RUN = "work/one"


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path / "machines", "ann", "bob")
    yield machines
    machines.stop()


def clone(folder: Path) -> Path:
    root = planned_root(folder, f"workflows: {{'work/*': planned}}\nfleet: {{project: {PROJECT}}}\n")
    (root / ".git").mkdir()
    return root


def claim(machines: Machines, root: Path, task: str) -> None:
    with machines.on("ann"):
        apply.claim(Workspace(root), RUN, task, "ann", 600, "")


@async_test
async def test_a_task_of_another_machine_is_named_with_who_has_it_and_not_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: Machines
) -> None:
    monkeypatch.setattr(fleet_claims, "_LOOK_S", 30.0)
    anns, bobs = clone(tmp_path / "ann"), clone(tmp_path / "bob")

    def tasks(data: dict[str, Any]) -> list[str]:
        return [each["id"] for each in data.get("tasks", ())]

    with machines.on("bob"):
        async with rig() as r, r.client(bobs) as client:
            free = await call(client, "next_step")
            assert (tasks(free), "heldElsewhere" in free) == (["f-01", "f-02"], False)
            await asyncio.to_thread(claim, machines, anns, "f-01")
            data = await call(client, "next_step")
            assert (tasks(data), data["heldElsewhere"]["total"]) == (["f-02"], 1)
            (held,) = data["heldElsewhere"]["tasks"]
            assert (held["task"], held["actor"], held["machine"]) == ("f-01", "ann", "ann")
            assert 'f-01 is "held by ann on machine ann until' in await text(client, "next_step")
            # It is counted as before: nothing of the run has changed.
            assert (data["revision"], data["done"]) == (free["revision"], free["done"])
            await asyncio.to_thread(claim, machines, anns, "f-02")
            data = await call(client, "next_step")
            assert (tasks(data), data["heldElsewhere"]["total"]) == ([], 2)
            assert any(words.startswith("others have every task") for words in data["words"])
            machines.stop()
            assert tasks(await call(client, "next_step")) == ["f-01", "f-02"]
