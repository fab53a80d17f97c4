"""A released version of the program: other code with the dependencies of this one."""

from __future__ import annotations

import io
import lzma
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
from tests.server.servers import BOUND_S, Home

PROGRAM = "program.tar.xz"
"""The code of a release, in the folder of what it left: a clone may lack the history."""
RELEASES = {
    path.parent.name.removeprefix("released_").replace("_", "."): path
    for path in sorted(Path(__file__).parent.glob(f"released_*/{PROGRAM}"))
}


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

    What it depends on is what this version is tested with, so that nothing
    has to be fetched.
    """
    assert version != VERSION
    archive = lzma.decompress(RELEASES[version].read_bytes())
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
