"""`python -m tests.bench.big_plans [TASKS…]`: what plans of several sizes cost, in time of the processor.

Minima of several rounds, with `json.loads` of a fixed text beside them; behind each row the exponent with
which it grows from the smallest plan to the largest: 1 is linear, 0 does not grow.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time, sleep
from typing import Any, NamedTuple

from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.plans.master_plan import reader
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.workspace import Workspace

from tests.bench.editors import LspClient, replace
from tests.bench.machine import machine, threads_ms
from tests.bench.plans import write_plan

SIZES = (1_000, 3_000, 10_000)
ROUNDS = 20
_TASKS_OF_SPEC = 50
_LISTS = ("tasks.json", "issues.jsonl", "tasks.md", "many specs")
BUDGETS = {
    "a save of one row, in the engine": 25,
    "a save of one row -> diagnostic, all of the server": 25,
    **{f"{name}: first look": 1000 for name in _LISTS},
    **{f"{name}: a save of one status": 25 for name in _LISTS},
    "evaluate, nothing new": 5,
    "phasekeeper next --json, no server": 1000,
}
_FIXED = json.dumps([{"number": n, "words": "x" * 20, "list": [1, 2, 3]} for n in range(20_000)])


class BigPlan(NamedTuple):
    """A root with one plan, its text by lines, and the lines of its open tasks."""

    root: Path
    path: Path
    lines: list[str]
    open_rows: list[int]

    @classmethod
    def write(cls, root: Path, tasks: int) -> BigPlan:
        """Write a root with a plan of so many tasks."""
        (root / ".git").mkdir(parents=True)
        path = write_plan(root, tasks) / "MASTER_PLAN.md"
        lines = path.read_text().split("\n")
        rows = [
            number for number, line in enumerate(lines) if line.endswith("| [ ] |") and "-task.md" in line
        ]
        return cls(root, path, lines, rows)

    def texts(self, mark: str) -> Iterator[str]:
        """The plan with one row marked, each time another one; and in between as it was."""
        for number in range(ROUNDS):
            row = self.open_rows[number * 7919 % len(self.open_rows)]
            marked = self.lines[row].replace("[ ]", mark)
            yield "\n".join([*self.lines[:row], marked, *self.lines[row + 1 :]])
            yield "\n".join(self.lines)


def minimum_ms(works: Iterator[Callable[[], object]]) -> float:
    """The least time of some pieces of work."""
    times = []
    for work in works:
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times) * 1000


def fixed_ms() -> float:
    """What `json.loads` takes for a text of 1.3 MB."""
    return minimum_ms(iter([lambda: json.loads(_FIXED)] * ROUNDS))


def reading(plan: BigPlan) -> Mapping[str, float]:
    """What the plan's reader costs, alone and after another text."""
    text, before = "\n".join(plan.lines), reader.read("\n".join(plan.lines))
    # Each in the place of the other, so that none is the text that was read before it.
    lower = [f"{text[:2]}{'*' * n}{text[2:]}" for n in range(ROUNDS)]
    return {
        "read the plan": minimum_ms(lambda: reader.read(text) for _ in range(5)),
        "read it again, one row differs": minimum_ms(
            lambda t=t: reader.read(t, before) for t in plan.texts("[~]")
        ),
        "read it again, lines were put on top": minimum_ms(
            lambda t=f"words\n\n{t}": reader.read(t, before) for t in lower
        ),
    }


def engine(plan: BigPlan) -> Mapping[str, float]:
    """What changes of files cost the engine."""
    live = LiveRoot(plan.root)
    first = minimum_ms(iter([lambda: [*live.scan_in_parts()]]))
    task = plan.path.with_name(plan.lines[plan.open_rows[0]].split("`")[1])
    words = task.read_text()

    def saves(path: Path, texts: Iterator[str]) -> Iterator[Callable[[], object]]:
        for text in texts:
            replace(path, text)
            yield lambda: live.refresh_paths([path])

    return {
        "first look": first,
        "a save of one row, in the engine": minimum_ms(saves(plan.path, plan.texts("[x]"))),
        "a save of the same text": minimum_ms(saves(plan.path, iter(["\n".join(plan.lines)] * ROUNDS))),
        "a save of a task's file": minimum_ms(saves(task, (words + "\n" * n for n in range(ROUNDS)))),
    }


