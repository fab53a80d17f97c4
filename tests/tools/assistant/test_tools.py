"""The list of tools: what one entry takes."""

from __future__ import annotations

import asyncio
from typing import cast

from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.tools.assistant.access import Access, RootRuns
from phasekeeper.tools.assistant.answer import Answer, AnswerBuilder
from phasekeeper.tools.assistant.tools import OfRoot, Tool


class Runs:
    """An `Access` to a root without runs."""

    async def place(self, root: str) -> RootRuns:
        runs: dict[str, Evaluation] = {}
        return RootRuns(root or "/r", runs)


async def count_runs(access: Access, arguments: OfRoot) -> Answer:
    """The tool that the test below adds."""
    place = await access.place(arguments.root)
    return AnswerBuilder({"root": place.root, "runs": len(place.runs)}, f"{len(place.runs)} runs").answer()


def test_a_tool_is_a_function_and_an_entry_of_the_list() -> None:
    tool = Tool("count_runs", "Count", "How many runs there are.", OfRoot, count_runs)
    assert tool.run is not None
    arguments = tool.arguments.model_validate({"root": "/work"})
    answer = asyncio.run(tool.run(cast("Access", Runs()), arguments))  # pyright: ignore[reportArgumentType]
    assert answer == Answer("0 runs", {"root": "/work", "runs": 0})
