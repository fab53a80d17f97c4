"""Words with which every surface answers a report: what was recorded, and what of it was left out."""

from __future__ import annotations

from collections.abc import Iterable

from ..orchestration.journal.journal import Record
from ..orchestration.result.values import Evaluation
from ..orchestration.sanitize import plain

_MOST, _MOST_FILES = 600, 8


def report_words(step: str, outcome: str, after: Evaluation, records: Iterable[Record] = ()) -> str:
    """The report in words, the files that it made, and what it wanted to write into the state and may not.

    `records` are those that were written with it.
    """
    ignored = next((found.message for found in after.findings if found.code == "updates-ignored"), "")
    said = f"{plain(step, 60)} {plain(outcome, 40)}"
    if made := [*_made_files(after.run, records)]:
        more = f" and {len(made) - _MOST_FILES} more" if len(made) > _MOST_FILES else ""
        said += f"; it made {', '.join(plain(path, 160) for path in made[:_MOST_FILES])}{more}"
    return f"{said}; left out: {plain(ignored, _MOST)}" if ignored else said


def _made_files(run: str, records: Iterable[Record]) -> Iterable[str]:
    """The new files of a report but for its own text, as paths from the run's folder where they are in it."""
    for entry in records:
        # A line of the journal leaves out what is empty.
        files = entry.get("files")
        for file in files if isinstance(files, list) else ():
            # What a report wrote says what stood there before; what it was about does not.
            if file.get("was") == "" and file["path"] != entry.get("path"):
                yield str(file["path"]).removeprefix(f"{run}/")
