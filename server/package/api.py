"""The functions of `import phasekeeper`, whose docstring has an example; imported when one is first used."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import overload

from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import InvalidWorkflow as InvalidWorkflow
from phasekeeper.orchestration.evaluation.evaluate import evaluate as _evaluate
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.snapshot.discovery import Match
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.states import RunStatus
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary
from phasekeeper.server.workspace.definitions import UnknownWorkflow as UnknownWorkflow
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import open_path


def load_workflow(name_or_path: str | PathLike[str]) -> Workflow:
    """A workflow, compiled: a built-in one by its name, or the one in a YAML file.

    A file may `extend:` a built-in workflow or one that stands in the same root's `.phasekeeper/workflows`.
    Raises UnknownWorkflow for a name that none has, UsageError for a file that cannot be read, and
    InvalidWorkflow, with every error at its line and column, for a definition that cannot be used.
    """
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.name == name_or_path and path.suffix not in (".yaml", ".yml"):
        return DefinitionLibrary().workflow(name_or_path)
    read = DiskFiles(path.resolve().parent).read(path.name)
    if read.text is None:
        raise UsageError(
            f"{str(path)!r} cannot be read: {read.problem.message if read.problem else 'no file'}"
        )
    return parse_workflow(read.text, path.as_posix(), open_path(path).workspaces[0].library.source)


def read_run(path: str | PathLike[str], workflow: Workflow | None = None) -> Snapshot:
    """The run in a folder as its files show it now; nothing is evaluated yet.

    The root around the folder is found as the command line finds it, its configuration, journal and
    claims are read, and so is the workflow unless one is given. Raises UsageError when the folder does
    not exist or, without a workflow, is no run, and InvalidWorkflow for a broken definition of the root.
    """
    folder = Path(path)
    opened = open_path(folder)
    workspace, run = opened.workspaces[0], opened.run or ""
    if workflow is not None:
        return workspace.snapshot(Match(run, workflow))
    match = next((match for match in workspace.matches if match.run == run), None)
    if match is None:
        reasons = [
            f"{entry.workflow}: {entry.because}" for entry in workspace.passed_folders if entry.run == run
        ]
        why = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(f"{str(folder)!r} is no run{why}")
    return workspace.snapshot(match)


@overload
def evaluate(snapshot: Snapshot, /) -> Evaluation: ...
@overload
def evaluate(workflow: Workflow, snapshot: Snapshot, /) -> Evaluation: ...
def evaluate(first: Snapshot | Workflow, second: Snapshot | None = None, /) -> Evaluation:
    """All that can be said of a run: phase, status, next step and why, gates, questions, findings.

    Takes the snapshot, or the workflow and the snapshot. Never raises on what the run's files hold.
    """
    if isinstance(first, Snapshot):
        return _evaluate(first.workflow, first)
    if second is None:
        raise TypeError("evaluate() takes a snapshot, or a workflow and a snapshot")
    return _evaluate(first, second)


def steps(workflow: Workflow) -> tuple[str, ...]:
    """The ids of a workflow's phases in order (seed 000, `steps`); detours stand where they are defined."""
    return tuple(workflow.phases)


def is_complete(evaluation: Evaluation) -> bool:
    """True if a run is complete (seed 000, `complete?`); what is unknown or unreadable never is."""
    return evaluation.status is RunStatus.COMPLETE
