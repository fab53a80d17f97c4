"""The requests of our own (`lsp/__init__.py` lists them) that write nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from pathlib import Path
from typing import Any

from ....orchestration.journal.lines import JOURNAL
from ....orchestration.result.values import as_json
from ....orchestration.vfs.files import below
from ....orchestration.vfs.glob import is_glob
from ...checks.changed_lines import ChangedLines
from ...disk.decision_keys import fleet_path
from ...disk.disk_files import DiskFiles
from ...live.boards import RootBoard
from ...workspace.decision_proof import verified_journal
from ...workspace.history import history_json, history_of, record_json
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..session.connection import Connection
from ..session.payloads import VERSION, around_json, board_json, graph_json, page_json
from ..session.transport import RequestFailed, encode_json
from ..view.titles import titles_of

Request = Callable[[Connection, Any], Awaitable[Any]]
MOST_EVENTS = 1000
"""In one answer."""
BOARD_WAIT_S = 5.0
"""So long all roots are waited for; `phasekeeper/changed` tells of those that come later."""
GRAIN_S = 2.0
"""No file system tells the time of a write more coarsely (FAT: two seconds)."""

_SUMMARIES = 4
"""The level of a board on which its runs lie: each is written in one go."""
_AT = re.compile(r'"at"\s*:\s*"([^"]*)"')

_Record = Mapping[str, Any]


async def board(connection: Connection, params: Any) -> Any:
    """All boards; with `limit` a page of each; with `root` one of that root, behind `after`, or about a path.

    Raises RequestFailed for a root that is not open and for what is no cursor.
    """
    connection.wants_boards = True
    data = params if isinstance(params, dict) else {}
    if "root" not in data and "limit" not in data:
        return await asyncio.to_thread(encode_json, board_json, await _boards(connection), deep=_SUMMARIES)
    connection.reads_pages()
    limit = _limit(params)
    if "root" not in data:
        boards, page = await _boards(connection), partial(page_json, limit=limit)
    else:
        around = data.get("around")
        view = await connection.named_root(data)
        await connection.engine.look_again(view.root, around if isinstance(around, str) else None)
        boards = [connection.engine.board(view.root)]
        page = (
            partial(around_json, path=around)
            if isinstance(around, str)
            else partial(page_json, limit=limit, after=str(data.get("after") or ""))
        )

    def pages() -> dict[str, Any]:
        return {"version": VERSION, "roots": [page(board) for board in boards]}

    try:
        return await asyncio.to_thread(encode_json, pages, deep=_SUMMARIES)
    except ValueError as error:
        raise RequestFailed(str(error)) from None


async def _boards(connection: Connection) -> list[RootBoard]:
    """The boards of the connection's roots, as far as a look at all their runs goes now.

    Those that are being opened are waited for, a while: whoever has a big one wants to see the others.
    """
    await connection.wait_for_roots(limit_s=BOARD_WAIT_S)
    for root in sorted(connection.views):
        await connection.engine.look_again(root)
    return [connection.engine.board(root) for root in sorted(connection.views)]


async def run(connection: Connection, params: Any) -> Any:
    view, evaluation = await connection.named_run(params)
    if evaluation is None:
        return None
    evaluation = await asyncio.to_thread(ChangedLines(view.root).evaluation, evaluation)
    return await asyncio.to_thread(encode_json, as_json, evaluation)


async def lost(connection: Connection, params: Any) -> Any:
    """Why a folder that was a run of a workflow is none any more, as its file says that told it was one.

    None where it is a run, and where the file is gone.
    """
    view, evaluation = await connection.named_run(params)
    run, workflow = str(params.get("run", "")), str(params.get("workflow", ""))
    return None if evaluation else await asyncio.to_thread(_why_none, Workspace(view.root), run, workflow)


def _why_none(workspace: Workspace, run: str, name: str) -> dict[str, str] | None:
    folders = workspace.discover_around(run).passed
    passed = next((each for each in folders if (each.run, each.workflow) == (run, name)), None)
    if passed is None or name in workspace.broken:
        return None
    workflow = workspace.library.workflow(name)
    tests, place = workflow.runs.marker.tests, workflow.place(run)
    paths = [place.join(test.file) for test in tests if test.file and not is_glob(test.file)]
    path = next((path for path in paths if path and workspace.files.read(path).exists), None)
    return {"because": passed.because, "path": path} if path else None


async def history(connection: Connection, params: Any) -> Any:
    """The newest records of a run's journal with the lifecycle events they are."""
    view, evaluation = await connection.named_run(params)

    def events() -> dict[str, Any]:
        workspace = Workspace(view.root)
        match = workspace.match(evaluation.run) if evaluation else None
        if match is None:
            raise UsageError(f"{evaluation.run if evaluation else None} is no run of {view.root}")
        data = history_json(workspace, match, history_of(workspace, match), True)
        return {"events": data["records"][-_limit(params) :]}

    return await asyncio.to_thread(encode_json, events)


