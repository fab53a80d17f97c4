"""`python -m tests.bench.watching`: from a save to the change on the loop, what a watched run costs, bursts.

Raw inotify stands beside it: a thread that does nothing but read the events of one folder. Numbers are
medians of the best of five rounds; beside them stands the 99th percentile of all.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time, sleep

from phasekeeper.server.disk.file_cache import SETTLED_NS
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.memory import collect_seldom

from tests.bench.machine import machine, resident_mib
from tests.bench.plans import write_plan
from tests.roots import run_to_end
from tests.server.live.waiting import next_version

ROUNDS = 5
SAVES = 60
TASKS = ".ai-tools-chain/tasks"
EXAMPLES = Path(__file__).parents[2] / "examples"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, nargs="*", default=[10, 1_000, 10_000])
    options.add_argument("--burst", type=int, default=60_000)
    options.add_argument("--idle-s", type=float, default=20)
    options.add_argument("--task-files", type=int, default=100_000)
    arguments = options.parse_args()
    print(machine())
    for count in arguments.runs:
        _in_own_process("watched", count, arguments.idle_s)
    _in_own_process("burst", arguments.burst)
    _in_own_process("task_files", arguments.task_files)
    print("\nmemory of one more run of what users have, KiB (budget 15)")
    for example in ("small", "late-fees", "reading-lists"):
        print(f"  {example}: {kib_of(example):.1f}")
    print(f"\n{machine()}")


def _in_own_process(what: str, *arguments: object) -> None:
    """Call a function of this module in a process of its own, whose memory is that of nothing else."""
    if arguments[0]:
        call = f"from tests.bench import watching; watching.{what}(*{arguments!r})"
        subprocess.run([sys.executable, "-c", call], check=True)


def write_run(root: Path, number: int) -> Path:
    """A run of the artifact pipeline as one looks under way."""
    folder = root / TASKS / f"T{number:05}"
    for name in ("planning", "review", "code"):
        (folder / name).mkdir(parents=True)
    texts = {
        "state.json": json.dumps({"phase": "plan_review", "title": f"Task {number}", "actors": {}}, indent=2),
        "planning/planning.ai.json": json.dumps({"id": f"T{number}", "steps": ["one", "two"] * 20}, indent=2),
        "planning/plan.files.json": json.dumps({"files": ["a.py", "b.py"]}),
        "review/plan-review.json": _review(True, 0),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder / "review/plan-review.json"


def _review(ok: bool, number: int) -> str:
    issues = [] if ok else [{"severity": "high", "message": "it does not say how", "blocking": True}]
    return json.dumps({"ok": ok, "issues": issues, "number": number}, indent=2)


def _save(path: Path, text: str) -> None:
    """Put a text in a file's place as editors do."""
    new = path.with_name(f".{path.name}.swp")
    new.write_text(text)
    new.replace(path)


def watched(runs: int, idle_s: float) -> None:
    """The figures of a root with so many runs, beside those of raw inotify and of a refresh alone."""
    print(f"\n{runs:,} runs watched")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / ".git").mkdir()
        reviews = [write_run(root, number) for number in range(runs)]
        asyncio.run(_watched(root, reviews, idle_s))
        _raw_inotify(reviews[0])
        _refresh_alone(root, reviews)


