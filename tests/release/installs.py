"""What a user installs, from the artifacts alone: each Python on the machine, by pip and by uv."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from .build import run

OLDEST = (3, 11)
_VERSION = "import sys; print(*sys.version_info[:2])"


class Installation(NamedTuple):
    """An environment with the wheel in it; `size` is in bytes, with all dependencies."""

    name: str
    program: Path
    python: Path
    size: int


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
    run([folder / "bin/python", "-m", "pip", "install", "--quiet", archive], work)
    return Installation(f"pip, {name}", folder / "bin/phasekeeper", folder / "bin/python", _size(folder))


def install_with_uv(work: Path, tools: Path, python: Path, name: str, wheel: Path) -> Installation:
    """`uv tool install`, with everything of uv's in folders of its own."""
    folder = work / f"uv-{name}"
    env = {**os.environ, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    run([tools / "uv", "tool", "install", "--quiet", "--python", python, wheel], work, env)
    place = folder / "tools" / "phasekeeper"
    return Installation(f"uv, {name}", folder / "bin/phasekeeper", place / "bin/python", _size(place))


def try_out(work: Path, installed: Installation) -> None:
    """What a new user does first: demo, check, doctor, an editor's and an assistant's connection."""
    home = work / f"home of {installed.name}"
    home.mkdir()
    names = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    env = {**os.environ, **{name: str(home / name[-6:].lower()) for name in names}, "HOME": str(home)}
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
    """Ask a server to initialize, and read that it answers as itself."""
    shared = {"clientInfo": {"name": "release", "version": "1"}, "capabilities": {}}
    of_server = {
        "lsp": {"processId": None, "rootUri": root.as_uri()},
        "mcp": {"protocolVersion": "2025-06-18"},
    }
    asked = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**shared, **of_server[server]}}
    )
    framed = f"Content-Length: {len(asked)}\r\n\r\n{asked}" if server == "lsp" else asked + "\n"
    done = subprocess.run(
        list(map(str, words)), cwd=root, env=env, input=framed, capture_output=True, text=True, check=False
    )
    if '"serverInfo"' not in done.stdout or "phasekeeper" not in done.stdout.lower():
        raise SystemExit(f"{words[0]} {server} does not answer:\n{done.stdout}{done.stderr}")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
