"""A disk that fails, or a process that ends, at the nth thing that is asked of it; and what a root holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from phasekeeper.server.store.commit import StoreError
from phasekeeper.server.store.log_file import read_tail
from phasekeeper.server.store.recovery import pending_writes

Tree = dict[str, bytes]
"""Root-relative path -> bytes."""
CHANGING = ("open", "write", "fsync", "replace", "unlink", "mkdir", "ftruncate")
_OWN = re.compile(
    r"(^|/)(lock|lock\.holder|\.lock\.holder\.new)$|\.phasekeeper-.*\.tmp$|phasekeeper-conflict"
)


class Died(BaseException):
    """The end of a process: whatever it asks for afterwards is not done any more."""


@contextmanager
def failing(nth: int, how: int | None, lasting: bool) -> Iterator[None]:
    """The nth change that is asked for meanwhile fails with the error number `how`, and each later one too
    if `lasting`. Without a number the process ends there."""
    left = [nth]

    def around(real: Any, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **options)
            left[0] -= 1
            if left[0] < 0 and how is None:
                raise Died
            if how is not None and (left[0] == -1 or (lasting and left[0] < 0)):
                raise OSError(how, os.strerror(how))
            return real(*arguments, **options)

        return call

    with ExitStack() as stack:
        for name in CHANGING:
            stack.enter_context(mock.patch.object(os, name, around(getattr(os, name), name)))
        yield


def files(root: Path) -> Tree:
    """Every file of a root, but for the lock and what a write has at work."""
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not _OWN.search(name)}


def recorded(root: Path, run: str) -> Tree:
    """The files as the run's journal has them: what is committed counts as written, what is torn does not."""
    tree = files(root)
    tree |= {path: text.encode() for path, text in pending_writes(root, run).texts.items()}
    journal = f"{run}/.phasekeeper/journal.jsonl"
    with suppress(StoreError):
        tree[journal] = ended(tree.get(journal, b""), journal)
    return tree


def ended(raw: bytes, journal: str) -> bytes:
    """A journal without its torn tail, with the line end that the next write would add."""
    kept = raw[: read_tail(raw, journal).size]
    return kept + b"\n" if kept and not kept.endswith(b"\n") else kept
