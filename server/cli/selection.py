"""Which runs a command is about: the root around a path, its projects, and the one run that is named."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ...orchestration.definition.reader import InvalidWorkflow
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.findings import Finding, finding
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import Match
from ...tools.project_paths import rebase_evaluation, rebase_finding, rebase_path
from ...tools.run_names import NoSuchRun, find_run
from ..terminal.finding_views import error_lines, from_here
from ..terminal.lines import path as shown_path
from ..workspace.roots import UsageError, path_in_root
from ..workspace.workspace import OpenWorkspaces, Workspace, open_path


class BrokenDefinitions(Exception):  # noqa: N818 - it is what they are
    """Definitions that cannot be used; `lines` say where and why, ready to be printed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))


class SelectedRun(NamedTuple):
    """A run of the root or of a project in it. `name` is its path from the root, `folder` its project's."""

    workspace: Workspace
    match: Match
    folder: str
    name: str

    def look(self) -> EvaluationTrace:
        """The evaluation with each of its steps; paths are relative to the run's own root."""
        return self.workspace.look(self.match)

    def evaluate(self) -> Evaluation:
        """The evaluation as its own root gives it: what JSON shows."""
        return self.workspace.evaluate(self.match)

    def evaluate_from_root(self) -> Evaluation:
        """The evaluation with all paths from the root that was opened: what people read."""
        return rebase_evaluation(self.evaluate(), self.folder)


@dataclass(frozen=True)
class Selection:
    """The runs that are meant, in order of their paths. `one` when a single run was asked for.

    `projects` are (folder, workspace) of the root itself and of the projects in it.
    """

    root: Path
    opened: OpenWorkspaces
    projects: tuple[tuple[str, Workspace], ...]
    runs: tuple[SelectedRun, ...]
    one: bool

    def findings(self) -> list[Finding]:
        """Findings about the root and its projects themselves, with paths from the root."""
        findings = [*self.opened.findings]
        for folder, each in self.projects:
            unlisted = (finding(problem, path) for path, problem in each.files.unlisted.items())
            findings += [rebase_finding(entry, folder) for entry in (*each.findings, *unlisted)]
        return findings

    def broken(self) -> list[Finding]:
        """Errors in definitions that cannot be used, whose runs may therefore be missing here."""
        return [
            rebase_finding(found, folder)
            for folder, each in self.projects
            for findings in each.broken.values()
            for found in findings
        ]

    def faults(self) -> list[Finding]:
        """Like `broken`, for every definition of the root and its projects, also those without runs."""
        return [
            rebase_finding(found, folder)
            for folder, each in self.projects
            for name in each.library.own
            for found in each.library.faults(name)
        ]

    def path(self, path: str) -> str:
        """A path from the root as it is seen from the current folder."""
        return from_here(self.root, path)


def select_runs(options: Namespace) -> Selection:
    """The runs for PATH, --root and --run.

    --run names one; a PATH inside a run means that run, one that holds runs those; else all runs of the
    root are meant. A PATH that is not there may be the name of a run, as other commands take it.
    Raises UsageError, NoSuchRun or BrokenDefinitions.
    """
    path = options.path
    leads_elsewhere = os.path.lexists(path) or path.is_absolute() or ".." in path.parts
    name = path.as_posix() if not (options.run or leads_elsewhere) else None
    opened = open_workspaces(Path() if name else path, options.root)
    root = opened.workspaces[0].root
    projects = tuple(
        ("" if each.root == root else each.root.relative_to(root).as_posix(), each)
        for each in opened.workspaces
    )
    runs = [
        SelectedRun(workspace, match, folder, rebase_path(match.run, folder))
        for folder, workspace in projects
        for match in workspace.matches
    ]
    runs.sort(key=lambda each: each.name)
    whole = Selection(root, opened, projects, tuple(runs), False)
    if wanted := options.run or name:
        try:
            run = find_run([each.name for each in runs], wanted)
        except NoSuchRun as error:
            # One that is unknown may be a run of a broken definition.
            if broken := whole.broken():
                raise BrokenDefinitions([*error_lines(broken, root), shown_path(str(error))]) from None
            raise NoSuchRun(f"{name!r} is no file or folder, and {error}" if name else str(error)) from None
        return replace(whole, runs=tuple(each for each in runs if each.name == run), one=True)
    inner = path_in_root(root, path) if path != Path() or options.root is None else None
    around = [each for each in runs if inner is not None and _lies_in(inner, each.name)]
    inside = [each for each in runs if inner is not None and _lies_in(each.name, inner)]
    # Of runs in one another the innermost is meant.
    return replace(whole, runs=tuple(around[-1:] or inside or runs), one=bool(around))


def open_workspaces(path: Path, root: Path | None) -> OpenWorkspaces:
    """The workspaces at a path. Raises UsageError when it or the root cannot be opened."""
    if root is not None and not root.is_dir():
        raise UsageError(f"--root {str(root)!r} is no folder; name one, or leave --root out")
    if not os.path.lexists(path):
        raise UsageError(f"{str(path)!r} does not exist; `phasekeeper status` shows the runs around here")
    opened = open_path(path, root)
    first = opened.workspaces[0]
    first.files.list("")
    if problem := first.files.unlisted.get(""):
        cannot = f"{str(first.root)!r} cannot be read: {problem.message}"
        raise UsageError(f"{cannot}; name another root with --root")
    return opened


def root_option(root: Path, given: Path | None) -> tuple[str, ...]:
    """The words by which a command called from the current folder means a run of this root; mostly none.

    `given` is the --root of the command that is answered.
    """
    if given is not None:
        return ("--root", str(given))
    here = Path.cwd()
    inside = here == root.resolve() or path_in_root(root, here) is not None
    return () if inside else ("--root", str(root))


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or folder == "" or path.startswith(folder + "/")


@contextmanager
def definitions_of(root: Path) -> Iterator[None]:
    """Turns what is raised for a broken definition of a root into BrokenDefinitions."""
    try:
        yield
    except InvalidWorkflow as error:
        raise BrokenDefinitions(error_lines(error.findings, root)) from None
