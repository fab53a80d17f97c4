"""Programs by others, which the tests speak with; `make peers` installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.roots import not_run

INSTALLED = Path(__file__).parent / "node_modules"
LIMIT_S = 400
_NODE = (22, 19)
"""The oldest that all of them run on."""


def program(path: str) -> list[str]:
    """The words that start an installed program."""
    if not (INSTALLED / "installed").exists():
        not_run("the programs that `make peers` installs")
    return [_node(), str(INSTALLED / path)]


def _node() -> str:
    """The system's Node, or else the rig's: what is new enough."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    rig = Path(os.environ.get("RIG") or cache / "phasekeeper-rig")
    for node in (shutil.which("node"), shutil.which(rig / "node24/package/bin/node")):
        if node and _version(node) >= _NODE:
            return node
    return not_run("Node 22.19 or newer, which `make peers` installs on Linux")


def _version(node: str) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return tuple(int(part) for part in told.stdout.strip().lstrip("v").split("-")[0].split("."))
