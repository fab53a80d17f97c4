"""The tools that do what a command of the command line does: what an assistant is told to call instead."""

from __future__ import annotations

import json
import re
import shlex

from ...orchestration.sanitize import plain

_TOOLS = {
    "status": "status",
    "next": "next_step",
    "gates": "check_gate",
    "can": "check_action",
    "report": "report",
    "questions": "escalations",
    "escalations": "escalations",
    "escalate": "escalations with `ask`",
    "claim": "next_step with `claim`",
    "verify": "check_gate with `verify`",
    "answer": "request_decision",
    "approve": "request_decision",
    "resolve": "request_decision",
    "override": "request_decision with `override_to`",
    "start": 'report with step="start"',
}
_DECIDES = {"answer": "question", "override": "override_to"}
"""Commands about a run, and a question of it or a phase: what that is to the tool."""
_COMMAND = re.compile(r"`phasekeeper ([a-z]+)([^`\n]*)`")
_ARGUMENTS = {
    "--data": "data",
    "--next": "next",
    "--report": "summary",
    "--stage": "stage",
    "--summary": "summary",
    "--task": "tasks",
    "--to": "override_to",
}
_OPTION = re.compile(r"`(--[a-z]+)(?: ([^`\n]+))?`")


def as_tools(text: str) -> str:
    """A sentence with tools and their arguments in place of commands and options in backticks. A command that
    no tool does is a person's to type, which is said of it."""
    return _OPTION.sub(_argument, _COMMAND.sub(_tool, text))


def plain_tools(text: str, limit: int) -> str:
    """`as_tools` of a text that may hold names from files, safe to show."""
    return plain(as_tools(text), limit)


def _tool(command: re.Match[str]) -> str:
    if command[1] in _DECIDES and (call := _decision(command[2], _DECIDES[command[1]])):
        return call
    return _TOOLS.get(command[1]) or f"{command[0]} (typed by a person)"


def _decision(words: str, argument: str) -> str:
    """The call that asks a person what a command decides, the run and then the question or phase; "" where it
    names none."""
    try:
        run, what, *_ = (word for word in shlex.split(words) if not word.startswith("-"))
    except ValueError:
        return ""
    return f"request_decision(run={_as_text(run)}, {argument}={_as_text(what)})"


def _argument(option: re.Match[str]) -> str:
    name, value = _ARGUMENTS.get(option[1]), option[2] or ""
    if name is None:
        return option[0]
    if not value or value.isupper():
        return f"`{name}`"
    return f"{name}=[{_as_text(value)}]" if name == "tasks" else f"{name}={_as_text(value)}"


def _as_text(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