async def _watched(root: Path, reviews: list[Path], idle_s: float) -> None:
    engine = Engine(asyncio.get_running_loop())
    before, start, cpu = resident_mib(), perf_counter(), process_time()
    await engine.open(root)
    gc.collect()
    taken = resident_mib() - before
    print(f"  first scan: {perf_counter() - start:.2f} s, {process_time() - cpu:.2f} s of CPU")
    print(
        f"  memory: {taken * 1024 / len(reviews):.1f} KiB a run (budget 15), {resident_mib():.0f} MiB in all"
    )
    changes: asyncio.Queue[tuple[float, set[str]]] = asyncio.Queue()
    engine.subscribe(root, lambda change: changes.put_nowait((perf_counter(), set(change.changed))))
    rounds, all_s = [], []
    for turn in range(ROUNDS):
        spent_s = []
        for number in range(SAVES // ROUNDS * 2):
            path = reviews[(turn * 7919 + number * 104_729) % len(reviews)]
            run = path.parent.parent.relative_to(root).as_posix()
            text = _review(bool(turn % 2), number * 10 + turn)
            begin = perf_counter()
            _save(path, text)
            spent_s.append(await _until_changed(changes, run) - begin)
            await asyncio.sleep(0.02)
        rounds.append(statistics.median(spent_s))
        all_s += spent_s
    worst = sorted(all_s)[int(len(all_s) * 0.99)]
    print(f"  save to change: {min(rounds) * 1000:.2f} ms, p99 {worst * 1000:.1f} ms")
    cpu, start = process_time(), perf_counter()
    await asyncio.sleep(idle_s)
    print(f"  idle: {(process_time() - cpu) / (perf_counter() - start):.2%} of a core over {idle_s:g} s")
    await engine.stop()


async def _until_changed(changes: asyncio.Queue[tuple[float, set[str]]], run: str) -> float:
    """When the first change of a run came."""
    while True:
        at, changed = await asyncio.wait_for(changes.get(), 60)
        if run in changed:
            return at


def _raw_inotify(path: Path) -> None:
    """The floor: one thread, one folder, one read."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    libc.inotify_add_watch(descriptor, os.fsencode(path.parent), 0x80)
    rounds = []
    for turn in range(ROUNDS):
        spent_s = []
        for number in range(SAVES):
            begin = perf_counter()
            _save(path, _review(bool(turn % 2), number))
            select.select([descriptor], [], [], 10)
            os.read(descriptor, 65_536)
            spent_s.append(perf_counter() - begin)
        rounds.append(statistics.median(spent_s))
    os.close(descriptor)
    print(f"  floor: the save itself and raw inotify: {min(rounds) * 1000:.2f} ms")


def _refresh_alone(root: Path, reviews: list[Path]) -> None:
    """The part of it that is refreshing and evaluating, on this thread and without a watcher."""
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    gc.collect()
    gc.freeze()
    rounds = []
    for turn in range(ROUNDS):
        spent_s = []
        for number in range(SAVES):
            path = reviews[(turn * 7919 + number * 104_729) % len(reviews)]
            _save(path, _review(bool(turn % 2), number + turn * 1000))
            begin = perf_counter()
            assert live.refresh_paths([path])
            spent_s.append(perf_counter() - begin)
        rounds.append(statistics.median(spent_s))
    print(f"  a refresh alone: {min(rounds) * 1000:.2f} ms")
    begin = perf_counter()
    run_to_end(live.refresh_all_in_parts())
    print(f"  a rescan: {perf_counter() - begin:.2f} s")


def burst(files: int) -> None:
    """Many files saved by another process while it is watched; nothing may be missed."""
    print(f"\nburst of {files:,} files in {files // 100:,} new runs")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / ".git").mkdir()
        asyncio.run(_burst(root, files))


async def _burst(root: Path, files: int) -> None:
    engine = Engine(asyncio.get_running_loop())
    write_run(root, 0)
    await engine.open(root)
    begin = perf_counter()
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _WRITER, str(root / TASKS), str(files)], check=True
    )
    wrote = perf_counter() - begin
    wanted = files // 100 + 1
    while len(engine.board(root).runs) < wanted or not _all_reviewed(engine, root):
        await next_version(engine, root, 300)
    print(f"  written in {wrote:.1f} s, all on the board after {perf_counter() - begin:.1f} s")
    await engine.stop()


def _all_reviewed(engine: Engine, root: Path) -> bool:
    """Whether of each run its last file was seen."""
    runs = engine.board(root).runs.values()
    return all(run.suggestion.kind == "advance" for run in runs)


_WRITER = """
import json, pathlib, sys
top, files = pathlib.Path(sys.argv[1]), int(sys.argv[2])
for number in range(files // 100):
    folder = top / f"B{number:05}"
    for name in ("planning", "review", "code/files"):
        (folder / name).mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps({"phase": "plan_review"}))
    for other in range(97):
        (folder / "code/files" / f"{other:03}.py").write_text("x = 1\\n")
    (folder / "planning/planning.ai.json").write_text(json.dumps({"id": str(number)}))
    (folder / "review/plan-review.json").write_text(json.dumps({"ok": True}))
"""


def task_files(files: int) -> None:
    """Plans of a thousand tasks each, all their task files on disk."""
    print(f"\n{files:,} task files in plans of 1,000")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / ".git").mkdir()
        for number in range(files // 1_000):
            write_plan(root, 1_000, feature=f"plan-{number:03}")
        before, start = resident_mib(), perf_counter()
        live = LiveRoot(root)
        run_to_end(live.scan_in_parts())
        gc.collect()
        print(f"  first scan: {perf_counter() - start:.1f} s")
        print(f"  memory: {resident_mib() - before:.0f} MiB (budget 300)")
        path = next(iter(root.rglob("MASTER_PLAN.md")))
        path.write_text(path.read_text().replace("[ ]", "[x]", 1))
        begin = perf_counter()
        live.refresh_paths([path])
        print(f"  a task ticked off in one plan: {(perf_counter() - begin) * 1000:.0f} ms")


def kib_of(example: str, few: int = 1_000, many: int = 3_000) -> float:
    """What one more run of an example takes in memory, beyond what every root takes: KiB."""
    taken = {copies: _mib_of(example, copies) for copies in (few, many)}
    return (taken[many] - taken[few]) * 1024 / (many - few)


def _mib_of(example: str, copies: int) -> float:
    """What `memory_of` prints, in a process of its own."""
    call = f"from tests.bench import watching; watching.memory_of({example!r}, {copies})"
    told = subprocess.run([sys.executable, "-c", call], check=True, capture_output=True, text=True).stdout
    return float(told)


def memory_of(example: str, copies: int) -> None:
    """Print what so many copies of an example take in memory, in one root: MiB."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        (root / ".git").mkdir()
        for number in range(copies):
            if example == "small":
                write_run(root, number)
                continue
            found = next(path for path in EXAMPLES.rglob(example) if path.is_dir() and "tasks" in path.parts)
            folder = root / found.relative_to(EXAMPLES).parent / f"{example}-{number:05}"
            shutil.copytree(found, folder)
        # As in a server that finds files of some time ago.
        sleep(SETTLED_NS / 1e9 + 0.1)
        collect_seldom()
        live = CachedLiveRoot(root)
        live.read_definitions()
        gc.collect()
        before = resident_mib()
        run_to_end(live.scan_in_parts())
        gc.collect()
        assert len(live.runs) == copies
        print(resident_mib() - before)


if __name__ == "__main__":
    main()
