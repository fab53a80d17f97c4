"""`phasekeeper merge-journal`: what git calls to merge two branches' journals, and marks of plans."""

from __future__ import annotations

import subprocess
from argparse import Namespace
from pathlib import Path

from ....orchestration.journal.lines import JOURNAL_NAME
from ....orchestration.plans.three_way_merge import merge_plans
from ...disk.disk_files import MAX_BYTES
from ...terminal.lines import print_errors
from ..output import OK, REFUSED, USAGE


def merge_journal(options: Namespace) -> int:
    """`merge-journal`: write what both sides changed into OURS. What both sides changed in different ways,
    and where lines were added to a plan, is merged by `git merge-file`, which leaves its marks."""
    sides = [Path(path) for path in (options.base, options.ours, options.theirs)]
    try:
        base, ours, theirs = (path.read_bytes() for path in sides)
    except OSError as error:
        print_errors([f"phasekeeper: {error.filename}: {error.strerror}"])
        return USAGE
    merged = None
    if max(map(len, (base, ours, theirs))) <= MAX_BYTES:
        is_journal = Path(options.path).name == JOURNAL_NAME
        merged = union(ours, theirs) if is_journal else _merged_plan(base, ours, theirs)
    if merged is None:
        paths = [str(sides[index]) for index in (1, 0, 2)]
        return REFUSED if subprocess.run(["git", "merge-file", *paths], check=False).returncode else OK
    sides[1].write_bytes(merged)
    return OK


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
