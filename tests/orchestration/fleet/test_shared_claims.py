"""Who has a task in a fleet, and to whom a claim yields."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.fleet.shared_claims import (
    ClaimState,
    SharedClaim,
    claim_key,
    format_claim,
    holder_phrase,
    parse_claim,
)

MINE = SharedClaim("docs/plan", "f-01", ClaimState.CLAIMED, "ann", "laptop", "c1", "mine", "12:00")
THEIRS = MINE._replace(actor="bob", member="ci", clone="c2", key="theirs")
HERE = MINE._replace(key="another token", actor="eve")


def test_what_is_written_is_read_again() -> None:
    assert parse_claim(format_claim(MINE)) == MINE


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"state": "ours"}', b'{"state": 1}', b"[]"])
def test_a_value_that_is_no_claim_yields_to_nobody(raw: bytes) -> None:
    there = parse_claim(raw)
    assert there.state is ClaimState.UNREADABLE
    assert not there.yields_to(MINE) and not there.yields_to(there)
    assert "cannot be read" in holder_phrase(there)


@pytest.mark.parametrize(
    ("state", "yields"),
    [
        (ClaimState.CLAIMED, {"same token"}),
        (ClaimState.REPORTING, {"same token", "same clone"}),
        (ClaimState.REPORTED, {"same token", "same clone"}),
    ],
)
def test_a_claim_yields_by_its_state(state: ClaimState, yields: set[str]) -> None:
    there = MINE._replace(state=state)
    takers = {"same token": MINE, "same clone": HERE, "another machine": THEIRS}
    assert {name for name, taker in takers.items() if there.yields_to(taker)} == yields


def test_a_report_yields_to_who_has_its_line_and_to_nobody_by_an_empty_one() -> None:
    there = MINE._replace(state=ClaimState.REPORTED, line="d1")
    assert there.yields_to(THEIRS, {"d0", "d1"})
    assert not there.yields_to(THEIRS, {"d0"}) and not there._replace(line="").yields_to(THEIRS, {"d0"})
    assert not there._replace(state=ClaimState.REPORTING).yields_to(THEIRS, {"d1"})


def test_without_a_token_or_a_clone_nothing_is_the_same() -> None:
    nobody = MINE._replace(key="", clone="")
    assert not nobody.yields_to(nobody)
    assert not nobody._replace(state=ClaimState.REPORTED).yields_to(nobody)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (ClaimState.CLAIMED, "f-01 is claimed by bob on ci until 12:00; take another task, or wait"),
        (ClaimState.REPORTING, "f-01 is being reported by bob on ci; wait"),
        (ClaimState.REPORTED, "f-01 was reported complete by bob on ci: get the files"),
    ],
)
def test_the_holder_is_named_with_what_to_do(state: ClaimState, said: str) -> None:
    assert holder_phrase(THEIRS._replace(state=state, outcome="complete")).startswith(said)
    assert "somebody on another machine" in holder_phrase(SharedClaim("r", "f-01"))


def test_the_key_of_a_task_is_its_own() -> None:
    keys = {claim_key(run, task) for run in ("a", "b") for task in ("1", "2")}
    assert len(keys) == 4
