"""Hooks answered from files: which runs are guarded, what a session works on, and what a fault leads to."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.connector.hook_call import MAX_INPUT
from phasekeeper.server.fence import guarded_roots, hook_answer
from phasekeeper.server.fence.hook_answer import MOST_PATHS, answer_bytes
from phasekeeper.server.fence.sessions import MOST_SESSIONS, SessionStore, sessions_folder
from phasekeeper.tools.fence.hook_output import HookOutput
from phasekeeper.tools.fence.verdict import FenceSession

from tests.roots import EXAMPLES, TASKS, put, task

DECISION = ".ai-tools-chain/tasks/late-fees/accept/decision.json"
PLAN = ".orchestrator/tasks/reading-lists"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the examples, all of them guarded."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "work"
    shutil.copytree(EXAMPLES, root)
    git(root, "init", "-q")
    guard(root, 'runs: ["**"]')
    return root


def git(root: Path, *words: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True)


def guard(root: Path, said: str) -> None:
    config = root / ".phasekeeper/config.yaml"
    lines = [line for line in config.read_text().splitlines() if not line.startswith("guard:")]
    put(config, "\n".join([*lines, f"guard: {{{said}}}" if said else ""]) + "\n")


def answer(root: Path, event: str, tool: str = "", session: str = "s1", **given: Any) -> HookOutput:
    sent = {"session_id": session, "cwd": str(root), "tool_name": tool, "tool_input": given}
    return answer_bytes("claude", event, "/", json.dumps(sent).encode())


def refusal(root: Path, tool: str, session: str = "s1", **given: Any) -> str:
    output = answer(root, "PreToolUse", tool, session, **given)
    return (
        json.loads(output.stdout)["hookSpecificOutput"]["permissionDecisionReason"] if output.stdout else ""
    )


def test_what_a_guarded_run_forbids_is_refused_by_each_kind_of_tool(work: Path) -> None:
    said = f"{DECISION} may not be written: it holds a person's decision."
    assert refusal(work, "Write", file_path=str(work / DECISION)).startswith(said)
    assert refusal(work, "Edit", file_path=DECISION).startswith(said)
    assert refusal(
        work, "Bash", command="cd .ai-tools-chain && echo x > tasks/late-fees/accept/decision.json"
    )
    assert refusal(work, "Agent", subagent_type="tester").startswith("tester may not be started for test: ")
    assert refusal(work, "Write", file_path="src/a.py") == ""
    assert refusal(work, "Read", file_path=DECISION) == ""
    assert refusal(work, "Bash", command=f"cat {DECISION}; phasekeeper status") == ""
    assert refusal(work, "mcp__phasekeeper__report", run="late-fees", step="codegen") == ""


def test_a_link_is_what_it_leads_to(work: Path, tmp_path: Path) -> None:
    (work / "notes.json").symlink_to(work / DECISION)
    assert refusal(work, "Write", file_path="notes.json").startswith(DECISION)
    (tmp_path / "elsewhere").symlink_to(work)
    assert refusal(work, "Write", file_path=str(tmp_path / "elsewhere" / DECISION)).startswith(DECISION)
    assert refusal(work, "Write", file_path="../outside.json") == ""
    assert refusal(work, "Write", file_path="a\0b") == ""


def test_runs_that_are_not_guarded_are_left_alone(work: Path) -> None:
    guard(work, "runs: [.claude/state]")
    assert refusal(work, "Write", file_path=DECISION) == ""
    assert refusal(work, "Write", file_path=".claude/state/loop.state.json")
    guard(work, "")
    assert refusal(work, "Write", file_path=".claude/state/loop.state.json") == ""
    assert refusal(work, "Write", file_path=".phasekeeper/config.yaml") == ""


def test_taking_a_guard_away_counts_once_it_is_committed(work: Path) -> None:
    git(work, "add", ".")
    git(work, "commit", "-qm", "guarded")
    guard(work, "")
    assert refusal(work, "Write", file_path=DECISION)
    git(work, "commit", "-qam", "free")
    assert refusal(work, "Write", file_path=DECISION) == ""


def test_settings_that_could_take_the_fence_down_are_a_persons(work: Path) -> None:
    assert "a person changes it" in refusal(work, "Write", file_path=".claude/settings.local.json")
    assert "a person changes it" in refusal(work, "Edit", file_path=".phasekeeper/config.yaml")
    sent = {"session_id": "s", "cwd": str(work), "file_path": str(work / ".claude/settings.local.json")}
    changed = answer_bytes("claude", "ConfigChange", "/", json.dumps(sent).encode())
    assert json.loads(changed.stdout)["decision"] == "block"


def test_a_session_is_bound_by_its_first_report_or_claim_and_stops_three_times(work: Path) -> None:
    assert answer(work, "Stop").stdout == ""
    refusal(work, "mcp__phasekeeper__next_step", run="reading-lists", claim=True, agent="coder-1")
    said = [answer(work, "Stop").stdout for _ in range(5)]
    assert [bool(text) for text in said] == [True, True, True, False, False]
    assert json.loads(said[0])["reason"].startswith(f"{PLAN} has work that you may do: ")
    journal = (work / PLAN / ".phasekeeper/journal.jsonl").read_text().splitlines()
    asked = json.loads(journal[-1])
    assert (asked["kind"], asked["actor"], asked["channel"]) == ("question", "coder-1", "hook")
    assert [json.loads(line)["kind"] for line in journal].count("question") == 1


def test_a_command_binds_a_session_too_and_looking_at_another_run_does_not(work: Path) -> None:
    refusal(work, "Bash", command="phasekeeper report reading-lists F2 complete --task 03")
    refusal(work, "mcp__phasekeeper__next_step", run="late-fees")
    assert SessionStore(sessions_folder(), work).read("s1") == FenceSession((PLAN,))
    refusal(work, "mcp__phasekeeper__next_step", session="s2", run="late-fees")
    assert SessionStore(sessions_folder(), work).read("s2").runs == (f"{TASKS}/late-fees",)
    # An agent of a run that is not worked on starts for nobody's sake.
    assert refusal(work, "Agent", subagent_type="coder") == ""
    assert refusal(work, "Agent", session="s2", subagent_type="coder") == ""
    assert refusal(work, "Agent", session="s2", subagent_type="tester")


def test_a_stop_is_left_alone_while_something_runs_and_of_a_part_of_the_session(work: Path) -> None:
    refusal(work, "mcp__phasekeeper__report", run="reading-lists", step="F2")
    sent = {"session_id": "s1", "cwd": str(work)}
    for more in ({"background_tasks": [{"id": "b"}]}, {"agent_id": "a"}):
        assert answer_bytes("claude", "Stop", "/", json.dumps(sent | more).encode()).stdout == ""
    assert answer_bytes("claude", "Stop", "/", json.dumps(sent).encode()).stdout


def test_the_start_of_a_session_tells_where_guarded_runs_stand(work: Path) -> None:
    text = json.loads(answer(work, "SessionStart").stdout)["hookSpecificOutput"]["additionalContext"]
    assert f"- {PLAN} (master-plan): " in text
    guard(work, "")
    assert answer(work, "SessionStart").stdout == ""


def test_among_many_guarded_runs_a_session_says_first_on_which_it_works(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_roots, "MOST_RUNS", 3)
    assert "call next_step with its name first" in refusal(work, "Agent", subagent_type="coder")
    assert refusal(work, "Write", file_path=DECISION).startswith(DECISION)
    refusal(work, "mcp__phasekeeper__next_step", run="late-fees")
    assert refusal(work, "Agent", subagent_type="coder") == ""


@pytest.mark.parametrize(
    "sent", [b"", b"{", b"[]", b"null", b'{"cwd": 3}', b'{"cwd": "/nowhere/at/all"}', b"\xff"]
)
def test_events_that_say_nothing_get_no_opinion(sent: bytes, tmp_path: Path) -> None:
    assert answer_bytes("claude", "PreToolUse", str(tmp_path), sent) == HookOutput()


def test_an_unknown_client_is_told_which_there_are() -> None:
    output = answer_bytes("clippy", "PreToolUse", "/", b"{}")
    assert (output.code, "claude, codex, gemini, copilot, cursor" in output.stderr) == (1, True)


def test_a_fault_leads_to_what_the_guard_says(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(guarded_roots.GuardedRoot, "all_traces", fail)
    assert answer(work, "PreToolUse", "Write", file_path=DECISION) == HookOutput()
    guard(work, 'runs: ["**"], fail: closed')
    output = answer(work, "PreToolUse", "Write", file_path=DECISION)
    assert (output.stdout, output.code) == ("", 2)
    assert "no verdict (OSError: the disk is gone)" in output.stderr
    assert answer(work, "PreToolUse", "Read", file_path=DECISION) == HookOutput()


def test_a_root_without_a_guard_costs_no_look_at_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / ".phasekeeper/config.yaml", "# nothing\n")
    task(tmp_path, "T1")
    monkeypatch.setattr(guarded_roots.Workspace, "matches", property(lambda _: pytest.fail("looked")))
    assert refusal(tmp_path, "Write", file_path=DECISION) == ""


def test_sessions_are_kept_in_files_of_the_user_alone_and_are_bounded(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions", tmp_path)
    session = FenceSession(("a/b",), "codex", 2)
    store.write("s", session)
    store.write("", session)
    assert (store.read("s"), store.read("t"), store.read("")) == (session, FenceSession(), FenceSession())
    assert SessionStore(tmp_path / "sessions", tmp_path / "other").read("s") == FenceSession()
    [path] = (tmp_path / "sessions").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    for damaged in ("", "{", "[]", '{"run": 3}', '{"runs": "a", "agent": "b", "stops": 1}', "x" * 9_000):
        path.write_text(damaged)
        assert store.read("s") == FenceSession()
    for number in range(MOST_SESSIONS + 20):
        store.write(f"s{number}", session)
    assert len([*(tmp_path / "sessions").iterdir()]) == MOST_SESSIONS


def test_runs_that_a_server_knows_are_not_looked_for(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_roots.Workspace, "matches", property(lambda _: pytest.fail("looked")))
    sent = {
        "session_id": "s",
        "cwd": str(work),
        "tool_name": "Agent",
        "tool_input": {"subagent_type": "tester"},
    }
    runs = [".ai-tools-chain/tasks/late-fees", "gone/since"]
    output = answer_bytes("claude", "PreToolUse", "/", json.dumps(sent).encode(), known=lambda _: runs)
    assert "tester may not be started" in output.stdout


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .phasekeeper",
        "rm -rf .ai-tools-chain/tasks/late-fees/accept",
        "rm -r .ai-tools-chain/tasks/*",
        f"rm {Path(DECISION).parent}/*.json",
        "mv .claude elsewhere",
        "rm -rf .",
        "rm -rf ../work",
        "git checkout HEAD -- .orchestrator",
        "(cd src); echo x > .claude/state/loop.state.json",
    ],
)
def test_a_folder_goes_with_the_files_in_it(work: Path, command: str) -> None:
    assert refusal(work, "Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build src/*.pyc",
        "cp notes.md .orchestrator/tasks/reading-lists/",
        "rm -f *.log",
        "mv a.md .orchestrator/tasks/reading-lists/",
    ],
)
def test_what_goes_beside_fenced_files_is_free(work: Path, command: str) -> None:
    assert refusal(work, "Bash", command=command) == ""


def test_a_command_runs_where_its_call_says(work: Path) -> None:
    command = {"cmd": "echo x > decision.json", "workdir": str((work / DECISION).parent)}
    assert refusal(work, "exec_command", **command).startswith(DECISION)


def test_a_session_that_names_another_run_is_not_freed_from_its_own(work: Path) -> None:
    refusal(work, "mcp__phasekeeper__report", run="reading-lists", step="F2")
    refusal(work, "mcp__phasekeeper__report", run="late-fees", step="codegen")
    assert SessionStore(sessions_folder(), work).read("s1").runs == (PLAN, f"{TASKS}/late-fees")
    assert refusal(work, "Write", file_path=f"{PLAN}/MASTER_PLAN.md")
    refusal(work, "mcp__phasekeeper__report", run="lending-loans", step="Complete")
    assert answer(work, "Stop").stdout


def test_a_call_that_cannot_be_read_is_refused_where_anything_is_guarded(work: Path, tmp_path: Path) -> None:
    for sent in (b"{", b" " * (MAX_INPUT + 1)):
        output = answer_bytes("claude", "PreToolUse", str(work), sent)
        assert "cannot be judged" in output.stdout
        assert answer_bytes("claude", "Stop", str(work), sent) == HookOutput()
        assert answer_bytes("claude", "PreToolUse", str(tmp_path), sent) == HookOutput()


def test_a_call_that_writes_very_many_files_is_made_in_parts(work: Path) -> None:
    patch = "".join(f"*** Add File: src/{number}.py\n+x\n" for number in range(MOST_PATHS + 1))
    assert "at most 200 are judged at once" in refusal(work, "apply_patch", command=patch)


def test_roots_that_cannot_be_looked_at_are_taken_by_their_text(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(hook_answer, "guarded_roots", fail)
    assert answer(work, "PreToolUse", "Write", file_path="a") == HookOutput()
    guard(work, 'runs: ["**"], fail: closed')
    assert answer(work, "PreToolUse", "Write", file_path="a").code == 2


def test_the_records_of_a_run_in_another_tools_folder_are_fenced(work: Path) -> None:
    put(
        work / ".taskmaster/tasks/tasks.json",
        {"master": {"tasks": [{"id": 1, "title": "x", "status": "pending"}]}},
    )
    [run] = [
        match.run for match in guarded_roots.guarded_roots(work)[0].workspace.matches if "#" in match.run
    ]
    refusal(work, "mcp__phasekeeper__report", run="late-fees", step="codegen")
    journal = f".phasekeeper/runs/task-master/{run}/.phasekeeper/journal.jsonl"
    assert "only Phasekeeper writes this file" in refusal(work, "Write", file_path=journal)
    assert refusal(work, "Write", file_path=".phasekeeper/runs/notes.md") == ""
