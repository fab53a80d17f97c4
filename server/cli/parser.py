"""The command line as argparse reads it, built from the catalogue. The engine is not imported here."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from ..version import VERSION
from . import catalog

_ABOUT = """\
Says, from the files alone, which phase each piece of work is in, what comes
next and why, whether the gate is open, and whether a person is needed.
"""
_MORE = """\
exit codes:
  check      0 clean, 1 an error finding (or a failed gate with --gates),
             3 a person is awaited
  next, can, and what writes
             0 go on, 1 refused, 3 a person is awaited
  others     0
  all        2 wrong use, or a definition that is broken
             4 the answer could not be shown; what was recorded stands, or
               stderr says that it is not known and what shows it

PATH is any file or folder of the work; the root around it is found.
RUN is a run's path from the root or its last segments.

Start with: phasekeeper demo
"""


# Without PATH a command is about what lies here, and without RUN about every run. `evaluations`: see
# `selection.AllEvaluations`.
_DEFAULTS = {"path": Path(), "run": None, "root": None, "json": False, "evaluations": None}


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; `command` is the catalogue's entry.

    Prints help or what is wrong, and ends the process, where that is asked for or needed.
    """
    parser = _parser(_Parser, words)
    options, unknown = parser.parse_known_args(words)
    if unknown:
        options.printed.refuse(unknown)
    if options.command is None:
        options.printed.print_help()
        parser.exit()
    return argparse.Namespace(**_DEFAULTS | vars(options))


def parse_for_caller(words: Sequence[str]) -> argparse.Namespace | None:
    """The options of another process' command line; None for one that asks for help or is wrong."""
    try:
        options = _silent_parser().parse_args(words)
    except _ParserExit:
        return None
    return argparse.Namespace(**_DEFAULTS | vars(options)) if options.command else None


class _Parser(argparse.ArgumentParser):
    """Says of an unknown command or option which was meant; argparse lists all of them, or none."""

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"argument COMMAND: invalid choice: (.+) \(choose from (.+)\)$", message)
        if wrong:
            meant = _suggestion(wrong[1].strip("'"), re.findall(r"[\w-]+", wrong[2]))
            said = f"there is no command {wrong[1]}; {meant}`{self.prog} --help` lists them all"
            self.exit(2, f"phasekeeper: {said}\n")
        super().error(message)

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """End for words of the command line that this command has no use for."""
        option = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
        said = f"one word too many, {words[0]!r}; "
        if option:
            said = f"there is no option {option!r}; {_suggestion(option, [*self._option_string_actions])}"
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {said}`{self.prog} --help` shows what it takes\n")


def _suggestion(word: str, known: Sequence[str]) -> str:
    """The question whether one of the known words was meant; "" where none is near."""
    # Imported late: only a mistake needs it.
    import difflib

    by_name = {each.lstrip("-"): each for each in known}
    names = difflib.get_close_matches(word.lstrip("-"), by_name, n=2, cutoff=0.6)
    close = [by_name[name] for name in names]
    return f"did you mean {' or '.join(close)}? " if close else ""


class _ParserExit(Exception):  # noqa: N818 - not for people
    """argparse would print something and end the process."""


class _SilentParser(argparse.ArgumentParser):
    """Prints nothing, ends nothing: raises _ParserExit instead."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _ParserExit

    def error(self, message: str) -> NoReturn:
        raise _ParserExit

    def print_help(self, file: object = None) -> NoReturn:
        raise _ParserExit


@cache
def _silent_parser() -> argparse.ArgumentParser:
    return _parser(_SilentParser)


def _parser(
    kind: type[argparse.ArgumentParser], words: Sequence[str] | None = None
) -> argparse.ArgumentParser:
    """A parser of every command, with the arguments of the one that `words` begin with, else of all."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = kind(prog="phasekeeper", description=_ABOUT, epilog=_MORE, formatter_class=raw)
    parser.set_defaults(command=None, printed=parser)
    version = f"phasekeeper {VERSION}"
    parser.add_argument("--version", action="version", version=version, help="show the version")
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND", prog="phasekeeper")}
    for command in catalog.COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            outer = groups[""].add_parser(group, help=catalog.GROUPS[group])
            outer.set_defaults(command=None, printed=outer)
            groups[group] = outer.add_subparsers(title="commands", metavar="COMMAND")
        inner = groups[group].add_parser(
            name,
            help=command.about,
            description=f"{command.about[0].upper()}{command.about[1:]}.",
            epilog=command.more,
            formatter_class=raw,
        )
        inner.set_defaults(command=command, printed=inner)
        called = command.name.split()
        if words is None or list(words[: len(called)]) == called:
            for argument in command.arguments:
                inner.add_argument(*argument.names, **argument.options)
    return parser
