"""The order of a shared board's pages, and what each row that changes does to it."""

from __future__ import annotations

import gc
import random
import sys

import pytest
from phasekeeper.orchestration.fleet import board_index
from phasekeeper.orchestration.fleet.board_index import BoardIndex, SharedRunCounts
from phasekeeper.orchestration.fleet.shared_board import RunSummary, format_summary, summary_key


def row(run: str, member: str = "ann", status: str = "active", **over: object) -> RunSummary:
    base = RunSummary(run, "master-plan", member, "c", status, "4a", "stay", 1, 2, "r", "abc", "12:00")
    return base._replace(**over)


def put(index: BoardIndex, summary: RunSummary) -> str:
    key = summary_key(summary.member, summary.clone, summary.run)
    return index.put(key, format_summary(summary))


def free(index: BoardIndex, member: str, run: str) -> str:
    return index.put(summary_key(member, "c", run), b"")


def runs(index: BoardIndex, limit: int = 500) -> list[str]:
    """All runs by pages of a size."""
    found: list[str] = []
    after = ""
    while True:
        lines, cursor = index.page(limit, after)
        found += [line.run for line in lines]
        if cursor is None:
            return found
        after = cursor


def index_of(*rows: RunSummary) -> BoardIndex:
    index = BoardIndex()
    for each in rows:
        put(index, each)
    return index


def test_first_stand_runs_in_which_a_person_is_asked_then_what_goes_on_then_what_is_over_everywhere() -> None:
    index = index_of(
        row("a", status="complete"),
        row("b-10"),
        row("b-9"),
        row("c", questions=("approve",)),
        row("d", status="failed"),
        row("d", "bob"),
    )
    assert runs(index) == ["c", "b-9", "b-10", "d", "a"]
    assert [runs(index, size) for size in (1, 2, 4)] == [runs(index)] * 3
    assert index.counts == SharedRunCounts(5, 4, 1, 0)
    assert [line.run for line in index.page(10, "2 ")[0]] == ["a"]


def test_a_line_says_how_many_have_the_run_where_they_differ_and_who_told_it_last() -> None:
    index = index_of(
        row("a", at="12:00", title="Early", questions=("one", "two")),
        row("a", "bob", at="12:05", revision="other", questions=("two",)),
        row("a", "bob", clone="second", at="12:01"),
    )
    line = index.line("a")
    assert line is not None
    assert (line.machines, line.clones, line.questions, line.differs) == (2, 3, 2, True)
    assert (line.newest.member, line.newest.at, line.title) == ("bob", "12:05", "Early")
    assert index.counts == SharedRunCounts(1, 1, 2, 1)
    assert [clone.member for clone in index.shared_run("a").clones] == ["ann", "bob", "bob"]
    assert index.line("b") is None
    assert index.shared_run("b").clones == ()


def test_each_change_moves_its_run_alone_and_raises_the_version() -> None:
    index = index_of(row("a"), row("b"))
    assert runs(index) == ["a", "b"]
    before = index.version
    assert put(index, row("b", questions=("approve",))) == "b"
    assert (runs(index), index.version) == (["b", "a"], before + 1)
    assert put(index, row("b", phase="4b", questions=("approve",))) == "b"
    assert runs(index) == ["b", "a"]
    assert free(index, "ann", "b") == "b"
    assert (runs(index), index.counts) == (["a"], SharedRunCounts(1, 1))
    assert free(index, "ann", "b") == ""
    assert put(index, row("c")) == "c"
    assert runs(index) == ["a", "c"]
    assert index.board().runs == tuple(index.shared_run(run) for run in ("a", "c"))


def test_what_cannot_be_read_is_counted_and_takes_the_place_of_what_stood_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = index_of(row("a"))
    key = summary_key("ann", "c", "a")
    assert runs(index) == ["a"]
    assert index.put(key, b"garbage") == "a"
    assert (runs(index), index.unread) == ([], 1)
    assert index.put(key, format_summary(row("a"))) == "a"
    assert (runs(index), index.unread) == (["a"], 0)
    monkeypatch.setattr(board_index, "MAX_ROWS", 1)
    for member in ("bob", "cyd"):
        put(index, row("a", member))
    assert (index.unread, index.board().unread) == (1, 1)


def test_a_run_of_very_many_clones_is_read_as_far_as_each_change_can_be_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board_index, "MAX_CLONES", 2)
    monkeypatch.setattr(board_index, "_MOST_SHARED", 3)
    index = index_of(*(row("a", member) for member in ("ann", "bob", "cyd")))
    line = index.line("a")
    assert line is not None
    assert (line.clones, index.unread) == (2, 1)


def test_a_run_that_many_have_is_counted_anew_with_every_change() -> None:
    index = index_of(*(row("a", f"m{number}") for number in range(20)))
    before = index.line("a")
    assert before is not None
    put(index, row("a", "m3", at="13:00", revision="other"))
    after = index.line("a")
    assert after is not None
    assert (before.differs, after.differs, after.clones, after.newest.member) == (False, True, 20, "m3")
    assert after.version > before.version
    for number in range(20):
        free(index, f"m{number}", "a")
    assert (index.line("a"), index.counts) == (None, SharedRunCounts())


def test_what_a_row_says_is_all_there_when_it_is_looked_at() -> None:
    full = row(
        "a", questions=("one",), title="Early", reason="because", asked=("Which?",), home="a", head="9",
        subjects=("s",), words=("w",), options=("0 yes Yes",),
    )  # fmt: skip
    rows = [full, row("a", "bob", reason="", home="a"), row("a", "cyd", done=0, total=0, at="")]
    index = index_of(*rows)
    assert list(index.shared_run("a").clones) == rows


@pytest.mark.parametrize("cursor", ["a", "3 a", "- a", "0"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ValueError, match="no cursor"):
        index_of(row("a")).page(10, cursor)


def test_after_any_changes_the_index_is_as_one_that_was_made_anew() -> None:
    random_ = random.Random(7)
    index, rows = BoardIndex(), dict[str, RunSummary]()
    for number in range(600):
        run, member = f"r-{random_.randrange(12)}", random_.choice(("ann", "bob", "cyd"))
        key = summary_key(member, "c", run)
        if random_.random() < 0.3:
            rows.pop(key, None)
            index.put(key, b"")
        else:
            rows[key] = row(
                run,
                member,
                random_.choice(("active", "complete")),
                revision=random_.choice("xy"),
                questions=random_.choice(((), ("q",))),
            )
            put(index, rows[key])
        if number % 20 == 0:
            fresh = index_of(*rows.values())
            assert runs(index, 5) == runs(fresh)
            assert (index.counts, index.board()) == (fresh.counts, fresh.board())


def bytes_held(value: object) -> int:
    """The bytes of all that is held by a value, each object once."""
    seen, waiting, total = set[int](), [value], 0
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, type):
            seen.add(id(each))
            total += sys.getsizeof(each)
            waiting += gc.get_referents(each)
    return total


def test_a_board_of_thousands_of_runs_takes_few_bytes_a_row() -> None:
    count, index = 2000, BoardIndex()
    for number in range(count):
        run, revision = f".orchestrator/tasks/run-{number:05}", f"{number:016x}"
        put(index, row(run, f"m{number % 20}", revision=revision))
    index.sort()
    assert index.counts.runs == count
    assert 300 < bytes_held(index) / count < 800
