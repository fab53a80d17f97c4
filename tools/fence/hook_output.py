"""The answer to a hook: the bytes and the exit code by which each client is told of a verdict.

A client drops an answer that has a key which it does not know, and the tool runs: Codex takes no key but
those of the event, and Stop has others than PreToolUse. So each has exactly its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .hook_input import HookClient, HookEvent, HookKind


class HookOutput(NamedTuple):
    """What a hook's process prints on stdout and stderr, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


_MOST_CONTEXT = 1_500
"""Characters of what a session is told at its start."""


def no_opinion(event: HookEvent) -> HookOutput:
    """Nothing is said: the client does as without a hook. Cursor takes no JSON for a failure."""
    is_read = event.client in (HookClient.CURSOR, HookClient.VSCODE)
    return _as_json({}) if is_read else HookOutput()


def refusal_output(event: HookEvent, reason: str) -> HookOutput:
    """The output that keeps a client from what an event asks for; a stop it keeps from ending."""
    return _as_json(_refusal(event, reason))


def context_output(event: HookEvent, text: str) -> HookOutput:
    """The output that tells a session something at its start."""
    if not text:
        return no_opinion(event)
    told = text[:_MOST_CONTEXT]
    if event.client is HookClient.CURSOR:
        return _as_json({"additional_context": told})
    if event.client is HookClient.COPILOT and event.name[:1].islower():
        return _as_json({"additionalContext": told})
    return _as_json({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": told}})


def failure_output(event: HookEvent, why: str, fails_closed: bool) -> HookOutput:
    """The output where no verdict can be had; `fails_closed` it denies, by exit code where that does more."""
    if not fails_closed or event.kind is not HookKind.TOOL:
        return no_opinion(event)
    if event.client in (HookClient.CURSOR, HookClient.COPILOT):
        return refusal_output(event, why)
    return HookOutput(stderr=f"{why}\n", code=2)


def _refusal(event: HookEvent, reason: str) -> Mapping[str, Any]:
    client, kind = event.client, event.kind
    if client is HookClient.CURSOR:
        if kind is HookKind.STOP:
            return {"followup_message": reason}
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    if client is HookClient.GEMINI:
        return {"decision": "deny", "reason": reason}
    if kind is not HookKind.TOOL:
        block = {"decision": "block", "reason": reason}
        is_nested = client is HookClient.VSCODE
        return {"hookSpecificOutput": {"hookEventName": event.name, **block}} if is_nested else block
    if client is HookClient.COPILOT and event.name[:1].islower():
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    }


def _as_json(data: Mapping[str, Any]) -> HookOutput:
    return HookOutput(json.dumps(data) + "\n")
