"""`make bench`: what evaluating, parsing and a cold start cost: medians of the best of five rounds.

Floors stand beside them: a bare interpreter, `json.loads`, and reading the same files.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.plans.master_plan import reader
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.snapshot.discovery import Match
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.vfs.files import Files
from phasekeeper.server.memory import collect_seldom
from phasekeeper.server.workspace.workspace import Workspace

from tests.bench import big_plans, checks, figures
from tests.bench.connections import connections
from tests.bench.machine import machine
from tests.bench.plans import write_plan, write_report

ROUNDS = 5
EXAMPLES = Path(__file__).parents[2] / "examples"


def milliseconds(work: Callable[[], object], times: int, clock: Callable[[], float] = process_time) -> float:
    """The median of one call, of the best of five rounds of `times` calls.

    In time of the processor, which other processes take nothing from; commands are taken by the wall.
    """
    rounds = []
    for _ in range(ROUNDS):
        times_s = []
        for _ in range(times):
            start = clock()
            work()
            times_s.append(clock() - start)
        rounds.append(statistics.median(times_s))
    return min(rounds) * 1000


def say(what: str, value: float, budget: str = "") -> None:
    """Print one figure."""
    print(f"{what:<62} {value:9.3f} ms  {budget}")


def evaluations(roots: dict[int, Path]) -> None:
    """Print what evaluating one run costs."""
    print("\nevaluate one run, snapshot in hand, in time of the processor")
    workspace = Workspace(EXAMPLES)
    for match in workspace.matches:
        snapshot = workspace.snapshot(match)
        small = match.workflow.name != "master-plan"
        say(
            f"  {match.workflow.name} (example)",
            milliseconds(lambda m=match, s=snapshot: evaluate(m.workflow, s), 50),
            "budget 1" if small else "budget 2",
        )
    for tasks, root in roots.items():
        workspace = Workspace(root)
        match = workspace.matches[0]
        snapshot = workspace.snapshot(match)
        evaluate(match.workflow, snapshot)
        budget = {25: "budget 2", 10_000: "budget 5"}.get(tasks, "")
        say(
            f"  master-plan, {tasks:,} tasks, index warm",
            milliseconds(lambda m=match, s=snapshot: evaluate(m.workflow, s), 30),
            budget,
        )


def folding(folder: Path) -> None:
    """Print what evaluating a run with report files costs, beside reading as many bytes of JSON."""
    print("\nevaluate a run with report files that no record holds, in time of the processor")
    for tasks, reports, budget in ((50, 25, 2), (400, 210, 4)):
        root = folder / f"reports-{reports}"
        root.mkdir()
        run = write_plan(root, tasks, done=0.5)
        for number in range(1, reports):
            write_report(root, run, number)
        match, parsed = Workspace(root).matches[0], dict[tuple[str, str], Any]()
        evaluation = evaluate(match.workflow, Workspace(root, parsed=parsed).snapshot(match))
        text = json.dumps(as_json(evaluation), default=str)
        name = f"  master-plan, {tasks} tasks, {reports} reports"
        for what, kept in (("nothing new", parsed), ("from the start", {}), ("one more report", parsed)):
            if what == "one more report":
                write_report(root, run, reports)
            files = Workspace(root).files
            # Each goes on from the same memory; what is read is warm.
            snapshots = iter([_snapshot(root, match, kept, files) for _ in range(ROUNDS * 5)])
            cost = milliseconds(lambda m=match, s=snapshots: evaluate(m.workflow, next(s)), 5)
            say(f"{name}, {what}", cost, "" if what == "from the start" else f"budget {budget}")
        say("    floor: json.loads of the answer", milliseconds(lambda t=text: json.loads(t), 20))


def _snapshot(root: Path, match: Match, kept: Mapping[tuple[str, str], Any], files: Files) -> Snapshot:
    workspace = Workspace(root, parsed=dict(kept))
    workspace.files = files
    return workspace.snapshot(match)


def parsing(roots: dict[int, Path]) -> None:
    """Print what parsing a plan costs."""
    print("\nparse MASTER_PLAN.md")
    for tasks, root in roots.items():
        text = next(root.rglob("MASTER_PLAN.md")).read_text()
        say(
            f"  {tasks:,} tasks, {len(text) / 1024:,.0f} KB",
            milliseconds(lambda t=text: reader.read(t), 3),
        )


def rendering(roots: dict[int, Path]) -> None:
    """Print what a whole answer costs."""
    print("\nwhole answer as JSON, read from disk (warm page cache), beside reading the same files")
    for tasks, root in roots.items():

        def answer(root: Path = root) -> None:
            workspace = Workspace(root)
            for match in workspace.matches:
                json.dumps(as_json(workspace.evaluate(match)), default=str)

        say(f"  {tasks:,} tasks", milliseconds(answer, 1))
        files = list(root.rglob("*.md"))
        say(
            "    floor: read all its files",
            milliseconds(lambda f=files: [path.read_bytes() for path in f], 1),
        )


def cold(roots: dict[int, Path]) -> None:
    """Print what commands cost without a server."""
    print("\ncommands from a cold start, by the wall")
    say(
        "  floor: python -I -c pass",
        milliseconds(
            lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), 5, perf_counter
        ),
    )
    for tasks, root in roots.items():
        for command in ("next", "status"):
            line = [sys.executable, "-I", "-m", "phasekeeper", command, str(root)]

            def run(line: list[str] = line) -> None:
                subprocess.run(line, stdout=subprocess.DEVNULL, check=False)

            say(
                f"  phasekeeper {command}, {tasks:,} tasks",
                milliseconds(run, 3, perf_counter),
                "budget 1000" if (tasks, command) == (10_000, "next") else "",
            )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        roots = {}
        for tasks in (25, 100, 1_000, 10_000):
            roots[tasks] = Path(folder) / str(tasks)
            roots[tasks].mkdir()
            write_plan(roots[tasks], tasks)
        print(machine())
        # As the server and the commands do.
        collect_seldom()
        evaluations(roots)
        folding(Path(folder))
        parsing(roots)
        rendering(roots)
        cold(roots)
        connections()
        big_plans.main(())
        checks.main()
        print(f"\n{machine()}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="compare ratios with the committed ones")
    options.add_argument("--write", action="store_true", help="measure the ratios and write them down")
    asked_for = options.parse_args()
    if asked_for.check or asked_for.write:
        sys.exit(figures.check(asked_for.write))
    main()
