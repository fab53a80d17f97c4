"""Programs of others that are driven or measured: from npm, pinned, each in a folder of the user's cache.

Nothing of them enters the repository. Their install scripts are not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """A package of npm. `path` is its program below `node_modules`; `megabytes` what it takes on a disk."""

    package: str
    version: str
    megabytes: int
    path: str
    options: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return cache() / f"{self.package.rsplit('/', 1)[-1]}-{self.version}"

    @property
    def program(self) -> Path | None:
        """Where its program is; None when it is not installed."""
        return next(iter(sorted((self.folder / "node_modules").glob(self.path))), None)


CLAUDE = Program("@anthropic-ai/claude-code", "2.1.332", 384, "@anthropic-ai/claude-code-*/claude")
CODEX = Program("@openai/codex", "0.171.0", 424, ".bin/codex")
GEMINI = Program("@google/gemini-cli", "0.61.0", 100, ".bin/gemini")
COPILOT = Program("@github/copilot", "1.0.102", 189, ".bin/copilot")

# Beside ours in benchmarks. What the first could also bring along are whole assistants.
TASK_MASTER = Program("task-master-ai", "0.43.1", 767, ".bin/task-master-ai", ("--omit=optional",))
BACKLOG = Program("backlog.md", "1.52.0", 97, ".bin/backlog")
PEERS = (TASK_MASTER, BACKLOG)


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "phasekeeper-drive"


def install(programs: Iterable[Program]) -> list[str]:
    """Install what is missing, the sizes said before; what could not be installed, and why."""
    missing = [program for program in programs if program.program is None]
    if missing:
        total = sum(program.megabytes for program in missing)
        print(f"installing into {cache()}, about {total:,} MB on the disk:")
    return [f"{each.package} {each.version}: {why}" for each in missing if (why := _installed(each))]


def _installed(program: Program) -> str:
    """Install one; why that failed, or nothing. A half-made folder is never taken for a whole one."""
    print(f"  {program.package} {program.version}, about {program.megabytes:,} MB", flush=True)
    if not (npm := shutil.which("npm")):
        return "needs npm, with Node 20 or newer"
    half = program.folder.with_name(program.folder.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    quiet = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", *program.options)
    words = [npm, "install", *quiet, "--prefix", str(half), f"{program.package}@{program.version}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"npm install ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"
    shutil.rmtree(program.folder, ignore_errors=True)
    half.rename(program.folder)
    return "" if program.program else f"it has no {program.path} for this machine"