def tags(plan: BigPlan) -> Mapping[str, float]:
    """What a tasks.json of Task Master with as many tasks costs the engine."""
    words = {"title": "Work on it", "description": "Do what is to be done.", "details": "- one\n- two"}
    tasks = [
        {"id": n, **words, "status": "pending", "dependencies": [n - 1] if n % 5 else []}
        for n in range(1, len(plan.open_rows) + 1)
    ]

    def text(number: int) -> str:
        tasks[number * 7919 % len(tasks)]["status"] = "done"
        return json.dumps({"master": {"tasks": tasks, "metadata": {"updated": str(number)}}}, indent=2)

    root = plan.root.with_name("tags")
    return _of_file(root, root / ".taskmaster/tasks/tasks.json", text)


def issues(plan: BigPlan) -> Mapping[str, float]:
    """What an issues.jsonl of beads with as many issues costs the engine."""
    lines = [
        {"id": f"bd-{n}", "title": "Work on it", "description": "Do what is to be done.", "status": "open",
         "priority": n % 4, "issue_type": "task", "created_at": f"2026-01-01T00:{n % 60:02}:00Z",
         "dependencies": [{"depends_on_id": f"bd-{n - 1}", "type": "blocks"}] if n % 5 else []}
        for n in range(1, len(plan.open_rows) + 1)
    ]  # fmt: skip

    def text(number: int) -> str:
        lines[number * 7919 % len(lines)]["status"] = "closed"
        return "".join(f"{json.dumps(each)}\n" for each in lines)

    root = plan.root.with_name("issues")
    return _of_file(root, root / ".beads/issues.jsonl", text)


def checklist(plan: BigPlan) -> Mapping[str, float]:
    """What a tasks.md of spec-kit with as many tasks, in phases of a hundred, costs the engine."""
    root = plan.root.with_name("features")
    path = root / "specs/001-shop/tasks.md"
    path.parent.mkdir(parents=True)
    for name in ("spec.md", "plan.md"):
        (path.parent / name).write_text("# Shop\n\nWhat it is.\n")
    marks = [" "] * len(plan.open_rows)

    def text(number: int) -> str:
        marks[number * 7919 % len(marks)] = "x"
        heads = (f"\n## Phase {n // 100 + 1}\n\n" if n % 100 == 0 else "" for n in range(len(marks)))
        rows = (f"- [{mark}] T{n:05} [P] Do the work in src/a{n}.py\n" for n, mark in enumerate(marks, 1))
        return "# Tasks: Shop\n" + "".join(head + row for head, row in zip(heads, rows, strict=True))

    return _of_file(root, path, text)


