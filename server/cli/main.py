"""The command line: one command, its exit code, and what a person is told when it goes wrong.

Exit codes are those of the design, section 7. What a command needs is imported when it is called; a
connector's start is too short for the modules typing and collections.
"""

from __future__ import annotations

import io
import os
import sys

from ..connector.connector import BACKGROUND, KINDS, STANDALONE, is_connector_call, run_connector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from .catalog import Command

USAGE = 2
# What shells show for a program that a signal ended: SIGINT and SIGPIPE.
INTERRUPTED, BROKEN_PIPE = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Prints one sentence, never a traceback, for what was called wrongly."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if is_connector_call(words):
            return run_connector(words[0], STANDALONE in words)
        _forgive(sys.stdout)
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does. Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _forgive(stream: object) -> None:
    """Print what the stream's encoding lacks as "?" instead of ending with an error."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _run(words: Sequence[str]) -> int:
    if words == BACKGROUND:
        from ..hub.entry_points import run_daemon

        return run_daemon()
    from .parser import parse

    options = parse(words)
    command: Command = options.command
    if command.name in KINDS:
        return run_connector(command.name, options.standalone)
    from ...orchestration.sanitize import plain
    from ...tools.run_names import NoSuchRun
    from ..workspace.definitions import UnknownWorkflow
    from ..workspace.roots import UsageError
    from .selection import BrokenDefinitions

    try:
        return _function(command.run)(options)
    except (UsageError, NoSuchRun, UnknownWorkflow) as error:
        sys.stderr.write(f"phasekeeper: {plain(str(error), 2000)}\n")
    except BrokenDefinitions as error:
        sys.stderr.writelines(f"phasekeeper: {line}\n" for line in error.lines)
    return USAGE


def _function(name: str) -> Callable[[Namespace], int]:
    """What carries a command out: "module:function" of the catalogue, imported now."""
    from importlib import import_module

    module, _, function = name.partition(":")
    path = module if "." in module else f"{__package__}.commands.{module}"
    return getattr(import_module(path), function)


if __name__ == "__main__":
    sys.exit(main())
