"""How a finding can be mended by changing a text: the ways a person may choose from, as edits.

Every code of a finding is in one of three tables: `MENDS` (an edit mends it), `COMMANDS` in the editors'
`code_action_commands.py` (the store must act), or `NOT_MENDED` (with the reason why nobody offers anything).
An edit mends what is written wrongly; it never makes the evidence that a gate asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ...orchestration.definition.model import Workflow
from ...orchestration.findings import Edit, Finding, Span
from ...orchestration.result.values import Evaluation
from ...orchestration.vfs.files import digest_of

MOST_CHOICES = 6
"""So many ways are offered at once; a longer list is no help."""


class Ground(NamedTuple):
    """What a finding is mended on. `text` is that of its file, `read` gives other files of the root.

    `evaluation` and `workflow` are those of the run that the finding belongs to, None for the root's own.
    """

    finding: Finding
    text: str
    read: Callable[[str], str | None]
    evaluation: Evaluation | None = None
    workflow: Workflow | None = None

    @property
    def span(self) -> Span:
        return self.finding.span or Span(0, 0, 0, 0)

    @property
    def lines(self) -> list[str]:
        return split(self.text)

    @property
    def marked(self) -> str:
        """The text in the finding's range, as far as that is in one line."""
        span = self.span
        if span.line != span.end_line or span.line >= len(self.lines):
            return ""
        return self.lines[span.line][span.column : span.end_column]


class Mend(NamedTuple):
    """One way to mend a finding. `edits` are whole texts (digest None: a new file), `removes` are files."""

    title: str
    edits: tuple[Edit, ...] = ()
    removes: tuple[str, ...] = ()
    preferred: bool = False


Mender = Callable[[Ground], Iterator[Mend]]


def mends(ground: Ground) -> list[Mend]:
    """The ways to mend a finding, the best first; none where no edit can."""
    mender = table().get(ground.finding.code)
    if mender is None:
        return []
    found = [mend for mend in mender(ground) if mend.removes or _changes(mend, ground)]
    return list({mend.title: mend for mend in found}.values())[:MOST_CHOICES]


def _changes(mend: Mend, ground: Ground) -> bool:
    return any(edit.path != ground.finding.path or edit.text != ground.text for edit in mend.edits)


def table() -> Mapping[str, Mender]:
    """Which codes an edit mends, and how."""
    from . import data_fixes, plan_fixes, state_fixes

    return {**plan_fixes.MENDS, **data_fixes.MENDS, **state_fixes.MENDS}


def changed(ground: Ground, text: str) -> Edit:
    """The edit that makes the finding's file the text."""
    return Edit(ground.finding.path, digest_of(ground.text), text)


def replaced(ground: Ground, text: str, span: Span | None = None) -> Edit:
    """The edit that puts a text in place of a span within one line, that of the finding unless given."""
    from ...orchestration.markdown.line_edits import Replacement, edited

    return changed(ground, edited(ground.text, [Replacement(span or ground.span, text)]))


def without_line(ground: Ground, line: int) -> Edit:
    """The edit that takes out a line with its end."""
    import re

    bare = ground.text.removeprefix("\ufeff")
    parts = re.split(r"(?<=\n)|(?<=\r)(?!\n)", bare)
    mark = ground.text[: len(ground.text) - len(bare)]
    return changed(ground, mark + "".join(parts[:line] + parts[line + 1 :]))


def split(text: str) -> list[str]:
    from ...orchestration.markdown.block_outline import split_lines

    return split_lines(text)


NOT_MENDED: Mapping[str, str] = {
    "action-precondition": "the state says that the action comes too early; the work before it is missing",
    "artifact-unreadable": "only who wrote the text knows what it should say",
    "fix-scope-unclear": "only who ran the checks knows which tasks failed",
    "fixes-dropped": "fixes have to be made or verified; that is work",
    "freshness-unknown": "which of two files is newer cannot be told any more",
    "gate-failing": "the gate's checks have to pass; that is work",
    "order-uncertain": "which of two reports came first cannot be told any more",
    "phase-ahead": "it is only told: an artifact that comes early harms nothing",
    "phase-skipped": "it is only told, with the reason",
    "plan-empty": "the tasks of a stage have to be planned; that is work",
    "quality-mismatch": "the quality gate has to be judged again",
    "report-out-of-turn": "it counts for nothing, and what it says may still be wanted",
    "report-unknown": "only who wrote the file knows what it was meant to be",
    "tests-contradictory": "the tests have to run again",
    "tests-empty": "tests have to be written",
    "unknown-action": "the workflow's definition has to name an action that it has",
}
"""Codes that nobody offers to mend, and why."""
