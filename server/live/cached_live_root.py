"""A live root whose runs are kept on disk across starts, and packed where they were not judged lately.

The form is the same (`server/cache`), and so is what vouches for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Set
from itertools import count
from typing import Any

from ...orchestration.vfs.files import digest_of
from ..cache.cache_file import CacheFault
from ..cache.read_sets import NotSettled, NotVouchedFor
from ..cache.value_codec import NotEncodable
from ..memory import freezing_parts
from ..workspace.run_reader import WARM_RUNS
from .boards import Progress, RootChange
from .live_root import LiveRoot, Refresh

SAMPLE_RUNS = 16
"""So many runs of the cache on disk are judged at each start."""
_RESTORED_IN_A_PART = 256
WHOLE_RUNS = WARM_RUNS
"""So many runs are kept with all that was read of them, those that were judged last."""
_PACKED_AT_ONCE = 512
"""After so many of a first look names of folders are forgotten, which costs a look at all that is known."""


class CachedLiveRoot(LiveRoot):
    """A live root that takes from its cache what did not change since, and writes it. Used by one thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._whole: dict[str, None] = {}
        """The runs that were judged and not packed since, that which was judged last at the end."""
        self._unsettled: dict[str, None] = {}
        """Those that are to be packed once it shows that their files did not change again."""

    def scan_in_parts(self, progress: Progress | None = None, *, grace: bool = False) -> Refresh:
        """`LiveRoot.scan_in_parts`; garbage is looked for among what it made last, and runs are packed as it
        goes: what they leave free is used for the next ones."""
        return freezing_parts(self._packing_parts(super().scan_in_parts(progress, grace=grace)))

    def _packing_parts(self, parts: Refresh) -> Refresh:
        for number in count(1):
            try:
                next(parts)
            except StopIteration as end:
                self.pack_idle_runs()
                return end.value
            self.pack_idle_runs()
            if number % _PACKED_AT_ONCE == 0:
                self.forget_names()
            yield

    def _evaluate(self, run: str) -> None:
        super()._evaluate(run)
        self._unsettled.pop(run, None)
        self._whole.pop(run, None)
        self._whole[run] = None

    def pack_idle_runs(self) -> None:
        """Pack the runs that are not among the `WHOLE_RUNS` that were judged last."""
        while len(self._whole) > WHOLE_RUNS:
            run = next(iter(self._whole))
            del self._whole[run]
            self._pack(run)

    def _pack(self, run: str) -> None:
        """Keep of a run how it stands and what shows that it still does; all else is read again for it."""
        candidate, keys = self._candidates.get(run), self._dependencies.keys_of(run)
        if candidate is None or run in self._due or run in self._failed or self._holds.concern(set(keys)):
            # Who is due is judged, and comes here again.
            return
        try:
            outside = self._cached.pack(run, candidate, keys)
        except NotSettled:
            self._unsettled[run] = None
        except (NotVouchedFor, NotEncodable):
            return
        else:
            self._depend(run, set(outside))
            self._examiner.parsed.drop(run)

    def _restore(self) -> Iterator[None]:
        """Take the runs from the cache on disk that stand as it has them. Some are judged all the same: one
        that stands otherwise shows that none of them can be trusted."""
        now, runs = self._deadlines.now(), list[str]()
        restoring = self._cached.restore(self._candidates, self._known, self._cache_key(), now)
        for number, restored in enumerate(restoring):
            if restored is not None:
                runs.append(restored.run)
                self._due.pop(restored.run, None)
                self._depend(restored.run, set(restored.keys))
                self._take(restored.run, restored.candidate, restored.until)
            if number % _RESTORED_IN_A_PART == 0:
                yield
        for run in random.sample(runs, min(SAMPLE_RUNS, len(runs))):
            if run in self._cached and not self._is_as_cached(run):
                self._mark_due([run, *self._cached.throw_away()])
                return
            yield

    def _is_as_cached(self, run: str) -> bool:
        """Judge a run of the cache; True if it stands as it was, or if its files differ by now."""
        before, had_changes = self._candidates[run], self._cached.has_changes
        may_differ = bool(self._cached.differing_runs([run]))
        self._evaluate(run)
        if may_differ or run in self._due:
            return True
        is_same = before.equals(self._candidates[run])
        if is_same:
            self._cached.confirm(run, had_changes)
        return is_same

    def _cache_key(self) -> str:
        """What tells apart what the definitions and the configuration of the root say."""
        library = self._library
        return digest_of(repr((library.own, library.unread, self._config)))

    @property
    def cached_runs(self) -> Set[str]:
        """The runs that stand as their rows have them, of the cache on disk or packed, and are not judged."""
        return frozenset(self._cached)

    @property
    def cache_faults(self) -> Mapping[CacheFault, int]:
        """How often the cache on disk was not used, by reason."""
        return self._cached.faults

    @property
    def has_unsaved_runs(self) -> bool:
        """True if the cache on disk may lack runs, or have some as they were."""
        return self._cached.has_changes

    def save_in_parts(self) -> Iterator[RootChange | None]:
        """Write the cache on disk; other refreshes may come between the parts. Raises OSError.

        What was saved right before it was read is read again for it: what differs then is a change.
        """
        self._files.has_grace = True
        for run in list(self._candidates):
            if unsettled := self._cached.unsettled_files(self._dependencies.keys_of(run)):
                self._files.recheck(unsettled)
                yield self._recompute()
                self._files.has_grace = True
        unsettled, self._unsettled = self._unsettled, {}
        for run in unsettled:
            self._pack(run)
            yield None
        held = self._holds.dependants()

        def is_ready(run: str) -> bool:
            return run not in self._due and run not in self._failed and run not in held

        keys_of, now = self._dependencies.keys_of, self._deadlines.now()
        for _ in self._cached.save_in_parts(self._candidates, is_ready, keys_of, self._cache_key, now):
            yield None
            held = self._holds.dependants()
