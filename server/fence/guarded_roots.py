"""The roots that an assistant works in, as far as runs are guarded there; the runs that a call concerns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...orchestration.definition.root_config import Guard
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.journal.lines import FOLDER, HOMES
from ...orchestration.snapshot.discovery import Match
from ...tools.run_names import NoSuchRun, find_run
from ..workspace.roots import path_in_root
from ..workspace.workspace import Workspace, open_path

_IN_HOME = re.compile(rf"{re.escape(HOMES)}/[^/]+/(.+)/{re.escape(FOLDER)}/")
"""A path in the home of a run whose own folder is another tool's, with the run."""
MOST_RUNS = 64
"""In a root that guards more a session has to say on which it works before it starts agents."""


class TooManyRuns(Exception):  # noqa: N818 - said to assistants as it is
    """It cannot be told which of many runs a call concerns; the text says what to do first."""


KnownRuns = Callable[[Path], Collection[str] | None]
"""The runs of a root, by who has them at hand; None where they have to be looked for."""


@dataclass(frozen=True)
class GuardedRoot:
    """A root in which some runs are guarded. `known` are its runs, where a server knows them."""

    workspace: Workspace
    guard: Guard
    known: Collection[str] | None = None

    @property
    def path(self) -> Path:
        return self.workspace.root

    def relative(self, paths: Iterable[str], folder: Path) -> list[str]:
        """Those of the paths, absolute or from a folder, that lie in the root, from the root.

        Links are followed: what a call writes through one lies where it leads to. One that ends in a slash is
        a folder with all below it; where the root itself lies there it is "/".
        """
        inside: list[str] = []
        for path in paths:
            real = Path(os.path.realpath(folder / path.replace("\0", "")))
            is_folder = path.endswith("/")
            if is_folder and self.path.is_relative_to(real):
                inside.append("/")
            elif (relative := path_in_root(self.path, real)) is not None:
                inside.append(f"{relative}/" if is_folder else relative)
        return inside

    def traces(self, paths: Sequence[str], runs: Iterable[str]) -> list[EvaluationTrace]:
        """The guarded runs around and below some paths, and those that a session works on, evaluated."""
        around = [
            match for path in paths for match in self.workspace.discover_around(path.rstrip("/")).matches
        ]
        folders = tuple(path for path in paths if path.endswith("/"))
        below = [run for run in self._guarded_runs if f"{run}/".startswith(folders)] if folders else []
        homes = [found[1] for path in paths if (found := _IN_HOME.match(path))]
        named = [match for run in (*runs, *homes, *below) if (match := self.workspace.match(run))]
        return self._look([*around, *named])

    def all_traces(self) -> list[EvaluationTrace]:
        """All guarded runs, evaluated. Raises TooManyRuns."""
        runs = self._guarded_runs
        if len(runs) > MOST_RUNS:
            raise TooManyRuns(
                f"{len(runs)} runs are guarded in {self.path.name}, and it is not known on which you work:"
                " call next_step with its name first"
            )
        return self._look(match for run in runs if (match := self.workspace.match(run)))

    @property
    def _guarded_runs(self) -> list[str]:
        # Looking for the runs of a root reads a file of each: too much for each call of a tool.
        runs = self.known if self.known is not None else [match.run for match in self.workspace.matches]
        return [run for run in runs if self.guard.covers(run)]

    def _look(self, matches: Iterable[Match]) -> list[EvaluationTrace]:
        each_once = {match.run: match for match in matches if self.guard.covers(match.run)}
        return [self.workspace.look(match) for match in each_once.values()]

    def named_run(self, name: str) -> str:
        """The run that an assistant names, or the only guarded one; "" where that cannot be told."""
        if not name:
            runs = self._guarded_runs
            return runs[0] if len(runs) == 1 else ""
        last = name.rstrip("/").rpartition("/")[2]
        with suppress(NoSuchRun):
            return find_run([match.run for match in self.workspace.discover_named(last).matches], name)
        return ""


def guarded_roots(folder: Path, known: KnownRuns = lambda _: None) -> list[GuardedRoot]:
    """The root of a folder and the projects in it, as far as runs are guarded there.

    Raises UsageError for a folder that does not exist.
    """
    workspaces = open_path(folder).workspaces
    return [GuardedRoot(each, each.guard, known(each.root)) for each in workspaces if each.guard.runs]
