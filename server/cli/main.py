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
    from collections.abc import Sequence

    from .catalog import CommandEntry

# What shells show for a program that a signal ended: SIGINT and SIGPIPE.
INTERRUPTED, BROKEN_PIPE = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Prints one sentence, never a traceback, for what was called wrongly."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if is_connector_call(words):
            return run_connector(words[0], STANDALONE in words)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What its encoding lacks is printed as "?" instead of ending with an error.
            sys.stdout.reconfigure(errors="replace")
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away, as `head` does. Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(words: Sequence[str]) -> int:
    if words == BACKGROUND:
        from ..hub.entry_points import run_daemon

        return run_daemon()
    from importlib import import_module

    from .parser import parse

    options = parse(words)
    command: CommandEntry = options.command
    if command.name in KINDS:
        return run_connector(command.name, options.standalone)
    # "module:function" of the catalogue, imported now.
    module, _, function = command.run.partition(":")
    path = module if "." in module else f"{__package__}.commands.{module}"
    try:
        return getattr(import_module(path), function)(options)
    except Exception as error:
        from .output import report_failure

        return report_failure(error)


if __name__ == "__main__":
    sys.exit(main())
