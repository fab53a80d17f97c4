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
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.roots import project_folders
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import run_to_end
from tests.server.live.changes import Changes, changes

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
        patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        root = Path(folder).resolve() / "root"
        root.mkdir()
        self.changes = Changes(root)
        self.ms = 0.0
        self.live = LiveRoot(root, self.changes.clock, lambda: self.ms)
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
TestUntold = UntoldRoot.TestCase
TestUntold.settings = _SETTINGS
