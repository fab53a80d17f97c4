"""Contradictions in and between a run's files: words that its definition says cannot all stand there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ..findings import Problem, Span
from .read_log import ArtifactState, RunReader
from .word_lists import Path, normal_word, normal_words, parts_of, values_at

MOST_CONFLICTS = 20
"""So many contradictions of one kind are told."""
ANY = "any"
"""Every value but null, false, 0 and what is empty."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value at a declared path of a file, one of the words that stand against others."""

    file: ArtifactState
    path: Path
    value: object

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} is {json.dumps(self.value, ensure_ascii=False)[:40]}"

    def seen_from(self, other: _Place) -> str:
        """What stands here and where, for a finding at another place."""
        line = self.span.line + 1
        return f"{self} in line {line}" if other.file is self.file else f"{self} in {self.file.path}:{line}"

    @property
    def span(self) -> Span:
        return self.file.span(self.path) or Span(0, 0, 0, 1)


def with_conflicts(
    declared: Sequence[Mapping[str, tuple[str, ...]]], files: Mapping[str, ArtifactState], reader: RunReader
) -> dict[str, ArtifactState]:
    """The files with the declared paths at which they contradict themselves or each other; each is a finding.

    Paths that begin alike up to a list or map speak of the same element of it. Linear in what stands there.
    """
    contradicted: dict[str, dict[tuple[str, ...], None]] = {}
    for conflict in declared:
        if not all(_is_valid(files.get(path.partition(".")[0])) for path in conflict):
            # Nothing stands at one of its sides.
            continue
        sides = [(path.partition(".")[0], parts_of(path.partition(".")[2])) for path in conflict]
        for places in islice(_conflicts(sides, list(conflict.values()), files), MOST_CONFLICTS):
            for (name, parts), place in zip(sides, places, strict=True):
                contradicted.setdefault(name, {})[parts] = None
                against = ", ".join(other.seen_from(place) for other in places if other is not place)
                message = f"{place}, but {against}; the worse counts"
                reader.add_findings(place.file.path, [Problem("artifact-contradictory", message, place.span)])
    told = {name: files[name]._replace(contradicted=tuple(paths)) for name, paths in contradicted.items()}
    return {**files, **told}


def _conflicts(
    sides: Sequence[tuple[str, tuple[str, ...]]],
    words: Sequence[tuple[str, ...]],
    files: Mapping[str, ArtifactState],
) -> Iterator[list[_Place]]:
    """The places that stand against each other, one for each side."""
    found: list[list[_Place]] = []
    for (name, parts), known in zip(sides, words, strict=True):
        found.append(list(_places(files.get(name), parts, known)))
        if not found[-1]:
            return
    rest: list[tuple[int, dict[Path, _Place]]] = []
    for (name, parts), places in zip(sides[1:], found[1:], strict=True):
        alike = _alike(sides[0][1], parts) if name == sides[0][0] else 0
        rest.append((alike, {place.path[:alike]: place for place in reversed(places)}))
    for first in found[0]:
        others = [by_beginning.get(first.path[:alike]) for alike, by_beginning in rest]
        if None not in others:
            yield [first, *filter(None, others)]


def _is_valid(file: ArtifactState | None) -> bool:
    return file is not None and file.valid


def _places(file: ArtifactState | None, parts: tuple[str, ...], words: tuple[str, ...]) -> Iterator[_Place]:
    assert file
    known = normal_words(words)
    for path, value in values_at(file.raw, parts):
        is_word = isinstance(value, str) and normal_word(value) in known
        if is_word or (not isinstance(value, str) and json.dumps(value) in known) or (ANY in known and value):
            yield _Place(file, path, value)


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The number of parts with which both paths begin."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
