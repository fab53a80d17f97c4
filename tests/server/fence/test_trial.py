"""Fences that are installed, tried: what is said of each is what its own command came to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from phasekeeper.server.fence import trial
from phasekeeper.server.fence.trial import FenceTrial, TrialResult, try_fences
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import needs, put, task
from tests.server.servers import Home, homes

BIN = Path(sys.executable).parent
SERVER = {"command": "phasekeeper", "args": ["mcp"]}
ALL, LATE, NONE = (
    "denies every call",
    "denies every call, but lets one through that takes more than 30 s: it has no other way",
    "lets every call through",
)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    with homes() as made:
        for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PHASEKEEPER_WAIT_S"):
            monkeypatch.setenv(name, made.env[name])
        monkeypatch.delenv("CODEX_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
        yield made


@pytest.fixture
def work(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = home.path / "work"
    task(root, "T1")
    for folder in ("hooks", "objects", "refs"):
        (root / ".git" / folder).mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def tried(root: Path) -> dict[str, FenceTrial]:
    return {each.program: each for each in try_fences(Workspace(root))}


def connect(home: Home, work: Path) -> None:
    """Our server in the settings of the clients that ask over a connection."""
    put(home.path / ".claude.json", {"projects": {str(work): {"mcpServers": {"phasekeeper": SERVER}}}})
    put(
        home.path / ".codex/config.toml",
        '[mcp_servers.phasekeeper]\ncommand = "phasekeeper"\nargs = ["mcp"]\nrequired = true\n',
    )


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("open", dict.fromkeys(("claude", "codex", "gemini", "copilot", "cursor", "vscode"), NONE)),
        (
            "closed",
            {"claude": ALL, "codex": LATE, "gemini": LATE, "copilot": LATE, "cursor": ALL, "vscode": LATE},
        ),
    ],
)
def test_every_fence_denies_and_says_what_it_does_without_an_answer(
    home: Home, work: Path, run: Callable[..., tuple[int, str, str]], policy: str, kept: dict[str, str]
) -> None:
    needs("git")
    connect(home, work)
    run("guard", "on", "--fail", policy)
    run("install", *kept, "git", "pre-commit", "github", "--yes")
    found = tried(work)
    assert {name: each.why for name, each in found.items() if each.why} == {}
    assert found.pop("github").result is TrialResult.UNTRIED
    assert {each.result for each in found.values()} == {TrialResult.DENIES}
    assert {name: each.without_answer for name, each in found.items() if name in kept} == kept
    assert {*found} == {*kept, "git", "pre-commit"}


def test_a_fence_of_another_policy_than_the_guards_is_to_be_put_up_anew(
    work: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    run("install", "gemini", "--yes")
    run("guard", "on", "--fail", "closed")
    found = tried(work)["gemini"]
    assert (found.result, found.why) == (TrialResult.DENIES, "the guard is to fail closed")
    assert found.mend == "phasekeeper install gemini"


def test_a_fence_whose_program_is_not_there_does_not_answer(
    work: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("guard", "on", "--fail", "closed")
    run("install", "claude", "codex", "gemini", "git", "--yes")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = tried(work)
    assert {each.result for each in found.values()} == {TrialResult.SILENT}
    assert found["claude"].why == "claude knows no server phasekeeper"
    assert found["claude"].mend == "claude mcp add phasekeeper -- phasekeeper mcp"
    # It denies every call, as this guard asks for, and so it has no verdict on this one.
    assert found["codex"].why.endswith("phasekeeper has no verdict, and this guard fails closed")


def test_a_program_that_is_not_there_is_told_also_where_the_hook_ends_well_whatever_happens(
    work: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("install", "copilot", "vscode", "--yes")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name, found in tried(work).items():
        assert (found.result, found.mend) == (
            TrialResult.SILENT, f"have `phasekeeper` on the PATH of {name}"
        )  # fmt: skip
        assert found.why.endswith("phasekeeper: not found")


def program(folder: Path, text: str) -> None:
    put(folder / "phasekeeper", f"#!/bin/sh\n{text}\n").chmod(0o755)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("echo '{}'", TrialResult.PASSES),
        ("exit 1", TrialResult.SILENT),
        ("exec sleep 60", TrialResult.SILENT),
    ],
)
def test_a_fence_is_worth_what_its_command_says(
    work: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    text: str, result: TrialResult,
) -> None:  # fmt: skip
    run("install", "gemini", "--yes")
    program(tmp_path, text)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(trial, "_LIMIT_S", 1)
    assert tried(work)["gemini"].result is result


def test_nothing_is_run_that_only_the_workspace_says(
    home: Home, work: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    run("guard", "on", "--fail", "closed")
    run("install", "claude", "gemini", "git", "pre-commit", "--yes")
    seen = work / "seen"
    for path, word in (
        (".gemini/settings.json", "phasekeeper hook"),
        (".git/hooks/pre-commit", "phasekeeper check"),
        (".pre-commit-config.yaml", "phasekeeper check"),
    ):
        put(work / path, (work / path).read_text().replace(word, f"touch {seen}; {word}"))
    put(work / ".mcp.json", {"mcpServers": {"phasekeeper": {"command": "touch", "args": [str(seen)]}}})
    found = tried(work)
    assert not seen.exists()
    assert {name for name, each in found.items() if each.result is TrialResult.CHANGED} == {
        "gemini",
        "git",
        "pre-commit",
    }
    assert found["claude"].why == "claude knows no server phasekeeper"
    put(work / ".mcp.json", json.dumps({"mcpServers": {"phasekeeper": SERVER}}))
    assert tried(work)["claude"].result is TrialResult.DENIES


def test_settings_that_cannot_be_read_are_no_fence_that_holds(
    work: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    put(work / ".gemini/settings.json", "{")
    found = tried(work)
    assert (found["gemini"].result, [*found]) == (TrialResult.SILENT, ["gemini"])
    (work / ".gemini/settings.json").unlink()
    assert tried(work) == {}


def test_a_server_that_codex_does_not_wait_for_is_told(
    home: Home, work: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    run("guard", "on")
    run("install", "codex", "--yes")
    connect(home, work)
    assert tried(work)["codex"].why == ""
    config = home.path / ".codex/config.toml"
    put(config, config.read_text().replace("required = true", "required = false"))
    found = tried(work)["codex"]
    assert found.why.startswith("Codex does not wait for the server")
    assert "required = true" in found.mend
