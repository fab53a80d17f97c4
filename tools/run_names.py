"""Finding the run that somebody names."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

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
    wanted = wanted.removeprefix("./").strip("/")
    if wanted in names:
        return wanted
    fitting = [name for name in names if _answers_to(name, wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise NoSuchRun(f"{wanted!r} is the end of more than one run: {', '.join(fitting[:_LISTED])}{more}")
    import difflib  # late: only a name that is wrong needs it

    tails = {name.rsplit("/", 1)[-1]: name for name in names}
    if close := difflib.get_close_matches(wanted.rsplit("/", 1)[-1], list(tails), n=3, cutoff=0.4):
        hint = f"did you mean {' or '.join(tails[name] for name in close)}?"
    elif names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        hint = f"the runs are {', '.join(islice(names, 5))}{more}"
    else:
        hint = "no run was found here, `phasekeeper demo` shows what runs look like"
    raise NoSuchRun(f"there is no run {wanted!r}; {hint}")


def _answers_to(name: str, wanted: str) -> bool:
    file, _, _ = name.rpartition("#")
    return name.endswith((f"/{wanted}", f"#{wanted}")) or (file != "" and f"/{file}".endswith(f"/{wanted}"))


def awaits_person(evaluation: Evaluation) -> bool:
    """Test that a person is asked something or waited for."""
    return evaluation.status == RunStatus.WAITING_HUMAN or bool(evaluation.questions)
