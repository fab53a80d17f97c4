"""No answer that the fleet has taken is lost or recorded twice while servers are killed and lines are cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client
from phasekeeper.orchestration.fleet.answer_fit import open_questions
from phasekeeper.orchestration.fleet.remote_answers import (
    LIFETIME_S,
    AnswerProposal,
    AnswerState,
    answer_key,
    format_proposal,
    parse_result,
    result_key,
)
from phasekeeper.orchestration.journal.lines import JOURNAL, parse_lines
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.disk.ssh_signers import ssh_signers
from phasekeeper.server.fleet.answers import sign_answer
from phasekeeper.server.fleet.bucket import FleetUnreachable
from phasekeeper.server.fleet.nats_bucket import NatsBucket, create_stream
from phasekeeper.server.hub.fleet_answers import AnswerRecorder, AskingClone
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.workspace.decision_proof import journal_place
from phasekeeper.server.workspace.head_files import HeadFiles

from tests.roots import ssh_keys
from tests.server.fleet.nats_servers import Servers, connection_to
from tests.server.fleet.proxy import Proxy, replay
from tests.server.fleet.test_faults import eventually
from tests.server.hub.test_fleet_answers import ANN, PROJECT, repository

RUNS = tuple(f"r{number}" for number in range(8))
BUCKET = "answers"
_LOOK_S = 0.02


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Servers]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    servers = Servers(folder, 3)
    servers.start()
    yield servers
    servers.kill()


class Desk:
    """The clone that asks in each of its runs, its recorder behind lines that can be cut, and the sofa."""

    def __init__(self, root: Path, key: Path, servers: Servers) -> None:
        self.root, self.key, self.servers = root, key, servers
        self.hub = Hub(asyncio.get_running_loop())
        self.lines = [Proxy(port) for port in servers.ports]
        self.taken: list[AnswerProposal] = []
        """The answers of which the fleet has said that it has them."""

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            self.observer = await self._connected(stack, self.servers.urls)
            await create_stream(self.observer, BUCKET, replicas=3, max_bytes=1 << 22)
            self.sofa = NatsBucket(self.observer, BUCKET)
            urls = [await line.open() for line in self.lines]
            own = NatsBucket(await self._connected(stack, urls, dont_randomize=True), BUCKET)
            await self.hub.engine.open(self.root)
            stack.push_async_callback(self.hub.stop)
            broken = Command("report", "do", "error", tasks=("f-01",), actor="bot", message="it broke")
            for run in RUNS:
                await self.hub.engine.act(self.root, f"work/{run}", broken)

            async def connect() -> NatsBucket:
                return own

            clone = AskingClone(self.root, PROJECT, "desk", "clone")
            # Two servers of one clone, as while one takes over from the other.
            for _ in range(2):
                stack.push_async_callback(AnswerRecorder(self.hub.engine, clone, connect).stop)
            yield
        for line in self.lines:
            await line.close()

    async def _connected(self, stack: AsyncExitStack, urls: list[str], **options: object) -> Client:
        connection = await connection_to(urls, **options)
        stack.push_async_callback(connection.close)
        return connection

    async def leader(self) -> int:
        info = await self.observer.jetstream().stream_info(f"KV_{BUCKET}")
        assert info.cluster and info.cluster.leader
        return int(info.cluster.leader.removeprefix("n"))

    async def send(self, *runs: str) -> None:
        """Answer the questions of runs, and send each again until the fleet says that it has it."""
        for run in runs:
            proposal = await self._signed(f"work/{run}")
            key, raw = answer_key("sofa", proposal), format_proposal(proposal)

            async def is_taken(key: str = key, raw: bytes = raw) -> bool:
                try:
                    # None: a try before was taken although nobody said so.
                    await self.sofa.lease(key, raw, LIFETIME_S)
                except FleetUnreachable:
                    return False
                return True

            assert await eventually(is_taken)
            self.taken.append(proposal)

    async def _signed(self, run: str) -> AnswerProposal:
        (question,) = await self.hub.engine.query(self.root, run, open_questions)
        journal = f"{run}/{JOURNAL}"
        after = parse_lines((self.root / journal).read_text())[-1].digest
        whole = AnswerProposal(
            PROJECT, run, "desk", "clone", question.id, "yes", question.asked, question.options,
            question.subject, after, "looked at it", ANN, datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
        signers = ssh_signers(self.root, HeadFiles(self.root).read)
        place = journal_place(self.root, journal)
        return await asyncio.to_thread(sign_answer, self.root, place, str(self.key), whole, signers)

    async def state(self, proposal: AnswerProposal) -> AnswerState | None:
        """What the desk has told of an answer."""
        key = result_key("desk", "sofa", proposal.id)
        try:
            told = await self.sofa.get(key)
        except FleetUnreachable:
            return None
        result = parse_result(key, told.value) if told else None
        return result.state if result else None

    async def are_all_told(self) -> bool:
        return all([await self.state(each) for each in self.taken])

    def answers(self, run: str) -> list[str]:
        lines = (self.root / "work" / run / JOURNAL).read_text().splitlines()
        return [each["option"] for each in map(json.loads, lines) if each["kind"] == "answer"]


def test_an_answer_that_was_taken_is_recorded_once_whatever_fails(
    cluster: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("phasekeeper.server.hub.fleet_answers._AGAIN_S", _LOOK_S)
    keys = tmp_path / "keys"
    keys.mkdir()
    ssh_keys(keys, "ann", "eve")
    root = repository(tmp_path / "desk", keys, "full", RUNS)

    async def scene() -> None:
        desk = Desk(root, keys / "ann", cluster)
        async with desk.asking():
            await desk.send(*RUNS[:2])
            leader = await desk.leader()
            cluster.kill(leader)
            await desk.send(*RUNS[2:4])
            # Without a majority nothing is taken, and what was taken is not lost.
            second = await desk.leader()
            cluster.kill(second)
            sending = asyncio.ensure_future(desk.send(*RUNS[4:6]))
            cluster.start(leader, second)
            await sending
            for line in desk.lines:
                line.cut()
            await desk.send(*RUNS[6:])
            assert await desk.state(desk.taken[-1]) is None
            for line in desk.lines:
                line.mend()
            assert await eventually(desk.are_all_told)
            # What the desk has written comes once more, byte for byte.
            published = [frame for line in desk.lines for frame in line.published]
            assert published
            for port in cluster.ports:
                await replay(port, published)
            assert {await desk.state(each) for each in desk.taken} == {AnswerState.RECORDED}
            for run in RUNS:
                assert desk.answers(run) == ["yes"]
                assert await desk.hub.engine.query(root, f"work/{run}", open_questions) == ()

    asyncio.run(scene())
