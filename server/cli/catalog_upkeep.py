"""The commands of `upkeep_arguments`, by name."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from ...orchestration.rendering.escalation_markdown import escalations_markdown
from ..terminal.lines import tell as complain
from .commands.history import history
from .commands.init import init
from .commands.read import OK, tell
from .commands.repair import repair
from .selection import chosen


def escalations(options: Namespace) -> int:
    """`escalations --markdown`: every open escalation, in the form of seed 004."""
    selection = chosen(options)
    tell(selection)
    texts = [text for run in selection.runs if (text := escalations_markdown(run.shown()))]
    sys.stdout.write("\n".join(texts))
    complain([] if texts else ["phasekeeper: no escalation is open"])
    return OK


UPKEEP: Mapping[str, Callable[[Namespace], int]] = {
    "history": history,
    "repair": repair,
    "init": init,
    "escalations --markdown": escalations,
}
