"""Running the official suite, and reading what it found."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.mcp.peers import LIMIT_S, program

_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[-\d]+Z\Z")
Check = Mapping[str, Any]


@dataclass(frozen=True)
class SuiteResult:
    """What the suite checked, by scenario."""

    checks: Mapping[str, Sequence[Check]]

    def pass_count(self) -> int:
        return len(self.with_status("SUCCESS"))

    def with_status(self, status: str) -> list[str]:
        """The checks of a status, each with its scenario and what was wrong."""
        return [
            ": ".join(filter(None, (scenario, check["id"], check.get("errorMessage"))))
            for scenario, checks in self.checks.items()
            for check in checks
            if check["status"] == status
        ]

    def only(self, scenarios: Sequence[str]) -> SuiteResult:
        return SuiteResult({name: self.checks.get(name, ()) for name in scenarios})


async def run_suite(package: str, url: str, folder: Path, *options: str) -> SuiteResult:
    """Have a version of the suite examine a server with all its scenarios."""
    command = program(f"{package}/dist/index.js")
    words = [*command, "server", "--url", url, "--suite", "all", "--output-dir", str(folder), *options]
    out = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdout=out, stderr=asyncio.subprocess.STDOUT)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), LIMIT_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    found = _read(folder)
    assert found.checks, said.decode(errors="replace")
    return found


def _read(folder: Path) -> SuiteResult:
    found: dict[str, Sequence[Check]] = {}
    for path in sorted(folder.glob("*/checks.json")):
        named = _FOLDER.match(path.parent.name)
        assert named, path
        found[named[1]] = json.loads(path.read_text(encoding="utf-8"))
    return SuiteResult(found)
