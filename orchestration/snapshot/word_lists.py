"""Closed vocabularies of an artifact: words at declared paths that are none of the known ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from ..definition.state_changes import normal_word, normal_words, parts_of
from ..findings import Problem, Span
from ..suggestions import did_you_mean, misspelling
from .read_log import ArtifactState

MOST_UNKNOWN = 20
"""So many unknown words of one file are told; nobody reads more, and telling where each stands takes time."""

Path = tuple[str | int, ...]


class UnknownWords(NamedTuple):
    """The problems of unknown words, and the declared paths at which they stand, each as its parts."""

    problems: tuple[Problem, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


def unknown_words(
    words: Mapping[str, tuple[str, ...]], data: object, artifact: ArtifactState
) -> UnknownWords:
    """Look up what stands at each declared path; null and what is not there are no words."""
    problems: list[Problem] = []
    paths: list[tuple[str, ...]] = []
    for declared, known in words.items():
        parts = parts_of(declared)
        normal = normal_words(known)
        wrong = (
            (path, value)
            for path, value in values_at(data, parts)
            if not (isinstance(value, str) and normal_word(value) in normal)
        )
        found = [_problem(*each, known, artifact) for each in islice(wrong, MOST_UNKNOWN)]
        if found:
            paths.append(parts)
            problems += found[: MOST_UNKNOWN - len(problems)]
    return UnknownWords(tuple(problems), tuple(paths))


def values_at(value: object, parts: tuple[str, ...], path: Path = ()) -> Iterator[tuple[Path, object]]:
    """The values at a declared path, each with its own path."""
    if value is None:
        return
    if not parts:
        yield path, value
    elif parts[0] == "[]":
        for at, item in enumerate(value) if isinstance(value, list) else ():
            yield from values_at(item, parts[1:], (*path, at))
    elif isinstance(value, dict):
        for name in value if parts[0] == "*" else (parts[0],):
            yield from values_at(value.get(name), parts[1:], (*path, name))


def _problem(path: Path, value: object, known: tuple[str, ...], artifact: ArtifactState) -> Problem:
    # A key with dots that was read as a path stands at the top of its file.
    span = artifact.span(path) or artifact.span((".".join(map(str, path)),)) or Span(0, 0, 0, 1)
    data = {**misspelling(_text_of(value), known), "path": path, "want": known}
    return Problem("unknown-word", unknown_word_message(path, value, known), span, data=data)


def unknown_word_message(path: Path, value: object, known: tuple[str, ...]) -> str:
    """Which value it is that is none of the known words, where it stands, and what is meant."""
    hint = did_you_mean(_text_of(value), known)
    listed = "" if hint.startswith("; known") else f"; known: {', '.join(known)}"
    shown = json.dumps(value, ensure_ascii=False)[:40]
    return f"{'.'.join(map(str, path))} is {shown}, which is no known word{hint}{listed}"


def _text_of(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
