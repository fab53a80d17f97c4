"""Real task folders of the five workflows stand where their authors left them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.plans.master_plan.reader import read

from tests.corpus.places import kept, put_back

pytestmark = pytest.mark.corpus

Status = Callable[[Path], list[dict[str, Any]]]
OPEN_MEM = "clopca/open-mem"


def told(run: dict[str, Any]) -> tuple[str, str, str, str]:
    """The run's workflow, phase, status and next step."""
    suggestion = run["suggestion"]
    step = " ".join(filter(None, [suggestion["kind"], suggestion["suggestedNext"]]))
    return run["workflow"], run["currentPhase"], run["status"], step


def progress(run: dict[str, Any]) -> tuple[int, int]:
    return run["progress"]["done"], run["progress"]["total"]


def errors(run: dict[str, Any]) -> list[str]:
    return [found["code"] for found in run["findings"] if found["severity"] == "error"]


# ---- master plans -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revision", "phase", "asked", "done"),
    [
        ("bb04f729", "3", "plan", 0),
        ("7dd52040", "3", "plan", 0),
        ("4653fbac", "4a", "adoption", 4),
    ],
)
def test_a_plan_awaits_approval_until_its_first_stage_is_marked(
    corpus: Path, tmp_path: Path, status: Status, revision: str, phase: str, asked: str, done: int
) -> None:
    (run,) = status(put_back(corpus, OPEN_MEM, tmp_path, revision))
    assert run["run"] == "tasks/open-mem"
    assert told(run) == ("master-plan", phase, "waiting_human", "wait")
    assert [question["id"] for question in run["questions"]] == [asked]
    assert progress(run) == (done, 22)
    assert errors(run) == []


def test_an_adopted_plan_hands_out_what_its_dependencies_let_begin(
    corpus: Path, tmp_path: Path, status: Status
) -> None:
    root = put_back(corpus, OPEN_MEM, tmp_path, "4653fbac")
    (root / ".phasekeeper").mkdir()
    (root / ".phasekeeper/config.yaml").write_text("parameters: {master-plan: {adoption: auto}}\n")
    (run,) = status(root)
    assert told(run) == ("master-plan", "4a", "active", "stay 4a")
    # 06 needs 05, 07 needs 06, and the tests of the stage need them all.
    assert run["suggestion"]["tasks"] == ["open-mem-05"]
    assert [len(batch) for batch in run["suggestion"]["parallel"]] == [1, 1, 1, 1]
    states = [[task["state"] for task in stage["tasks"]] for stage in run["plan"]["stages"]]
    assert states[:2] == [["done"] * 4, ["ready", "blocked", "blocked", "blocked"]]


def test_marking_a_stage_is_no_change_of_substance_but_a_revised_plan_is(corpus: Path) -> None:
    plans = {e.revision: read(e.file.read_text(encoding="utf-8")) for e in kept(corpus) if e.revision}
    substance = {revision: plan.substance for revision, plan in plans.items() if plan}
    assert substance["7dd52040"] == substance["4653fbac"] != substance["bb04f729"]


def test_a_finished_plan_is_not_complete_before_its_validation(
    corpus: Path, tmp_path: Path, status: Status
) -> None:
    (run,) = status(put_back(corpus, "NachoFLizaur/kiro-acp-ai-provider", tmp_path))
    assert run["run"] == ".corvus/tasks/session-storage"
    assert told(run) == ("master-plan", "5a", "waiting_human", "wait")
    assert progress(run) == (5, 5)
    assert errors(run) == []


def test_task_files_without_their_plan_are_no_run(corpus: Path, tmp_path: Path, status: Status) -> None:
    root = put_back(corpus, OPEN_MEM, tmp_path)
    assert (root / "tasks/open-mem/01-project-scaffolding.md").exists()
    assert status(root) == []


# ---- the others -------------------------------------------------------------------------------

PLANNED = ("planning", "advance plan_review")


