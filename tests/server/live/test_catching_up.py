"""A question about all runs is answered with all that was written before it, however many there are."""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import pytest
from phasekeeper.server.disk import safe_open
from phasekeeper.server.live import engine as engines
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.watch.watcher import Watcher

from tests.roots import TASKS, put, task
from tests.server.live.followed_root import FollowedRoot
from tests.server.watch.test_watcher import watching

OWN = """\
workflow: own
runs: {at: [own/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
artifacts: {review: {paths: [review/*.json], kind: json, require: {ok: bool}}}
phase: state.phase
phases:
  planning: {produces: [review], rules: [{when: review.ok == true, to: done}]}
  done: {terminal: complete}
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="only inotify tells of changes in their order")


@linux
def test_all_that_was_written_before_is_among_the_hints(tmp_path):
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    with watching(*folders) as heard:
        for number in range(200):
            written = folders[number % 3] / f"{number}.md"
            written.write_text("x")
            assert heard.watcher.catch_up()
            assert str(written) in heard.watcher.take()[0] or written in heard.paths
            heard.paths.add(written)


@linux
def test_half_of_a_rename_is_told_at_once(tmp_path):
    (tmp_path / "in").mkdir()
    gone = put(tmp_path / "in/gone.md", "x")
    with watching(tmp_path / "in") as heard:
        gone.rename(tmp_path / "outside.md")
        assert heard.watcher.catch_up()
        assert str(gone) in heard.watcher.take()[0]


@linux
def test_a_watcher_whose_reader_has_ended_does_not_say_that_it_has_all(tmp_path, monkeypatch):
    monkeypatch.setattr("phasekeeper.server.watch.watcher._MARK_S", 0.05)
    with watching(tmp_path) as heard:
        heard.watcher._observer._inotify_fd.stop()
        heard.watcher._observer._inotify_fd.join()
        assert not heard.watcher.catch_up()


def test_what_hears_nothing_does_not_say_that_it_has_all(tmp_path):
    with watching(tmp_path) as heard:
        heard.watcher.condition = "the system watches no more folders"
        assert not heard.watcher.catch_up()


@linux
def test_every_run_is_as_it_was_written_though_none_is_looked_at(root, monkeypatch):
    """Not those that were evaluated last, and a new one: nothing but what was heard tells of them."""
    monkeypatch.setattr("phasekeeper.server.live.live_root.RECENT_RUNS", 1)
    for number in range(30):
        task(root, f"T{number}")

    async def work() -> None:
        engine = engines.Engine(asyncio.get_running_loop())
        try:
            await engine.open(root)
            for number in range(60):
                put(root / TASKS / f"T{number % 30}/review/plan-review.json", {"ok": number >= 30})
                assert await engine.look_again(root)
                gates = engine.board(root).runs[f"{TASKS}/T{number % 30}"].gates
                assert {gate.id: gate.status for gate in gates}["plan-review"] == (
                    "passed" if number >= 30 else "failed"
                )
            task(root, "T30")
            assert await engine.look_again(root)
            assert f"{TASKS}/T30" in engine.board(root).runs
        finally:
            await engine.stop()

    asyncio.run(asyncio.wait_for(work(), 60))


@linux
def test_names_are_not_listed_where_all_was_heard(root, monkeypatch):
    task(root, "T1")
    looked: list[bool] = []
    whole = LiveRoot.look_again

    def noted(self: LiveRoot, run: str | None = None, heard_all: bool = False):
        looked.append(heard_all)
        return whole(self, run, heard_all)

    monkeypatch.setattr(LiveRoot, "look_again", noted)

    async def work() -> None:
        for watch in (True, False):
            engine = engines.Engine(asyncio.get_running_loop(), watch=watch)
            try:
                await engine.open(root)
                assert await engine.look_again(root) is watch
            finally:
                await engine.stop()

    asyncio.run(asyncio.wait_for(work(), 60))
    assert looked == [True, False]


@linux
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_large_folder_of_a_run_is_listed_only_where_not_all_may_be_heard(root, monkeypatch, is_trusted):
    monkeypatch.setattr("phasekeeper.server.disk.large_folders.LARGE_FOLDER", 1)
    monkeypatch.setattr("phasekeeper.server.disk.file_cache.SETTLED_NS", -(10**12))
    monkeypatch.setattr("phasekeeper.server.live.cached_runs.is_trusted", lambda root: is_trusted)
    put(root / ".phasekeeper/workflows/own.yaml", OWN)
    put(root / "own/one/state.json", {"phase": "planning"})
    review = put(root / "own/one/review/first.json", {"ok": True})
    listed: list[str] = []
    whole = safe_open.list_folder
    monkeypatch.setattr(
        safe_open, "list_folder", lambda of, folder: (listed.append(folder), whole(of, folder))[1]
    )

    async def work() -> None:
        engine = engines.Engine(asyncio.get_running_loop())
        try:
            await engine.open(root)
            for number in range(20):
                listed.clear()
                with review.open("r+") as file:
                    file.write(json.dumps({"ok": number % 2 == 0}).ljust(20))
                await engine.look_again(root, "own/one")
                suggestion = engine.board(root).runs["own/one"].suggestion
                assert (suggestion.suggested_next == "done") is (number % 2 == 0)
                assert bool(listed) is not is_trusted
        finally:
            await engine.stop()

    asyncio.run(asyncio.wait_for(work(), 60))


@linux
def test_what_is_passed_on_is_noted_no_longer(tmp_path):
    ready = threading.Event()
    watcher = Watcher(ready.set)
    try:
        watcher.watch(tmp_path, {tmp_path: True})
        (tmp_path / "a.md").write_text("a")
        assert ready.wait(30)
        assert watcher.catch_up()
        watcher.take()
        assert watcher._noted == set()
    finally:
        watcher.stop()


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_link_to_nothing_that_leads_elsewhere_by_now_is_followed_there(is_whole):
    """It looks as before, and its new place alone is told of."""
    root = FollowedRoot()
    try:
        top = root.changes.root
        link = top / ".phasekeeper/workflows"
        link.parent.mkdir(exist_ok=True)
        for place in ("one", "two"):
            link.unlink(missing_ok=True)
            link.symlink_to(top / place)
            root.tell([link.parent if is_whole else link])
        put(top / "two/mine.yaml", "workflow: mine\n")
        root.tell([top / "two/mine.yaml"])
        root.assert_as_at_first_sight()
        assert ".phasekeeper/workflows/mine.yaml" in root.live.findings
    finally:
        root.close()
