"""Frozen values that the engine hands out: how a root stands (`RootBoard`), what differs (`RootChange`)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ...orchestration.findings import Finding
from ...orchestration.result.values import Evaluation

Progress = Callable[[int, int], None]
"""Called with (runs evaluated, runs in all) during a first scan."""


@dataclass(frozen=True, slots=True)
class RootBoard:
    """The state of one root at one version: its runs in order of their paths, and all findings by path.

    `conditions` are sentences about the server itself: why the board may be behind the files. `projects` are
    the roots in it that its configuration names; who has it open opens it anew when they are others.
    """

    root: Path
    version: int
    runs: Mapping[str, Evaluation]
    findings: Mapping[str, tuple[Finding, ...]]
    conditions: tuple[str, ...] = ()
    projects: tuple[Path, ...] = ()


class RootChange(NamedTuple):
    """The difference that one version of a root makes.

    `version` counts the changes of the root up by one. `changed` has runs that are new or stand otherwise
    now, `added` the names of the new ones, `removed` of those that are gone; `findings` the paths whose list
    differs now, () where none is left. All of these are empty when only the root's projects are others.
    `texts` are those of the files read anew that are still at hand.
    """

    root: Path
    version: int
    changed: Mapping[str, Evaluation]
    removed: tuple[str, ...]
    findings: Mapping[str, tuple[Finding, ...]]
    texts: Mapping[str, str] = MappingProxyType({})
    added: Set[str] = frozenset()


def merge_in_order(
    before: Mapping[str, Any],
    changed: Mapping[str, Any],
    removed: Iterable[str],
    order: Callable[[str], Any],
) -> dict[str, Any]:
    """A copy of `before`, whose keys are in `order`, with values replaced, added or removed.

    Cost: a copy when no key is new, else a sort; a few new keys are inserted by bisection.
    """
    merged = {**before, **changed}
    for key in removed:
        merged.pop(key, None)
    new = [key for key in changed if key not in before]
    if not new:
        return merged
    keys = [key for key in before if key in merged]
    if len(new) > len(keys) // 16:
        return {key: merged[key] for key in sorted(merged, key=order)}
    for key in new:
        insort(keys, key, key=order)
    return {key: merged[key] for key in keys}
