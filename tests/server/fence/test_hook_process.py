"""`phasekeeper hook` as a process: the same answer by the server and by itself, and one in any case."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.connector import hook_call

from tests.roots import EXAMPLES, put
from tests.server.servers import BOUND_S, Home, until

DECISION = ".ai-tools-chain/tasks/late-fees/accept/decision.json"
SCRIPT = Path(hook_call.__file__).with_name("hook.py")


@pytest.fixture
def guarded(home: Home) -> Path:
    root = home.path / "work"
    shutil.copytree(EXAMPLES, root)
    config = root / ".phasekeeper/config.yaml"
    put(config, config.read_text() + 'guard: {runs: ["**"]}\n')
    return root


def event(root: Path, path: str = DECISION) -> bytes:
    sent = {"session_id": "s", "cwd": str(root), "tool_name": "Write", "tool_input": {"file_path": path}}
    return json.dumps(sent).encode()


def call(home: Home, sent: bytes, *words: str, command: tuple[str, ...] = ()) -> tuple[int, str, str]:
    start = command or (sys.executable, "-I", "-m", "phasekeeper", "hook")
    process = home.popen([*start, *(words or ("claude", "PreToolUse"))], home.path, home.env)
    stdout, stderr = process.communicate(sent, BOUND_S)
    return process.returncode, stdout.decode(), stderr.decode()


def test_the_server_and_the_process_alone_say_the_same_and_one_starts_the_other(
    home: Home, guarded: Path
) -> None:
    alone = call(home, event(guarded))
    assert json.loads(alone[1])["hookSpecificOutput"]["permissionDecision"] == "deny"
    until(home.answers)
    served = home.information()["served"]
    assert call(home, event(guarded)) == alone
    assert home.information()["served"] == served + 1
    assert call(home, event(guarded, "src/a.py")) == (0, "", "")
    assert call(home, event(guarded), command=(sys.executable, "-I", "-S", str(SCRIPT))) == alone


@pytest.mark.parametrize("policy", ["open", "closed"])
def test_a_server_that_is_killed_in_between_changes_no_verdict(
    home: Home, guarded: Path, policy: str
) -> None:
    config = guarded / ".phasekeeper/config.yaml"
    put(config, config.read_text().replace('["**"]', f'["**"], fail: {policy}'))
    server = home.server()
    denied, free = call(home, event(guarded)), call(home, event(guarded, "src/a.py"))
    server.kill()
    server.wait()
    assert "deny" in denied[1]
    assert (call(home, event(guarded)), call(home, event(guarded, "src/a.py"))) == (denied, free)


def test_a_server_that_stops_answering_is_not_waited_for(
    home: Home, guarded: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    server = home.server()
    server.send_signal(signal.SIGSTOP)
    try:
        for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, home.env[name])
        monkeypatch.setattr(hook_call, "_GREETING_S", 0.2)
        monkeypatch.setattr(hook_call.sys, "stdin", _Stdin(event(guarded)))
        assert hook_call.run_hook("claude", "PreToolUse") == 0
        assert b'"deny"' in capfdbinary.readouterr().out
    finally:
        server.send_signal(signal.SIGCONT)


def test_wrong_calls_are_no_refusals(home: Home) -> None:
    assert call(home, b"", "clippy", "PreToolUse")[0] == 1
    code, _, stderr = call(home, b"", "claude")
    assert (code, "usage: phasekeeper hook" in stderr) == (2, True)


@pytest.mark.parametrize(
    ("said", "code"), [("fail: closed", 2), ('"fail": "closed"', 2), ("fail: open", 0), ("", 0)]
)
def test_a_hook_that_cannot_be_answered_does_what_the_configuration_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any, said: str, code: int
) -> None:
    put(tmp_path / ".phasekeeper/config.yaml", f"guard: {{runs: ['**'], {said}}}\n")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")

    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(hook_call, "_ask_server", fail)
    monkeypatch.setattr(hook_call.sys, "stdin", _Stdin(event(tmp_path)))
    assert hook_call.run_hook("claude", "PreToolUse") == code
    assert b"could not be answered: MemoryError: no room" in capfdbinary.readouterr().err


class _Stdin:
    """Standard input with some bytes."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_the_light_form_imports_no_engine() -> None:
    said = "import sys; sys.path.insert(0, {path!r}); import {name}; print(*sorted(sys.modules))"
    package = Path(hook_call.__file__).parents[2]
    code = said.format(path=str(package), name="server.connector.hook_call")
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {
        "json",
        "re",
        "typing",
        "pathlib",
        "asyncio",
        "subprocess",
        "socket",
        "importlib.metadata",
    }
