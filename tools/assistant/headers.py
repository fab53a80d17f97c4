"""The heads of answers: the data and the line that say which run or root they are about, and its revision."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from ...orchestration.journal.journal import Claim
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from .access import RootRuns
from .answer import quote

_ROOT, _RUN = 400, 300
MOST_CLAIMS = 4
"""Of a run's claims so many are named."""


def head_of(evaluation: Evaluation) -> tuple[dict[str, Any], str]:
    """(the data, the line) with which every answer about one run begins.

    A path too long for an answer is given by its last whole segments, which still name the run.
    """
    run = short_run(evaluation.run)
    data = {"root": plain(evaluation.root, _ROOT), "run": run, "revision": evaluation.revision}
    data |= {"title": plain(evaluation.title, 80), "workflow": plain(evaluation.workflow, 60)}
    name = evaluation.run.rsplit("/", 1)[-1]
    titled = f" {quote(evaluation.title, 80)}" if evaluation.title != name else ""
    line = f"run {run or '.'}{titled} ({plain(evaluation.workflow, 60)}) in {data['root']}"
    return data, f"{line}, revision {evaluation.revision}"


def short_run(run: str) -> str:
    """A run's path, or as many of its last segments as fit."""
    while len(run) > _RUN and "/" in run:
        run = run.partition("/")[2]
    return plain(run, _RUN)


def progress_words(evaluation: Evaluation) -> str:
    """ ", 2 of 6 done", or "" where nothing is counted."""
    progress = evaluation.progress
    return f", {evaluation.progress_phrase}" if progress and progress.total else ""


def head_of_root(place: RootRuns) -> tuple[dict[str, Any], str]:
    """(the data, the line) with which an answer about all runs of a root begins."""
    totals = place.totals
    data = {"root": plain(place.root, 400), "revision": totals.revision}
    counted = f"{len(place.runs)} {'run' if len(place.runs) == 1 else 'runs'} in {data['root']}"
    awaiting = f"{totals.waiting} await a person" if totals.waiting != 1 else "1 awaits a person"
    data |= {"count": len(place.runs), "awaitingPerson": totals.waiting}
    return data, f"{counted}, {awaiting}, revision {totals.revision}"


def claims_words(claims: Sequence[Claim]) -> str:
    """Who is at work on which tasks, and until when."""
    said = (f"{plain(each.task, 60)} by {plain(each.actor, 60)} until {each.until}" for each in claims)
    more = f" and {len(claims) - MOST_CLAIMS} more" if len(claims) > MOST_CLAIMS else ""
    return f"claimed are {', '.join(islice(said, MOST_CLAIMS))}{more}"
