"""The tables of what an editor is answered: a feature, and a command, is one function and one line."""

from __future__ import annotations

from lsprotocol import types as lsp
from phasekeeper.server.lsp import server
from phasekeeper.server.lsp.features.command_offers import CommandName
from phasekeeper.server.lsp.requests import checks, commands
from phasekeeper.server.lsp.server import Feature

from tests.roots import task
from tests.server.lsp.client import Client, run_with
from tests.server.lsp.person import messages


def test_a_feature_that_is_added_to_the_table_is_announced_and_answers(root, monkeypatch):
    state = task(root, "T1") / "state.json"

    def folding_ranges(context, params):
        assert context.is_state and context.evaluation is not None
        return [lsp.FoldingRange(0, context.text.line_count - 1)]

    monkeypatch.setitem(server.FEATURES, lsp.TEXT_DOCUMENT_FOLDING_RANGE, Feature(folding_ranges))

    async def work(client: Client) -> None:
        result = await client.initialize(root)
        assert result["capabilities"]["foldingRangeProvider"]
        document = {"textDocument": {"uri": client.open(state)}}
        [folded] = await client.request("textDocument/foldingRange", document)
        assert folded["startLine"] == 0

    run_with(work)


def test_a_command_that_is_added_to_the_table_is_carried_out(root, monkeypatch):
    task(root, "T1")

    async def wave(connection, view, evaluation, params):
        return f"waved at {evaluation.run}"

    monkeypatch.setitem(commands.COMMANDS, "phasekeeper.wave", wave)

    async def work(client: Client) -> None:
        result = await client.initialize(root)
        assert "phasekeeper.wave" in result["capabilities"]["executeCommandProvider"]["commands"]
        board = await client.ready(root)
        argument = {"root": str(root), "run": board["roots"][0]["runs"][0]["run"]}
        await client.request(
            "workspace/executeCommand", {"command": "phasekeeper.wave", "arguments": [argument]}
        )
        assert messages(client) == [f"waved at {argument['run']}"]

    run_with(work)


def test_every_command_that_is_offered_can_be_carried_out():
    assert {*commands.COMMANDS, *checks.CHECK_COMMANDS} == {*CommandName}
