"""Finding the run that somebody names, and seeing runs of a project from the root above it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..orchestration.findings import Evidence, Finding
from ..orchestration.result.values import Evaluation, GateState
from ..orchestration.sanitize import plain
from ..orchestration.states import RunStatus
from .assistant.answer import quoted

_LISTED = 20


class NoSuchRun(Exception):  # noqa: N818 - said to people as it is
    """No run, or more than one, answers to a name; the message says which there are."""


def find_run(names: Sequence[str], wanted: str) -> str:
    """The run that `wanted` means: its path from the root, or a tail of whole segments that no other run has.

    Raises NoSuchRun with the nearest names, or with all that fit.
    """
    wanted = wanted.removeprefix("./").strip("/")
    if wanted in names:
        return wanted
    parts = wanted.split("/")
    fitting = [name for name in names if name.split("/")[-len(parts) :] == parts]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise NoSuchRun(f"{wanted!r} is the end of more than one run: {', '.join(fitting[:_LISTED])}{more}")
    raise NoSuchRun(f"there is no run {wanted!r}{_nearest(wanted, names)}")


def _nearest(wanted: str, names: Sequence[str]) -> str:
    if not names:
        return "; no run was found here, `phasekeeper demo` shows what runs look like"
    tails = {name.rsplit("/", 1)[-1]: name for name in names}
    close = difflib.get_close_matches(wanted.rsplit("/", 1)[-1], list(tails), n=3, cutoff=0.4)
    if close:
        return f"; did you mean {' or '.join(tails[name] for name in close)}?"
    few = ", ".join(names[:5])
    return f"; the runs are {few}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def awaits_person(evaluation: Evaluation) -> bool:
    """Whether a person is asked something or waited for."""
    return evaluation.status == RunStatus.WAITING_HUMAN or bool(evaluation.questions)


def joined(folder: str, path: str) -> str:
    """A path of a project as it is seen from the root; both parts may be empty."""
    return f"{folder}/{path}".strip("/") if folder else path


def moved(found: Finding, folder: str) -> Finding:
    """A finding of the project in `folder`, with its path from the root."""
    return replace(found, path=joined(folder, found.path)) if folder else found


def moved_evidence(evidence: Sequence[Evidence], folder: str) -> tuple[Evidence, ...]:
    """Evidence of the project in `folder`, with its paths from the root."""
    if not folder:
        return tuple(evidence)
    return tuple(replace(each, path=joined(folder, each.path)) if each.path else each for each in evidence)


def below(evaluation: Evaluation, folder: str) -> Evaluation:
    """An evaluation of the project in `folder` as people see it from the root: every path begins there."""
    if not folder:
        return evaluation
    suggestion = evaluation.suggestion
    produce = tuple(replace(entry, path=joined(folder, entry.path)) for entry in suggestion.produce)
    evidence = moved_evidence(suggestion.evidence, folder)
    return replace(
        evaluation,
        run=joined(folder, evaluation.run),
        suggestion=replace(suggestion, produce=produce, evidence=evidence),
        gates=tuple(_gate_below(gate, folder) for gate in evaluation.gates),
        findings=tuple(moved(found, folder) for found in evaluation.findings),
    )


def _gate_below(gate: GateState, folder: str) -> GateState:
    criteria = tuple(replace(c, evidence=moved_evidence(c.evidence, folder)) for c in gate.criteria)
    return replace(gate, criteria=criteria)


# ---- how answers about runs begin -------------------------------------------------------------

_ROOT, _RUN = 400, 300


def head_of(evaluation: Evaluation) -> tuple[dict[str, Any], str]:
    """(the data, the line) with which every answer about one run begins.

    A path too long for an answer is given by its last whole segments, which still name the run.
    """
    run = short_run(evaluation.run)
    data = {"root": plain(evaluation.root, _ROOT), "run": run, "revision": evaluation.revision}
    titled = (
        f" {quoted(evaluation.title, 80)}" if evaluation.title != evaluation.run.rsplit("/", 1)[-1] else ""
    )
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
    return f", {progress.done} of {progress.total} done" if progress and progress.total else ""
