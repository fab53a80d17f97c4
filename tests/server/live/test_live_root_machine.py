"""A root that was kept current through any changes stands as one that is looked at for the first time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.cache import read_sets
from phasekeeper.server.cache.cache_file import CacheFault
from phasekeeper.server.disk import file_cache
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.live import cached_live_root
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.roots import project_folders
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import run_to_end
from tests.server.live.changes import BEGINNING, Changes, changes
from tests.server.live.ticks import Ticks

# More of them are for whoever looks for what is not known yet.
EXAMPLES = int(os.environ.get("LIVE_EXAMPLES", "5"))
STEPS = int(os.environ.get("LIVE_STEPS", "15"))


def differing(found: Mapping[str, Evaluation], cold: Mapping[str, Evaluation]) -> dict[str, object]:
    """What two looks say of the same runs, where it is not the same."""
    said = {}
    for run in found:
        for entry in fields(Evaluation):
            one, other = getattr(found[run], entry.name), getattr(cold[run], entry.name)
            if one != other and isinstance(one, Mapping):
                one, other = (
                    {key: a[key] for key in a if key not in b or a[key] != b[key]}
                    for a, b in permutations((one, other))
                )
            if one != other:
                said[f"{run}: {entry.name}"] = (one, other)
    return said


class Root(RuleBasedStateMachine):
    """Changes, told or not, and a look after each."""

    told = True

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        self.patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        self.patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        root = Path(folder).resolve() / "root"
        root.mkdir()
        self.changes = Changes(root)
        self.ms = 0.0
        self.live = CachedLiveRoot(root, self.changes.clock, lambda: self.ms)
        run_to_end(self.live.scan_in_parts())
        self.published = dict(self.live.runs)
        self.findings = dict(self.live.findings)
        self.projects = self.live.projects
        self.behind = False

    @rule(change=changes())
    def change(self, change: tuple[str, tuple[object, ...]]) -> None:
        name, arguments = change
        paths = getattr(self.changes, name)(*arguments)
        if self.told:
            self.follow(self.live.refresh_paths(paths))
        else:
            self.behind = True

    @precondition(lambda self: not self.told)
    @rule()
    def look(self) -> None:
        self.follow(run_to_end(self.live.refresh_all_in_parts()))
        self.behind = False

    def follow(self, change) -> None:
        """Keep what a subscriber would know from the changes alone."""
        if change is None:
            return
        self.published |= change.changed
        for run in change.removed:
            del self.published[run]
        self.projects = self.live.projects
        self.findings = {p: f for p, f in (self.findings | dict(change.findings)).items() if f}

    @invariant()
    def stands_as_at_first_sight(self) -> None:
        if self.behind:
            return
        workspace = Workspace(self.changes.root, clock=self.changes.clock)
        runs = {match.run: workspace.evaluate(match) for match in workspace.matches}
        assert list(self.live.runs) == list(runs)
        assert differing(self.live.runs, runs) == {}
        first = LiveRoot(self.changes.root, self.changes.clock)
        run_to_end(first.scan_in_parts())
        assert dict(self.live.findings) == dict(first.findings)
        named, _ = project_folders(workspace.files, workspace.config.projects)
        assert self.live.projects == self.projects == tuple(self.changes.root / name for name in named)
        assert {*workspace.findings} <= {each for found in first.findings.values() for each in found}
        assert self.published == runs
        assert self.findings == dict(self.live.findings)

    def teardown(self) -> None:
        self.stack.close()


class UntoldRoot(Root):
    told = False


class HeldRoot(Root):
    """What may be half saved is told when its grace is over, at the latest."""

    @rule(change=changes())
    def change(self, change: tuple[str, tuple[object, ...]]) -> None:
        name, arguments = change
        paths = getattr(self.changes, name)(*arguments)
        self.follow(self.live.refresh_paths(paths, grace=True))
        self.behind = True

    @rule()
    def rest(self) -> None:
        # What is read for the first time because a grace is over may be held itself.
        for _ in range(5):
            self.ms += GRACE_MS
            self.follow(self.live.refresh_paths(grace=True))
        assert not self.live.held_runs()
        self.behind = False


class PackedRoot(UntoldRoot):
    """Runs are packed time and again, and stand as before.

    A clock of ticks stands in for the time after which signs are trusted: what is saved in a later tick of
    the system's clock has other times.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = Ticks(self.changes.root.parent / "ticks")
        for module in (file_cache, read_sets):
            self.patch.setattr(module, "SETTLED_NS", 0)
            self.patch.setattr(module, "time_ns", self.clock.now_ns)

    @rule(whole=st.integers(0, 2))
    def pack(self, whole: int) -> None:
        self.clock.wait()
        self.patch.setattr(cached_live_root, "WHOLE_RUNS", whole)
        self.live.pack_idle_runs()
        event(f"{len(self.live.cached_runs)} runs are packed")


class CachedRoot(PackedRoot):
    """The server ends and begins again, with a cache on disk or without; no change meanwhile is told."""

    told = True

    def __init__(self) -> None:
        super().__init__()
        self.cache = self.changes.root.parent / "cache/evaluations"
        self.cache.parent.mkdir(mode=0o700)
        self.restart([], True, False)
        self.save()
        self.restart([], True, False)

    @rule(
        meanwhile=st.lists(changes(), max_size=2),
        is_cached=st.sampled_from((True, True, True, False)),
        is_sampled=st.booleans(),
    )
    def restart(
        self, meanwhile: list[tuple[str, tuple[object, ...]]], is_cached: bool, is_sampled: bool
    ) -> None:
        # All of so few runs would be judged otherwise.
        self.patch.setattr(cached_live_root, "SAMPLE_RUNS", 16 if is_sampled else 0)
        for name, arguments in meanwhile:
            getattr(self.changes, name)(*arguments)
        cache = self.cache if is_cached else None
        self.live = CachedLiveRoot(self.changes.root, self.changes.clock, lambda: self.ms, cache)
        run_to_end(self.live.scan_in_parts())
        self.published, self.findings = dict(self.live.runs), dict(self.live.findings)
        self.projects = self.live.projects
        event(f"{len(self.live.cached_runs)} runs stand as in the cache")
        assert CacheFault.DIFFERENT not in self.live.cache_faults

    @rule()
    def save(self) -> None:
        self.clock.wait()
        for change in self.live.save_in_parts():
            self.follow(change)

    @rule(where=st.floats(0, 1), how=st.sampled_from(("drop", "cut", "flip", "swap", "clock")))
    def spoil(self, where: float, how: str) -> None:
        for path in self.cache.glob("*.evaluations"):
            raw = path.read_bytes()
            at = int(where * len(raw))
            if how == "drop":
                path.unlink()
            elif how == "clock":
                # The last look was before the file was made, as it seems now.
                self.changes.now = BEGINNING
                self.restart([], True, False)
            elif how == "swap":
                path.chmod(0o622)
            else:
                flipped = bytes(byte ^ 1 for byte in raw[at : at + 1])
                path.write_bytes(raw[:at] if how == "cut" else raw[:at] + flipped + raw[at + 1 :])


_SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)
TestTold = Root.TestCase
TestTold.settings = _SETTINGS
TestHeld = HeldRoot.TestCase
TestHeld.settings = _SETTINGS
TestPacked = PackedRoot.TestCase
TestPacked.settings = _SETTINGS
TestCached = CachedRoot.TestCase
TestCached.settings = _SETTINGS
TestUntold = UntoldRoot.TestCase
TestUntold.settings = _SETTINGS
