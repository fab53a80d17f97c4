"""What a call of an assistant's tool would touch: paths that it writes, agents that it starts.

By the tools' own names and fields, as the clients send them to hooks (driven with Claude Code 2.1, Codex
0.171, Gemini CLI 0.61 and Copilot CLI 1.0; Cursor's and VS Code's by their documents). A tool that is not
known, as one of another MCP server, is taken by the verb in its name and the fields that name files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .shell_writes import written_paths

OWN_SERVER = "phasekeeper"
"""How our MCP server is called in the clients' settings; their plugins add to it."""


class OwnCall(NamedTuple):
    """A call of one of our own tools: its name and arguments."""

    tool: str
    arguments: Mapping[str, Any]


class Touches(NamedTuple):
    """`paths` are as the call names them, absolute or from where it works; a folder that goes with all below
    it ends in a slash. `command` is the shell's, `folder` where the call says that it runs.
    """

    paths: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    command: str = ""
    folder: str = ""
    own: OwnCall | None = None


def touches_of(tool: str, given: Mapping[str, Any]) -> Touches:
    """What the call of a tool would touch."""
    if own := _own_call(tool, given):
        return Touches(own=own)
    if tool in _SHELLS:
        command = _first_text(given, ("command", "cmd", "chars"))
        folder = _first_text(given, ("workdir", "cwd", "directory", "dir_path", "working_directory"))
        return Touches(written_paths(command), command=command, folder=folder)
    if tool in _PATCHES:
        return Touches(tuple(_patched_paths(_first_text(given, ("command", "input", "patch")))))
    if tool in _STARTERS:
        agent = _first_text(given, ("subagent_type", "agent_type", "agent_name", "agent", "agentName"))
        return Touches(agents=(agent,) if agent else ())
    verb = None if tool in _READERS else _WRITING_VERB.search(tool)
    if verb is None and tool not in _WRITERS:
        return Touches()
    takes_folders = verb is not None and verb[2].lower() in _OF_FOLDERS
    return Touches(tuple(f"{path.rstrip('/')}/" if takes_folders else path for path in _named_paths(given)))


_SHELLS = frozenset((
    "Bash", "bash", "Monitor", "PowerShell", "powershell", "Shell", "shell", "run_shell_command",
    "write_stdin", "exec_command", "local_shell", "write_bash", "runInTerminal", "run_in_terminal",
))  # fmt: skip
_PATCHES = frozenset(("apply_patch", "ApplyPatch"))
_STARTERS = frozenset(("Agent", "Task", "task", "spawn_agent", "invoke_agent", "runSubagent"))
_WRITERS = frozenset((
    "Write", "Edit", "MultiEdit", "NotebookEdit", "StrReplace", "TabWrite", "Delete", "write_file", "replace",
    "create", "edit", "str_replace_editor", "str_replace_based_edit_tool", "editFiles", "createFile",
))  # fmt: skip
# Names with a verb that write nothing of the workspace's.
_READERS = frozenset(("TodoWrite", "write_todos", "update_plan", "ExitPlanMode", "update_todo"))
_WRITING_VERB = re.compile(
    r"(^|[_\-.]|(?<=[a-z]))(write|edit|create|delete|remove|move|rename|append|insert|replace|patch|save)",
    re.IGNORECASE,
)
_PATH_FIELDS = (
    "file_path", "filePath", "path", "notebook_path", "filename", "file", "target_file", "uri",
    "relative_path", "source", "destination", "target", "old_path", "new_path", "oldPath", "newPath",
)  # fmt: skip
_OF_FOLDERS = ("delete", "remove", "move", "rename")
_LIST_FIELDS = ("paths", "files", "file_paths", "edits", "replacements")
_OWN_TOOLS = "status|next_step|check_gate|check_action|report|escalations|request_decision|wait_for_change"
_OWN = re.compile(rf"(?:mcp__|mcp_)?\w*{OWN_SERVER}(?:__|_|-|/)({_OWN_TOOLS})")


def _own_call(tool: str, given: Mapping[str, Any]) -> OwnCall | None:
    found = _OWN.fullmatch(tool)
    return OwnCall(found[1], given) if found else None


def _named_paths(given: Mapping[str, Any]) -> Iterator[str]:
    """The values of the fields that name files, also of maps in lists."""
    for name in _PATH_FIELDS:
        value = given.get(name)
        if isinstance(value, str) and value:
            yield value.removeprefix("file://")
    for name in _LIST_FIELDS:
        listed = given.get(name)
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, str) and item:
                yield item
            elif isinstance(item, Mapping):
                yield from _named_paths(item)


def _patched_paths(patch: str) -> Iterator[str]:
    """The files of a patch: of Codex's own form (`*** Update File: PATH`), or of a unified diff."""
    for line in patch.splitlines():
        found = _PATCH_LINE.match(line)
        path = (found[1] or found[2]).strip() if found else ""
        if path and path != "/dev/null":
            yield path


_PATCH_LINE = re.compile(
    r"\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)|(?:---|\+\+\+) (?:[ab]/)?([^\t]+)"
)


def _first_text(given: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of some fields that has a text; a list of words is one command."""
    for name in names:
        value = given.get(name)
        if isinstance(value, list):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return value
    return ""
