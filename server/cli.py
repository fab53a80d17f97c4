"""The command line: one command, its exit code, and what a person is told when it goes wrong.

Exit codes are those of the design, section 7. What a command needs is imported when it is called.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from .arguments import parse

USAGE = 2
# What shells show for a program that a signal ended: SIGINT and SIGPIPE.
INTERRUPTED, BROKEN_PIPE = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Prints one sentence, never a traceback, for what was called wrongly."""
    _forgive(sys.stdout)
    try:
        code = _run(arguments)
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


def _run(arguments: Sequence[str] | None) -> int:
    options = parse(arguments)
    from ..orchestration.display import plain
    from ..tools.runs import NoSuchRun
    from .commands import COMMANDS
    from .library import UnknownWorkflow
    from .roots import UsageError
    from .selection import BrokenDefinitions

    try:
        if options.command in COMMANDS:
            return COMMANDS[options.command](options)
        from .writing import WRITING

        return WRITING[options.command](options)
    except (UsageError, NoSuchRun, UnknownWorkflow) as error:
        sys.stderr.write(f"phasekeeper: {plain(str(error), 2000)}\n")
    except BrokenDefinitions as error:
        sys.stderr.writelines(f"phasekeeper: {line}\n" for line in error.lines)
    return USAGE


if __name__ == "__main__":
    sys.exit(main())
