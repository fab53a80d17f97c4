"""A scripted assistant that knows nothing of a repository: it does what `next_step` says, and no more.

It calls `next_step` and `report` alone, and writes the files that `next_step` names under `produce`. Where a
person or a job is awaited it stops.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mcp import Client

from tests.assistants_live.reading import filled_in_json, worked_over
from tests.server.mcp.rig import call, text_of
from tests.verdicts.runs import filled_data, filled_in

MOST_STEPS = 120

WORK = "src/work.py"
ADDRESS = "https://example.org/pull/1"


async def drive(client: Client, run: str) -> dict[str, Any]:
    """Go on with a run until nothing is left to do or somebody is awaited; the last answer."""
    answer = await call(client, "next_step", run=run)
    for _ in range(MOST_STEPS):
        suggestion = answer["suggestion"]
        if suggestion["kind"] in ("wait", "escalate", "stop", "none") or not suggestion.get("reports"):
            return answer
        if suggestion["agents"] == ["person"]:
            return answer
        for entry in suggestion.get("produce", ()):
            write(Path(answer["root"]), entry)
        for task in answer.get("tasks", ()):
            for file in task["files"]:
                write(Path(answer["root"]), {"path": file, "example": ""})
        said = report_of(answer)
        result = await client.call_tool("report", {"run": run, **said})
        if wanted := re.search(r"these files exist: ([^;]+)", text_of(result)):
            for file in wanted[1].split(", "):
                write(Path(answer["root"]), {"path": file.strip(), "example": ""})
            result = await client.call_tool("report", {"run": run, **said})
        if "names the files that were changed" in text_of(result):
            write(Path(answer["root"]), {"path": WORK, "example": ""})
            said["data"] = {**said.get("data", {}), "files": [WORK]}
            result = await client.call_tool("report", {"run": run, **said})
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        answer = result.structured_content
    raise AssertionError(f"{run} was not finished in {MOST_STEPS} steps: {answer}")


def report_of(answer: dict[str, Any]) -> dict[str, Any]:
    """What is reported of the step: its good outcome, the tasks, and the data that was shown."""
    due = answer["suggestion"]["reports"][0]
    said: dict[str, Any] = {"step": due["step"], "outcome": due["outcomes"][0], "summary": "done as asked"}
    if due["form"]:
        said["summary"] = filled_in(due["form"], said["outcome"], "Looked at all of it.")
    if answer.get("tasks"):
        said["tasks"] = [task["id"] for task in answer["tasks"]]
    data = filled_data(due["data"]) if due["data"] else {}
    return said | ({"data": data | ({"pr_url": ADDRESS} if "pr_url" in data else {})} if data else {})


def write(root: Path, entry: dict[str, Any]) -> None:
    """Make a file as the example has it. One that is there already is worked over."""
    path = root / entry["path"].replace("**", "made.txt").replace("*", "made")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.write_text(worked_over(path.read_text(encoding="utf-8")) + "\n", encoding="utf-8")
    else:
        path.write_text(filled_in_json(entry["example"] or "made\n"), encoding="utf-8")
