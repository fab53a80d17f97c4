"""A released version of the program, from git's history: other code with the dependencies of this one."""

from __future__ import annotations

import io
import os
import pty
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from phasekeeper.server.cli.main import main
from phasekeeper.server.version import VERSION

from tests.cli_walkthroughs.driver import type_names
from tests.roots import needs, not_run
from tests.server.servers import BOUND_S, Home

ROOT = Path(__file__).parents[2]
COMMITS = {"0.1.0": "ac43edcda68cce1849bc7aa1cd12134085bef4af"}
"""Released version -> the commit that it is. `tests/release` says what to add here with a new one."""
_FOLDERS = ("orchestration", "server", "tools", "examples")


class Program(NamedTuple):
    """A version of the program as one user starts it in one root."""

    python: str
    home: Home
    root: Path

    def start(self, *words: str) -> Any:
        """A command with pipes, which ends with the home."""
        command = [self.python, "-I", "-m", "phasekeeper", *words]
        return self.home.popen(command, self.root, self.home.env)

    def run(self, *words: str) -> tuple[int, str]:
        """(exit code, what it printed: stdout, then stderr)"""
        process = self.start(*words)
        out, err = process.communicate(timeout=BOUND_S)
        return process.returncode, (out + err).decode()

    def do(self, *words: str) -> str:
        """What a command printed that was carried out, also where a person is awaited now."""
        code, said = self.run(*words)
        assert code in (0, 3), said
        return said

    def decide(self, *words: str) -> str:
        """What a terminal showed on which a person confirmed a decision by the run's name."""
        person, terminal = pty.openpty()
        command = [self.python, "-I", "-m", "phasekeeper", *words]
        with subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=self.root, env=self.home.env,
            start_new_session=True,
        ) as process:  # fmt: skip
            os.close(terminal)
            shown = type_names(person, None)
        os.close(person)
        assert process.returncode in (0, 3), shown
        return shown


class ThisProgram(Program):
    """The version of this checkout; its commands run in this process, which is its user's and in its root."""

    def run(self, *words: str) -> tuple[int, str]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
        return code, out.getvalue() + err.getvalue()


def install_release(version: str, folder: Path) -> str:
    """Lay out a released version in an environment of its own; its interpreter.

    Its code is that of its commit. What it depends on is what this version is tested with, so that nothing
    has to be fetched.
    """
    assert version != VERSION
    archive = _archive(COMMITS[version])
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    package = packages / "phasekeeper"
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(package, filter="data")
    for file in (package / "server/package").iterdir():
        shutil.copy(file, package)
    # Path files in these folders are not read from here, so this checkout does not come in.
    places = [each for each in sys.path if Path(each).name == "site-packages"]
    (packages / "dependencies.pth").write_text("".join(f"{place}\n" for place in places), encoding="utf-8")
    return str(folder / "bin/python")


def _archive(commit: str) -> bytes:
    git = [needs("git"), "-C", str(ROOT)]
    known = subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True, check=False)
    if known.returncode:
        not_run(f"the history of the repository with {commit[:7]}: `git fetch --unshallow`")
    words = [*git, "archive", "--format=tar", commit, *_FOLDERS]
    return subprocess.run(words, capture_output=True, check=True).stdout
