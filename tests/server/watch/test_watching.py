"""Boards follow what happens on the disk, told by the system alone."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.server.live import worker as worker_module
from phasekeeper.server.live.boards import RootBoard
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.watch import watcher
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, put, task
from tests.server.live.changes import Changes, changes
from tests.server.live.waiting import next_version

T1, T2 = f"{TASKS}/T1", f"{TASKS}/T2"
LIMIT_S = 30


@asynccontextmanager
async def watching(root: Path) -> AsyncIterator[Engine]:
    engine = Engine(asyncio.get_running_loop())
    try:
        await engine.open(root)
        yield engine
    finally:
        await engine.stop()


async def until(engine: Engine, root: Path, holds: Callable[[RootBoard], bool]) -> None:
    while not holds(board := engine.board(root)):
        assert await next_version(engine, root, LIMIT_S) != board.version, "nothing was heard"


def going(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    def run(root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        asyncio.run(test(root, monkeypatch))

    run.__name__ = test.__name__
    return run


def kind(run: str, wanted: str) -> Callable[[RootBoard], bool]:
    return lambda board: run in board.runs and board.runs[run].suggestion.kind == wanted


@going
async def test_a_folder_that_is_made_and_filled_at_once_is_a_run(root, _) -> None:
    async with watching(root) as engine:
        task(root, "T1")
        await until(engine, root, kind(T1, "advance"))
        put(root / T1 / "review/plan-review.json", {"ok": False})
        await until(engine, root, kind(T1, "regress"))


@going
async def test_a_renamed_run_is_one_run_under_its_new_name(root, _) -> None:
    folder = task(root, "T1")
    async with watching(root) as engine:
        folder.rename(root / T2)
        await until(engine, root, lambda board: list(board.runs) == [T2])
        put(root / T2 / "review/plan-review.json", {"ok": False})
        await until(engine, root, kind(T2, "regress"))


@going
async def test_the_projects_of_a_root_are_those_that_its_configuration_names_now(root, _) -> None:
    config = put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")

    def named(*folders: str) -> Callable[[RootBoard], bool]:
        return lambda board: board.projects == tuple(root / folder for folder in folders)

    async with watching(root) as engine:
        assert named()(engine.board(root))
        (root / "packages/b").mkdir(parents=True)
        await until(engine, root, named("packages/b"))
        (root / "packages/a").mkdir()
        await until(engine, root, named("packages/a", "packages/b"))
        (root / "packages/b").rmdir()
        await until(engine, root, named("packages/a"))
        put(config, "projects: [tools]\n")
        await until(engine, root, named())
        (root / "tools").mkdir()
        await until(engine, root, named("tools"))
        config.unlink()
        await until(engine, root, named())


@going
async def test_what_is_written_through_a_link_is_seen(root, _) -> None:
    task(root, "T1")
    (root / "work").mkdir()
    (root / T1).rename(root / "work/T1")
    (root / T1).symlink_to(root / "work/T1")
    async with watching(root) as engine:
        assert list(engine.board(root).runs) == [T1]
        put(root / T1 / "review/plan-review.json", {"ok": False})
        await until(engine, root, kind(T1, "regress"))
        put(root / "work/T1/review/plan-review.json", {"ok": True})
        await until(engine, root, kind(T1, "advance"))


@going
async def test_a_root_that_goes_and_comes_again_is_followed(root, _) -> None:
    task(root, "T1")
    async with watching(root) as engine:
        shutil.rmtree(root)
        await until(engine, root, lambda board: not board.runs)
        task(root, "T2", ok=False)
        await until(engine, root, kind(T2, "regress"))
        put(root / T2 / "review/plan-review.json", {"ok": True})
        await until(engine, root, kind(T2, "advance"))


@going
async def test_a_root_that_is_moved_away_has_no_runs_until_it_is_back(root, _) -> None:
    task(root, "T1")
    away = root.with_name("away")
    async with watching(root) as engine:
        root.rename(away)
        await until(engine, root, lambda board: not board.runs)
        put(away / T1 / "review/plan-review.json", {"ok": False})
        away.rename(root)
        await until(engine, root, kind(T1, "regress"))
        put(root / T1 / "review/plan-review.json", {"ok": True})
        await until(engine, root, kind(T1, "advance"))


@going
async def test_the_folder_of_all_runs_may_go_and_come_again(root, _) -> None:
    task(root, "T1")
    async with watching(root) as engine:
        shutil.rmtree(root / ".ai-tools-chain")
        await until(engine, root, lambda board: not board.runs)
        task(root, "T1", ok=False)
        await until(engine, root, kind(T1, "regress"))
        put(root / T1 / "review/plan-review.json", {"ok": True})
        await until(engine, root, kind(T1, "advance"))


@going
async def test_a_run_that_is_made_before_the_new_folder_around_it_is_watched_is_watched_too(
    root, monkeypatch
) -> None:
    around = root / ".ai-tools-chain"
    watch = watcher.Watcher.watch

    def fill_before_it_is_watched(
        self: watcher.Watcher, of: Path, folders: Mapping[Path, bool]
    ) -> Mapping[Path, bool]:
        if around in folders and not (root / T1).exists():
            task(root, "T1", ok=False)
        return watch(self, of, folders)

    monkeypatch.setattr(watcher.Watcher, "watch", fill_before_it_is_watched)
    async with watching(root) as engine:
        around.mkdir()
        await until(engine, root, kind(T1, "regress"))
        put(root / T1 / "review/plan-review.json", {"ok": True})
        await until(engine, root, kind(T1, "advance"))


@going
async def test_a_definition_and_a_configuration_are_read_again_when_they_are_saved(root, _) -> None:
    put(root / "own/T1/state.json", {"phase": "planning"})
    async with watching(root) as engine:
        text = "extend: artifact-pipeline\nworkflow: mine\nruns: {at: [own/*], marker: {file: state.json}}\n"
        path = put(root / ".phasekeeper/workflows/mine.yaml", text)
        await until(engine, root, lambda board: "own/T1" in board.runs)
        path.write_text("workflow: mine\nruns: {at: [")
        await until(engine, root, lambda board: ".phasekeeper/workflows/mine.yaml" in board.findings)
        assert not engine.board(root).runs
        path.write_text(text)
        await until(engine, root, lambda board: "own/T1" in board.runs and not board.findings)
        put(root / ".phasekeeper/config.yaml", "nothing: 1\n")
        await until(engine, root, lambda board: ".phasekeeper/config.yaml" in board.findings)


@going
async def test_lost_events_make_it_look_everywhere(root, monkeypatch) -> None:
    folder = task(root, "T1")
    monkeypatch.setattr(watcher.Watcher, "on_any_event", lambda self, event: None)
    async with watching(root) as engine:
        put(folder / "review/plan-review.json", {"ok": False})
        logging.getLogger("watchdog.observers.inotify_c").warning(
            "Inotify queue overflowed; events were lost"
        )
        await until(engine, root, kind(T1, "regress"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_without_room_for_watches_folders_are_looked_at_and_that_is_told(root, monkeypatch, code) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(code, "no more")

    monkeypatch.setattr(watcher.Observer, "schedule", refuse)
    monkeypatch.setattr(worker_module, "POLL_S", 0.01)
    folder = task(root, "T1")

    async def test() -> None:
        async with watching(root) as engine:
            assert "looked at every few seconds" in engine.board(root).conditions[0]
            put(folder / "review/plan-review.json", {"ok": False})
            await until(engine, root, kind(T1, "regress"))

    asyncio.run(test())


def test_a_root_that_cannot_be_judged_is_told_and_takes_no_other_down(root, monkeypatch, caplog) -> None:
    task(root, "T1")
    task(root, "T2")
    real = worker_module.CachedLiveRoot._examine

    def failing(self, run, below):
        if run == T1 and (root / T1 / "fails").exists():
            raise RuntimeError("a mistake of ours")
        return real(self, run, below)

    monkeypatch.setattr(worker_module.CachedLiveRoot, "_examine", failing)

    async def test() -> None:
        async with watching(root) as engine:
            put(root / T1 / "fails", "")
            for name in ("T1", "T2"):
                put(root / TASKS / name / "review/plan-review.json", {"ok": False})
            await until(engine, root, kind(T2, "regress"))
            await engine.refresh(root, [root / T1 / "review/plan-review.json"])
            assert "could not be judged" in engine.board(root).conditions[0]
            assert kind(T1, "advance")(engine.board(root))

    asyncio.run(test())
    assert len([record for record in caplog.records if "could not be looked at" in record.message]) == 1


def test_a_run_that_fails_in_the_first_look_keeps_no_other_from_the_board_and_is_tried_again(
    root, monkeypatch
) -> None:
    task(root, "T1")
    task(root, "T2")
    fails = [True]
    real = worker_module.CachedLiveRoot._examine

    def failing(self, run, below):
        if run == T1 and fails[0]:
            raise RuntimeError("a mistake of ours")
        return real(self, run, below)

    monkeypatch.setattr(worker_module.CachedLiveRoot, "_examine", failing)
    monkeypatch.setattr(worker_module, "RESCAN_S", 0.01)

    async def test() -> None:
        async with watching(root) as engine:
            assert list(engine.board(root).runs) == [T2]
            assert "could not be judged" in engine.board(root).conditions[0]
            fails[0] = False
            await until(engine, root, lambda board: T1 in board.runs)
            assert engine.board(root).conditions == ()

    asyncio.run(test())


def test_hints_that_are_lost_by_a_mistake_are_made_good_by_a_look_at_all(root, monkeypatch) -> None:
    folder = task(root, "T1")
    take = watcher.Watcher.take
    left = [1]

    def failing(self) -> tuple[set[str], bool]:
        hints = take(self)
        if left[0]:
            left[0] -= 1
            raise RuntimeError("a mistake of ours")
        return hints

    monkeypatch.setattr(watcher.Watcher, "take", failing)
    monkeypatch.setattr(worker_module, "POLL_S", 0.01)

    async def test() -> None:
        async with watching(root) as engine:
            put(folder / "review/plan-review.json", {"ok": False})
            await until(engine, root, kind(T1, "regress"))
        assert left == [0]

    asyncio.run(test())


@pytest.mark.parametrize("failing", ["check", "watch", "__init__"])
def test_while_the_watcher_fails_folders_are_looked_at_and_that_is_told(root, monkeypatch, failing) -> None:
    real = getattr(watcher.Watcher, failing)
    fails = [True]

    def fail(self, *arguments: object) -> object:
        if fails[0]:
            raise RuntimeError("a mistake of the watcher")
        return real(self, *arguments)

    heard = watcher.Watcher.on_any_event

    def deaf(self, event: Any) -> None:
        if not fails[0]:
            heard(self, event)

    monkeypatch.setattr(watcher.Watcher, failing, fail)
    monkeypatch.setattr(watcher.Watcher, "on_any_event", deaf)
    monkeypatch.setattr(worker_module, "POLL_S", 0.01)
    folder = task(root, "T1")

    async def test() -> None:
        async with watching(root) as engine:
            well = asyncio.Event()
            publish = engine._worker.on_board

            def shown(board: RootBoard, change: Any) -> None:
                publish(board, change)
                if not board.conditions:
                    well.set()

            engine._worker.on_board = shown
            put(folder / "review/plan-review.json", {"ok": False})
            await until(engine, root, kind(T1, "regress"))
            assert "looked at every few seconds" in engine.board(root).conditions[0]
            fails[0] = False
            await asyncio.wait_for(well.wait(), LIMIT_S)
            put(folder / "review/plan-review.json", {"ok": True})
            await until(engine, root, kind(T1, "advance"))

    asyncio.run(test())


@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.function_scoped_fixture),
)
@given(st.lists(changes(), min_size=10, max_size=14))
def test_after_any_changes_the_board_comes_to_what_a_first_look_says(tmp_path_factory, done) -> None:
    root = tmp_path_factory.mktemp("root").resolve()

    async def test() -> None:
        made = Changes(root)
        async with watching(root) as engine:
            for name, arguments in done:
                getattr(made, name)(*arguments)
            await until(engine, root, lambda board: board.runs == cold(root))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        asyncio.run(test())


def cold(root: Path) -> dict[str, Any]:
    workspace = Workspace(root)
    return {match.run: workspace.evaluate(match) for match in workspace.matches}


def test_without_any_watcher_folders_are_looked_at_and_that_is_told(root, monkeypatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(watcher, "Observer", refuse)
    monkeypatch.setattr(worker_module, "POLL_S", 0.01)
    folder = task(root, "T1")

    async def test() -> None:
        async with watching(root) as engine:
            assert "looked at every few seconds" in engine.board(root).conditions[0]
            put(folder / "review/plan-review.json", {"ok": False})
            await until(engine, root, kind(T1, "regress"))

    asyncio.run(test())


def test_a_watcher_that_died_is_made_again(root) -> None:
    heard = threading.Event()
    made = watcher.Watcher(heard.set)
    try:
        made.watch(root, {root: True})
        made._observer.stop()
        made._observer.join()
        made.replace_deaf()
        assert made.take() == (set(), True)
        heard.clear()
        put(root / "x", "")
        assert heard.wait(LIMIT_S)
        assert made.condition == ""
    finally:
        made.stop()
