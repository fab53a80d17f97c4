"""Verdicts about what has changed since: an artifact that judges others goes stale (format, A.6, `of`).

A record names the files that were judged with their digests; where none does, the times of files tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..definition.inputs import Artifact
from ..findings import Span
from ..journal.journal import files_of
from ..states import ArtifactStatus
from ..vfs.files import digest_of
from ..vfs.glob import fits, is_glob
from ..vfs.places import RunPlace
from .read_log import ArtifactState, RunReader

# Judged within this time of what it judges, a verdict counts as newer: a clone writes files in any order.
SAME_MOMENT_NS = 2_000_000_000
MOST_NAMED = 50
"""Files of one artifact that a record names one by one; more are one entry with one digest."""

_TICKED = re.compile(r"(?m)^([ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++)\[[^\[\]\n]\]")
_Records = Sequence[Mapping[str, Any]]


def with_staleness(
    states: Mapping[str, ArtifactState],
    artifacts: Mapping[str, Artifact],
    place: RunPlace,
    records: _Records,
    reader: RunReader,
) -> dict[str, ArtifactState]:
    """The artifacts with those made `stale` that judge something which changed after the verdict."""
    out = dict(states)
    outdated = outdated_verdicts(records) if any(artifact.of for artifact in artifacts.values()) else set()
    # path -> digest of the files that each record names, of those that name some.
    named = map(files_of, records if any(artifact.of for artifact in artifacts.values()) else ())
    recorded = [files for files in named if files]
    for artifact in artifacts.values():
        verdict = states.get(artifact.id)
        if verdict is None or not verdict.valid or not artifact.of:
            continue
        judged = [(states[name], artifacts[name]) for name in artifact.of if name in states]
        known: Mapping[str, str] = {}
        digest = reader.read(verdict.path).digest if recorded or outdated else ""
        if recorded:
            # The newest record that names the verdict as it is and something that it judges.
            patterns = [pattern for _, each in judged for pattern in _patterns(each, place)]
            of_verdict = (files for files in reversed(recorded) if files.get(verdict.path) == digest)
            known = next((files for files in of_verdict if any(_is_of(f, patterns) for f in files)), {})
        changed = next(
            filter(None, (_changed_file(*one, place, verdict, known, reader) for one in judged)), ""
        )
        if not known and (verdict.path, digest) in outdated:
            # Who only touches it has judged nothing anew.
            changed = changed or next((each.path for each, _ in judged), verdict.path)
        if changed:
            message = f"{changed} changed after this was made; make it again"
            reader.add_finding(verdict.path, "artifact-stale", message, Span(0, 0, 0, 1))
            out[artifact.id] = verdict._replace(state=ArtifactStatus.STALE, data=None)
    return out


def outdated_verdicts(records: _Records) -> set[tuple[str, str]]:
    """(path, digest) of the verdicts that were stale when a record was made, as it keeps them in `held`."""
    held = (item for entry in records if isinstance(entry["held"], list) for item in entry["held"])
    stale = (item for item in held if isinstance(item, dict) and "stale" in item)
    return {(str(item["stale"]), str(item.get("digest"))) for item in stale}


def digests(state: ArtifactState, artifact: Artifact, place: RunPlace, reader: RunReader) -> dict[str, str]:
    """path -> digest of an artifact's files as they are now; of very many a single entry for all."""
    each = {path: reader.read(path).digest for path in state.paths or (state.path,)} if state.exists else {}
    if len(each) <= MOST_NAMED:
        return each
    whole = "\n".join(f"{path}\0{digest}" for path, digest in each.items())
    return {(_patterns(artifact, place) or [f"{place.itself}/*"])[0]: digest_of(whole)}


def substances(paths: Iterable[str], reader: RunReader) -> dict[str, str]:
    """path → digest of what a person approves of a text: all but the boxes that are ticked in it.

    Of a file that cannot be read as text it is that of its bytes.
    """
    files = {path: reader.read(path) for path in paths}
    return {
        path: file.digest if file.text is None else reader.parse_cached("substance", file, _substance)
        for path, file in files.items()
    }


def changed_substances(then: Mapping[str, str], paths: Iterable[str], reader: RunReader) -> list[str]:
    """Those of the paths whose substance is not what it was then, if it is known."""
    now = substances([path for path in paths if path in then], reader)
    return [path for path, digest in now.items() if digest != then[path]]


def _substance(text: str) -> str:
    return digest_of("substance\n" + _TICKED.sub(r"\1[ ]", text))


def _patterns(artifact: Artifact, place: RunPlace) -> list[str]:
    return [place.join(path) or path for path in artifact.paths]


def _changed_file(
    judged: ArtifactState,
    artifact: Artifact,
    place: RunPlace,
    verdict: ArtifactState,
    known: Mapping[str, str],
    reader: RunReader,
) -> str:
    """The path of a judged file that is not the one the verdict was about, or "".

    A record's files of the artifact are compared with those of now: one may be changed, new or gone.
    """
    patterns = _patterns(artifact, place)
    before = {path: known[path] for path in known if _is_of(path, patterns)}
    if not before:
        # Nothing but the times of the files can tell whether it was certainly saved later.
        if not (judged.exists and verdict.mtime_ns and judged.mtime_ns):
            return ""
        later = judged.mtime_ns - verdict.mtime_ns
        hinted = any(f.code == "freshness-unknown" and f.path == verdict.path for f in reader.findings)
        if 0 < later <= SAME_MOMENT_NS and not hinted:
            message = f"saved within 2 s of {judged.path}; it counts as newer"
            reader.add_finding(verdict.path, "freshness-unknown", message)
        return judged.path if later > SAME_MOMENT_NS else ""
    now = digests(judged, artifact, place, reader)
    return next((path for path in {**now, **before} if now.get(path) != before.get(path)), "")


def _is_of(path: str, patterns: Sequence[str]) -> bool:
    return any(path == pattern or (is_glob(pattern) and fits(pattern, path)) for pattern in patterns)
