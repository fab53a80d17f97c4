"""The access of one call of one assistant: what the operations of the tools may look at and do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ...orchestration.definition.reader import InvalidWorkflow
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.journal.journal import Claim
from ...orchestration.journal.lines import CLAIMS
from ...orchestration.plans.schedule import resolve
from ...orchestration.result.held_tasks import HeldTask
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.updates.commands import AlreadyDone, Command, CommandRefused
from ...tools.assistant.access import ActResult, Outcome, RootRuns, ToolRefused, select_run
from ...tools.assistant.answer_memory import AnswerMemory
from ...tools.assistant.headers import short_run
from ...tools.assistant.tools import MOST_WAIT_S
from ..checks.changed_lines import ChangedLines, has_changed_inputs
from ..checks.check_process import CheckRunError, Event, event_words
from ..disk.disk_files import DiskFiles
from ..live.engine import Engine
from ..workspace.apply import HeldClaims, StoreError, claim_next, key_of, release
from ..workspace.definitions import UnknownWorkflow, startable_workflows
from ..workspace.roots import UsageError
from ..workspace.workspace import Workspace
from .client import ClientSession, is_within
from .places import KeptPlace

if TYPE_CHECKING:
    # One machine alone has nothing to do with it.
    from ...orchestration.fleet.shared_board import SharedBoard

_OPEN = (
    "a person can open a folder to it: in the client's workspace, by starting `phasekeeper mcp` in it, "
    "or with `phasekeeper serve FOLDER`"
)
_TASK_TEXT = 20_000

T = TypeVar("T")


@contextmanager
def refusals() -> Iterator[None]:
    """Answer what the product refuses as a ToolRefused; that a step is done already is no refusal."""
    try:
        yield
    except AlreadyDone:
        raise
    except (CommandRefused, StoreError, UsageError, UnknownWorkflow, InvalidWorkflow) as error:
        raise ToolRefused(plain(str(error), 1_200)) from None


Progress = Callable[[float, str], Awaitable[None]]
"""Tells the caller how far the call is: a number that grows, and a sentence."""


async def _no_progress(_: float, message: str) -> None:
    """For calls whose caller is told nothing."""


class OutsideAllowedFolders(ToolRefused):
    """A call names a folder that its client may not look at; the text says how a person can open it."""


@dataclass
class CallAccess:
    """`assistant.access.Access` over the engine, for one call.

    `folders` are where the client works. Nothing outside of `allowed` and of the roots around them is looked
    at or recorded in. `name` is how the client calls itself; `label` tells its claims from those of others
    with that name, None where each call stands alone. `program` is its name with its version.
    """

    engine: Engine
    client: ClientSession
    folders: Sequence[Path]
    allowed: Sequence[Path]
    name: str
    label: str | None
    program: str = ""
    progress: Progress = _no_progress

    @property
    def memory(self) -> AnswerMemory:
        return self.client.open_roots.memory

    async def place(self, root: str, run: str | None = None) -> RootRuns:
        folders = [await self._allowed_folder(root)] if root else self.folders
        if run and Path(run).is_absolute() and len(folders) != 1:
            folders = [await self._allowed_folder(run)]
        if not folders:
            raise ToolRefused(f"this connection works in no folder; {_OPEN}")
        places = [await self._current_place(await self._roots(folder), run) for folder in folders]
        distinct = {place.root: place for place in places}
        busy = [place for place in distinct.values() if place.runs] or list(distinct.values())
        if len(busy) > 1:
            named = "; ".join(plain(place.root, 300) for place in busy[:6])
            raise ToolRefused(f"the workspace has several roots with runs, name one with root=: {named}")
        return busy[0]

    async def _allowed_folder(self, root: str) -> Path:
        """The folder that a call names, links resolved. Raises OutsideAllowedFolders."""
        folder = await asyncio.to_thread(find_folder, root)
        if is_within(folder, self.allowed):
            return folder
        own: list[Path] = []
        for each in self.allowed:
            # An allowed folder that is gone is no reason to refuse what another holds.
            with suppress(ToolRefused):
                own += await self._roots(each)
        if not is_within(folder, own):
            works = "; ".join(plain(str(each), 200) for each in self.allowed[:6]) or "no folder"
            where = f"{plain(root, 200)} lies outside of this connection, which works in {works}"
            raise OutsideAllowedFolders(f"{where}; {_OPEN}")
        return folder

    async def pin(self, uri: str, root: str) -> None:
        """Hold the root of a URI open for as long as it is subscribed to."""
        folder = await self._allowed_folder(root)
        self.client.pins[uri] = folder
        try:
            await self._roots(folder)
        except ToolRefused:
            del self.client.pins[uri]
            raise

    async def _roots(self, folder: Path) -> tuple[Path, ...]:
        with refusals():
            return await self.client.hold(folder)

    async def _current_place(self, roots: Sequence[Path], named: str | None) -> RootRuns:
        """`_place_of` as the files are now, as far as they concern the named run if there is one."""
        about: list[tuple[Path, str | None]] = [(root, None) for root in roots]
        if named is not None:
            # A name that does not fit may be that of a run that was made this moment.
            with suppress(ToolRefused):
                run = select_run(self._place_of(roots), named)
                about = [(Path(run.root), run.run)]
        with refusals():
            for root, each in about:
                await self.engine.look_again(root, each)
        return self._place_of(roots)

    def _place_of(self, roots: Sequence[Path]) -> RootRuns:
        """The boards of a root and of its projects as one; the paths of runs begin at the first."""
        boards = [self.engine.board(root) for root in roots]
        kept = self.client.open_roots.places.setdefault(tuple(roots), KeptPlace())
        return kept.current(boards)

    async def fleet(self, place: RootRuns) -> SharedBoard:
        declared = await asyncio.to_thread(lambda: Workspace(Path(place.root)).config.fleet)
        if declared is None:
            raise ToolRefused("this root is of no project that machines share; leave `fleet` out")
        from ..fleet.board_feed import project_board  # late: one machine alone has none
        from ..fleet.bucket import FleetUnreachable
        from ..fleet.membership import FleetSetupError

        try:
            return await asyncio.to_thread(project_board, declared.project)
        except (FleetSetupError, FleetUnreachable) as error:
            raise ToolRefused(plain(str(error), 600)) from None

    async def held_tasks(self, run: Evaluation) -> Collection[HeldTask]:
        if not run.suggestion.tasks:
            return ()

        def look() -> Collection[HeldTask]:
            workspace = Workspace(Path(run.root))
            if workspace.config.fleet is None:
                return ()
            from ..workspace.fleet_claims import held_elsewhere  # late: one machine alone has none

            return held_elsewhere(workspace, run)

        return await asyncio.to_thread(look)

    async def ask(self, run: Evaluation, question: Callable[[EvaluationTrace], T]) -> T:
        with refusals():
            return await self.engine.query(Path(run.root), run.run, question)

    async def run_checks(self, run: Evaluation, checks: Sequence[str]) -> Sequence[Outcome] | None:
        messages: asyncio.Queue[str] = asyncio.Queue(1)

        def hear(event: Event) -> None:
            # One that was not sent yet gives way to what is newer.
            if text := event_words(event):
                with suppress(asyncio.QueueEmpty):
                    messages.get_nowait()
                messages.put_nowait(text)

        sending = asyncio.ensure_future(self._send_progress(messages))
        try:
            return await self.engine.check_runs.run(Path(run.root), checks, hear, limit_s=MOST_WAIT_S)
        except CheckRunError as error:
            raise ToolRefused(plain(str(error), 1_000)) from None
        finally:
            sending.cancel()

    async def _send_progress(self, messages: asyncio.Queue[str]) -> None:
        for number in count(1):
            await self.progress(number, await messages.get())

    async def with_changed_lines(self, run: Evaluation) -> Evaluation:
        if not has_changed_inputs(run):
            return run
        return await asyncio.to_thread(ChangedLines(Path(run.root)).evaluation, run)

    async def text(self, run: Evaluation, path: str) -> str:
        file = await asyncio.to_thread(DiskFiles(Path(run.root)).read, path)
        return (file.text or "")[:_TASK_TEXT]

    async def workflows(self, place: RootRuns) -> Sequence[str]:
        return await asyncio.to_thread(startable_workflows, Path(place.root))

    async def start(self, place: RootRuns, workflow: str, name: str, title: str, who: str) -> Evaluation:
        with refusals():
            run, done = await self.engine.start(Path(place.root), workflow, name, title, who)
        return self.engine.board(Path(place.root)).runs.get(run, done.evaluation)

    async def act(self, run: Evaluation, act: Command, token: int | str | None) -> ActResult:
        own = self._tokens(run, act.actor, token if isinstance(token, str) else "")
        seq = token if isinstance(token, int) else None
        held = HeldClaims(own, seq, named=token is not None)
        with refusals():
            done = await self.engine.act(Path(run.root), run.run, act, claims=held)
            after = done.evaluation
            if act.kind == "report" and after.plan and own:
                # The claims on tasks that were reported are over.
                reported = {resolve(after.plan.plan, task) for task in act.tasks}
                mine = [claim for claim in after.claims if claim.task in reported]
                keys = {key_of(own_token): own_token for own_token in own}
                for task, key in ((claim.task, claim.key) for claim in mine if claim.key in keys):
                    self.client.tokens.pop((run.root, run.run, act.actor, task), None)
                    await self.engine.write(
                        Path(run.root), run.run, release, Workspace(Path(run.root)), run.run, task, keys[key]
                    )
                if mine:
                    await self.again(run, CLAIMS)
        return ActResult(self._current(run), done.commit.records)

    def _tokens(self, run: Evaluation, who: str, named: str) -> tuple[str, ...]:
        """The tokens of the claims that somebody has by this connection, and the one that the call names."""
        mine = (run.root, run.run, who)
        return (
            *(token for key, token in self.client.tokens.items() if key[:3] == mine),
            *filter(None, [named]),
        )

    async def again(self, run: Evaluation, file: str = "") -> Evaluation:
        """The run as its files are now, of which we wrote one if it is named.

        Raises ToolRefused where it is gone.
        """
        root = Path(run.root)
        if file:
            await self.engine.refresh(root, [root / run.home / file])
        await self.engine.look_again(root, run.run)
        return self._current(run)

    async def claim(
        self, run: Evaluation, who: str, seconds: float, token: str
    ) -> tuple[Evaluation, Claim | None, str]:
        root = Path(run.root)
        async with self.client.open_roots.lock(root, run.run):
            with refusals():
                tokens = self._tokens(run, who, token)
                made = await self.engine.write(
                    root, run.run, claim_next, Workspace(root), run.run, who, seconds, tokens
                )
            claim, token = made or (None, "")
            if claim and self.client.lasting:
                self.client.tokens[run.root, run.run, who, claim.task] = token
            return await self.again(run, CLAIMS), claim, token

    def _current(self, run: Evaluation) -> Evaluation:
        evaluation = self.engine.board(Path(run.root)).runs.get(run.run)
        if evaluation is None:
            raise ToolRefused(f"{plain(run.run, 300)} is no run any more; call status")
        return evaluation

    def is_known(self, place: RootRuns, run: str | None, revision: str) -> bool:
        now = place.totals.revision if run is None else place.runs[run].revision
        shown = None if run is None else short_run(run)
        return revision == now or (place.root, shown, revision) in self.client.open_roots.given_revisions

    async def wait(self, place: RootRuns, run: str, since: str, seconds: float) -> RootRuns:
        roots = await self.client.hold(Path(place.root))

        def revision() -> str | None:
            now = self._place_of(roots)
            if not run:
                return now.totals.revision
            return now.runs[run].revision if run in now.runs else None

        changed = asyncio.Event()
        with ExitStack() as subscriptions, suppress(TimeoutError):
            for root in roots:
                subscriptions.callback(self.engine.subscribe(root, lambda _: changed.set()))
            async with asyncio.timeout(seconds):
                while revision() == since:
                    await changed.wait()
                    changed.clear()
        return await self._current_place(roots, run or None)

    def who(self, named: str) -> str:
        if named.strip():
            return plain(named.strip(), 80)
        return plain(self.name, 80) if self.label is None else f"{plain(self.name, 60)} {self.label}"


def find_folder(root: str) -> Path:
    """The folder that a call names, links resolved. Raises ToolRefused for one that is no absolute path."""
    try:
        path = Path(root).expanduser()
    except RuntimeError:
        # `~name` of somebody whom this machine does not know.
        path = Path(root)
    if not path.is_absolute():
        raise ToolRefused(f"root must be an absolute path, not {plain(root, 200)!r}")
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        # A NUL byte, or links in a circle.
        raise ToolRefused(f"{plain(root, 200)!r} does not exist or cannot be opened") from None


def is_allowed(root: str, allowed: Sequence[Path]) -> bool:
    """Test that a call's root is within the allowed folders, of which the client need not be asked."""
    try:
        return is_within(find_folder(root), allowed)
    except ToolRefused:
        # It is refused with its reason when it is looked at.
        return True
