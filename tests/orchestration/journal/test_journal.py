"""The journal: its lines, its chain, what a fork costs; claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Severity
from phasekeeper.orchestration.journal.journal import (
    FIELDS,
    Claim,
    Journal,
    Proofs,
    read_claims,
    read_journal,
)
from phasekeeper.orchestration.vfs.files import digest_of


def lines(*records: dict[str, Any], after: str = "") -> list[str]:
    """The records as lines, each chained to the one before, the first to `after`."""
    out: list[str] = []
    for number, record in enumerate(records, 1):
        prev = digest_of(out[-1]) if out else after
        out.append(json.dumps({"seq": number, **record, "prev": prev}))
    return out


def text(*parts: Sequence[str]) -> str:
    return "".join(f"{line}\n" for part in parts for line in part)


def report(outcome: str, phase: str = "build") -> dict[str, Any]:
    return {"kind": "report", "phase": phase, "outcome": outcome}


def said(journal: Journal) -> list[tuple[str, str]]:
    return [(str(entry["phase"]), str(entry["outcome"])) for entry in journal.records]


def codes(journal: Journal) -> list[tuple[str, int]]:
    return [(problem.code, problem.span.line) for problem in journal.problems if problem.span]


def yes(decisions: Sequence[str]) -> Proofs:
    return Proofs(frozenset(range(len(decisions))))


def test_every_record_has_every_field() -> None:
    journal = read_journal(text(lines(report("ok"), {"kind": "start", "unknown": 1, "why": None})))
    assert [set(entry) for entry in journal.records] == [set(FIELDS)] * 2
    assert journal.records[1]["why"] == ""
    assert journal.lines == (0, 1)
    assert journal.problems == ()


def test_an_empty_journal_has_no_head() -> None:
    assert read_journal(" \n\n") == Journal()


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=4))
def test_lines_in_any_order_and_number_are_one_chain(order: list[int], again: list[int]) -> None:
    chain = lines(*(report(f"o{n}") for n in range(6)))
    journal = read_journal(text([chain[n] for n in [*order, *again]]))
    assert [entry["outcome"] for entry in journal.records] == [f"o{n}" for n in range(6)]
    assert (journal.head, journal.forked, journal.problems) == (digest_of(chain[-1]), False, ())


def test_blank_lines_are_passed_over_and_counted() -> None:
    chain = lines(report("ok"), report("pass"))
    assert read_journal(f"\n{chain[0]}\n\n \n{chain[1]}\n\n").lines == (1, 4)


def test_line_ends_of_windows_do_not_break_the_chain() -> None:
    chain = lines(report("ok"), report("pass"))
    journal = read_journal("\r\n".join(chain) + "\r\n")
    assert said(journal) == [("build", "ok"), ("build", "pass")]


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_last_line_that_was_cut_off_is_left_out(cut: int) -> None:
    chain = lines(report("ok"), report("fail"))
    journal = read_journal(text(chain[:1]) + chain[1][:cut])
    assert said(journal) == [("build", "ok")]
    assert codes(journal) == [("journal-torn", 1)]
    assert not journal.broken


@pytest.mark.parametrize("line", ["{", "[]", "nothing", "\x00", '{"kind": "report"'])
def test_a_line_in_the_middle_that_is_no_record_breaks_the_journal(line: str) -> None:
    chain = lines(report("ok"), report("pass"))
    journal = read_journal(text(chain[:1], [line], chain[1:]))
    assert (journal.broken, journal.records, codes(journal)) == (True, (), [("journal-invalid", 1)])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"kind": "odd"}, "unknown kind 'odd'"),
        ({}, "unknown kind None"),
        ({"kind": "report", "phase": 4}, "phase must be a text"),
        ({"kind": "report", "seq": True}, "seq must be a whole number"),
        ({"kind": "report", "iteration": 10**30}, "iteration must be a whole number"),
        ({"kind": "report", "tasks": "one"}, "tasks must be a list"),
    ],
)
def test_a_whole_line_with_a_wrong_value_is_never_taken_for_torn(
    record: dict[str, Any], message: str
) -> None:
    journal = read_journal(text(lines(report("ok"))) + json.dumps({"seq": 2, **record}))
    assert journal.broken
    assert [(problem.code, problem.message) for problem in journal.problems] == [("journal-invalid", message)]


KNOWN = lines(report("ok"), report("failed"), {"kind": "answer", "question": "q", "answer": "yes"})


@pytest.mark.parametrize(
    "content",
    [
        text(KNOWN),
        text(KNOWN[:2]),
        text(KNOWN[::-1], KNOWN),
        "\n\n" + text(KNOWN).replace("\n", "\r\n"),
        text(KNOWN, lines(report("more"), after=digest_of(KNOWN[-1]))),
        text(KNOWN[:1], lines(report("other"), after=digest_of(KNOWN[0])), KNOWN[1:]),
        text(KNOWN) + '{"seq": 4, "kind"',
        text(KNOWN[:1], ["no record"], KNOWN[1:]),
        text(KNOWN).replace("failed", "ok"),
        "",
    ],
)
def test_a_journal_of_which_lines_are_known_reads_as_one_of_which_none_is(content: str) -> None:
    known: dict[str, Any] = {}
    for before in (text(KNOWN), content, text(KNOWN), content):
        assert read_journal(before, yes, known) == read_journal(before, yes)


def test_a_line_that_is_known_is_not_parsed_again() -> None:
    known: dict[str, Any] = {}
    before = read_journal(text(KNOWN[:2]), yes, known).records
    after = read_journal(text(KNOWN), yes, known).records
    assert all(old is new for old, new in zip(before, after, strict=False))
    assert set(known) == set(KNOWN)


def test_a_line_that_is_gone_is_not_kept() -> None:
    known: dict[str, Any] = {}
    read_journal(text(KNOWN), yes, known)
    read_journal(text(KNOWN[:1]), yes, known)
    assert set(known) == {KNOWN[0]}


def test_a_decision_that_is_known_is_proven_anew() -> None:
    known: dict[str, Any] = {}
    assert len(read_journal(text(KNOWN), yes, known).records) == 3
    assert len(read_journal(text(KNOWN), known=known).records) == 2
    assert len(read_journal(text(KNOWN), yes, known).records) == 3


def test_a_line_that_follows_nothing_breaks_the_journal() -> None:
    chain = lines(report("ok"), report("fail"), report("pass"))
    journal = read_journal(text(chain[:1], chain[2:]))
    assert (journal.broken, codes(journal)) == (True, [("journal-invalid", 1)])


def test_a_changed_line_breaks_the_journal() -> None:
    chain = lines(report("fail"), report("pass"))
    journal = read_journal(text(chain).replace('"fail"', '"pass"'))
    assert journal.broken


ANSWER = {"kind": "answer", "question": "plan", "option": "approve"}


def test_of_a_fork_failures_of_both_heads_count_and_nothing_else_of_the_shorter() -> None:
    shared = lines({"kind": "start"})
    longer = lines(report("pass"), report("ok"), report("ok"), after=digest_of(shared[0]))
    shorter = lines(report("fail"), ANSWER, report("pass", "check"), after=digest_of(shared[0]))[:2]
    journal = read_journal(text(shared, shorter, longer), yes)
    assert said(journal)[1:] == [("build", "pass"), ("build", "ok"), ("build", "ok"), ("build", "fail")]
    assert (journal.forked, journal.head) == (True, digest_of(longer[-1]))
    assert codes(journal) == [("journal-forked", 1)]
    assert "2 records await repair" in journal.problems[0].message


def test_of_two_heads_of_one_length_the_one_that_began_first_counts_whichever_way_they_were_merged() -> None:
    one, other = lines({**report("pass"), "at": "2026-01-01"}), lines({**report("ok"), "at": "2026-01-02"})
    assert said(read_journal(text(one, other))) == [("build", "pass")]
    assert said(read_journal(text(other, one))) == [("build", "pass")]


def test_a_relink_takes_the_other_branch_in_just_before_itself() -> None:
    shared = lines({"kind": "start"})
    longer = lines(report("pass"), report("ok"), after=digest_of(shared[0]))
    shorter = lines(report("pass", "check"), after=digest_of(shared[0]))
    relink = {"kind": "relink", "about": f"{digest_of(shorter[0])},{digest_of(shorter[0])},0123456789abcdef"}
    journal = read_journal(
        text(shared, longer, shorter, lines(relink, report("fail"), after=digest_of(longer[1])))
    )
    assert said(journal)[1:] == [
        ("build", "pass"),
        ("build", "ok"),
        ("check", "pass"),
        ("", ""),
        ("build", "fail"),
    ]
    assert (journal.forked, journal.problems) == (False, ())


def test_a_commit_of_several_records_counts_whole_or_not_at_all() -> None:
    chain = lines(report("ok"), {**report("pass"), "more": 1}, report("fail"))
    assert len(read_journal(text(chain)).records) == 3
    cut = read_journal(text(chain[:2]))
    assert said(cut) == [("build", "ok")]
    assert codes(cut) == [("journal-torn", 1)]


def test_a_decision_without_proof_does_not_count() -> None:
    chain = lines({"kind": "start"}, ANSWER, {"kind": "override", "next": "done"}, report("ok"))
    asked: list[Sequence[str]] = []

    def verify(decisions: Sequence[str]) -> Proofs:
        asked.append(decisions)
        return Proofs(frozenset({1}))

    journal = read_journal(text(chain), verify)
    assert asked == [chain[1:3]]
    assert [entry["kind"] for entry in journal.records] == ["start", "override", "report"]
    assert journal.lines == (0, 2, 3)
    assert codes(journal) == [("decision-unverified", 1)]


def test_a_decision_without_proof_is_a_hint_once_a_person_has_decided_the_same() -> None:
    other, move = {**ANSWER, "question": "other"}, {"kind": "override", "next": "done"}
    chain = lines(ANSWER, {"kind": "start"}, move, ANSWER, {**move, "next": "review"}, other)
    journal = read_journal(text(chain), lambda _: Proofs(frozenset({2, 3})))
    assert [entry["kind"] for entry in journal.records] == ["start", "answer", "override"]
    told = [(p.span.line, p.severity) for p in journal.problems if p.span]
    assert told == [(0, Severity.HINT), (2, None), (5, None)]
    assert journal.problems[0].message.endswith("; line 4 decides it with proof")


def test_a_proof_before_a_decision_without_one_says_nothing_of_it() -> None:
    journal = read_journal(text(lines(ANSWER, ANSWER)), lambda _: Proofs(frozenset({0})))
    assert [problem.severity for problem in journal.problems] == [None]


def test_a_long_chain_is_read_without_recursion() -> None:
    chain = lines(*(report("ok") for _ in range(5_000)))
    assert len(read_journal(text(chain)).records) == 5_000


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_raise(content: str) -> None:
    read_journal(content)
    read_claims(content, "2026-01-01T00:00:00+00:00")


def claims(*records: object) -> tuple[Claim, ...]:
    return read_claims("\n".join(json.dumps(record) for record in records), "2026-06-01T12:00:00+00:00")


def claim(task: str, actor: str, until: str, seq: object = 1) -> dict[str, Any]:
    return {"kind": "claim", "task": task, "actor": actor, "until": until, "seq": seq}


LATER, EARLIER = "2026-06-01T12:00:01+00:00", "2026-06-01T11:59:59+00:00"


def test_a_claim_lives_until_its_time() -> None:
    assert claims(claim("a", "ann", LATER, 7), claim("b", "bo", EARLIER)) == (Claim("a", "ann", LATER, 7),)


def test_the_newest_claim_of_a_task_counts_even_when_it_is_over() -> None:
    assert claims(claim("a", "ann", LATER), claim("a", "bo", LATER, 2)) == (Claim("a", "bo", LATER, 2),)
    assert claims(claim("a", "ann", LATER), claim("a", "ann", EARLIER)) == ()


def test_a_released_task_is_free_until_it_is_claimed_again() -> None:
    release = {"kind": "release", "task": "a"}
    assert claims(claim("a", "ann", LATER), release) == ()
    assert claims(release, claim("a", "bo", LATER)) == (Claim("a", "bo", LATER, 1),)


@pytest.mark.parametrize(
    "line", [[], {"kind": "claim"}, {"kind": "claim", "task": 1}, {"kind": "other", "task": "a"}]
)
def test_a_line_that_is_no_claim_is_passed_over(line: object) -> None:
    assert claims(line, claim("b", "bo", LATER)) == (Claim("b", "bo", LATER, 1),)


def test_a_claim_without_an_end_is_over_and_one_without_a_number_has_none() -> None:
    assert claims({"kind": "claim", "task": "a"}) == ()
    assert claims(claim("a", "ann", LATER, True)) == (Claim("a", "ann", LATER, 0),)
