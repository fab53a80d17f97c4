"""Fences outside of assistants, by the programs themselves: git and pre-commit stop a commit, the steps of
the action measure, judge, annotate and tell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from phasekeeper.server.fence.installation import hooks_folder
from phasekeeper.tools.fence.build_files import ACTION

from tests.published_schemas import sarif_problems
from tests.roots import CHECKED, EXAMPLES, needs, put, task
from tests.server.servers import BOUND_S, Home, homes

BIN = Path(sys.executable).parent
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def home() -> Iterator[Home]:
    with homes() as made:
        yield made


class Clone:
    """A repository of a user, and a bare one to push to."""

    def __init__(self, home: Home) -> None:
        self.path = home.path / "work"
        self.path.mkdir()
        author = {
            f"GIT_{who}_{what}": "a@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        self.env = {
            **home.env,
            **author,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(home.path / "pre-commit"),
        }
        self.run("git", "init", "-q", "--bare", str(home.path / "bare"))
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "remote", "add", "origin", str(home.path / "bare"))

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.path, env={**self.env, **env}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip

    def commit(self, *words: str) -> subprocess.CompletedProcess[str]:
        self.run("git", "add", "-A")
        return self.run("git", "commit", "--allow-empty", "-m", "work", *words)

    def install(self, *programs: str) -> None:
        done = self.run("phasekeeper", "install", *programs, "--yes")
        assert done.returncode == 0, done.stderr


@pytest.fixture
def clone(home: Home) -> Clone:
    needs("git")
    return Clone(home)


def install_git_hooks(clone: Clone) -> None:
    clone.install("git")


def install_pre_commit(clone: Clone) -> None:
    clone.install("pre-commit")
    done = clone.run("pre-commit", "install", "-t", "pre-commit", "-t", "pre-push")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("put_up", [install_git_hooks, install_pre_commit])
def test_a_failed_gate_stops_a_commit_and_a_push_until_it_is_mended(clone: Clone, put_up: Any) -> None:
    put_up(clone)
    assert clone.commit().returncode == 0
    task(clone.path, "T1", ok=False)
    stopped = clone.commit()
    assert stopped.returncode == 1
    assert "failed gates: plan-review" in stopped.stdout + stopped.stderr
    assert clone.commit("--no-verify").returncode == 0
    pushed = clone.run("git", "push", "-q", "origin", "main")
    assert (pushed.returncode, "failed gates: plan-review" in pushed.stdout + pushed.stderr) == (1, True)
    task(clone.path, "T1")
    assert clone.commit().returncode == 0
    assert clone.run("git", "push", "-q", "origin", "main").returncode == 0


def test_a_hook_of_somebody_elses_goes_on_after_ours(clone: Clone) -> None:
    put(clone.path / ".git/hooks/pre-commit", "#!/bin/sh\necho mine > seen\n")
    clone.install("git")
    assert clone.commit().returncode == 0
    assert (clone.path / "seen").exists()
    assert clone.run("phasekeeper", "install", "git", "--yes", "--undo").returncode == 0
    assert (clone.path / ".git/hooks/pre-commit").read_text() == "#!/bin/sh\necho mine > seen\n"
    assert not (clone.path / ".git/hooks/pre-push").exists()


def test_plans_of_two_branches_are_merged_in_a_clone_with_our_driver(clone: Clone) -> None:
    before = (clone.path / ".git/config").read_bytes()
    clone.install("git")
    plan = (EXAMPLES / ".orchestrator/tasks/reading-lists/MASTER_PLAN.md").read_text()
    path = "tasks/lists/MASTER_PLAN.md"
    rows = [line for line in plan.splitlines(keepends=True) if line.rstrip().endswith("| [ ] |")]
    assert len(rows) > 1
    put(clone.path / path, plan)
    assert clone.commit("--no-verify").returncode == 0
    for name, row in zip(("one", "other"), rows, strict=False):
        clone.run("git", "switch", "-qc", name, "main")
        put(clone.path / path, plan.replace(row, row.replace("| [ ] |", "| [x] |")))
        assert clone.commit("--no-verify").returncode == 0
    merged = clone.run("git", "merge", "--no-verify", "--no-edit", "one")
    assert merged.returncode == 0, merged.stdout + merged.stderr
    left = (clone.path / path).read_text().splitlines(keepends=True)
    assert not set(rows[:2]) & set(left)
    assert clone.run("phasekeeper", "install", "git", "--yes", "--undo").returncode == 0
    assert (clone.path / ".git/config").read_bytes() == before
    assert not (clone.path / ".git/info/attributes").exists()


def test_a_merge_driver_that_somebody_set_up_stays(clone: Clone) -> None:
    clone.run("git", "config", "merge.phasekeeper.driver", "/opt/phasekeeper merge-journal %O %A %B %P")
    before = (clone.path / ".git/config").read_bytes()
    clone.install("git")
    assert clone.run("phasekeeper", "install", "git", "--yes", "--undo").returncode == 0
    assert (clone.path / ".git/config").read_bytes() == before


def test_hooks_are_put_where_git_looks_for_them(clone: Clone, tmp_path: Path) -> None:
    assert hooks_folder(clone.path) == ".git/hooks"
    for path, folder in ((".husky/_", ".husky"), ("tools/hooks", "tools/hooks"), (str(tmp_path), None)):
        clone.run("git", "config", "core.hooksPath", path)
        assert hooks_folder(clone.path) == folder
    clone.run("git", "config", "core.hooksPath", "tools/hooks")
    clone.install("git")
    task(clone.path, "T1", ok=False)
    assert clone.commit().returncode == 1


def test_the_manifest_is_one_of_pre_commit(clone: Clone) -> None:
    manifest = REPOSITORY / ".pre-commit-hooks.yaml"
    assert clone.run("pre-commit", "validate-manifest", str(manifest)).returncode == 0
    wrong = put(clone.path / "wrong.yaml", manifest.read_text().replace("language", "tongue"))
    assert clone.run("pre-commit", "validate-manifest", str(wrong)).returncode == 1


# ---- the action ---------------------------------------------------------------------------------


class Runner:
    """Runs the steps of the action as GitHub's runner does: each in a shell of its own, outputs by a file."""

    def __init__(self, clone: Clone, **inputs: str) -> None:
        action = yaml.safe_load(ACTION)
        self.inputs = {name: each["default"] for name, each in action["inputs"].items()} | inputs
        self.steps, self.clone = action["runs"]["steps"], clone
        self.temp = clone.path.parent / "runner"
        self.temp.mkdir()
        self.outputs: dict[str, dict[str, str]] = {}
        self.uploaded: dict[str, str] = {}
        self.log = ""

    def run(self) -> bool:
        """True if no step failed; a failed one ends it."""
        for step in self.steps:
            if "if" in step and not self._holds(step["if"]):
                continue
            if "uses" in step:
                self.uploaded = {key: self._filled(value) for key, value in step["with"].items()}
            elif step["name"] == "Install Phasekeeper":
                self._link_installed()
            elif not self.run_shell(step):
                return False
        return True

    def run_shell(self, step: Mapping[str, Any]) -> bool:
        output = put(self.temp / "output", "")
        env = {name: self._filled(value) for name, value in step.get("env", {}).items()}
        # As the runner's `shell: bash` does.
        words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        done = self.clone.run(*words, **env, GITHUB_OUTPUT=str(output), RUNNER_TEMP=str(self.temp), CI="true")
        self.log += done.stdout + done.stderr
        lines = (line.partition("=") for line in output.read_text().splitlines())
        self.outputs[step.get("id", "")] = {name: value for name, _, value in lines}
        return done.returncode == 0

    def _link_installed(self) -> None:
        """What pip would have installed; nothing is fetched here."""
        (self.temp / "phasekeeper").mkdir(exist_ok=True)
        (self.temp / "phasekeeper/bin").symlink_to(BIN)

    def _value(self, name: str) -> str:
        head, *rest = name.strip().split(".")
        return self.inputs[rest[0]] if head == "inputs" else self.outputs.get(rest[0], {}).get(rest[2], "")

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{(.+?)\}\}", lambda found: self._value(found[1]), str(text))

    def _holds(self, condition: str) -> bool:
        parts = (re.fullmatch(r"(\S+) (==|!=) '(.*)'", part) for part in condition.split(" && "))
        return all(part and (self._value(part[1]) == part[3]) == (part[2] == "==") for part in parts)


