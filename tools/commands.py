"""Command lines about a run for a person to type: quoted for a shell, with nothing a terminal would obey."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..orchestration.result.values import Evaluation
from ..orchestration.sanitize import plain

WHY = ' --reason "why"'
"""Behind a command that decides something: a person says why."""


def command_line(
    evaluation: Evaluation, words: Sequence[str], where: Sequence[str], longest: int = 4096
) -> str:
    """The command `words[0]` about the run, then the other words, then `where`: what says where its root is.

    A word is cut at `longest` characters; by default that is no shorter than a path may be.
    """
    line = ("phasekeeper", words[0], evaluation.run or ".", *words[1:], *where)
    return " ".join(shlex.quote(plain(word, longest)) for word in line)
