"""Three assistants: how each is started without a person, calls tools, and says what it is connected to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from phasekeeper.tools.assistant.tools import TOOLS

from tests.assistants_live import programs
from tests.assistants_live.programs import Program
from tests.assistants_live.scene import BOUND_S, Scene
from tests.assistants_live.script import Hands
from tests.assistants_live.wires import SEARCH, Call
from tests.roots import put

PROMPT = "Drive the run {run} to its end with the tools of phasekeeper."


class Assistant(NamedTuple):
    """`title` is its row in README, `run` the example it drives. `connected` says what it is connected to, or
    raises AssertionError."""

    name: str
    title: str
    program: Program
    run: str
    hands: Hands
    words: Callable[[Scene, str, str], Sequence[str]]
    env: Callable[[str], Mapping[str, str]]
    connected: Callable[[Scene], str]


# ---- Claude Code ------------------------------------------------------------------------------

_CLAUDE_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


def _claude_write(path: Path, text: str) -> list[Call]:
    """It writes over a file only after it has read it."""
    write = Call("Write", {"file_path": str(path), "content": text})
    return [Call("Read", {"file_path": str(path)}), write] if path.exists() else [write]


def _claude_search() -> Call:
    """It is told the names of tools only, and looks the rest up."""
    names = ",".join(f"mcp__phasekeeper__{tool.name}" for tool in TOOLS)
    return Call("ToolSearch", {"query": f"select:{names}", "max_results": len(TOOLS)})


def _claude_words(scene: Scene, prompt: str, address: str) -> list[str]:
    allowed = "mcp__phasekeeper,Read,Write,Edit"
    return [
        "claude", "-p", prompt, "--output-format", "stream-json", "--verbose",
        "--model", "claude-sonnet-4-5", "--permission-mode", "acceptEdits", "--allowedTools", allowed,
    ]  # fmt: skip


def _claude_connected(scene: Scene) -> str:
    done = scene.run(["claude", "mcp", "list"], _CLAUDE_QUIET)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("phasekeeper:")] or [done.stdout]
    assert line.endswith("✔ Connected"), line + done.stderr
    return f"claude mcp list: {line}"


# ---- Codex ------------------------------------------------------------------------------------


def _codex_write(path: Path, text: str) -> list[Call]:
    lines = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
    patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
    return [Call("apply_patch", patch)]


def _codex_search() -> Call:
    """It is told of no server's tools, and looks for them."""
    words = " ".join(["phasekeeper", *(tool.name for tool in TOOLS)])
    return Call(SEARCH, {"query": words, "limit": len(TOOLS)})


def _codex_words(scene: Scene, prompt: str, address: str) -> list[str]:
    provider = (
        f'{{name="scripted", base_url="{address}/v1", wire_api="responses", env_key="SCRIPTED_KEY", '
        "request_max_retries=1, stream_max_retries=1, supports_websockets=false}"
    )
    said = {
        # As README says.
        "mcp_servers.phasekeeper.required": "true",
        "model": '"gpt-5.5"',
        "model_provider": '"scripted"',
        "model_providers.scripted": provider,
        "check_for_update_on_startup": "false",
        "analytics.enabled": "false",
        "approval_policy": '"never"',
    }
    options = [word for key, value in said.items() for word in ("-c", f"{key}={value}")]
    return ["codex", "exec", "--json", "-s", "danger-full-access", *options, prompt]


def _codex_connected(scene: Scene) -> str:
    """The app server is asked as editors ask it."""
    with subprocess.Popen(
        ["codex", "app-server"], cwd=scene.repository, env=scene.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        assert server.stdin and server.stdout

        def ask(number: int, method: str, **params: Any) -> Any:
            message = {"id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(message) + "\n")  # pyright: ignore
            server.stdin.flush()  # pyright: ignore
            for line in server.stdout:  # pyright: ignore
                if (answer := json.loads(line)).get("id") == number:
                    return answer["result"]
            raise AssertionError(f"codex app-server ended at {method}")

        ask(1, "initialize", clientInfo={"name": "drive", "version": "1"})
        found = ask(2, "mcpServerStatus/list")["data"]
        server.stdin.close()
        server.wait(BOUND_S)
    [ours] = [each for each in found if each["name"] == "phasekeeper"]
    assert len(ours["tools"]) == 8, ours
    return (
        f"codex app-server, mcpServerStatus/list: {ours['serverInfo']['title']}, {len(ours['tools'])} tools"
    )


# ---- Gemini -----------------------------------------------------------------------------------

_GEMINI_QUIET = {
    "GEMINI_CLI_NO_RELAUNCH": "true",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "GEMINI_TELEMETRY_ENABLED": "false",
}
_GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}


def _gemini_words(scene: Scene, prompt: str, address: str) -> list[str]:
    put(scene.home / ".gemini/settings.json", _GEMINI_SETTINGS)
    return [
        "gemini", "-p", prompt, "-m", "gemini-2.5-pro",
        "--approval-mode", "yolo", "--output-format", "stream-json",
    ]  # fmt: skip


def _gemini_connected(scene: Scene) -> str:
    done = scene.run(["gemini", "mcp", "list"], _GEMINI_QUIET)
    said = done.stdout + done.stderr
    [line] = [line for line in said.splitlines() if "phasekeeper:" in line] or [said]
    assert line.startswith("✓") and line.endswith("Connected"), said
    return f"gemini mcp list: {line}"


# ---- all of them ------------------------------------------------------------------------------

CLAUDE = Assistant(
    "claude",
    "Claude Code",
    programs.CLAUDE,
    ".ai-tools-chain/tasks/late-fees",
    Hands(lambda tool, given: Call(f"mcp__phasekeeper__{tool}", given), _claude_write, [_claude_search()]),
    _claude_words,
    lambda address: {**_CLAUDE_QUIET, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "dummy"},
    _claude_connected,
)
CODEX = Assistant(
    "codex",
    "Codex",
    programs.CODEX,
    ".claude/state",
    Hands(lambda tool, given: Call(tool, given, "mcp__phasekeeper"), _codex_write, [_codex_search()]),
    _codex_words,
    lambda address: {"SCRIPTED_KEY": "dummy"},
    _codex_connected,
)
GEMINI = Assistant(
    "gemini",
    "Gemini",
    programs.GEMINI,
    ".orchestrator/tasks/reading-lists",
    Hands(
        lambda tool, given: Call(f"mcp_phasekeeper_{tool}", given),
        lambda path, text: [Call("write_file", {"file_path": str(path), "content": text})],
    ),
    _gemini_words,
    lambda address: {**_GEMINI_QUIET, "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "dummy"},
    _gemini_connected,
)
ASSISTANTS = (CLAUDE, CODEX, GEMINI)
