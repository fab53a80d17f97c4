"""This program's code in an environment of its own, as another version of it or started in another way."""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

from phasekeeper.server.version import VERSION

NEWER = "9999.0"
ROOT = Path(__file__).parents[2]


def install(folder: Path, version: str = VERSION, first: Path | None = None) -> str:
    """Install this code with a version number; the interpreter that runs it, isolated or not.

    `first` is a module that each process of it imports before anything else.
    """
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for name in ("orchestration", "server", "tools"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, packages / "phasekeeper" / name, ignore=without)
    for file in (ROOT / "server/package").iterdir():
        if file.is_file():
            shutil.copy(file, packages / "phasekeeper")
    place = packages / "phasekeeper/server/version.py"
    text, count = re.subn(r'(?m)^VERSION = ".*"$', f'VERSION = "{version}"', place.read_text())
    assert count == 1
    place.write_text(text)
    # What it depends on is where ours is; our own package there comes by a hook, which is not followed.
    places = [each for each in sys.path if Path(each).name == "site-packages"]
    if first is not None:
        shutil.copy(first, packages)
        places.append(f"import {first.stem}")
    (packages / "start.pth").write_text("".join(f"{line}\n" for line in places))
    return str(folder / "bin/python")
