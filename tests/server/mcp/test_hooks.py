"""The tool `hook`, which is in no list: the hooks of programs that are connected anyway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.roots import TASKS, put, task
from tests.server.mcp.rig import ERAS, async_test, rig

DECISION = f"{TASKS}/T1/accept/decision.json"
eras = pytest.mark.parametrize("era", ERAS)


async def answer(connection: Any, root: Path, **more: Any) -> dict[str, Any]:
    sent = {"client": "claude", "event": "PreToolUse", "session_id": "s", "cwd": str(root), **more}
    return json.loads((await connection.call_tool("hook", sent)).content[0].text)


@eras
@async_test
async def test_a_hook_is_answered_in_the_clients_form_and_is_in_no_list(root: Path, era: str) -> None:
    task(root, "T1")
    put(root / ".phasekeeper/config.yaml", "guard: {runs: ['**']}\n")
    async with rig() as r, r.client(root, era) as client:
        assert "hook" not in [tool.name for tool in (await client.list_tools()).tools]
        write = {"tool_name": "Write", "tool_input": json.dumps({"file_path": DECISION})}
        said = (await answer(client, root, **write))["hookSpecificOutput"]
        assert said["permissionDecision"] == "deny"
        assert "holds a person's decision" in said["permissionDecisionReason"]
        assert await answer(client, root, tool_name="Read", tool_input={"file_path": DECISION}) == {}
        assert await answer(client, root, **write, client="clippy") == {}
        assert await answer(client, root, event=3) == {}
        # What lies outside of the client's folders is not looked at, guarded or not.
        outside = root.parent / "outside"
        task(outside, "T1")
        put(outside / ".phasekeeper/config.yaml", "guard: {runs: ['**']}\n")
        assert await answer(client, outside, **write) == {}
        # An event that does not say where it works is that of the connection's folder.
        assert "hookSpecificOutput" in await answer(client, Path(), **write | {"cwd": ""})
