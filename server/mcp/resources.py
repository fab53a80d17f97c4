"""Resources: the runs of a root, one run, its questions, history and workflow, and the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path

import mcp_types as types

from ...orchestration.journal.lines import JOURNAL
from ...orchestration.rendering.mermaid import mermaid_diagram
from ...orchestration.result.json_schema import evaluation_schema
from ...orchestration.result.values import Evaluation, as_json
from ...orchestration.sanitize import markdown, plain
from ...orchestration.vfs.files import below
from ...tools.assistant.access import RootRuns, ToolRefused
from ...tools.assistant.answer import excerpt
from ..disk.disk_files import DiskFiles
from ..json_chunks import dump
from ..workspace.decision_proof import verified_journal
from .tool_access import CallAccess, OutsideAllowedFolders
from .uris import SCHEMA, ResourceUri, resource_uri

PAGE = 100
"""Resources of one page of the list."""
MOST_CHARACTERS = 400_000
"""Of one resource; a plan too large for that is given by its open stage alone."""
_MOST_RUNS, _MOST_RECORDS = 1_000, 200
_JSON, _MARKDOWN = "application/json", "text/markdown"
# Of a run in the list of all.
_SHORT = {
    **dict.fromkeys(("title", "workflow", "current_phase", "status", "revision"), 0),
    "suggestion": {"kind": 0, "suggested_next": 0},
    "questions": lambda questions: [question.id for question in questions],
}


# ---- the list ---------------------------------------------------------------------------------

# What follows the root in a URI, what that is, and its kind.
_FORMS = {
    "runs": ("all runs of a root, in short", _JSON),
    "run/{run}": ("one run: the whole evaluation", _JSON),
    "run/{run}/questions": ("what people are asked in one run", _JSON),
    "run/{run}/history": ("what was recorded of one run, the newest last", _JSON),
    "run/{run}/workflow": ("the workflow of one run as a Mermaid graph, with its phases", _MARKDOWN),
}


def templates() -> list[types.ResourceTemplate]:
    """The forms of all URIs."""
    return [
        types.ResourceTemplate(
            uri_template=f"phasekeeper://root/{{root}}/{form}",
            name=form.rpartition("/")[2].strip("{}"),
            description=about,
            mime_type=kind,
        )
        for form, (about, kind) in _FORMS.items()
    ]


def page_of(places: Sequence[RootRuns], start: int) -> tuple[list[types.Resource], str | None]:
    """A page of the resources from `start`, and the cursor of the next."""
    page = [make() for make in islice(_all(places), start, start + PAGE)]
    total = 1 + sum(1 + len(place.runs) for place in places)
    return page, str(start + PAGE) if start + PAGE < total else None


def _all(places: Sequence[RootRuns]) -> Iterator[Callable[[], types.Resource]]:
    """A function for each resource that makes it: there may be thousands, of which one page is wanted."""
    json_resource = partial(types.Resource, mime_type=_JSON)
    about = "JSON Schema of a run's evaluation"
    yield partial(json_resource, uri=SCHEMA, name="evaluation schema", description=about)
    for place in places:
        runs_of = f"runs of {plain(place.root, 120)}"
        yield partial(json_resource, uri=resource_uri(place.root), name=runs_of)
        for name, e in place.runs.items():
            yield partial(_run, name, e)


def _run(name: str, e: Evaluation) -> types.Resource:
    uri, name = resource_uri(e.root, e.run), plain(name, 200) or "."
    return types.Resource(uri=uri, name=name, title=plain(e.title, 100), mime_type=_JSON)


# ---- reading ----------------------------------------------------------------------------------


@cache
def schema() -> tuple[str, str]:
    """(the text of the evaluation's schema, its kind)."""
    return json.dumps(evaluation_schema()), _JSON


async def read(access: CallAccess, named: ResourceUri) -> tuple[str, str] | None:
    """(the text, its kind); None where there is nothing of that name. Text is ASCII where it is JSON.

    Raises OutsideAllowedFolders for a root that the client may not look at.
    """
    try:
        place = await access.place(named.root, named.run)
    except OutsideAllowedFolders:
        raise
    except ToolRefused:
        return None
    if named.run is None:
        return await asyncio.to_thread(_runs, place), _JSON
    own = (e for e in place.runs.values() if e.run == named.run and e.root == named.root)
    run = next(own, place.runs.get(named.run))
    if run is None:
        return None
    if named.part in _JSON_PARTS:
        return await asyncio.to_thread(_JSON_PARTS[named.part], run), _JSON
    workflow = await access.ask(run, lambda trace: trace.facts.workflow)
    diagram = mermaid_diagram(workflow, run)
    return f"# {markdown(workflow.title)}\n\n```mermaid\n{diagram}```\n", _MARKDOWN


def _questions(run: Evaluation) -> str:
    # What else there is of a run may be a plan of thousands of tasks.
    data = as_json(replace(run, plan=None, phases=(), findings=()))
    return json.dumps({name: data[name] for name in ("root", "run", "revision", "questions")})


def _runs(place: RootRuns) -> str:
    runs = [
        {"run": name, "uri": resource_uri(e.root, e.run), **excerpt(e, _SHORT)}
        for name, e in islice(place.runs.items(), _MOST_RUNS)
    ]
    head = {"root": place.root, "revision": place.totals.revision, "total": len(place.runs)}
    return dump({**head, "runs": runs}).decode()


def _whole(run: Evaluation) -> str:
    data = as_json(run)
    text = dump(data).decode()
    if len(text) > MOST_CHARACTERS and data["plan"]:
        ready = set(run.suggestion.tasks)
        for stage in data["plan"]["stages"]:
            if not any(task["id"] in ready for task in stage["tasks"]):
                stage["tasks"] = []
        text = dump(data).decode()
    if len(text) <= MOST_CHARACTERS:
        return text
    short = {**data, "plan": None, "findings": data["findings"][:100], "questions": data["questions"][:20]}
    return dump(short).decode()


def _history(run: Evaluation) -> str:
    root, path = Path(run.root), below(run.home, JOURNAL)
    journal = verified_journal(root, path, DiskFiles(root).read(path).text or "")
    newest = [
        {name: value for name, value in entry.items() if value} for entry in journal.records[-_MOST_RECORDS:]
    ]
    while newest and len(json.dumps(newest)) > MOST_CHARACTERS:
        newest = newest[len(newest) // 2 + 1 :]
    head = {"root": run.root, "run": run.run, "total": len(journal.records), "broken": journal.broken}
    return json.dumps({**head, "records": newest})


_JSON_PARTS: dict[str, Callable[[Evaluation], str]] = {
    "": _whole,
    "questions": _questions,
    "history": _history,
}