CHECKS = "checks: {tests: {run: [sh, -c, 'test -e src/ok'], inputs: [src/**]}}\n"


def build(clone: Clone, phase: str = "code") -> Path:
    """A run of a workflow whose gate rests on a check, one folder below the top."""
    root = clone.path / "part"
    # Its other gate rests on what a file says.
    measured = "".join(line for line in CHECKED.splitlines(True) if "named:" not in line)
    put(root / ".phasekeeper/workflows/build.yaml", measured)
    put(root / ".phasekeeper/config.yaml", CHECKS)
    put(root / "src/ok", "")
    put(root / "runs/one/state.json", {"phase": phase})
    return root


def test_the_action_passes_what_its_own_measurement_holds(clone: Clone) -> None:
    build(clone)
    clone.commit()
    runner = Runner(clone, root="part", basis="measured")
    assert runner.run(), runner.log
    assert "tests: passed" in runner.log
    assert "::error" not in runner.log
    assert (runner.outputs["measure"]["code"], runner.outputs["gates"]["code"]) == ("0", "0")
    assert sarif_problems(json.loads(Path(runner.uploaded["sarif_file"]).read_text())) == []


def test_the_action_fails_on_a_check_that_fails_whatever_the_working_copy_claims(clone: Clone) -> None:
    root = build(clone)
    clone.commit()
    # A result of this machine, signed by its key, for a commit that the build does not have.
    assert clone.run("phasekeeper", "verify", "--trust-head", "--root", "part").returncode == 0
    shutil.rmtree(root / "src")
    put(root / "src/no", "")
    clone.commit("--no-verify")
    runner = Runner(clone, root="part")
    assert not runner.run()
    assert "tests: failed" in runner.log
    assert "::error title=phasekeeper::phasekeeper verify ended with 1" in runner.log


