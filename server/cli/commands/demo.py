"""The examples that come with the package, copied where somebody can play with them."""

from __future__ import annotations

from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ...store.lock import FOLDER
from ...workspace.roots import UsageError


def copy_examples(target: Path) -> None:
    """Copy the example runs to a new or empty folder. Raises UsageError when that is not possible."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{str(target)!r} is no empty folder; name a new one")
    try:
        _copy(resources("phasekeeper.examples"), target)
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise UsageError(f"{str(target)!r} cannot be written: {why}; name another folder") from None


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    # The configuration comes first: somebody may watch the folder already, and is told only what it means.
    for entry in sorted(source.iterdir(), key=lambda each: (each.name != FOLDER, each.is_dir(), each.name)):
        if entry.name.startswith("__"):
            continue
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
