"""Which runs a command is about: the root around a path, its projects, and the one run that is named."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...orchestration.definition.reader import InvalidWorkflow
from ...orchestration.evaluation.evaluate import EvaluationTrace
from ...orchestration.findings import Finding, finding
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.snapshot.discovery import Match
from ...tools.run_names import NoSuchRun, below, find_run, joined, moved
from ..workspace.roots import UsageError, path_in_root
from ..workspace.workspace import OpenWorkspaces, Workspace, open_path

PATH_LIMIT = 4096
"""Characters of a printed path; a shortened one could not be opened."""
_SHOWN_ERRORS = 20


class BrokenDefinitions(Exception):  # noqa: N818 - it is what they are
    """Definitions that cannot be used; `lines` say where and why, ready to be printed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))


class Chosen(NamedTuple):
    """A run of the root or of a project in it. `name` is its path from the root, `folder` its project's."""

    workspace: Workspace
    match: Match
    folder: str
    name: str

    def look(self) -> EvaluationTrace:
        """What `explain` and `can` need; paths are relative to the run's own root."""
        return self.workspace.look(self.match)

    def evaluate(self) -> Evaluation:
        """The evaluation as its own root gives it: what JSON shows."""
        return self.workspace.evaluate(self.match)

    def shown(self) -> Evaluation:
        """The evaluation with all paths from the root that was opened: what people read."""
        return below(self.evaluate(), self.folder)


@dataclass(frozen=True)
class Selection:
    """The runs that are meant, in order of their paths. `one` when a single run was asked for."""

    root: Path
    opened: OpenWorkspaces
    runs: tuple[Chosen, ...]
    one: bool

    def findings(self) -> list[Finding]:
        """What is wrong with the root and its projects themselves, with paths from the root."""
        found = [*self.opened.findings]
        for workspace in self.opened.workspaces:
            unlisted = workspace.files.unlisted.items()
            own = [*workspace.findings, *(finding(problem, folder) for folder, problem in unlisted)]
            found += [moved(entry, _folder(self.root, workspace)) for entry in own]
        return found

    def broken(self) -> list[Finding]:
        """What keeps definitions from being used whose runs may therefore be missing here."""
        return _broken(self.opened)

    def faults(self) -> list[Finding]:
        """Like `broken`, for every definition of the root and its projects, also those without runs."""
        pairs = ((each, name) for each in self.opened.workspaces for name in each.library.own)
        return [
            moved(found, _folder(self.root, each))
            for each, name in pairs
            for found in each.library.faults(name)
        ]

    def path(self, path: str) -> str:
        """A path from the root as it is seen from the current folder."""
        return from_here(self.root, path)


def chosen(options: Namespace) -> Selection:
    """The runs for PATH, --root and --run.

    --run names one; a PATH inside a run means that run, one that holds runs those; else all runs of the
    root are meant. A PATH that is not there may be the name of a run, as other commands take it.
    Raises UsageError, NoSuchRun or BrokenDefinitions.
    """
    name = _named_by_path(options.path) if not options.run else None
    opened = opened_at(Path() if name else options.path, options.root)
    root = opened.workspaces[0].root
    found = sorted(_all(opened, root), key=lambda each: each.name)
    if wanted := options.run or name:
        try:
            run = _named([each.name for each in found], wanted, opened)
        except NoSuchRun as error:
            raise NoSuchRun(f"{name!r} is no file or folder, and {error}" if name else str(error)) from None
        return Selection(root, opened, tuple(each for each in found if each.name == run), True)
    path = path_in_root(root, options.path) if options.path != Path() or options.root is None else None
    around = [each for each in found if path is not None and _lies_in(path, each.name)]
    inside = [each for each in found if path is not None and _lies_in(each.name, path)]
    # Of runs in one another the innermost is meant.
    return Selection(root, opened, tuple(around[-1:] or inside or found), bool(around))


def _named_by_path(path: Path) -> str | None:
    """The name of a run that a path may be: nothing lies there, and it leads to nowhere else."""
    if os.path.lexists(path) or path.is_absolute() or ".." in path.parts:
        return None
    return path.as_posix()


def _named(names: Sequence[str], wanted: str, opened: OpenWorkspaces) -> str:
    """The run that is named. One that is unknown may be a run of a broken definition, so that is told too."""
    try:
        return find_run(names, wanted)
    except NoSuchRun as error:
        broken = _broken(opened)
        if not broken:
            raise
        said = plain(str(error), PATH_LIMIT)
        raise BrokenDefinitions([*lines_of(broken, opened.workspaces[0].root), said]) from None


def _broken(opened: OpenWorkspaces) -> list[Finding]:
    root = opened.workspaces[0].root
    return [
        moved(found, _folder(root, workspace))
        for workspace in opened.workspaces
        for findings in workspace.broken.values()
        for found in findings
    ]


def opened_at(path: Path, root: Path | None) -> OpenWorkspaces:
    """The workspaces at a path. Raises UsageError when it or the root cannot be opened."""
    if root is not None and not root.is_dir():
        raise UsageError(f"--root {str(root)!r} is no folder; name one, or leave --root out")
    if not os.path.lexists(path):
        raise UsageError(f"{str(path)!r} does not exist; `phasekeeper status` shows the runs around here")
    opened = open_path(path, root)
    first = opened.workspaces[0]
    first.files.list("")
    if problem := first.files.unlisted.get(""):
        said = f"{str(first.root)!r} cannot be read: {problem.message}"
        raise UsageError(f"{said}; name another root with --root")
    return opened


def _all(opened: OpenWorkspaces, root: Path) -> Iterator[Chosen]:
    for workspace in opened.workspaces:
        folder = _folder(root, workspace)
        for match in workspace.matches:
            yield Chosen(workspace, match, folder, joined(folder, match.run))


def _folder(root: Path, workspace: Workspace) -> str:
    folder = workspace.root.relative_to(root).as_posix()
    return "" if folder == "." else folder


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or folder == "" or path.startswith(folder + "/")


@contextmanager
def definitions_of(root: Path) -> Iterator[None]:
    """Turns what is raised for a broken definition of a root into BrokenDefinitions."""
    try:
        yield
    except InvalidWorkflow as error:
        raise BrokenDefinitions(lines_of(error.findings, root)) from None


def lines_of(findings: Sequence[Finding], root: Path) -> list[str]:
    """What is wrong with definitions, a line each, ready to be printed; no more than can be read."""
    lines = [line_of(found, lambda path: from_here(root, path)) for found in findings[:_SHOWN_ERRORS]]
    more = len(findings) - _SHOWN_ERRORS
    return [*lines, f"and {more} more"] if more > 0 else lines


def line_of(found: Finding, shown: Callable[[str], str]) -> str:
    """`path:line:column: message`, ready to be printed."""
    at = f":{found.span.line + 1}:{found.span.column + 1}" if found.span else ""
    return f"{plain(shown(found.path), PATH_LIMIT)}{at}: {plain(found.message, 400)}"


def from_here(root: Path, path: str) -> str:
    """A path from `root` as it is seen from the current folder."""
    whole = root / path
    try:
        return Path(os.path.relpath(whole)).as_posix()
    except (ValueError, OSError):
        # Another drive, or a current folder that is gone.
        return whole.as_posix()
