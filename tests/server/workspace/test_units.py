"""Runs that are parts of a file, FILE#UNIT: where they are found, their names, what is written of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.server.cli.main import main
from phasekeeper.server.lsp.view.annotations import annotations_of
from phasekeeper.server.mcp.uris import parse_uri, resource_uri
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace
from phasekeeper.tools.run_names import NoSuchRun, find_run

from tests.roots import put

FILE = ".taskmaster/tasks/tasks.json"
TASKS = {
    "master": {"tasks": [{"id": 1, "title": "a", "status": "pending"}, {"id": 2, "title": "b"}]},
    "feat/c#": {"tasks": [{"id": 1, "title": "c", "status": "done"}]},
}
OWN = """\
workflow: list
runs: {at: ["lists/*.md"], unit: file, records: root, marker: {file: "#"}}
artifacts: {work: {paths: ["#"], kind: openspec}, notes: {paths: [notes.txt], kind: text}}
phase:
  - {when: valid.work && work.done == work.total, is: over}
  - {is: do}
phases:
  do:
    outcomes: [ok]
    tasks: "tasks({'done': false})"
    rules: [{when: valid.work, to: do, because: "notes: {valid.notes}"}]
  over: {terminal: complete}
effects: {do.ok: {work: tick_tasks(report.tasks)}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    put(root / FILE, json.dumps(TASKS, indent=2))
    return root


def names(root: Path) -> list[str]:
    return [match.run for match in Workspace(root).matches]


def test_each_tag_is_a_run_with_a_name_that_can_be_a_folder(root: Path) -> None:
    assert names(root) == [f"{FILE}#feat%2Fc%23", f"{FILE}#master"]
    match = Workspace(root).match(f"{FILE}#master")
    assert match
    assert match.home == f".phasekeeper/runs/task-master/{FILE}#master"
    assert Workspace(root).match(FILE) is None
    assert Workspace(root).match(f"{FILE}#nobody") is None


def test_a_folder_may_have_the_sign_in_its_name(root: Path) -> None:
    put(root / "openspec/changes/port-c#/proposal.md", "## Why\n")
    put(root / "openspec/changes/a.json#b/proposal.md", "## Why\n")
    assert names(root)[2:] == ["openspec/changes/a.json#b", "openspec/changes/port-c#"]
    for run in names(root)[2:]:
        match = Workspace(root).match(run)
        assert match
        assert Workspace(root).evaluate(match).current_phase == "specs"


@pytest.mark.parametrize("wanted", ["master", "tasks.json#master", f"{FILE}#master", f"./{FILE}#master"])
def test_a_run_answers_to_its_unit_and_to_tails_of_its_path(
    root: Path, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--json", "--root", str(root), "--run", wanted]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["run"] == f"{FILE}#master"


def test_a_file_alone_names_its_run_where_it_has_one() -> None:
    assert find_run(["docs/PLAN.md#plan", "a/tasks.json#x"], "PLAN.md") == "docs/PLAN.md#plan"
    with pytest.raises(NoSuchRun, match="more than one"):
        find_run(["a/tasks.json#x", "a/tasks.json#y"], "tasks.json")


def test_the_path_of_a_file_means_all_runs_in_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(root / "openspec/changes/one/proposal.md", "## Why\n")
    assert main(["status", "--json", str(root / FILE)]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["run"] for run in runs] == names(root)[:2]


def test_a_report_changes_the_status_of_its_tasks_and_its_records_lie_apart(root: Path) -> None:
    before = (root / FILE).read_text()
    apply.apply_command(
        Workspace(root), f"{FILE}#master", Command("report", "implement", "complete", tasks=("1",))
    )
    assert (root / FILE).read_text() == before.replace('"pending"', '"done"')
    home = root / f".phasekeeper/runs/task-master/{FILE}#master/.phasekeeper"
    assert len((home / "journal.jsonl").read_text().splitlines()) == 1
    assert {path.name for path in (root / ".taskmaster").rglob("*")} == {"tasks", "tasks.json"}


def test_a_task_of_another_tag_is_not_there(root: Path) -> None:
    with pytest.raises(CommandRefused, match="is no task of the plan; known: 1"):
        act = Command("report", "implement", "complete", tasks=("2",))
        put(root / FILE, json.dumps({**TASKS, "other": {"tasks": [{"id": 1, "title": "d"}]}}))
        apply.apply_command(Workspace(root), f"{FILE}#other", act)


def test_a_claim_of_one_tag_holds_in_that_alone(root: Path) -> None:
    put(root / FILE, json.dumps({**TASKS, "other": {"tasks": [{"id": 1, "title": "d"}]}}))
    apply.claim(Workspace(root), f"{FILE}#master", "1", "ann", 60)
    apply.apply_command(
        Workspace(root), f"{FILE}#other", Command("report", "implement", "complete", tasks=("1",))
    )
    with pytest.raises(apply.StoreError, match="claimed by ann"):
        apply.apply_command(
            Workspace(root), f"{FILE}#master", Command("report", "implement", "complete", tasks=("1",))
        )


# ---- a plan of many files


def test_a_report_writes_in_the_file_of_its_task_alone(root: Path) -> None:
    put(root / "backlog/config.yml", "statuses: [To Do, Done]\n")
    put(root / "backlog/tasks/task-1 - A.md", "---\nid: task-1\nstatus: To Do\n---\n- [ ] no criterion\n")
    criteria = "---\nid: task-2\nstatus: To Do\n---\n## Acceptance Criteria\n- [ ] b\n"
    put(root / "backlog/tasks/task-2 - B.md", criteria)
    apply.apply_command(Workspace(root), "backlog", Command("report", "work", "complete", tasks=("task-1",)))
    texts = {file.name: file.read_text() for file in (root / "backlog/tasks").iterdir()}
    assert "status: Done" in texts["task-1 - A.md"]
    assert texts["task-2 - B.md"] == criteria
    with pytest.raises(CommandRefused, match="acceptance criteria"):
        act = Command("report", "work", "complete", tasks=("task-2",))
        apply.apply_command(Workspace(root), "backlog", act)
    match = Workspace(root).match("backlog")
    assert match
    board = Workspace(root).evaluate(match).plan
    assert board
    task = board.task("task-2")
    assert task
    # A task stands in its own file.
    assert (task.path, task.line) == ("backlog/tasks/task-2 - B.md", 1)


def test_a_report_takes_a_story_on_in_its_tracker_and_its_file(root: Path) -> None:
    at = root / "_bmad-output/implementation-artifacts"
    tracker = "development_status:\n  epic-1: backlog\n  1-1-pay: ready-for-dev # soon\n"
    story = "# Story 1.1: Pay\n\nStatus: ready-for-dev\n\n## Tasks / Subtasks\n- [ ] Cards\n"
    put(at / "sprint-status.yaml", tracker)
    put(at / "1-1-pay.md", story)
    run = "_bmad-output/implementation-artifacts"

    def report(task: str, outcome: str = "complete") -> None:
        act = Command("report", "develop", outcome, tasks=(task,))
        apply.apply_command(Workspace(root), run, act)

    with pytest.raises(CommandRefused, match="1-1-pay waits for 1-1-pay:cards"):
        report("1-1-pay")
    report("1-1-pay:cards")
    begun = tracker.replace("backlog", "in-progress").replace("ready-for-dev", "in-progress")
    assert (at / "sprint-status.yaml").read_text() == begun
    assert (at / "1-1-pay.md").read_text() == story.replace("[ ]", "[x]").replace(
        "ready-for-dev", "in-progress"
    )
    report("1-1-pay")
    assert "1-1-pay: review # soon" in (at / "sprint-status.yaml").read_text()
    report("1-1-pay", "approved")
    assert "1-1-pay: done # soon" in (at / "sprint-status.yaml").read_text()
    assert "Status: done" in (at / "1-1-pay.md").read_text()
    assert sorted(each.name for each in at.iterdir()) == ["1-1-pay.md", "sprint-status.yaml"]


# ---- a definition of somebody's own


def test_a_definition_of_one_s_own_may_have_files_as_runs(root: Path) -> None:
    put(root / ".phasekeeper/workflows/list.yaml", OWN)
    put(root / "lists/Week 12.md", "# Week\r\n\r\n- [x] 1.1 a\r\n- [ ] 1.2 b\r\n")
    put(root / "lists/notes.txt", "n")
    run = "lists/Week 12.md#Week%2012"
    workspace = Workspace(root)
    match = workspace.match(run)
    assert match
    evaluation = workspace.evaluate(match)
    assert (evaluation.current_phase, evaluation.suggestion.tasks) == ("do", ("1.2",))
    # Other paths are from the folder that the file is in.
    assert evaluation.suggestion.reason == "notes: true"
    apply.apply_command(workspace, run, Command("report", "do", "ok", tasks=("1.2",)))
    assert (root / "lists/Week 12.md").read_bytes() == b"# Week\n\n- [x] 1.1 a\n- [x] 1.2 b\n".replace(
        b"\n", b"\r\n"
    )
    again = Workspace(root)
    assert again.evaluate(match).current_phase == "over"


def test_a_broken_definition_hides_no_other_and_says_which_file_it_leaves_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(root / ".phasekeeper/workflows/list.yaml", OWN.replace("kind: openspec", "kind: nothing"))
    put(root / "lists/a.md", "- [ ] 1.1 a\n")
    assert main(["status", "--root", str(root)]) == 2
    said = capsys.readouterr()
    assert "'list' cannot be used" in said.out + said.err
    assert f"{FILE}#master" in said.out


# ---- on other surfaces


def test_an_assistant_names_the_run_by_a_uri(root: Path) -> None:
    run = f"{FILE}#feat%2Fc%23"
    uri = resource_uri(str(root), run, "history")
    assert "#" not in uri
    named = parse_uri(uri)
    assert named
    assert (named.root, named.run, named.part) == (str(root), run, "history")


def test_an_editor_shows_what_is_said_of_the_run_in_its_file(root: Path) -> None:
    put(root / FILE, '{"master": {"tasks": [')
    match = Workspace(root).match(f"{FILE}#master")
    assert match
    shown = annotations_of(Workspace(root).evaluate(match))
    assert shown
    assert {each.finding.path for each in shown} == {FILE}
