"""Checks in a process of their own: each once, ended when nobody waits any more, and with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.checks.check_process import CheckRunError, CheckRuns, event_words, run_checks

from tests.server.checks.conftest import CheckedRoot

LIMIT_S = 120
FOREVER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def in_loop(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, LIMIT_S))


class Heard:
    """The events of a run; `pid` is the number that the check prints."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        for line in event.get("lines", ()):
            if line.isdecimal() and not self.pid.done():
                self.pid.set_result(int(line))


def test_what_came_of_each_check_is_told_with_its_events(checked: CheckedRoot) -> None:
    checked.script("print('fine')")

    async def work() -> None:
        heard = Heard()
        [outcome] = await run_checks(checked.path, ["c"], heard)
        assert (outcome["result"], outcome["ran"], outcome["tail"]) == ("passed", True, ["fine"])
        words = [text for event in heard.events if (text := event_words(event))]
        assert words == ["c: running", "c: fine", "c: passed, it passed"]
        [outcome] = await run_checks(checked.path, ["c"], heard)
        assert outcome["ran"] is False
        [outcome] = await run_checks(checked.path, ["c"], heard, again=True)
        assert outcome["ran"] is True

    in_loop(work())


def test_a_run_is_shared_outlives_a_limit_and_ends_with_the_last_who_waits(
    checked: CheckedRoot, is_alive: Callable[[int], bool]
) -> None:
    checked.script(FOREVER)

    async def work() -> None:
        runs, heard = CheckRuns(), Heard()
        one, two = (asyncio.create_task(runs.run(checked.path, ["c"], heard)) for _ in range(2))
        pid = await heard.pid
        assert await runs.run(checked.path, ["c"], heard, limit_s=0) is None
        one.cancel()
        assert await asyncio.wait({one}) == ({one}, set())
        assert is_alive(pid)
        two.cancel()
        await asyncio.wait({two})
        await runs.close()
        assert not is_alive(pid)

    in_loop(work())
    state = checked.state()
    assert (state.result, state.reason) == ("failed", "it was ended before it was over")
    checked.script("print('fine')")
    assert checked.verify()[0].ran


def test_a_check_that_was_stopped_runs_when_it_is_asked_for_again(checked: CheckedRoot) -> None:
    checked.script(
        "import pathlib, time; pathlib.Path('go').exists() or print(1, flush=True) or time.sleep(600)"
    )

    async def work() -> None:
        runs, heard = CheckRuns(), Heard()
        running = asyncio.create_task(runs.run(checked.path, ["c"], heard))
        await heard.pid
        running.cancel()
        await asyncio.wait({running})
        await runs.close()

    checked.declare(
        (checked.path / ".phasekeeper/config.yaml").read_text().replace("run:", "inputs: [src/**], run:")
    )
    checked.trust()
    in_loop(work())
    assert checked.state().is_fresh
    (checked.path / "go").write_text("")
    assert checked.verify()[0].state.result == "passed"


def test_why_nothing_can_be_run_is_said_in_a_sentence(checked: CheckedRoot, tmp_path: Path) -> None:
    checked.script("print('fine')")
    with pytest.raises(CheckRunError, match="there is no check 'd'"):
        in_loop(_run(checked.path, "d"))
    with pytest.raises(CheckRunError, match="no check can be run: no such file or directory"):
        in_loop(_run(tmp_path / "gone", "c"))


async def _run(root: Path, check: str) -> None:
    await run_checks(root, [check], lambda event: None)
