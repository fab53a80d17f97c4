"""A git repository as its files show it, without running git: where its work tree begins, and its HEAD."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_MOST_BYTES = 4096
_MOST_REPOSITORIES = 64


def toplevel(path: Path) -> Path | None:
    """The root of the work tree that `path` lies in: the nearest folder upwards with a `.git` folder or file.

    None when there is none. The home folder and the file system's root count only when `path` is that
    folder itself: dotfiles kept in git there do not make everything below one project.
    """
    for folder in upwards(path):
        if file_type(folder / ".git") in (stat.S_IFDIR, stat.S_IFREG):
            return folder
    return None


def upwards(start: Path) -> Iterator[Path]:
    """`start` and its parents, the nearest first, without the home folder and what stands above it."""
    yield start
    try:
        home = Path.home().resolve()
    except (OSError, RuntimeError):
        home = None
    for folder in start.parents:
        if folder in (home, Path(start.anchor)):
            return
        yield folder


def file_type(path: Path) -> int:
    """The file type bits of `path`, links followed; 0 when there is nothing or it is out of reach."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return 0


class Head(NamedTuple):
    """The commit HEAD of a repository: equal `state`, equal commit. A change of `places` may move it."""

    state: tuple[object, ...] = ()
    places: frozenset[Path] = frozenset()


def head_of(root: Path) -> Head:
    """HEAD of the repository that a folder lies in, found the way git finds it; an empty state without one.

    A branch is a file of its own, a line in `packed-refs`, or in tables (`reftable`) whose list changes with
    them.
    """
    git = next((path for folder in (root, *root.parents) if (path := _git_folder(str(folder)))), None)
    if git is None:
        return Head((), frozenset({root / ".git"}))
    common = _below(git, _text(f"{git}/commondir").strip() or ".")
    places = [f"{git}/HEAD", f"{common}/packed-refs", f"{common}/reftable/tables.list"]
    states = [_state(place) for place in places]
    head = states[0].strip() if isinstance(states[0], str) else ""
    branch = head.removeprefix("ref: ")
    if branch != head and ".." not in branch.split("/"):
        places.append(_below(common, branch))
        states.append(_state(places[-1]))
    return Head((git, *states), _paths(tuple(places)))


@lru_cache(_MOST_REPOSITORIES)
def _paths(places: tuple[str, ...]) -> frozenset[Path]:
    return frozenset(Path(os.path.normpath(place)) for place in places)


def _below(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118


def _git_folder(folder: str) -> str | None:
    """The git directory that `.git` is, or that it names where it is a file (a worktree, a submodule)."""
    dot_git = os.path.join(folder, ".git")  # noqa: PTH118
    try:
        if stat.S_ISDIR(os.stat(dot_git).st_mode):  # noqa: PTH116
            return dot_git
    except (OSError, ValueError):
        return None
    target = _text(dot_git).removeprefix("gitdir: ").strip()
    return _below(folder, target) if target else None


def _state(place: str) -> object:
    """A mark of one state of a file: its text where it is small, else inode, size and time."""
    try:
        status = os.stat(place)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    small = _text(place) if status.st_size <= _MOST_BYTES else ""
    return small or (status.st_ino, status.st_size, status.st_mtime_ns)


def _text(path: str) -> str:
    # A pipe in the place of a file does not block whoever looks.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
        try:
            return os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return ""
