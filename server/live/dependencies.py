"""Which evaluation read what, and who reports which findings, so that a change costs what depends on it.

Who depends on a file that may be half saved stands as before until it is whole or its grace is over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from itertools import chain

from ...orchestration.findings import Finding, Severity
from ..disk.file_cache import FileCache
from ..disk.partial_saves import MAX_HOLD_MS

HEAD_FILE = "\0head:"
"""The key of a file in the commit HEAD: behind this stands its path."""
_ORDER = {severity: number for number, severity in enumerate(Severity)}


class DependencyIndex:
    """The read sets of dependants (runs, and parts of the root), indexed both ways.

    Keys are root-relative paths, a folder's listing with a trailing "/"; a dependant is any other name.
    """

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._dependants: dict[str, tuple[str, ...]] = {}

    def replace(self, dependant: str, keys: Collection[str]) -> list[str]:
        """Record that `dependant` read exactly these keys.

        Returns the keys that nobody depends on any more, in no order; the file cache may drop them.
        Cost: linear in the old and new keys of this dependant.
        """
        before = self._keys.get(dependant, ())
        if len(before) == len(keys) and all(key in keys for key in before):
            return []
        # Nearly all keys have one dependant, and all of them can have the same tuple of it.
        index, alone = self._dependants, (dependant,)
        for key in keys:
            dependants = index.get(key, ())
            if dependant not in dependants:
                index[key] = (*dependants, dependant) if dependants else alone
        unused = []
        for key in before:
            if key not in keys:
                index[key] = tuple(each for each in index[key] if each != dependant)
                if not index[key]:
                    del index[key]
                    unused.append(key)
        self._keys[dependant] = tuple(keys)
        if not keys:
            del self._keys[dependant]
        return unused

    def dependants(self, keys: Iterable[str]) -> set[str]:
        """All that read any of the keys."""
        return {dependant for key in keys for dependant in self._dependants.get(key, ())}

    def keys_of(self, dependant: str) -> tuple[str, ...]:
        """The keys that a dependant read; () for one that is not known."""
        return self._keys.get(dependant, ())

    def keys_of_all(self, dependants: Iterable[str]) -> set[str]:
        """The keys that any of some dependants read."""
        return set(chain.from_iterable(map(self.keys_of, dependants)))

    def keys(self) -> Iterable[str]:
        """All keys that somebody depends on."""
        return self._dependants.keys()


class FindingsByPath:
    """Findings of several reporters by the path they are about; one that two report counts once."""

    def __init__(self) -> None:
        self._by_reporter: dict[str, Mapping[str, tuple[Finding, ...]]] = {}
        self._by_path: dict[str, dict[str, tuple[Finding, ...]]] = {}
        self._changed: set[str] = set()

    def replace(self, reporter: str, findings: Iterable[Finding]) -> None:
        """From now on the reporter has these findings and no others."""
        after: dict[str, tuple[Finding, ...]] = {}
        for each in findings:
            after[each.path] = (*after.get(each.path, ()), each)
        before = self._by_reporter.pop(reporter, {})
        if after:
            self._by_reporter[reporter] = after
        for path in before.keys() | after.keys():
            if before.get(path) != after.get(path):
                self._changed.add(path)
                self._by_path.setdefault(path, {})[reporter] = after.get(path, ())

    def take_changed(self, before: Mapping[str, tuple[Finding, ...]]) -> dict[str, tuple[Finding, ...]]:
        """Path -> its findings by position, () for none.

        Of the paths whose findings differ from those `before`, in order; others are known from the last call.
        """
        paths, self._changed = self._changed, set()
        changed: dict[str, tuple[Finding, ...]] = {}
        for path in sorted(paths):
            reporters = {name: findings for name, findings in self._by_path.pop(path).items() if findings}
            if reporters:
                self._by_path[path] = reporters
            reported = tuple(sorted(set(chain(*reporters.values())), key=_position))
            if reported != before.get(path, ()):
                changed[path] = reported
        return changed


def _position(finding: Finding) -> tuple[object, ...]:
    """A total order: by place, then the worst first."""
    place = finding.span or (0, 0, 0, 0)
    return place, _ORDER[finding.severity], finding.code, finding.message, repr(finding)


class Holds:
    """The dependants of held files. One stands as before while any of its files is held, so that nobody sees
    the old text of one beside the new of another; `MAX_HOLD_MS` at most, whatever is saved meanwhile.
    """

    def __init__(self, files: FileCache, dependencies: DependencyIndex, now_ms: Callable[[], float]) -> None:
        self._files, self._dependencies, self._now_ms = files, dependencies, now_ms
        self._since_ms: dict[str, float] = {}
        """When each dependant began to stand as before."""

    def dependants(self) -> Set[str]:
        """Who depends on a held file."""
        held = self._dependencies.dependants(self._files.saves.keys()) if self._files.saves.holds else set()
        now = self._now_ms()
        self._since_ms = {each: self._since_ms.get(each, now) for each in held}
        return held

    def concern(self, keys: Set[str]) -> bool:
        """True if any of these keys is about a held file."""
        return bool(self._files.saves.holds) and not keys.isdisjoint(self._files.saves.keys())

    def end_those_over(self) -> None:
        """Take in the files whose grace is over, and all of those who waited for `MAX_HOLD_MS`."""
        self._files.end_holds(self._files.saves.over())
        self.dependants()
        since = self._now_ms() - MAX_HOLD_MS
        keys = self._dependencies.keys_of_all(each for each, at in self._since_ms.items() if at <= since)
        self._files.end_holds(self._files.saves.paths_in(keys))

    def wait_ms(self) -> float:
        """Milliseconds until there is something to be taken in; infinite when nothing is held."""
        latest = min(self._since_ms.values(), default=float("inf")) + MAX_HOLD_MS - self._now_ms()
        return max(0.0, min(latest, self._files.saves.wait_ms()))
