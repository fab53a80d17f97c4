"""Settings that put a fence up in each client: our hooks in its own file, beside all that stands there.

Pure: texts to texts. Ours are known by their command or their server, so that they can be taken out again and
are never written twice. What a guard that fails closed needs is each client's own: Claude's `onFailure`,
Cursor's `failClosed`; Copilot denies when a hook's process fails; Codex, Gemini and VS Code when it exits
with 2. VS Code runs the hooks in Copilot's file: one file serves both, for two would be asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...orchestration.formats.json_edits import set_values
from ...orchestration.formats.json_text import read_json
from .hook_input import HookClient, HookKind, kind_of
from .tool_calls import OWN_SERVER

_Hooks = Mapping[str, Sequence[Mapping[str, Any]]]
HOOK_SECONDS = 30
"""A hook is given up after so long, and most clients then let the call through. One takes milliseconds, but
on a machine that is busy beyond measure a process that has to look at the files itself takes seconds."""


class ClientSettings(NamedTuple):
    """Where a client has its hooks, from the root, and those that it gets; `more` is what else it needs."""

    path: str
    hooks: Callable[[bool], _Hooks]
    more: Mapping[str, Any] = {}


def with_hooks(text: str, client: HookClient, fails_closed: bool) -> str:
    """The text of a client's settings with our hooks, and nothing else changed; "" is no file yet.

    Raises ValueError for a text that is no JSON object, or whose hooks are no lists.
    """
    settings = SETTINGS[client]
    before = text if text.strip() else "{}\n"
    events = _events(before)
    changes: list[tuple[tuple[str | int, ...], object]] = [
        ((key,), value) for key, value in settings.more.items() if key not in _object(before)
    ]
    for event, ours in settings.hooks(fails_closed).items():
        others = [entry for entry in events.get(event, ()) if not is_ours(entry)]
        changes.append((("hooks", event), [*others, *ours]))
    return set_values(before, changes)


def without_hooks(text: str, client: HookClient) -> str:
    """The text without our hooks, "" where nothing else stands in it. Raises ValueError.

    An event without any other hook keeps an empty list.
    """
    if not text.strip():
        return text
    events = _events(text)
    ours = {event: entries for event, entries in events.items() if any(map(is_ours, entries))}
    left = {event: [each for each in entries if not is_ours(each)] for event, entries in ours.items()}
    others = _object(text).keys() - {"hooks", *SETTINGS[client].more}
    if ours and not others and not any((events | left).values()):
        return ""
    return set_values(text, [(("hooks", event), entries) for event, entries in left.items()])


def is_ours(entry: object) -> bool:
    """True for an entry of an event that is one of our hooks, in any of the forms there are."""
    if not isinstance(entry, dict):
        return False
    nested = entry.get("hooks")
    if isinstance(nested, list):
        return bool(nested) and all(map(is_ours, nested))
    words = [entry.get(key) for key in ("command", "bash", "server")]
    return any(
        isinstance(word, str) and (word == OWN_SERVER or f"{OWN_SERVER} hook " in word) for word in words
    )


def call_hook(client: HookClient, fails_closed: bool) -> tuple[str, Mapping[str, Any]]:
    """The event and the hook by which a client asks before a call of a tool."""
    hooks = SETTINGS[client].hooks(fails_closed)
    [event] = [event for event in hooks if kind_of(event) is HookKind.TOOL]
    [entry] = hooks[event]
    return event, (entry["hooks"][0] if "hooks" in entry else entry)


class ChangedHooks(ValueError):  # noqa: N818 - a reason, shown to people
    """Our hooks stand in a client's settings otherwise than they were put there."""


def installed_policy(text: str, client: HookClient) -> bool | None:
    """Whether the hooks that we put into the text fail closed; None without any.

    Raises ChangedHooks where they are not word for word what was put there, ValueError as `with_hooks`.
    """
    events = _events(text) if text.strip() else {}
    found = {event: ours for event, entries in events.items() if (ours := [*filter(is_ours, entries)])}
    if not found:
        return None
    for policy in (False, True):
        if found == SETTINGS[client].hooks(policy):
            return policy
    raise ChangedHooks("its hooks were changed")


def _object(text: str) -> Mapping[str, Any]:
    data = read_json(text).data
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    return data


def _events(text: str) -> dict[str, list[Any]]:
    hooks = _object(text).get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise ValueError("hooks is no object of lists")
    return hooks


# ---- the clients --------------------------------------------------------------------------------


def _command(client: str, event: str) -> str:
    return f"{OWN_SERVER} hook {client} {event}"


_OR_BLOCK = " || { echo 'phasekeeper has no verdict, and this guard fails closed' >&2; exit 2; }"
"""What makes every failure of a command one that blocks, also where there is no such program."""


