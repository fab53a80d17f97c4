"""The inspector of the protocol's makers, against the server as users start it, by both ways in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.roots import TASKS, task
from tests.server.mcp.peers import LIMIT_S, program
from tests.server.servers import Home, homes, until

SNAPSHOT = Path(__file__).parent / "tools.json"
RUN = f"{TASKS}/T1"
ASKED = {
    "tools": ("tools/list", "--strict"),
    "step": ("tools/call", "--tool-name", "next_step", "--tool-arg", "root={root}"),
    "resources": ("resources/list",),
    "prompts": ("prompts/list",),
}
"""What the inspector is asked for in every combination; `--strict` has it check the schemas of the tools."""


@pytest.fixture
def home() -> Iterator[Home]:
    with homes(LIMIT_S) as made:
        yield made


@pytest.fixture
def http(home: Home, root: Path) -> str:
    """The port of a server; assistants that come by the user's socket are served by the same."""
    process = home.start("serve", str(root), "--http", "0")
    until(lambda: process.poll() is not None or (home.answers() and "http" in home.information()))
    return home.information()["http"]


def way_in(way: str, home: Home, root: Path, http: str) -> list[str]:
    """The words that tell the inspector how to reach the server."""
    if way == "http":
        token = (home.path / "state/phasekeeper/http.token").read_text(encoding="ascii").strip()
        return ["--transport", "http", "--server-url", http, "--header", f"Authorization: Bearer {token}"]
    names = ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "PHASEKEEPER_WAIT_S")
    folders = [word for name in names for word in ("-e", f"{name}={home.env[name]}")]
    return ["--cwd", str(root), *folders, sys.executable, "-I", "-m", "phasekeeper", "mcp"]


def inspect(home: Home, words: Sequence[str]) -> dict[str, Any]:
    """What the inspector prints as a result; it must find nothing wrong."""
    command = [*program(".bin/mcp-inspector"), "--cli", "--format", "json", "--connect-timeout", "0", *words]
    done = subprocess.run(
        command, env=home.env, cwd=home.path, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)["result"]


@pytest.mark.parametrize("era", ("legacy", "modern"))
@pytest.mark.parametrize("way", ("stdio", "http"))
def test_the_inspector_gets_what_the_server_has(
    root: Path, home: Home, http: str, way: str, era: str
) -> None:
    task(root, "T1")
    known = ["--protocol-era", era, *way_in(way, home, root, http)]
    words = [[*known, "--method", *(w.format(root=root) for w in asked)] for asked in ASKED.values()]
    with ThreadPoolExecutor(len(words)) as pool:
        got = dict(zip(ASKED, pool.map(lambda each: inspect(home, each), words), strict=True))
    assert got["tools"]["tools"] == json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    assert got["step"]["structuredContent"]["run"] == RUN
    assert got["step"]["structuredContent"]["suggestion"]["suggestedNext"] == "codegen"
    assert [prompt["name"] for prompt in got["prompts"]["prompts"]] == ["next", "resume", "explain-gate"]
    names = [resource["name"] for resource in got["resources"]["resources"]]
    # A connection has a folder; over the port it is what a person has served.
    assert names == ["evaluation schema", f"runs of {root}", RUN]


def test_without_the_token_the_inspector_is_not_let_in(home: Home, http: str) -> None:
    words = [*program(".bin/mcp-inspector"), "--cli", "--format", "json", "--stored-auth-only"]
    words += ["--transport", "http", "--server-url", http, "--method", "tools/list"]
    done = subprocess.run(
        words, env=home.env, cwd=home.path, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode != 0
    assert '"tools"' not in done.stdout
    assert "auth_required" in done.stderr
