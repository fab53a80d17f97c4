"""The tool `hook`: hooks of assistants' programs that call a tool of a server they are connected to.

Claude Code and Codex do so without a process for each call. It is in no list, so it costs a model nothing;
the programs' settings name it, and fill its arguments from the event (`phasekeeper install`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mcp_types as types

from ...tools.fence.hook_input import HookClient, read_event
from ...tools.fence.hook_output import HookOutput, refusal_output
from ..fence.guarded_roots import KnownRuns
from ..fence.hook_answer import answer_hook
from .tool_access import is_allowed

HOOK = "hook"


async def answer_hook_call(
    arguments: Mapping[str, Any], allowed: Sequence[Path], known: KnownRuns
) -> types.CallToolResult:
    """The answer to a call: its one text is what a hook's process would print, `{}` without an opinion.

    `allowed` are the folders that the client may look at, the one where it works first.
    """
    output = await asyncio.to_thread(_answer, arguments, allowed, known)
    return types.CallToolResult(content=[types.TextContent(text=output.stdout.strip() or "{}")])


def _answer(arguments: Mapping[str, Any], allowed: Sequence[Path], known: KnownRuns) -> HookOutput:
    client, name = arguments.get("client"), arguments.get("event")
    if client not in set(HookClient) or not isinstance(name, str) or not allowed:
        return HookOutput()
    event = read_event(HookClient(client), name, arguments)
    event = event if event.folder else event._replace(folder=str(allowed[0]))
    if not is_allowed(event.folder, allowed):
        return HookOutput()
    output = answer_hook(event, known=known)
    # There is no exit code here: what fails closed is refused in words.
    return refusal_output(event, output.stderr.strip()) if output.code else output
