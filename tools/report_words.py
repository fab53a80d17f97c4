"""Words with which every surface answers a report: what was recorded, and what of it was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..orchestration.journal.journal import Record
from ..orchestration.result.values import Evaluation
from ..orchestration.sanitize import plain
from ..orchestration.states import PhaseStatus

_MOST, _MOST_FILES = 600, 8


def report_words(step: str, outcome: str, after: Evaluation, records: Sequence[Record] = ()) -> str:
    """The report in words, the files that it made, and what it wanted to write into the state and may not.

    `records` are those that were written with it.
    """
    ignored = next((found.message for found in after.findings if found.code == "updates-ignored"), "")
    said = f"{plain(step, 60)} {plain(outcome, 40)}{_jump_words(step, after, records)}"
    if made := [*_made_files(after.run, records)]:
        more = f" and {len(made) - _MOST_FILES} more" if len(made) > _MOST_FILES else ""
        said += f"; it made {', '.join(plain(path, 160) for path in made[:_MOST_FILES])}{more}"
    return f"{said}; left out: {plain(ignored, _MOST)}" if ignored else said


def _jump_words(step: str, after: Evaluation, records: Iterable[Record]) -> str:
    """That a report jumped to the phase that it named, and the phases between that were left out."""
    named = next(
        (str(each["next"]) for each in records if each.get("phase") == step and each.get("next")), ""
    )
    order = {phase.id: phase.order for phase in after.phases}
    if not named or named != after.current_phase or step not in order:
        return ""
    between = [
        plain(phase.id, 60)
        for phase in after.phases
        if order[step] < phase.order < order[named] and phase.state is not PhaseStatus.DETOUR
    ]
    more = f" and {len(between) - _MOST_FILES} more" if len(between) > _MOST_FILES else ""
    left = f" and leaves out {', '.join(between[:_MOST_FILES])}{more}" if between else ""
    return f"; it jumps to {plain(named, 60)}{left}"


def _made_files(run: str, records: Iterable[Record]) -> Iterable[str]:
    """The new files of a report but for its own text, as paths from the run's folder where they are in it."""
    for entry in records:
        # A line of the journal leaves out what is empty.
        files = entry.get("files")
        for file in files if isinstance(files, list) else ():
            # What a report wrote says what stood there before; what it was about does not.
            if file.get("was") == "" and file["path"] != entry.get("path"):
                yield str(file["path"]).removeprefix(f"{run}/")
