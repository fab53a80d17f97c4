"""Where in a root the places are that a report names: its paths are absolute, from the root, or from a folder
above the report.

Nothing outside the root is ever meant: such a path has no candidates, and what is said of it stands at the
report.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence

from ..findings import Finding, SourcePlace, SourceProblem, finding
from ..vfs.files import is_below_root, parent

FirstFiles = Callable[[tuple[tuple[str, ...], ...]], Sequence[str]]
"""Of each list of paths of the root the first that is a file, "" where none is."""
_MOST_PATH = 1_000
_MOST_FOLDERS = 12
_DRIVE = re.compile(r"[A-Za-z]:/")


def findings_at_sources(
    problems: Sequence[SourceProblem], report: str, root: str, first_files: FirstFiles
) -> list[Finding]:
    """The findings for what the report at a path of the root says; `root` is absolute, "" if not known."""
    options = [_options(problem.places, report, root) for problem in problems]
    files = first_files(tuple(tuple(path for path, _ in each) for each in options))
    findings: list[Finding] = []
    for (problem, _), each, file in zip(problems, options, files, strict=True):
        place = next((place for path, place in each if path == file), None)
        findings.append(
            finding(problem._replace(span=place.span) if place else problem, file if place else report)
        )
    return findings


def _options(places: Sequence[SourcePlace], report: str, root: str) -> list[tuple[str, SourcePlace]]:
    return [(path, place) for place in places for path in candidates(place.path, report, root)]


def candidates(path: str, report: str, root: str) -> list[str]:
    """The paths of the root that a path in a report may stand for, the best first."""
    path = _posix(path)
    if len(path) > _MOST_PATH or "\0" in path or not path:
        return []
    if path.startswith("/") or _DRIVE.match(path):
        inside = _below(_posix(root), path) if root else None
        return [inside] if inside and is_below_root(inside) else []
    folders = [parent(report)]
    while folders[-1] and len(folders) < _MOST_FOLDERS:
        folders.append(parent(folders[-1]))
    paths = (posixpath.normpath(posixpath.join(folder, path)) for folder in dict.fromkeys((*folders, "")))
    return list(dict.fromkeys(each for each in paths if is_below_root(each)))


def _posix(path: str) -> str:
    """A path with slashes; Windows' own where it is one of Windows."""
    return path.replace("\\", "/") if "\\" in path and ("/" not in path or path[1:2] == ":") else path


def _below(root: str, path: str) -> str | None:
    """The rest of an absolute path behind the root's; None if it lies elsewhere. Windows knows no case."""
    path, prefix = posixpath.normpath(path), f"{root.rstrip('/')}/"
    is_windows = bool(_DRIVE.match(prefix))
    start = path[: len(prefix)]
    same = start.lower() == prefix.lower() if is_windows else start == prefix
    return path[len(prefix) :] if same else None
