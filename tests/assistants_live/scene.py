"""A user with nothing but a home: a repository with the examples, programs on the path, README's set-up."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.assistants_live.programs import Program
from tests.roots import EXAMPLES

README = Path(__file__).parents[2] / "README.md"
BOUND_S = 600.0
# What an assistant says to us and hears is written down on the way.
_TEED = """\
#!/bin/sh
case "$1" in mcp) tee -a {said} | {program} "$@" | tee -a {heard} ;; *) exec {program} "$@" ;; esac
"""


class Scene:
    """Folders that nobody else uses. The name is short: sockets lie below it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="pk-drive-")).resolve()
        self.repository = self.home / "work"
        self.said, self.heard = self.home / "said.jsonl", self.home / "heard.jsonl"
        self.model = self.home / "model.jsonl"
        self._bin = self.home / "bin"
        for folder in (self._bin, self.home / "run"):
            folder.mkdir(mode=0o700)
        shutil.copytree(
            EXAMPLES, self.repository, ignore=shutil.ignore_patterns("__pycache__", "__init__.py")
        )
        _an_hour_old(self.repository)
        subprocess.run(["git", "init", "-q", str(self.repository)], check=True)
        program = shlex.quote(str(Path(sys.executable).with_name("phasekeeper")))
        teed = _TEED.format(program=program, said=self.said, heard=self.heard)
        (self._bin / "phasekeeper").write_text(teed, encoding="utf-8")
        (self._bin / "phasekeeper").chmod(0o700)
        node = Path(shutil.which("node") or "/usr/bin/node").parent
        path = os.pathsep.join(map(str, (self._bin, node, "/usr/local/bin", "/usr/bin", "/bin")))
        self.env = {"PATH": path, "HOME": str(self.home), "TERM": "dumb", "LANG": "C.UTF-8"}
        self.env["XDG_RUNTIME_DIR"] = str(self.home / "run")

    def put(self, name: str, program: Program) -> None:
        """A program of others on the path."""
        found = program.program
        assert found is not None, f"{program.package} is not installed"
        (self._bin / name).symlink_to(found)

    def remove(self, name: str) -> None:
        """Take a program off the path, as if it had never been installed."""
        (self._bin / name).unlink()

    def set_up(self, assistant: str) -> None:
        """What README says for an assistant, word for word, typed in the repository."""
        done = self.run(["sh", "-c", set_up_line(assistant)])
        assert done.returncode == 0, f"{set_up_line(assistant)}: {done.stdout}{done.stderr}"

    def run(self, words: list[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.repository, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip

    def standing(self, run: str) -> dict[str, Any]:
        """The evaluation of a run, as `phasekeeper status` has it."""
        done = self.run(["phasekeeper", "status", "--json"])
        assert done.returncode == 0, done.stderr
        [found] = [each for each in json.loads(done.stdout)["runs"] if each["run"] == run]
        return found

    def forget(self) -> None:
        """Forget what an assistant said to us so far."""
        self.said.unlink(missing_ok=True)
        self.heard.unlink(missing_ok=True)

    def end(self, keep: bool = False) -> None:
        """End the server that assistants started."""
        if (self._bin / "phasekeeper").exists():
            self.run(["phasekeeper", "serve", "--stop"])
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)


def set_up_line(assistant: str) -> str:
    """The command in README's table of assistants, or the one below it for runtime folders of one's own."""
    text = README.read_text(encoding="utf-8")
    row = re.search(rf"^\| {re.escape(assistant)} \| `(.+)` \|$", text, re.M)
    assert row, f"README has no set-up for {assistant}"
    command, _, served = row[1].partition(" -- ")
    own = re.search(rf"`({re.escape(command)} --env .+ -- {re.escape(served)})`", text) if served else None
    return own[1] if own else row[1]


def _an_hour_old(root: Path) -> None:
    """As somebody left it who worked an hour ago."""
    then = time.time() - 3_600
    for path in sorted(root.rglob("*")):
        os.utime(path, (then, then))
