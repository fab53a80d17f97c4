"""Writes the list of tools down as it is now: `python -m tests.server.mcp.snapshot`."""

from __future__ import annotations

import json

from tests.server.mcp.test_tools import SNAPSHOT, tools_as_json

if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(tools_as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
