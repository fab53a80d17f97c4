"""Every event of every client, from its payload to what the client does with the answer.

The payloads have the fields that were recorded from Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0 and
Copilot CLI 1.0.102; those of Cursor and VS Code are by their documents, for neither could be driven.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.fence.hook_answer import answer_bytes
from phasekeeper.tools.fence.client_settings import SETTINGS, call_hook
from phasekeeper.tools.fence.hook_effect import HookOutcome, is_denied
from phasekeeper.tools.fence.hook_input import HookClient, HookKind, kind_of

from tests.roots import EXAMPLES, put

STATE = ".ai-tools-chain/tasks/late-fees/state.json"
FREE = "src/a.py"
CLAUDE = {
    "session_id": "s",
    "transcript_path": "/t.jsonl",
    "cwd": "@",
    "prompt_id": "p",
    "permission_mode": "default",
}
CODEX = {
    "session_id": "s", "turn_id": "t", "transcript_path": None, "cwd": "@", "model": "gpt-5.5",
    "permission_mode": "bypassPermissions",
}  # fmt: skip
GEMINI = {"session_id": "s", "transcript_path": "/t", "cwd": "@", "timestamp": "2026-11-27T23:03:50.424Z"}
COPILOT = {"sessionId": "s", "timestamp": 1795820944011, "cwd": "@"}
CURSOR = {
    "conversation_id": "s", "generation_id": "g", "model": "m", "cursor_version": "3.7.21",
    "workspace_roots": ["@"], "user_email": None,
}  # fmt: skip
VSCODE = {"timestamp": "2026-02-09T10:30:00.000Z", "cwd": "@", "sessionId": "s", "transcript_path": "/t.json"}


def patch(path: str) -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n"


# client, its event -> the payload that asks whether PATH may be written, or that tells of an end or a start.
PAYLOADS: dict[tuple[str, str], dict[str, Any]] = {
    ("claude", "PreToolUse"): {
        **CLAUDE, "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": "toolu_1",
        "tool_input": {"file_path": "@/PATH", "content": "x"},
    },
    ("claude", "SessionStart"): {**CLAUDE, "hook_event_name": "SessionStart", "source": "startup"},
    ("claude", "Stop"): {
        **CLAUDE, "hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "done",
        "background_tasks": [], "session_crons": [],
    },
    ("claude", "ConfigChange"): {
        **CLAUDE, "hook_event_name": "ConfigChange", "source": "local_settings",
        "file_path": "@/.claude/settings.local.json",
    },
    ("codex", "PreToolUse"): {
        **CODEX, "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_use_id": "call_1",
        "tool_input": {"command": patch("PATH")},
    },
    ("codex", "SessionStart"): {**CODEX, "hook_event_name": "SessionStart", "source": "startup"},
    ("codex", "Stop"): {
        **CODEX, "hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "x",
    },
    ("gemini", "BeforeTool"): {
        **GEMINI, "hook_event_name": "BeforeTool", "tool_name": "replace",
        "tool_input": {"file_path": "@/PATH", "instruction": "i", "old_string": "a", "new_string": "b"},
    },
    ("gemini", "SessionStart"): {**GEMINI, "hook_event_name": "SessionStart", "source": "startup"},
    ("gemini", "AfterAgent"): {
        **GEMINI, "hook_event_name": "AfterAgent", "prompt": "p", "prompt_response": "r",
        "stop_hook_active": False,
    },
    ("copilot", "preToolUse"): {
        **COPILOT, "toolName": "edit", "toolArgs": {"path": "@/PATH", "old_str": "a", "new_str": "b"},
    },
    ("copilot", "sessionStart"): {**COPILOT, "source": "new", "initialPrompt": "p"},
    ("copilot", "agentStop"): {
        **COPILOT, "transcriptPath": "/t", "stopReason": "end_turn", "stop_hook_active": False,
    },
    ("cursor", "preToolUse"): {
        **CURSOR, "hook_event_name": "preToolUse", "tool_name": "Write", "tool_use_id": "t",
        "tool_input": {"file_path": "@/PATH", "content": "x"},
    },
    ("cursor", "sessionStart"): {**CURSOR, "hook_event_name": "sessionStart", "session_id": "s"},
    ("cursor", "stop"): {**CURSOR, "hook_event_name": "stop", "status": "completed", "loop_count": 0},
    # Its settings are those of Copilot, and so are the names of the hooks in them.
    ("vscode", "preToolUse"): {
        **VSCODE, "hookEventName": "PreToolUse", "tool_name": "replace_string_in_file",
        "tool_use_id": "tool-123",
        "tool_input": {"filePath": "@/PATH", "oldString": "a", "newString": "b"},
    },
    ("vscode", "sessionStart"): {**VSCODE, "hookEventName": "SessionStart", "source": "new"},
    ("vscode", "agentStop"): {**VSCODE, "hookEventName": "Stop", "stop_hook_active": False},
}  # fmt: skip
BINDING = {"command": "phasekeeper report reading-lists F2 complete --task 03"}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples, all of them guarded."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "work"
    shutil.copytree(EXAMPLES, root)
    (root / ".git").mkdir()
    config = root / ".phasekeeper/config.yaml"
    put(config, config.read_text() + 'guard: {runs: ["**"]}\n')
    return root


def answer(root: Path, client: str, event: str, path: str = "", **more: Any) -> str:
    """What the hook prints that stands in the client's settings."""
    sent = json.dumps(PAYLOADS[client, event] | more).replace("@", str(root)).replace("PATH", path)
    # As a command, and as the arguments of a tool, a client fills in the same fields.
    name = HookClient.COPILOT if client == "vscode" else client
    output = answer_bytes(name, event, str(root), sent.encode())
    assert (output.stderr, output.code) == ("", 0)
    return output.stdout


