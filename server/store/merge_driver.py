"""A merge driver of git, for journals and plans: what both branches changed, in one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ...orchestration.journal.lines import JOURNAL_NAME
from ...orchestration.plans.three_way_merge import merge_plans
from ..disk.disk_files import MAX_BYTES


def merge_files(base: Path, ours: Path, theirs: Path, path: str) -> bool:
    """Write what both sides changed into `ours`; `path` is its place. False where they contradict each other.

    What both sides changed in different ways, and where lines were added to a plan, is merged by
    `git merge-file`, which leaves its marks. Raises OSError for a file that cannot be read or written.
    """
    texts = [each.read_bytes() for each in (base, ours, theirs)]
    merged = None
    if max(map(len, texts)) <= MAX_BYTES:
        merged = union(*texts[1:]) if Path(path).name == JOURNAL_NAME else _merged_plan(*texts)
    if merged is None:
        words = ["git", "merge-file", str(ours), str(base), str(theirs)]
        return subprocess.run(words, check=False).returncode == 0
    ours.write_bytes(merged)
    return True


def union(ours: bytes, theirs: bytes) -> bytes:
    """All lines of ours, then those of theirs that it lacks; which of them count, the reader tells."""
    known = set(map(bytes.rstrip, ours.splitlines()))
    more = [line for line in theirs.splitlines(keepends=True) if line.rstrip() not in known]
    end = b"\n" if ours and more and not ours.endswith(b"\n") else b""
    return ours + end + b"".join(more)


def _merged_plan(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    try:
        merged = merge_plans(*(text.decode("utf-8") for text in (base, ours, theirs)))
    except UnicodeDecodeError:
        return None
    return None if merged is None else merged.encode("utf-8")
