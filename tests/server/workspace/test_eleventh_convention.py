"""One more convention is a workflow of YAML and a module with its dialect: found, read, written, recorded."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

MODULE = '''\
"""The dialect of ledgers: `todo: NAME` and `done: NAME` in a line each."""

import re

from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.plans.model import (
    Dialect, MarkStatus, Plan, PlanEdit, RowPlace, Stage, StageTasks, Task,
)
from phasekeeper.orchestration.vfs.files import digest_of

MARKS = {"todo": MarkStatus.TODO, "done": MarkStatus.DONE}
LINE = re.compile(r"(\\\\w+): (\\\\S+)")


def read(text):
    tasks = StageTasks(
        Task(match[2], match[2], match[2], "1", MARKS.get(match[1], MarkStatus.UNKNOWN), "", "",
             RowPlace(number, match.start(2), match.end(2)))
        for number, line in enumerate(text.split("\\\\n"))
        if (match := LINE.fullmatch(line))
    )
    stage = Stage("1", "All", Span(0, 0, 0, 0), tasks)
    return Plan("Ledger", "", (stage,), digest_of(text)) if tasks else None


def tick(text, names):
    for name in names:
        text = text.replace(f"todo: {name}", f"done: {name}")
    return text


DIALECT = Dialect(
    about="a ledger", lacks="line with a task", read=read, marks=MARKS, mark_place=re.compile("^$"),
    edits={PlanEdit.TICK_TASKS: tick},
)
'''.replace("\\\\", "\\")
WORKFLOW = """\
workflow: ledger
runs: {at: ["ledgers/*"], records: root, marker: {file: ledger.txt}}
artifacts: {work: {paths: [ledger.txt], kind: ledger}}
values: {todo: "tasks({'done': false})"}
phase:
  - {when: "valid.work && todo == []", is: done}
  - {is: work}
phases:
  work:
    outcomes: [complete, blocked]
    tasks: todo
    leads_to: [done]
    rules: [{when: "todo != []", to: work, because: "{work.done} of {work.total}"}]
  done: {terminal: complete}
effects: {work.complete: {work: tick_tasks(report.tasks)}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of that convention; its dialect is registered while a test runs."""
    module = tmp_path / "ledger_dialect.py"
    module.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("ledger_dialect", module)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.setitem(DIALECTS, "ledger", loaded.DIALECT)
    root = tmp_path / "root"
    for path, text in {
        ".phasekeeper/workflows/ledger.yaml": WORKFLOW,
        "ledgers/house/ledger.txt": "todo: roof\ndone: walls\nlater: garden\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_it_is_found_and_no_line_of_it_is_lost(root: Path) -> None:
    workspace = Workspace(root)
    match = workspace.match("ledgers/house")
    assert match
    evaluation = workspace.evaluate(match)
    assert (evaluation.workflow, evaluation.current_phase, str(evaluation.status)) == (
        "ledger",
        "work",
        "active",
    )
    assert evaluation.suggestion.tasks == ("roof", "garden")
    assert [finding.code for finding in evaluation.findings] == []


def test_a_report_writes_its_line_and_records_in_the_root(root: Path) -> None:
    act = Command("report", "work", "complete", tasks=("roof",))
    apply.apply_command(Workspace(root), "ledgers/house", act)
    assert (root / "ledgers/house/ledger.txt").read_text() == "done: roof\ndone: walls\nlater: garden\n"
    assert [each.name for each in (root / "ledgers/house").iterdir()] == ["ledger.txt"]
    (journal,) = (root / ".phasekeeper").rglob("journal.jsonl")
    assert journal.is_relative_to(root / ".phasekeeper/runs/ledger")
