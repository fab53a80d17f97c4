"""Which evaluation read what, and who reports which findings, so that a change costs what depends on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from ...orchestration.findings import Finding, Severity

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

    def take_changed(self) -> dict[str, tuple[Finding, ...]]:
        """Path -> its findings by position, () for none.

        Of the paths whose findings may differ since the last call, in order.
        """
        paths, self._changed = self._changed, set()
        changed: dict[str, tuple[Finding, ...]] = {}
        for path in sorted(paths):
            reporters = {name: findings for name, findings in self._by_path.pop(path).items() if findings}
            if reporters:
                self._by_path[path] = reporters
            changed[path] = tuple(sorted(set(chain(*reporters.values())), key=_position))
        return changed


def _position(finding: Finding) -> tuple[object, ...]:
    """A total order: by place, then the worst first."""
    place = finding.span or (0, 0, 0, 0)
    return place, _ORDER[finding.severity], finding.code, finding.message, repr(finding)
