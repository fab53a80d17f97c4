"""The command line: one command, its exit code, and what a person is told when it goes wrong.

Exit codes are those of the design, section 7. What a command needs is imported when it is called; a
connector's start is too short for the modules typing and collections.
"""

from __future__ import annotations

import io
import os
import sys

from ..connector.connector import (
    BACKGROUND,
    KINDS,
    MISSING_PACKAGE,
    STANDALONE,
    is_connector_call,
    run_connector,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .command_entry import CommandEntry

# What shells show for a program that SIGINT ended.
INTERRUPTED = 130
# The modules of commands that change a run: their work stands where the answer cannot be shown.
_WRITERS = ("write", "decide", "repair")


_PAGED = ("explain", "history")
"""Commands whose answer is often longer than a screen."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Prints one sentence, never a traceback, for what was called wrongly."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_missing_streams()
    try:
        if is_connector_call(words):
            return run_connector(words[0], STANDALONE in words)
        if words[:1] == ["hook"] and len(words) == 3 and not words[1].startswith("-"):
            from ..connector.hook_call import run_hook

            return run_hook(words[1], words[2])
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What its encoding lacks is printed as "?" instead of ending with an error.
            sys.stdout.reconfigure(errors="replace")
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        return _tell_missing(error)
    except SystemExit as end:
        # Help and wrong use. Flushed while a failure can be told: Python would complain of it while it exits.
        try:
            sys.stdout.flush()
        except OSError as error:
            from .output import report_unshown

            return report_unshown(error)
        raise end


def _tell_missing(error: ModuleNotFoundError) -> int:
    """Say which package is missing and what brings it; one of our own modules is a defect, and raised."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "phasekeeper"):
        raise error
    from ..installations import upgrade_command

    text = f"phasekeeper: this needs the package {package}, which is not installed: {upgrade_command()}\n"
    sys.stderr.write(text)
    return MISSING_PACKAGE


def _open_missing_streams() -> None:
    """Hold the numbers of standard streams that are closed, or the next file opened would take them.

    Reading then finds the end, what is said on stderr is lost, and writing on stdout fails (EBADF).
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _run(words: Sequence[str]) -> int:
    if words[:1] and words[0] in _PAGED and sys.stdout.isatty():
        from ..terminal.pager import paged_output

        with paged_output():
            return _run_command(words)
    return _run_command(words)


def _run_command(words: Sequence[str]) -> int:
    if words == BACKGROUND:
        from ..hub.entry_points import run_daemon

        return run_daemon()
    from ..connector.command_call import WRITING, ask_server

    answer = ask_server(words)
    if answer is not None:
        try:
            answer.print_on(sys.stdout, sys.stderr)
        except OSError as error:
            from .output import report_unshown

            return report_unshown(error, writes=words[0] in WRITING)
        return answer.code
    from importlib import import_module

    from ..memory import collect_seldom
    from .parser import parse

    options = parse(words)
    command: CommandEntry = options.command
    if command.name in KINDS:
        return run_connector(command.name, options.standalone)
    if command.name == "hook":
        from ..connector.hook_call import run_hook

        return run_hook(options.client, options.event)
    # "module:function" of the catalogue, imported now.
    module, _, function = command.run.partition(":")
    path = module if "." in module else f"{__package__}.commands.{module}"
    try:
        if module in _WRITERS:
            from .output import tell_lock_waits

            tell_lock_waits()
        # What a command reads stays until it ends; looking through all of it again takes a fifth of the time.
        collect_seldom()
        done = getattr(import_module(path), function)(options)
        code = done if isinstance(done, int) else done.carry_out()
        sys.stdout.flush()
        return code
    except Exception as error:
        from .output import report_failure

        return report_failure(error, writes=module in _WRITERS)


if __name__ == "__main__":
    sys.exit(main())
