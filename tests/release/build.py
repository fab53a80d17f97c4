"""Builds of the sdist, the wheel and the extension from a clone, alike each time for one commit."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(words: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a program prints. Raises SystemExit with its output where it fails."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        command = " ".join(map(str, words))
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}\nfailed with exit code {done.returncode}")
    return done.stdout


def is_clean() -> bool:
    """True if the checkout has nothing that is not committed."""
    return not run(["git", "status", "--porcelain"], ROOT)


def commit_time() -> str:
    """The time of the commit that is released, in seconds: what every archive has for its files."""
    return run(["git", "log", "-1", "--format=%ct"], ROOT).strip()


def build_all(work: Path, tools: Path) -> dict[str, Path]:
    """name -> file: the sdist, the wheel and the extension, built in a clone of its own below `work`."""
    clone = work / "clone"
    run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], work)
    epoch = commit_time()
    env = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PATH": f"{tools}:{os.environ['PATH']}"}
    run([sys.executable, "-m", "build", "--outdir", work / "dist"], clone, env)
    [sdist] = (work / "dist").glob("*.tar.gz")
    [wheel] = (work / "dist").glob("*.whl")
    normalize(sdist, int(epoch))
    extension = clone / "vscode-extension"
    (extension / "server").mkdir()
    shutil.copy(wheel, extension / "server")
    shutil.copy(clone / "LICENSE", extension / "LICENSE")
    run(["npm", "ci", "--ignore-scripts", "--no-progress", "--no-audit", "--no-fund"], extension, env)
    vsix = work / "dist" / "phasekeeper.vsix"
    run(["npm", "run", "--silent", "package", "--", "--out", vsix], extension, env)
    return {each.name: each for each in (sdist, wheel, vsix)}


def normalize(sdist: Path, epoch: int) -> None:
    """Write a source archive anew: one time, one owner, members in order. Setuptools stamps the moment."""
    raw = io.BytesIO()
    with (
        tarfile.open(sdist) as before,
        tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            after.addfile(member, before.extractfile(member) if member.isfile() else None)
    with sdist.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed:
        packed.write(raw.getvalue())


_SHIPPED = re.compile(
    r"extension/(package\.json|readme\.md|changelog\.md|LICENSE\.txt|dist/(extension|page)\.(js|css)"
    r"|dist/[\w.-]+\.schema\.json|media/[\w./-]+|server/phasekeeper-[\w.-]+\.whl)"
    r"|extension\.vsixmanifest|\[Content_Types\]\.xml"
)


def unexpected(vsix: Path) -> list[str]:
    """Files of an extension that nobody means to ship: tests, sources, what a tool left behind."""
    with zipfile.ZipFile(vsix) as archive:
        return [name for name in archive.namelist() if not _SHIPPED.fullmatch(name)]


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
