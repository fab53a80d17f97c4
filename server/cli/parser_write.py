"""The arguments of the commands that write."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .parser_upkeep import add_upkeep

Command = Callable[..., argparse.ArgumentParser]

_DECISION = """\
A decision is a person's: it is asked for on a terminal, where the run's name
is typed. Nothing gets round that. The reason is recorded with who decided.
"""
_REPORT = """\
The report is recorded, its effects are written, and the new next step is
printed. A report that is not in its turn is refused.

exit codes: 0 recorded, 1 refused, 3 recorded and a person is awaited, 2 wrong use

example: phasekeeper report late-fees codegen ok --summary "fees are rounded"
"""

_ESCALATE = """\
For whoever cannot go on alone. The question is open until a person answers it:
`continue` lets the run go on, `stop` stops it.

exit codes: 3 a person is awaited, 1 refused, 2 wrong use
"""


def add_writing(commands: Any, command: Command) -> None:
    """Add the writing commands; `command(commands, name, about, more)` makes one parser."""
    start = command(commands, "start", "a new run, its folder and first state, ready to work in")
    start.add_argument("workflow", metavar="WORKFLOW", help="its workflow")
    start.add_argument("name", metavar="NAME", help="its name")
    start.add_argument("--title", help="what it is about")
    _common(start)
    _report(commands, command)
    escalate = _on_run(commands, command, "escalate", "put a question to a person", _ESCALATE)
    escalate.add_argument("question", metavar="QUESTION", help="what a person has to decide, and why")
    escalate.add_argument("--task", nargs="+", metavar="ID", help="the tasks it is about")
    escalate.add_argument("--as", dest="who", metavar="WHO", help="who asks")
    _decisions(commands, command)
    redo = _on_run(commands, command, "redo", "do a phase once more")
    redo.add_argument("phase", metavar="PHASE", help="the phase, not a later one than the present")
    redo.add_argument("--reason", help="why")
    _claims(commands, command)
    add_upkeep(commands, command)


def _on_run(
    commands: Any, command: Command, name: str, about: str, more: str = ""
) -> argparse.ArgumentParser:
    parser = command(commands, name, about, more)
    parser.add_argument("run", metavar="RUN", help="the run")
    _common(parser)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", type=Path, metavar="DIR", help="the root, instead of the one around .")
    parser.add_argument("--json", action="store_true", help="the run's evaluation as JSON")
    parser.set_defaults(path=Path())


def _report(commands: Any, command: Command) -> None:
    parser = _on_run(
        commands, command, "report", "record what the work of a phase or action came to", _REPORT
    )
    parser.add_argument("step", metavar="STEP", help="a phase or an action")
    parser.add_argument("outcome", metavar="OUTCOME", help="one of the step's outcomes, as `ok` or `fail`")
    parser.add_argument("--task", nargs="+", metavar="ID", help="the tasks it is about")
    parser.add_argument("--failed", nargs="+", metavar="ID", help="the tasks that failed")
    parser.add_argument("--stage", metavar="ID", help="the stage of the plan, where no task tells it")
    parser.add_argument("--next", metavar="PHASE", help="the phase to jump to")
    parser.add_argument("--manual", nargs="+", metavar="TEXT", help="criteria that a person has to check")
    parser.add_argument("--summary", metavar="TEXT", help="what was done, in a sentence")
    parser.add_argument("--data", metavar="FILE", help="more data, a JSON object (- for standard input)")
    parser.add_argument("--as", dest="who", metavar="WHO", help="who reports")
    parser.add_argument("--token", type=int, metavar="N", help="the token of WHO's claim on the task")


def _decisions(commands: Any, command: Command) -> None:
    for name in ("answer", "resolve"):
        parser = _on_run(commands, command, name, "choose an option of an open question", _DECISION)
        parser.add_argument("question", metavar="QUESTION", help="its id, as `questions` shows it")
        parser.add_argument("option", metavar="OPTION", help="one of its options")
        parser.add_argument("--reason", metavar="TEXT", help="why (needed)")
    approve = _on_run(commands, command, "approve", "choose the first option of an approval", _DECISION)
    approve.add_argument("question", nargs="?", metavar="QUESTION", help="where more than one is open")
    approve.add_argument("--reason", metavar="TEXT", help="why (needed)")
    adopt = command(
        commands, "adopt", "let plans count that were under way before anyone approved them", _DECISION
    )
    adopt.add_argument("run", nargs="?", metavar="RUN", help="the run")
    adopt.add_argument("--all", action="store_true", help="every run that waits for it")
    adopt.add_argument("--reason", metavar="TEXT", help="why (needed)")
    _common(adopt)
    override = _on_run(commands, command, "override", "go against a suggestion or a shut gate", _DECISION)
    override.add_argument("--to", required=True, metavar="PHASE", help="the phase to go to")
    override.add_argument("--reason", metavar="TEXT", help="why (needed)")


def _claims(commands: Any, command: Command) -> None:
    claim = _on_run(commands, command, "claim", "take a task, so that nobody else does")
    claim.add_argument("task", metavar="TASK", help="a task that can start")
    claim.add_argument("--as", dest="who", required=True, metavar="WHO", help="who takes it")
    claim.add_argument(
        "--ttl", type=int, default=3600, metavar="SECONDS", help="how long it lasts (default: 3600)"
    )
    release = _on_run(commands, command, "release", "give a claimed task back")
    release.add_argument("task", metavar="TASK", help="the task")
    release.add_argument("--as", dest="who", required=True, metavar="WHO", help="who took it")
