"""Quick fixes as values: the context of a finding, and one way to fix it as edits of whole texts.

An edit corrects what is written wrongly; it never makes the evidence that a gate asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...orchestration.definition.model import Workflow
from ...orchestration.findings import Edit, Finding, Span
from ...orchestration.markdown.block_outline import split_lines
from ...orchestration.markdown.line_edits import Insertion, Replacement, apply_edits
from ...orchestration.plans.model import Dialect
from ...orchestration.plans.schedule import TaskBoard
from ...orchestration.result.values import Evaluation
from ...orchestration.vfs.files import digest_of


class QuickFix(NamedTuple):
    """One way to fix a finding. `edits` are whole texts (digest None: a new file), `removes` are paths."""

    title: str
    edits: tuple[Edit, ...] = ()
    removes: tuple[str, ...] = ()
    preferred: bool = False


class FixContext(NamedTuple):
    """A finding, the text of its file, and `read`, which gives other files of the root (None: not there).

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
    def dialect(self) -> Dialect | None:
        """The dialect of the run's plan."""
        run = self.evaluation.run if self.evaluation else ""
        return self.workflow.dialect_of(run) if self.workflow else None

    @property
    def board(self) -> TaskBoard | None:
        """The plan of the run, as it stands."""
        return self.evaluation.plan if self.evaluation else None

    @property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @property
    def marked_text(self) -> str:
        """The text in the finding's range; "" where that is not within one line."""
        span, lines = self.span, self.lines
        if span.line != span.end_line or span.line >= len(lines):
            return ""
        return lines[span.line][span.column : span.end_column]

    def edit(self, text: str) -> Edit:
        """The edit that makes `text` the content of the finding's file."""
        return Edit(self.finding.path, digest_of(self.text), text)

    def replace(self, text: str, span: Span | None = None) -> Edit:
        """The edit that puts a text in place of a span within one line; by default the finding's."""
        return self.edit(apply_edits(self.text, [Replacement(span or self.span, text)]))

    def insert(self, line: int, *lines: str) -> Edit:
        """The edit that puts lines above a line."""
        return self.edit(apply_edits(self.text, [], [Insertion(line, list(lines))]))

    def delete_line(self) -> Edit:
        """The edit that removes the finding's line with its line end."""
        bare = self.text.removeprefix("\ufeff")
        parts = re.split(r"(?<=\n)|(?<=\r)(?!\n)", bare)
        mark = self.text[: len(self.text) - len(bare)]
        return self.edit(mark + "".join(parts[: self.span.line] + parts[self.span.line + 1 :]))


Fixer = Callable[[FixContext], Iterator[QuickFix]]
"""All ways to fix a finding of one code, the best first; none where no edit can."""
