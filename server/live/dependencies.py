"""Who looked at what, and who says what about which path: so that a change costs what depends on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...orchestration.findings import Finding, Severity

_ORDER = {severity: number for number, severity in enumerate(Severity)}


class Readers:
    """The keys that each reader looked at, and the readers of each key. Readers are names."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, ...]] = {}
        self._readers: dict[str, tuple[str, ...]] = {}

    def set(self, reader: str, keys: Collection[str]) -> list[str]:
        """From now on the reader depends on these keys. Returns the keys that have no reader any more."""
        before = self._keys.get(reader, ())
        if len(before) == len(keys) and all(key in keys for key in before):
            return []
        # Nearly all keys have one reader, and all of them can have the same tuple of it.
        known, alone = self._readers, (reader,)
        for key in keys:
            readers = known.get(key, ())
            if reader not in readers:
                known[key] = (*readers, reader) if readers else alone
        lost = []
        for key in before:
            if key not in keys:
                known[key] = tuple(each for each in known[key] if each != reader)
                if not known[key]:
                    del known[key]
                    lost.append(key)
        self._keys[reader] = tuple(keys)
        if not keys:
            del self._keys[reader]
        return lost

    def of(self, keys: Iterable[str]) -> set[str]:
        """The readers of any of the keys."""
        return {reader for key in keys for reader in self._readers.get(key, ())}

    def keys_of(self, reader: str) -> tuple[str, ...]:
        return self._keys.get(reader, ())

    def keys(self) -> Iterable[str]:
        """All keys that have a reader."""
        return self._readers.keys()


class Told:
    """What each of several says about paths; about one path each finding counts once, whoever says it."""

    def __init__(self) -> None:
        self._said: dict[str, Mapping[str, tuple[Finding, ...]]] = {}
        self._about: dict[str, dict[str, tuple[Finding, ...]]] = {}
        self._differing: set[str] = set()

    def say(self, who: str, findings: Iterable[Finding]) -> None:
        """From now on `who` says these findings and no others."""
        before = self._said.get(who, {})
        now = _by_path(findings)
        for path in [path for path in {**before, **now} if before.get(path) != now.get(path)]:
            self._differing.add(path)
            about = self._about.setdefault(path, {})
            if path in now:
                about[who] = now[path]
            else:
                del about[who]
                if not about:
                    del self._about[path]
        if now:
            self._said[who] = now
        else:
            self._said.pop(who, None)

    def differing(self) -> dict[str, tuple[Finding, ...]]:
        """What is said now about the paths of which something else was said since the last time, () for
        nothing; in the order of their places."""
        paths, self._differing = self._differing, set()
        return {path: self._of(path) for path in sorted(paths)}

    def _of(self, path: str) -> tuple[Finding, ...]:
        unique = {finding for findings in self._about.get(path, {}).values() for finding in findings}
        return tuple(sorted(unique, key=_place))


def _by_path(findings: Iterable[Finding]) -> Mapping[str, tuple[Finding, ...]]:
    found: dict[str, tuple[Finding, ...]] = {}
    for each in findings:
        found[each.path] = (*found.get(each.path, ()), each)
    return found


def _place(finding: Finding) -> tuple[object, ...]:
    """A total order: by place, then the worst first."""
    place = finding.span or (0, 0, 0, 0)
    return place, _ORDER[finding.severity], finding.code, finding.message, repr(finding)
