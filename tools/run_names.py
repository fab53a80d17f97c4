"""Finding the run that somebody names."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from itertools import islice

from ..orchestration.findings import Severity
from ..orchestration.result.values import Evaluation
from ..orchestration.states import RunStatus

_LISTED = 20


class NoSuchRun(Exception):  # noqa: N818 - said to people as it is
    """No run, or more than one, answers to a name; the message says which there are."""


def find_run(names: Collection[str], wanted: str) -> str:
    """The run that `wanted` means: its path from the root, or a tail of whole segments that no other run has.

    Of a run in a file, FILE#UNIT, the unit and the file are tails, too.

    Raises NoSuchRun with the nearest names, or with all that fit.
    """
    given, wanted = wanted, wanted.removeprefix("./").strip("/")
    if wanted in names:
        return wanted
    fitting = [name for name in names if _answers_to(name, wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise NoSuchRun(f"{wanted!r} is the end of more than one run: {', '.join(fitting[:_LISTED])}{more}")
    import difflib  # late: only a name that is wrong needs it

    tails, last = {name.rsplit("/", 1)[-1]: name for name in names}, wanted.rsplit("/", 1)[-1]
    # A workflow may put a word before the name that a run was started by: skill-tuning-NAME.
    behind = [tail for tail in tails if last and tail.endswith(f"-{last}")]
    if close := behind[:3] or difflib.get_close_matches(last, list(tails), n=3, cutoff=0.4):
        hint = f"did you mean {' or '.join(tails[name] for name in close)}?"
    elif names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        hint = f"the runs are {', '.join(islice(names, 5))}{more}"
    else:
        hint = "no run was found here, `phasekeeper demo` shows what runs look like"
    raise NoSuchRun(f"there is no run {given!r}; {hint}")


def name_in_root(wanted: str, root: str) -> str:
    """The name of a run that is given by its absolute path: that from the root; another name as it is.

    The root itself is ".". Paths are compared as they are written: who calls has resolved them.
    """
    path, above = wanted.rstrip("/"), root.rstrip("/")
    if path == above and path:
        return "."
    return path[len(above) + 1 :] if path.startswith(f"{above}/") else wanted


def _answers_to(name: str, wanted: str) -> bool:
    file, _, _ = name.rpartition("#")
    return name.endswith((f"/{wanted}", f"#{wanted}")) or (file != "" and f"/{file}".endswith(f"/{wanted}"))


class Urgency(IntEnum):
    """What a list of runs has first: where a person is awaited, then where something is wrong."""

    WAITING = 0
    FAILING = 1
    ACTIVE = 2
    JOB = 3
    OVER = 4


_WRONG = (RunStatus.INVALID, RunStatus.FAILED, RunStatus.BLOCKED)
_OVER = (RunStatus.COMPLETE, RunStatus.EXITED)


def urgency(evaluation: Evaluation) -> Urgency:
    """How urgent it is that somebody looks at the run."""
    if awaits_person(evaluation):
        return Urgency.WAITING
    if evaluation.status in _WRONG or _is_failing(evaluation):
        return Urgency.FAILING
    if evaluation.status in _OVER:
        return Urgency.OVER
    return Urgency.JOB if evaluation.status is RunStatus.WAITING else Urgency.ACTIVE


def _is_failing(evaluation: Evaluation) -> bool:
    return evaluation.has_failed_gate or any(
        each.severity is Severity.ERROR and not each.overridden for each in evaluation.findings
    )


def awaits_person(evaluation: Evaluation) -> bool:
    """Test that a person is asked something or waited for."""
    return evaluation.status == RunStatus.WAITING_HUMAN or bool(evaluation.questions)