def specs(plan: BigPlan) -> Mapping[str, float]:
    """What a root of spec-kit costs the engine whose features, of fifty tasks each, have as many tasks."""
    root = plan.root.with_name("specs")
    count = max(1, len(plan.open_rows) // _TASKS_OF_SPEC)

    def text(number: int) -> str:
        rows = (
            f"- [{'x' if n <= number else ' '}] T{n:03} Do the work in src/a{n}.py\n"
            for n in range(1, _TASKS_OF_SPEC + 1)
        )
        return "# Tasks: Shop\n\n## Phase 1: Setup\n\n" + "".join(rows)

    for spec in range(1, count + 1):
        folder = root / f"specs/{spec:03}-shop"
        folder.mkdir(parents=True)
        for name in ("spec.md", "plan.md"):
            (folder / name).write_text(f"# Shop {spec}\n\n## Requirements\n\nWhat it is.\n")
        (folder / "tasks.md").write_text(text(spec % _TASKS_OF_SPEC))
    measured = _of_file(root, root / "specs/001-shop/tasks.md", text)
    return {what.replace("tasks.md", "many specs"): value for what, value in measured.items()}


def _of_file(root: Path, path: Path, text: Callable[[int], str]) -> Mapping[str, float]:
    """What the first look at a root with one file costs, and saves of it, each with another task done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, text(0))
    live = LiveRoot(root)
    first = minimum_ms(iter([lambda: [*live.scan_in_parts()]]))

    def saves() -> Iterator[Callable[[], object]]:
        for number in range(1, ROUNDS):
            replace(path, text(number))
            yield lambda: live.refresh_paths([path])

    return {f"{path.name}: first look": first, f"{path.name}: a save of one status": minimum_ms(saves())}


def evaluating(plan: BigPlan) -> Mapping[str, float]:
    """What an evaluation costs when nothing of the plan differs."""
    before = Workspace(plan.root)
    match = before.matches[0]
    before.evaluate(match)

    def fresh() -> Iterator[Callable[[], object]]:
        for _ in range(ROUNDS):
            workspace = Workspace(plan.root, parsed=before.parsed)
            workspace.files = before.files
            snapshot = workspace.snapshot(match)
            yield lambda s=snapshot: evaluate(match.workflow, s)

    return {"evaluate, nothing new": minimum_ms(fresh())}


def editor(plan: BigPlan) -> Mapping[str, float]:
    """What a server with one editor takes for a save until it has told the editor."""
    environment = os.environ | {"XDG_STATE_HOME": str(plan.root.parent / "state")}
    client = LspClient([sys.executable, "-I", "-m", "phasekeeper", "lsp", "--standalone"], environment)
    uri = plan.path.as_uri()

    def tells(message: Mapping[str, Any], is_marked: bool) -> bool:
        if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != uri:
            return False
        return any("[?]" in each["message"] for each in message["params"]["diagnostics"]) == is_marked

    try:
        client.initialize(plan.root)
        while not client.ask("phasekeeper/board", {})[1]["roots"]:
            sleep(0.05)
        taken = []
        for number, text in enumerate(plan.texts("[?]")):
            before = threads_ms(client.process.pid)
            replace(plan.path, text)
            client.send("textDocument/didSave", {"textDocument": {"uri": uri}})
            client.until(lambda message, marked=number % 2 == 0: tells(message, marked))
            # What follows the diagnostic is the save's, too.
            sleep(0.05)
            taken.append(threads_ms(client.process.pid) - before)
    finally:
        client.end()
    return {"a save of one row -> diagnostic, all of the server": min(taken)}


def commands(plan: BigPlan) -> Mapping[str, float]:
    """What `next --json` takes without a server, and how much it says."""
    line = [sys.executable, "-I", "-m", "phasekeeper", "next", "--json", str(plan.root)]
    told = subprocess.run(line, capture_output=True, check=False).stdout
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run(line, stdout=subprocess.DEVNULL, check=False)
        after = os.times()
        times.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return {"phasekeeper next --json, no server": min(times) * 1000, "  its answer, in KB": len(told) / 1000}


def main(arguments: Sequence[str]) -> None:
    sizes = [int(word) for word in arguments] or SIZES
    print(f"{machine()}\n\nplans of {', '.join(f'{size:,}' for size in sizes)} tasks, ms of the processor")
    found: dict[str, list[float]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            plan = BigPlan.write(Path(folder).resolve() / "root", size)
            found.setdefault("floor: json.loads of a fixed text", []).append(fixed_ms())
            for measure in (reading, engine, tags, issues, checklist, specs, evaluating, editor, commands):
                for what, value in measure(plan).items():
                    found.setdefault(what, []).append(value)
    for what, values in found.items():
        grows = math.log(max(values[-1], 0.001) / max(values[0], 0.001)) / math.log(sizes[-1] / sizes[0])
        budget = f"budget {BUDGETS[what]}" if what in BUDGETS else ""
        print(f"  {what:<52} {''.join(f'{value:10.1f}' for value in values)}  ^{grows:.2f}  {budget}")


if __name__ == "__main__":
    main(sys.argv[1:])
