"""The command itself with the client of pytest-lsp, which reads every answer by the protocol's own types."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.tools.fixes.test_fixes import plan

STANDALONE = [sys.executable, "-m", "phasekeeper", "lsp", "--standalone"]


@pytest.fixture
def folder(root: Path) -> Path:
    return plan(root, below="**Progress**: 2/2 tasks complete (100%)\n")


@pytest_lsp.fixture(
    params=["visual-studio-code", "neovim", "emacs"],
    config=ClientServerConfig(
        server_command=STANDALONE, server_env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ),
)
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient, folder: Path):
    lsp_client.feature("client/registerCapability")(lambda params: None)
    lsp_client.feature("phasekeeper/changed")(lambda params: None)
    params = lsp.InitializeParams(
        capabilities=client_capabilities(request.param),
        workspace_folders=[lsp.WorkspaceFolder(folder.parents[2].as_uri(), "shop")],
    )
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_an_editor_s_session_from_the_diagnostic_to_the_action(client: LanguageClient, folder: Path):
    path = folder / "MASTER_PLAN.md"
    uri = path.as_uri()
    item = lsp.TextDocumentItem(uri=uri, language_id="markdown", version=1, text=path.read_text())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    while not client.diagnostics.get(uri):
        await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    found = client.diagnostics[uri]
    assert {each.code for each in found} == {"status-drift"}
    document = lsp.TextDocumentIdentifier(uri)
    lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(text_document=document))
    assert lenses and lenses[0].command and lenses[0].command.title.startswith("Implement (4a): ")
    here = lsp.Position(found[0].range.start.line, 0)
    hover = await client.text_document_hover_async(
        lsp.HoverParams(text_document=document, position=lsp.Position(7, 8))
    )
    assert hover is not None
    params = lsp.CodeActionParams(document, lsp.Range(here, here), lsp.CodeActionContext(diagnostics=[]))
    actions = await client.text_document_code_action_async(params)
    assert actions and isinstance(actions[0], lsp.CodeAction) and actions[0].edit is not None
    symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    assert symbols and symbols[0].name == "1. Core"
    place = lsp.CompletionParams(document, lsp.Position(8, 2))
    assert await client.text_document_completion_async(place) is not None
    definition = lsp.DefinitionParams(document, lsp.Position(8, 6))
    assert await client.text_document_definition_async(definition)
