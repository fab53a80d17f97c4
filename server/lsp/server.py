"""Which function answers which of an editor's requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from ..disk.disk_files import DiskFiles
from ..workspace.definitions import BUILT_IN, built_in_sources
from .features import code_actions as actions
from .features import code_lens as lenses
from .features import completion, navigation
from .features import document_symbols as symbols
from .features import hover as hovers
from .requests import commands, read
from .requests import write as writing
from .session.transport import INTERNAL_ERROR, Refusal
from .view.document_context import Scene
from .view.positions import Text

if TYPE_CHECKING:
    from .session.connection import Connection

Answer = Callable[[Scene, Any], Any]
_log = logging.getLogger(__name__)


def register(connection: Connection) -> None:
    """Have the connection answer what it can."""
    on = connection.server.feature
    for method, (options, answer) in _answers(connection).items():
        on(method, options)(guarded(_on_scene(connection, answer)))
    for name, request in {**read.requests(connection), **writing.requests(connection)}.items():
        on(name)(guarded(request))
    for name, command in commands.commands(connection).items():
        connection.server.command(name)(guarded(command))


def guarded(answer: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A function that answers a request: what goes wrong in it is logged once and told in one sentence."""

    @wraps(answer)
    async def guarding(*arguments: Any) -> Any:
        try:
            return await answer(*arguments)
        except (JsonRpcException, asyncio.CancelledError):
            raise
        except Exception:
            _log.exception("%s could not be answered", answer.__name__)
            raise Refusal("this could not be answered; the server's log says why", INTERNAL_ERROR) from None

    return guarding


def _on_scene(connection: Connection, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
    """The answer for the document that a request names, on a thread: parsing a long text takes its time.

    An editor asks for lenses and outlines as soon as it has opened a document, and most never ask again: they
    get their answer once the first look at the root is done.
    """

    async def on_scene(params: Any) -> Any:
        scene = await connection.scene(params.text_document.uri)
        if scene is None:
            await connection.opened()
            scene = await connection.scene(params.text_document.uri)
        return await asyncio.to_thread(answer, scene, params) if scene else None

    on_scene.__name__ = answer.__name__
    return on_scene


def _answers(connection: Connection) -> dict[str, tuple[Any, Answer]]:
    """(options, function) by the method that it answers."""

    def code_lens(scene: Scene, _: Any) -> Any:
        return lenses.lenses(scene)

    def hover(scene: Scene, params: lsp.HoverParams) -> Any:
        return hovers.hover(scene, params.position, _shows_markdown(connection))

    def complete(scene: Scene, params: lsp.CompletionParams) -> Any:
        return completion.complete(scene, params.position)

    def definition(scene: Scene, params: lsp.DefinitionParams) -> Any:
        return navigation.definition(scene, params.position, _find(connection, scene), _shipped)

    def references(scene: Scene, params: lsp.ReferenceParams) -> Any:
        return navigation.references(scene, params.position, _find(connection, scene))

    def outline(scene: Scene, _: Any) -> Any:
        return symbols.symbols(scene)

    def code_action(scene: Scene, params: lsp.CodeActionParams) -> Any:
        wanted = params.context.only
        if wanted and not any(lsp.CodeActionKind.QuickFix.value.startswith(kind) for kind in wanted):
            return []
        return actions.actions(scene, actions.marks_in(scene, params.range), _writer(connection, scene))

    kinds = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    return {
        lsp.TEXT_DOCUMENT_CODE_LENS: (lsp.CodeLensOptions(), code_lens),
        lsp.TEXT_DOCUMENT_HOVER: (None, hover),
        lsp.TEXT_DOCUMENT_COMPLETION: (
            lsp.CompletionOptions(trigger_characters=completion.TRIGGERS),
            complete,
        ),
        lsp.TEXT_DOCUMENT_DEFINITION: (None, definition),
        lsp.TEXT_DOCUMENT_REFERENCES: (None, references),
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (None, outline),
        lsp.TEXT_DOCUMENT_CODE_ACTION: (kinds, code_action),
    }


def _shows_markdown(connection: Connection) -> bool:
    document = connection.server.client_capabilities.text_document
    formats = document.hover.content_format if document and document.hover else None
    return lsp.MarkupKind.Markdown in (formats or ())


def _find(connection: Connection, scene: Scene) -> navigation.Find:
    """The URI and text of a path of the scene's root: as the editor holds it, else from disk."""

    def find(path: str) -> tuple[str, Text] | None:
        whole = scene.view.root / path
        document = connection.documents.at(whole)
        if document is not None:
            return document.uri, document.text
        text = DiskFiles(scene.view.root).read(path).text
        return None if text is None else (connection.uri_of(whole), Text(text, connection.encoding))

    return find


def _writer(connection: Connection, scene: Scene) -> actions.Writer:
    find = _find(connection, scene)

    def text_of(path: str) -> Text | None:
        found = find(path)
        return found[1] if found else None

    def version_of(path: str) -> int | None:
        document = connection.documents.at(scene.view.root / path)
        return document.version if document else None

    def uri_of(path: Path) -> str:
        document = connection.documents.at(path)
        return document.uri if document else connection.uri_of(path)

    workspace = connection.server.client_capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    can = edit.resource_operations if edit else None
    creates, deletes = (
        kind in (can or ()) for kind in (lsp.ResourceOperationKind.Create, lsp.ResourceOperationKind.Delete)
    )
    return actions.Writer(uri_of, text_of, version_of, creates, deletes)


def _shipped(name: str) -> Path | None:
    """Where a built-in definition lies on disk."""
    if name not in {source.path for source in built_in_sources().values()}:
        return None
    return Path(str(resources(BUILT_IN) / name))
