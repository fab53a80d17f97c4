"""Which folder is watched: the root of a path, the projects below a root, and what a path selects in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.vfs.files import Files, join
from ...orchestration.vfs.glob import TooManyFolders, glob, is_glob
from ..disk.repository import file_type, toplevel, upwards

if TYPE_CHECKING:
    from ...orchestration.snapshot.discovery import DefinitionSet

MOST_PROJECTS = 1_000
"""So many projects may be named by the configuration of a root."""

CONFIGURATION = Path(".phasekeeper", "config.yaml")


class UsageError(Exception):
    """A call that cannot be answered; the text is one sentence for the person who made it."""


def find_root(path: Path, claims: Callable[[Path], bool]) -> Path:
    """The resolved root that `path`, a file or folder, belongs to.

    The nearest folder from `path` upwards that holds a configuration or that `claims` (a run of some
    definition is found in it), never above the git toplevel; else the toplevel; else the folder itself.
    A hidden folder is no root by its runs alone: `tasks/*` fits below `.orchestrator` too.
    Raises UsageError when `path` does not exist.
    """
    try:
        resolved = path.resolve(strict=True)
        start = resolved if stat.S_ISDIR(resolved.stat().st_mode) else resolved.parent
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: a link that leads in a circle, until Python 3.13. ValueError: a NUL byte.
        raise UsageError(f"{str(path)!r} does not exist or cannot be opened.") from None
    top = toplevel(start)
    for folder in upwards(start):
        configured = file_type(folder / CONFIGURATION) == stat.S_IFREG
        if configured or (not folder.name.startswith(".") and claims(folder)):
            return folder
        if folder == top:
            break
    return top or start


def folders_above(folder: Path) -> Iterator[Path]:
    """The folders above one that its root may be, the nearest first: none above the git toplevel."""
    top = toplevel(folder)
    for above in upwards(folder) if folder != top else ():
        if above != folder:
            yield above
        if above == top:
            break


def project_folders(files: Files, patterns: Iterable[str]) -> tuple[list[str], tuple[Problem, ...]]:
    """(the folders of a root that fit `patterns`, sorted, each once; what was wrong with the patterns).

    Links out of the root are not among them. A pattern that leaves the root, names the root itself or fits no
    folder is a problem.
    """
    found: set[str] = set()
    problems: list[Problem] = []
    for pattern in dict.fromkeys(patterns):
        inside = join("", pattern)
        folders: list[str] = []
        what = "fits no folder" if inside else "does not name folders below the root"
        try:
            for path, entry in glob(files, inside) if inside else ():
                folders += [path] if entry.kind == "folder" else []
        except TooManyFolders as error:
            what, folders = f"is not followed: {error}", []
        if len(found.union(folders)) > MOST_PROJECTS:
            what, folders = f"is not followed: a root has at most {MOST_PROJECTS} projects", []
        found.update(folders)
        if not folders:
            problems.append(Problem("parameter-invalid", f"projects: {pattern!r} {what}"))
        if what.startswith("is not followed"):
            # Looking for those behind it would take as long again.
            break
    return sorted(found, key=lambda folder: folder.split("/")), tuple(problems)


def path_in_root(root: Path, path: Path) -> str | None:
    """`path` relative to `root`, POSIX, when it lies below it; None elsewhere and for the root itself.

    A link inside the root keeps the name it was given by; a root reached by two names (a link above
    it, another case on a file system that ignores case) is still the same root.
    """
    named, real = Path(os.path.abspath(path)), real_path(path)  # noqa: PTH100 - absolute() would leave ".." in it
    for candidate in (named, real):
        for base in (root, root.resolve()):
            if candidate != base and candidate.is_relative_to(base):
                return candidate.relative_to(base).as_posix()
    for folder in real.parents:
        with suppress(OSError):
            if folder.samefile(root):
                return real.relative_to(folder).as_posix()
    return None


def real_path(path: Path) -> Path:
    """The path without its links; links that lead in a circle stay in it, at which `resolve` raises."""
    return Path(os.path.realpath(path))


class BareFolder(NamedTuple):
    """A folder that a workflow's runs lie in, where there may be none; `places` are those where they do."""

    workflow: str
    folder: str
    places: tuple[str, ...]


def bare_folders(known: DefinitionSet, files: Files) -> list[BareFolder]:
    """The folders of workflows that are there, each by a name that is hidden or its workflow's own.

    Others, as `docs`, hold all kinds of things.
    """
    found: list[BareFolder] = []
    for each in known.definitions.values():
        names = dict.fromkeys(place.partition("/")[0] for place in each.at if "/" in place)
        for name in names:
            is_own = name == each.name or (name[:1] in (".", "_") and not is_glob(name))
            entry = files.entry(name) if is_own else None
            if entry and entry.kind == "folder":
                found.append(BareFolder(each.name, name, each.at))
    return found
