"""The engine: roots on one thread, boards and changes on the loop, and acts that the board shows at once."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.live import engine as engine_module
from phasekeeper.server.live import worker as worker_module
from phasekeeper.server.live.auto_journal import AutoJournal
from phasekeeper.server.live.boards import RootBoard, RootChange
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.store.lock import run_lock
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.roots import UsageError

from tests.roots import TASKS, put, task
from tests.server.live.waiting import next_version

T1 = f"{TASKS}/T1"
LIMIT_S = 30


@asynccontextmanager
async def engine(watch: bool = False) -> AsyncIterator[Engine]:
    made = Engine(asyncio.get_running_loop(), watch=watch)
    try:
        yield made
    finally:
        await made.stop()


def going(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A coroutine as a test, ended when it takes too long."""

    def run(root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
        fixtures = {"caplog": caplog, "monkeypatch": monkeypatch}
        more = [fixtures[name] for name in inspect.signature(test).parameters if name in fixtures]
        asyncio.run(asyncio.wait_for(test(root, *more), LIMIT_S))

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


async def until(engine: Engine, root: Path, holds: Callable[[RootBoard], bool]) -> RootBoard:
    while not holds(engine.board(root)):
        await next_version(engine, root, LIMIT_S)
    return engine.board(root)


@going
async def test_a_root_that_is_opened_has_a_board(root: Path) -> None:
    task(root, "T1")
    async with engine() as e:
        assert await e.open(root / TASKS) == (root,)
        assert list(e.board(root).runs) == [T1]
        assert e.boards() == (e.board(root),)


@going
async def test_a_root_that_is_not_open_has_none(root: Path) -> None:
    async with engine() as e:
        with pytest.raises(UsageError):
            e.board(root)
        with pytest.raises(UsageError):
            await e.open(root / "gone")
        with pytest.raises(UsageError):
            await e.refresh(root, [root])


@going
async def test_projects_are_roots_of_their_own(root: Path) -> None:
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    task(root / "packages/a", "T1")
    async with engine() as e:
        assert await e.open(root) == (root, root / "packages/a")
        assert list(e.board(root / "packages/a").runs) == [T1]


@going
async def test_a_look_takes_in_what_was_saved_before_it(root: Path) -> None:
    folder = task(root, "T1")
    review, other = folder / "review/plan-review.json", folder / "next.json"
    saves: list[tuple[Callable[[], object], str]] = [
        (lambda: put(review, '{"ok": false}'), "planning"),
        # Of the same size, within one tick of the clock.
        (lambda: put(review, '{"ok":  true}'), "codegen"),
        (lambda: put(other, '{"ok": true}').replace(review), "codegen"),
    ]
    async with engine() as e:
        await e.open(root)
        for number in range(300):
            save, expected = saves[number % len(saves)]
            save()
            await e.look_again(root, T1)
            assert e.board(root).runs[T1].suggestion.suggested_next == expected


@going
async def test_a_question_about_a_file_that_may_be_half_saved_waits_until_its_grace_is_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told, ms = task(root, "T1"), list[RootChange](), [0.0]
    monkeypatch.setattr(worker_module, "CachedLiveRoot", partial(CachedLiveRoot, now_ms=lambda: ms[0]))
    review = folder / "review/plan-review.json"
    async with engine() as e:
        await e.open(root)
        e.subscribe(root, told.append)
        for save in (lambda: put(review, ""), review.unlink, lambda: put(review, '{"ok": tr')):
            save()
            asked = asyncio.ensure_future(e.look_again(root, T1))
            # Whoever does not ask about this run is answered meanwhile.
            await e.look_again(root, f"{TASKS}/none")
            assert not asked.done()
            assert e.board(root).runs[T1].suggestion.suggested_next == "codegen"
            assert not told
            ms[0] += GRACE_MS
            await e.refresh(root, [], grace=True)
            await asked
            assert e.board(root).runs[T1].suggestion.suggested_next == "plan_review"
            put(review, '{"ok": true}')
            await e.look_again(root, T1)
            told.clear()


@going
async def test_a_question_is_answered_as_soon_as_the_file_is_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = task(root, "T1"), list[RootChange]()
    monkeypatch.setattr(worker_module, "CachedLiveRoot", partial(CachedLiveRoot, now_ms=lambda: 0.0))
    review = folder / "review/plan-review.json"
    async with engine() as e:
        await e.open(root)
        e.subscribe(root, told.append)
        review.rename(folder / "kept")
        asked = [asyncio.ensure_future(e.look_again(root, run)) for run in (T1, None)]
        await e.look_again(root, f"{TASKS}/none")
        put(review, '{"ok": false}')
        await e.look_again(root, T1)
        await asyncio.gather(*asked)
        assert [change.changed[T1].suggestion.suggested_next for change in told] == ["planning"]


@going
async def test_a_root_is_open_when_the_grace_of_what_is_half_saved_is_over(root: Path) -> None:
    task(root, "T1")
    put(root / TASKS / "T2/state.json", "")
    async with engine() as e:
        await e.open(root)
        assert e.board(root).runs[f"{TASKS}/T2"].status == "invalid"


@going
async def test_what_an_editor_hears_of_a_change_is_no_word_that_it_is_done(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = task(root, "T1") / "review/plan-review.json"
    monkeypatch.setattr(worker_module, "CachedLiveRoot", partial(CachedLiveRoot, now_ms=lambda: 0.0))
    async with engine() as e:
        await e.open(root)
        before = e.board(root).version
        await e.refresh(root, [put(review, "")], grace=True)
        assert e.board(root).version == before
        await e.refresh(root, [review])
        assert e.board(root).version == before + 1


@going
async def test_a_look_at_a_run_finds_folders_and_definitions_that_came_and_went(root: Path) -> None:
    folder = task(root, "T1")
    async with engine() as e:
        await e.open(root)
        folder.rename(root / TASKS / "T2")
        await e.look_again(root, T1)
        assert list(e.board(root).runs) == []
        await e.look_again(root, f"{TASKS}/T2")
        assert list(e.board(root).runs) == [f"{TASKS}/T2"]
        put(root / ".phasekeeper/workflows/broken.yaml", "name: [")
        await e.look_again(root, f"{TASKS}/T2")
        assert ".phasekeeper/workflows/broken.yaml" in e.board(root).findings


@going
async def test_a_look_at_all_runs_finds_new_ones_and_what_was_saved_in_those_of_late(root: Path) -> None:
    task(root, "T1")
    async with engine() as e:
        await e.open(root)
        for number in range(2, 40):
            folder = task(root, f"T{number}")
            await e.look_again(root)
            put(folder / "review/plan-review.json", '{"ok": false}')
            await e.look_again(root)
            run = e.board(root).runs[f"{TASKS}/T{number}"]
            assert run.suggestion.suggested_next == "planning"


@going
async def test_a_look_tells_listeners_what_differs_and_nothing_else(root: Path) -> None:
    folder, changes = task(root, "T1"), list[RootChange]()
    async with engine() as e:
        await e.open(root)
        e.subscribe(root, changes.append)
        await e.look_again(root, T1)
        assert changes == []
        put(folder / "review/plan-review.json", '{"ok": false}')
        await e.look_again(root, T1)
        assert [list(change.changed) for change in changes] == [[T1]]


@going
async def test_a_saved_file_changes_the_board_and_is_told(root: Path) -> None:
    folder = task(root, "T1")
    async with engine(watch=True) as e:
        await e.open(root)
        heard: list[RootChange] = []
        e.subscribe(root, heard.append)
        put(folder / "review/plan-review.json", {"ok": False})
        await until(e, root, lambda board: board.runs[T1].suggestion.kind == "regress")
        assert heard[-1].changed[T1].suggestion.kind == "regress"
        assert [change.version for change in heard] == list(range(heard[0].version, heard[-1].version + 1))


@going
async def test_a_touch_is_on_the_board_when_it_returns(root: Path) -> None:
    folder = task(root, "T1")
    async with engine() as e:
        await e.open(root)
        path = put(folder / "review/plan-review.json", {"ok": False})
        await e.refresh(root, [path])
        assert e.board(root).runs[T1].suggestion.kind == "regress"


@going
async def test_an_act_is_on_the_board_when_it_returns(root: Path) -> None:
    task(root, "T1")
    async with engine() as e:
        await e.open(root)
        done = await e.act(root, T1, Command("report", step="plan_review", outcome="ok", actor="somebody"))
        assert e.board(root).runs[T1] == done.evaluation


@going
async def test_those_who_wait_for_a_run_s_lock_keep_nobody_else_waiting(root: Path) -> None:
    """More of them than there are threads for what connections and answers need."""
    task(root, "T1")
    act = Command("report", step="plan_review", outcome="ok", actor="somebody")
    async with engine() as e:
        await e.open(root)
        with run_lock(root, T1):
            waiting = [asyncio.ensure_future(e.act(root, T1, act)) for _ in range(40)]
            await asyncio.sleep(0)
            await asyncio.to_thread(int)
            assert not any(each.done() for each in waiting)
        await asyncio.wait(waiting)
        assert any(each.exception() is None for each in waiting)


def test_a_mistake_about_one_run_does_not_end_the_journalling_of_all(root: Path, monkeypatch) -> None:
    for name in ("T1", "T2"):
        task(root, name)

    def journal(_: object, run: str) -> int:
        if run == T1:
            raise RuntimeError("a mistake")
        return 1

    monkeypatch.setattr(apply, "unrecorded_reports", lambda _: True)
    monkeypatch.setattr(apply, "record_reports", journal)

    async def test() -> None:
        said: asyncio.Queue[str] = asyncio.Queue()
        async with engine() as e:
            await e.open(root)
            keeping = AutoJournal(e, said.put_nowait)
            keeping.add(root, e.board(root).runs)
            assert (await said.get()).startswith(f"the reports of {T1} could not be recorded;")
            assert await said.get() == f"1 report of {TASKS}/T2 recorded"
            await keeping.stop()

    asyncio.run(asyncio.wait_for(test(), LIMIT_S))


@going
async def test_a_run_that_is_begun_is_on_the_board(root: Path) -> None:
    async with engine() as e:
        await e.open(root)
        run, done = await e.start(root, "artifact-pipeline", "T2", "Second", "somebody")
        assert e.board(root).runs[run] == done.evaluation


@going
async def test_unsaved_text_is_judged_and_not_kept(root: Path) -> None:
    task(root, "T1")
    task(root, "T2")
    async with engine() as e:
        await e.open(root)
        before = e.board(root)
        found = await e.evaluate_unsaved(root, {f"{T1}/review/plan-review.json": '{"ok": false}'})
        assert list(found) == [T1]
        assert found[T1].suggestion.kind == "regress"
        assert found[T1].revision.endswith("+unsaved")
        assert e.board(root) is before


@going
async def test_acts_on_many_runs_at_once_are_all_on_the_board(root: Path) -> None:
    names = [f"T{number}" for number in range(6)]
    for name in names:
        task(root, name)
    async with engine() as e:
        await e.open(root)
        act = Command("report", step="plan_review", outcome="ok", actor="somebody")
        done = await asyncio.gather(*(e.act(root, f"{TASKS}/{name}", act) for name in names))
        assert [e.board(root).runs[f"{TASKS}/{name}"] for name in names] == [d.evaluation for d in done]


@going
async def test_several_who_open_a_root_share_its_first_look(root: Path) -> None:
    task(root, "T1")
    async with engine() as e:
        opened = await asyncio.gather(*(e.open(root) for _ in range(3)))
        assert opened == [(root,)] * 3
        assert e.board(root).version == 1


@going
async def test_whoever_waits_when_it_ends_is_let_go(root: Path) -> None:
    made = Engine(asyncio.get_running_loop(), watch=False)
    await made.open(root)
    await made.stop()
    with pytest.raises(asyncio.CancelledError):
        await made.refresh(root, [root])


def test_a_root_that_nobody_has_open_is_dropped_after_a_while(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(worker_module, "IDLE_S", 0.0)
    monkeypatch.setattr(worker_module, "RESCAN_S", 0.01)
    task(root, "T1")

    async def test() -> None:
        async with engine(watch=True) as e:
            await e.open(root)
            await e.open(root)
            e.close(root)
            assert e.board(root)
            e.close(root)
            gone = asyncio.Event()
            close = e._worker.on_closed

            def hidden(path: Path) -> None:
                close(path)
                gone.set()

            e._worker.on_closed = hidden
            await asyncio.wait_for(gone.wait(), LIMIT_S)
            assert e.boards() == ()
            await e.open(root)
            assert list(e.board(root).runs) == [T1]

    asyncio.run(test())


@going
async def test_somebody_who_fails_when_told_keeps_nobody_else_from_it(root: Path, caplog) -> None:
    folder = task(root, "T1")
    async with engine() as e:
        await e.open(root)
        heard: list[RootChange] = []

        def failing(change: RootChange) -> None:
            raise RuntimeError("a mistake of a front end")

        e.subscribe(root, failing)
        end = e.subscribe(root, heard.append)
        path = put(folder / "review/plan-review.json", {"ok": False})
        await e.refresh(root, [path])
        assert len(heard) == 1
        end()
        path.write_text('{"ok": true}')
        await e.refresh(root, [path])
        assert len(heard) == 1
        assert e.board(root).conditions == (engine_module._BEHIND,)
    assert [record.getMessage() for record in caplog.records] == [f"somebody who was told of {root} failed"]
    assert "a mistake of a front end" in caplog.text


def test_what_fails_on_the_thread_is_logged_once_and_told_until_all_was_looked_at_again(
    root: Path, monkeypatch, caplog
) -> None:
    monkeypatch.setattr(worker_module, "POLL_S", 0.01)
    task(root, "T1")

    def failing() -> None:
        raise RuntimeError("a mistake of ours")

    async def test() -> None:
        async with engine() as e:
            await e.open(root)
            told: list[RootBoard] = []
            well = asyncio.Event()
            publish = e._worker.on_board

            def shown(board: RootBoard, change: RootChange | None) -> None:
                publish(board, change)
                told.append(board)
                if len(told) > 1 and not board.conditions:
                    well.set()

            e._worker.on_board = shown
            both_wait = threading.Event()
            for job in (both_wait.wait, failing, failing):
                e._worker.do(job)
            both_wait.set()
            await asyncio.wait_for(well.wait(), LIMIT_S)
            assert told[0].conditions == (worker_module._FAILED,)
            assert e.board(root).conditions == ()

    asyncio.run(test())
    assert [record.getMessage() for record in caplog.records] == ["the engine could not do something"]
    assert "a mistake of ours" in caplog.text
