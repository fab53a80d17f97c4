"""A scripted assistant that knows nothing of a repository: it does what `next_step` says, and no more.

It calls `next_step` and `report` alone, and writes the files that `next_step` names under `produce` and under
what a report needs (`brings`). No report of it is refused. Where a person or a job is awaited it stops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp import Client

from tests.assistants_live.reading import filled_in_json, worked_over
from tests.server.mcp.rig import call, text_of
from tests.verdicts.runs import filled_data, filled_in

MOST_STEPS = 120

WORK = "src/work.py"
ADDRESS = "https://example.org/owner/name/pull/1"


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
        said = report_of(answer)
        result = await client.call_tool("report", {"run": run, **said})
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        answer = result.structured_content
    raise AssertionError(f"{run} was not finished in {MOST_STEPS} steps: {answer}")


def report_of(answer: dict[str, Any]) -> dict[str, Any]:
    """What is reported of the step: its good outcome, the tasks, and what it is said to need."""
    due = answer["suggestion"]["reports"][0]
    said: dict[str, Any] = {"step": due["step"], "outcome": due["outcomes"][0], "summary": "done as asked"}
    if due["form"]:
        said["summary"] = filled_in(due["form"], said["outcome"], "Looked at all of it.")
    if answer.get("tasks"):
        said["tasks"] = [task["id"] for task in answer["tasks"]]
    data = filled_data(due["data"]) if due["data"] else {}
    files: list[str] = []
    for needed in due["brings"]:
        if needed["kind"] == "data":
            assert "pr_url (the https address of a pull request" in needed["text"]
            data["pr_url"] = ADDRESS
        elif needed["kind"] == "named" or (needed["kind"] == "changed" and not needed["paths"]):
            files.append(WORK)
        elif needed["kind"] in ("files", "changed") and not needed["met"]:
            files += needed["paths"]
    for file in dict.fromkeys(files):
        write(Path(answer["root"]), {"path": file, "example": ""})
    if WORK in files:
        data["files"] = [WORK]
    return said | ({"data": data} if data else {})


def write(root: Path, entry: dict[str, Any]) -> None:
    """Make a file as the example has it. One that is there already is worked over."""
    path = root / entry["path"].replace("**", "made.txt").replace("*", "made")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.write_text(worked_over(path.read_text(encoding="utf-8")) + "\n", encoding="utf-8")
    else:
        path.write_text(filled_in_json(entry["example"] or "made\n"), encoding="utf-8")
