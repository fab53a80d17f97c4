"""Which runs a command is about: the root around a path, its projects, and the one run that is named."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ...orchestration.definition.reader import InvalidWorkflow
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.findings import Finding, finding
from ...orchestration.result.held_tasks import HeldTask
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import Discovery, Match
from ...tools.project_paths import rebase_evaluation, rebase_finding, rebase_path
from ...tools.run_names import NoSuchRun, find_run, name_in_root
from ..terminal.caller import current_folder, path_here
from ..terminal.finding_views import error_lines, from_here
from ..terminal.lines import path as shown_path
from ..workspace.roots import UsageError, path_in_root
from ..workspace.workspace import OpenWorkspaces, Workspace, open_path


class BrokenDefinitions(Exception):  # noqa: N818 - it is what they are
    """Definitions that cannot be used; `lines` say where and why, ready to be printed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))


class ProjectRuns(NamedTuple):
    """The runs of a root, or of a project at `folder` in it, that were looked for."""

    folder: str
    workspace: Workspace
    discovery: Discovery


class NoServerAnswer(Exception):  # noqa: N818 - said to no person
    """The server does not have the answer; who asked looks at the files."""


AllEvaluations = Callable[[Path], Mapping[str, Evaluation]]
"""The evaluations of all runs of a root as it is now, by a server that has them. Raises NoServerAnswer."""


@dataclass(frozen=True)
class SelectedRun:
    """A run of the root or of a project in it. `name` is its path from the root, `folder` its project's.

    It was `found` in its files, or is one whose evaluation the server has (`known`).
    """

    workspace: Workspace
    folder: str
    name: str
    found: Match | None = None
    known: Evaluation | None = None

    @property
    def match(self) -> Match:
        if self.found is None:
            raise NoServerAnswer
        return self.found

    def look(self) -> EvaluationTrace:
        """The evaluation with each of its steps; paths are relative to the run's own root."""
        return self.workspace.look(self.match)

    def evaluate(self) -> Evaluation:
        """The evaluation as its own root gives it: what JSON shows."""
        return self.known or self.workspace.evaluate(self.match)

    def evaluate_from_root(self) -> Evaluation:
        """The evaluation with all paths from the root that was opened: what people read."""
        return rebase_evaluation(self.evaluate(), self.folder)


def held_tasks(workspace: Workspace, evaluation: Evaluation) -> Collection[HeldTask]:
    """The next tasks of a run that others have on their machines, as far as the fleet can be asked."""
    if workspace.config.fleet is None:
        return ()
    from ..workspace.fleet_claims import held_elsewhere  # late: one machine alone has nothing to do with it

    return held_elsewhere(workspace, evaluation)


@dataclass(frozen=True)
class Selection:
    """The runs that are meant, in order of their paths. `one` when a single run was asked for.

    `projects` are the root itself and the projects in it.
    """

    root: Path
    opened: OpenWorkspaces
    projects: tuple[ProjectRuns, ...]
    runs: tuple[SelectedRun, ...]
    one: bool

    def findings(self) -> list[Finding]:
        """Findings about the root and its projects themselves, with paths from the root.

        Those that only a look at other runs than the one that is meant would show are not among them.
        """
        findings = [*self.opened.findings]
        for folder, each, discovery in self.projects:
            unlisted = (finding(problem, path) for path, problem in each.files.unlisted_folders.items())
            own = each.findings_with(discovery)
            findings += [rebase_finding(entry, folder) for entry in (*own, *unlisted)]
        return findings

    def check_findings(self) -> list[Finding]:
        """Findings about the checks of the root and its projects, which are looked at for it."""
        projects = ((each.folder, each.workspace.check_findings()) for each in self.projects)
        return [rebase_finding(entry, folder) for folder, found in projects for entry in found]

    def broken(self) -> list[Finding]:
        """Errors in definitions that cannot be used, whose runs may therefore be missing here."""
        return [
            rebase_finding(found, folder)
            for folder, _, discovery in self.projects
            for findings in discovery.broken.values()
            for found in findings
        ]

    def faults(self) -> list[Finding]:
        """Like `broken`, for every definition of the root and its projects, also those without runs."""
        return [
            rebase_finding(found, folder)
            for folder, each, _ in self.projects
            for name in each.library.own
            for found in each.library.faults(name)
        ]

    def path(self, path: str) -> str:
        """A path from the root as it is seen from the current folder."""
        return from_here(self.root, path)


