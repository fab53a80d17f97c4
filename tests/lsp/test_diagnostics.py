"""What an editor is told of its files, and when."""

from __future__ import annotations

from ..roots import task
from .client import Client, run_with


def test_a_shut_gate_is_told_at_the_line_that_shut_it(root):
    folder = task(root, "T1", ok=False)
    review = folder / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(lambda: client.diagnostics.get(review.as_uri()))
        assert [d["code"] for d in found] == ["gate-failed"]
        assert found[0]["range"] == {
            "start": {"line": 0, "character": 7},
            "end": {"line": 0, "character": 12},
        }
        assert found[0]["source"] == "phasekeeper"
        review.write_text('{"ok": true}')
        await client.until(lambda: client.diagnostics[review.as_uri()] == [])

    run_with(work)