def test_the_action_annotates_a_failed_gate_at_its_place_and_uploads_it(clone: Clone) -> None:
    task(clone.path / "part", "T1", ok=False)
    clone.commit()
    runner = Runner(clone, root="part")
    assert not runner.run()
    assert "no check is declared: nothing is measured" in runner.log
    place = "file=part/.ai-tools-chain/tasks/T1/review/plan-review.json,title=gate-failed,line=1"
    assert f"::error {place}" in runner.log
    log = json.loads(Path(runner.uploaded["sarif_file"]).read_text())
    assert sarif_problems(log) == []
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["gate-failed"]


def test_the_action_fails_on_what_it_cannot_judge(clone: Clone) -> None:
    root = build(clone)
    put(root / ".phasekeeper/config.yaml", "checks: 3\n")
    clone.commit()
    runner = Runner(clone, root="part", **{"upload-sarif": "false"})
    assert not runner.run()
    assert (runner.outputs["measure"]["code"], runner.uploaded) == ("2", {})
    # A step that told nothing, as one that was killed, is no success either.
    runner.outputs.clear()
    assert not runner.run_shell(runner.steps[-1])
    assert "phasekeeper check ended with nothing" in runner.log


def test_the_action_installs_in_isolation_what_it_is_told(clone: Clone, tmp_path: Path) -> None:
    said = tmp_path / "said"
    # Stands for both interpreters, and says how it was called.
    fake = put(tmp_path / "bin/python3", f'#!/bin/sh\necho "$@" >> {said}\n')
    fake.chmod(0o755)
    put(tmp_path / "phasekeeper/bin/python", "").unlink()
    (tmp_path / "phasekeeper/bin/python").symlink_to(fake)
    install = yaml.safe_load(ACTION)["runs"]["steps"][0]["run"]
    words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", install)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = clone.run(*words, RUNNER_TEMP=str(tmp_path), PACKAGE="phasekeeper==1; x", PATH=path)
    assert done.returncode == 0, done.stderr
    made, installed = said.read_text().splitlines()
    assert made == f"-I -m venv {tmp_path}/phasekeeper"
    assert installed == "-I -m pip install --quiet --disable-pip-version-check phasekeeper==1; x"
