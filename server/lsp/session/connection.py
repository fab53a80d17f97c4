"""One editor's connection: what it opened, what it sees of each root, and telling it what changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.vfs.files import digest_of
from ...live.boards import RootChange
from ...live.engine import Engine
from ...version import VERSION
from ...workspace.roots import UsageError
from .. import server as features
from ..requests.payloads import both, changed_json
from ..view.document_context import Scene
from ..view.documents import Document, Documents, path_of
from ..view.root_view import View, mark_all
from ..view.unsaved import Judging
from .folders import Folders, open_roots
from .progress import Scanning
from .publisher import Publisher
from .transport import Outlet, Protocol, Server, new_server, read_messages, written

_log = logging.getLogger(__name__)


async def serve_lsp(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    engine: Engine,
    *,
    trusted_allowed: bool = True,
) -> int:
    """Serve one editor until it says `exit` or goes; 0 when it said `shutdown` before, else 1.

    Never ends the process, whatever the editor sends. With `trusted_allowed` False nothing is written for
    it, whatever it says of itself. The caller closes the streams.
    """
    outlet = Outlet(writer)
    connection = Connection(engine, outlet, trusted_allowed)
    try:
        await read_messages(reader, connection.protocol)
        return 0 if connection.protocol.ending else 1
    finally:
        await connection.end()
        await outlet.drain()


class Connection:
    """The state of one editor's connection. All of it belongs to the loop."""

    def __init__(self, engine: Engine, outlet: Outlet, trusted_allowed: bool) -> None:
        self.engine = engine
        self.server: Server = new_server(VERSION)
        self.protocol.set_writer(outlet)
        self.documents = Documents()
        self.views: dict[Path, View] = {}
        # Whether the client shows boards: it says who it is, or has asked for one.
        self.follows = False
        self.channel = "editor"
        self.trusted = self.decides = False
        # What is not told yet, one change a root: an editor that stopped reading makes them no more.
        self._untold: dict[Path, RootChange] = {}
        self._news = asyncio.Event()
        self._trusted_allowed = trusted_allowed
        self._outlet = outlet
        self._folders = Folders()
        self._ends: dict[Path, Callable[[], None]] = {}
        self.judge = Judging(engine, self.spawn, self.documents_of, self._judged).judge
        self._anew: set[str | Path] = set()
        self._openings: set[asyncio.Task[Any]] = set()
        self._workflows: dict[tuple[str, str], Workflow] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._publisher = Publisher(
            self.documents, self.uri_of, self.innermost, self.server.text_document_publish_diagnostics
        )
        self.spawn(self._publisher.run(outlet.drain))
        self.spawn(self._telling())
        self._register()

    @property
    def protocol(self) -> Protocol:
        return self.server.protocol  # pyright: ignore[reportReturnType]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something beside the messages; its errors are logged, and it ends with the connection."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._openings.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the editor's connection: %r", error, exc_info=error)

    async def end(self) -> None:
        """Let go of everything that the connection holds."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in self._ends.values():
            end()
        for root in tuple(self._folders.roots()):
            self.engine.close(root)

    # ---- the protocol's own messages

    def _register(self) -> None:
        def on(method: str, options: Any = None) -> Callable[[Callable[[Any], None]], object]:
            # pygls marks the function that it is given, which a bound method does not allow.
            return lambda heard: self.server.feature(method, options)(lambda params: heard(params))

        on(lsp.INITIALIZE)(self._initialize)
        on(lsp.INITIALIZED)(self._initialized)
        on(lsp.TEXT_DOCUMENT_DID_OPEN)(self._opened)
        on(lsp.TEXT_DOCUMENT_DID_CHANGE)(self._edited)
        on(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))(self._saved)
        on(lsp.TEXT_DOCUMENT_DID_CLOSE)(self._closed)
        on(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(self._watched)
        on(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(self._folders_changed)
        features.register(self)

    def _initialize(self, params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        options = options if isinstance(options, dict) else {}
        own = options.get("phasekeeper")
        own = own if isinstance(own, dict) else {}
        self.trusted = self._trusted_allowed and options.get("trusted") is True
        self.follows = bool(own)
        # The way by which a person decides here; one of `apply.CHANNELS`.
        self.channel = "vscode" if own.get("client") == "vscode" else "editor"
        self.decides = self.trusted and own.get("client") == "vscode" and own.get("decides") is True
        self._publisher.encoding = lsp.PositionEncodingKind(self.server.workspace.position_encoding)

    @property
    def encoding(self) -> lsp.PositionEncodingKind:
        return self._publisher.encoding

    def _initialized(self, _: lsp.InitializedParams) -> None:
        for folder in self._given_folders():
            self._add_folder(folder)

    def _given_folders(self) -> list[str]:
        """The URIs of the folders that the editor has open."""
        workspace = self.server.workspace
        named = [folder.uri for folder in workspace.folders.values()]
        return named or ([workspace.root_uri] if workspace.root_uri else [])

    def _folders_changed(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            self._close(self._folders.drop(folder.uri))
        for folder in params.event.added:
            self._add_folder(folder.uri)

    def _opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        document = self.documents.opened(params.text_document, self.encoding)
        found = self.located(document)
        if found is None:
            self._add_loose(document)
            return
        view, path = found
        if self._as_on_disk(view, path, document):
            self.documents.unchanged(document.uri)
        self._publisher.publish(view, [path], anew=True)
        self.judge(view)

    def _as_on_disk(self, view: View, path: str, document: Document) -> bool:
        digest = digest_of(document.text.source)
        return any(view.board.runs[run].reads[path] == digest for run in view.reading(path))

    def _edited(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self.documents.edited(params.text_document, params.content_changes)
        found = self.located(document) if document else None
        if found:
            view, path = found
            # What is told already has moved with the text, and the version is another.
            self._publisher.publish(view, [path])
            self.judge(view)

    def _saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        document = self.documents.unchanged(params.text_document.uri)
        found = self.located(document) if document else None
        if document and document.path and found:
            self.spawn(self._look_at(found[0], [document.path]))

    def _closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        document = self.documents.closed(params.text_document.uri)
        found = self.located(document) if document else None
        if found:
            view, path = found
            self._publisher.publish(view, [path])
            self.judge(view)
        self._close(self._folders.drop_loose(each.path for each in self.documents if each.path))

    def _watched(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := path_of(change.uri))]
        for view in self.views.values():
            here = [path for path in paths if path.is_relative_to(view.root)]
            if here:
                self.spawn(self._look_at(view, here))

    async def _look_at(self, view: View, paths: Iterable[Path]) -> None:
        await self.engine.touch(view.root, paths)
        self.judge(view)

    # ---- roots

    def _add_folder(self, uri: str) -> None:
        path = self._folders.add(uri)
        if path is not None:
            self._openings.add(self.spawn(self._open(uri, path)))

    def _add_loose(self, document: Document) -> None:
        """Open the root of a document that lies in no folder the editor has open."""
        folder = self._folders.add_loose(document.path) if document.path else None
        if folder is not None:
            self._openings.add(self.spawn(self._open(folder, folder)))

    async def opened(self) -> None:
        """Wait until the roots that are being opened have had their first look."""
        while self._openings:
            done, _ = await asyncio.wait(self._openings)
            self._openings -= done

    async def _open(self, key: str | Path, path: Path) -> None:
        """Open a folder, for the first time or anew, and show its roots."""
        scanning = Scanning(self.server, str(path))
        try:
            roots = await open_roots(self.engine, path, scanning.report)
        except UsageError as error:
            _log.warning("%s", error)
            return
        finally:
            scanning.end()
        # Noted before anything else is waited for: whoever closes the folder meanwhile closes these.
        self._close(self._folders.opened(key, roots))
        for root in roots:
            if root not in self.views and root in self._folders.roots():
                await self._show(root)

    async def _open_anew(self, root: Path, key: str | Path) -> None:
        """Open a folder once more, whose root has other projects now; what it was opened to is closed."""
        path = self._folders.path(key)
        before = self._projects(root)
        try:
            if path:
                await self._open(key, path)
        finally:
            self._anew.discard(key)
        if self._projects(root) != before:
            self._look_for_projects(root)

    def _projects(self, root: Path) -> tuple[Path, ...]:
        return self.views[root].board.projects if root in self.views else ()

    def _look_for_projects(self, root: Path) -> None:
        """Open the folders anew that were opened when the root had other projects."""
        for key in self._folders.around(root, self._projects(root)):
            if key not in self._anew:
                self._anew.add(key)
                self.spawn(self._open_anew(root, key))

    async def _show(self, root: Path) -> None:
        """Begin to tell the editor of a root."""
        view = View(root, self.engine.board(root))
        self.views[root] = view
        self._ends[root] = self.engine.subscribe(root, self._changed)
        await mark_all(view)
        if self.views.get(root) is not view:
            # The editor has closed it meanwhile.
            return
        self._publish_around(root)
        for document in self.documents:
            found = self.located(document)
            if found and found[0] is view and self._as_on_disk(view, found[1], document):
                self.documents.unchanged(document.uri)
        self._publisher.publish(view, view.paths)
        # A board that was asked for while the root was still being scanned did not hold it.
        self._tell(RootChange(root, view.board.version, view.board.runs, (), {}))
        self.judge(view)

    def _close(self, roots: Iterable[Path]) -> None:
        for root in roots:
            self.engine.close(root)
            if root not in self._folders.roots() and root in self.views:
                self._ends.pop(root)()
                board = self.views.pop(root).board
                self._publisher.forget(root)
                self._publish_around(root)
                self._tell(RootChange(root, board.version + 1, {}, tuple(board.runs), {}))

    def _publish_around(self, root: Path) -> None:
        """Tell anew of the roots that another lies in: which of them speaks of a file is different now."""
        for view in self.views.values():
            if root != view.root and root.is_relative_to(view.root):
                self._publisher.publish(view, view.paths)

    def _changed(self, change: RootChange) -> None:
        view = self.views.get(change.root)
        if view is None:
            return
        view.board = self.engine.board(change.root)
        touched = view.refresh([*change.changed, *change.removed])
        self._publisher.publish(view, touched | change.findings.keys(), texts=change.texts)
        self._look_for_projects(change.root)
        self._tell(change)
        self.refresh_lenses()
        self.judge(view)

    def _tell(self, change: RootChange) -> None:
        """Have a client that shows boards told of a change; other editors would only throw it away."""
        if self.follows:
            before = self._untold.get(change.root)
            self._untold[change.root] = both(before, change) if before else change
            self._news.set()

    async def _telling(self) -> None:
        """Tell of changes in their order, after the diagnostics, and without holding up the messages."""
        while await self._news.wait():
            self._news.clear()
            while self._untold:
                await self._publisher.rested()
                change = self._untold.pop(next(iter(self._untold)))
                try:
                    note = await asyncio.to_thread(written, changed_json, change)
                except Exception:
                    # The next one says by its version that this one was missed.
                    _log.exception("a change of %s could not be told", change.root)
                else:
                    self.protocol.send_note("phasekeeper/changed", note)

    def refresh_lenses(self) -> None:
        """Have the editor ask for its lenses again, where it can be told."""
        workspace = self.server.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.server.workspace_code_lens_refresh(None)

    def _judged(self, view: View, touched: Iterable[str]) -> None:
        self._publisher.publish(view, touched)
        self.refresh_lenses()

    # ---- where documents lie

    def documents_of(self, view: View) -> list[tuple[Document, str]]:
        """The open documents of a root, with their paths in it."""
        located = ((document, self.located(document)) for document in self.documents)
        return [(document, found[1]) for document, found in located if found and found[0] is view]

    def located(self, document: Document) -> tuple[View, str] | None:
        """The innermost root that a document lies in, and its path there."""
        if document.path is None:
            return None
        view = self.innermost(document.path)
        return (view, document.path.relative_to(view.root).as_posix()) if view else None

    def innermost(self, path: Path) -> View | None:
        """The innermost root that a file lies in: of roots in one another that one speaks of it."""
        around = [root for root in self.views if path.is_relative_to(root)]
        return self.views[max(around, key=lambda root: len(root.parts))] if around else None

    # ---- for the functions that answer

    async def scene(self, uri: str) -> Scene | None:
        """All there is to know of an open document; None where it is not open or lies in no root."""
        document = self.documents.get(uri)
        found = self.located(document) if document else None
        if document is None or found is None:
            return None
        view, path = found
        evaluation = view.run_at(path)
        workflow = await self.workflow(view, evaluation) if evaluation else None
        return Scene(document, view, path, evaluation, workflow)

    async def workflow(self, view: View, evaluation: Evaluation) -> Workflow | None:
        """The workflow that a run is judged by; None when the run is gone meanwhile."""
        key = (evaluation.workflow, evaluation.definition.digest)
        if key not in self._workflows:
            try:
                run = evaluation.run
                self._workflows[key] = await self.engine.ask(view.root, run, lambda each: each.facts.workflow)
            except UsageError:
                return None
        return self._workflows[key]

    def uri_of(self, path: Path) -> str:
        """The URI of a file, as the editor spells the folder that it lies in."""
        return self._folders.uri_of(path)

    def tell(self, said: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Show the person a sentence."""
        self.server.window_show_message(lsp.ShowMessageParams(kind, plain(said, 600)))
