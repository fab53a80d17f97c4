"""One root, maintained incrementally: its runs and findings as its files show them.

Every evaluation records its read set: what it looked at, whether it was there or not. The runs that read what
really changed are evaluated anew: a change costs what depends on it, however much is watched.

Besides files an evaluation may depend on the time (a claim ends), on the commit HEAD (it proves decisions)
and on the key of decisions. They are looked at with every refresh, for none of them costs more than a stat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.definition.root_config import Config, config_in
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.findings import Finding, finding
from ...orchestration.journal.lines import CLAIMS, JOURNAL
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import DefinitionSet
from ...orchestration.vfs.files import Files, RecordingFiles, below, natural, parent
from ...orchestration.vfs.overlay import OverlayFiles
from ..checks.root_checks import RootChecks
from ..disk.file_cache import FileCache
from ..disk.partial_saves import monotonic_ms
from ..watch.watch_plan import WatchPlan, paths_in_root
from ..workspace.candidate_runs import CandidateRun, candidates_below, differing_runs, keys_of_candidates
from ..workspace.definitions import DefinitionLibrary, root_findings
from ..workspace.roots import UsageError, project_folders
from ..workspace.run_reader import Parsed, RunEnvironment, RunExaminer
from .boards import Progress, RootChange, merge_in_order
from .cached_runs import CachedRuns
from .dependencies import DependencyIndex, FindingsByPath, Holds
from .external_inputs import Deadlines, ExternalInputs

T = TypeVar("T")
Refresh = Generator[None, None, RootChange | None]
"""A refresh in small parts, between which other work can be done; what it returns is what differs."""

RECENT_RUNS = 16
"""Before a question about all runs so many are looked at, those that were evaluated or asked about last."""
_MAX_ROUNDS = 8
# Dependants that are no runs, and so no paths.
_LIBRARY, _CONFIG, _CANDIDATES, _CHECKS = "\0library", "\0configuration", "\0candidates", "\0checks"


class LiveRoot:
    """One root. Used from one thread only.

    `runs` (in order of their paths), `findings` (by path) and `projects` (the roots in it that its
    configuration names) are replaced when they differ, never changed; `version` counts up then.
    """

    def __init__(
        self,
        root: Path,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        now_ms: Callable[[], float] = monotonic_ms,
        cache: Path | None = None,
    ) -> None:
        """`cache` is the folder of the caches on disk; without one no run is kept across starts."""
        self.root = root
        self.version = 0
        self.runs: Mapping[str, Evaluation] = {}
        self.findings: Mapping[str, tuple[Finding, ...]] = {}
        self.projects: tuple[Path, ...] = ()
        self._is_scanned = False
        self._files = FileCache(root, now_ms)
        self._names = (self._files.root, str(root))
        self._dependencies = DependencyIndex()
        self._holds = Holds(self._files, self._dependencies, now_ms)
        self._reported = FindingsByPath()
        self._external = ExternalInputs(root, self._dependencies)
        self.checks = RootChecks(root)
        self._cached = CachedRuns(cache, self._files, self._external)
        self._deadlines = Deadlines(clock)
        self._watch_plan = WatchPlan(self._files)
        self._examiner = RunExaminer(self._environment)
        self._library = DefinitionLibrary()
        self._definition_states: Mapping[str, object] = {}
        self._known = DefinitionSet(())
        self._config = Config()
        self._config_projects: tuple[Path, ...] = ()
        self._candidates: dict[str, CandidateRun] = {}
        self._due: dict[str, None] = {}
        """Candidates to be evaluated anew, in order."""
        self._failed: set[str] = set()
        """Candidates whose evaluation raised; they are tried again with every `refresh_all_in_parts`."""
        self._touched: set[str] = set()
        """Runs that may differ from `runs`."""

    # ---- refreshing

    def scan_in_parts(self, progress: Progress | None = None, *, grace: bool = False) -> Refresh:
        """The first look at everything; what is to be refreshed before its end is part of it."""
        self._files.has_grace = grace
        try:
            self.read_definitions()
            self._find_candidates()
            self._declare_checks()
            yield from self.checks.preparing()
            yield from self._restore()
            total = len(self._due)
            for number, run in enumerate(list(self._due), 1):
                if run in self._due:
                    self._evaluate(run)
                if progress:
                    progress(number, total)
                yield
                self._files.has_grace = grace
        finally:
            # One run that cannot be evaluated does not keep the others from being shown.
            self._is_scanned = True
        return self._recompute()

    def _restore(self) -> Iterator[None]:
        """Take what need not be judged from where it was kept."""
        yield from ()

    def read_definitions(self) -> None:
        """Read what says where runs are looked for, so that `watched` knows it before they are read."""
        if not self._known.definitions:
            self._read_library()
            self._read_config()

    def refresh_paths(self, paths: Iterable[Path | str] = (), *, grace: bool = False) -> RootChange | None:
        """Look again at `paths` (absolute) and at all below them. None when nothing differs.

        With `grace` what may be half saved (`disk/partial_saves`) counts as before until it is whole or its
        grace is over, with the runs that depend on it. Without it all is taken as it is now: saves are done.
        """
        full = [str(path) for path in paths]
        self._files.has_grace = grace
        relative = paths_in_root(self._names, full)
        self.checks.note(relative)
        self._files.refresh(relative)
        self._mark_due(self._cached.changed_runs(relative))
        self._watch_plan.recheck(full)
        return self._recompute()

    def refresh_folders(self, folders: Mapping[Path, bool]) -> RootChange | None:
        """Look again, with grace, at what is right in folders (absolute), and below those that are True."""
        self._files.has_grace = True
        self.checks.note(paths_in_root(self._names, folders))
        self._files.refresh_right_in(paths_in_root(self._names, folders))
        self._watch_plan.recheck(map(str, folders))
        whole = paths_in_root(self._names, (folder for folder, is_whole in folders.items() if is_whole))
        self._files.refresh(whole)
        self._mark_due(self._cached.changed_runs(whole))
        return self._recompute()

    def look_again(self, run: str | None = None, heard_all: bool = False) -> RootChange | None:
        """Look again by stat at what a run depends on; without one at `RECENT_RUNS`, and for new ones.

        With `heard_all`, where hints were given for all that was written, no thousands of names are listed.
        None when nothing differs. With grace: whoever asks is answered when the run is not `held` any more.
        """
        self._files.has_grace = True
        runs = {run} if run in self._candidates else set([*self._examiner.parsed][-RECENT_RUNS:])
        names = () if run in runs or heard_all else (_CANDIDATES,)
        keys = self._dependencies.keys_of_all((_LIBRARY, _CONFIG, *names, *runs))
        way = run if run and run in runs else ""
        while way:
            keys.add(way)
            way = parent(way)
        self.checks.ask_again()
        is_vouched_for = heard_all and self._cached.is_trusted
        self._files.recheck(keys, is_vouched_for)
        self._mark_due(self._cached.differing_runs(runs, is_vouched_for))
        return self._recompute()

    def needs_all_heard(self, run: str) -> bool:
        """True if `look_again` at a run takes long without `heard_all`."""
        large = self._files.large_folders.among(self._dependencies.keys_of(run))
        return bool(large) or self._cached.is_large(run)

    def refresh_all_in_parts(self, *, grace: bool = False) -> Refresh:
        """Look again without knowing what changed. Other refreshes may come between the parts."""
        self._files.has_grace = grace
        for _ in self._files.rescanning():
            yield
            self._files.has_grace = grace
        yield from self.checks.rescanning()
        self._files.has_grace = grace
        for run in list(self._cached):
            self._mark_due(self._cached.differing_runs([run]))
            yield
            self._files.has_grace = grace
        self._mark_due(self._failed)
        change = self._recompute()
        self.forget_names()
        return change

    def drop_caches(self) -> None:
        """Forget what can be read again."""
        self._examiner.drop_caches()

    def forget_names(self) -> None:
        """Keep no names of folders that nobody depends on. Costs a look at all keys."""
        keys = self._dependencies.keys()
        self._files.forget_names({key[:-1] if key[-1:] == "/" else parent(key) for key in keys})

    # ---- questions

    def wait_ms(self) -> float:
        """Milliseconds until a claim or a grace ends, so that `refresh_paths` is due; infinite for none."""
        return min(self._deadlines.wait_ms(), self._holds.wait_ms())

    def held_runs(self, run: str | None = None) -> Set[str]:
        """What stands as before because a file may be half saved, of all or of what concerns a run."""
        held = self._holds.dependants()
        return held if run is None else held & {run, _LIBRARY, _CONFIG}

    def watched_folders(self) -> Mapping[Path, bool]:
        """The folders whose changes can matter; True where changes of all that is below them do."""
        paths = self._external.paths | self.checks.paths
        return self._watch_plan.folders(self._known, paths, self.checks.folders)

    def query(self, run: str, question: Callable[[EvaluationTrace], T]) -> T:
        """Ask `question` about the trace of a run's evaluation, and return what it returns.

        It is computed from the files as they were last looked at: one that is being written is not seen half.
        Raises UsageError when it is no run, and what `question` raises.
        """
        if run in self._cached:
            self._evaluate(run)
        candidate = self._candidates.get(run)
        if candidate is None or candidate.match is None or run not in self.runs:
            raise UsageError(f"{run} is no run any more")
        steps = self._examiner.trace(candidate.match, self._files)
        return question(steps._replace(evaluation=self.runs[run]))

    def evaluate_unsaved(self, texts: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that read any of these unsaved texts (root-relative path to text), evaluated on them.

        A text that is what the file holds is saved, however the editor came by it. Revisions get "+unsaved".
        """
        overlay: dict[str, str] = {}
        for run in [run for path in texts for run in self._cached.holding(path)]:
            self._evaluate(run)
        for path, text in texts.items():
            if self._files.read(path).text != text:
                overlay[path] = text
            if not self._dependencies.dependants((path,)):
                self._files.forget([path])
        keys = {key for path in overlay for key in (path, f"{parent(path)}/")}
        runs = sorted(self._dependencies.dependants(keys) & self._candidates.keys(), key=natural)
        files = OverlayFiles(self._files, overlay)
        return {
            run: replace(evaluation, revision=f"{evaluation.revision}+unsaved")
            for run in runs
            if (evaluation := self._examine(run, files)[0].evaluation)
        }

    # ---- one run

    def _evaluate(self, run: str) -> None:
        """Evaluate a run anew; it stands as before if a file is half saved that was not read until now."""
        self._due.pop(run, None)
        self._cached.drop(run)
        self._failed.add(run)
        candidate, files, parsed = self._examine(run, self._files)
        self._failed.discard(run)
        self._depend(run, files.used)
        if self._holds.concern(files.used):
            self._due[run] = None
            return
        before = self.runs.get(run)
        if candidate.evaluation is not None and candidate.evaluation == before:
            candidate = candidate._replace(evaluation=before)
        self._examiner.parsed.keep(run, dict(parsed))
        claims = candidate.evaluation.claims if candidate.evaluation else ()
        self._take(run, candidate, min((claim.until for claim in claims), default=""))

    def _take(self, run: str, candidate: CandidateRun, until: str) -> None:
        """From now on the run stands like this; it is due `until`, if that is not ""."""
        self._candidates[run] = candidate
        self._deadlines.drop(run)
        if until:
            self._deadlines.set_claim_end(run, until)
        self._touched.add(run)
        self._reported.replace(run, candidate.findings)

    def _examine(self, run: str, files: Files) -> tuple[CandidateRun, RecordingFiles, Parsed]:
        return self._examiner.examine(run, self._candidates[run].definitions, self._known, files)

    def _environment(self, files: RecordingFiles) -> RunEnvironment:
        return RunEnvironment(
            self.root,
            self._config,
            self._deadlines.now(),
            partial(self._external.read_key, files),
            partial(self._external.read_head_file, files),
            partial(self._external.read_committed, files),
            partial(self.checks.read, files),
        )

    def _depend(self, dependant: str, keys: set[str]) -> None:
        self._files.forget(self._dependencies.replace(dependant, keys))

    # ---- definitions, configuration, candidates

    def _read_library(self) -> None:
        """Read the definitions, and mark the runs due of which one differs now."""
        files = RecordingFiles(self._files)
        library = DefinitionLibrary.of(files)
        self._depend(_LIBRARY, files.used)
        if self._known.definitions and self._holds.concern(files.used):
            return
        self._library = library
        before, self._definition_states = self._definition_states, self._library.states()
        self._known = DefinitionSet(self._library.definitions())
        after = self._definition_states
        differing = {name for name in {**before, **after} if before.get(name) != after.get(name)}
        for run, candidate in self._candidates.items():
            if differing.intersection((*candidate.definitions, *candidate.named)):
                self._due[run] = None

    def _read_config(self) -> None:
        """Read the configuration, and mark the runs due for which it says other things now."""
        files = RecordingFiles(self._files)
        before, after = self._config, config_in(files.read(CONFIG_PATH))
        folders, problems = project_folders(files, after.projects)
        self._depend(_CONFIG, files.used)
        self._config = after
        self._config_projects = tuple(self.root / folder for folder in folders)
        self._reported.replace(_CONFIG, (finding(problem, CONFIG_PATH) for problem in problems))
        for run, candidate in self._candidates.items():
            if candidate.is_configured_otherwise(run, before, after):
                self._due[run] = None
        if before.checks != after.checks and self._is_scanned:
            renamed = before.checks.keys() != after.checks.keys()
            changed = self._refresh_checks()
            self._mark_due(self._candidates if renamed else self._dependencies.dependants(changed))

    def _declare_checks(self) -> None:
        places = [at for each in self._known.definitions.values() for at in each.at]
        self.checks.declare(self._config.checks, places)

    def _refresh_checks(self) -> set[str]:
        """Bring the checks up to date; the keys of those that differ."""
        self._declare_checks()
        changed = self.checks.refresh()
        if changed or not self.version:
            self._reported.replace(_CHECKS, self.checks.findings())
        return changed

    def _find_candidates(self, folders: Collection[str] = ()) -> None:
        """Find what may be runs, where folders or files came or went or, without any, everywhere."""
        files = RecordingFiles(self._files)
        for candidate in candidates_below(folders, self._known, files, self._candidates):
            self._set_candidate(*candidate)
        kept = self._dependencies.keys_of(_CANDIDATES) if folders else ()
        self._depend(_CANDIDATES, keys_of_candidates(self._known, files).union(kept))

    def _set_candidate(self, run: str, definitions: tuple[str, ...]) -> None:
        """By these definitions a folder may be a run; by none it is not."""
        candidate = self._candidates.get(run, CandidateRun(()))
        if candidate.definitions == definitions:
            return
        if definitions:
            self._candidates[run] = candidate._replace(definitions=definitions)
            self._due[run] = None
            return
        del self._candidates[run]
        self._due.pop(run, None)
        self._failed.discard(run)
        self._cached.drop(run)
        self._deadlines.drop(run)
        self._examiner.parsed.drop(run)
        self._depend(run, set())
        self._reported.replace(run, ())
        self._touched.add(run)

    # ---- what differs

    def _recompute(self) -> RootChange | None:
        """Evaluate anew what depends on what changed; what differs then. Runs of held files stay due."""
        if not self._is_scanned:
            return None
        self._holds.end_those_over()
        self._files.changed |= self._external.refresh() | self._refresh_checks()
        self._mark_due(self._deadlines.take_due())
        if self._deadlines.is_set_back():
            homes = ((run, each.match.home) for run, each in self._candidates.items() if each.match)
            self._mark_due([run for run, home in homes if self._files.read(below(home, CLAIMS)).exists])
        read = set[str]()
        for _ in range(_MAX_ROUNDS):
            read |= self._mark_dirty()
            held = self._holds.dependants()
            due = [run for run in self._due if run not in held]
            if not due:
                break
            # A commit writes its record before its files: whoever saw one of these looks for it.
            homes = (each.match.home for run in due if (each := self._candidates[run]).match)
            self._files.recheck([below(home, JOURNAL) for home in homes])
            read |= self._mark_dirty()
            for run in filter(self._due.__contains__, due):
                self._evaluate(run)
        return self._diff(read)

    def _mark_dirty(self) -> set[str]:
        """Read anew what depends on what changed and is no run, and mark such runs due; the keys of it."""
        keys, moved = self._files.take()
        dependants = self._dependencies.dependants(keys)
        if _LIBRARY in dependants:
            self._read_library()
            self._find_candidates()
        if _CONFIG in dependants:
            self._read_config()
        if places := moved | self._known.files_with_runs(keys):
            self._find_candidates(places)
        if moved:
            self._watch_plan.invalidate(moved)
        if not self.version or not dependants.isdisjoint((_LIBRARY, _CONFIG)):
            self._reported.replace(
                _LIBRARY, (*root_findings(self._config, self._library), *self._library.check_definitions())
            )
        lookers = (_LIBRARY, _CONFIG, _CANDIDATES)
        if not self.version or not dependants.isdisjoint(lookers):
            unlisted = self._files.unlisted_folders.items()
            used = self._dependencies.keys_of_all(lookers if unlisted else ())
            problems = (finding(problem, folder) for folder, problem in unlisted if f"{folder}/" in used)
            self._reported.replace(_CANDIDATES, problems)
        self._mark_due(dependants)
        return keys

    def _mark_due(self, runs: Iterable[str]) -> None:
        self._due.update(dict.fromkeys(run for run in runs if run in self._candidates))

    def _diff(self, read: Iterable[str]) -> RootChange | None:
        """Bring `runs`, `findings` and `projects` up to date; None when none of them differs."""
        changed, removed = differing_runs(self._touched, self._candidates, self.runs)
        self._touched = set()
        findings = self._reported.take_changed(self.findings)
        if not (changed or removed or findings or self._config_projects != self.projects):
            return None
        self.version += 1
        added = changed.keys() - self.runs.keys()
        self.projects = self._config_projects
        self.runs = merge_in_order(self.runs, changed, removed, natural)
        present = {path: reported for path, reported in findings.items() if reported}
        self.findings = merge_in_order(self.findings, present, findings.keys() - present.keys(), str)
        texts = {path: text for path in read if (text := self._files.text(path)) is not None}
        return RootChange(self.root, self.version, changed, tuple(removed), findings, texts, added)