def of_kind(kind: HookKind) -> list[tuple[str, str]]:
    return [(client, event) for client, event in PAYLOADS if kind_of(event) is kind]


def test_there_is_a_payload_of_every_event_that_a_fence_has() -> None:
    installed = {(client, event) for client, each in SETTINGS.items() for event in each.hooks(False)}
    assert installed == {(client, event) for client, event in PAYLOADS}


@pytest.mark.parametrize(("client", "event"), of_kind(HookKind.TOOL))
def test_what_is_forbidden_is_denied_with_the_reason_and_all_else_let_through(
    work: Path, client: str, event: str
) -> None:
    _, handler = call_hook(HookClient(client), False)
    denied, free = answer(work, client, event, STATE), answer(work, client, event, FREE)
    assert f"{STATE} may not be written: it is the state of the run, which reports change" in denied
    assert is_denied(HookClient(client), handler, HookOutcome(0, denied))
    assert not is_denied(HookClient(client), handler, HookOutcome(0, free))


@pytest.mark.parametrize(("client", "event"), of_kind(HookKind.STOP))
def test_an_end_is_refused_while_there_is_work_and_not_more_than_three_times(
    work: Path, client: str, event: str
) -> None:
    assert words(answer(work, client, event)) == {}
    _bind(work, client)
    said = [words(answer(work, client, event)) for _ in range(4)]
    assert said[3] == {}
    for each in said[:3]:
        [reason] = [value for key, value in each.items() if key in ("reason", "followup_message")]
        assert reason.startswith(".orchestrator/tasks/reading-lists has work that you may do: ")
        assert each.get("decision") == {"gemini": "deny", "cursor": None}.get(client, "block")


def words(text: str) -> Mapping[str, Any]:
    said = json.loads(text or "{}")
    return said.get("hookSpecificOutput", said)


def _bind(work: Path, client: str) -> None:
    """The session says by a command on what it works."""
    shell = {"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command"}.get(client, "Shell")
    [event] = [event for of, event in of_kind(HookKind.TOOL) if of == client]
    names = ("toolName", "toolArgs") if client == "copilot" else ("tool_name", "tool_input")
    tool = {"copilot": "bash", "vscode": "run_in_terminal"}.get(client, shell)
    given = {"cmd": BINDING["command"]} if client == "codex" else BINDING
    assert words(answer(work, client, event, **dict(zip(names, (tool, given), strict=True)))) == {}


@pytest.mark.parametrize(("client", "event"), of_kind(HookKind.START))
def test_the_start_of_a_session_is_told_where_the_work_stands(work: Path, client: str, event: str) -> None:
    said = words(answer(work, client, event))
    [text] = [value for key, value in said.items() if key in ("additionalContext", "additional_context")]
    assert "- .orchestrator/tasks/reading-lists (master-plan): " in text
    assert len(text) <= 1_500


def test_a_change_of_the_settings_that_hold_the_fence_is_blocked(work: Path) -> None:
    said = words(answer(work, "claude", "ConfigChange"))
    assert said["decision"] == "block" and "can take this fence down" in said["reason"]
