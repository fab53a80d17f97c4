"""Reading one run: its files as they were committed, its live claims, its proven decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...orchestration.definition.root_config import Config
from ...orchestration.evaluation.evaluate import evaluate_traced
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.findings import finding
from ...orchestration.journal.journal import read_claims
from ...orchestration.journal.lines import CLAIMS, JOURNAL
from ...orchestration.snapshot.discovery import DefinitionSet, Match, judge
from ...orchestration.snapshot.read_log import Measured, RunReader
from ...orchestration.snapshot.run_files import read_run
from ...orchestration.snapshot.snapshot import Snapshot
from ...orchestration.states import RunStatus, SuggestionKind
from ...orchestration.vfs.files import Files, RecordingFiles, below
from ...orchestration.vfs.overlay import UNSAVED_MTIME_NS, OverlayFiles
from ..disk.disk_files import ABSENT, stat_key
from ..lru_cache import LruCache
from . import decision_proof as decide
from .candidate_runs import CandidateRun

Parsed = dict[tuple[str, str], Any]
WARM_RUNS = 64
"""The parse results of so many runs are kept, those that were evaluated last."""
_MOST_LOOKS = 5
"""So often a run is read again while writers add to it."""


class ParseCache(dict[tuple[str, str], Any]):
    """Parse results of one evaluation; those of the one before are taken over when they are asked for.

    What is in it afterwards is what this evaluation used, and no more. It is kept as a plain copy, so that no
    chain of caches grows.
    """

    def __init__(self, before: Parsed | None) -> None:
        super().__init__()
        self._before = before or {}

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key) and key in self._before:
            self[key] = self._before[key]  # type: ignore[index]
        return super().__contains__(key)


class RunEnvironment(NamedTuple):
    """The surroundings of a run besides its files. `now` is ISO 8601 in UTC, for claims; `key` gives the
    repository's key, `head_file` the bytes of a file in the commit HEAD, `committed` the lines of a journal
    in it, `measured` what a check says. They are asked only when needed.
    """

    root: Path
    config: Config
    now: str
    key: Callable[[], bytes | None]
    head_file: Callable[[str], bytes | None]
    committed: Callable[[Path, str], frozenset[str]] = decide.head_lines
    measured: Measured = lambda check: None


def read_match(match: Match, files: RecordingFiles, around: RunEnvironment, parsed: Parsed) -> Snapshot:
    """The run as its files show it, with what a crash kept from its place laid over them.

    A writer at work is seen before its record, or with all that it wrote: what was added is read, too.
    """
    journal, claims = below(match.home, JOURNAL), files.read(below(match.home, CLAIMS))

    def read(head: Files) -> Snapshot:
        return read_run(
            match.workflow,
            head,
            match.run,
            root=str(around.root),
            config=around.config,
            claims=read_claims(claims.text or "", around.now),
            verify=lambda lines: decide.prove_lines(
                around.root, journal, lines, around.key(), around.committed, around.head_file
            ),
            committed=around.head_file,
            measured=around.measured,
            parsed=parsed,
        )

    head = _files_of_head(match.home, journal, files, around.root)
    snapshot, meanwhile = read(head), dict[str, str]()
    for _ in range(_MOST_LOOKS):
        newer = _texts_written_meanwhile(match.home, journal, head, files, around.root)
        if not newer:
            break
        meanwhile |= newer
        head = _files_of_head(match.home, journal, OverlayFiles(files, meanwhile), around.root)
        snapshot = read(head)
    if claims.problem is None or not claims.refused:
        return snapshot
    return replace(snapshot, findings=(*snapshot.findings, finding(claims.problem, claims.path)))


def evaluate_match(match: Match, snapshot: Snapshot) -> EvaluationTrace:
    """The evaluation of a run. If two definitions claim it with equal right nothing is guessed."""
    trace = evaluate_traced(match.workflow, snapshot)
    if not match.rivals:
        return trace
    found, evaluation = match.findings(), trace.evaluation
    reason = found[0].message
    suggestion = replace(
        evaluation.suggestion, kind=SuggestionKind.NONE, suggested_next=None, action=None, reason=reason
    )
    evaluation = replace(evaluation, status=RunStatus.INVALID, status_reason=reason)
    findings = (*evaluation.findings, *found)
    return trace._replace(evaluation=replace(evaluation, suggestion=suggestion, findings=findings))


def _files_of_head(home: str, journal: str, files: Files, root: Path) -> Files:
    file = files.read(journal)
    if not file.exists:
        return files
    from ..store.log_file import LogTail
    from ..store.recovery import is_temporary, pending_writes, written_folders

    # Temporary files that a writer of the run left, or has there at this moment.
    folders = written_folders(home, LogTail(raw=(file.text or "").encode("utf-8", "surrogatepass")))
    strays = [below(each, name) for each in folders for name in files.list(each) if is_temporary(name)]
    if not strays:
        return files
    # All that is looked at is read, so that a change of it is known to matter. Unsaved text stays on top.
    for path in strays:
        files.read(path)
    left = pending_writes(root, home).texts.items()
    texts = {path: text for path, text in left if files.read(path).mtime_ns != UNSAVED_MTIME_NS}
    return OverlayFiles(files, texts) if texts else files


def _texts_written_meanwhile(
    home: str, journal: str, head: Files, files: RecordingFiles, root: Path
) -> dict[str, str]:
    """What a writer wrote since the run was read, but for texts that an editor has not saved."""
    if not files.read(journal).exists and stat_key(root / journal) == ABSENT:
        return {}
    from ..store.writer_at_work import texts_written_meanwhile

    newer = texts_written_meanwhile(root, home, head, files.used)
    return {path: text for path, text in newer.items() if files.read(path).mtime_ns != UNSAVED_MTIME_NS}


class RunExaminer:
    """Judges and evaluates one folder of a root at a time. `environment` tells what no file of it shows, and
    records in the files what it looks at.

    `parsed` has the parse results of the runs that were kept last, the last one at the end.
    """

    def __init__(self, environment: Callable[[RecordingFiles], RunEnvironment]) -> None:
        self._environment = environment
        self.parsed = LruCache[str, Parsed](WARM_RUNS)

    def drop_caches(self) -> None:
        """Keep no parse results."""
        self.parsed = LruCache[str, Parsed](WARM_RUNS)

    def examine(
        self, run: str, definitions: tuple[str, ...], known: DefinitionSet, below: Files
    ) -> tuple[CandidateRun, RecordingFiles, Parsed]:
        """(what a folder is by these files, the record of those that were read, their parse results)."""
        files, parsed = RecordingFiles(below), ParseCache(self.parsed.get(run))
        around = self._environment(files)
        verdict = judge(run, definitions, known, RunReader(files, parsed), around.config)
        match, evaluation = verdict.match, None
        if match:
            evaluation = evaluate_match(match, read_match(match, files, around, parsed)).evaluation
        findings = evaluation.findings if evaluation else verdict.findings
        return CandidateRun(definitions, verdict.named, match, evaluation, findings), files, parsed

    def trace(self, match: Match, below: Files) -> EvaluationTrace:
        """The evaluation of a run by these files, and how it came about."""
        files, parsed = RecordingFiles(below), ParseCache(self.parsed.get(match.run))
        return evaluate_match(match, read_match(match, files, self._environment(files), parsed))
