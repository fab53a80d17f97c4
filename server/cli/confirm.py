"""A person's word on a terminal: what is decided is shown, and the run's name is typed.

No flag and no environment variable gets round it. What is shown comes from the definition and the
evaluation, never from an argument of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO

from ...orchestration.sanitize import plain

_NO_TERMINAL = "a decision is a person's: run this command on a terminal"


class NotConfirmed(Exception):  # noqa: N818 - said to people as it is
    """No person confirmed; the text says what was missing."""


def require_terminal() -> None:
    """Raise NotConfirmed where nobody sits at a terminal who could be asked."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise NotConfirmed(_NO_TERMINAL)


def ask(what: str, choices: Sequence[str]) -> str:
    """Ask the person at the terminal for one of the choices, or for any text where there are none.

    Raises NotConfirmed at the end of the input, for nothing, and for what is no choice.
    """
    listed = f" ({', '.join(plain(each, 80) for each in choices)})" if choices else ""
    sys.stderr.write(f"{what}{listed}: ")
    sys.stderr.flush()
    typed = sys.stdin.readline().strip()
    if not typed or (choices and typed not in choices):
        why = f"{plain(typed, 80)!r} is none of them" if typed else "nothing was typed"
        raise NotConfirmed(f"nothing was decided: {why}")
    return typed


def confirm(
    said: Iterable[str],
    name: str,
    source: IO[str] | None = None,
    target: IO[str] | None = None,
    *,
    is_name: Callable[[str], bool] | None = None,
) -> None:
    """Show what is decided and have the run's name typed, `name` or another of which `is_name` holds.

    Raises NotConfirmed without a terminal on both sides, at the end of the input, or on any other word.
    """
    source, target = source or sys.stdin, target or sys.stderr
    # A program without standard streams has None there.
    if source is None or target is None or not (source.isatty() and target.isatty()):
        raise NotConfirmed(_NO_TERMINAL)
    try:
        target.writelines(f"{plain(line, 400)}\n" for line in said)
        target.write(f"Type {plain(name, 200)} to confirm: ")
        target.flush()
        typed = source.readline()
    except OSError as error:
        raise NotConfirmed(f"nothing was decided: the terminal is gone ({error.strerror})") from None
    if not typed.endswith("\n"):
        raise NotConfirmed("nothing was decided: no name was typed")
    word = typed.strip()
    if word != name and not (word and is_name and is_name(word)):
        raise NotConfirmed("nothing was decided: the name typed was another")


def person_agrees(count: int) -> bool:
    """Ask whether so many files may be written: True if a person at the terminal says yes."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    sys.stdout.write(f"Write {'this file' if count == 1 else f'these {count} files'}? [y/n] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
