"""The arguments of what keeps a root in order: setting it up, looking back, mending, passing on."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

_HISTORY = """\
A line a record: when, what, who, why, and what came of it. --events names each
by the lifecycle event it is (session.started, loop.phase.complete, ...).

exit codes: 0, 1 the journal cannot be trusted, 2 wrong use
"""
_REPAIR = """\
Finishes interrupted writes, removes what they left, and links the branches of a
journal that forked. Everything that is taken out or replaced is copied before.
What did not count before counts then, so a person agrees to it on a terminal,
where the run's name is typed.

exit codes: 0 done, 1 refused, 2 wrong use
"""
_INIT = """\
Shows what it will write, and asks. Files that exist are only added to:
  .phasekeeper/config.yaml   the parameters there are, commented out
  .gitattributes             journals are merged line by line
  .gitignore                 claims and locks stay on this machine
  .claude/settings.json, .codex/rules/, .cursor/cli.json, .gemini/policies/
                             decisions and Phasekeeper's files are denied to assistants:
                             Claude Code, and the others whose folder is there

exit codes: 0 done, 1 refused, 2 wrong use
"""


def add_upkeep(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add `history`, `repair` and `init`, and `--markdown` to `escalations`."""
    history = command(commands, "history", "what was recorded of a run", _HISTORY)
    history.add_argument("run", metavar="RUN", help="the run")
    history.add_argument("--events", action="store_true", help="in lifecycle events")
    repair = command(commands, "repair", "mend a run's journal and interrupted writes", _REPAIR)
    repair.add_argument("run", metavar="RUN", help="the run")
    repair.add_argument("--drop-bad-lines", action="store_true", help="take out lines that cannot be read")
    repair.add_argument("--restore", action="store_true", help="put the last good state file back")
    init = command(commands, "init", "set a repository up for runs that people and assistants share", _INIT)
    init.add_argument("--yes", action="store_true", help="write without asking")
    init.add_argument(
        "--for",
        dest="assistants",
        nargs="+",
        choices=("claude", "codex", "cursor", "gemini"),
        metavar="ASSISTANT",
        help="deny decisions to these: claude, codex, cursor, gemini",
    )
    for parser in (history, repair):
        parser.add_argument("--json", action="store_true", help="the answer as JSON")
    for parser in (history, repair, init):
        parser.add_argument("--root", type=Path, metavar="DIR", help="the root, instead of the one around .")
        parser.set_defaults(path=Path())
    commands.choices["escalations"].add_argument(
        "--markdown",
        action="store_const",
        dest="command",
        const="escalations --markdown",
        help="as Markdown, to be passed on",
    )
