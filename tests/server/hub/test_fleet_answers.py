"""A question of a machine is answered on another one: signed there, verified and recorded here."""

from __future__ import annotations

import asyncio
import json
import subprocess
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.fleet.messages import key_token
from phasekeeper.orchestration.fleet.remote_answers import (
    LIFETIME_S,
    AnswerProposal,
    AnswerState,
    answer_key,
    format_proposal,
)
from phasekeeper.orchestration.fleet.shared_board import RunSummary
from phasekeeper.orchestration.journal.lines import JOURNAL
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.server.cli.commands import fleet
from phasekeeper.server.disk import ssh_keygen
from phasekeeper.server.disk.ssh_signers import ssh_signers
from phasekeeper.server.fleet.answers import SentAnswer, sent_answers, sign_answer
from phasekeeper.server.fleet.board_feed import project_board
from phasekeeper.server.fleet.connection import ANSWERS, LINK
from phasekeeper.server.hub import fleet_answers
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.decision_proof import journal_place, prove_lines
from phasekeeper.server.workspace.head_files import HeadFiles
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import needs, put, ssh_keys
from tests.server.fleet.machines import PROJECT, Machines
from tests.server.workspace.test_apply import planned_root

RUN = "work/one"
JOURNAL_PATH = f"{RUN}/{JOURNAL}"
ANN = "Ann <ann@example.org>"
_CONFIGURATION = (
    "workflows: {{'work/*': planned}}\nfleet: {{project: library, share: {}}}\ndecide: {{ssh: true}}\n"
)
_BOUND, _LOOK_S = 1500, 0.02


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SSH keys of ann, who may decide, and of eve, who may not."""
    return ssh_keys(tmp_path_factory.mktemp("keys"), "ann", "eve")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """The machine `desk`, where the files are, and `sofa`, where the people are."""
    made = Machines(tmp_path / "machines", "desk", "sofa")
    yield made
    made.stop()


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    subprocess.run([needs("git"), *who, *words], cwd=root, check=True, capture_output=True)


def repository(root: Path, keys: Path, share: str, runs: Sequence[str] = ("one",)) -> Path:
    """A clone in whose HEAD ann is a signer."""
    planned_root(root, _CONFIGURATION.format(share), runs)
    put(root / ".phasekeeper/allowed_signers", f"ann@example.org {(keys / 'ann.pub').read_text()}")
    git(root, "init", "-q")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(root, "config", name, value)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


@asynccontextmanager
async def serving(machines: Machines, root: Path) -> AsyncIterator[Hub]:
    """A server of the desk, in whose run a person is asked whether to go on."""
    with machines.on("desk"):
        hub = Hub(asyncio.get_running_loop())
        await hub.engine.open(root)
        await hub._fleet.wait_for_memberships()
        try:
            if not (root / JOURNAL_PATH).exists():
                broken = Command("report", "do", "error", tasks=("f-01",), actor="bot", message="it broke")
                await hub.engine.act(root, RUN, broken)
            yield hub
        finally:
            await hub.stop()


async def until(look: Callable[[], Any]) -> Any:
    """What `look` says once it says something."""
    for _ in range(_BOUND):
        if found := await asyncio.to_thread(look):
            return found
        await asyncio.sleep(_LOOK_S)
    raise AssertionError("it does not come")


async def asked(machines: Machines, root: Path) -> RunSummary:
    """The row of the clone at a root once its question can be answered elsewhere, as the sofa reads it."""

    def look() -> RunSummary | None:
        with machines.on("sofa"):
            rows = [each for run in project_board(PROJECT).runs for each in run.clones]
        mine = (row for row in rows if row.clone == key_token(str(root)) and row.subject_of("go_on"))
        return next(mine, None)

    return await until(look)


async def outcome(machines: Machines, sent: AnswerProposal) -> tuple[AnswerState, str]:
    """What became of an answer that the sofa has sent."""

    def look() -> SentAnswer | None:
        told = sent_answers(machines.memberships["sofa"])
        return next((each for each in told if each.result and each.proposal.id == sent.id), None)

    result = (await until(look)).result
    return result.state, result.why


def proposal(row: RunSummary, **changes: Any) -> AnswerProposal:
    question = row.question_in_words("go_on")
    assert question
    whole = AnswerProposal(
        PROJECT, row.run, row.member, row.clone, "go_on", "yes", question.asked, question.options,
        question.subject, row.head, "looked at it", ANN, datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    return whole._replace(**changes)


def signed(
    root: Path, keys: Path, row: RunSummary, whole: AnswerProposal, name: str = "ann"
) -> AnswerProposal:
    where = journal_place(root, f"{row.home}/{JOURNAL}")
    signers = ssh_signers(root, HeadFiles(root).read)
    if name == "ann":
        return sign_answer(root, where, str(keys / name), whole, signers)
    text = fleet_answers.decision_text(whole.kind, signers.repository, where, whole.signed_content)
    return whole._replace(signature=ssh_keygen.sign(root, str(keys / name), text))


def send(machines: Machines, each: AnswerProposal) -> AnswerProposal:
    key, raw = answer_key("sofa", each), format_proposal(each)
    assert LINK.call(machines.memberships["sofa"], ANSWERS, lambda bucket: bucket.lease(key, raw, LIFETIME_S))
    return each


def journal(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / JOURNAL_PATH).read_text().splitlines()]


def answers(root: Path) -> list[dict[str, Any]]:
    return [each for each in journal(root) if each["kind"] == "answer"]


def is_open(root: Path) -> bool:
    workspace = Workspace(root)
    match = workspace.match(RUN)
    assert match
    return [each.id for each in workspace.evaluate(match).questions] == ["go_on"]


# ---- at a terminal --------------------------------------------------------------------------------


class Terminal:
    """What a person is shown before they confirm; they always do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        monkeypatch.setattr(fleet, "confirm", lambda lines, name: self.shown.extend([*lines, name]))


