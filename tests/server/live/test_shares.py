"""No root takes the engine's thread or the server's memory from the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from phasekeeper.server import memory
from phasekeeper.server.live import open_root, worker
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.live.open_root import TimeShare
from phasekeeper.server.workspace.roots import UsageError

from tests.server.mcp.rig import async_test

RUN = ".ai-tools-chain/tasks/T1"


def make_root(folder: Path) -> Path:
    (folder / RUN).mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / RUN / "state.json").write_text('{"phase": "planning"}')
    return folder.resolve()


def test_a_long_part_is_followed_by_a_rest_and_a_short_one_by_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_root, "monotonic", lambda: 100.0)
    share = TimeShare()
    share.note(open_root.PART_S / 2)
    assert not share.is_resting(100.0) and share.findings() == ()
    share.note(1.0)
    assert share.is_resting(103.9) and not share.is_resting(104.1)
    share.note(1000.0)
    assert not share.is_resting(100.0 + open_root.MOST_REST_S)
    assert [each.code for each in share.findings()] == ["root-slow"]


@async_test
async def test_a_root_that_takes_long_says_so_and_is_answered_behind_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = [make_root(tmp_path / name) for name in "ab"]
    # Every part is a long one.
    monkeypatch.setattr(open_root, "PART_S", -1.0)
    monkeypatch.setattr(open_root, "SLOW_S", -1.0)
    monkeypatch.setattr(open_root, "MOST_REST_S", 0.05)
    monkeypatch.setattr(open_root, "REST", 1_000_000)
    engine = Engine(asyncio.get_running_loop(), watch=False)
    try:
        for root in roots:
            await engine.open(root)
        for root in roots:
            (root / RUN / "state.json").write_text('{"phase": "codegen"}')
            # Asked while it rests: the answer is no older than the question.
            await engine.look_again(root, RUN)
            board = engine.board(root)
            assert board.runs[RUN].current_phase == "codegen"
            assert [each.code for each in board.findings[""]] == ["root-slow"]
    finally:
        await engine.stop()


@async_test
async def test_a_server_that_holds_too_much_refuses_further_roots_and_answers_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (make_root(tmp_path / name) for name in "abc")
    engine = Engine(asyncio.get_running_loop(), watch=False)
    try:
        await engine.open(first)
        monkeypatch.setenv(memory.VARIABLE, "1")
        with pytest.raises(UsageError, match=r"the server holds \d+ MB, and at most 1 are allowed"):
            await engine.open(second)
        # One that grows too large while it is looked at for the first time is given up.
        monkeypatch.delenv(memory.VARIABLE)
        measured = iter([0])
        monkeypatch.setattr(memory, "resident_bytes", lambda: next(measured, 1 << 40))
        monkeypatch.setattr(worker, "MEMORY_CHECK_S", 0.0)
        with pytest.raises(UsageError, match=f"{third} is not opened: the server holds"):
            await engine.open(third)
        (first / RUN / "state.json").write_text('{"phase": "codegen"}')
        await engine.look_again(first, RUN)
        assert engine.board(first).runs[RUN].current_phase == "codegen"
    finally:
        await engine.stop()


def test_a_limit_that_is_no_number_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "much")
    assert memory.limit_bytes() == memory.MEMORY_MB << 20
    assert 0 < memory.resident_bytes() < 1 << 40
