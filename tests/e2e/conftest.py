"""A wheel of this checkout in an environment of its own: what users get, not what stands in the folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _quietly(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; what it depends on is shared with the tests' own."""
    folder = tmp_path_factory.mktemp("installed")
    _quietly(sys.executable, "-m", "venv", "--without-pip", str(folder))
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    _quietly(
        sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", str(wheel)
    )
    paths = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
    )
    # A path file in a folder that a path file names is not read: the checkout does not come in by this.
    shared = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(paths.stdout.strip(), "shared.pth").write_text("\n".join(sorted(shared)) + "\n", encoding="utf-8")
    return programs


def _quietly(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def run(environment: Path, root: Path) -> Run:
    """Runs the installed program in the root: exit code, stdout, stderr."""

    def called(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
        program = str(environment / "phasekeeper")
        options = {"cwd": root, "capture_output": True, "text": True, "encoding": "utf-8", **more}
        return subprocess.run([program, *map(str, words)], **options)  # pyright: ignore

    return called