def select_runs(options: Namespace) -> Selection:
    """The runs for PATH, --root and --run.

    --run names one; a PATH inside a run means that run, one that holds runs those; else all runs of the
    root are meant. A PATH that is not there may be the name of a run, as other commands take it. Where one
    run is meant no other is looked at.
    Raises UsageError, NoSuchRun or BrokenDefinitions.
    """
    path = options.path
    leads_elsewhere = os.path.lexists(path_here(path)) or path.is_absolute() or ".." in path.parts
    name = path.as_posix() if not (options.run or leads_elsewhere) else None
    wanted = options.run or name
    if wanted:
        where = Path() if name else path
        if options.run and Path(wanted).is_absolute():
            # The root is that of the run, as for a PATH; the name that from there.
            where = Path(wanted) if options.root is None and os.path.lexists(wanted) else where
            above = options.root or open_workspaces(where, None).workspaces[0].root
            wanted = name_in_root(os.path.realpath(wanted), os.path.realpath(above))
        last = wanted.rstrip("/").rpartition("/")[2]
        opened = open_workspaces(where, options.root, lambda each: bool(each.discover_named(last).matches))
        return _named_run(opened, last, wanted, is_path=bool(name))
    opened = open_workspaces(path, options.root, lambda each: _has_run_around(each, path_here(path)))
    root = opened.workspaces[0].root
    inner = path_in_root(root, path_here(path)) if path != Path() or options.root is None else None
    if inner is not None:
        around = _select(opened, lambda each, at: each.discover_around(at), inner)
        if around.runs:
            # Of runs in one another the innermost is meant.
            return replace(around, runs=around.runs[-1:], one=True)
    evaluations: AllEvaluations | None = options.evaluations
    whole = (
        _live_runs(opened, evaluations) if evaluations else _select(opened, lambda each, _: each.discovery)
    )
    # Of a file that has runs in it all of them are meant.
    inside = [
        each
        for each in whole.runs
        if inner is not None and (_lies_in(each.name, inner) or each.name.startswith(f"{inner}#"))
    ]
    return replace(whole, runs=tuple(inside or whole.runs))


def _has_run_around(workspace: Workspace, path: Path) -> bool:
    inner = path_in_root(workspace.root, path)
    return inner is not None and bool(workspace.discover_around(inner).matches)


def _named_run(opened: OpenWorkspaces, last: str, wanted: str, *, is_path: bool) -> Selection:
    """The one run that `wanted` names, whose folder has the name `last`; `is_path`: it may be a path, too."""
    some = _select(opened, lambda each, _: each.discover_named(last))
    try:
        run = find_run([each.name for each in some.runs], wanted)
    except NoSuchRun:
        whole = _select(opened, lambda each, _: each.discovery)
        try:
            run = find_run([each.name for each in whole.runs], wanted)
        except NoSuchRun as error:
            # One that is unknown may be a run of a broken definition.
            if broken := whole.broken():
                lines = [*error_lines(broken, whole.root), shown_path(str(error))]
                raise BrokenDefinitions(lines) from None
            said = f"{wanted!r} is no file or folder, and {error}" if is_path else str(error)
            raise NoSuchRun(said) from None
        some = whole
    return replace(some, runs=tuple(each for each in some.runs if each.name == run), one=True)


