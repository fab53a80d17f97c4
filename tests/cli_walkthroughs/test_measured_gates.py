"""Gates of all five workflows that open by the tests of a real project alone, pytest's and Node's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli_walkthroughs.driver import Drive
from tests.roots import needs

PASS_BY_HAND = {
    "status": "completed",
    "overall_pass": True,
    "results": [{"step": "unit", "status": "passed"}],
}
TASK = ".ai-tools-chain/tasks/T1"


class Project(NamedTuple):
    """A small project: the command that runs its tests, its files, and one of them broken."""

    run: list[str]
    files: Mapping[str, str]
    source: str
    broken: str
    failure: str


def python_project() -> Project:
    options = ["-q", "-p", "no:cacheprovider", "--junitxml=build/junit.xml", "tests"]
    tests = "from src.shop import price\n\n\ndef test_price():\n    assert price(2, 3) == 6\n"
    source = "def price(amount, unit):\n    return amount * unit\n"
    return Project(
        [sys.executable, "-B", "-m", "pytest", *options],
        {"src/shop.py": source, "tests/test_shop.py": tests},
        "src/shop.py",
        source.replace("*", "+"),
        "tests.test_shop.test_price",
    )


def node_project() -> Project:
    to = "--test-reporter-destination=build/junit.xml"
    tests = """\
import assert from "node:assert/strict";
import test from "node:test";
import { price } from "../src/shop.mjs";

