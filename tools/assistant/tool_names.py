"""The tools that do what a command of the command line does: what an assistant is told to call instead."""

from __future__ import annotations

import re

_TOOLS = {
    "status": "status",
    "next": "next_step",
    "gates": "check_gate",
    "can": "check_action",
    "report": "report",
    "questions": "escalations",
    "escalations": "escalations",
    "escalate": "escalations with `ask`",
    "verify": "check_gate with `verify`",
    "answer": "request_decision",
    "approve": "request_decision",
    "resolve": "request_decision",
    "override": "request_decision with `override_to`",
    "start": 'report with step="start"',
}
_COMMAND = re.compile(r"`phasekeeper ([a-z]+)([^`\n]*)`")


def as_tools(text: str) -> str:
    """A sentence with tools in place of the commands that they stand for. A command that no tool does is a
    person's to type, which is said of it."""
    return _COMMAND.sub(_tool, text)


def _tool(command: re.Match[str]) -> str:
    return _TOOLS.get(command[1]) or f"{command[0]} (typed by a person)"
