"""The checks of a root as they stand now: what would run, on which bytes, who trusts it, what came last."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...orchestration.evidence.attestation import Attestation
from ...orchestration.evidence.check_state import CheckState, PresentInputs, check_state
from ...orchestration.evidence.checks import Check
from ..disk.decision_keys import load_repository_key, place_of
from ..disk.git import actor
from ..process_end import process_end_probe
from ..store.folder import StoreError, read_file
from ..store.lock import timestamp
from .evidence_store import EVIDENCE, attestation_path, parse_result, read_manifest
from .input_table import InputTable
from .inputs import (
    InputsUnknown,
    Manifest,
    RunPapers,
    WatchedManifest,
    changed_paths,
    input_paths,
    manifest_of,
)
from .trust import WORKSPACE_CODE, CheckDefinition, TrustStore, define


def root_name(root: Path) -> str:
    """The place of a root in its repository, as results name it; "" for the repository itself."""
    place = place_of(root)
    return root.resolve().relative_to(place).as_posix() if root.resolve() != place else ""


def running_path(check: str) -> str:
    return f"{EVIDENCE}/{check}.running"


def is_running(root: Path, check: str) -> bool:
    """True while the process that noted that it runs a check is there."""
    try:
        raw = read_file(root, running_path(check))[0]
        pid = json.loads(raw or b"{}").get("pid")
        probe = process_end_probe(pid) if isinstance(pid, int) else None
    except (StoreError, ValueError, AttributeError, RecursionError):
        return False
    return probe is not None and not probe()


class PresentCheck(NamedTuple):
    """A check as it is on the disk. `manifest` is None where its inputs cannot be told."""

    definition: CheckDefinition
    paths: Collection[str]
    manifest: Manifest | None
    last: Attestation | None
    state: CheckState

    @property
    def check(self) -> Check:
        return self.definition.check


class PresentChecks:
    """The checks of one root. What was read of a file is kept: the same is not read again."""

    def __init__(self, root: Path | str, table: InputTable | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self.table = table or InputTable(self.root)
        self.trust = TrustStore(self.root)
        self.name = root_name(self.root)
        self._results: dict[str, tuple[Attestation | None, str]] = {}

    def forget_results(self) -> None:
        """Something was kept since: results are read again."""
        self._results.clear()

    def paths(self, checks: Mapping[str, Check], places: Iterable[str], name: str) -> tuple[str, ...]:
        """The inputs of a check, as `look` has them. Raises InputsUnknown."""
        reports = [path for each in checks.values() for path in each.reports.values()]
        return input_paths(checks[name], self.table, RunPapers(places), reports)

    def look(
        self,
        checks: Mapping[str, Check],
        places: Iterable[str],
        name: str,
        watched: WatchedManifest | None = None,
    ) -> PresentCheck:
        """A check of those that are declared; `places` are the `at:` of the root's workflows.

        `watched` has its inputs where their changes are told.
        """
        check = checks[name]
        definition, problem, manifest = define(check, self.table), "", None
        paths: Collection[str] = watched.paths if watched else ()
        try:
            paths = paths or self.paths(checks, places, name)
            manifest = watched.manifest() if watched else manifest_of([*paths], self.table)
        except InputsUnknown as why:
            problem = str(why)
        if name not in self._results:
            self._results[name] = self._last(check)
        last, why_none = self._results[name]
        subject = manifest.subject if manifest else ""
        changed: tuple[str, ...] = ()
        if last and manifest and subject != last.subject:
            kept = partial(read_manifest, self.root, name)
            changed = (
                watched.changes_since(last.subject, kept) if watched else changed_paths(kept(), manifest.text)
            )
        present = PresentInputs(
            definition.digest,
            subject,
            self.trust.allows(definition.digest, name),
            is_running(self.root, name),
            problem,
            changed,
            self.trust.allowed_at(name),
        )
        state = check_state(check, present, last, attestation_path(name), why_none)
        return PresentCheck(definition, paths, manifest, last, state)

    def _last(self, check: Check) -> tuple[Attestation | None, str]:
        path = attestation_path(check.name)
        try:
            raw = read_file(self.root, path)[0]
        except StoreError as error:
            return None, str(error)
        if raw is None:
            return None, ""
        secret = load_repository_key(self.root).secret
        return parse_result(check.name, self.name, raw.decode("utf-8", "replace"), secret)


# ---- what waits for a person ------------------------------------------------------------------


class TrustQuestion(NamedTuple):
    """A check that waits for a person: the `lines` to read, and the definition that is then allowed."""

    root: Path
    shown: CheckDefinition
    lines: tuple[str, ...]

    @property
    def check(self) -> str:
        return self.shown.check.name

    @property
    def definition(self) -> str:
        return self.shown.digest

    @property
    def command(self) -> str:
        """What a person types instead of answering a dialog."""
        return f"phasekeeper trust {self.check}"


def open_questions(
    root: Path, checks: Mapping[str, Check], places: Iterable[str], names: Iterable[str]
) -> list[TrustQuestion]:
    """A question for each of the named checks that may not run as it is, or has become less."""
    looks, at = PresentChecks(root), tuple(places)
    present = (looks.look(checks, at, name) for name in names if name in checks)
    return [
        TrustQuestion(looks.root, each.definition, tuple(_question_lines(each, looks)))
        for each in present
        if not _is_allowed(each, looks) or each.state.shrinkage
    ]


def allow(question: TrustQuestion) -> None:
    """Keep that a person allowed what was shown, whatever was saved meanwhile. Raises TrustError."""
    store = PresentChecks(question.root).trust
    store.allow(question.shown, actor(question.root), timestamp(datetime.now(UTC)))


def _is_allowed(each: PresentCheck, looks: PresentChecks) -> bool:
    return looks.trust.allows(each.definition.digest, each.check.name)


def _question_lines(each: PresentCheck, looks: PresentChecks) -> Iterator[str]:
    yield f"The check {each.check.name} of {looks.root}"
    if not _is_allowed(each, looks):
        yield from (f"  {line}" for line in looks.trust.difference(each.definition))
        yield f"  {WORKSPACE_CODE}"
    for less in each.state.shrinkage:
        yield f"  {less.now:g} {less.what}; it was {less.before:g}. Allowing it accepts that, too."
