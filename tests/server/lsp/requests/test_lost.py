"""A folder that was a run: the editor is told why it is none any more, and by which file."""

from __future__ import annotations

from typing import Any

from tests.roots import TASKS, put, task
from tests.server.lsp.client import Client, run_with

RUN, STATE = f"{TASKS}/T1", f"{TASKS}/T1/state.json"
NAME = "artifact-pipeline"


def test_a_file_that_is_no_sign_of_a_run_any_more_is_named_with_what_it_lacks(root):
    folder = task(root, "T1")

    async def work(client: Client) -> None:
        async def lost(workflow: str = NAME) -> Any:
            asked = {"root": str(root), "run": RUN, "workflow": workflow}
            return await client.request("phasekeeper/lost", asked)

        await client.initialize(root)
        await client.ready(root)
        assert await lost() is None
        put(folder / "state.json", {"ok": True})
        assert await lost() == {"because": "state.json lacks phase", "path": STATE}
        assert await lost("master-plan") is None
        put(folder / "state.json", {"phase": "planning"})
        assert await lost() is None
        (folder / "state.json").unlink()
        assert await lost() is None

    run_with(work)