def typed(root: Path, keys: Path, **more: Any) -> Namespace:
    base = {"root": root, "run": "one", "question": None, "option": "yes", "reason": "looked at it"}
    return Namespace(**{**base, "key": str(keys / "ann"), "json": False, "on": None, **more})


@pytest.mark.parametrize("share", ["full", "ids"])
def test_an_answer_of_another_machine_is_recorded_once_and_verified_by_every_clone(
    machines: Machines,
    keys: Path,
    tmp_path: Path,
    share: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = repository(tmp_path / "desk", keys, share)
    sofa = tmp_path / "sofa"
    git(tmp_path, "clone", "-q", str(desk), "sofa")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(sofa, "config", name, value)
    terminal = Terminal(monkeypatch)

    def decide() -> AnswerProposal:
        with machines.on("sofa"):
            assert fleet.answer(typed(sofa, keys)) == 0
            return sent_answers(machines.memberships["sofa"])[0].proposal

    async def scene() -> None:
        async with serving(machines, desk) as hub:
            row = await asked(machines, desk)
            assert bool(row.asked) == (share == "full") and "Go on" not in "".join(row.questions)
            if share == "ids":
                # Without words and without the run as it stands there nothing can be decided.
                with pytest.raises(UsageError, match="git pull"):
                    await asyncio.to_thread(decide)
                put(sofa / JOURNAL_PATH, (desk / JOURNAL_PATH).read_text())
            sent = await asyncio.to_thread(decide)
            assert "sent; it counts once the server of desk has verified" in capsys.readouterr().out
            assert await outcome(machines, sent) == (AnswerState.RECORDED, "")
            assert not hub.engine.board(desk).runs[RUN].questions
            # Another start of the server finds all of it in the bucket again.
        async with serving(machines, desk):
            await asked_again(machines, desk, sent)

    asyncio.run(scene())
    text = "\n".join(terminal.shown)
    assert "Go on?" in text and "answer: yes (go on)" in text and "it is asked on desk" in text
    assert ("afterwards: " if share == "ids" else "what follows from it is not known here") in text
    (made,) = answers(desk)
    assert (made["actor"], made["channel"], made["why"]) == (ANN, "fleet", "looked at it")
    assert made["decided"] and made["after"] and "mac" not in made
    # Whoever gets the journal verifies it, on any machine, by HEAD alone.
    with machines.on("elsewhere"):
        assert is_open(sofa) == (share == "ids")
        put(sofa / JOURNAL_PATH, (desk / JOURNAL_PATH).read_text())
        assert not is_open(sofa)
        changed = (desk / JOURNAL_PATH).read_text().replace("looked at it", "waved through")
        put(sofa / JOURNAL_PATH, changed)
        assert is_open(sofa)
        # It counts wherever it stands in its journal, and once.
        line, moved = json.dumps(made), json.dumps({**made, "seq": 9, "prev": "0" * 16})
        assert prove_lines(sofa, JOURNAL_PATH, [moved], None).proven == {0}
        assert prove_lines(sofa, JOURNAL_PATH, [line, moved], None).proven == {0}
        assert not prove_lines(sofa, f"work/two/{JOURNAL}", [line], None).proven
        # An answer proves no decision of another kind.
        other = json.dumps({**made, "kind": "override", "next": "mend", "gates": ["any"]})
        assert not prove_lines(sofa, JOURNAL_PATH, [other], None).proven


async def asked_again(machines: Machines, root: Path, sent: AnswerProposal) -> None:
    """The answer stays recorded once, also where its result was lost and it comes again."""
    assert await outcome(machines, sent) == (AnswerState.RECORDED, "")
    assert len(answers(root)) == 1


def test_an_override_of_another_machine_is_recorded_once_where_it_waives_what_was_shown(
    machines: Machines, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, sofa = repository(tmp_path / "desk", keys, "ids"), tmp_path / "sofa"
    asks = Command("raise", message="What about tea?", actor="bot")
    apply_command(Workspace(desk), RUN, asks)
    git(desk, "add", "-A")
    git(desk, "commit", "-q", "-m", "a question")
    git(tmp_path, "clone", "-q", str(desk), "sofa")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
        git(sofa, "config", name, value)
    terminal = Terminal(monkeypatch)

    def override(why: str = "looked at it", **more: Any) -> AnswerProposal:
        with machines.on("sofa"):
            assert fleet.override(typed(sofa, keys, **{"to": "mend", "reason": why, **more})) == 0
            told = sent_answers(machines.memberships["sofa"])
        return next(each.proposal for each in told if each.proposal.why == why)

    def there() -> bool:
        with machines.on("sofa"):
            return any(each.run == RUN for each in project_board(PROJECT).runs)

    async def scene() -> None:
        async with serving(machines, desk) as hub:
            await until(there)
            for said, more in {"no run|there is no": {"run": "three"}, "reason": {"why": " "}}.items():
                with pytest.raises(UsageError, match=said):
                    await asyncio.to_thread(override, **more)
            with pytest.raises(CommandRefused, match="unknown phase"):
                await asyncio.to_thread(override, to="nowhere")
            sent = await asyncio.to_thread(override)
            assert await outcome(machines, sent) == (AnswerState.RECORDED, "")
            assert hub.engine.board(desk).runs[RUN].current_phase == "mend"
            # It was seen before that, and so it is refused now; nothing of it is written.
            late = await asyncio.to_thread(override, "so do I")
            state, why = await outcome(machines, late)
            assert state == AnswerState.REFUSED and "not as the person saw it" in why
            forged = send(machines, sent._replace(why="waved through", signature=late.signature))
            assert (await outcome(machines, forged))[0] == AnswerState.REFUSED

    asyncio.run(scene())
    text = "\n".join(terminal.shown)
    assert f"Move {RUN} from do to mend" in text and "the server of desk records it" in text
    (made,) = [each for each in journal(desk) if each["kind"] == "override"]
    assert (made["actor"], made["channel"], made["why"]) == (ANN, "fleet", "looked at it")
    assert made["decided"] and "mac" not in made

    def is_proven(**changes: Any) -> bool:
        line = json.dumps({**made, **changes})
        return bool(prove_lines(sofa, JOURNAL_PATH, [line], None).proven)

    with machines.on("elsewhere"):
        assert is_proven()
        # What it waives, where it stands and what it is, no one can change.
        for changes in ({"gates": ["any"]}, {"prev": "0" * 16}, {"next": "do"}, {"kind": "answer"}):
            assert not is_proven(**changes), changes


def test_what_does_not_hold_is_refused_with_why(machines: Machines, keys: Path, tmp_path: Path) -> None:
    desk = repository(tmp_path / "desk", keys, "full", runs=("one", "two"))

    async def scene() -> None:
        async with serving(machines, desk):
            row = await asked(machines, desk)
            good = signed(desk, keys, row, proposal(row))
            other_run = {"run": "work/two"}
            cases: Mapping[str, AnswerProposal] = {
                "not what was signed": good._replace(why="waved through"),
                "not among those of its signer": signed(desk, keys, row, proposal(row), "eve"),
                "no option 'never'": signed(desk, keys, row, proposal(row, option="never")),
                "in other words": signed(desk, keys, row, proposal(row, asked="Is tea fine?")),
                "changed meanwhile": signed(desk, keys, row, proposal(row, subject="0" * 64)),
                "does not hold what": signed(desk, keys, row, proposal(row, after="0" * 16)),
                "for the project": signed(desk, keys, row, proposal(row, project="other")),
                "is not open": signed(desk, keys, row, proposal(row, question="raised:1")),
                "not open any more": signed(desk, keys, row, proposal(row, **other_run)),
                "is no run": signed(desk, keys, row, proposal(row, run="work/three")),
                "signed long ago": signed(desk, keys, row, proposal(row, decided="2026-01-01T00:00:00Z")),
                "in the future": signed(desk, keys, row, proposal(row, decided="2999-01-01T00:00:00Z")),
                "another purpose": proposal(row, signature=wrong_purpose(desk, keys, row)),
                "cannot be read": proposal(row, signature="AAAA"),
            }
            # Another clone's is left to that one, and what is no answer is passed over.
            elsewhere = send(machines, signed(desk, keys, row, proposal(row, clone="c" * 32)))
            member, noise = machines.memberships["sofa"], b"[" * 8000
            assert LINK.call(member, ANSWERS, lambda bucket: bucket.create("sofa.answers.noise", noise))
            for each in cases.values():
                send(machines, each)
            for said, each in cases.items():
                state, why = await outcome(machines, each)
                assert state == AnswerState.REFUSED and said in why, (said, why)
            assert not answers(desk) and is_open(desk)
            # None of this keeps the one that holds from being recorded; the next is late.
            late = signed(desk, keys, row, proposal(row, why="so do I"))
            assert await outcome(machines, send(machines, good)) == (AnswerState.RECORDED, "")
            state, why = await outcome(machines, send(machines, late))
            assert (state, why) == (AnswerState.REFUSED, "go_on is not open any more")
            assert len(answers(desk)) == 1
            untold = {each.proposal for each in sent_answers(member) if each.result is None}
            assert untold == {elsewhere}

    asyncio.run(scene())


def test_of_one_member_no_more_signatures_are_verified_than_may_fail(
    machines: Machines, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_answers, "MAX_UNPROVEN", 1)
    desk = repository(tmp_path / "desk", keys, "full")

    async def scene() -> None:
        async with serving(machines, desk):
            row = await asked(machines, desk)
            good = signed(desk, keys, row, proposal(row))
            forged = send(machines, good._replace(why="waved through"))
            assert (await outcome(machines, forged))[0] == AnswerState.REFUSED
            assert "too many answers of sofa" in (await outcome(machines, send(machines, good)))[1]
            assert is_open(desk)

    asyncio.run(scene())


def wrong_purpose(root: Path, keys: Path, row: RunSummary) -> str:
    """A signature by ann's key that was made for git."""
    text = root.parent / "text"
    text.write_bytes(b"text")
    words = [needs("ssh-keygen"), "-q", "-Y", "sign", "-n", "git", "-f", str(keys / "ann"), str(text)]
    subprocess.run(words, check=True, capture_output=True)
    return ssh_keygen.strip_armor(text.with_suffix(".sig").read_text())
