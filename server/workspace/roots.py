"""Which folder is watched: the root of a path, the projects below a root, and what a path selects in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.vfs.files import Files, join
from ...orchestration.vfs.glob import glob
from ..disk.disk_files import DiskFiles
from ..disk.repository import file_type, toplevel, upwards

CONFIGURATION = Path(".phasekeeper", "config.yaml")


class UsageError(Exception):
    """A call that cannot be answered; the text is one sentence for the person who made it."""


class Projects(NamedTuple):
    """The folders that `projects:` names, sorted, and what was wrong with its patterns."""

    folders: tuple[Path, ...]
    problems: tuple[Problem, ...]


def find_root(path: Path, claims: Callable[[Path], bool]) -> Path:
    """The resolved root that `path`, a file or folder, belongs to.

    The nearest folder from `path` upwards that holds a configuration or that `claims` (a run of some
    definition is found in it), never above the git toplevel; else the toplevel; else the folder itself.
    A hidden folder is no root by its runs alone: `tasks/*` fits below `.orchestrator` too.
    Raises UsageError when `path` does not exist.
    """
    start = _folder_of(path)
    top = toplevel(start)
    for folder in upwards(start):
        configured = file_type(folder / CONFIGURATION) == stat.S_IFREG
        if configured or (not folder.name.startswith(".") and claims(folder)):
            return folder
        if folder == top:
            break
    return top or start


def projects(root: Path, patterns: Iterable[str]) -> Projects:
    """The sub-folders that fit `patterns`, sorted, each once; links out of the root are not among them.

    A pattern that leaves the root, names the root itself or fits no folder is a problem.
    """
    folders, problems = project_folders(DiskFiles(root), patterns)
    return Projects(tuple(root.resolve() / folder for folder in folders), problems)


def project_folders(files: Files, patterns: Iterable[str]) -> tuple[list[str], tuple[Problem, ...]]:
    """Like `projects` for files that are looked at already; the folders are relative to the root."""
    found: set[str] = set()
    problems: list[Problem] = []
    for pattern in patterns:
        inside = join("", pattern)
        if not inside:
            problems.append(_pattern_problem(pattern, "does not name folders below the root"))
            continue
        folders = [path for path, entry in glob(files, inside) if entry.kind == "folder"]
        found.update(folders)
        if not folders:
            problems.append(_pattern_problem(pattern, "fits no folder"))
    return sorted(found, key=lambda folder: folder.split("/")), tuple(problems)


def path_in_root(root: Path, path: Path) -> str | None:
    """`path` relative to `root`, POSIX, when it lies below it; None elsewhere and for the root itself.

    A link inside the root keeps the name it was given by; a root reached by two names (a link above
    it, another case on a file system that ignores case) is still the same root.
    """
    named = Path(os.path.abspath(path))  # noqa: PTH100 - absolute() would leave ".." in it
    for candidate in (named, named.resolve()):
        for base in (root, root.resolve()):
            if candidate != base and candidate.is_relative_to(base):
                return candidate.relative_to(base).as_posix()
    return _select_by_identity(root, named.resolve())


def _select_by_identity(root: Path, path: Path) -> str | None:
    for folder in path.parents:
        if _is_same(folder, root):
            return path.relative_to(folder).as_posix()
    return None


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _folder_of(path: Path) -> Path:
    try:
        resolved = path.resolve(strict=True)
        return resolved if stat.S_ISDIR(resolved.stat().st_mode) else resolved.parent
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: a link that leads in a circle, until Python 3.13. ValueError: a NUL byte.
        raise UsageError(f"{str(path)!r} does not exist or cannot be opened.") from None


def _pattern_problem(pattern: str, what: str) -> Problem:
    return Problem("parameter-invalid", f"projects: {pattern!r} {what}")