def _select(
    opened: OpenWorkspaces, look: Callable[[Workspace, str], Discovery], path: str | None = None
) -> Selection:
    """The runs that `look` finds in the root and its projects.

    With `path`, in those only that it lies in, each of which is given the path from there.
    """
    root = opened.workspaces[0].root
    projects: list[ProjectRuns] = []
    for each in opened.workspaces:
        folder = _folder(root, each)
        is_inside = path is None or _lies_in(path, folder)
        inner = (path or "")[len(folder) :].lstrip("/")
        discovery = look(each, inner) if is_inside else Discovery([], [], {})
        projects.append(ProjectRuns(folder, each, discovery))
    runs = [
        SelectedRun(workspace, folder, rebase_path(match.run, folder), found=match)
        for folder, workspace, discovery in projects
        for match in discovery.matches
    ]
    runs.sort(key=lambda each: each.name)
    return Selection(root, opened, tuple(projects), tuple(runs), False)


def _live_runs(opened: OpenWorkspaces, evaluations: AllEvaluations) -> Selection:
    """All runs of the root and its projects by the evaluations that a server has. Raises NoServerAnswer.

    That is also where more than them is said: there is no run, or a definition cannot be used.
    """
    root = opened.workspaces[0].root
    projects = [ProjectRuns(_folder(root, each), each, Discovery([], [], {})) for each in opened.workspaces]
    runs = [
        SelectedRun(workspace, folder, rebase_path(run, folder), known=evaluation)
        for folder, workspace, _ in projects
        for run, evaluation in evaluations(workspace.root).items()
    ]
    runs.sort(key=lambda each: each.name)
    selection = Selection(root, opened, tuple(projects), tuple(runs), False)
    if not runs or selection.faults():
        raise NoServerAnswer
    return selection


def open_workspaces(
    path: Path, root: Path | None, is_claimed: Callable[[Workspace], bool] = lambda _: False
) -> OpenWorkspaces:
    """The workspaces at a path. Raises UsageError when it or the root cannot be opened.

    `is_claimed` is that of `open_path`.
    """
    if root is not None and not path_here(root).is_dir():
        raise UsageError(f"--root {str(root)!r} is no folder; name one, or leave --root out")
    if not os.path.lexists(path_here(path)):
        raise UsageError(f"{str(path)!r} does not exist; `phasekeeper status` shows the runs around here")
    opened = open_path(path_here(path), path_here(root) if root else None, is_claimed)
    first = opened.workspaces[0]
    first.files.list("")
    if problem := first.files.unlisted_folders.get(""):
        cannot = f"{str(first.root)!r} cannot be read: {problem.message}"
        raise UsageError(f"{cannot}; name another root with --root")
    return opened


def root_option(root: Path, given: Path | None) -> tuple[str, ...]:
    """The words by which a command called from the current folder means a run of this root; mostly none.

    `given` is the --root of the command that is answered.
    """
    if given is not None:
        return ("--root", str(given))
    here = current_folder()
    inside = here == root.resolve() or path_in_root(root, here) is not None
    return () if inside else ("--root", str(root))


def _folder(root: Path, project: Workspace) -> str:
    return "" if project.root == root else project.root.relative_to(root).as_posix()


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or folder == "" or path.startswith(folder + "/")


@contextmanager
def definitions_of(root: Path) -> Iterator[None]:
    """Turns what is raised for a broken definition of a root into BrokenDefinitions."""
    try:
        yield
    except InvalidWorkflow as error:
        raise BrokenDefinitions(error_lines(error.findings, root)) from None


def means_run(options: Namespace, run: SelectedRun, typed: str) -> bool:
    """True if a name that a person typed means this run, as commands take names."""
    if typed == run.name:
        return True
    try:
        named = select_runs(Namespace(**{**vars(options), "run": typed, "path": Path()}))
    except (NoSuchRun, BrokenDefinitions, UsageError):
        return False
    return [each.name for each in named.runs] == [run.name] and typed != ""
