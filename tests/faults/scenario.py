"""One commit of a run in three situations, and what must hold of the run whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from phasekeeper.orchestration.findings import Edit
from phasekeeper.orchestration.journal.journal import Record
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.store.commit import LockedRun, StoreError, Writes, commit
from phasekeeper.server.store.log_file import read_tail
from phasekeeper.server.store.recovery import pending_writes

RUN = "tasks/T1"
STATE = f"{RUN}/state.json"
NOTE = f"{RUN}/notes/n.md"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"
SITUATIONS = ("first", "torn", "interrupted")


def mount_namespace() -> list[str]:
    """What runs a program where it may mount and nobody else sees it; empty where the system forbids that."""
    unshare = shutil.which("unshare") if sys.platform == "linux" else None
    if unshare is None:
        return []
    inside = [unshare, "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    tried = [*inside, "mount", "-t", "tmpfs", "none", "/mnt"]
    return [] if subprocess.run(tried, capture_output=True, check=False).returncode else inside


class Died(BaseException):
    """Stands for the end of a process; nothing in the store may catch it."""


def text(version: int) -> str:
    # Longer than a page, so that it can be torn.
    return json.dumps({"v": version, "pad": "ü" * 3000})


def state(root: Path) -> int:
    """The version of the state on the disk, -1 when it is torn."""
    try:
        return json.loads((root / STATE).read_text(encoding="utf-8"))["v"]
    except ValueError:
        return -1


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError("the fault met this test and not the store") from error


def change(root: Path, version: int, note: str | None = None) -> Callable[[LockedRun], Writes]:
    """Two records that take the state to `version`; with `note` a file in a new folder is written too."""

    def propose(_held: LockedRun) -> Writes:
        records: list[Record] = [{"kind": "report", "message": f"v{version}"}, {"kind": "transition"}]
        edits = [Edit(STATE, digest_of(read(root / STATE)), text(version))]
        return Writes(records, [*edits, Edit(NOTE, None, note)] if note else edits)

    return propose


def prepare(root: Path, situation: str) -> None:
    """A run at version 1: without a journal, with one whose last line is torn, or interrupted before it
    could rename what is recorded (so that version 1 is still to be put in its place)."""
    (root / RUN).mkdir(parents=True)
    (root / STATE).write_text(text(0 if situation == "interrupted" else 1), encoding="utf-8")
    if situation == "first":
        return
    commit(root, RUN, lambda _held: Writes([{"kind": "start"}]))
    if situation == "torn":
        with (root / JOURNAL).open("a") as file:
            file.write('{"seq": 2, "kind": "rep')
    else:
        with mock.patch("phasekeeper.server.store.commit.finish_rename", side_effect=Died), suppress(Died):
            commit(root, RUN, change(root, 1))


def act(root: Path) -> None:
    commit(root, RUN, change(root, 2, note="noted"))


def broken_promises(root: Path, acknowledged: bool, clear: Callable[[], object] = lambda: None) -> list[str]:
    """What does not hold, before and after the next writer came by; empty is right."""
    found = [] if state(root) in (0, 1, 2) else ["the state is torn"]
    seen = pending_writes(root, RUN)
    read = json.loads(seen.texts[STATE])["v"] if STATE in seen.texts else state(root)
    recorded = is_recorded(root)
    if (read == 2) != recorded:
        found.append(f"a reader sees version {read}, recorded: {recorded}")
    commit(root, RUN, lambda _held: Writes())
    note = (root / NOTE).read_text() if (root / NOTE).exists() else None
    if acknowledged and not is_recorded(root):
        found.append("an acknowledged commit is lost")
    if (state(root), note) != ((2, "noted") if recorded else (1, None)):
        found.append(f"recovered to version {state(root)} and note {note!r}, recorded: {recorded}")
    clear()
    found += [f"left: {path}" for path in (root / RUN).rglob("*phasekeeper-*")]
    again = commit(root, RUN, lambda _held: Writes())
    found += [f"done twice: {each}" for each in again.recovery]
    act_again(root, found)
    return found


def act_again(root: Path, found: list[str]) -> None:
    """The next commit works, and its records follow those before."""
    commit(root, RUN, change(root, 3))
    records = lines(root)
    if [record["seq"] for record in records] != list(range(1, len(records) + 1)) or state(root) != 3:
        found.append("the next commit has not the next number")


def is_recorded(root: Path) -> bool:
    return any(record.get("message") == "v2" for record in lines(root))


def lines(root: Path) -> list[dict[str, Any]]:
    path = root / JOURNAL
    raw = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in raw[: read_tail(raw, JOURNAL).size].splitlines() if line.strip()]


def in_memory(fallback: Path) -> Path:
    """A folder in memory, where flushing costs nothing; `fallback` where there is none."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else fallback