def _limit(params: Any) -> int:
    """The number of records asked for: at most, and where nothing fitting is said, `MOST_EVENTS`."""
    limit = params.get("limit") if isinstance(params, dict) else None
    return limit if type(limit) is int and 0 < limit <= MOST_EVENTS else MOST_EVENTS


async def graph(connection: Connection, params: Any) -> Any:
    view, evaluation = await connection.named_run(params)
    workflow = await connection.workflow(view, evaluation) if evaluation else None
    return graph_json(workflow, evaluation) if workflow and evaluation else None


# ---- what was recorded of late in all runs, without reading every journal ---------------------------


async def recent(connection: Connection, params: Any) -> Any:
    boards, limit = await _boards(connection), _limit(params)
    return {"events": await asyncio.to_thread(_with_titles, boards, limit)}


def _with_titles(boards: Sequence[RootBoard], limit: int) -> list[_Record]:
    """The newest records, each with the titles of the phases and tasks that it names by ids."""
    runs = {(str(board.root), run): each for board in boards for run, each in board.runs.items()}
    return [
        entry | titles_of(runs[entry["root"], entry["run"]], _phases_in(entry), _tasks_in(entry))
        for entry in _newest(boards, limit)
    ]


def _phases_in(entry: _Record) -> set[str]:
    return {str(entry[name]) for name in ("phase", "next") if entry.get(name)}


def _tasks_in(entry: _Record) -> set[str]:
    tasks = entry.get("tasks")
    return {str(task) for task in (tasks if isinstance(tasks, list) else [entry.get("task")])}


def _newest(boards: Sequence[RootBoard], limit: int) -> list[dict[str, Any]]:
    """The newest `limit` records of all runs, the newest first, as `history` has them, with `root` and `run`.

    Records without a time come last. What does not count, and a journal that cannot be trusted, is left out,
    as in `history`.
    """
    # A priority queue of the journals that evaluations read, by the youngest record that each may hold: as
    # far as the file's time says, until a look at its text says more. A checkout's files are of one moment.
    queue: list[tuple[float, bool, Path, str, str]] = []
    for board in boards:
        for run, evaluation in board.runs.items():
            path = below(evaluation.home, JOURNAL)
            if evaluation.reads.get(path, "missing") != "missing":
                try:
                    # A record is no younger than the file that it stands in.
                    youngest = (board.root / path).stat().st_mtime + GRAIN_S
                except OSError:
                    youngest = inf
                queue.append((-youngest, False, board.root, run, path))
    heapify(queue)
    records: list[dict[str, Any]] = []
    while queue:
        bound, is_exact, root, run, path = heappop(queue)
        if len(records) == limit and -bound < _order(records[-1])[0]:
            break
        text = DiskFiles(root).read(path).text or ""
        if is_exact:
            read, named = verified_journal(root, path, text), {"root": str(root), "run": run}
            entries = zip(read.lines, read.records, strict=True)
            records += [named | record_json(line, entry) for line, entry in entries]
            records = sorted(records, key=_order, reverse=True)[:limit]
        else:
            # The latest time that the text names, whether its records count or not.
            youngest = max(map(_moment, _AT.findall(text)), default=0.0)
            heappush(queue, (max(bound, -youngest), True, root, run, path))
    return records


def _order(record: _Record) -> tuple[float, str, str, int]:
    return _moment(str(record.get("at", ""))), record["root"], record["run"], record["line"]


def _moment(at: str) -> float:
    """A time in seconds, 0 for one that cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# ---- what other machines tell of the project: where this one has joined no fleet nothing of it is imported


async def fleet(connection: Connection, params: Any) -> Any:
    """The projects of the connection's roots that this machine has joined."""
    if not fleet_path().exists():
        return {"fleets": [], "problem": ""}
    return await _fleet_request("fleet", connection, params)


async def _fleet_request(name: str, connection: Connection, params: Any) -> Any:
    if not fleet_path().exists():
        raise RequestFailed("this machine has joined no fleet: phasekeeper fleet join URL")
    from .fleet import FLEET_REQUESTS  # late: it brings what speaks with other machines

    return await FLEET_REQUESTS[name](connection, params)


READ_REQUESTS: dict[str, Request] = {
    "phasekeeper/board": board,
    "phasekeeper/run": run,
    "phasekeeper/lost": lost,
    "phasekeeper/history": history,
    "phasekeeper/recent": recent,
    "phasekeeper/graph": graph,
}
MACHINE_REQUESTS: dict[str, Request] = {
    "phasekeeper/fleet": fleet,
    "phasekeeper/fleetBoard": partial(_fleet_request, "fleetBoard"),
    "phasekeeper/fleetRun": partial(_fleet_request, "fleetRun"),
    "phasekeeper/fleetHidden": partial(_fleet_request, "fleetHidden"),
}
"""Those about other machines."""
