"""`make oracles`: asks BMAD's own script, in its newest version, about real files, beside what was recorded.

    python -m tests.corpus.oracles

The package comes from npm and what its script imports from Python's index, both into a folder that is taken
away. Exit code 1 where an answer is another one than what was recorded.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.places import CORPUS

_SCRIPT = "src/bmm-skills/plan/bmad-sprint-planning/scripts/sprint_plan.py"
_RECORDED = "oracle/bmad-sprint_plan-6.12.0.json"
_ASKED = ("status", "validate")
_SECONDS = 300


def _run(*words: str, at: Path) -> str:
    done = subprocess.run(words, cwd=at, capture_output=True, text=True, check=False, timeout=_SECONDS)
    return done.stdout


def _script_and_python(folder: Path) -> tuple[str, Path, Path]:
    """The newest version's number, its script, and a Python that can run it."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed; it brings the package bmad-method")
    name = _run(npm, "pack", "bmad-method", "--silent", at=folder).strip().rpartition("\n")[2]
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder, filter="data")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv/bin/python"
    _run(str(python), "-m", "pip", "install", "--quiet", "ruamel.yaml", at=folder)
    version = json.loads((folder / "package/package.json").read_text("utf-8"))["version"]
    return version, folder / "package" / _SCRIPT, python


def _differences(corpus: Path, script: Path, python: Path) -> Iterator[str]:
    recorded: dict[str, dict[str, Any]] = json.loads((corpus / _RECORDED).read_text("utf-8"))
    for path, answers in recorded.items():
        for question in _ASKED:
            said = _run(str(python), str(script), question, "--status-file", path, at=corpus / "conventions")
            now: dict[str, Any] = json.loads(said) if said.strip() else {"no answer": True}
            before = answers[question]
            keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
            yield from (f"{path}: {question}: {key}: {before.get(key)!r} -> {now.get(key)!r}" for key in keys)


def main() -> int:
    if CORPUS is None:
        sys.exit("there are no real files beside the repository")
    with TemporaryDirectory() as folder:
        version, script, python = _script_and_python(Path(folder))
        differences = list(_differences(CORPUS, script, python))
    print(f"bmad-method {version}: {len(differences)} answers differ from those recorded")
    print("\n".join(differences))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
