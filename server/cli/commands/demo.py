"""`phasekeeper demo`: the examples that come with the package, copied where somebody can play with them."""

from __future__ import annotations

import shlex
from argparse import Namespace
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ....orchestration.journal.lines import FOLDER
from ....orchestration.sanitize import plain
from ...terminal.lines import COMMAND, PATH_LIMIT, Part, print_lines
from ...terminal.run_views import print_status
from ...workspace.roots import UsageError
from ..output import OK
from ..selection import select_runs

_ROOTS_OF_THEIR_OWN = ("conventions",)
_COMMANDS = ("next", "gates", "questions", "explain", "check")


def demo(options: Namespace) -> int:
    """`demo`: copy the examples and show how they stand."""
    folder = options.dir
    copy_examples(folder)
    text = f"Small runs of all five workflows are in {plain(str(folder), PATH_LIMIT)}."
    print_lines([[Part(text)], []])
    runs = select_runs(Namespace(path=folder, root=folder, run=None, evaluations=None)).runs
    print_status([run.evaluate_from_root() for run in runs])
    where = plain(shlex.quote(str(folder)), PATH_LIMIT)
    print_lines([[], [Part("Go on with:")]])
    print_lines([Part(f"  phasekeeper {word} {where}", COMMAND)] for word in _COMMANDS)
    return OK


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
        if entry.name.startswith("__") or entry.name in _ROOTS_OF_THEIR_OWN:
            continue
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
