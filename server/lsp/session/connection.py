"""The state of one editor's connection: its documents, its roots, and telling it what changes.

The functions that answer requests are registered on it from outside (`lsp/server.py`); it knows none of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.result.values import Evaluation
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command
from ....orchestration.vfs.files import digest_of
from ...disk.git import actor
from ...live.boards import RootChange
from ...live.engine import Engine
from ...process_end import process_end_probe
from ...workspace.apply import HeldClaims
from ...workspace.roots import UsageError
from ..view.documents import DocumentContext, OpenDocument, OpenDocuments, path_of
from ..view.root_view import RootView, annotate_all
from ..view.shared_root import SharedRoot, Spelling
from ..view.unsaved_evaluator import UnsavedEvaluator
from .change_feed import ChangeFeed
from .editor_claims import EditorClaims
from .folders import OpenFolders, ScanProgress
from .publisher import Publisher
from .shared_roots import shared_root
from .transport import DroppingWriter, LspProtocol, LspServer, RequestFailed, new_server

ROOT_WAIT_S = 30.0
"""So long a request waits for the first look at its root."""
_CLIENT_POLL_S = 1.0
_log = logging.getLogger(__name__)


class Connection:
    """One editor's connection. All of it belongs to the loop."""

    def __init__(self, engine: Engine, writer: DroppingWriter) -> None:
        self.engine = engine
        self.server: LspServer = new_server()
        self.protocol.set_writer(writer)
        self._folders = OpenFolders()
        self.documents = OpenDocuments(self._folders.uri_of)
        self.views: dict[Path, RootView] = {}
        # Whether the client shows boards: it says who it is, or has asked for one.
        self.wants_boards = False
        # The way by which a person decides here; one of `apply.CHANNELS`.
        self.channel = "editor"
        self.trusted = self.may_decide = False
        self.program = ""
        self.claims = EditorClaims()
        self._unsubscribe: dict[Path, Callable[[], None]] = {}
        self._reopening: set[str | Path] = set()
        self._openings: set[asyncio.Task[Any]] = set()
        self._workflows: dict[tuple[str, str], Workflow] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.on_client_end: Callable[[], None] = lambda: None
        """Called when the process that the editor says to be has ended, though its pipe is held open."""
        unsaved = UnsavedEvaluator(engine.evaluate_unsaved, self.spawn, self.documents_of, self._on_evaluated)
        self.evaluate_unsaved = unsaved.evaluate
        send = partial(self.protocol.send_encoded, lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        self._publisher = Publisher(self.documents, self._speaks_of, self._spelling, send)
        send_change = partial(self.protocol.send_encoded, "phasekeeper/changed")
        self._feed = ChangeFeed(self._shared_root, lambda: self._publisher.wait_for_rest(), send_change)
        self.spawn(self._publisher.run(writer.drain))
        self.spawn(self._feed.run())
        self._register_synchronisation()

    @property
    def protocol(self) -> LspProtocol:
        return self.server.protocol  # pyright: ignore[reportReturnType]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something beside the messages; its errors are logged, and it ends with the connection."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_end)
        return task

    def _on_task_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._openings.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the editor's connection: %r", error, exc_info=error)

    async def close(self) -> None:
        """End the tasks of the connection and release its roots."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for unsubscribe in self._unsubscribe.values():
            unsubscribe()
        for root in tuple(self._folders.roots()):
            self.engine.close(root)

    # ---- synchronisation: what the editor says of itself, its folders and documents ---------------

    def _register_synchronisation(self) -> None:
        def on(method: str, handler: Callable[[Any], None], options: Any = None) -> None:
            # pygls marks the function that it is given, which a bound method does not allow.
            self.server.feature(method, options)(lambda params: handler(params))

        on(lsp.INITIALIZE, self._initialize)
        on(lsp.INITIALIZED, self._open_folders)
        on(lsp.TEXT_DOCUMENT_DID_OPEN, self._did_open)
        on(lsp.TEXT_DOCUMENT_DID_CHANGE, self._did_change)
        on(lsp.TEXT_DOCUMENT_DID_SAVE, self._did_save, lsp.SaveOptions(include_text=False))
        on(lsp.TEXT_DOCUMENT_DID_CLOSE, self._did_close)
        on(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._did_change_files)
        on(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._did_change_folders)

    def _initialize(self, params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        options = options if isinstance(options, dict) else {}
        own = options.get("phasekeeper")
        own = own if isinstance(own, dict) else {}
        self.trusted = options.get("trusted") is True
        client = params.client_info
        self.program = plain(f"{client.name} {client.version or ''}".strip(), 120) if client else ""
        self.wants_boards = bool(own)
        self._feed.reads_pages = own.get("pages") is True
        self.channel = "vscode" if own.get("client") == "vscode" else "editor"
        self.may_decide = self.trusted and own.get("client") == "vscode" and own.get("decides") is True
        self.claims.restore(own.get("claims"))
        self.documents.encoding = lsp.PositionEncodingKind(self.server.workspace.position_encoding)

        if params.process_id is not None and (has_ended := process_end_probe(params.process_id)):
            self.spawn(self._end_with_client(has_ended))

    async def _end_with_client(self, has_ended: Callable[[], bool]) -> None:
        while not has_ended():
            await asyncio.sleep(_CLIENT_POLL_S)
        self.on_client_end()

    def _open_folders(self, _: lsp.InitializedParams) -> None:
        workspace = self.server.workspace
        folders = [folder.uri for folder in workspace.folders.values()]
        for uri in folders or ([workspace.root_uri] if workspace.root_uri else []):
            self._add_folder(uri)

    def _did_change_folders(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            self._release(self._folders.drop(folder.uri))
        for folder in params.event.added:
            self._add_folder(folder.uri)

    def _did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        document = self.documents.open(params.text_document)
        if located := self.locate(document):
            self._compare(*located, document)
            self._publish_document(document, unconditionally=True)
        elif document.path and (folder := self._folders.add_loose(document.path)):
            self._openings.add(self.spawn(self._open(folder)))

    def _compare(self, view: RootView, path: str, document: OpenDocument) -> None:
        """Note a document as saved where it is the text that a run was evaluated with."""
        digest = digest_of(document.text.source)
        if any(view.board.runs[run].reads[path] == digest for run in view.runs_reading(path)):
            self.documents.mark_saved(document.uri)

    def _did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self.documents.edit(params.text_document, params.content_changes)
        # Diagnostics that are shown already have moved with the text, and the version is another.
        self._publish_document(document)

    def _did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        document = self.documents.mark_saved(params.text_document.uri)
        if located := self.locate(document):
            view, path = located
            self.spawn(self._reload(view, [view.root / path]))

    def _did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._publish_document(self.documents.close(params.text_document.uri))
        self._release(self._folders.drop_loose(each.path for each in self.documents if each.path))

    def _publish_document(self, document: OpenDocument | None, *, unconditionally: bool = False) -> None:
        if located := self.locate(document):
            view, path = located
            self._publisher.publish(view, [path], unconditionally=unconditionally)
            self.evaluate_unsaved(view)

    def _did_change_files(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := path_of(change.uri))]
        for view in self.views.values():
            if inside := [path for path in paths if path.is_relative_to(view.root)]:
                self.spawn(self._reload(view, inside))

    async def _reload(self, view: RootView, paths: Iterable[Path]) -> None:
        await self.engine.refresh(view.root, paths, grace=True)
        self.evaluate_unsaved(view)

    # ---- opening and closing roots ----------------------------------------------------------------

    def _add_folder(self, uri: str) -> None:
        if self._folders.add(uri):
            self._openings.add(self.spawn(self._open(uri)))

    async def wait_for_roots(self, root: Path | None = None, limit_s: float | None = None) -> None:
        """Wait until the roots that are being opened, or the one named, are evaluated for the first time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._openings and root not in self.views:
                    await asyncio.wait(self._openings, return_when=asyncio.FIRST_COMPLETED)

    async def _open(self, key: str | Path) -> None:
        """Open a folder, for the first time or once more, and show its roots; nothing once it is closed."""
        path = self._folders.path(key)
        if path is None:
            return
        try:
            roots = await self._open_roots(path)
        except UsageError as error:
            _log.warning("%s", error)
            return
        # Noted before anything else is waited for: whoever closes the folder meanwhile closes these.
        self._release(self._folders.set_roots(key, roots))
        for root in roots:
            if root not in self.views and root in self._folders.roots():
                await self._show_root(root)

    async def _open_roots(self, path: Path) -> tuple[Path, ...]:
        """`Engine.open`, with a progress bar in the editor. Cancelled, it closes what it opens."""
        progress = ScanProgress(self.server)
        opening = asyncio.ensure_future(self.engine.open(path, progress.report))

        def close(_: Any) -> None:
            if not opening.cancelled() and opening.exception() is None:
                for root in opening.result():
                    self.engine.close(root)

        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(close)
            raise
        finally:
            progress.end()

    def _reopen_folders(self, root: Path) -> None:
        """Open the folders once more that were opened when the root had other projects."""
        for key in self._folders.opened_with_other_projects(root, self._projects(root)):
            if key not in self._reopening:
                self._reopening.add(key)
                self.spawn(self._reopen(root, key))

    async def _reopen(self, root: Path, key: str | Path) -> None:
        before = self._projects(root)
        try:
            await self._open(key)
        finally:
            self._reopening.discard(key)
        if self._projects(root) != before:
            self._reopen_folders(root)

    def _projects(self, root: Path) -> tuple[Path, ...]:
        return self.views[root].board.projects if root in self.views else ()

    async def _show_root(self, root: Path) -> None:
        """Subscribe to a root, and publish what is found in it so far."""
        view = RootView(shared_root(self.engine, root))
        self.views[root] = view
        self._unsubscribe[root] = self.engine.subscribe(root, self._on_change)
        await annotate_all(view)
        if self.views.get(root) is not view:
            # The editor has closed it meanwhile.
            return
        self._publish_enclosing(root)
        for document, path in self.documents_of(view):
            self._compare(view, path, document)
        self._publisher.publish(view, view.paths)
        # A board that was asked for while the root was still being scanned did not hold it.
        self._queue_change(RootChange(root, view.board.version, view.board.runs, (), {}))
        self.evaluate_unsaved(view)

    def _release(self, roots: Iterable[Path]) -> None:
        """Close roots; what was shown of those that no folder holds any more is taken back."""
        for root in roots:
            self.engine.close(root)
            if root not in self._folders.roots() and root in self.views:
                self._unsubscribe.pop(root)()
                board = self.views.pop(root).board
                self._publisher.forget(root)
                self._publish_enclosing(root)
                self._queue_change(RootChange(root, board.version + 1, {}, tuple(board.runs), {}))

    def _publish_enclosing(self, root: Path) -> None:
        """Publish the roots that another lies in: which of them speaks of a file is different now."""
        for view in self.views.values():
            if root != view.root and root.is_relative_to(view.root):
                self._publisher.publish(view, view.paths)

    # ---- telling the editor of changes ------------------------------------------------------------

    def _on_change(self, change: RootChange) -> None:
        view = self.views.get(change.root)
        if view is None:
            return
        touched = view.shared.apply(change, self.engine.board(change.root))
        self._publisher.publish(view, touched, texts=change.texts)
        self._reopen_folders(change.root)
        self._queue_change(change)
        self._refresh_lenses()
        if self.documents or view.unsaved or view.linted:
            self.evaluate_unsaved(view)

    def _on_evaluated(self, view: RootView, touched: Iterable[str]) -> None:
        self._publisher.publish(view, touched)
        self._refresh_lenses()

    def _queue_change(self, change: RootChange) -> None:
        """Have a client that shows boards told of a change; other editors would only throw it away."""
        if self.wants_boards:
            self._feed.add(change)

    def reads_pages(self) -> None:
        """Note that the client asks for pages, and need not be told of thousands of runs at once."""
        self._feed.reads_pages = True

    def _refresh_lenses(self) -> None:
        """Have the editor ask for its lenses again, where it can be told."""
        workspace = self.server.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.server.workspace_code_lens_refresh(None)

    def show_message(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Show the person a sentence."""
        self.server.window_show_message(lsp.ShowMessageParams(kind, plain(text, 600)))

    def _shared_root(self, root: Path) -> SharedRoot | None:
        return self.views[root].shared if root in self.views else None

    def _spelling(self, root: Path) -> Spelling:
        return Spelling(self.documents.encoding, self._folders.folders_around(root))

    # ---- for the functions that answer ------------------------------------------------------------

    def documents_of(self, view: RootView) -> list[tuple[OpenDocument, str]]:
        """The open documents of a root, with their paths in it."""
        located = ((document, self.locate(document)) for document in self.documents)
        return [(document, place[1]) for document, place in located if place and place[0] is view]

    def unsaved_paths(self, view: RootView, evaluation: Evaluation | None) -> list[str]:
        """The files of a run of which the editor holds another text than the run was evaluated with. A file
        that an editor reloads from disk comes as an edit, so texts are compared."""
        reads = evaluation.reads if evaluation else {}
        edited = ((each, path) for each, path in self.documents_of(view) if each.changed and path in reads)
        return [path for each, path in edited if digest_of(each.text.source) != reads[path]]

    def locate(self, document: OpenDocument | None) -> tuple[RootView, str] | None:
        """The innermost root that a document lies in, and its path there; None without either."""
        path = document.path if document else None
        view = self.innermost_root(path) if path else None
        return (view, path.relative_to(view.root).as_posix()) if path and view else None

    def innermost_root(self, path: Path) -> RootView | None:
        """The innermost root that a file lies in: of roots in one another that one speaks of it."""
        around = [root for root in self.views if path.is_relative_to(root)]
        return self.views[max(around, key=lambda root: len(root.parts))] if around else None

    def _speaks_of(self, view: RootView, path: str) -> bool:
        """Whether a view is that of the innermost root that a file of its own root lies in."""
        if len(self.views) == 1:
            return self.views.get(view.root) is view
        return self.innermost_root(view.root / path) is view

    async def named_run(self, params: Any) -> tuple[RootView, Evaluation | None]:
        """The root and the run that a request names, as its files on disk are now, as on boards; None for one
        that is not there. Unsaved texts count only for what is shown in their documents.

        A root that is being opened is waited for. Raises RequestFailed for one that is not open.
        """
        view = await self.named_root(params)
        run = str(params.get("run", ""))
        await self.engine.look_again(view.root, run)
        return view, view.board.runs.get(run)

    async def named_root(self, params: Any) -> RootView:
        """The root that a request names. One that is being opened is waited for.

        Raises RequestFailed for one that is not open.
        """
        data = params if isinstance(params, dict) else {}
        root = Path(str(data.get("root", "")))
        if root not in self.views:
            await self.wait_for_roots(root, ROOT_WAIT_S)
        view = self.views.get(root)
        if view is None:
            raise RequestFailed(
                f"{data.get('root')!r} is no root that this connection has open"
                + ("; some are still looked at for the first time: ask again" if self._openings else "")
            )
        return view

    def require_trust(self) -> None:
        """Raises RequestFailed unless the editor said that the person trusts what is open in it."""
        if not self.trusted:
            raise RequestFailed(
                "this editor's connection only reads: nothing is written before the workspace is trusted "
                "(initializationOptions.trusted); the command line writes"
            )

    async def act(
        self, root: Path, run: str, command: Command, *, revision: str | None = None, signed: bool = False
    ) -> Evaluation:
        """Carry out a command in the name of the person at the editor. Raises as `apply.act` does."""
        person = await asyncio.to_thread(actor, root)
        command = command._replace(actor=person, channel=self.channel, program=self.program)
        held = HeldClaims(self.claims.of_run(root, run))
        done = await self.engine.act(root, run, command, signed=signed, revision=revision, claims=held)
        return done.evaluation

    async def document_context(self, uri: str) -> DocumentContext | None:
        """All there is to know of an open document; None where it is not open or lies in no root."""
        document = self.documents.get(uri)
        located = self.locate(document)
        if document is None or located is None:
            return None
        view, path = located
        evaluation = view.run_at(path)
        if evaluation:
            await self.engine.look_again(view.root, evaluation.run)
            evaluation = view.run_at(path)
        workflow = await self.workflow(view, evaluation) if evaluation else None
        capabilities, own = self.server.client_capabilities, self.may_decide
        return DocumentContext(document, view, path, self.documents, capabilities, evaluation, workflow, own)

    async def workflow(self, view: RootView, evaluation: Evaluation) -> Workflow | None:
        """The workflow that a run is evaluated by; None when the run is gone meanwhile."""
        key = (evaluation.workflow, evaluation.definition.digest)
        if key not in self._workflows:
            try:
                workflow = await self.engine.query(view.root, evaluation.run, attrgetter("facts.workflow"))
            except UsageError:
                return None
            self._workflows[key] = workflow
        return self._workflows[key]
