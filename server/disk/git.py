"""Running git safely: the one place that does, and who git says the user is.

An assistant may write whatever lies in a workspace. So the program is never taken from there, nothing of the
repository's configuration may run another or use the network, and what fails or takes long says nothing.
"""

from __future__ import annotations

import getpass
import os
import shutil
from functools import lru_cache
from pathlib import Path

from .repository import toplevel

GIT_TIMEOUT_S = 5.0
_ABSENT = os.devnull
_PERSON = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"))
"""Which files say who a person is; with no other variable of git's can a caller change what it says."""


def answer(root: Path, *arguments: str, person: bool = False) -> bytes:
    """The output of git asked in a folder; b"" when it fails, or takes longer than `GIT_TIMEOUT_S`.

    With `person` it reads the settings that the environment names, as it does for whoever runs it.
    """
    import subprocess  # late: what HEAD has is mostly read without git

    git = program(root)
    if git is None:
        return b""
    options = ["--no-pager", "--no-replace-objects", "--literal-pathspecs"]
    for setting in ("core.fsmonitor=false", f"core.hooksPath={_ABSENT}", "safe.bareRepository=explicit"):
        options += ["-c", setting]
    try:
        done = subprocess.run(
            [git, *options, *arguments],
            cwd=root,
            env=environment(person=person),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return b""
    return done.stdout if done.returncode == 0 else b""


def actor(root: Path) -> str:
    """The actor for records: git's `user.name <user.email>` for the root, else the system's user name."""
    name, address = setting(root, "user.name"), setting(root, "user.email")
    if name:
        return f"{name} <{address}>" if address else name
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"


def setting(root: Path, key: str) -> str:
    """A setting of git's for whoever runs it in a root; "" where there is none."""
    return answer(root, "config", "--get", key, person=True).decode("utf-8", "replace").strip()


def environment(*, person: bool = False) -> dict[str, str]:
    """The environment of git: no prompt, no network, no locks, and nothing that leads it elsewhere."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or (person and name in _PERSON)
    }
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # A partial clone would fetch a missing object from wherever its configuration says.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def program(root: Path, path: str | None = None, name: str = "git") -> str | None:
    """The git on PATH, whose folder lies outside of the workspace; None where there is none.

    `path` is that variable of another process, `name` another program to be found by the same rules.
    """
    try:
        start = root.resolve()
        folders = os.environ.get("PATH", os.defpath) if path is None else path
        return _program(name, folders, toplevel(start) or start)
    except (OSError, ValueError, RuntimeError):
        return None


@lru_cache(64)
def _program(name: str, path: str, workspace: Path) -> str | None:
    for place in path.split(os.pathsep):
        # A relative folder could be the workspace's own; so could the one that a link leads to tomorrow.
        if not Path(place).is_absolute():
            continue
        folder = Path(place).resolve()
        found = None if _is_in(folder, workspace) else shutil.which(name, path=str(folder))
        # Windows looks in the current folder first, whatever path it is given.
        if found and Path(found).parent == folder and not _is_in(Path(found).resolve(), workspace):
            return found
    return None


def _is_in(path: Path, workspace: Path) -> bool:
    """True for a path that lies in a workspace; one that is the whole file system sets nothing apart."""
    return path.is_relative_to(workspace) and workspace != Path(workspace.anchor)
