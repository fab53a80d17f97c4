"""Fences that are installed, tried: the configured hook really runs, on a forbidden call in a guarded root.

That root is a temporary one. Nothing that only stands in the workspace is run: a hook is tried as far as it
is word for word what `install` writes, a server as the user's own settings start it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ...tools.fence.build_files import CHECK, GIT_HOOKS, GITHUB_FILES, PRE_COMMIT_PATH
from ...tools.fence.client_settings import (
    HOOK_SECONDS,
    SETTINGS,
    ChangedHooks,
    call_hook,
    installed_policy,
)
from ...tools.fence.hook_effect import NOT_THERE, TOO_LATE, HookOutcome, forbidden_call, is_denied
from ...tools.fence.hook_input import HookClient
from ...tools.fence.tool_calls import OWN_SERVER
from ..store.folder import StoreError, read_file
from ..workspace.workspace import Workspace
from .installation import hooks_folder, plan_fence

_RUN = ".ai-tools-chain/tasks/trial"
_DECISION = f"{_RUN}/accept/decision.json"
_LIMIT_S = HOOK_SECONDS
_START_S = 60
"""A client connects to its servers before there is a call, and waits longer for that."""
_CHECK_S = 60
_SHELL = "/bin/sh"


class TrialResult(StrEnum):
    """What came of a forbidden call, or of a commit that a failed gate forbids."""

    DENIES = "denies"
    PASSES = "lets it through"
    SILENT = "does not answer"
    CHANGED = "was changed, and is not tried"
    UNTRIED = "is in place"


class FenceTrial(NamedTuple):
    """One fence. `without_answer` says what happens to calls when the hook fails; "" where nothing is to be
    said. `why` goes with a result that is no success, `mend` is what helps."""

    program: str
    path: str
    result: TrialResult
    without_answer: str = ""
    why: str = ""
    mend: str = ""


def try_fences(workspace: Workspace) -> list[FenceTrial]:
    """Every fence that is installed in a root, tried. Takes as long as their hooks, and starts processes."""
    with tempfile.TemporaryDirectory(prefix="phasekeeper-trial-") as folder:
        root = Path(folder).resolve()
        _make_root(root, workspace.guard.fails_closed)
        trials = [_try_client(client, workspace, root) for client in HookClient]
        return [*filter(None, trials), *_try_git(workspace, root), *_try_builds(workspace, root)]


def _make_root(root: Path, fails_closed: bool) -> None:
    """A guarded root with one run, whose gate has failed and whose decision is a person's."""
    texts = {
        f"{_RUN}/state.json": '{"phase": "plan_review"}',
        f"{_RUN}/planning/planning.ai.json": "{}",
        f"{_RUN}/review/plan-review.json": '{"ok": false}',
        ".phasekeeper/config.yaml": f'guard: {{runs: ["**"]{", fail: closed" if fails_closed else ""}}}\n',
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    # So that no root around the folder of temporary files is looked for.
    (root / ".git").mkdir()


# ---- assistants -----------------------------------------------------------------------------------


def _try_client(client: HookClient, workspace: Workspace, root: Path) -> FenceTrial | None:
    """The fence of a client; None where there is none."""
    path, again = SETTINGS[client].path, f"phasekeeper install {client}"
    try:
        policy = installed_policy(_text(workspace.root, path), client)
    except ChangedHooks as error:
        return FenceTrial(client, path, TrialResult.CHANGED, why=str(error), mend=again)
    except (ValueError, StoreError) as error:
        return FenceTrial(client, path, TrialResult.SILENT, why=str(error), mend=f"edit {path}, then {again}")
    if policy is None:
        return None
    event, handler = call_hook(client, policy)
    sent = forbidden_call(client, str(root), str(root / _DECISION))
    if handler.get("type") == "mcp_tool":
        outcome, why = _call_server(client, workspace.root, handler, sent, root)
    else:
        outcome, why = _run_hook(handler, sent, root), ""
    kept = _without_answer(client, handler, root)
    # A fence that denies whatever is asked for has no verdict either.
    has_verdict = _DECISION in outcome.stdout
    if has_verdict and is_denied(client, handler, outcome):
        if client is HookClient.CODEX and not policy and not _is_waited_for(workspace.root):
            why = "Codex does not wait for the server that is to judge its first calls"
            wait = "set `required = true` below [mcp_servers.phasekeeper] in its config.toml"
            return FenceTrial(client, path, TrialResult.DENIES, kept, why, wait)
        if policy is not workspace.guard.fails_closed:
            wanted = "closed" if workspace.guard.fails_closed else "open"
            return FenceTrial(client, path, TrialResult.DENIES, kept, f"the guard is to fail {wanted}", again)
        return FenceTrial(client, path, TrialResult.DENIES, kept)
    # Some clients are given exit code 0 whatever happens: then only stderr tells that the hook could not run.
    is_mute = not outcome.stdout.strip() and bool(outcome.stderr.strip())
    if has_verdict or (outcome.code == 0 and not why and not is_mute):
        return FenceTrial(
            client, path, TrialResult.PASSES, kept, f"{event} said {outcome.stdout[:200]!r}", again
        )
    why = why or (outcome.stderr.strip() or "it did not end in time")[-200:]
    return FenceTrial(client, path, TrialResult.SILENT, kept, why, _connect(client, handler))


def _connect(client: HookClient, handler: Mapping[str, Any]) -> str:
    if handler.get("type") == "mcp_tool":
        return f"{client} mcp add {OWN_SERVER} -- {OWN_SERVER} mcp"
    return f"have `{OWN_SERVER}` on the PATH of {client}"


def _without_answer(client: HookClient, handler: Mapping[str, Any], root: Path) -> str:
    """What the client does when the hook is not there, and when it is too slow: tried without any program."""
    command = _command(handler)
    failed = _run(command, b"", root, {"PATH": str(root / ".git")}) if command else NOT_THERE
    denied = [is_denied(client, handler, outcome) for outcome in (failed, TOO_LATE)]
    if all(denied):
        return "denies every call"
    if denied[0]:
        return (
            f"denies every call, but lets one through that takes more than {_LIMIT_S} s: it has no other way"
        )
    return "lets every call through"


def _run_hook(handler: Mapping[str, Any], sent: Mapping[str, Any], root: Path) -> HookOutcome:
    return _run(_command(handler), json.dumps(sent).encode(), root)


def _command(handler: Mapping[str, Any]) -> str:
    return str(handler.get("command") or handler.get("bash") or "")


def _run(
    command: str, sent: bytes, root: Path, env: Mapping[str, str] | None = None, limit_s: int | None = None
) -> HookOutcome:
    try:
        done = subprocess.run(
            [_SHELL, "-c", command],
            cwd=root,
            env={**os.environ, **(env or {})},
            input=sent,
            capture_output=True,
            timeout=limit_s or _LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TOO_LATE
    except OSError as error:
        return NOT_THERE._replace(stderr=str(error))
    stdout, stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return HookOutcome(done.returncode, stdout, stderr)


# ---- a hook that is a tool of our server ------------------------------------------------------------


def _call_server(
    client: HookClient, real: Path, handler: Mapping[str, Any], sent: Mapping[str, Any], root: Path
) -> tuple[HookOutcome, str]:
    """The outcome of a call over a connection as the client would make it, and why there is none."""
    server = _configured_server(client, real)
    if server is None:
        return NOT_THERE, f"{client} knows no server {OWN_SERVER}"
    words, env = server
    arguments = {name: _fill(value, sent) for name, value in handler["input"].items()}
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "doctor", "version": "1"},
    }
    call = {"name": handler["tool"], "arguments": arguments}
    messages = (
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    )
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)
    try:
        answer = _answer(words, env, lines, root)
    except (OSError, ValueError) as error:
        return NOT_THERE, f"{' '.join(words)}: {error}"
    if answer is None:
        return TOO_LATE, f"{' '.join(words)} did not answer in time"
    content = answer.get("result", {}).get("content") or [{}]
    return HookOutcome(0, str(content[0].get("text", ""))), ""


