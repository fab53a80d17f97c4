"""Reading one run: its files as they were committed, its live claims, its proven decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...orchestration.definition.root_config import Config
from ...orchestration.evaluation.evaluate import evaluate_traced
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.journal.journal import Claim, read_claims
from ...orchestration.journal.lines import CLAIMS, JOURNAL
from ...orchestration.snapshot.discovery import Match
from ...orchestration.snapshot.run_files import read_run
from ...orchestration.snapshot.snapshot import Snapshot
from ...orchestration.states import RunStatus, SuggestionKind
from ...orchestration.vfs.files import Files, below
from ...orchestration.vfs.overlay import UNSAVED_MTIME_NS, OverlayFiles
from . import decision_proof as decide

Parsed = dict[tuple[str, str], Any]


class RunEnvironment(NamedTuple):
    """What is looked at of a run besides its files. `now` is ISO 8601 in UTC, for claims; `key` gives the key
    of decisions, `committed` the lines of a journal in the commit HEAD. Both are asked only when needed.
    """

    root: Path
    config: Config
    now: str
    key: Callable[[], bytes | None]
    committed: Callable[[Path, str], frozenset[str]] = decide.head_lines


def read_match(match: Match, files: Files, around: RunEnvironment, parsed: Parsed) -> Snapshot:
    """The run as its files show it, with what a crash kept from its place laid over them."""
    journal = below(match.run, JOURNAL)
    return read_run(
        match.workflow,
        _as_committed(match.run, journal, files, around.root),
        match.run,
        root=str(around.root),
        config=around.config,
        claims=_claims(match.run, files, around.now),
        verify=lambda lines: decide.verified_lines(
            around.root, journal, lines, around.key(), around.committed
        ),
        parsed=parsed,
    )


def evaluate_match(match: Match, snapshot: Snapshot) -> EvaluationTrace:
    """How the run stands. If two definitions claim it with equal right nothing is guessed."""
    steps = evaluate_traced(match.workflow, snapshot)
    return _as_ambiguous(steps, match) if match.rivals else steps


def _as_committed(run: str, journal: str, files: Files, root: Path) -> Files:
    file = files.read(journal)
    if not file.exists:
        return files
    strays = _strays(run, file.text or "", files)
    if not strays:
        return files
    from ..store.commit import pending_writes

    # All that is looked at is read, so that a change of it is known to matter. Unsaved text stays on top.
    for path in strays:
        files.read(path)
    left = pending_writes(root, run).texts.items()
    texts = {path: text for path, text in left if files.read(path).mtime_ns != UNSAVED_MTIME_NS}
    return OverlayFiles(files, texts) if texts else files


def _strays(run: str, journal: str, files: Files) -> list[str]:
    """Temporary files that a writer of the run left, or has there at this moment."""
    from ..store.log_file import LogTail
    from ..store.recovery import is_temporary, written_folders

    folders = written_folders(run, LogTail(raw=journal.encode("utf-8", "surrogatepass")))
    return [below(folder, name) for folder in folders for name in files.list(folder) if is_temporary(name)]


def _claims(run: str, files: Files, now: str) -> tuple[Claim, ...]:
    file = files.read(below(run, CLAIMS))
    return read_claims(file.text, now) if file.text else ()


def _as_ambiguous(steps: EvaluationTrace, match: Match) -> EvaluationTrace:
    found = match.findings()
    suggestion = replace(
        steps.evaluation.suggestion,
        kind=SuggestionKind.NONE,
        suggested_next=None,
        action=None,
        reason=found[0].message,
    )
    evaluation = replace(
        steps.evaluation,
        status=RunStatus.INVALID,
        status_reason=found[0].message,
        suggestion=suggestion,
        findings=(*steps.evaluation.findings, *found),
    )
    return steps._replace(evaluation=evaluation)