@pytest.mark.parametrize(
    ("name", "run", "raw", "expected"),
    [
        ("planning-meeting-go", "test-task-go", "planning_done", PLANNED),
        ("planning-meeting-ai-decision", "test-ai-decision", "planning_done", PLANNED),
        ("planning-meeting-test-hold", "test-ai-testplanner-hold", "planning_done", PLANNED),
        ("orchestrator", "test-orch", "test_run", ("test", "regress planning")),
    ],
)
def test_a_task_of_the_pipeline_goes_one_step_on_or_back_to_what_is_lacking(
    corpus: Path, tmp_path: Path, status: Status, name: str, run: str, raw: str, expected: tuple[str, str]
) -> None:
    root = put_back(corpus, "Zjianru/ai-tools-chain", tmp_path) / ".tmp-tests" / name
    (found,) = status(root)
    assert found["run"] == f".ai-tools-chain/tasks/{run}"
    assert found["rawPhase"] == raw
    assert told(found) == ("artifact-pipeline", expected[0], "active", expected[1])
    assert errors(found) == (["inconsistent-state"] if name == "orchestrator" else [])


def test_a_task_without_a_state_file_is_no_run(corpus: Path, tmp_path: Path, status: Status) -> None:
    root = put_back(corpus, "Zjianru/ai-tools-chain", tmp_path) / ".tmp-tests/planning-memory"
    assert (root / ".ai-tools-chain/tasks/test-memory/planning/planning.memory.jsonl").exists()
    assert status(root) == []


@pytest.mark.parametrize(
    ("ending", "phase", "counted"),
    [
        ("state/defaults/loop.default.json", "classify", (0, 0)),
        ("BLUEPRINT.md (example block)", "quality", (1, 3)),
    ],
)
def test_a_loop_is_in_the_phase_that_its_state_names(
    corpus: Path, tmp_path: Path, status: Status, ending: str, phase: str, counted: tuple[int, int]
) -> None:
    (file,) = (entry.file for entry in kept(corpus) if entry.path.endswith(ending))
    place = tmp_path / ".claude/state/loop.state.json"
    place.parent.mkdir(parents=True)
    shutil.copyfile(file, place)
    (run,) = status(tmp_path)
    assert told(run) == ("phase-loop", phase, "active", f"stay {phase}")
    assert progress(run) == counted
    assert errors(run) == []


def test_a_tuning_begins_with_its_first_action(corpus: Path, tmp_path: Path, status: Status) -> None:
    (run,) = status(put_back(corpus, "catlog22/Claude-Code-Workflow", tmp_path))
    assert run["run"] == ".workflow/.scratchpad/skill-tuning-1"
    assert told(run) == ("skill-tuning", "pending", "active", "act action-init")
    assert errors(run) == []


# ---- what is none of theirs -------------------------------------------------------------------

NOBODYS = ["johns10/code_my_spec_docs", "keevaspeyer10x/workflow-orchestrator", "NeetigyaShah/docguard"]
PLACES = (
    ".ai-tools-chain/tasks/{}/state.json",
    ".workflow/.scratchpad/skill-tuning-{}/state.json",
    ".phasekeeper/sessions/{}/session.json",
    ".claude/state/loop.state.json",
)


@pytest.mark.parametrize("repository", NOBODYS)
def test_the_files_of_another_tool_are_nobody_s_run(
    corpus: Path, tmp_path: Path, status: Status, repository: str
) -> None:
    assert status(put_back(corpus, repository, tmp_path)) == []


@pytest.mark.parametrize("place", PLACES)
def test_a_look_alike_is_nobody_s_run_where_runs_are_looked_for(
    corpus: Path, tmp_path: Path, status: Status, place: str
) -> None:
    files = [e.file for e in kept(corpus) if e.repository in NOBODYS and e.file.suffix == ".json"]
    assert len(files) == 7
    for number, file in enumerate(files):
        there = tmp_path / str(number) / place.format(number)
        there.parent.mkdir(parents=True)
        shutil.copyfile(file, there)
        assert status(tmp_path / str(number)) == []
