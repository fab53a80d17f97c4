"""The arguments of the command line, and what `--help` says. The engine is not imported here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..version import VERSION
from .parser_run import add_running
from .parser_write import add_writing

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

PATH is any file or folder of the work; the root around it is found.
RUN is a run's path from the root or its last segments.

Start with: phasekeeper demo
"""
_NEXT = """\
exit codes:
  0 there is a next step, or nothing is left to do
  1 nothing can go on, or nothing can be said
  3 a person is awaited
  2 wrong use, or a definition that is broken
With several runs 1 goes before 3, and 3 before 0.

--json prints the evaluation of one run when --run, or a PATH inside it,
asks for that run, else {"root": ROOT, "runs": [EVALUATION, ...]}.
"""
_GATES = """\
A gate that is open lacks evidence for a criterion; one that is failed has
evidence against it. What it allows may be done once it has passed; what it
forbids is forbidden while it is in force.
"""
_CAN = """\
exit codes: 0 yes, 1 no, 3 not before a person answers, 2 wrong use

example: phasekeeper can late-fees test
"""
_CHECK = """\
exit codes:
  1 an error finding, or a failed gate with --gates
  3 a person is awaited (0 with --allow waiting)
  0 neither
  2 wrong use, or a definition that is broken
The worst run counts. Findings that a person overrode do not.

example: phasekeeper check --gates --allow waiting --format github
"""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; `command` names what is to be done. Prints help and ends where that is asked for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        options.printed.print_help()
        parser.exit()
    return options


class _Parser(argparse.ArgumentParser):
    """Says of a command there is not which was meant; argparse lists all of them."""

    def error(self, message: str) -> NoReturn:
        # Imported late: only a mistake needs it.
        import difflib

        wrong = re.match(r"argument COMMAND: invalid choice: (.+) \(choose from (.+)\)$", message)
        if wrong:
            known = re.findall(r"[\w-]+", wrong[2])
            close = difflib.get_close_matches(wrong[1].strip("'"), known, n=2, cutoff=0.6)
            meant = f"did you mean {' or '.join(close)}? " if close else ""
            said = f"there is no command {wrong[1]}; {meant}`{self.prog} --help` lists them all"
            self.exit(2, f"phasekeeper: {said}\n")
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="phasekeeper",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=None, printed=parser)
    said = f"phasekeeper {VERSION}"
    parser.add_argument("--version", action="version", version=said, help="show the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="phasekeeper")
    _reading(commands, "status", "every run: status, phase, next step, shut gates, questions")
    _reading(commands, "next", "the next step, why, and on what evidence", _NEXT)
    _reading(commands, "gates", "the gates, their criteria and the evidence for each", _GATES)
    _reading(commands, "questions", "what a person is asked, with the options there are")
    _reading(commands, "escalations", "the questions that are escalations")
    _reading(commands, "explain", "every rule and criterion looked at, with the values seen")
    _can(commands)
    _check(commands)
    _workflow(commands)
    add_writing(commands, _command)
    add_running(commands, _command)
    _demo(commands)
    return parser


def _command(
    commands: Any, name: str, about: str, more: str = "", command: str = ""
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command or name)
    return parser


def _reading(commands: Any, name: str, about: str, more: str = "") -> None:
    parser = _command(commands, name, about, more)
    _where(parser)
    parser.add_argument("--run", metavar="RUN", help="this run only")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="PATH",
        help="a file or folder of the work, or a run's name; inside a run it means that run (default: .)",
    )
    _root(parser)


def _root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", type=Path, metavar="DIR", help="the root, instead of the one around PATH")


def _can(commands: Any) -> None:
    parser = _command(commands, "can", "whether a phase or action may be done now, and why", _CAN)
    parser.add_argument("run", metavar="RUN", help="the run")
    parser.add_argument("step", metavar="STEP", help="a phase or an action of its workflow")
    _where(parser)
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _check(commands: Any) -> None:
    parser = _command(commands, "check", "findings with file, line and column, for people and builds", _CHECK)
    _where(parser)
    parser.add_argument("--run", metavar="RUN", help="this run only")
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="how to print (default: text)")
    parser.add_argument("--gates", action="store_true", help="a failed gate fails the check too")
    waiting = "an awaited person does not fail the check"
    parser.add_argument("--allow", choices=("waiting",), action="append", default=[], help=waiting)
    parser.add_argument("--hints", action="store_true", help="print hints too")


def _workflow(commands: Any) -> None:
    parser = commands.add_parser("workflow", help="the workflows: list, show, lint, graph")
    parser.set_defaults(command=None, printed=parser)
    inner = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = _command(inner, "list", "every workflow that is known here", command="workflow list")
    _root(listing)
    listing.add_argument("--json", action="store_true", help="the answer as JSON")
    show = _command(inner, "show", "one workflow: phases, gates, limits, questions", command="workflow show")
    show.add_argument("name", metavar="NAME", help="a workflow")
    show.add_argument("--yaml", action="store_true", help="the definition itself, to start your own from")
    _root(show)
    lint = _command(inner, "lint", "check a definition; exit 2 if it cannot be used", command="workflow lint")
    lint.add_argument("file", type=Path, metavar="FILE", help="a YAML file")
    lint.add_argument("--json", action="store_true", help="the answer as JSON")
    graph = _command(inner, "graph", "a workflow or a run as a Mermaid diagram", command="workflow graph")
    graph.add_argument("name", nargs="?", metavar="NAME", help="a workflow")
    graph.add_argument("--run", metavar="RUN", help="a run instead; where it stands is marked")
    _root(graph)


def _demo(commands: Any) -> None:
    about = "copy small examples of all five workflows and show their status"
    parser = _command(commands, "demo", about)
    new = Path("phasekeeper-demo")
    parser.add_argument("dir", nargs="?", type=Path, default=new, metavar="DIR", help=f"a new folder ({new})")
