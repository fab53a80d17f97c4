"""A root that was kept current through any changes stands as one that is looked at for the first time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.server.live.changes import Change, changes
from tests.server.live.followed_root import FAULTS, CachedRoot, FollowedRoot, PackedRoot

# These are few, and can be shrunk; tests/soak/changes.py makes many.
EXAMPLES = int(os.environ.get("LIVE_EXAMPLES", "2"))
STEPS = int(os.environ.get("LIVE_STEPS", "15"))


_Root = TypeVar("_Root", bound=FollowedRoot)
_Packed = TypeVar("_Packed", bound=PackedRoot)


class Followed(RuleBasedStateMachine, Generic[_Root]):
    """Changes, told or not, and a look after each."""

    told = True

    def __init__(self, root_type: Callable[[], _Root]) -> None:
        super().__init__()
        self.root = root_type()
        self.behind = False

    @rule(change=changes())
    def change(self, change: Change) -> None:
        paths = self.root.change(change)
        if self.told:
            self.root.tell(paths)
        else:
            self.behind = True

    @precondition(lambda self: not self.told)
    @rule()
    def look(self) -> None:
        self.root.look()
        self.behind = False

    @invariant()
    def stands_as_at_first_sight(self) -> None:
        if not self.behind:
            self.root.assert_as_at_first_sight()

    def teardown(self) -> None:
        self.root.close()


class Told(Followed[FollowedRoot]):
    def __init__(self) -> None:
        super().__init__(FollowedRoot)


class Untold(Told):
    told = False


class Held(Told):
    """What may be half saved is told when its grace is over, at the latest."""

    @rule(change=changes())
    def change(self, change: Change) -> None:
        self.root.tell(self.root.change(change), grace=True)
        self.behind = True

    @rule()
    def rest(self) -> None:
        self.root.rest()
        self.behind = False


class Packed(Followed[_Packed]):
    """Runs are packed time and again, and stand as before."""

    told = False

    @rule(whole=st.integers(0, 2))
    def pack(self, whole: int) -> None:
        self.root.pack(whole)
        event(f"{len(self.root.live.cached_runs)} runs are packed")


class PackedUntold(Packed[PackedRoot]):
    def __init__(self) -> None:
        super().__init__(PackedRoot)


class Cached(Packed[CachedRoot]):
    """The server ends and begins again, with a cache on disk or without; no change meanwhile is told."""

    told = True

    def __init__(self) -> None:
        super().__init__(CachedRoot)

    @rule(
        meanwhile=st.lists(changes(), max_size=2),
        is_cached=st.sampled_from((True, True, True, False)),
        is_sampled=st.booleans(),
    )
    def restart(self, meanwhile: list[Change], is_cached: bool, is_sampled: bool) -> None:
        self.root.restart(meanwhile, is_cached, is_sampled)
        event(f"{len(self.root.live.cached_runs)} runs stand as in the cache")

    @rule()
    def save(self) -> None:
        self.root.save()

    @rule(where=st.floats(0, 1), how=st.sampled_from(FAULTS))
    def spoil(self, where: float, how: str) -> None:
        self.root.spoil(where, how)


_SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)
TestTold = Told.TestCase
TestTold.settings = _SETTINGS
TestHeld = Held.TestCase
TestHeld.settings = _SETTINGS
TestPacked = PackedUntold.TestCase
TestPacked.settings = _SETTINGS
TestCached = Cached.TestCase
TestCached.settings = _SETTINGS
TestUntold = Untold.TestCase
TestUntold.settings = _SETTINGS
