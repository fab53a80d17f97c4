"""Resources: the runs of a root, one run, its questions, history and workflow, and the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import mcp_types as types

from ...orchestration.journal.journal import read_journal
from ...orchestration.journal.lines import JOURNAL
from ...orchestration.rendering.mermaid import mermaid_diagram
from ...orchestration.result.json_schema import evaluation_schema
from ...orchestration.result.values import Evaluation, as_json
from ...orchestration.sanitize import markdown, plain
from ...orchestration.vfs.files import below
from ...tools.assistant.access import RootRuns, ToolRefused
from ...tools.assistant.headers import revision_of
from ..disk.disk_files import DiskFiles
from ..json_chunks import dumped
from ..workspace import decision_proof as decide
from .tool_access import CallAccess, OutsideAllowedFolders
from .uris import SCHEMA, parse_uri, resource_uri

PAGE = 100
"""Resources of one page of the list."""
MOST_CHARACTERS = 400_000
"""Of one resource; a plan too large for that is given by its open stage alone."""
_MOST_RUNS, _MOST_RECORDS = 1_000, 200
_JSON, _MARKDOWN = "application/json", "text/markdown"


# ---- the list ---------------------------------------------------------------------------------

_PARTS = {
    "": ("one run: the whole evaluation", _JSON),
    "questions": ("what people are asked in one run", _JSON),
    "history": ("what was recorded of one run, the newest last", _JSON),
    "workflow": ("the workflow of one run as a Mermaid graph, with its phases", _MARKDOWN),
}


def templates() -> list[types.ResourceTemplate]:
    """The forms of all URIs."""
    root = "phasekeeper://root/{root}"
    made = [
        types.ResourceTemplate(
            uri_template=f"{root}/runs",
            name="runs",
            description="all runs of a root, in short",
            mime_type=_JSON,
        )
    ]
    for part, (about, kind) in _PARTS.items():
        form = f"{root}/run/{{run}}" + (f"/{part}" if part else "")
        made.append(
            types.ResourceTemplate(uri_template=form, name=part or "run", description=about, mime_type=kind)
        )
    return made


def listed(places: Sequence[RootRuns], start: int) -> tuple[list[types.Resource], int | None]:
    """A page of the resources from `start`, and where the next begins."""
    page = [make() for make in islice(_all(places), start, start + PAGE)]
    total = 1 + sum(1 + len(place.runs) for place in places)
    return page, start + PAGE if start + PAGE < total else None


def _all(places: Sequence[RootRuns]) -> Iterator[Callable[[], types.Resource]]:
    """What makes each resource: there may be thousands, of which one page is wanted."""
    yield _schema
    for place in places:
        yield partial(_runs_of, place)
        for name, e in place.runs.items():
            yield partial(_run, name, e)


def _schema() -> types.Resource:
    about = "JSON Schema of a run's evaluation"
    return types.Resource(uri=SCHEMA, name="evaluation schema", description=about, mime_type=_JSON)


def _runs_of(place: RootRuns) -> types.Resource:
    name = f"runs of {plain(place.root, 120)}"
    return types.Resource(uri=resource_uri(place.root), name=name, mime_type=_JSON)


def _run(name: str, e: Evaluation) -> types.Resource:
    title = plain(e.title, 100)
    return types.Resource(
        uri=resource_uri(e.root, e.run), name=plain(name, 200) or ".", title=title, mime_type=_JSON
    )


# ---- reading ----------------------------------------------------------------------------------


async def read(access: CallAccess, uri: str) -> tuple[str, str] | None:
    """(the text, its kind); None where nothing has that URI. Text is ASCII where it is JSON.

    Raises OutsideAllowedFolders for a root that the client may not look at.
    """
    if uri == SCHEMA:
        return _schema_text(), _JSON
    named = parse_uri(uri)
    if named is None:
        return None
    try:
        place = await access.place(named.root)
    except OutsideAllowedFolders:
        raise
    except ToolRefused:
        return None
    if named.run is None:
        return await asyncio.to_thread(_runs, place), _JSON
    run = next((e for e in place.runs.values() if e.run == named.run and e.root == named.root), None)
    run = run or place.runs.get(named.run)
    return await _part(access, run, named.part) if run else None


async def _part(access: CallAccess, run: Evaluation, part: str) -> tuple[str, str]:
    if part == "":
        return await asyncio.to_thread(_whole, run), _JSON
    if part == "questions":
        return await asyncio.to_thread(_questions, run), _JSON
    if part == "history":
        return await asyncio.to_thread(_history, run), _JSON
    workflow = await access.ask(run, lambda steps: steps.facts.workflow)
    drawn = mermaid_diagram(workflow, run)
    return f"# {markdown(workflow.title)}\n\n```mermaid\n{drawn}```\n", _MARKDOWN


@cache
def _schema_text() -> str:
    return json.dumps(evaluation_schema())


def _questions(run: Evaluation) -> str:
    # What else there is of a run may be a plan of thousands of tasks.
    asked = as_json(replace(run, plan=None, phases=(), findings=()))["questions"]
    return json.dumps({"root": run.root, "run": run.run, "revision": run.revision, "questions": asked})


def _runs(place: RootRuns) -> str:
    shown = list(place.runs.items())[:_MOST_RUNS]
    runs: list[dict[str, Any]] = [
        {
            "run": name,
            "uri": resource_uri(e.root, e.run),
            "title": e.title,
            "workflow": e.workflow,
            "currentPhase": e.current_phase,
            "status": e.status,
            "suggestion": {"kind": e.suggestion.kind, "suggestedNext": e.suggestion.suggested_next},
            "questions": [question.id for question in e.questions],
            "revision": e.revision,
        }
        for name, e in shown
    ]
    head = {"root": place.root, "revision": revision_of(place.runs), "total": len(place.runs)}
    return dumped({**head, "runs": runs}).decode()


def _whole(run: Evaluation) -> str:
    data = as_json(run)
    text = dumped(data).decode()
    if len(text) > MOST_CHARACTERS and data["plan"]:
        ready = set(run.suggestion.tasks)
        for stage in data["plan"]["stages"]:
            if not any(task["id"] in ready for task in stage["tasks"]):
                stage["tasks"] = []
        text = dumped(data).decode()
    if len(text) <= MOST_CHARACTERS:
        return text
    short = {**data, "plan": None, "findings": data["findings"][:100], "questions": data["questions"][:20]}
    return dumped(short).decode()


def _history(run: Evaluation) -> str:
    root, path = Path(run.root), below(run.run, JOURNAL)
    file = DiskFiles(root).read(path)
    secret = decide.load_key().secret
    journal = read_journal(file.text or "", lambda lines: decide.verified_lines(root, path, lines, secret))
    newest = [
        {name: value for name, value in entry.items() if value} for entry in journal.records[-_MOST_RECORDS:]
    ]
    while newest and len(json.dumps(newest)) > MOST_CHARACTERS:
        newest = newest[len(newest) // 2 + 1 :]
    head = {"root": run.root, "run": run.run, "total": len(journal.records), "broken": journal.broken}
    return json.dumps({**head, "records": newest})
