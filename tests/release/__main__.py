"""`python -m tests.release`: build twice, compare, check, install everywhere, list. Nothing is published."""

from __future__ import annotations

import shutil
import sys
import tempfile
import venv
from pathlib import Path

from .build import ROOT, build_all, digest, is_clean, run, unexpected
from .installs import Installation, install_with_pip, install_with_uv, pythons, try_out
from .inventory import faults, packages, write_bill_of_materials, write_licences

TOOLS = (
    "twine>=6",
    "check-wheel-contents>=0.6",
    "validate-pyproject[all]>=0.24",
    "cyclonedx-bom>=7",
    "uv>=0.8",
)
MOST_BYTES = {"whl": 1_400_000, "vsix": 2_000_000}
"""Budgets of the artifacts. The wheel is nearly all code: README and examples are a twentieth of it."""
MOST_INSTALLED = 90_000_000


def main() -> int:
    """Do all of it, in folders of their own, and leave the artifacts in `dist/`."""
    if not is_clean():
        print("the checkout has changes that are not committed; commit or stash them", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="phasekeeper-release-") as name:
        work = Path(name)
        tools = _tools(work)
        artifacts = _built_twice(work, tools)
        _checked(artifacts, tools)
        installed = _installed(work, tools, artifacts)
        dist = ROOT / "dist"
        dist.mkdir(exist_ok=True)
        listed = packages(installed.python)
        write_licences(listed, dist / "LICENCES.md")
        write_bill_of_materials(tools, installed.python, dist / "phasekeeper.cdx.json")
        if wrong := faults(listed):
            raise SystemExit("\n".join(wrong))
        for artifact in artifacts.values():
            shutil.copy(artifact, dist)
            print(f"{digest(artifact)}  dist/{artifact.name}")
    print("dist/LICENCES.md and dist/phasekeeper.cdx.json say what comes with it; nothing was published")
    return 0


def _tools(work: Path) -> Path:
    print("installing the tools that check a release", flush=True)
    folder = work / "tools"
    venv.create(folder, with_pip=True)
    run([folder / "bin/python", "-m", "pip", "install", "--quiet", *TOOLS], work)
    return folder / "bin"


def _built_twice(work: Path, tools: Path) -> dict[str, Path]:
    builds: list[dict[str, Path]] = []
    for number in ("first", "second"):
        print(f"building, the {number} time", flush=True)
        (work / number).mkdir()
        builds.append(build_all(work / number, tools))
    first, second = builds
    for name, path in first.items():
        if digest(path) != digest(second[name]):
            raise SystemExit(f"{name} is another file each time: {digest(path)}, {digest(second[name])}")
    return first


def _checked(artifacts: dict[str, Path], tools: Path) -> None:
    print("checking metadata and contents", flush=True)
    [wheel] = [path for name, path in artifacts.items() if name.endswith(".whl")]
    [sdist] = [path for name, path in artifacts.items() if name.endswith(".tar.gz")]
    run([tools / "twine", "check", "--strict", wheel, sdist], ROOT)
    # W004: the examples hold sources of the work that they tell of, which nobody imports.
    run([tools / "check-wheel-contents", "--toplevel", "phasekeeper", "--ignore", "W004", wheel], ROOT)
    run([tools / "validate-pyproject", ROOT / "pyproject.toml"], ROOT)
    for name, path in artifacts.items():
        if name.endswith(".vsix") and (names := unexpected(path)):
            raise SystemExit(f"{name} has what nobody means to ship: {', '.join(names)}")
        most, size = MOST_BYTES.get(name.rpartition(".")[2]), path.stat().st_size
        if most and size > most:
            raise SystemExit(f"{name} has {size} bytes; at most {most} are wanted")
        print(f"  {name}: {size / 1000:.0f} KB", flush=True)


def _installed(work: Path, tools: Path, artifacts: dict[str, Path]) -> Installation:
    """Every installation tried out; the newest by pip is the one that is listed."""
    [wheel] = [path for name, path in artifacts.items() if name.endswith(".whl")]
    [sdist] = [path for name, path in artifacts.items() if name.endswith(".tar.gz")]
    found = pythons()
    last: Installation | None = None
    for version, python in found:
        last = install_with_pip(work, python, version, wheel)
        for installed in (last, install_with_uv(work, tools, python, version, wheel)):
            try_out(work, installed)
            print(f"  {installed.name}: works, {installed.size / 1e6:.0f} MB", flush=True)
            if installed.size > MOST_INSTALLED:
                raise SystemExit(f"{installed.name} takes {installed.size} bytes; at most {MOST_INSTALLED}")
    try_out(work, install_with_pip(work, found[0][1], "sdist", sdist))
    print("  pip, sdist: works", flush=True)
    assert last is not None
    return last


if __name__ == "__main__":
    raise SystemExit(main())
