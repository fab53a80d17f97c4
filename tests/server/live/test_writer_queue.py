"""Writers of one run are served in the order in which they came, whichever front end they came by."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server import writer_queue
from phasekeeper.server.workspace.apply import StoreError
from phasekeeper.server.writer_queue import WriterQueue

from tests.roots import TASKS, task
from tests.server.lsp.client import client_of
from tests.server.mcp.rig import call, rig

RUN = f"{TASKS}/T1"
BOUND_S = 60


@pytest.fixture
def work(root: Path, tmp_path_factory, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    task(root, "T1")
    return root


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), BOUND_S))


async def settled() -> None:
    """All that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_of_eight_writers_each_has_its_turn_in_order_and_alone(root):
    async def test() -> None:
        queue, order, at_work = WriterQueue(StoreError), [], 0

        async def write(number: int) -> None:
            nonlocal at_work
            async with queue.turn(root, RUN):
                at_work += 1
                assert at_work == 1
                order.append(number)
                await settled()
                at_work -= 1

        # Those who come again have those before them who came meanwhile.
        await asyncio.gather(*(write(number) for number in range(8)), *(write(number) for number in range(8)))
        assert order == [*range(8), *range(8)]

    run(test)


def test_another_run_is_not_waited_for(root):
    async def test() -> None:
        queue = WriterQueue(StoreError)
        async with queue.turn(root, RUN), queue.turn(root, "other"), queue.turn(root / "other", RUN):
            pass

    run(test)


def test_whoever_is_cancelled_while_waiting_or_fails_keeps_nobody_waiting(root):
    async def test() -> None:
        queue, done = WriterQueue(StoreError), []

        async def write(number: int) -> None:
            async with queue.turn(root, RUN):
                done.append(number)
                raise ValueError("it fails")

        async with queue.turn(root, RUN):
            waiting = [asyncio.ensure_future(write(number)) for number in range(3)]
            await settled()
            waiting[1].cancel()
            await settled()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert done == [0, 2]

    run(test)


def test_a_turn_that_does_not_come_is_told_in_time(root, monkeypatch):
    monkeypatch.setattr(writer_queue, "QUEUE_S", 0.01)

    async def test() -> None:
        queue = WriterQueue(StoreError)
        async with queue.turn(root, RUN):
            with pytest.raises(StoreError, match=r"T1 is being written by others .* nothing was changed"):
                async with queue.turn(root, RUN):
                    pytest.fail("two had it at once")
        async with queue.turn(root, RUN):
            pass

    run(test)


def test_a_run_that_nobody_writes_any_more_is_not_remembered(root):
    async def test() -> None:
        queue = WriterQueue(StoreError)
        for number in range(100):
            async with queue.turn(root, str(number)):
                pass
        gc.collect()
        assert not queue._locks

    run(test)


def test_acts_are_recorded_in_the_order_in_which_they_were_asked_for(work):
    async def test() -> None:
        async with rig() as r:
            await r.engine.open(work)
            wanted = [Command("redo", step="planning", why=str(number), actor="ann") for number in range(16)]
            await asyncio.gather(*(r.engine.act(work, RUN, each) for each in wanted))
        journal = (work / RUN / ".phasekeeper/journal.jsonl").read_text().splitlines()
        assert [json.loads(line)["why"] for line in journal] == [each.why for each in wanted]

    run(test)


def test_writers_that_wait_for_one_run_hold_no_thread_of_the_others(work):
    task(work, "T2")

    async def test() -> None:
        async with rig() as r:
            await r.engine.open(work)
            go_on = threading.Event()
            first = asyncio.ensure_future(r.engine.write(work, RUN, go_on.wait, BOUND_S))
            redo = Command("redo", step="planning", why="again", actor="ann")
            # More than there are threads for writers.
            behind = [asyncio.ensure_future(r.engine.act(work, RUN, redo)) for _ in range(100)]
            await settled()
            done = await r.engine.act(work, f"{TASKS}/T2", redo)
            assert done.commit.records
            assert not any(each.done() for each in (first, *behind))
            for each in behind:
                each.cancel()
            go_on.set()
            await asyncio.gather(first, *behind, return_exceptions=True)

    run(test)


def test_an_editor_and_an_assistant_wait_in_one_queue(work):
    redo = {"root": str(work), "run": RUN, "phase": "planning", "reason": "again"}

    async def test() -> None:
        async with rig() as r, client_of(r.engine) as editor, r.client(work, "auto") as assistant:
            await editor.initialize(work, trusted=True)
            await editor.ready(work)
            await call(assistant, "status")
            async with r.engine._writers.turn(work, RUN):
                asked = [
                    editor.ask("phasekeeper/redo", redo),
                    asyncio.ensure_future(
                        call(assistant, "escalations", run=RUN, ask="who pays?", agent="bob")
                    ),
                    editor.ask("phasekeeper/redo", redo | {"reason": "once more"}),
                ]
                # Answered after those: they are waiting, not on their way.
                await editor.request("phasekeeper/board", {})
                await call(assistant, "status")
                assert not any(each.done() for each in asked)
            await asyncio.gather(*asked)
        journal = (work / RUN / ".phasekeeper/journal.jsonl").read_text().splitlines()
        kinds = [json.loads(line)["kind"] for line in journal]
        assert (kinds.count("transition"), kinds.count("question")) == (2, 1)

    run(test)
