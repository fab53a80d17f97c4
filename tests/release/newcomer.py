"""`python -m tests.release.newcomer`: the wheel in `dist/`, installed alone and used; on every system."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .build import ROOT
from .installs import install_with_pip, try_out


def main() -> None:
    """Install the one wheel that was built with this Python, and try it out."""
    [wheel] = (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="phasekeeper-newcomer-") as name:
        work = Path(name)
        installed = install_with_pip(work, Path(sys.executable), "newcomer", wheel)
        try_out(work, installed)
    print(f"{wheel.name} works: demo, check, doctor, an editor's and an assistant's connection")


if __name__ == "__main__":
    main()
