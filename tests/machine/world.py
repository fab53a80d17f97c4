"""One run of a workflow on disk, and what people, assistants and bad luck do to its files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

from tests.machine.disk import Tree, files

PLAN = """\
# Feature - Master Plan

**Status**: [ ] Planning

## Phase 1: Foundation (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | feature-01 | `01-first.md` | What it does | impl | [ ] |
| 2 | feature-02 | `02-tests.md` | Tests of the stage | **test** | [ ] |

## Phase 2: Surface (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 3 | feature-03 | `03-surface.md` | What is seen | impl | [ ] |

**Progress**: 0/3 tasks complete (0%)
"""
REPORTS = (
    "# Phase Quality Gate\n\n**Phase**: 1\n\n**PHASE GATE STATUS**: PASS\n",
    (
        "# Phase Quality Gate\n\n**Phase**: 1\n\n**PHASE GATE STATUS**: PASS\n\n"
        "Ran it.\n\n- 01: met\n- 02: met\n- 03: met\n"
    ),
    "# Phase Quality Gate\n\n**Phase**: 1\n\n**PHASE GATE STATUS**: FAIL\n\n**Fix Scope**: 01-first.md\n",
    "# Task Complete\n\n**Task File**: 01-first.md\n\n**Status**: DONE\n",
    "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: PASS\n",
    "# Failure Analysis\n\n**Phase**: 1\n\nThe cause in 01.\n",
    "Nothing that any form knows.\n",
)


class World:
    """A run that was just begun, in a root of its own."""

    def __init__(self, root: Path, workflow: str):
        self.root = root
        self._newest_ns = 0
        (root / ".git").mkdir()
        workspace = Workspace(root)
        self.workflow: Workflow = workspace.library.workflow(workflow)
        self.run, _ = apply.start_run(workspace, self.workflow, "n1", "A title", "ann")
        if workflow == "master-plan":
            for name in ("01-first.md", "02-tests.md", "03-surface.md"):
                self.write(f"{self.run}/{name}", f"# {name}\n")
            self.write(f"{self.run}/MASTER_PLAN.md", PLAN)

    # ---- how it stands

    def cold(self, parsed: dict[tuple[str, str], Any] | None = None) -> Evaluation | None:
        """The run judged by somebody who has just come, or who kept what was parsed; None when it is none."""
        workspace = Workspace(self.root, parsed={} if parsed is None else parsed)
        return next((workspace.evaluate(match) for match in workspace.matches if match.run == self.run), None)

    @property
    def journal(self) -> str:
        return f"{self.run}/.phasekeeper/journal.jsonl"

    @property
    def state(self) -> str | None:
        return f"{self.run}/{self.workflow.state.file}" if self.workflow.state else None

    def texts(self) -> Tree:
        """The files that people edit."""
        return {path: raw for path, raw in files(self.root).items() if "/.phasekeeper/" not in path}

    def editable(self) -> list[str]:
        own = (f"{self.run}/.phasekeeper/", ".git/")
        return sorted(path for path in files(self.root) if not path.startswith(own))

    # ---- what is done to it by hand

    def write(self, path: str, content: str | bytes | Mapping[str, Any], after_s: int = 0) -> None:
        """Save a file as editors do, and later than any file before."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        raw = content if isinstance(content, bytes) else _text(content).encode()
        beside = target.with_name(f"{target.name}.saving")
        beside.write_bytes(raw)
        self._newest_ns = max(time.time_ns(), self._newest_ns + 1_000_000) + after_s * 10**9
        os.utime(beside, ns=(self._newest_ns, self._newest_ns))
        beside.replace(target)

    def read(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return b""

    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def append(self, raw: bytes) -> None:
        """Put bytes at the end of the journal, as a crash or a person would."""
        path = self.root / self.journal
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(raw)

    def next_line(self, **fields: object) -> bytes:
        """A line that follows the last one of the journal."""
        lines = [line for line in self.read(self.journal).split(b"\n") if line.strip()]
        entry: dict[str, object] = {"seq": len(lines) + 1, "at": "2026-01-01T00:00:00.000+00:00", **fields}
        return json.dumps(entry | {"prev": digest_of(lines[-1]) if lines else ""}).encode()


def _text(content: str | Mapping[str, Any]) -> str:
    return content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
