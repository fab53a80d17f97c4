"""Files that are made or only added to: no byte that stands in them changes, and nothing is added twice.

Computed as values first, so that they can be shown before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...orchestration.formats.json_edits import create, set_values
from ...orchestration.formats.json_text import read_json
from .folder import StoreError, as_store_error, open_folder, read_file


class PlannedFile(NamedTuple):
    """A file to be written: `added` are the lines that people are shown.

    `before` None is a new file, `after` None one that is removed. `mode` None is as it was.
    """

    path: str
    before: bytes | None
    after: bytes | None
    added: tuple[str, ...]
    mode: int | None = None


class SkippedFile(NamedTuple):
    """A file that would have to change and is left alone, and why."""

    path: str
    why: str


def plan_file(root: Path, path: str, text: str) -> PlannedFile | SkippedFile | None:
    """A file of our own; one that is there with another text is left alone."""
    before = read_file(root, path)[0]
    if before is None:
        return PlannedFile(path, None, text.encode(), tuple(line for line in text.splitlines() if line))
    if before == text.encode():
        return None
    return SkippedFile(path, "it holds other rules; compare them by hand, or remove it and run this again")


def plan_lines(root: Path, path: str, lines: Sequence[str]) -> PlannedFile | None:
    """A file of lines with those that it lacks, in its own line ends."""
    before = read_file(root, path)[0]
    raw = before or b""
    there = {line.strip() for line in raw.split(b"\n")}
    missing = tuple(line for line in lines if line.encode() not in there)
    if not missing:
        return None
    end = b"\r\n" if b"\r\n" in raw else b"\n"
    gap = end if raw and not raw.endswith(b"\n") else b""
    return PlannedFile(path, before, raw + gap + b"".join(line.encode() + end for line in missing), missing)


def plan_deny_rules(root: Path, path: str, rules: Sequence[str]) -> PlannedFile | SkippedFile | None:
    """A JSON file of settings whose list `permissions.deny` holds the rules, its own ones first."""
    before = read_file(root, path)[0]
    if before is None or not before.strip():
        text = create({"permissions": {"deny": list(rules)}})
        return PlannedFile(path, before, (before or b"") + text.encode(), tuple(rules))
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = before[len(mark) :].decode("utf-8")
        data = read_json(text).data
        permissions = data.get("permissions", {}) if isinstance(data, dict) else None
        if not isinstance(permissions, dict):
            raise ValueError("it is no JSON object with permissions")
        there = permissions.get("deny", [])
        if not isinstance(there, list):
            raise ValueError("permissions.deny is no list")
        missing = tuple(rule for rule in rules if rule not in there)
        if not missing:
            return None
        after = set_values(text, [(("permissions", "deny"), [*there, *missing])])
    except ValueError as error:
        return SkippedFile(path, f"{error}; add to permissions.deny by hand: {', '.join(rules[:5])} …")
    return PlannedFile(path, before, mark + after.encode(), missing)


def write_planned(root: Path, change: PlannedFile) -> None:
    """Put a change in its place whole. Raises StoreError when the file is not what was shown any more."""
    folder_path, _, name = change.path.rpartition("/")
    with as_store_error(change.path), open_folder(root, folder_path, create=True) as folder:
        if folder.read(name) != change.before:
            raise StoreError(f"{change.path} was changed meanwhile; run this again")
        if change.after is None:
            folder.remove(name)
            folder.sync()
            return
        status = folder.status(name)
        temporary = f".{name}.phasekeeper-init.tmp"
        mode = change.mode if change.mode or not status else status.st_mode & 0o777
        folder.put(name, temporary, change.after, mode)
        folder.sync()
