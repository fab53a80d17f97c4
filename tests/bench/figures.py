"""`python -m tests.bench --check`: the figures that must not get worse, beside those of the last time.

Each is a ratio: the least of several rounds, in time of the processor, over what is measured in turns with it
in the same run, `json.loads` of a fixed text or the start of a bare interpreter. So figures of two machines
can be compared. Memory is taken once, in KiB.

`--write` puts them into `figures.json`, which is committed. One that is more than `WORSE` times the committed
one is measured again, and fails when it stays there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.plans.master_plan import reader
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.memory import collect_seldom
from phasekeeper.server.workspace.workspace import Workspace

from tests.bench import clients
from tests.bench.assistants import start
from tests.bench.big_plans import BigPlan
from tests.bench.editors import make_root, replace
from tests.bench.machine import machine, threads_ms
from tests.bench.plans import write_plan, write_report
from tests.bench.watching import kib_of
from tests.roots import run_to_end
from tests.server.servers import homes, until

FILE = Path(__file__).with_name("figures.json")
WORSE = 1.2
_TRIES = 6
"""So often a figure is measured until it counts as worse: threads that hand over to each other take longer
on a busy machine, and the floors beside them do not."""
_TEXT = json.dumps([{"number": n, "words": "x" * 20, "list": [1, 2, 3]} for n in range(2_000)])
_BARE = (sys.executable, "-I", "-c", "pass")

Work = Callable[[], object]


class Figure(NamedTuple):
    """What is measured, and the floor beside it: "json", "python" or "KiB"; `ms` makes one measurement, which
    is KiB where that is the floor."""

    name: str
    floor: str
    ms: Callable[[], float]


def json_ms() -> float:
    """What `json.loads` of the fixed text takes."""
    return _process_ms(lambda: json.loads(_TEXT))


def python_ms() -> float:
    """What a bare interpreter takes."""
    return _children_ms(_BARE)


FLOORS: Mapping[str, Callable[[], float]] = {"json": json_ms, "python": python_ms, "KiB": lambda: 1.0}


def _process_ms(work: Work) -> float:
    began = process_time()
    work()
    return (process_time() - began) * 1000


def _children_ms(line: Sequence[str], **how: Any) -> float:
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1000


# ---- what is measured ---------------------------------------------------------------------------


def _of_engine(folder: Path) -> Iterator[Figure]:
    run = write_plan(folder / "reports", 50, done=0.5)
    for number in range(1, 25):
        write_report(folder / "reports", run, number)
    match, parsed = Workspace(folder / "reports").matches[0], dict[tuple[str, str], Any]()
    evaluate(match.workflow, Workspace(folder / "reports", parsed=parsed).snapshot(match))

    files = Workspace(folder / "reports").files

    def warm() -> float:
        workspace = Workspace(folder / "reports", parsed=dict(parsed))
        workspace.files = files
        snapshot = workspace.snapshot(match)
        return _process_ms(lambda: evaluate(match.workflow, snapshot))

    yield Figure("evaluate 50 tasks and 25 reports, nothing new", "json", warm)

    plan = BigPlan.write(folder / "plan", 2_000)
    before, texts = reader.read("\n".join(plan.lines)), plan.texts("[~]")

    def reread() -> float:
        nonlocal texts
        text = next(texts, None)
        if text is None:
            texts = plan.texts("[~]")
            text = next(texts)
        return _process_ms(lambda: reader.read(text, before))

    yield Figure("read a plan of 2,000 tasks again, one row differs", "json", reread)

    reviews, numbers = make_root(folder / "runs", 150), count()
    live = LiveRoot(folder / "runs")

    # As in the server.
    collect_seldom()

    def first_look() -> float:
        return _process_ms(lambda: run_to_end(CachedLiveRoot(folder / "runs").scan_in_parts())) / len(reviews)

    yield Figure("first look, a small run", "json", first_look)
    run_to_end(live.scan_in_parts())

    def save() -> float:
        number = next(numbers)
        path = reviews[number * 7 % len(reviews)]
        replace(path, json.dumps({"ok": number // len(reviews) % 2 == 0, "n": number}))
        return _process_ms(lambda: live.refresh_paths([path]))

    yield Figure("a save, in the engine", "json", save)


def _of_memory() -> Iterator[Figure]:
    """What one more run of some examples takes, beside many in one root."""
    for example in ("small", "late-fees", "reading-lists"):
        yield Figure(f"memory a run, {example}", "KiB", cache(partial(kib_of, example)))


@contextmanager
def _of_server(runs: int) -> Iterator[list[Figure]]:
    """What needs a server that watches so many runs."""
    with homes(bound_s=1800.0) as home:
        root = home.path / "work"
        reviews = make_root(root, runs)
        home.server()
        pid = int(home.information()["pid"])
        editors = [clients.Editor(home, root)]
        until(lambda: any(each["runs"] == runs for each in home.information()["roots"]))
        editors[0].ask(2, "phasekeeper/board", clients.PAGE)
        assistant = start(home, root).client
        run = f".ai-tools-chain/tasks/{reviews[0].parts[-3]}"

        def calls(tool: str, **arguments: Any) -> Callable[[], float]:
            def ask() -> float:
                began = threads_ms(pid)
                for _ in range(50):
                    assistant.call(tool, **arguments)
                return (threads_ms(pid) - began) / 50

            return ask

        def command(*words: str) -> Callable[[], float]:
            line = (sys.executable, "-I", "-m", "phasekeeper", *words)
            return lambda: _children_ms(line, cwd=root, env=home.env)

        def saves() -> float:
            return clients.save_cost(pid, editors, reviews, 60).cpu_ms

        def twenty() -> float:
            while len(editors) < 20:
                editors.append(clients.Editor(home, root))
                editors[-1].ask(2, "phasekeeper/board", clients.PAGE)
            return clients.save_cost(pid, editors, reviews, 60).cpu_ms

        def board() -> float:
            began = threads_ms(pid)
            for _ in range(5):
                editor = clients.Editor(home, root)
                while not editor.ask(2, "phasekeeper/board", clients.PAGE)["roots"]:
                    pass
                editor.socket.close()
            return (threads_ms(pid) - began) / 5

        yield [
            Figure(f"MCP status, {runs:,} runs, the server", "json", calls("status")),
            Figure(f"MCP next_step, {runs:,} runs, the server", "json", calls("next_step", run=run)),
            Figure(f"phasekeeper status, {runs:,} runs, through the server", "python", command("status")),
            Figure(f"phasekeeper next, {runs:,} runs, through the server", "python", command("next", run)),
            Figure("phasekeeper next, no server", "python", command("next", run, "--cold")),
            Figure("a save -> diagnostic, the server", "json", saves),
            Figure(f"one more editor's board, {runs:,} runs, the server", "python", board),
            Figure("a save -> diagnostic of 20 editors, the server", "json", twenty),
        ]


# ---- comparing ----------------------------------------------------------------------------------


def ratio_of(figure: Figure, rounds: int = 9) -> float:
    """The least of the figure over the least of its floor, taken in turns."""
    pairs = [(FLOORS[figure.floor](), figure.ms()) for _ in range(rounds)]
    return min(ms for _, ms in pairs) / min(floor for floor, _ in pairs)


def is_worse(ratio: float, known: float | None) -> bool:
    """Whether a ratio is so far above the committed one that it fails; one without is never."""
    return known is not None and ratio > known * WORSE


def compare(figures: Sequence[Figure], known: Mapping[str, float]) -> dict[str, float]:
    """Measure, print, and return the ratios; one that is worse is measured again."""
    ratios: dict[str, float] = {}
    for figure in figures:
        before = known.get(figure.name)
        ratio = ratio_of(figure)
        for _ in range(_TRIES - 1):
            if not is_worse(ratio, before):
                break
            ratio = min(ratio, ratio_of(figure))
        ratios[figure.name] = ratio
        beside = "new" if before is None else f"{before:8.2f}  {ratio / before - 1:+6.0%}"
        said = "  WORSE" if is_worse(ratio, before) else ""
        print(f"  {figure.name:<58} {ratio:8.2f} x {figure.floor:<7} {beside}{said}", flush=True)
    return ratios


def check(write: bool = False) -> int:
    """Measure all figures and compare them with the committed ones; 1 when one is worse."""
    known: dict[str, float] = json.loads(FILE.read_text()) if FILE.exists() else {}
    print(
        f"{machine()}\n\nratios to the floor, and the committed ones; more than {WORSE - 1:.0%} worse fails"
    )
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        ratios = compare(list(_of_engine(Path(name).resolve())), known)
        ratios |= compare(list(_of_memory()), known)
        ratios |= compare(stack.enter_context(_of_server(1_000)), known)
    print(f"\n{machine()}")
    if write:
        FILE.write_text(
            json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}, indent=2) + "\n"
        )
    worse = [name for name, ratio in ratios.items() if is_worse(ratio, known.get(name))]
    missing = [name for name in known if name not in ratios]
    for name in missing:
        print(f"not measured any more: {name}")
    return int(bool(worse or missing) and not write)