def _fill(value: str, sent: Mapping[str, Any]) -> str:
    """An argument as a client fills it from the event: as text."""
    if not value.startswith("${"):
        return value
    found = sent.get(value[2:-1], "")
    return found if isinstance(found, str) else json.dumps(found)


def _answer(
    words: Sequence[str], env: Mapping[str, str], lines: bytes, root: Path
) -> Mapping[str, Any] | None:
    """The answer to the call in the lines; None where it does not come in time."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, cwd=root, env={**os.environ, **env}, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        bound = threading.Timer(_START_S, process.kill)
        bound.start()
        try:
            assert process.stdin and process.stdout
            with suppress(BrokenPipeError):
                process.stdin.write(lines)
                process.stdin.flush()
            for line in process.stdout:
                message = json.loads(line)
                number = message.get("id") if isinstance(message, dict) else None
                if number == 2:
                    return message
                if number == 1:
                    bound.cancel()
                    bound = threading.Timer(_LIMIT_S, process.kill)
                    bound.start()
            return None
        finally:
            bound.cancel()
            process.kill()


def _configured_server(client: HookClient, real: Path) -> tuple[list[str], Mapping[str, str]] | None:
    """The words that start our server, and its environment, as the user set it up in the client."""
    for server in _servers(client, real):
        command, given, env = server.get("command"), server.get("args", []), server.get("env") or {}
        if isinstance(command, str) and isinstance(given, list) and isinstance(env, dict):
            return [command, *map(str, given)], {str(name): str(value) for name, value in env.items()}
    return None


def _servers(client: HookClient, real: Path) -> Iterator[Mapping[str, Any]]:
    """What settings say of our server: the user's own all, the workspace's where they are as README says."""
    if client is HookClient.CODEX:
        home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
        with suppress(OSError, ValueError):
            yield from _own(tomllib.loads((home / "config.toml").read_text("utf-8")), "mcp_servers")
        return
    with suppress(OSError, ValueError):
        said = json.loads(Path.home().joinpath(".claude.json").read_text("utf-8"))
        projects = said.get("projects") or {}
        yield from _own(projects.get(str(real)), "mcpServers")
        yield from _own(said, "mcpServers")
    with suppress(StoreError, ValueError):
        for server in _own(json.loads(_text(real, ".mcp.json") or "{}"), "mcpServers"):
            if (server.get("command"), server.get("args"), server.get("env") or {}) == (
                OWN_SERVER,
                ["mcp"],
                {},
            ):
                yield server


def _is_waited_for(real: Path) -> bool:
    """True if Codex begins no session before our server is connected; it lets calls through until then."""
    return any(server.get("required") is True for server in _servers(HookClient.CODEX, real))


def _own(settings: Any, key: str) -> Iterator[Mapping[str, Any]]:
    servers = settings.get(key) if isinstance(settings, dict) else None
    server = servers.get(OWN_SERVER) if isinstance(servers, dict) else None
    if isinstance(server, dict):
        yield server


# ---- git and builds ---------------------------------------------------------------------------------


def _try_git(workspace: Workspace, root: Path) -> Iterator[FenceTrial]:
    folder = hooks_folder(workspace.root)
    paths = [f"{folder}/{name}" for name in GIT_HOOKS] if folder else []
    there = [path for path in paths if "phasekeeper" in _text(workspace.root, path)]
    if there:
        yield _try_check("git", ", ".join(there), workspace, root)


def _try_builds(workspace: Workspace, root: Path) -> Iterator[FenceTrial]:
    if "phasekeeper" in _text(workspace.root, PRE_COMMIT_PATH):
        yield _try_check("pre-commit", PRE_COMMIT_PATH, workspace, root)
    there = [path for path in GITHUB_FILES if _text(workspace.root, path)]
    if there:
        is_whole = not plan_fence("github", workspace, ())
        result = TrialResult.UNTRIED if is_whole else TrialResult.CHANGED
        why = "" if is_whole else "it is not what `install` writes"
        yield FenceTrial("github", ", ".join(there), result, why=why, mend="phasekeeper install github")


def _try_check(program: str, path: str, workspace: Workspace, root: Path) -> FenceTrial:
    """The command of the hooks, where it stands as it was put there, on a gate that has failed."""
    again = f"phasekeeper install {program}"
    if plan_fence(program, workspace, ()):
        return FenceTrial(
            program, path, TrialResult.CHANGED, why="it is not what `install` writes", mend=again
        )
    outcome = _run(f"{CHECK} </dev/null", b"", root, limit_s=_CHECK_S)
    if outcome.code == 1 and "plan-review" in outcome.stdout:
        return FenceTrial(program, path, TrialResult.DENIES, "stops every commit")
    why = (outcome.stderr.strip() or outcome.stdout.strip())[-200:]
    result = TrialResult.PASSES if outcome.code in (0, 3) else TrialResult.SILENT
    return FenceTrial(
        program, path, result, "stops every commit", why, "have `phasekeeper` on the PATH of git"
    )


def _text(root: Path, path: str) -> str:
    return (read_file(root, path)[0] or b"").decode("utf-8", "replace")
