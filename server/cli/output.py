"""Output that commands share: exit codes, JSON, and what is wrong with a selection."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ...orchestration.evaluation.trace import ReportTextRefused
from ...orchestration.sanitize import plain
from ...tools.run_names import NoSuchRun
from ..terminal.caller import stdout
from ..terminal.finding_views import error_lines, one_line_of
from ..terminal.lines import PATH_LIMIT, print_errors
from ..workspace.definitions import UnknownWorkflow
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .confirm import NotConfirmed
from .selection import BrokenDefinitions, Selection

# Exit codes of the design, section 7; NOT_SHOWN says of what writes that it is done all the same.
OK, REFUSED, USAGE, WAITING, NOT_SHOWN = 0, 1, 2, 3, 4
# What shells show for a program that SIGPIPE ended.
BROKEN_PIPE = 141
_PASSED_SHOWN = 5


def print_json(data: Any) -> None:
    """Print data as JSON in ASCII, so that no encoding can spoil it."""
    try:
        text = json.dumps(data, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(data), indent=2, default=str)
    stdout().write(text + "\n")


def _finite(data: Any) -> Any:
    """The data with numbers that JSON does not have as texts."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def report_failure(error: Exception, writes: bool = False) -> int:
    """Say on stderr why a command was not carried out; the exit code. Raises an error that is a defect.

    A command that names what there is not is wrong use; one that is not allowed or not possible is refused.
    """
    if isinstance(error, BrokenDefinitions):
        print_errors(f"phasekeeper: {line}" for line in error.lines)
        return USAGE
    # An error of a file names the file; one of a stream names nothing.
    if isinstance(error, OSError) and error.filename is None:
        return report_unshown(error, writes)
    # Late: what only writes does not keep an answer waiting.
    from ...orchestration.updates.commands import CommandRefused, InvalidCommand
    from ..store.folder import StoreError

    is_wrong_use = isinstance(error, (UsageError, NoSuchRun, UnknownWorkflow, InvalidCommand))
    if not is_wrong_use and not isinstance(error, (CommandRefused, StoreError, NotConfirmed)):
        raise error
    if isinstance(error, ReportTextRefused):
        said = f"phasekeeper: {plain(error.why, 1000)}. Fill this in and hand it in with --report FILE:"
        print_errors([said, "", *(plain(line, 2000) for line in error.form.splitlines())])
        return REFUSED
    print_errors([f"phasekeeper: {plain(str(error), 2000)}"])
    return USAGE if is_wrong_use else REFUSED


def report_unshown(error: OSError, writes: bool = False) -> int:
    """Say on stderr that stdout did not take the answer; the exit code.

    Nothing is said when the reader of a pipe went away, as `head` does, unless something was written.
    """
    # Python would try once more while it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError) and not writes:
        return BROKEN_PIPE
    done = "carried out, but " if writes else ""
    print_errors([f"phasekeeper: {done}the answer could not be shown: {error.strerror}"])
    return NOT_SHOWN


def _print_wait(line: str) -> None:
    print_errors([line])


def tell_lock_waits(tell: Callable[[str], None] = _print_wait) -> None:
    """Have a command that waits for the lock of a run say so on stderr, after a second, in this context."""
    from ..store.lock import on_lock_wait

    on_lock_wait.set(
        lambda wait: tell(_wait_line(wait.run, wait.holder, wait.waited_s, wait.left_s, wait.until))
    )


def queue_wait_line(run: str, waited_s: float, left_s: float) -> str:
    """What is said of a wait for others who write the run through the same server."""
    return _wait_line(
        run, "others of this server", waited_s, left_s, datetime.now(UTC) + timedelta(seconds=left_s)
    )


def _wait_line(run: str, holder: str, waited_s: float, left_s: float, until: datetime) -> str:
    who = f"{plain(run or '.', PATH_LIMIT)} is being written by {plain(holder, 300)}"
    local = until.astimezone().strftime("%H:%M:%S")
    return f"phasekeeper: {who}: waited for {waited_s:g} s, and for up to {left_s:g} s more, until {local}"


def print_root_problems(selection: Selection, as_json: bool) -> None:
    """Say on stderr what no answer may hide: what is wrong with the root itself, and that there is no run.

    Beside JSON, which has an empty list, only the former: runs that are not in the answer.
    """
    if as_json:
        print_errors(f"phasekeeper: {line}" for line in error_lines(selection.findings(), selection.root))
        return
    print_errors(f"phasekeeper: {one_line_of(found, selection.path)}" for found in selection.findings())
    if not selection.runs:
        print_errors(no_run_lines(selection))


def no_run_lines(selection: Selection) -> Iterable[str]:
    """There is no run: where runs are looked for, what was passed over, and what to do."""
    workspace = selection.opened.workspaces[0]
    if finished := [f"{count} of {plain(name)}" for name, count in workspace.finished_work.items()]:
        yield f"phasekeeper: nothing is active in {plain(str(selection.root), PATH_LIMIT)}"
        yield f"  finished and archived: {', '.join(finished)}"
        return
    yield f"phasekeeper: no run was found in {plain(str(selection.root), PATH_LIMIT)}"
    passed = workspace.passed_folders
    for entry in passed[:_PASSED_SHOWN]:
        where = plain(selection.path(entry.run), PATH_LIMIT)
        yield f"  {where} is no {plain(entry.workflow)} run: {plain(entry.because)}"
    if len(passed) > _PASSED_SHOWN:
        yield f"  and {len(passed) - _PASSED_SHOWN} more folders that are no runs"
    yield from (f"  {line}" for line in bare_folder_lines(workspace))
    yield "  those of a folder below are found by its path, or by `projects` in .phasekeeper/config.yaml"
    yield "  `phasekeeper workflow list` says where runs are looked for, `phasekeeper demo` makes some to see"


def bare_folder_lines(workspace: Workspace) -> Iterator[str]:
    """Which tools have their folders here, although nothing is begun that could be told about."""
    for each in workspace.bare_folders:
        places = plain(", ".join(each.places[:_PASSED_SHOWN]), PATH_LIMIT)
        nothing = f"{plain(each.folder)} is here, and no work of {plain(each.workflow)} is yet"
        yield f"{nothing}: it would be at {places}"


def exit_code(selection: Selection, code: int = OK) -> int:
    """The exit code of an answer. One about all runs lacks those of broken definitions; one run's stands."""
    return USAGE if selection.broken() and not selection.one else code
