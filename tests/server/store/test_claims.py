"""Claims on tasks: one holder at a time, by tokens that only grow."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from phasekeeper.orchestration.journal.journal import read_claims
from phasekeeper.server.store import claims
from phasekeeper.server.store.claims import (
    MAX_LOG_BYTES,
    check_claim,
    claim,
    note_unfenced,
    read_unfenced,
    release,
)
from phasekeeper.server.store.commit import Conflict, LockedRun, Writes, commit
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.store.lock import Clock, timestamp

RUN = "tasks/T1"
LOG = f"{RUN}/.phasekeeper/claims.jsonl"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / RUN).mkdir(parents=True)
    return tmp_path.resolve()


def at(minutes: float) -> Clock:
    return lambda: NOON + timedelta(minutes=minutes)


def test_a_claim_keeps_others_out_until_it_ends_and_the_next_has_a_higher_token(root: Path) -> None:
    mine = claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    assert (mine.seq, mine.until) == (1, "2026-03-01T12:10:00.000+00:00")
    with pytest.raises(Conflict, match="03 is claimed by ann until 2026-03-01T12:10"):
        claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(9.99))
    assert claim(root, RUN, "04", "bob", 600, "t-bob", clock=at(1)).seq == 2
    theirs = claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(10))
    assert theirs.seq == 3
    assert read_claims((root / LOG).read_text(), timestamp(at(10)())) == (theirs, *claims_of(root, "04", 10))


def claims_of(root: Path, task: str, minutes: float) -> tuple[object, ...]:
    live = read_claims((root / LOG).read_text(), timestamp(at(minutes)()))
    return tuple(each for each in live if each.task == task)


def test_claiming_again_gives_a_new_token_and_ends_the_old_one(root: Path) -> None:
    first = claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    second = claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(5))
    check_claim(root, RUN, "03", ["t-ann"], second.seq, timestamp(at(14)()), live=True)
    with pytest.raises(Conflict, match="claimed by ann"):
        check_claim(root, RUN, "03", ["t-ann"], first.seq, timestamp(at(6)()), live=True)


def test_a_write_with_an_expired_or_a_foreign_token_is_refused(root: Path) -> None:
    mine = claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))

    def report(held: LockedRun) -> Writes:
        check_claim(held.root, held.run, "03", ["t-ann"], mine.seq, held.at, live=True)
        return Writes(({"kind": "report", "task": "03"},))

    assert commit(root, RUN, report, clock=at(9)).records
    with pytest.raises(Conflict, match="has ended; claim it again"):
        commit(root, RUN, report, clock=at(11))
    claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(12))
    with pytest.raises(Conflict, match="claimed by bob"):
        commit(root, RUN, report, clock=at(13))
    with pytest.raises(Conflict, match="claimed by bob"):
        check_claim(root, RUN, "03", ["t-ann", "ann"], 2, timestamp(at(13)()), live=False)


def test_a_name_is_no_key_and_the_log_does_not_hold_one(root: Path) -> None:
    mine = claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    assert "t-ann" not in (root / LOG).read_text()
    for token in ("ann", "none", mine.key, str(mine.seq)):
        with pytest.raises(Conflict, match="03 is claimed by ann until"):
            claim(root, RUN, "03", "ann", 600, token, clock=at(1))
        with pytest.raises(Conflict, match="claimed by ann"):
            release(root, RUN, "03", token, clock=at(1))
        with pytest.raises(Conflict, match="claimed by ann") as refused:
            check_claim(root, RUN, "03", [token], None, timestamp(at(1)()), live=False)
        assert "t-ann" not in str(refused.value) and mine.key not in str(refused.value)
    check_claim(root, RUN, "03", ["t-ann"], None, timestamp(at(1)()), live=False)
    check_claim(root, RUN, "04", [], None, timestamp(at(1)()), live=False)


def test_a_claim_without_a_digest_is_nobodys_until_it_ends_or_a_person_releases_it(root: Path) -> None:
    claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    before = json.loads((root / LOG).read_text())
    (root / LOG).write_text(json.dumps({name: before[name] for name in before if name != "key"}) + "\n")
    for token in ("ann", "t-ann", "", "1"):
        with pytest.raises(Conflict, match="claimed by ann"):
            release(root, RUN, "03", token, clock=at(1))
    assert release(root, RUN, "03", None, clock=at(1)) is True
    assert claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(1)).actor == "bob"


def test_only_its_holder_releases_a_claim_and_twice_is_once(root: Path) -> None:
    claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    with pytest.raises(Conflict, match="claimed by ann"):
        release(root, RUN, "03", "t-bob", clock=at(1))
    assert release(root, RUN, "03", "t-ann", clock=at(1)) is True
    assert release(root, RUN, "03", "t-ann", clock=at(1)) is False
    assert claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(1)).seq == 3


def test_a_clock_that_is_set_back_never_makes_two_claims_live(root: Path) -> None:
    claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    theirs = claim(root, RUN, "03", "bob", 600, "t-bob", clock=at(10))
    with pytest.raises(Conflict, match="claimed by bob"):
        claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(-60))
    assert claims_of(root, "03", -60) == (theirs,)


def test_a_torn_line_is_cut_and_its_number_may_be_given_again(root: Path) -> None:
    claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    with (root / LOG).open("a") as file:
        file.write('{"seq": 2, "kind": "cl')
    assert claim(root, RUN, "04", "bob", 600, "t-bob", clock=at(1)).seq == 2
    assert len([json.loads(line) for line in (root / LOG).read_text().splitlines()]) == 2


def test_a_long_log_is_begun_anew_and_numbers_go_on(root: Path) -> None:
    claim(root, RUN, "03", "ann", 600, "t-ann", clock=at(0))
    long = json.dumps({"seq": 77, "kind": "release", "task": "x" * MAX_LOG_BYTES})
    with (root / LOG).open("a") as file:
        file.write(long + "\n")
    assert claim(root, RUN, "04", "bob", 600, "t-bob", clock=at(1)).seq == 78
    live = read_claims((root / LOG).read_text(), timestamp(at(1)()))
    assert [(each.task, each.seq) for each in live] == [("03", 1), ("04", 78)]
    assert (root / LOG).stat().st_size < 1000


@pytest.mark.parametrize(
    ("task", "actor", "ttl_s"), [("", "ann", 60), ("03", "", 60), ("03", "ann", 0), ("03", "ann", 1e9)]
)
def test_a_claim_needs_a_task_an_actor_and_an_end(root: Path, task: str, actor: str, ttl_s: float) -> None:
    with pytest.raises(ValueError, match="a claim needs"):
        claim(root, RUN, task, actor, ttl_s, "token")


def test_where_nobody_ever_claimed_anything_no_file_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()
    read_file = claims.read_file
    monkeypatch.setattr(claims, "read_file", lambda at, path: (opened.append(path), read_file(at, path))[1])
    assert read_unfenced(root, RUN) == read_unfenced(root, "tasks/none") == ()
    assert opened == []
    note_unfenced(root, RUN, "03", "ann", "ok")
    assert [each.task for each in read_unfenced(root, RUN)] == ["03"]
    assert opened == [LOG]


def test_a_log_that_is_a_link_is_no_log(root: Path) -> None:
    (root / LOG).parent.mkdir()
    (root / LOG).symlink_to(root / "nothing")
    with pytest.raises(StoreError):
        read_unfenced(root, RUN)
