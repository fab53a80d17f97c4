"""Programs save a plan in ways of their own; each save is told once, and nothing of what is between."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.live import worker
from phasekeeper.server.live.boards import RootChange
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.engine import Engine

from tests.roots import needs, plan

RUN = ".orchestrator/tasks/books"
HEADER = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"
PLAN = f"{RUN}/MASTER_PLAN.md"
ROUNDS = 6
BOUND_S = 120


class Texts(NamedTuple):
    """The plan of a root, and two files beside the run with the texts that it has in turn."""

    root: Path
    plan: Path
    others: tuple[Path, Path]

    def other(self, number: int) -> Path:
        return self.others[number % 2]


def run(texts: Texts, *words: str) -> None:
    environment = {**os.environ, "HOME": str(texts.root.parent), "TERM": "dumb"}
    done = subprocess.run(
        [needs(words[0]), *words[1:]],
        cwd=texts.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)


def vim(texts: Texts, number: int, *options: str) -> None:
    edit = ("-c", f"%!cat {texts.other(number)}", "-c", "wq", str(texts.plan))
    run(texts, "vim", "-u", "NONE", "-i", "NONE", "-N", "-es", *options, *edit)


def vim_by_rename(texts: Texts, number: int) -> None:
    vim(texts, number, "-c", "set backup backupcopy=no")


def vim_in_place(texts: Texts, number: int) -> None:
    vim(texts, number, "-c", "set backupcopy=yes")


def neovim(texts: Texts, number: int) -> None:
    edit = ("-c", f"%!cat {texts.other(number)}", "-c", "wq", str(texts.plan))
    run(texts, "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-es", *edit)


def emacs(texts: Texts, number: int) -> None:
    other = texts.other(number)
    insert = f'(progn (erase-buffer) (insert-file-contents "{other}") (save-buffer))'
    run(texts, "emacs", "-Q", "--batch", str(texts.plan), "--eval", insert)


def sed(texts: Texts, number: int) -> None:
    run(texts, "sed", "-i", "-e", f"1r {texts.other(number)}", "-e", "d", str(texts.plan))


def git_checkout(texts: Texts, number: int) -> None:
    """Of two branches that are made on the first round."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    if number == 0:
        run(texts, "git", "init", "-q", "-b", "branch-1")
        run(texts, "git", "add", ".orchestrator")
        run(texts, *git, "commit", "-q", "-m", "one")
        run(texts, "git", "checkout", "-q", "-b", "branch-0")
        in_place(texts, 0)
        run(texts, *git, "commit", "-q", "-a", "-m", "other")
    else:
        run(texts, "git", "checkout", "-q", f"branch-{number % 2}")


def rsync(texts: Texts, number: int) -> None:
    run(texts, "rsync", "-aI", str(texts.other(number)), str(texts.plan))


def rsync_in_place(texts: Texts, number: int) -> None:
    """Without the times of the other file: setting them afterwards is a change of its own."""
    run(texts, "rsync", "-I", "--inplace", str(texts.other(number)), str(texts.plan))


def rsync_of_differences_in_place(texts: Texts, number: int) -> None:
    run(texts, "rsync", "-I", "--inplace", "--no-whole-file", str(texts.other(number)), str(texts.plan))


def copy(texts: Texts, number: int) -> None:
    run(texts, "cp", str(texts.other(number)), str(texts.plan))


