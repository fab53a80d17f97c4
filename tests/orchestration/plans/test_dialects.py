"""A dialect of plans is one value and one line: a checkbox list, added from outside, works everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from phasekeeper.orchestration.definition.root_config import Config
from phasekeeper.orchestration.definition.schema import json_schema
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.journal.journal import prove_none
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import (
    Dialect,
    MarkStatus,
    Plan,
    PlanEdit,
    RowPlace,
    Stage,
    StageTasks,
    Task,
)
from phasekeeper.orchestration.snapshot.discovery import DefinitionSet, DiscoverableWorkflow, discover
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.orchestration.updates.propose import Proposal, propose
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.lsp.definitions.key_completion import in_definition

WORKFLOW = """\
workflow: listed
runs: {at: [work/*], marker: {file: TODO.md, text: "- ["}}
artifacts:
  todo: {paths: [TODO.md], kind: checkbox}
phase: [{is: work}]
phases:
  work:
    tasks: "tasks({'done': false})"
    rules: [{when: todo.done == todo.total, stop: complete}, {when: "report.phase == 'work'", act: tidy}]
actions: {tidy: {}}
effects:
  work.ok: {todo: "check_tasks('1')"}
  work.error: {todo: "append_stage('More', [{'title': 'more'}])"}
"""
LIST = "# Todo\n\n- [ ] one Buy milk\n- [x] two Drink it\n"
_ITEM = re.compile(r"- \[(.)\] (\S+) (.*)")
_MARKS = {" ": MarkStatus.TODO, "x": MarkStatus.DONE}


def read_list(text: str) -> Plan | None:
    """Every item with a box is a task of one stage."""
    tasks = [
        Task(
            match[2], match[2], match[3], "1", _MARKS.get(match[1], MarkStatus.UNKNOWN), "", "",
            RowPlace(line, 6, 6 + len(match[2])), RowPlace(line, 2, 5),
        )
        for line, item in enumerate(text.split("\n"))
        if (match := _ITEM.match(item))
    ]  # fmt: skip
    stage = Stage("1", "All", Span(0, 0, 0, 0), StageTasks(tasks))
    return Plan("Todo", "", (stage,), digest_of(text.replace("[x]", "[ ]"))) if tasks else None


def check_all(text: str, stage: str) -> str:
    return text.replace("- [ ]", "- [x]")


@pytest.fixture(autouse=True)
def checkbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dialect, registered while a test runs."""
    dialect = Dialect(
        about="a list of boxes",
        lacks="item with a box",
        read=read_list,
        marks=_MARKS,
        mark_place=re.compile(r"- \[.?$"),
        edits={PlanEdit.CHECK_TASKS: check_all},
    )
    monkeypatch.setitem(DIALECTS, "checkbox", dialect)


def proposed(outcome: str) -> Proposal:
    """What a report of the work proposes to write."""
    files = MemoryFiles({"work/a/TODO.md": LIST})
    run = read_run(parse_workflow(WORKFLOW), files, "work/a", root="r", verify=prove_none)
    act = Command("report", "work", outcome, actor="me", channel="cli")
    return propose(evaluate_traced(run.workflow, run), act, datetime(2026, 1, 2, tzinfo=UTC))


def test_it_is_read_found_and_scheduled() -> None:
    workflow = parse_workflow(WORKFLOW)
    files = MemoryFiles({"work/a/TODO.md": LIST, "work/b/TODO.md": "nothing\n"})
    found = discover(
        DefinitionSet([DiscoverableWorkflow("listed", workflow.runs.at, False, lambda: workflow)]),
        files,
        Config(),
    )
    assert [match.run for match in found.matches] == ["work/a"]
    run = read_run(workflow, files, "work/a", root="r", verify=prove_none)
    evaluation = evaluate_traced(workflow, run).evaluation
    assert evaluation.progress is not None and evaluation.plan is not None
    assert (evaluation.progress.done, evaluation.progress.total) == (1, 2)
    assert evaluation.plan.schedule.ready == ("one",)


def test_a_file_without_a_plan_says_what_it_lacks() -> None:
    files = MemoryFiles({"work/a/TODO.md": "- [no box\n"})
    workflow = parse_workflow(WORKFLOW)
    run = read_run(workflow, files, "work/a", root="r", verify=prove_none)
    messages = [finding.message for finding in evaluate_traced(workflow, run).evaluation.findings]
    assert "holds no item with a box" in messages


def test_a_report_ticks_its_tasks() -> None:
    (edit,) = proposed("ok").edits
    assert (edit.path, edit.text) == ("work/a/TODO.md", LIST.replace("[ ]", "[x]"))


def test_an_edit_that_it_does_not_have_is_refused() -> None:
    with pytest.raises(CommandRefused, match="plans of this kind have no edit 'append_stage'"):
        proposed("error")


def test_its_word_is_completed_and_in_the_schema() -> None:
    source = WORKFLOW.replace("checkbox", "")
    line = next(number for number, text in enumerate(source.split("\n")) if "kind: " in text)
    items = in_definition(source, line, source.split("\n")[line].index("kind: ") + 6)
    assert [item.label for item in items][-1] == "checkbox"
    kind = json_schema()["$defs"]["artifact"]["properties"]["kind"]
    assert kind["enum"][-1] == "checkbox"


def test_a_mark_is_written_as_it_is_written_first() -> None:
    master_plan = DIALECTS["master-plan"]
    assert master_plan.mark_of[MarkStatus.DONE] == "x"
    assert list(master_plan.mark_of) == list(dict.fromkeys(master_plan.marks.values()))
    assert DIALECTS["checkbox"].read_task("anything").problems == ()


def test_the_grammar_of_definitions_imports_no_parser_of_plans() -> None:
    code = (
        "import sys; import phasekeeper.orchestration.definition.schema\n"
        "from phasekeeper.orchestration.plans.dialects import DIALECTS\n"
        "assert 'master-plan' in DIALECTS and not any('.master_plan' in name for name in sys.modules)\n"
        "assert DIALECTS['master-plan'] is DIALECTS['master-plan']"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
