"""`python -m tests.bench.starts`: what a start over unchanged runs costs, with a cache on disk and without.

In time of the processor, each start in a process of its own, beside one over an empty root; the least of
three.
The exponent is that of the growth between the sizes beside each other: 1 is as many times as there are runs.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from phasekeeper.server.disk.file_cache import SETTLED_NS
from phasekeeper.server.live.cached_live_root import SAMPLE_RUNS, CachedLiveRoot
from phasekeeper.server.memory import collect_seldom
from phasekeeper.tools.assistant.access import RootRuns
from phasekeeper.tools.assistant.run_status import status
from phasekeeper.tools.assistant.totals import RunningTotals

from tests.bench.machine import machine, resident_mib
from tests.bench.watching import write_run
from tests.roots import EXAMPLES, run_to_end

ROUNDS = 3
_PLANS = ".orchestrator/tasks"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, nargs=3, default=[1_000, 3_000, 10_000])
    options.add_argument("--plans", type=int, nargs=3, default=[100, 300, 1_000])
    sizes = options.parse_args(arguments)
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        empty = _root(folder / "empty")
        empty_ms = min(_start(empty, folder)["ms"] for _ in range(ROUNDS))
        print(f"start over an empty root until the first answer: {empty_ms:.0f} ms of CPU")
        for what, counts in (("small runs", sizes.runs), ("master plans (example)", sizes.plans)):
            _growth(folder, what, counts, empty_ms)
    print(machine())


def _growth(folder: Path, what: str, counts: Sequence[int], empty_ms: float) -> None:
    """Print what the starts over so many runs cost more than one over an empty root."""
    before: tuple[int, float] | None = None
    for count in counts:
        root = _root(folder / f"{what.split()[0]}-{count}")
        for number in range(count):
            if what == "small runs":
                write_run(root, number)
            else:
                shutil.copytree(EXAMPLES / _PLANS / "reading-lists", root / _PLANS / f"plan-{number:05}")
        time.sleep(SETTLED_NS / 1e9 + 0.1)
        cold = _start(root, folder)
        starts = [_start(root, folder) for _ in range(ROUNDS)]
        ms = min(start["ms"] for start in starts) - empty_ms
        assert starts[0]["cached"] + SAMPLE_RUNS >= count, "the cache was not used"
        exponent = math.log(ms / before[1]) / math.log(count / before[0]) if before else math.nan
        print(
            f"  {count:>6,} {what}: {ms:6.0f} ms more with a cache ({ms / count * 1000:.0f} us a run, "
            f"exponent {exponent:.2f}), {cold['ms'] - empty_ms:7.0f} ms without; it is written in "
            f"{cold['saved_ms']:.0f} ms of CPU, {cold['bytes'] / count:.0f} bytes a run; "
            f"memory {min(start['kib'] for start in starts):.1f} KiB a run"
        )
        before = (count, ms)
        shutil.rmtree(root)


def _root(root: Path) -> Path:
    (root / ".git").mkdir(parents=True)
    return root


def _start(root: Path, folder: Path) -> dict[str, float]:
    """The figures of one start, which leaves a cache behind."""
    call = f"from tests.bench import starts; starts.start({str(root)!r}, {str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", call], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def start(root: str, folder: str) -> None:
    """Look at a root, answer the first question, and write the cache; the figures as JSON."""
    cache = Path(folder) / "caches" / Path(root).name
    collect_seldom()
    memory = resident_mib()
    live = CachedLiveRoot(Path(root), cache=cache)
    began = process_time()
    run_to_end(live.scan_in_parts())
    status(RootRuns(root, live.runs, RunningTotals().of(live.runs)))
    ms = (process_time() - began) * 1000
    kib = (resident_mib() - memory) * 1024 / max(1, len(live.runs))
    cached, began = len(live.cached_runs), process_time()
    if live.has_unsaved_runs:
        for _ in live.save_in_parts():
            pass
    size = sum(path.stat().st_size for path in cache.iterdir())
    saved_ms = (process_time() - began) * 1000
    print(json.dumps({"ms": ms, "kib": kib, "cached": cached, "saved_ms": saved_ms, "bytes": size}))


if __name__ == "__main__":
    main()