def in_place(texts: Texts, number: int) -> None:
    """As VS Code does: truncated when it is opened, written at once, flushed."""
    content = texts.other(number).read_bytes()
    descriptor = os.open(texts.plan, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.write(descriptor, content)
    os.fdatasync(descriptor)
    os.close(descriptor)


PROGRAMS = [
    vim,
    vim_by_rename,
    vim_in_place,
    neovim,
    emacs,
    sed,
    git_checkout,
    rsync,
    rsync_in_place,
    rsync_of_differences_in_place,
    copy,
    in_place,
]


async def saved(root: Path, save: Callable[[Engine, Texts, int], Awaitable[None]]) -> list[RootChange]:
    """What is told of some saves, which take no time by the clock of the server."""
    folder = plan(root, "books", 120, done=50)
    place = folder / "MASTER_PLAN.md"
    one = place.read_text()
    row = "| 60 | books-60 | `00060-step.md` | Step 60 | impl | [ ] |\n"
    assert row in one
    others = root / "one.md", root / "other.md"
    for path, text in zip(others, (one.replace(row, ""), one), strict=True):
        path.write_text(text)
    ms, told, texts = [0.0], list[RootChange](), Texts(root, place, others)
    worker_root = partial(CachedLiveRoot, now_ms=lambda: ms[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        patch.setattr(worker, "CachedLiveRoot", worker_root)
        engine = Engine(asyncio.get_running_loop())
        try:
            await engine.open(root)
            engine.subscribe(root, told.append)
            for number in range(ROUNDS):
                await save(engine, texts, number)
                await engine.refresh(root, [place], grace=True)
                asked = asyncio.ensure_future(engine.look_again(root, RUN))
                while not asked.done():
                    ms[0] += GRACE_MS
                    await engine.refresh(root, [], grace=True)
        finally:
            await engine.stop()
    return told


def assert_each_is_told_once(told: list[RootChange]) -> None:
    assert not any(change.removed for change in told)
    runs = [change.changed[RUN] for change in told if RUN in change.changed]
    totals = [run.progress.total for run in runs if run.progress]
    assert totals == [119, 120] * (ROUNDS // 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_program_saves_is_told_once(root, program):
    async def save(_: Engine, texts: Texts, number: int) -> None:
        await asyncio.to_thread(program, texts, number)

    assert_each_is_told_once(asyncio.run(saved(root, save)))


@pytest.mark.parametrize("parts", [2, 9])
def test_a_slow_writer_s_parts_are_told_as_one(root, parts):
    async def save(engine: Engine, texts: Texts, number: int) -> None:
        content = texts.other(number).read_bytes()
        size = len(content) // parts + 1
        with texts.plan.open("wb", buffering=0) as out:
            for at in range(0, len(content), size):
                await engine.refresh(texts.root, [texts.plan], grace=True)
                out.write(content[at : at + size])

    assert_each_is_told_once(asyncio.run(saved(root, save)))


@pytest.mark.parametrize("parts", [2, 9])
def test_the_parts_of_a_writer_over_what_was_there_are_told_as_one(root, parts):
    """As `rsync --inplace` over a slow line: neither of the two texts is on the disk until the end."""

    async def save(engine: Engine, texts: Texts, number: int) -> None:
        content = texts.other(number).read_bytes()
        size = len(content) // parts + 1
        with texts.plan.open("r+b", buffering=0) as out:
            for at in range(0, len(content), size):
                await engine.refresh(texts.root, [texts.plan], grace=True)
                out.write(content[at : at + size])
            await engine.refresh(texts.root, [texts.plan], grace=True)
            out.truncate()

    assert_each_is_told_once(asyncio.run(saved(root, save)))


def test_a_mix_of_two_plans_is_not_told_as_complete(root):
    """Of one plan only the first task is open, of the next only the last: half written all are done."""
    marks = ("| [ ] |\n", *["| [x] |\n"] * 118, "| [x] |\n")
    row = "| {0} | books-{0} | `{0:05}-step.md` | Step {0} | impl "

    def text(marks: tuple[str, ...]) -> bytes:
        rows = "".join(row.format(n) + mark for n, mark in enumerate(marks, 1))
        return f"# Plan\n\n## Phase 1: One\n\n{HEADER}{rows}\n".encode()

    first, second = text(marks), text(marks[::-1])
    half = len(first) // 2

    async def save(engine: Engine, texts: Texts, number: int) -> None:
        content = (first, second)[number % 2]
        if number == 0:
            texts.plan.write_bytes(content)
            return
        with texts.plan.open("r+b", buffering=0) as out:
            out.write(content[:half])
            await engine.refresh(texts.root, [texts.plan], grace=True)
            assert not is_complete(engine, texts)
            out.write(content[half:])

    def is_complete(engine: Engine, texts: Texts) -> bool:
        progress = engine.board(texts.root).runs[RUN].progress
        return progress is None or progress.done == progress.total

    told = asyncio.run(saved(root, save))
    progress = [run.progress for change in told if (run := change.changed.get(RUN))]
    assert progress and all(each and each.done == each.total - 1 for each in progress)


@pytest.mark.parametrize("away", [Path.unlink, lambda path: path.rename(f"{path}~")])
def test_a_file_that_is_away_for_a_moment_is_not_told_as_gone(root, away):
    async def save(engine: Engine, texts: Texts, number: int) -> None:
        away(texts.plan)
        await engine.refresh(texts.root, [texts.plan], grace=True)
        texts.plan.write_bytes(texts.other(number).read_bytes())

    assert_each_is_told_once(asyncio.run(saved(root, save)))
