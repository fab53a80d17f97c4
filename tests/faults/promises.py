"""What must hold of a root after a command that met a fault, whatever the fault was."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.commands import (
    ACKNOWLEDGED,
    COMMANDS,
    Command,
    Result,
    at_work,
    carried_out,
    do,
    stands,
    tree,
    whole_lines,
)

ALIKE = ("report", "report of a plan", "override", "redo", "release")
"""Commands that write by the same calls as others do."""


class Ways(NamedTuple):
    """A root before a command and after it: its files, and how its runs stand."""

    before: Mapping[str, bytes]
    stood: Mapping[str, Any]
    after: Mapping[str, bytes]
    stood_after: Mapping[str, Any]


def prepared(ready: Path, root: Path, name: str) -> None:
    """A root that is ready for a command comes to lie in `ready`; it is made at `root`."""
    (root / ".git").mkdir(parents=True)
    with chdir(root):
        COMMANDS[name].ready(root)
    root.rename(ready)


def ways(ready: Path, root: Path, name: str) -> Ways:
    """How the root of a command stands before it and after it."""
    shutil.copytree(ready, root)
    before = tree(root), stands(root)
    result = carried_out(COMMANDS[name], root)
    assert result.code in ACKNOWLEDGED, result
    found = Ways(*before, tree(root), stands(root))
    shutil.rmtree(root)
    return found


def broken_promises(root: Path, command: Command, acknowledged: bool, known: Ways) -> list[str]:
    """What does not hold after a fault, before and after the next commands; empty is right."""
    found: list[str] = []
    if command.whole:
        now = stands(root)
        # Runs that begin with the command may wait for the next writer, as their files do.
        waiting = known.stood_after.keys() - known.stood.keys() - now.keys()
        expected = {run: each for run, each in known.stood_after.items() if run not in waiting}
        if now != expected and (acknowledged or now != known.stood):
            found.append("a reader sees neither what was nor what is to be")
        with chdir(root):
            do("repair", command.run)
        kept = {path: raw for path, raw in tree(root).items() if not at_work(path)}
        if command.words[0] != "start" and kept not in [
            known.after,
            *([] if acknowledged else [known.before]),
        ]:
            found.append("it was not mended to what was or to what is to be")
    if tree(root) != known.after:
        again = carried_out(command, root)
        # A start that was recorded before it ended is finished now, and is there.
        if again.code not in ACKNOWLEDGED and "exists already" not in again.err:
            found.append(f"it does not work again: {again}")
    return found + list(left_over(root, command, known))


def left_over(root: Path, command: Command, known: Ways) -> Iterator[str]:
    """What is not as it is to be in the end."""
    there = tree(root)
    yield from (f"{path} is left" for path in there if at_work(path))
    for path in root.rglob("journal.jsonl"):
        if whole_lines(path.read_bytes()) != path.read_bytes().removesuffix(b"\n"):
            yield f"a torn line is left in {path}"
    if command.exact:
        yield from (f"{path} differs" for path in differing(there, known.after))
    elif stands(root) != known.stood_after:
        yield "its runs do not stand as they are to"
    lost = {line for raw in known.after.values() for line in raw.splitlines() if b'"kind": "report"' in line}
    yield from (f"{line} is lost" for line in lost if not any(line in raw for raw in there.values()))


def differing(left: Mapping[str, bytes], right: Mapping[str, bytes]) -> list[str]:
    return [path for path in sorted({*left, *right}) if left.get(path) != right.get(path)]


def is_well_said(result: Result) -> bool:
    """Whether a refusal is one sentence."""
    last = result.err.strip().splitlines()[-1:]
    # On a terminal it follows the line that a person typed, which is not shown twice.
    return result.code == 1 and any(re.search(r"(^|to confirm: )phasekeeper: \S", line) for line in last)
