"""Whoever called the command that is carried out: streams, current folder, and what its terminal is like.

A command in a process of its own is called by that process. The server carries out commands of others,
several at a time and each on a thread, so there the caller is the value of a context variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, NamedTuple


class Caller(NamedTuple):
    """Another process. `environment` has what it says of its terminal, with the width in COLUMNS."""

    stdout: IO[str]
    stderr: IO[str]
    folder: Path
    environment: Mapping[str, str]


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Have what is printed in this context reach another process, and paths start from its folder."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def is_other_process() -> bool:
    """True in the server, which carries out a command of another process."""
    return _caller.get() is not None


def stdout() -> IO[str]:
    """Standard output of the caller."""
    caller = _caller.get()
    return caller.stdout if caller else sys.stdout


def stderr() -> IO[str]:
    """Standard error of the caller."""
    caller = _caller.get()
    return caller.stderr if caller else sys.stderr


def terminal_environment() -> Mapping[str, str]:
    """The variables of the caller's environment that say how its terminal is written to."""
    caller = _caller.get()
    return caller.environment if caller else os.environ


def current_folder() -> Path:
    """The caller's current folder, absolute. Raises OSError where it is gone."""
    caller = _caller.get()
    return caller.folder if caller else Path.cwd()


def path_here(path: Path) -> Path:
    """A path as the caller means it, ready to be opened by this process."""
    caller = _caller.get()
    return caller.folder / path if caller else path
