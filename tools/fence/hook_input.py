"""Hook events of the coding assistants: what each client sends on stdin, or fills into a tool's arguments.

The forms are those of Claude Code 2.1, Codex 0.171, Gemini CLI 0.61 and Copilot CLI 1.0, recorded from these
programs; Cursor's and VS Code's are by their documents. A payload is another program's: whatever it lacks
reads as empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class HookClient(StrEnum):
    """The programs whose hooks are answered."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    COPILOT = "copilot"
    CURSOR = "cursor"
    VSCODE = "vscode"


class HookKind(StrEnum):
    """What an event is about."""

    TOOL = "tool"
    STOP = "stop"
    START = "start"
    SETTINGS = "settings"
    OTHER = "other"


class HookEvent(NamedTuple):
    """One event. `name` is the client's own, `folder` where it works, "" where it does not say.

    With `in_background` something that the session started still runs; `is_subagent` says that a part of
    the session ends, not the session.
    """

    client: HookClient
    name: str
    kind: HookKind
    session: str = ""
    folder: str = ""
    tool: str = ""
    given: Mapping[str, Any] = {}
    in_background: bool = False
    is_subagent: bool = False


_KINDS: Mapping[str, HookKind] = {
    "pretooluse": HookKind.TOOL, "beforetool": HookKind.TOOL,
    "beforeshellexecution": HookKind.TOOL, "beforemcpexecution": HookKind.TOOL,
    "stop": HookKind.STOP, "agentstop": HookKind.STOP, "afteragent": HookKind.STOP,
    "sessionstart": HookKind.START,
    "configchange": HookKind.SETTINGS,
}  # fmt: skip
"""The events that are answered, by their names in small letters; all others get no opinion."""


def kind_of(event: str) -> HookKind:
    """What an event is about, by the client's name for it."""
    return _KINDS.get(event.lower(), HookKind.OTHER)


def read_event(client: HookClient, event: str, payload: object) -> HookEvent:
    """The event that a payload tells of. `event` is its name as the hook was set up for it."""
    sent = payload if isinstance(payload, Mapping) else {}
    if client is HookClient.COPILOT and "hookEventName" in sent:
        # VS Code runs the hooks in Copilot's files, under its own names of the events.
        client, event = HookClient.VSCODE, _text(sent, "hookEventName")
    name = event or _text(sent, "hook_event_name", "hookEventName")
    tool, given = _text(sent, "tool_name", "toolName"), _arguments(sent)
    if name.lower() == "beforeshellexecution":
        tool, given = "Shell", {"command": _text(sent, "command")}
    if kind_of(name) is HookKind.SETTINGS:
        given = {"file_path": _text(sent, "file_path")}
    background = sent.get("background_tasks")
    if isinstance(background, str):
        # A client that fills it into the arguments of a tool sends its text.
        background = _parse_json(background)
    return HookEvent(
        client,
        name,
        kind_of(name),
        _text(sent, "session_id", "sessionId", "conversation_id"),
        _text(sent, "cwd") or _first_root(sent),
        tool,
        given,
        bool(background),
        bool(_text(sent, "agent_id", "agentId", "parentAgentId")),
    )


def _arguments(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of the tool: a map, or its JSON as text."""
    given = next((sent[name] for name in ("tool_input", "toolArgs", "arguments") if name in sent), {})
    if isinstance(given, str):
        given = _parse_json(given)
    return given if isinstance(given, Mapping) else {}


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(sent: Mapping[str, Any], *names: str) -> str:
    return next((sent[name] for name in names if isinstance(sent.get(name), str)), "")


def _first_root(sent: Mapping[str, Any]) -> str:
    roots = sent.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
