"""A command that writes, once all that it needs was read and before anything is written.

A command of its own process carries it out at once. The server first has the command that asked agree, and
waits for its turn on the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...orchestration.sanitize import plain


class PreparedWrite(NamedTuple):
    """`carry_out` writes to a run ("" for one that is not there yet), prints the answer and returns the exit
    code; it raises what `output.report_failure` takes. `look` tells a person how to find out what became of
    it, and `files` are the caller's files that it was made from, absolute."""

    root: Path
    run: str
    carry_out: Callable[[], int]
    look: str
    files: Sequence[Path] = ()

    @property
    def places(self) -> Sequence[Path]:
        """The folders that it writes in, and its files."""
        return list(dict.fromkeys((self.root, self.root / self.run, *self.files)))


def look_with(*words: str) -> str:
    """The sentence that names a command which shows what is recorded; `words` are its own."""
    return f"`{shlex.join(('phasekeeper', *(plain(word, 4096) for word in words)))}` shows it"