def _tool(client: str, event: str, *fields: str) -> dict[str, Any]:
    """A hook that calls our connected server's tool, which the program fills with fields of the event."""
    sent = {"client": client, "event": event}
    sent |= {field: f"${{{field}}}" for field in ("session_id", "cwd", *fields)}
    return {"type": "mcp_tool", "server": OWN_SERVER, "tool": "hook", "input": sent, "timeout": HOOK_SECONDS}


def _claude(fails_closed: bool) -> _Hooks:
    # A session's first calls, and on a busy machine its end, may come before our server is connected. Without
    # `onFailure`, which an end does not have, Claude lets those through; a process has a verdict at any time.
    def process(event: str) -> dict[str, Any]:
        return {"type": "command", "command": _command("claude", event), "timeout": HOOK_SECONDS}

    def hook(event: str, *fields: str) -> dict[str, Any]:
        closed = {"onFailure": "block"}
        return _tool("claude", event, *fields) | closed if fails_closed else process(event)

    return {
        "SessionStart": [{"hooks": [process("SessionStart")]}],
        "PreToolUse": [{"matcher": "*", "hooks": [hook("PreToolUse", "tool_name", "tool_input")]}],
        "ConfigChange": [{"hooks": [hook("ConfigChange", "file_path")]}],
        "Stop": [{"hooks": [process("Stop")]}],
    }


def _codex(fails_closed: bool) -> _Hooks:
    call: dict[str, Any] = _tool("codex", "PreToolUse", "tool_name", "tool_input")
    if fails_closed:
        # A tool's hook lets a call through where its server is not there, and so does a command that fails.
        command = _command("codex", "PreToolUse")
        call = {"type": "command", "command": f"{command}{_OR_BLOCK}", "timeout": HOOK_SECONDS}
    return {
        "SessionStart": [{"hooks": [_tool("codex", "SessionStart")]}],
        "PreToolUse": [{"matcher": "*", "hooks": [call]}],
        "Stop": [{"hooks": [_tool("codex", "Stop")]}],
    }


def _gemini(fails_closed: bool) -> _Hooks:
    def hook(event: str, more: str) -> list[dict[str, Any]]:
        named = {"type": "command", "name": OWN_SERVER, "command": f"{_command('gemini', event)}{more}"}
        return [{"matcher": "*", "hooks": [named | {"timeout": HOOK_SECONDS * 1000}]}]

    # To Gemini every code above 1 with a text on stderr blocks, also that of a shell which finds no program;
    # an end that is blocked so would be blocked for ever.
    passes = " || exit $(($? == 2 ? 2 : 1))"
    return {
        "SessionStart": hook("SessionStart", " || exit 1"),
        "BeforeTool": hook("BeforeTool", _OR_BLOCK if fails_closed else passes),
        "AfterAgent": hook("AfterAgent", " || exit 1"),
    }


def _copilot(fails_closed: bool) -> _Hooks:
    # To Copilot a process that fails denies, so an open guard says that it has not failed.
    def hook(event: str, *, closed: bool = False) -> list[dict[str, Any]]:
        command = _command("copilot", event)
        bash = f"{command}{_OR_BLOCK}" if closed else f"{command}; exit 0"
        powershell = f"{command}; if ($LASTEXITCODE -ne 0) {{ exit 2 }}" if closed else f"{command}; exit 0"
        return [{"type": "command", "bash": bash, "powershell": powershell, "timeoutSec": HOOK_SECONDS}]

    return {
        "sessionStart": hook("sessionStart"),
        "preToolUse": hook("preToolUse", closed=fails_closed),
        "agentStop": hook("agentStop"),
    }


def _cursor(fails_closed: bool) -> _Hooks:
    def hook(event: str, **more: Any) -> list[dict[str, Any]]:
        return [{"command": _command("cursor", event), "timeout": HOOK_SECONDS, **more}]

    closed = {"failClosed": True} if fails_closed else {}
    return {
        "sessionStart": hook("sessionStart"),
        "preToolUse": hook("preToolUse", **closed),
        "stop": hook("stop", loop_limit=3),
    }


SETTINGS: Mapping[HookClient, ClientSettings] = {
    HookClient.CLAUDE: ClientSettings(".claude/settings.json", _claude),
    HookClient.CODEX: ClientSettings(".codex/hooks.json", _codex),
    HookClient.GEMINI: ClientSettings(".gemini/settings.json", _gemini),
    HookClient.COPILOT: ClientSettings(".github/hooks/phasekeeper.json", _copilot, {"version": 1}),
    HookClient.CURSOR: ClientSettings(".cursor/hooks.json", _cursor, {"version": 1}),
    HookClient.VSCODE: ClientSettings(".github/hooks/phasekeeper.json", _copilot, {"version": 1}),
}
