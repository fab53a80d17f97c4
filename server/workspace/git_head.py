"""What a repository's commit HEAD is, read from its files: to know that it moved without asking git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_MOST_BYTES = 4096


class Head(NamedTuple):
    """Two of the same `state` are the same commit. `places` are the files whose change may move it."""

    state: tuple[object, ...] = ()
    places: frozenset[Path] = frozenset()


def head_of(root: Path) -> Head:
    """HEAD of the repository that a folder lies in; nothing, where there is none.

    A branch is a file of its own, a line in `packed-refs`, or in tables whose list changes with them.
    """
    git = next((found for folder in (root, *root.parents) if (found := _git_folder(folder / ".git"))), None)
    if git is None:
        return Head((), frozenset({root / ".git"}))
    named = _text(git / "HEAD").strip()
    common = git / (_text(git / "commondir").strip() or ".")
    places = [git / "HEAD", common / "packed-refs", common / "reftable" / "tables.list"]
    branch = named.removeprefix("ref: ")
    if branch != named and ".." not in branch.split("/"):
        places.append(common / branch)
    known = [Path(os.path.normpath(place)) for place in places]
    return Head((git, *(_state(place) for place in known)), frozenset(known))


def _git_folder(dot_git: Path) -> Path | None:
    """The folder that `.git` is, or that it names where it is a file."""
    try:
        if dot_git.is_dir():
            return dot_git
    except OSError:
        return None
    named = _text(dot_git).removeprefix("gitdir: ").strip()
    return dot_git.parent / named if named else None


def _state(place: Path) -> object:
    """What is in a small file, when a large one was saved."""
    try:
        status = place.stat()
    except OSError:
        return None
    small = _text(place) if status.st_size <= _MOST_BYTES else ""
    return small or (status.st_ino, status.st_size, status.st_mtime_ns)


def _text(path: Path) -> str:
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
