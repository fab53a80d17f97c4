"""Hooks of each client: what it sends, as recorded from it, and the one answer that it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.tools.fence.hook_input import HookClient, HookEvent, HookKind, read_event
from phasekeeper.tools.fence.hook_output import (
    HookOutput,
    context_output,
    failure_output,
    no_opinion,
    refusal_output,
)

CLAUDE, CODEX, GEMINI, COPILOT, CURSOR, VSCODE = HookClient
BASH = {"command": "touch x"}

RECORDED: list[tuple[HookClient, str, dict[str, Any], HookEvent]] = [
    (
        CLAUDE,
        "PreToolUse",
        {
            "session_id": "s1",
            "transcript_path": "/t.jsonl",
            "cwd": "/r",
            "prompt_id": "p",
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Agent",
            "tool_input": {"description": "d", "prompt": "p", "subagent_type": "Explore"},
            "tool_use_id": "toolu_1",
        },
        HookEvent(
            CLAUDE,
            "PreToolUse",
            HookKind.TOOL,
            "s1",
            "/r",
            "Agent",
            {"description": "d", "prompt": "p", "subagent_type": "Explore"},
        ),
    ),
    (
        CLAUDE,
        "Stop",
        {
            "session_id": "s1",
            "cwd": "/r",
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "done",
            "background_tasks": [{"id": "b", "type": "subagent", "status": "running"}],
            "session_crons": [],
        },
        HookEvent(CLAUDE, "Stop", HookKind.STOP, "s1", "/r", in_background=True),
    ),
    (
        CLAUDE,
        "ConfigChange",
        {
            "session_id": "s1",
            "cwd": "/r",
            "hook_event_name": "ConfigChange",
            "source": "local_settings",
            "file_path": "/r/.claude/settings.local.json",
        },
        HookEvent(
            CLAUDE,
            "ConfigChange",
            HookKind.SETTINGS,
            "s1",
            "/r",
            "",
            {"file_path": "/r/.claude/settings.local.json"},
        ),
    ),
    (
        CODEX,
        "PreToolUse",
        {
            "session_id": "s2",
            "turn_id": "t",
            "transcript_path": None,
            "cwd": "/r",
            "hook_event_name": "PreToolUse",
            "model": "gpt-5.5",
            "permission_mode": "bypassPermissions",
            "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch"},
            "tool_use_id": "call_1",
        },
        HookEvent(
            CODEX, "PreToolUse", HookKind.TOOL, "s2", "/r", "apply_patch", {"command": "*** Begin Patch"}
        ),
    ),
    (
        GEMINI,
        "BeforeTool",
        {
            "session_id": "s3",
            "transcript_path": "/t",
            "cwd": "/r",
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-27T23:03:50.424Z",
            "tool_name": "run_shell_command",
            "tool_input": BASH,
        },
        HookEvent(GEMINI, "BeforeTool", HookKind.TOOL, "s3", "/r", "run_shell_command", BASH),
    ),
    (
        GEMINI,
        "AfterAgent",
        {
            "session_id": "s3",
            "cwd": "/r",
            "hook_event_name": "AfterAgent",
            "prompt": "p",
            "prompt_response": "r",
            "stop_hook_active": True,
        },
        HookEvent(GEMINI, "AfterAgent", HookKind.STOP, "s3", "/r"),
    ),
    (
        COPILOT,
        "preToolUse",
        {"sessionId": "s4", "timestamp": 1, "cwd": "/r", "toolName": "bash", "toolArgs": json.dumps(BASH)},
        HookEvent(COPILOT, "preToolUse", HookKind.TOOL, "s4", "/r", "bash", BASH),
    ),
    (
        COPILOT,
        "PreToolUse",
        {
            "hook_event_name": "PreToolUse",
            "session_id": "s4",
            "timestamp": "2026-11-27T23:03:50Z",
            "cwd": "/r",
            "tool_name": "Bash",
            "tool_input": BASH,
        },
        HookEvent(COPILOT, "PreToolUse", HookKind.TOOL, "s4", "/r", "Bash", BASH),
    ),
    (
        COPILOT,
        "agentStop",
        {
            "sessionId": "child",
            "cwd": "/r",
            "transcriptPath": "/t",
            "stopReason": "end_turn",
            "stop_hook_active": False,
            "agentId": "a",
            "agentType": "explore",
            "parentAgentId": "p",
        },
        HookEvent(COPILOT, "agentStop", HookKind.STOP, "child", "/r", is_subagent=True),
    ),
    (
        CURSOR,
        "preToolUse",
        {
            "hook_event_name": "preToolUse",
            "conversation_id": "s5",
            "generation_id": "g",
            "tool_name": "Shell",
            "tool_input": BASH,
            "tool_use_id": "t",
            "workspace_roots": ["/r", "/q"],
        },
        HookEvent(CURSOR, "preToolUse", HookKind.TOOL, "s5", "/r", "Shell", BASH),
    ),
    (
        CURSOR,
        "beforeShellExecution",
        {"conversation_id": "s5", "command": "touch x", "cwd": "/r"},
        HookEvent(CURSOR, "beforeShellExecution", HookKind.TOOL, "s5", "/r", "Shell", BASH),
    ),
    # VS Code runs the command that stands in Copilot's file.
    (
        COPILOT,
        "preToolUse",
        {
            "timestamp": "2026-02-09T10:30:00.000Z",
            "cwd": "/r",
            "sessionId": "s6",
            "hookEventName": "PreToolUse",
            "transcript_path": "/t",
            "tool_name": "run_in_terminal",
            "tool_input": BASH,
            "tool_use_id": "t",
        },
        HookEvent(VSCODE, "PreToolUse", HookKind.TOOL, "s6", "/r", "run_in_terminal", BASH),
    ),
    (
        COPILOT,
        "agentStop",
        {"cwd": "/r", "sessionId": "s6", "hookEventName": "Stop", "stop_hook_active": False},
        HookEvent(VSCODE, "Stop", HookKind.STOP, "s6", "/r"),
    ),
]


@pytest.mark.parametrize(("client", "name", "payload", "event"), RECORDED)
def test_a_recorded_event_is_read(
    client: HookClient, name: str, payload: dict[str, Any], event: HookEvent
) -> None:
    assert read_event(client, name, payload) == event


def test_a_client_that_fills_values_into_a_tools_arguments_sends_texts() -> None:
    sent = {"session_id": "s", "cwd": "/r", "tool_name": "Bash", "tool_input": json.dumps(BASH)}
    assert read_event(CLAUDE, "PreToolUse", sent).given == BASH
    assert not read_event(CLAUDE, "Stop", {"background_tasks": "[]"}).in_background
    assert read_event(CLAUDE, "Stop", {"background_tasks": '[{"id": "b"}]'}).in_background


@pytest.mark.parametrize(
    "payload", [None, [], 3, {}, {"tool_input": "{", "cwd": 3, "session_id": None}, {"workspace_roots": [3]}]
)
def test_what_is_missing_reads_as_empty(payload: object) -> None:
    event = read_event(CLAUDE, "PreToolUse", payload)
    assert (event.session, event.folder, event.tool, dict(event.given)) == ("", "", "", {})


def event(client: HookClient, name: str) -> HookEvent:
    return read_event(client, name, {})


DENY = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "R"}


BLOCK = {"decision": "block", "reason": "R"}


@pytest.mark.parametrize(
    ("client", "name", "answer"),
    [
        (CLAUDE, "PreToolUse", {"hookSpecificOutput": DENY}),
        (CODEX, "PreToolUse", {"hookSpecificOutput": DENY}),
        (GEMINI, "BeforeTool", {"decision": "deny", "reason": "R"}),
        (COPILOT, "PreToolUse", {"hookSpecificOutput": DENY}),
        (COPILOT, "preToolUse", {"permissionDecision": "deny", "permissionDecisionReason": "R"}),
        (CURSOR, "preToolUse", {"permission": "deny", "user_message": "R", "agent_message": "R"}),
        (CLAUDE, "Stop", {"decision": "block", "reason": "R"}),
        (CODEX, "Stop", {"decision": "block", "reason": "R"}),
        (GEMINI, "AfterAgent", {"decision": "deny", "reason": "R"}),
        (COPILOT, "agentStop", {"decision": "block", "reason": "R"}),
        (CURSOR, "stop", {"followup_message": "R"}),
        (VSCODE, "PreToolUse", {"hookSpecificOutput": DENY}),
        (VSCODE, "Stop", {"hookSpecificOutput": {"hookEventName": "Stop", **BLOCK}}),
        (CLAUDE, "ConfigChange", {"decision": "block", "reason": "R"}),
    ],
)
def test_a_refusal_has_the_keys_of_its_client_and_event_and_no_other(
    client: HookClient, name: str, answer: dict[str, Any]
) -> None:
    output = refusal_output(event(client, name), "R")
    assert (json.loads(output.stdout), output.stderr, output.code) == (answer, "", 0)


@pytest.mark.parametrize(
    ("client", "name", "key"),
    [
        (CLAUDE, "SessionStart", "hookSpecificOutput"),
        (CODEX, "SessionStart", "hookSpecificOutput"),
        (GEMINI, "SessionStart", "hookSpecificOutput"),
        (COPILOT, "sessionStart", "additionalContext"),
        (CURSOR, "sessionStart", "additional_context"),
        (VSCODE, "SessionStart", "hookSpecificOutput"),
    ],
)
def test_the_context_of_a_session_is_bounded(client: HookClient, name: str, key: str) -> None:
    [(found, value)] = json.loads(context_output(event(client, name), "a" * 9_000).stdout).items()
    text = value["additionalContext"] if isinstance(value, dict) else value
    assert (found, len(text)) == (key, 1_500)
    assert context_output(event(client, name), "") == no_opinion(event(client, name))


def test_without_an_opinion_nothing_is_said_but_to_programs_that_read_json() -> None:
    assert {client: no_opinion(event(client, "x")).stdout for client in HookClient} == {
        CLAUDE: "", CODEX: "", GEMINI: "", COPILOT: "", CURSOR: "{}\n", VSCODE: "{}\n",
    }  # fmt: skip


def test_without_a_verdict_a_closed_fence_denies_tools_and_an_open_one_nothing() -> None:
    for client in HookClient:
        tool, stop = event(client, "preToolUse"), event(client, "stop")
        assert failure_output(tool, "why", fails_closed=False) == no_opinion(tool)
        assert failure_output(stop, "why", fails_closed=True) == no_opinion(stop)
        assert failure_output(tool, "why", fails_closed=True) != no_opinion(tool)
    assert failure_output(event(CODEX, "PreToolUse"), "why", fails_closed=True) == HookOutput("", "why\n", 2)
