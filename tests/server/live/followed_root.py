"""A root on disk, the live root that follows its changes, and what a subscriber would know of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import fields
from itertools import permutations
from pathlib import Path

import pytest
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.cache import read_sets
from phasekeeper.server.cache.cache_file import CacheFault
from phasekeeper.server.disk import file_cache, large_folders
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.live import cached_live_root
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.roots import project_folders
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import run_to_end
from tests.server.live.changes import BEGINNING, Change, Changes
from tests.server.live.ticks import Ticks

FAULTS = ("drop", "cut", "flip", "swap", "clock")
"""What becomes of a cache on disk: gone, cut short, a bit turned, writable by others, from the future."""


class FollowedRoot:
    """The examples in a folder of their own, changed at will; changes are told, or seen by a whole look."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        self.patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        self.patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        root = Path(folder).resolve() / "root"
        root.mkdir()
        self.changes = Changes(root)
        self.ms = 0.0
        self.begin()

    def begin(self, cache: Path | None = None) -> None:
        """The server begins, with a cache on disk or without."""
        self.live = CachedLiveRoot(self.changes.root, self.changes.clock, lambda: self.ms, cache)
        run_to_end(self.live.scan_in_parts())
        self.published, self.findings = dict(self.live.runs), dict(self.live.findings)
        self.projects = self.live.projects

    def change(self, change: Change) -> list[Path]:
        """Make a change; the paths that a watcher names."""
        name, arguments = change
        return getattr(self.changes, name)(*arguments)

    def tell(self, paths: Iterable[Path], grace: bool = False) -> None:
        """Tell the live root which paths changed; with `grace`, what may be half saved is held a while."""
        self.follow(self.live.refresh_paths(list(paths), grace=grace))

    def look(self) -> None:
        """Look at everything without a hint."""
        self.follow(run_to_end(self.live.refresh_all_in_parts()))

    def ask(self, run: str | None) -> None:
        """Look again before a question about a run or all of them, as one does who heard of all changes."""
        self.follow(self.live.look_again(run, heard_all=True))

    def rest(self) -> None:
        """Let the grace of all that is held end."""
        # What is read for the first time because a grace is over may be held itself.
        for _ in range(5):
            self.ms += GRACE_MS
            self.tell((), grace=True)
        assert not self.live.held_runs()

    def follow(self, change) -> None:
        """Keep what a subscriber would know from the changes alone."""
        if change is None:
            return
        self.published |= change.changed
        for run in change.removed:
            del self.published[run]
        self.projects = self.live.projects
        self.findings = {p: f for p, f in (self.findings | dict(change.findings)).items() if f}

    def assert_as_at_first_sight(self) -> None:
        """Compare with a first look at the files. Raises AssertionError where they differ."""
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

    def close(self) -> None:
        self.stack.close()


class PackedRoot(FollowedRoot):
    """A root whose runs can be packed.

    A clock of ticks stands in for the time after which signs are trusted: what is saved in a later tick of
    the system's clock has other times.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = Ticks(self.changes.root.parent / "ticks")
        self.patch.setattr(large_folders, "LARGE_FOLDER", 2)
        for module in (file_cache, read_sets):
            self.patch.setattr(module, "SETTLED_NS", 0)
            self.patch.setattr(module, "time_ns", self.clock.now_ns)

    def pack(self, whole: int) -> None:
        """Pack all runs but so many."""
        self.clock.wait()
        self.patch.setattr(cached_live_root, "WHOLE_RUNS", whole)
        self.live.pack_idle_runs()


class CachedRoot(PackedRoot):
    """A root whose server ends and begins again, with a cache on disk or without."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = self.changes.root.parent / "cache/evaluations"
        self.cache.parent.mkdir(mode=0o700)
        self.restart([], True, False)
        self.save()
        self.restart([], True, False)

    def restart(self, meanwhile: Iterable[Change], is_cached: bool, is_sampled: bool) -> None:
        """End the server, make changes of which it is told nothing, and begin it again."""
        # All of so few runs would be judged otherwise.
        self.patch.setattr(cached_live_root, "SAMPLE_RUNS", 16 if is_sampled else 0)
        for change in meanwhile:
            self.change(change)
        self.begin(self.cache if is_cached else None)
        assert CacheFault.DIFFERENT not in self.live.cache_faults

    def save(self) -> None:
        """Save the cache."""
        self.clock.wait()
        for change in self.live.save_in_parts():
            self.follow(change)

    def spoil(self, where: float, how: str) -> None:
        """Do something to the files of the cache, `where` from their beginning (0) to their end (1)."""
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
