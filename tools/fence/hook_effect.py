"""What a client does with the outcome of a hook before a call of a tool: deny it, or let it run.

By the clients' own rules, driven with Claude Code 2.1, Codex 0.171, Gemini CLI 0.61 and Copilot CLI 1.0;
Cursor's and VS Code's are by their documents. A fence is worth what this says, not what its command prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .hook_input import HookClient

_BLOCK = 2
"""The exit code that denies, to every client."""


class HookOutcome(NamedTuple):
    """How a hook ended: with a code, or (None) not in time. One that could not be started has the shell's."""

    code: int | None
    stdout: str = ""
    stderr: str = ""


NOT_THERE = HookOutcome(127)
TOO_LATE = HookOutcome(None)


def is_denied(client: HookClient, handler: Mapping[str, Any], outcome: HookOutcome) -> bool:
    """True if the client denies the call. `handler` is the hook as it stands in the client's settings; a tool
    of a server that did not answer ends as a command does that is not there."""
    code, answer = outcome.code, _read(outcome.stdout)
    if code is None:
        return _denies_failures(handler)
    if code == _BLOCK:
        # Codex takes no block without a reason.
        return client is not HookClient.CODEX or bool(outcome.stderr.strip())
    if client is HookClient.GEMINI and code > 1 and outcome.stderr.strip():
        return True
    if code != 0:
        return client is HookClient.COPILOT or _denies_failures(handler)
    if answer is None:
        is_failure = handler.get("type") == "mcp_tool" or client is HookClient.CURSOR
        return is_failure and _denies_failures(handler)
    return _says_no(client, answer)


def _denies_failures(handler: Mapping[str, Any]) -> bool:
    """Claude's and Cursor's own words for it; the others have none."""
    return handler.get("onFailure") == "block" or handler.get("failClosed") is True


def _says_no(client: HookClient, answer: Mapping[str, Any]) -> bool:
    if client is HookClient.CURSOR:
        return answer.get("permission") == "deny"
    if client is HookClient.GEMINI:
        return answer.get("decision") in ("deny", "block")
    own = answer if client is HookClient.COPILOT else answer.get("hookSpecificOutput", {})
    return own.get("permissionDecision") == "deny" and bool(own.get("permissionDecisionReason"))


def _read(text: str) -> Mapping[str, Any] | None:
    """The answer on stdout: nothing is an empty one, what is no JSON object none."""
    try:
        answer = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


# ---- the call that has to be denied ---------------------------------------------------------------


def forbidden_call(client: HookClient, root: str, path: str) -> dict[str, Any]:
    """The event with which a client asks whether it may write a file, as recorded from it."""
    given: dict[str, Any] = {"file_path": path, "content": "{}\n"}
    event = {"session_id": "trial", "cwd": root, "hook_event_name": "PreToolUse"}
    match client:
        case HookClient.CLAUDE:
            return {**event, "tool_name": "Write", "tool_input": given}
        case HookClient.CODEX:
            patch = f"*** Begin Patch\n*** Add File: {path}\n+{{}}\n*** End Patch\n"
            return {**event, "tool_name": "apply_patch", "tool_input": {"command": patch}}
        case HookClient.GEMINI:
            return {**event, "hook_event_name": "BeforeTool", "tool_name": "write_file", "tool_input": given}
        case HookClient.COPILOT:
            text = json.dumps({"path": path, "file_text": "{}\n"})
            return {"sessionId": "trial", "timestamp": 0, "cwd": root, "toolName": "create", "toolArgs": text}
        case HookClient.CURSOR:
            own = {"conversation_id": "trial", "workspace_roots": [root], "hook_event_name": "preToolUse"}
            return {**own, "tool_name": "Write", "tool_input": given}
        case HookClient.VSCODE:
            own = {"sessionId": "trial", "hookEventName": "PreToolUse", "cwd": root}
            return {**own, "tool_name": "create_file", "tool_input": {"filePath": path, "content": "{}\n"}}
