"""What a user installs, from the artifacts alone: each Python on the machine, by pip and by uv."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from .build import run
from .inventory import packages

OLDEST = (3, 11)
_BOUND_S = 120.0
_VERSION = "import sys; print(*sys.version_info[:2])"


class Installation(NamedTuple):
    """An environment with the wheel in it."""

    name: str
    program: Path
    python: Path

    @property
    def size(self) -> int:
        """Bytes of what was installed, with all dependencies, without pip and what Python compiles."""
        return sum(package.size for package in packages(self.python))


def pythons() -> list[tuple[str, Path]]:
    """(version, program) of every Python on the machine that is new enough, the oldest first."""
    found: dict[tuple[int, int], Path] = {}
    folders = [Path(each) for each in os.environ["PATH"].split(":")]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    for minor in range(OLDEST[1], 30):
        for folder in folders:
            program = folder / f"python3.{minor}"
            if program.exists() and "shims" not in program.parts:
                done = subprocess.run([program, "-c", _VERSION], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    found.setdefault((3, minor), program)
    return [(f"{major}.{minor}", found[major, minor]) for major, minor in sorted(found)]


def install_with_pip(work: Path, python: Path, name: str, archive: Path) -> Installation:
    """A clean virtual environment with the wheel or the sdist."""
    folder = work / f"pip-{name}"
    run([python, "-m", "venv", folder], work)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run([programs / "python", "-m", "pip", "install", "--quiet", archive], work)
    return Installation(f"pip, {name}", programs / "phasekeeper", programs / "python")


def install_with_uv(work: Path, tools: Path, python: Path, name: str, wheel: Path) -> Installation:
    """`uv tool install`, with everything of uv's in folders of its own."""
    folder = work / f"uv-{name}"
    env = {**os.environ, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    run([tools / "uv", "tool", "install", "--quiet", "--python", python, wheel], work, env)
    place = folder / "tools" / "phasekeeper"
    return Installation(f"uv, {name}", folder / "bin/phasekeeper", place / "bin/python")


def try_out(work: Path, installed: Installation) -> None:
    """What a new user does first: demo, check, doctor, an editor's and an assistant's connection."""
    home = work / f"home of {installed.name}"
    home.mkdir()
    names = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA")
    env = {**os.environ, **{name: str(home / name.lower()) for name in names}, "HOME": str(home)}
    env["USERPROFILE"] = str(home)
    for name in names:
        Path(env[name]).mkdir(mode=0o700, exist_ok=True)
    program = installed.program
    run([program, "demo", home / "demo"], home, env)
    said = subprocess.run([program, "check"], cwd=home / "demo", env=env, check=False, capture_output=True)
    if said.returncode not in (1, 3) or b"Traceback" in said.stdout + said.stderr:
        raise SystemExit(f"{installed.name}: check exits with {said.returncode}\n{said.stderr.decode()}")
    run([program, "doctor"], home / "demo", env)
    for server in ("lsp", "mcp"):
        _greet([program, server, "--standalone"], server, home / "demo", env)


def _greet(words: list[str | Path], server: str, root: Path, env: dict[str, str]) -> None:
    """Ask a server to initialize, and an assistant's for its tools; read that it answers as itself."""
    asked, expected = (
        (_editor_messages(root), '"serverInfo"')
        if server == "lsp"
        else (_assistant_messages(), '"next_step"')
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        list(map(str, words)), cwd=root, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        bound = threading.Timer(_BOUND_S, process.kill)
        bound.start()
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(asked)
        process.stdin.flush()
        said = ""
        # Its input stays open until it has answered: what is asked by one who left is not answered.
        while expected not in said and (part := process.stdout.read(1)):
            said += part
        process.stdin.close()
        said += process.stdout.read()
        errors = process.stderr.read()
        bound.cancel()
    if expected not in said or "phasekeeper" not in said.lower():
        raise SystemExit(f"{words[0]} {server} does not answer:\n{said}{errors}")


_CLIENT = {"clientInfo": {"name": "release", "version": "1"}, "capabilities": {}}


def _editor_messages(root: Path) -> str:
    asked = _message("initialize", 1, {**_CLIENT, "processId": None, "rootUri": root.as_uri()})
    return f"Content-Length: {len(asked)}\r\n\r\n{asked}"


def _assistant_messages() -> str:
    lines = (
        _message("initialize", 1, {**_CLIENT, "protocolVersion": "2025-06-18"}),
        _message("notifications/initialized"),
        _message("tools/list", 2, {}),
    )
    return "".join(f"{line}\n" for line in lines)


def _message(method: str, number: int | None = None, params: object = None) -> str:
    fields = {"id": number, "params": params}
    said = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"jsonrpc": "2.0", "method": method, **said})
