"""Where the inputs changed that made a check's result stale: the first line that the check did not see.

Only where the commit HEAD or the index has a file with exactly the bytes that the check had: else nobody
knows what it was. That is asked of git, so it is done where somebody asks, and for no evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from ...orchestration.evaluation.check_summaries import with_changes
from ...orchestration.evidence.check_state import MOST_NAMED
from ...orchestration.findings import Span
from ...orchestration.result.values import CheckSummary, Evaluation
from ..disk import git
from ..disk.disk_files import DiskFiles
from .evidence_store import read_manifest


def has_changed_inputs(evaluation: Evaluation) -> bool:
    """True if inputs of a check of its gates changed since that ran."""
    return any(check.changed for gate in evaluation.gates for check in gate.checks)


class ChangedLines:
    """The changed lines of one root. A file is looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._digests: dict[str, dict[str, str]] = {}
        self._spans: dict[tuple[str, str], Span | None] = {}

    def evaluation(self, evaluation: Evaluation) -> Evaluation:
        """An evaluation whose gates say where the inputs of their checks changed."""
        if not has_changed_inputs(evaluation):
            return evaluation
        gates = tuple(replace(gate, checks=self.checks(gate.checks)) for gate in evaluation.gates)
        return replace(evaluation, gates=gates)

    def checks(self, checks: Iterable[CheckSummary]) -> tuple[CheckSummary, ...]:
        """Checks that say where their inputs changed, the first of these, as far as that can be told."""
        return tuple(self._with_lines(check) if check.changed else check for check in checks)

    def _with_lines(self, check: CheckSummary) -> CheckSummary:
        first, others = check.changed[:MOST_NAMED], check.changed[MOST_NAMED:]
        located = (replace(each, span=self._span(check.name, each.path)) for each in first)
        return with_changes(check, (*located, *others))

    def _span(self, check: str, path: str) -> Span | None:
        if check not in self._digests:
            self._digests[check] = dict(_manifest_digests(read_manifest(self._root, check)))
        digest = self._digests[check].get(path, "")
        if (digest, path) not in self._spans:
            self._spans[digest, path] = self._first_changed(path, digest)
        return self._spans[digest, path]

    def _first_changed(self, path: str, digest: str) -> Span | None:
        now = DiskFiles(self._root).read(path).text
        before = self._content(path, digest) if digest and now is not None else None
        if before is None or now is None:
            return None
        old, new = before.decode("utf-8", "replace").split("\n"), now.split("\n")
        # What was only added or removed at the end begins behind what both have.
        common = max(min(len(old), len(new)) - 1, 0)
        pairs = enumerate(zip(old[:common], new[:common], strict=True))
        line = next((number for number, lines in pairs if lines[0] != lines[1]), common)
        return Span(line, 0, line, len(new[line]))

    def _content(self, path: str, digest: str) -> bytes | None:
        """The bytes of that digest, if HEAD or the index has them under that path."""
        for tree in ("HEAD", ""):
            content = git.answer(self._root, "cat-file", "blob", f"{tree}:./{path}")
            if content and sha256(content).hexdigest() == digest:
                return content
        return None


def _manifest_digests(manifest: bytes) -> Iterator[tuple[str, str]]:
    """(path, digest) of the plain lines of a manifest."""
    for line in manifest.splitlines():
        digest, _, name = line.partition(b"  ")
        if not digest.startswith(b"\\"):
            yield os.fsdecode(name), digest.decode("ascii", "replace")
