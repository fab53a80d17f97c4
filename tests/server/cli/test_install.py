"""`install`: fences in programs' own files, shown first, put in once, and taken out again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.roots import put, task

EVERY = ("claude", "codex", "gemini", "copilot", "cursor", "vscode", "git", "pre-commit", "github")
HOOKS = (".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json")


@pytest.fixture
def here(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    (root / ".git/hooks").mkdir(exist_ok=True)
    return root


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_without_a_terminal_the_difference_is_shown_and_nothing_is_written(here, run):
    before = files(here)
    code, out, err = run("install", *EVERY)
    assert (code, files(here)) == (1, before)
    assert "`--yes` writes it without asking" in err
    assert all(f"{path} (new)" in out for path in (*HOOKS, ".git/hooks/pre-push"))


def test_each_program_gets_its_fence_once_and_loses_it_again(here, run):
    code, out, _ = run("install", *EVERY, "--yes")
    assert (code, "no run is guarded yet, so nothing is refused: phasekeeper guard on" in out) == (0, True)
    assert files(here) >= {*HOOKS, ".github/hooks/phasekeeper.json", ".github/workflows/phasekeeper.yml"}
    assert os.access(here / ".git/hooks/pre-commit", os.X_OK)
    assert "nothing is left to do" in run("install", *EVERY, "--yes")[1]
    assert run("install", *EVERY, "--yes", "--undo")[0] == 0
    # The rules that deny decisions are those of `init`, and stay.
    assert "hooks" not in "".join(files(here) - {".git/hooks"})
    assert json.loads((here / ".claude/settings.json").read_text())["permissions"]["deny"]


def test_a_guard_that_fails_closed_is_told_to_the_program(here, run):
    task(here, "T1")
    run("guard", "on", "--fail", "closed")
    code, out, _ = run("install", "claude", "--yes")
    assert (code, "no run is guarded" in out) == (0, False)
    [entry] = json.loads((here / ".claude/settings.json").read_text())["hooks"]["PreToolUse"]
    assert entry["hooks"][0]["onFailure"] == "block"


def test_what_somebody_else_wrote_is_left_alone_and_named(here, run):
    put(here / ".git/hooks/pre-commit", "#!/usr/bin/env python3\n")
    put(here / ".codex/hooks.json", "[]")
    put(here / ".pre-commit-config.yaml", "repos: []\n")
    put(here / ".github/workflows/phasekeeper.yml", "on: push\n")
    code, _, err = run("install", "git", "codex", "pre-commit", "github", "--yes")
    assert code == 1
    assert ".git/hooks/pre-commit is left alone: it is no shell script" in err
    assert ".codex/hooks.json is left alone: it is no JSON object" in err
    assert ".pre-commit-config.yaml is left alone: its repos are no list in lines of their own" in err
    assert ".github/workflows/phasekeeper.yml is left alone: it holds something else" in err
    assert (here / ".git/hooks/pre-commit").read_text() == "#!/usr/bin/env python3\n"
    assert (here / ".git/hooks/pre-push").exists()


def test_a_folder_without_git_of_its_own_has_no_hooks(tmp_path, monkeypatch, run):
    put(tmp_path / ".phasekeeper/config.yaml", "# nothing\n")
    monkeypatch.chdir(tmp_path)
    code, _, err = run("install", "git", "--yes")
    assert (code, "git keeps the hooks of this folder elsewhere, or none" in err) == (1, True)
