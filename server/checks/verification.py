"""Running checks: those that are trusted and not fresh, side by side where no input is shared.

Each runs under a lock of its own, in a child process; its inputs are looked at before and after, and what
came of it is kept as a signed result, whatever it was.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...orchestration.evidence.attestation import HEAD, PERSON, Attestation, PassedResult
from ...orchestration.evidence.check_state import CheckState, shrinkage
from ...orchestration.evidence.checks import Check
from ...orchestration.evidence.thresholds import FILES, Threshold, tool_thresholds
from ..disk.decision_keys import make_repository_key
from ..disk.disk_files import DiskFiles
from ..disk.git import actor
from ..store.folder import StoreError, as_store_error, open_folder
from ..store.lock import timestamp
from ..version import VERSION
from .evidence_store import EVIDENCE, write_log, write_result
from .input_table import InputTable
from .inputs import InputsUnknown, changed_paths, manifest_of
from .present import PresentCheck, PresentChecks, running_path
from .reports import CheckReports, read_reports, report_states
from .runner import STOPPED, ProgramResult, run_program
from .trust import CheckDefinition, define

_LOCK_S = 0.5
"""So long somebody who was told to stop may go on waiting for a check that others run."""
MOST_AT_ONCE = max(os.cpu_count() or 1, 1)
_MOST_CHANGED = 20
"""So many inputs that changed during a run are named in its result."""


class CheckOutcome(NamedTuple):
    """What `verify` has to say of a check: its state now, and whether it `ran` for that."""

    check: str
    state: CheckState
    ran: bool
    log: bytes = b""


@dataclass(frozen=True)
class Listener:
    """Who hears of the progress: what begins, what it prints, what came of it. Called on several threads."""

    begins: Callable[[str], None] = lambda check: None
    prints: Callable[[str, bytes], None] = lambda check, chunk: None
    ends: Callable[[CheckOutcome], None] = lambda outcome: None


@dataclass
class Verification:
    """One call: the checks of a root and how they are run.

    `is_committed` tells of a definition that the commit HEAD holds it, which then stands in for a person's
    trust; None where only a person's counts. `stop` ends all that runs.
    """

    root: Path
    checks: Mapping[str, Check]
    places: Sequence[str]
    is_committed: Callable[[CheckDefinition], bool] | None = None
    listener: Listener = Listener()
    stop: threading.Event = field(default_factory=threading.Event)

    def verify(self, names: Iterable[str], *, again: bool = False) -> list[CheckOutcome]:
        """Run those of the named checks that are not fresh, or all of them `again`, in their order.

        Raises StoreError where nothing can be kept, and what ends this process; then nothing runs any more.
        """
        looks = PresentChecks(self.root)
        present = {name: looks.look(self.checks, self.places, name) for name in names}
        outcomes: dict[str, CheckOutcome] = {}
        due: list[PresentCheck] = []
        for name, each in present.items():
            if self._is_allowed(each, looks) and (again or not _is_known(each)):
                due.append(each)
                continue
            outcomes[name] = CheckOutcome(name, each.state, False)
            self.listener.ends(outcomes[name])
        if due:
            outcomes |= {each.check: each for each in self._run_all(due, again=again)}
        return [outcomes[name] for name in present]

    def _run_all(self, due: Sequence[PresentCheck], *, again: bool) -> Iterator[CheckOutcome]:
        """Run checks, each as soon as nothing runs that shares an input with it or writes one."""
        waiting, running = list(due), dict[Future[CheckOutcome], PresentCheck]()
        with ThreadPoolExecutor(MOST_AT_ONCE, "check") as pool:
            try:
                while waiting or running:
                    while waiting and self.stop.is_set():
                        each = waiting.pop()
                        yield CheckOutcome(each.check.name, each.state, False)
                    for each in list(waiting):
                        busy = len(running) >= MOST_AT_ONCE
                        if busy or any(overlap(each, other) for other in running.values()):
                            continue
                        waiting.remove(each)
                        running[pool.submit(self._run_locked, each, again)] = each
                    # With a limit, so that a signal is heard on every system.
                    done, _ = wait(running, 0.5, FIRST_COMPLETED)
                    for future in done:
                        del running[future]
                        yield future.result()
            except BaseException:
                self.stop.set()
                raise

    def _run_locked(self, each: PresentCheck, again: bool) -> CheckOutcome:
        name = each.check.name
        with _lock(self.root, name, self.stop) as is_held:
            if not is_held:
                return CheckOutcome(name, each.state, False)
            # Whoever had the lock may have run it.
            looks = PresentChecks(self.root)
            now = looks.look(self.checks, self.places, name)
            is_known = _is_known(now) and not again
            log = None if is_known or not self._is_allowed(now, looks) else self._run(now, looks)
        # Once it is not running any more.
        state = now.state if log is None else looks.look(self.checks, self.places, name).state
        outcome = CheckOutcome(name, state, log is not None, log or b"")
        self.listener.ends(outcome)
        return outcome

    def _is_allowed(self, each: PresentCheck, looks: PresentChecks) -> bool:
        if looks.trust.allows(each.definition.digest, each.check.name):
            return True
        return self.is_committed is not None and self.is_committed(each.definition)

    def _run(self, now: PresentCheck, looks: PresentChecks) -> bytes:
        """Run a check that is allowed, and keep its result; what it printed."""
        check, name, root = now.check, now.check.name, looks.root
        key = make_repository_key(root)
        if key.secret is None:
            raise StoreError(f"no result can be signed: {key.reason}")
        self.listener.begins(name)
        before, started = report_states(root, check.reports), timestamp(datetime.now(UTC))
        texts = _configuration_texts(now, root)
        _make_report_folders(root, check)
        environment = {**os.environ, "PHASEKEEPER_CHECK": name}
        program = run_program(
            check.run,
            root,
            check.timeout_s,
            environment,
            lambda chunk: self.listener.prints(name, chunk),
            self.stop,
        )
        reports = read_reports(root, check.reports, before)
        looks.table.forget_files()
        changed, problem = _changes(now, looks.table, lambda: looks.paths(self.checks, self.places, name))
        thresholds = tool_thresholds(check.run, texts)
        result = _result(now, program, reports, changed, problem, started, looks.name, thresholds)
        trust = PERSON if looks.trust.allows(now.definition.digest, name) else HEAD
        result = _with_author(result, root, trust, looks.trust.allowed_at(name))
        manifest = now.manifest.text if now.manifest else b""
        write_log(root, name, program.log)
        write_result(root, result, manifest, key.secret)
        looks.forget_results()
        return program.log


def _is_known(each: PresentCheck) -> bool:
    """True if a result says how the files are; one of a run that was stopped does not."""
    return each.state.is_fresh and not (each.last and each.last.problem == STOPPED)


def overlap(one: PresentCheck, other: PresentCheck) -> bool:
    """True if two checks share an input, or one writes a report that the other reads."""
    mine, theirs = {*one.paths, *one.check.reports.values()}, {*other.paths, *other.check.reports.values()}
    return not mine.isdisjoint(theirs)


def is_in_head(
    definition: CheckDefinition, checks: Mapping[str, Check], committed: Callable[[str], bytes | None]
) -> bool:
    """True if the commit HEAD declares a check so (`checks`), and has its definition files as they are."""
    if checks.get(definition.check.name) != definition.check:
        return False
    contents = {path: committed(path) for path in definition.files}
    return all(
        content is not None and sha256(content).hexdigest() == definition.files[path]
        for path, content in contents.items()
    )


@contextmanager
def _lock(root: Path, check: str, stop: threading.Event) -> Iterator[bool]:
    """Nobody else runs this check meanwhile; a note says who does. False if `stop` was set before that."""
    import filelock  # late: those who only read need none

    note = running_path(check)
    with as_store_error(EVIDENCE), open_folder(root, EVIDENCE, create=True) as folder:
        path = folder.full / f"{check}.lock"
    with as_store_error(f"{EVIDENCE}/{check}.lock"):
        lock = filelock.FileLock(path)
        while not lock.is_locked and not stop.is_set():
            with suppress(filelock.Timeout):
                lock.acquire(timeout=_LOCK_S)
    if not lock.is_locked:
        yield False
        return
    try:
        _note(root, note, json.dumps({"pid": os.getpid()}).encode())
        yield True
    finally:
        with suppress(OSError, StoreError):
            _note(root, note, None)
        lock.release()


def _note(root: Path, path: str, content: bytes | None) -> None:
    folder_path, _, name = path.rpartition("/")
    with as_store_error(path), open_folder(root, folder_path) as folder:
        if content is None:
            folder.remove(name)
        else:
            folder.put(name, f".{name}.new", content, flush=False)


def _make_report_folders(root: Path, check: Check) -> None:
    """The folders of a check's reports, which most tools expect to be there and git does not keep.

    One that cannot be made is not missed here: then there is no report, and the result says so.
    """
    for path in check.reports.values():
        with suppress(OSError, StoreError), open_folder(root, path.rpartition("/")[0], create=True):
            pass


def _configuration_texts(now: PresentCheck, root: Path) -> dict[str, str]:
    """The files that may set a threshold: what is run, and what tools read beside it."""
    files = DiskFiles(root)
    texts = {path: files.read(path).text for path in dict.fromkeys((*now.definition.files, *FILES))}
    return {path: text for path, text in texts.items() if text}


def _changes(
    now: PresentCheck, table: InputTable, paths: Callable[[], Sequence[str]]
) -> tuple[tuple[str, ...], str]:
    """(the inputs, and files of the definition, that changed while a check ran; why they cannot be told).

    `paths` lists the inputs anew: a file that came, and that git would track, is one of them.
    """
    changed = [*_differing(now.definition.files, define(now.check, table).files)]
    if now.manifest is None:
        return tuple(changed), now.state.reason
    try:
        after = manifest_of(paths(), table)
    except InputsUnknown as why:
        return tuple(changed), str(why)
    if after.subject != now.manifest.subject:
        changed += changed_paths(now.manifest.text, after.text)
    return tuple(dict.fromkeys(changed))[:_MOST_CHANGED], ""


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    return (path for path in sorted({*before, *after}) if before.get(path) != after.get(path))


def _result(
    now: PresentCheck,
    program: ProgramResult,
    reports: CheckReports,
    changed: tuple[str, ...],
    unknown: str,
    started: str,
    root: str,
    thresholds: tuple[Threshold, ...],
) -> Attestation:
    check, last = now.check, now.last
    problem = program.problem or (reports.problem if program.code == 0 else "")
    if not problem and program.code == 0 and reports.totals.failed:
        counts = f"{reports.totals.failed} of {reports.totals.total} tests"
        problem = f"{counts} failed, although it ended with exit code 0"
    passed = program.code == 0 and not problem and not unknown
    return Attestation(
        check=check.name,
        root=root,
        passed=passed,
        subject=now.manifest.subject if now.manifest else "",
        definition=now.definition.digest,
        inputs=now.manifest.files if now.manifest else 0,
        started_at=started,
        ended_at=timestamp(datetime.now(UTC)),
        exit_code=program.code,
        problem=problem or unknown,
        changed=changed,
        reports=reports.digests,
        totals=reports.totals,
        passed_tests=reports.passed,
        failed_tests=reports.failed,
        findings=reports.findings,
        before=last_passed(last) if last else None,
        patterns=check.inputs,
        thresholds=thresholds,
        program=f"phasekeeper {VERSION}",
        command=check.run,
    )


def _with_author(result: Attestation, root: Path, trust: str, accepted_at: str) -> Attestation:
    """The result with who made it; what a person accepted since is compared with no more."""
    before = result.before
    kept = before if before and before.ended_at > accepted_at else None
    return replace(result, actor=actor(root), trust=trust, before=kept)


def last_passed(last: Attestation) -> PassedResult | None:
    """The result that a new one is compared with: the last one that passed, but none that had become less.

    Running a check twice would otherwise make what is gone the measure of what is there.
    """
    if not last.passed or last.changed or (last.before and any(shrinkage(last, last.before))):
        return last.before
    return PassedResult(last.ended_at, last.totals, last.inputs, last.patterns, last.thresholds)