test("price", () => { assert.equal(price(2, 3), 6); });
"""
    source = "export const price = (amount, unit) => amount * unit;\n"
    return Project(
        [needs("node"), "--test", "--test-reporter=junit", to],
        {"src/shop.mjs": source, "tests/shop.test.mjs": tests},
        "src/shop.mjs",
        source.replace("*", "+"),
        "price",
    )


def begin(drive: Drive, project: Project, config: str | dict[str, Any] = "") -> None:
    """Write a project, with the check `tests` that every workflow rests on, and have a person allow it."""
    config = config or {
        "checks": {
            "tests": {
                "run": project.run,
                "inputs": ["src/**", "tests/**"],
                "reports": {"junit": "build/junit.xml"},
                "timeout_s": 120,
            }
        },
        "parameters": {
            "artifact-pipeline": {"test_checks": ["tests"]},
            "master-plan": {"adoption": "auto", "stage_checks": ["tests"]},
            "component-design": {"document_checks": ["tests"]},
            "skill-tuning": {"quality_checks": ["tests"]},
        },
    }
    subprocess.run([needs("git"), "init", "-q"], cwd=drive.root, check=True)
    drive.write(".gitignore", "build/\n__pycache__/\n.phasekeeper/evidence/\n")
    drive.write(".phasekeeper/config.yaml", config)
    for path, text in project.files.items():
        drive.write(path, text)
    allowed = drive.decide("trust")
    assert (allowed.code, "allowed: tests" in allowed.out) == (0, True), allowed


def task_at_tests(drive: Drive, name: str = "T1") -> None:
    """An artifact pipeline that awaits its tests."""
    task = f".ai-tools-chain/tasks/{name}"
    for path, data in {
        "state.json": {"phase": "test", "actors": {}},
        "planning/planning.ai.json": {"id": name},
        "review/plan-review.json": {"ok": True},
        "review/code-review.json": {"ok": True},
    }.items():
        drive.write(f"{task}/{path}", data)
    drive.write(f"{task}/code/files/src/shop", "x\n")
    drive.write(f"{task}/code/diff.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    drive.write(f"{task}/review/code-review.json", {"ok": True})


def gate(drive: Drive, run: str, name: str) -> tuple[str, str | None]:
    """How a gate stands, and on what it rests."""
    gates = drive.evaluation(run)["gates"]
    found = next(each for each in gates if each["id"] == name)
    return found["status"], found.get("basis")


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    return Drive(tmp_path, monkeypatch)


@pytest.mark.parametrize("make", [python_project, node_project])
def test_the_gate_opens_by_passing_tests_and_closes_on_saving_a_source_file(drive: Drive, make: Any) -> None:
    project: Project = make()
    begin(drive, project)
    task_at_tests(drive)
    source = project.files[project.source]
    drive.write(f"{TASK}/eval/eval-report.json", dict(PASS_BY_HAND))
    assert gate(drive, TASK, "tests")[0] == "open"
    assert "tests: passed, 1 of 1 tests passed" in drive.do("verify").out
    assert gate(drive, TASK, "tests") == ("passed", "measured")
    assert drive.suggestion(TASK) == ("advance", "accept")

    drive.write(project.source, project.broken)
    assert gate(drive, TASK, "tests")[0] == "open"
    assert "they are stale; `phasekeeper verify` runs them" in drive.run("next", TASK).out
    drive.write(project.source, source)
    assert gate(drive, TASK, "tests") == ("passed", "measured")

    drive.write(project.source, project.broken)
    failed = drive.run("verify")
    assert failed.code == 1
    assert f"tests: failed, 1 of 1 tests failed: {project.failure}" in failed.out
    assert gate(drive, TASK, "tests") == ("failed", "measured")
    assert drive.suggestion(TASK) == ("regress", "codegen")
    drive.write(project.source, source)
    drive.do("verify")
    drive.do("report", "T1", "test", "ok")
    drive.write(project.source, project.broken)
    assert gate(drive, TASK, "tests")[0] == "passed"


def test_the_transcript_in_the_readme_is_what_is_printed(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```console\n(.*?)^```$", readme, flags=re.M | re.S)[0]
    config, *calls = [each.partition("\n") for each in shown.split("$ ")[1:]]
    assert config[0] == "cat .phasekeeper/config.yaml"
    programs = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    tests = (
        "from fees import cap\n\n\ndef test_cap():\n    assert cap(9) == 5\n\n\n"
        "def test_none():\n    assert cap(0) == 0\n"
    )
    mended = "def cap(fee):\n    return min(fee, 5)\n"
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
        "tests/test_fees.py": tests,
    }
    begin(
        drive,
        Project([], {**files, "src/fees.py": mended.replace("min(fee, 5)", "fee")}, "", "", ""),
        config[2],
    )
    task_at_tests(drive, "late-fees")
    assert drive.run("verify").code == 1
    for line, _, lines in calls:
        command = line.partition("#")[0].strip()
        if command == "phasekeeper verify":
            drive.write("src/fees.py", mended)
        result = drive.run(*command.split()[1:])
        assert [line for line in lines.splitlines() if line not in result.out + result.err] == [], result


# ---- a PASS that is written by hand, in each workflow ---------------------------------------------

PLAN, LOOP = ".orchestrator/tasks/f", ".claude/state"
SESSION, TUNING = ".phasekeeper/sessions/d", ".workflow/.scratchpad/skill-tuning-t"
TABLE = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"
REPORTED = ["action-init", "action-analyze-requirements", "action-diagnose-context", "action-generate-report"]


def planned(drive: Drive) -> None:
    """A plan whose stage is implemented, and a report file that says PASS."""
    rows = ""
    for number, mark in (("01", "x"), ("02", " ")):
        drive.write(f"{PLAN}/{number}-t.md", f"# {number}. T\n")
        rows += f"| {int(number)} | f-{number} | `{number}-t.md` | do it | impl | [{mark}] |\n"
    drive.write(f"{PLAN}/MASTER_PLAN.md", f"# F - Master Plan\n\n## Phase 1: Part\n\n{TABLE}{rows}")
    drive.do("report", "f", *drive.with_text("4a", "complete", "--task", "02"))
    words = drive.with_text("4b", "pass")
    drive.write(f"{PLAN}/reports/gate.md", Path(words[-1]).read_text(encoding="utf-8"))


def looped(drive: Drive) -> None:
    """A loop whose gate `tests` says passed."""
    made = {
        "version": "2.0", "iteration": 1, "phase": "evaluate", "status": "running", "consecutivePasses": 0,
        "workQueue": [], "gates": {"tests": {"status": "passed"}}, "history": [],
    }  # fmt: skip
    drive.write(f"{LOOP}/loop.state.json", made)


def designed(drive: Drive) -> None:
    """A design whose component is designed, which the session says is ok."""
    drive.write("docs/c.md", "# Design\n")
    child = {"id": "c", "type": "ComponentDesignSessions", "status": "complete"}
    drive.write(".phasekeeper/sessions/c/session.json", {**child, "state": {"artifact_path": "docs/c.md"}})
    said = {
        "id": "1",
        "command": {"module": "SpawnComponentDesignSessions", "metadata": {"child_session_ids": ["c"]}},
        "result": {"status": "ok"},
    }
    made = {"id": "d", "type": "ContextComponentsDesignSessions", "status": "active"}
    drive.write(f"{SESSION}/session.json", {**made, "interactions": [said], "child_sessions": ["c"]})


def tuned(drive: Drive) -> None:
    """A tuning whose quality gate says pass."""
    made = {
        "status": "running", "target_skill": {"name": "s"}, "diagnosis": {"context": {"status": "completed"}},
        "focus_areas": ["context"], "completed_actions": REPORTED, "quality_gate": "pass",
    }  # fmt: skip
    drive.write(f"{TUNING}/state.json", made)
    drive.write(f"{TUNING}/tuning-summary.md", "# Summary\n")


WORDS = {
    TASK: ("tests", "tests-contradictory", "eval/eval-report.json"),
    PLAN: ("2", "report-unsupported", "reports/gate.md"),
    LOOP: ("iteration", "status-drift", "loop.state.json"),
    SESSION: ("designs-checked", "status-drift", "session.json"),
    TUNING: ("quality", "quality-mismatch", "state.json"),
}
"""run → the gate that rests on the check, and the finding at the file that says PASS."""


def test_a_pass_by_hand_is_refused_with_the_reason_in_every_workflow(drive: Drive) -> None:
    project = python_project()
    begin(drive, project)
    for make in (task_at_tests, planned, looped, designed, tuned):
        make(drive)
    drive.write(f"{TASK}/eval/eval-report.json", dict(PASS_BY_HAND))
    drive.write(project.source, project.broken)
    assert drive.run("verify").code == 1

    found = json.loads(drive.run("check", "--format", "json").out)["findings"]
    for run, (name, code, path) in WORDS.items():
        assert gate(drive, run, name)[0] != "passed", run
        told = [each for each in found if each["code"] == code and each["path"] == f"{run}/{path}"]
        assert len(told) == 1, (run, told)
        assert re.search("tests.* failed|otherwise.*tests.*failed", told[0]["message"]), told
    for words in (
        ("T1", "test", "ok"),
        ("f", *drive.with_text("4b", "pass")),
        ("d", "SpawnComponentDesignSessions", "ok"),
    ):
        said = drive.refused("report", *words)
        assert "the check tests has passed on the files as they are (failed: 1 of 1 tests failed" in said, (
            said
        )
    assert "action-complete may not be reported now" in drive.refused(
        "report", "skill-tuning-t", "action-complete", "ok"
    )

    drive.write(project.source, project.files[project.source])
    drive.do("verify")
    for run, (_, code, _) in WORDS.items():
        assert code not in drive.codes(run), run
    assert gate(drive, TASK, "tests") == ("passed", "measured")
    assert gate(drive, SESSION, "designs-checked") == ("passed", "measured")
    assert gate(drive, TUNING, "quality-checked") == ("passed", "measured")
    assert drive.suggestion(PLAN) == ("advance", "4c")
    assert drive.suggestion(TUNING) == ("act", "action-complete")
