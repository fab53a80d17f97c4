"""One root kept current: its runs and findings as its files show them.

Every run's evaluation notes what it looked at, whether it was there or not. When something may have changed,
the files concerned are looked at again, and the runs that looked at what really changed are evaluated anew:
a change costs what depends on it, however much is watched.

Besides files an evaluation may depend on the time (a claim ends), on the commit HEAD (it proves decisions)
and on the key of decisions. They are looked at with every change, for none of them costs more than a stat.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import NamedTuple, TypeVar

from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.definition.root_config import Config, read_config
from ...orchestration.evaluation.evaluate import EvaluationTrace
from ...orchestration.findings import Finding, finding
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import DefinitionSet, Match, assigned, candidates, claims_at, judge
from ...orchestration.snapshot.read_log import RunReader
from ...orchestration.vfs.files import Files, RecordingFiles, natural, parent
from ...orchestration.vfs.overlay import OverlayFiles
from ..disk.file_cache import FileCache
from ..workspace.definitions import DefinitionLibrary
from ..workspace.roots import UsageError, project_folders
from ..workspace.run_reader import Parsed, RunEnvironment, evaluate_match, read_match
from ..workspace.workspace import root_findings
from .boards import Progress, RootChange, merge_in_order
from .dependencies import Readers, Told
from .external_inputs import Outside
from .parse_cache import Carried
from .watch_plan import Watches

Clock = Callable[[], datetime]
T = TypeVar("T")

WARM_RUNS = 64
"""The parse results of so many runs are kept, those that were evaluated last."""
GRACE_MS = 150
"""A file that was saved so short ago and is empty or broken may be half saved."""
_BROKEN = ("artifact-unreadable", "artifact-invalid")
_ROUNDS = 8
# Readers that are no runs, and keys that are no files; no path has such a name.
_LIBRARY, _CONFIG, _PLACES = "\0library", "\0configuration", "\0places"


class _Place(NamedTuple):
    """A folder that may be a run: what it was judged to be. `until` is when the first claim on it ends."""

    named: tuple[str | None, str | None] = (None, None)
    match: Match | None = None
    evaluation: Evaluation | None = None
    until: str = ""


class Live:
    """One root. Used from one thread only; `runs` (in order of their paths), `findings` and `projects` (the
    roots in it that its configuration names) are replaced when they differ, never changed."""

    def __init__(self, root: Path, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self.root = root
        self.version = 0
        self.runs: Mapping[str, Evaluation] = {}
        self.findings: Mapping[str, tuple[Finding, ...]] = {}
        self.projects: tuple[Path, ...] = ()
        self._clock = clock
        self._is_scanned = True
        self._kept = FileCache(root)
        self._readers = Readers()
        self._told = Told()
        self._library = DefinitionLibrary()
        self._config = Config()
        self._projects: tuple[Path, ...] = ()
        self._known = DefinitionSet(())
        self._definitions: Mapping[str, object] = {}
        self._claims: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, _Place] = {}
        self._due: dict[str, None] = {}
        self._failed: set[str] = set()
        self._differing: set[str] = set()
        self._warm: OrderedDict[str, Parsed] = OrderedDict()
        self._ends: dict[str, str] = {}
        self._held: dict[str, int] = {}
        self._watches = Watches(self._kept)
        self._outside = Outside(root, self._readers)

    # ---- looking

    def scan(self, progress: Progress | None = None) -> RootChange:
        """The first look at everything; `progress` hears of (runs judged, runs in all)."""
        return _whole(self.scanning(progress)) or RootChange(self.root, self.version, {}, (), {})

    def scanning(self, progress: Progress | None = None) -> Generator[None, None, RootChange | None]:
        """`scan` in small parts, between which other roots can be looked at."""
        self._is_scanned = False
        try:
            self.prepare()
            self._find_all()
            total = len(self._due)
            for number, run in enumerate(list(self._due), 1):
                if run in self._due:
                    self._evaluate(run)
                if progress:
                    progress(number, total)
                yield
        finally:
            # One run that cannot be judged does not keep the others from being told.
            self._is_scanned = True
        return self._settle()

    def prepare(self) -> None:
        """Read what says where runs are looked for, so that `watched` knows them before they are read."""
        if not self._known.definitions:
            self._read_library()
            self._read_config()

    def touch(self, paths: Iterable[Path] = (), *, grace: bool = False) -> RootChange | None:
        """Look again where `paths` (absolute) may have changed. None when nothing differs.

        With `grace` a file that was saved this moment, and is empty or broken now, counts as half saved: its
        runs stand as before until it is touched again or `GRACE_MS` are over.
        """
        self._kept.refresh({place for path in paths for place in self._places_of(path)})
        self._look_outside()
        return self._settle(grace)

    def glance(self, folders: Iterable[Path]) -> RootChange | None:
        """Look again at the names and files right in folders (absolute), but at nothing below them."""
        self._kept.refresh_right_in({place for path in folders for place in self._places_of(path)})
        self._look_outside()
        return self._settle()

    def rescan(self) -> RootChange | None:
        """Look again without knowing what changed. None when nothing differs."""
        return _whole(self.rescanning())

    def rescanning(self) -> Generator[None, None, RootChange | None]:
        """`rescan` in small parts, between which other roots can be looked at and this one be touched."""
        yield from self._kept.rescanning()
        self._look_outside()
        self._due.update(dict.fromkeys(run for run in self._failed if run in self._claims))
        change = self._settle()
        keys = self._readers.keys()
        self._kept.forget_names({parent(key) for key in keys} | {key[:-1] for key in keys if key[-1:] == "/"})
        return change

    def due_ms(self) -> float | None:
        """In so many milliseconds a `touch` without paths is due: a claim ends, or a file was half saved."""
        now, said = self._clock(), self._now()
        # Times are compared as they are written, which may say that one is over a little later.
        waits = [max(_until_ms(until, now), 0 if until <= said else 50) for until in self._ends.values()]
        waits += [(at - time_ns()) / 1e6 for at in self._held.values()]
        return max(0.0, min(waits)) if waits else None

    def watched(self) -> Mapping[Path, bool]:
        """The folders whose changes can matter; True where changes of all that is below them do."""
        return self._watches.of(self._known, self._outside.places)

    def ask(self, run: str, question: Callable[[EvaluationTrace], T]) -> T:
        """What a question about how a run's evaluation comes about is answered.

        It is asked of the files as they were last looked at: a file that is being written is not seen half.
        Raises UsageError when it is no run, and what `question` raises.
        """
        match = self._places.get(run, _Place()).match
        if match is None or run not in self.runs:
            raise UsageError(f"{run} is no run any more")
        steps = self._steps(match, RecordingFiles(self._kept), self._parsed(run))
        return question(steps._replace(evaluation=self.runs[run]))

    def unsaved(self, overlay: Mapping[str, str]) -> Mapping[str, Evaluation]:
        """The runs that unsaved texts (root-relative path to text) have a part in, judged on them.

        A text that is what the file holds is saved, however the editor came by it: it says as much of a file
        that it opens or reads anew as of one that is typed in.
        """
        overlay = {path: text for path, text in overlay.items() if not self._is_saved(path, text)}
        keys = {key for path in overlay for key in (path, f"{parent(path)}/")}
        runs = sorted(self._readers.of(keys) & self._claims.keys(), key=natural)
        found = {run: self._look(run, OverlayFiles(self._kept, overlay))[0].evaluation for run in runs}
        return {
            run: replace(evaluation, revision=f"{evaluation.revision}+unsaved")
            for run, evaluation in found.items()
            if evaluation
        }

    def _is_saved(self, path: str, text: str) -> bool:
        held = self._kept.read(path).text
        if not self._readers.of((path,)):
            self._kept.forget([path])
        return held == text

    # ---- one run

    def _evaluate(self, run: str, saved: Set[str] = frozenset()) -> None:
        """Judge a run anew; while a file `saved` this moment is half of itself, the run stands as it did."""
        self._due.pop(run, None)
        # Until it is judged; one whose judging raises is tried again with every rescan.
        self._failed.add(run)
        place, files, parsed = self._look(run, self._kept)
        self._failed.discard(run)
        self._depends(run, files.used)
        if self._is_torn(run, place, saved & files.used):
            self._held.setdefault(run, time_ns() + GRACE_MS * 1_000_000)
            return
        self._held.pop(run, None)
        if place.evaluation is not None and place.evaluation == self.runs.get(run):
            place = place._replace(evaluation=self.runs[run])
        self._places[run] = place
        self._warm[run] = dict(parsed)
        self._warm.move_to_end(run)
        if len(self._warm) > WARM_RUNS:
            self._warm.popitem(last=False)
        self._ends.pop(run, None)
        if place.until:
            self._ends[run] = place.until
        self._differing.add(run)
        self._told.say(run, place.evaluation.findings if place.evaluation else ())

    def _is_torn(self, run: str, now: _Place, saved: Iterable[str]) -> bool:
        before = self.runs.get(run)
        if before is None:
            return False
        known = {found.path for found in before.findings if found.code in _BROKEN}
        found = now.evaluation.findings if now.evaluation else ()
        broken = {each.path for each in found if each.code in _BROKEN} - known
        fresh = time_ns() - GRACE_MS * 1_000_000
        files = (file for path in saved if (file := self._kept.file(path)) and file.exists)
        return any(file.mtime_ns > fresh and (not file.size or file.path in broken) for file in files)

    def _look(self, run: str, below: Files) -> tuple[_Place, RecordingFiles, Parsed]:
        files, parsed = RecordingFiles(below), self._parsed(run)
        judged = judge(run, self._claims[run], self._known, RunReader(files, parsed), self._config)
        if judged.match is None:
            return _Place(judged.named), files, parsed
        evaluation = self._steps(judged.match, files, parsed).evaluation
        until = min((claim.until for claim in evaluation.claims), default="")
        return _Place(judged.named, judged.match, evaluation, until), files, parsed

    def _steps(self, match: Match, files: RecordingFiles, parsed: Parsed) -> EvaluationTrace:
        return evaluate_match(match, read_match(match, files, self._around(files), parsed))

    def _parsed(self, run: str) -> Parsed:
        return Carried(self._warm.get(run, {}))

    def _around(self, files: RecordingFiles) -> RunEnvironment:
        key, committed = self._outside.key_for(files), self._outside.committed_for(files)
        return RunEnvironment(self.root, self._config, self._now(), key, committed)

    def _now(self) -> str:
        return self._clock().isoformat()

    def _depends(self, reader: str, keys: set[str]) -> None:
        self._kept.forget(self._readers.set(reader, keys))

    # ---- the root itself

    def _read_library(self) -> None:
        """The definitions, and what has to be judged anew because some are others now."""
        files = RecordingFiles(self._kept)
        self._library = DefinitionLibrary.of(files)
        self._depends(_LIBRARY, files.used)
        before, self._definitions = self._definitions, self._library.states()
        self._known = DefinitionSet(self._library.definitions())
        now = self._definitions
        names = {name for name in {**before, **now} if before.get(name) != now.get(name)}
        for run, place in self._places.items():
            if names.intersection((*self._claims[run], *place.named)):
                self._due[run] = None

    def _read_config(self) -> None:
        """The configuration, and what has to be judged anew because it says other things now."""
        files = RecordingFiles(self._kept)
        before, self._config = self._config, read_config(files.read(CONFIG_PATH).text or "")
        folders, problems = project_folders(files, self._config.projects)
        self._projects = tuple(self.root / folder for folder in folders)
        self._depends(_CONFIG, files.used)
        self._told.say(_CONFIG, (finding(problem, CONFIG_PATH) for problem in problems))
        now = self._config
        for run, place in self._places.items():
            name = place.match.workflow.name if place.match else ""
            other = before.workflows != now.workflows and assigned(run, before) != assigned(run, now)
            if other or (name and _settings(before, name) != _settings(now, name)):
                self._due[run] = None

    def _find_all(self) -> None:
        """The folders that may be runs."""
        files = RecordingFiles(self._kept)
        found = candidates(self._known, files)
        self._depends(_PLACES, _listed(files.used))
        for run in [run for run in self._claims if run not in found]:
            self._claim(run, ())
        for run in sorted(found, key=natural):
            self._claim(run, tuple(found[run]))

    def _find_at(self, folders: Iterable[str]) -> None:
        """The folders that may be runs, where folders came or went."""
        files = RecordingFiles(self._kept)
        for folder in folders:
            found = claims_at(folder, self._known, files)
            gone = [run for run in self._inside(folder) if run not in found]
            for run in gone:
                self._claim(run, ())
            for run, names in found.items():
                self._claim(run, tuple(names))
        self._depends(_PLACES, {*_listed(files.used), *self._readers.keys_of(_PLACES)})

    def _inside(self, folder: str) -> list[str]:
        deep = (
            [run for run in self._claims if run.startswith(f"{folder}/")]
            if self._known.lead_below(folder)
            else []
        )
        return [folder, *deep] if folder in self._claims else deep

    def _claim(self, run: str, names: tuple[str, ...]) -> None:
        """By these definitions a folder may be a run."""
        if self._claims.get(run, ()) == names:
            return
        if names:
            self._claims[run] = names
            self._due[run] = None
            return
        del self._claims[run]
        for known in (self._places, self._due, self._ends, self._held, self._warm):
            known.pop(run, None)
        self._failed.discard(run)
        self._depends(run, set())
        self._told.say(run, ())
        self._differing.add(run)

    def _tell_of_definitions(self) -> None:
        """What is wrong with the configuration and the definitions."""
        self._told.say(_LIBRARY, (*root_findings(self._config, self._library), *self._library.checked()))

    def _tell_of_places(self) -> None:
        """Which folders cannot be looked through for runs."""
        shut = self._kept.unlisted.items()
        used = set(self._readers.keys_of(_PLACES)) if shut else set()
        self._told.say(_PLACES, (finding(each, folder) for folder, each in shut if f"{folder}/" in used))

    # ---- what is no file of the root

    def _places_of(self, path: Path) -> tuple[str, ...]:
        """The path from the root, under which the files know it; nothing for a path elsewhere."""
        for root in (self._kept.root, str(self.root)):
            full = str(path)
            if full == root or root.startswith(full.rstrip(os.sep) + os.sep):
                return ("",)
            prefix = root.rstrip(os.sep) + os.sep
            if full.startswith(prefix):
                return (full[len(prefix) :].replace(os.sep, "/"),)
        return ()

    def _look_outside(self) -> None:
        """Note whether the commit HEAD or the key are others now, and for which runs a time has come."""
        self._kept.changed |= self._outside.changed()
        now, now_ns = self._now(), time_ns()
        self._due.update(dict.fromkeys(run for run, until in self._ends.items() if until <= now))
        self._due.update(dict.fromkeys(run for run, at in self._held.items() if at <= now_ns))

    # ---- what differs

    def _settle(self, grace: bool = False) -> RootChange | None:
        """Judge anew what depends on what changed, until nothing more does, and say what differs."""
        if not self._is_scanned:
            return None
        read = set[str]()
        for _ in range(_ROUNDS):
            changed, moved = self._kept.take()
            read |= changed
            self._note(changed, moved)
            if not self._due:
                break
            for run in list(self._due):
                self._evaluate(run, changed if grace else set())
        return self._change(read)

    def _note(self, keys: set[str], moved: set[str]) -> None:
        readers = self._readers.of(keys)
        if _LIBRARY in readers:
            self._read_library()
            self._find_all()
        if _CONFIG in readers:
            self._read_config()
        if moved:
            self._find_at(moved)
            self._watches.forget(moved)
        if not self.version or not readers.isdisjoint((_LIBRARY, _CONFIG)):
            self._tell_of_definitions()
        if not self.version or not readers.isdisjoint((_LIBRARY, _PLACES)):
            self._tell_of_places()
        self._due.update(dict.fromkeys(run for run in readers if run in self._claims))

    def _change(self, read: Iterable[str]) -> RootChange | None:
        changed: dict[str, Evaluation] = {}
        removed: list[str] = []
        for run in sorted(self._differing, key=natural):
            evaluation = self._places.get(run, _Place()).evaluation
            if evaluation is None:
                removed += [run] if run in self.runs else []
            elif evaluation != self.runs.get(run):
                changed[run] = evaluation
        self._differing = set()
        findings = {
            path: said for path, said in self._told.differing().items() if said != self.findings.get(path, ())
        }
        if not (changed or removed or findings or self._projects != self.projects):
            return None
        self.version += 1
        self.projects = self._projects
        self.runs = merge_in_order(self.runs, changed, removed, natural)
        told = {path: said for path, said in findings.items() if said}
        self.findings = merge_in_order(self.findings, told, findings.keys() - told.keys(), str)
        texts = {path: text for path in read if (text := self._kept.text(path)) is not None}
        return RootChange(self.root, self.version, changed, tuple(removed), findings, texts)


def _whole(parts: Generator[None, None, RootChange | None]) -> RootChange | None:
    """What a look in parts comes to, all of it done."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            return end.value


def _listed(used: Iterable[str]) -> set[str]:
    """The folders whose names were looked through or looked up. A name that comes or goes is told apart."""
    return {key if key.endswith("/") else f"{parent(key)}/" for key in used}


def _settings(config: Config, workflow: str) -> object:
    """The parameters of a workflow, and where they stand."""
    places = {place: span for place, span in config.places.items() if place[0] == workflow}
    return dict(config.of(workflow)), places


def _until_ms(until: str, now: datetime) -> float:
    """How long it is until a moment; a day, where nobody can say."""
    try:
        left = datetime.fromisoformat(until) - now
    except (ValueError, TypeError):
        return 86_400_000.0
    return left.total_seconds() * 1000
