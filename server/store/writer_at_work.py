"""What a writer did while a run was read, so that its record is never judged with the files from before it.

A commit adds its record first and renames its files then (`commit`), and a reader looks at one file after the
other: it may have the state of before beside the record, or the state beside the journal of before. What a
record wrote lies beside its place or in it at every moment, so that nobody has to wait, and no time is asked:
a file that has neither there was changed by somebody else, and counts as it is.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ...orchestration.journal.lines import JOURNAL
from ...orchestration.vfs.files import File, Files, below, parent
from ..disk.disk_files import ABSENT, file_at, stat_key
from ..disk.partial_saves import is_partial
from .log_file import LogTail, WrittenFile
from .recovery import run_tag, temporary_name


def texts_written_meanwhile(root: Path, home: str, seen: Files, paths: Collection[str]) -> dict[str, str]:
    """Path -> text of what a writer put there since a view `seen` was read: the journal, and of `paths` those
    that it says were written. Empty when the view is of one moment.

    Cost where nothing was written: a stat, and two for each of these files that was changed since its record.
    """
    journal = seen.read(below(home, JOURNAL))
    text = _grown_text(root, journal)
    texts = {} if text is None else {journal.path: text}
    tail = LogTail(raw=(journal.text or "" if text is None else text).encode("utf-8", "surrogatepass"))
    digests = tail.newest_digests().items()
    others = {path for path, digest in digests if path in paths and seen.read(path).digest != digest}
    for written in tail.newest_writes(others) if others else ():
        now = _present_text(root, home, seen.read(written.path), written)
        texts |= {} if now is None else {written.path: now}
    return texts


def _grown_text(root: Path, journal: File) -> str | None:
    """The journal as it is now, where whole lines were added to what was seen of it."""
    if stat_key(root / journal.path).size == journal.size or journal.problem:
        return None
    now = (file_at(os.path.realpath(root), journal.path).text or "").rpartition("\n")
    text, before = now[0] + now[1], journal.text or ""
    return text if len(text) > len(before) and text.startswith(before) else None


def _present_text(root: Path, home: str, seen: File, written: WrittenFile) -> str | None:
    """The text of a recorded file where it is at this moment; None where what was seen is as good."""
    place, real = written.path, os.path.realpath(root)
    temporary = below(parent(place), temporary_name(run_tag(root, home), written))
    # First beside its place, then in it: a rename between the two looks shows it there.
    is_beside, (_, size, mtime_ns, _) = stat_key(root / temporary) != ABSENT, stat_key(root / place)
    if not is_beside and (size, mtime_ns) == (seen.size, seen.mtime_ns):
        return None
    beside, now = file_at(real, temporary), file_at(real, place)
    if now.digest == written.digest:
        return now.text
    if now.digest == written.was:
        return beside.text if beside.digest == written.digest else None
    is_older = seen.digest == written.was and not is_partial(File(place), now)
    return now.text if is_older else None
